//! The pairs of one script by themselves.
//!
//! Words of a script have few of a vocabulary's pairs. In a table of all pairs each of them lies in
//! a cache line of its own. The first thousand words of a text wait for these lines one after the
//! other. Beside each other the pairs of Thai in `o200k_base`, 1,563 of them, take 21 KB, so that
//! all of them can be asked for at once, and stay near.
//!
//! *Why nothing else can be found.* Let a unit be characters of one script, with a space before
//! them or not. While the unit is merged, every symbol stands for a stretch of it, and so does the
//! token that a pair makes. A script has all pairs that make what may be a stretch of such a text
//! ([`ScriptSet::of_stretch`]), so that it answers as the table of all pairs does.
//!
//! Scripts are told by the first bytes of UTF-8, without tables. That makes one of what is written
//! with the same ones, Hebrew and Armenian, or Chinese and Japanese; and a few have several.

use super::low_ids::LowIdPartition;
use super::slots::{EMPTY, FILTER_BITS, SLOTS_FOR_TWO, put};
use crate::cpu::prefetch::prefetch;
use crate::memory::arena::ArenaVec;

/// Numbers of a cache line.
const LINE: usize = 8;

/// Two bytes a character: four first bytes each. Cyrillic, Arabic, Greek.
const OF_TWO_BYTES: u32 = 0;
/// Behind 0xE0: two second bytes each. Thai, Devanagari, all others of India.
const OF_E0: u32 = OF_TWO_BYTES + 8;
/// Behind 0xE1: four second bytes each. Georgian, Ethiopic, Khmer.
const OF_E1: u32 = OF_E0 + 16;
/// Kana and ideographs.
const OF_EAST_ASIA: u32 = OF_E1 + 16;
/// Syllables of Korean.
const OF_KOREAN: u32 = OF_EAST_ASIA + 1;
pub(super) const N_SCRIPTS: usize = OF_KOREAN as usize + 1;

const SPACE: u8 = b' ';

/// Scripts of a text, as bits; the highest bit means something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScriptSet(u64);

impl ScriptSet {
    const ALL: u64 = (1 << N_SCRIPTS) - 1;
    const OTHER: u64 = 1 << 63;

    /// Returns the script of a character, by its bytes as a number.
    #[inline(always)]
    pub(super) fn of(character: u32) -> Self {
        let mut scripts = Self::default();
        scripts.add(character);
        scripts
    }

    /// Adds the script of a character, by its bytes as a number.
    #[inline(always)]
    pub(super) fn add(&mut self, character: u32) {
        self.0 |= match character {
            ..0x80 => Self::OTHER,
            0x80..0x1_0000 => script_of(character >> 8, character),
            _ => script_of(character >> 16, character >> 8 & 0xFF),
        };
    }

    /// The script, if it is the only one.
    #[inline(always)]
    pub(super) fn only(self) -> Option<usize> {
        (self.0 & Self::ALL == self.0 && self.0.is_power_of_two())
            .then(|| self.0.trailing_zeros() as usize)
    }

    /// Returns the scripts whose texts may contain these bytes, with a space before them or not.
    /// They need not begin or end with a character. Further scripts may be among them.
    fn of_stretch(bytes: &[u8]) -> Self {
        let any_of = |scripts: &mut dyn Iterator<Item = u64>| scripts.fold(0, |all, one| all | one);
        let (has_space, bytes) = match bytes.strip_prefix(&[SPACE]) {
            Some(rest) => (true, rest),
            None => (false, bytes),
        };
        // Continuation bytes of a character that began before.
        let n_before = bytes.iter().take_while(|&&byte| continues(byte)).count();
        let mut scripts = match n_before {
            0 => Self::ALL,
            _ if has_space => 0,
            1 => Self::ALL,
            2 => any_of(&mut (0xE0..0xF0).map(|first| script_of(first, u32::from(bytes[0])))),
            _ => 0,
        };
        let mut rest = &bytes[n_before..];
        while let Some(&first) = rest.first() {
            let len = match first {
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                _ => return Self::default(),
            };
            // The last one may end later.
            let (here, behind) = rest.split_at(len.min(rest.len()));
            let first = u32::from(first);
            scripts &= match here[1..] {
                [] => any_of(&mut (0x80..0xC0).map(|second| script_of(first, second))),
                [second] | [second, _] => script_of(first, u32::from(second)),
                _ => 0,
            };
            if !here[1..].iter().all(|&byte| continues(byte)) {
                return Self::default();
            }
            rest = behind;
        }
        Self(scripts & Self::ALL)
    }

    fn iter(self) -> impl Iterator<Item = usize> {
        (0..N_SCRIPTS).filter(move |script| self.0 >> script & 1 != 0)
    }
}

fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The script of a character, as a bit, by its first two bytes.
#[inline(always)]
fn script_of(first: u32, second: u32) -> u64 {
    match first {
        0xC0..=0xDF => 1 << (OF_TWO_BYTES + (first >> 2 & 7)),
        0xE0 => 1 << (OF_E0 + (second >> 1 & 15)),
        0xE1 => 1 << (OF_E1 + (second >> 2 & 15)),
        0xE3..=0xE9 => 1 << OF_EAST_ASIA,
        0xEA..=0xED => 1 << OF_KOREAN,
        _ => ScriptSet::OTHER,
    }
}

/// For each script its pairs, as a table of all pairs has them: entries by their hash, open
/// addressing, and a filter.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    entries: ArenaVec<u64>,
    filter: ArenaVec<u64>,
    /// Where the entries and the filter of each script begin, and where the last ones end; empty
    /// where there are no scripts.
    starts: Vec<[usize; 2]>,
}

impl Scripts {
    /// Builds the tables of pairs by their index: left, right, index, and the bytes they make.
    pub(super) fn new<'v>(pairs: impl Iterator<Item = ((u32, u32, u32), &'v [u8])>) -> Self {
        let mut lists = vec![Vec::new(); N_SCRIPTS];
        for (pair, made) in pairs {
            for script in ScriptSet::of_stretch(made).iter() {
                lists[script].push(pair);
            }
        }
        let mut scripts = Self {
            starts: starts(lists.iter().map(Vec::len)).unwrap_or_default(),
            ..Self::default()
        };
        let [n_entries, n_words] = scripts.end();
        let (mut entries, mut filter) = (vec![EMPTY; n_entries], vec![0; n_words]);
        for (range, list) in scripts.starts.windows(2).zip(&lists) {
            let entries = &mut entries[range[0][0]..range[1][0]];
            let filter = &mut filter[range[0][1]..range[1][1]];
            for &(left, right, index) in list {
                put(
                    entries,
                    filter,
                    LowIdPartition::default(),
                    left,
                    right,
                    index,
                );
            }
        }
        (scripts.entries, scripts.filter) = (entries.into(), filter.into());
        scripts
    }

    /// To be written: entries, filters, and how many pairs each script has.
    pub(super) fn raw(&self) -> [Vec<u64>; 3] {
        let counts = self.each().map(|(entries, _)| {
            let there = entries.iter().filter(|&&entry| entry != EMPTY);
            there.count() as u64
        });
        let counts = counts.collect();
        [self.entries.to_vec(), self.filter.to_vec(), counts]
    }

    /// Builds the tables from [`Self::raw`]; None if sizes differ. Entries are not looked at.
    pub(super) fn from_raw(
        entries: ArenaVec<u64>,
        filter: ArenaVec<u64>,
        counts: &[u64],
    ) -> Option<Self> {
        let starts = match counts.len() {
            0 => Vec::new(),
            N_SCRIPTS => starts(
                counts
                    .iter()
                    .map(|&n| usize::try_from(n).unwrap_or(usize::MAX)),
            )?,
            _ => return None,
        };
        let scripts = Self {
            entries,
            filter,
            starts,
        };
        (scripts.end() == [scripts.entries.len(), scripts.filter.len()]).then_some(scripts)
    }

    fn end(&self) -> [usize; 2] {
        self.starts.last().copied().unwrap_or_default()
    }

    /// The entries and the filter of a script, if there are any.
    #[inline(always)]
    pub(super) fn get(&self, script: usize) -> Option<(&[u64], &[u64])> {
        let &[from, to] = self.starts.get(script..)?.first_chunk()?;
        let entries = self.entries.get(from[0]..to[0])?;
        Some((entries, self.filter.get(from[1]..to[1])?))
    }

    /// Returns entries and filter of each script.
    pub(super) fn each(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
        (0..N_SCRIPTS).map_while(|script| self.get(script))
    }

    /// Asks for all of a script.
    #[cold]
    pub(super) fn ask_for(&self, script: usize) {
        if let Some((entries, filter)) = self.get(script) {
            let lines = filter.chunks(LINE).chain(entries.chunks(LINE));
            lines.filter_map(<[u64]>::first).for_each(prefetch);
        }
    }
}

/// Returns the starts of each script's entries and filter, by counts of pairs, and the ends of the
/// last ones. There is a slot without a pair in each, which ends a search.
fn starts(counts: impl Iterator<Item = usize>) -> Option<Vec<[usize; 2]>> {
    let mut starts = vec![[0, 0]];
    let mut end = [0usize; 2];
    for n in counts {
        let n_entries = n.checked_mul(SLOTS_FOR_TWO)? / 2 + 1;
        let n_words = n.checked_mul(FILTER_BITS)? / 64 + 1;
        end = [end[0].checked_add(n_entries)?, end[1].checked_add(n_words)?];
        starts.push(end);
    }
    Some(starts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::table::MergeTable;
    use super::*;
    use crate::vocab::Vocab;

    /// Texts of one script each.
    const TEXTS: [&str; 9] = [
        "привет",
        "שלום",
        "سلام",
        "नमस्ते",
        "สวัสดี",
        "გამარჯობა",
        "こんにちは世界",
        "안녕하세요",
        "éèêë",
    ];

    fn scripts_of(text: &str) -> ScriptSet {
        let mut scripts = ScriptSet::default();
        for character in text.chars() {
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).bytes();
            scripts.add(bytes.fold(0, |number, byte| number << 8 | u32::from(byte)));
        }
        scripts
    }

    #[test]
    fn scripts_are_told_apart() {
        let all: BTreeSet<_> = TEXTS[..8]
            .iter()
            .map(|text| scripts_of(text).only().unwrap())
            .collect();
        assert_eq!(all.len(), 8);
        assert_eq!(scripts_of("").only(), None);
        assert_eq!(scripts_of("a").only(), None);
        assert_eq!(scripts_of("приветa").only(), None);
        assert_eq!(scripts_of("приветสวัสดี").only(), None);
        assert_eq!(scripts_of("👋").only(), None);
    }

    #[test]
    fn what_is_no_stretch_of_a_script_has_none() {
        for bytes in [
            &b"a"[..],
            b"\xD0a",
            b"a\xD0",
            b" \x80",
            b"\x80\x80\x80",
            b"\xE0\xD0",
            b"\xF0\x9F",
            b"\xFF",
        ] {
            assert_eq!(
                ScriptSet::of_stretch(bytes),
                ScriptSet::default(),
                "{bytes:?}"
            );
        }
    }

    proptest! {
        /// The naive twin is to take all stretches.
        #[test]
        fn all_stretches_of_a_text_are_of_its_script(
            row in prop_oneof![0x80..0x800u32, 0x800..0x1_0000u32],
            places in prop::collection::vec(0..128u32, 1..5),
            has_space in any::<bool>(),
        ) {
            let characters = places.iter().filter_map(|place| char::from_u32(row ^ place));
            let text: String = characters.filter(|&one| one >= '\u{80}').collect();
            let Some(script) = scripts_of(&text).only() else { return Ok(()) };
            let text = if has_space { format!(" {text}") } else { text };
            let bytes = text.as_bytes();
            for start in 0..bytes.len() {
                for end in start + 1..=bytes.len() {
                    let scripts = ScriptSet::of_stretch(&bytes[start..end]);
                    prop_assert!(scripts.iter().any(|one| one == script), "{:?}", &bytes[start..end]);
                }
            }
        }

        /// The naive twin is the table of all pairs.
        #[test]
        fn a_script_has_all_pairs_of_its_texts(
            tokens in prop::collection::vec((0..TEXTS.len(), any::<bool>(), 0..20usize, 2..9usize), 0..60),
            text in 0..TEXTS.len(),
        ) {
            let mut vocab = Vocab::default();
            for byte in 0..=255u8 {
                vocab.insert(u32::from(byte), &[byte]).unwrap();
            }
            for (text, has_space, start, len) in tokens {
                let text = [if has_space { " " } else { "" }, TEXTS[text]].concat().into_bytes();
                let stretch = &text[start.min(text.len() - 2)..][..];
                let token = &stretch[..len.min(stretch.len())];
                if vocab.bytes_to_id(token).is_none() {
                    vocab.insert(vocab.size(), token).unwrap();
                }
            }
            let symbols = std::array::from_fn(|byte| byte as u32);
            let table = MergeTable::from_ranks(&vocab, &symbols, false);
            prop_assume!(table.is_in_order());
            let scripts = scripts_of(TEXTS[text]);
            prop_assert!(scripts.only().is_some());
            let of_script = table.lookups_of(scripts);
            let text = [" ", TEXTS[text]].concat().into_bytes();
            let stretches: BTreeSet<u32> = (0..text.len())
                .flat_map(|start| (start + 1..=text.len()).map(move |end| (start, end)))
                .filter_map(|(start, end)| vocab.bytes_to_id(&text[start..end]))
                .collect();
            for &left in &stretches {
                for &right in &stretches {
                    let both = [vocab.id_to_bytes(left).unwrap(), vocab.id_to_bytes(right).unwrap()].concat();
                    if text.windows(both.len()).any(|stretch| stretch == both) {
                        prop_assert_eq!(of_script.find(left, right), table.find(left, right));
                    }
                }
            }
        }
    }
}
