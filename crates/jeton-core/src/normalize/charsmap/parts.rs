//! Facts about all sequences that a charsmap replaces, without a walk through each of them.

use hashbrown::HashSet;

use super::{Charsmap, Unit};

/// Most bytes listed, of sequences and their prefixes: 30 times as much as `nmt_nfkc` has.
const MAX_LISTED: usize = 1 << 26;

/// A part of a sequence that is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part<'m> {
    /// The first byte and the second.
    Opening(u8, u8),
    /// A byte that is not the first.
    Inside(u8),
    /// The last character, whether it is all of the sequence, and what replaces that.
    Ending {
        last: char,
        alone: bool,
        to: &'m str,
    },
}

/// The character that a sequence has come to, and what was before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct PartialSequence {
    bytes: [u8; 4],
    n_bytes: u8,
    /// True if it is not the first.
    is_second: bool,
    /// True if there is anything at all.
    is_behind: bool,
}

impl PartialSequence {
    /// Appends one byte; None if no text goes on like that.
    fn and(self, byte: u8) -> Option<Self> {
        let mut next = if self.whole().is_some() {
            Self {
                is_second: true,
                ..Self::default()
            }
        } else {
            self
        };
        next.is_behind = true;
        *next.bytes.get_mut(usize::from(next.n_bytes))? = byte;
        next.n_bytes += 1;
        match std::str::from_utf8(next.text()) {
            Err(error) if error.error_len().is_some() => None,
            _ => Some(next),
        }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..usize::from(self.n_bytes)]
    }

    /// The character, if all of it is there.
    fn whole(self) -> Option<char> {
        std::str::from_utf8(self.text()).ok()?.chars().next()
    }
}

/// The units that bytes lead to, by where their parents say that children are.
struct Children {
    units: Vec<u32>,
    ends: Vec<u32>,
}

impl Children {
    fn new(units: &[u32]) -> Self {
        // A unit is reached by its label only, from a parent whose children are there.
        let parent = |(at, &unit): (usize, &u32)| {
            let label = Unit(unit).label() as usize;
            (at > 0 && label <= 0xFF).then_some(at ^ label)
        };
        let mut ends = vec![0u32; units.len() + 1];
        for base in units.iter().enumerate().filter_map(parent) {
            if let Some(n) = ends.get_mut(base + 1) {
                *n += 1;
            }
        }
        let mut sum = 0;
        for n in &mut ends {
            sum += *n;
            *n = sum;
        }
        // Filling moves each start to the end.
        let mut sorted = vec![0; sum as usize];
        for (at, unit) in units.iter().enumerate() {
            if let Some(place) = parent((at, unit)).and_then(|base| ends.get_mut(base)) {
                sorted[*place as usize] = at as u32;
                *place += 1;
            }
        }
        Self {
            units: sorted,
            ends,
        }
    }

    fn of(&self, base: usize) -> &[u32] {
        let end = self.ends.get(base).copied().unwrap_or(0);
        let start = base
            .checked_sub(1)
            .map_or(0, |before| self.ends.get(before).copied().unwrap_or(0));
        self.units
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }
}

impl Charsmap {
    /// Passes each replaced sequence to `each`, in no order that matters; returns true if all were
    /// passed.
    ///
    /// Sequences with equal rests share their tails (`nmt_nfkc` has 224,711 sequences in 29,403
    /// units). So the walk does not follow each sequence: it enters each unit once for each
    /// beginning of a character that leads to it. A damaged array may lead back, and a NUL may lead
    /// on. Then all parts that text can match are passed all the same, or the result is false.
    pub(crate) fn each_part<'m>(&'m self, mut each: impl FnMut(Part<'m>)) -> bool {
        let Some(&root) = self.units.first() else {
            return true;
        };
        let children = Children::new(&self.units);
        let most = 4 * self.units.len();
        let mut seen =
            HashSet::with_capacity_and_hasher(self.units.len() / 2, crate::vocab::hasher());
        // Nodes to enter: where their children are, the byte that leads to one that is the first,
        // and the character that has begun.
        let mut waiting = vec![(Unit(root).offset(), None, PartialSequence::default())];
        while let Some((base, first, begun)) = waiting.pop() {
            for &at in children.of(base) {
                let unit = Unit(self.units[at as usize]);
                let byte = unit.label() as u8;
                let Some(now) = begun.and(byte) else {
                    continue; // no text has such bytes
                };
                if begun.is_behind {
                    each(Part::Inside(byte));
                }
                if let Some(first) = first {
                    each(Part::Opening(first, byte));
                }
                if !seen.insert((at, now)) {
                    continue;
                }
                if seen.len() > most {
                    return false;
                }
                let next = at as usize ^ unit.offset();
                let leaf = self.units.get(next).filter(|_| unit.has_leaf());
                if let Some(last) = now.whole()
                    && let Some(to) = leaf.and_then(|&leaf| self.replacement(Unit(leaf).value()))
                {
                    let alone = !now.is_second;
                    each(Part::Ending { last, alone, to });
                }
                let first = (!begun.is_behind).then_some(byte);
                waiting.push((next, first, now));
            }
        }
        true
    }

    /// The rules, in the order of the bytes that they replace. For a damaged file, returns the
    /// usable rules, at most [`MAX_LISTED`] bytes.
    pub fn rules(&self) -> Vec<(String, String)> {
        let Some(&root) = self.units.first() else {
            return Vec::new();
        };
        let children = Children::new(&self.units);
        let mut rules = Vec::new();
        // The sequence so far, the units on the way (a damaged array may lead back), and what is
        // left to go from each.
        let mut from: Vec<u8> = Vec::new();
        let mut way: Vec<u32> = Vec::new();
        let mut left = vec![children.of(Unit(root).offset()).iter()];
        let mut n_listed = 0;
        while let Some(next) = left.last_mut() {
            let Some(&at) = next.next() else {
                left.pop();
                way.pop();
                from.pop();
                continue;
            };
            let unit = Unit(self.units[at as usize]);
            if unit.label() == 0 || way.contains(&at) {
                continue;
            }
            n_listed += from.len() + 1;
            if n_listed > MAX_LISTED {
                break;
            }
            from.push(unit.label() as u8);
            way.push(at);
            let base = at as usize ^ unit.offset();
            if unit.has_leaf()
                && let Some(&leaf) = self.units.get(base)
                && let Some(to) = self.replacement(Unit(leaf).value())
                && let Ok(from) = std::str::from_utf8(&from)
            {
                rules.push((from.to_owned(), to.to_owned()));
            }
            left.push(children.of(base).iter());
        }
        rules.sort_unstable();
        rules
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::tests::compile;
    use super::*;

    fn parts(map: &Charsmap) -> (BTreeSet<Part<'_>>, bool) {
        let mut parts = BTreeSet::new();
        let is_all = map.each_part(|part| {
            parts.insert(part);
        });
        (parts, is_all)
    }

    /// Returns the parts of one sequence.
    fn of_sequence<'m>(from: &str, to: &'m str) -> BTreeSet<Part<'m>> {
        let bytes = from.as_bytes();
        let mut parts: BTreeSet<_> = bytes[1..].iter().map(|&byte| Part::Inside(byte)).collect();
        if let [first, second, ..] = bytes {
            parts.insert(Part::Opening(*first, *second));
        }
        let last = from.chars().next_back().unwrap();
        let alone = from.chars().count() == 1;
        parts.insert(Part::Ending { last, alone, to });
        parts
    }

    /// Two sequences whose second bytes are one unit, as SentencePiece writes them.
    pub(crate) fn shared() -> Vec<u8> {
        let mut blob = compile(&[("ab", "Z")]);
        // The root's children are in the second block, the children of `a` in the third.
        let c = 256 ^ usize::from(b'c');
        let unit = ((c ^ 512) as u32) << 10 | u32::from(b'c');
        blob[4 + 4 * c..][..4].copy_from_slice(&unit.to_le_bytes());
        blob
    }

    #[test]
    fn shared_tails_are_listed_for_all() {
        let map = Charsmap::new(&shared()).unwrap();
        let rule = |from: &str| (from.to_owned(), "Z".to_owned());
        assert_eq!(map.rules(), [rule("ab"), rule("cb")]);
    }

    #[test]
    fn shared_tails_belong_to_all() {
        let map = Charsmap::new(&shared()).unwrap();
        assert_eq!(map.normalize("abcbb"), "ZZb");
        let (parts, is_all) = parts(&map);
        assert!(is_all);
        for from in ["ab", "cb"] {
            assert!(
                of_sequence(from, "Z").is_subset(&parts),
                "{from}: {parts:?}"
            );
        }
    }

    /// In this array a NUL leads from the root back to it.
    #[test]
    fn a_nul_may_lead_on() {
        let map = Charsmap::new(&compile(&[("ab", "Z")])).unwrap();
        assert_eq!(map.normalize("\0\0abb"), "Zb");
        let (parts, _) = parts(&map);
        assert!(parts.contains(&Part::Inside(b'a')));
        assert!(parts.contains(&Part::Opening(0, b'a')));
    }

    proptest! {
        #[test]
        fn rules_have_these_parts(rules in prop::collection::btree_map("[abé中]{1,4}", "[xé ]{0,3}", 1..12)) {
            let texts = rules.iter().map(|(from, to)| (from.as_str(), to.as_str()));
            let map = Charsmap::new(&super::super::super::charsmap_rules::compile(texts.clone()).unwrap()).unwrap();
            let expected: BTreeSet<_> = texts.flat_map(|(from, to)| of_sequence(from, to)).collect();
            prop_assert_eq!(parts(&map), (expected, true));
        }

        /// All matches of a damaged array are told, or the caller learns that some are missing.
        #[test]
        fn whatever_matches_is_told(
            at in prop::collection::vec((0..2600usize, any::<u8>()), 0..60), text in "[abcé\\x00]{1,8}",
        ) {
            let mut blob = compile(&[("a", "b"), ("ab", "c"), ("cab", "")]);
            for (index, byte) in at {
                let n = blob.len();
                blob[index % n] = byte;
            }
            if let Ok(map) = Charsmap::new(&blob)
                && let Some((length, to)) = map.longest_prefix(&text)
            {
                let (parts, is_all) = parts(&map);
                let expected = of_sequence(&text[..length], to);
                prop_assert!(!is_all || expected.is_subset(&parts), "{:?} {:?}", expected, parts);
            }
        }
    }
}
