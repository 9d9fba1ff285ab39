//! What merging may begin with: whole characters instead of their bytes.
//!
//! Of the merges that letters of two or three bytes take, most only put the bytes of a letter together. What they end
//! with is the same wherever the character stands, so that it is found out once, if two things hold:
//!
//! *Nothing else can happen to its bytes.* No token that comes before the character does has a part of it and something of a neighbour,
//! as far as [`super::cuts`] tells. Then no merge joins the two before it is too late for that, and the character's own merges are done as
//! if it stood alone.
//!
//! *It is not too early.* Whatever merges with the whole character does so later, by rank, than the character is made. That
//! is so of tables in which every pair comes after the pairs that make its two sides ([`MergeTable::is_in_order`]), as
//! training makes them. Merging is then to apply one pair after the other to all of the text, each from the left: a pair that
//! takes the character finds it there when its turn comes, whether it was there from the start or not, and no pair before it
//! asks.
//!
//! Where either does not hold merging begins with bytes, as it is defined.
//!
//! *Two characters at once.* A space and the first byte of a letter are a token in most vocabularies, and come before rare letters do. Let a unit
//! begin with a byte and such a letter, and let both, merged alone, end with one symbol, the last merge of which takes a
//! part of the letter: then all that ever ends where the letter does is a part of it, until both are one. If no token has a part of it and
//! something of what follows, nothing can take that away, and the unit begins with the symbol of both.

use super::cuts::{Cuts, character};
use super::neighbours::{Begins, Neighbours, Start};
use super::scripts::{N_SCRIPTS, ScriptSet};
use super::small::{self, Begun};
use super::table::{MergeTable, NO_PAIR, PLACE_BITS};

/// Characters that are known at a time: those of a script lie beside each other. At most 64 KB for each thread, so that what is
/// known of Chinese stays within the second cache; a page at first, which is enough for most scripts.
const FEW_KNOWN: usize = 1 << 8;
const MOST_KNOWN: usize = 1 << 12;
/// Most symbols that a character is known by. One of four bytes that do not merge begins as these.
const MOST_SYMBOLS: usize = 3;
/// So many units of a script are worth asking for all of its pairs.
const WORTH_ALL: u8 = 8;
/// What stands for no symbol: no id is that large.
const NO_SYMBOL: u32 = u32::MAX;

/// A character, by its bytes as a number, and what its merges end with; all zeros is none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
struct Known {
    character: u32,
    /// Those that there are come first. None at all: the character begins as its bytes.
    symbols: [u32; MOST_SYMBOLS],
}

/// What a thread knows of characters.
#[derive(Debug)]
pub(super) struct Starts {
    /// A power of two of them; none before the first one.
    known: Vec<Known>,
    neighbours: Neighbours,
    /// Units of each script so far; not all of them where there are many.
    n_units: [u8; N_SCRIPTS],
}

impl Default for Starts {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            neighbours: Neighbours::default(),
            n_units: [0; N_SCRIPTS],
        }
    }
}

impl Starts {
    /// Appends the ids of a unit; false if it has too many symbols, or bytes that are no character. The table must be complete and
    /// [in order](MergeTable::is_in_order).
    pub(super) fn merge(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        unit: &[u8],
        out: &mut Vec<u32>,
    ) -> bool {
        let mut begun = Begun::default();
        if !self.begin(table, cuts, unit, &mut begun) {
            return false;
        }
        if let Some(script) = begun.scripts().only() {
            self.note_script(table, script);
        }
        begun.merge(table, out);
        true
    }

    /// Counts the units of a script: what is looked at for them is asked for as a whole when there were some.
    #[inline(always)]
    fn note_script(&mut self, table: &MergeTable, script: usize) {
        let n_units = &mut self.n_units[script % N_SCRIPTS];
        *n_units = n_units.saturating_add(1);
        if *n_units == WORTH_ALL {
            table.ask_for(script);
        }
    }

    /// Puts there what merging begins with; false if that cannot be done.
    #[inline(always)]
    fn begin(&mut self, table: &MergeTable, cuts: &Cuts, unit: &[u8], begun: &mut Begun) -> bool {
        let Some((mut here, mut end)) = character(unit, 0) else {
            return unit.is_empty();
        };
        let symbols = self.alone(table, here, &unit[..end]);
        let mut start = Start::new(one(symbols), NO_PAIR, [false; 2]);
        let (mut at, mut is_whole) = (0, true);
        if here != u32::from(b' ') {
            begun.meets(here);
        }
        loop {
            let next = character(unit, end);
            if let Some((next, _)) = next {
                begun.meets(next);
            }
            let next_start = self.both(table, cuts, unit, (here, at, end), next);
            if next_start.joins()
                && at == 0
                && let Some((right, right_end)) = next
            {
                let after = character(unit, right_end);
                let after_start = self.both(table, cuts, unit, (right, end, right_end), after);
                if !after_start.has_parts() {
                    is_whole = false;
                    begun.push(next_start.candidate, NO_PAIR);
                    let Some((after, after_end)) = after else {
                        return right_end == unit.len();
                    };
                    begun.meets(after);
                    (here, at, end, start) = (after, right_end, after_end, after_start);
                    continue;
                }
            }
            let begins = start.begins(next_start);
            let has_room = if let Begins::Whole(symbol) = begins {
                let candidate = if is_whole {
                    start.candidate
                } else {
                    candidate(table, begun, symbol)
                };
                begun.push(symbol, candidate)
            } else {
                let is_bytes = begins == Begins::Bytes;
                self.push_parts(table, is_bytes, here, &unit[at..end], begun)
            };
            is_whole = matches!(begins, Begins::Whole(_));
            if !has_room {
                return false;
            }
            let Some((right, right_end)) = next else {
                return end == unit.len();
            };
            (here, at, end, start) = (right, end, right_end, next_start);
        }
    }

    /// Adds what a character begins as that is not one symbol: its bytes, or what its own merges end with.
    #[inline(never)]
    fn push_parts(
        &mut self,
        table: &MergeTable,
        is_bytes: bool,
        character: u32,
        bytes: &[u8],
        begun: &mut Begun,
    ) -> bool {
        let mut symbols = if is_bytes {
            [NO_SYMBOL; MOST_SYMBOLS]
        } else {
            self.alone(table, character, bytes)
        };
        // Where its merges end with too many symbols, too.
        let is_bytes = symbols[0] == NO_SYMBOL;
        if let (true, &[first, ..]) = (is_bytes, bytes) {
            symbols[0] = table.symbol(first);
        }
        for symbol in symbols
            .into_iter()
            .take_while(|&symbol| symbol != NO_SYMBOL)
        {
            let candidate = candidate(table, begun, symbol);
            if !begun.push(symbol, candidate) {
                return false;
            }
        }
        !is_bytes
            || bytes.windows(2).all(|both| {
                let candidate = table.find_bytes(both[0], both[1]);
                begun.push(table.symbol(both[1]), candidate)
            })
    }

    /// What merging the right one of two characters begins with. A character, where it begins and where it ends; the one behind it and
    /// where that ends, if there is one.
    #[inline(always)]
    fn both(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        unit: &[u8],
        (left, at, end): (u32, usize, usize),
        next: Option<(u32, usize)>,
    ) -> Start {
        let Some((right, right_end)) = next else {
            return Start::AT_END;
        };
        self.neighbours.get(left, right).unwrap_or_else(|| {
            let both = [(left, &unit[at..end]), (right, &unit[end..right_end])];
            self.find_out_both(table, cuts, both)
        })
    }

    #[cold]
    fn find_out_both(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        [(left, left_bytes), (right, right_bytes)]: [(u32, &[u8]); 2],
    ) -> Start {
        let of_left = one(self.alone(table, left, left_bytes));
        let of_right = one(self.alone(table, right, right_bytes));
        let both = of_left.zip(of_right);
        let mut scripts = ScriptSet::default();
        if left != u32::from(b' ') {
            scripts.add(left);
        }
        scripts.add(right);
        let pairs = table.lookups_of(scripts);
        let candidate = both.map_or(NO_PAIR, |(left, right)| pairs.find(left, right));
        let bytes = [left_bytes, right_bytes];
        let may_have_parts = cuts.may_have_parts(bytes);
        // Most have none.
        let are_open = if may_have_parts == [false; 2] {
            may_have_parts
        } else {
            cuts.come_apart(bytes, [of_left, of_right])
        };
        let mut start = Start::new(of_right, candidate, are_open);
        if may_have_parts[0] {
            start = start.with_parts();
        }
        if let (&[left], [_, true]) = (left_bytes, are_open)
            && let Some(symbol) = joined(table, left, right_bytes)
        {
            start = start.joining(symbol);
        }
        self.neighbours.keep(left, right, start);
        start
    }

    /// What a character's merges end with when it stands alone.
    #[inline]
    fn alone(&mut self, table: &MergeTable, character: u32, bytes: &[u8]) -> [u32; MOST_SYMBOLS] {
        if let &[byte] = bytes {
            return [table.symbol(byte), NO_SYMBOL, NO_SYMBOL];
        }
        match self.known.get(self.place(character)) {
            Some(known) if known.character == character => known.symbols,
            _ => self.find_out(table, character, bytes),
        }
    }

    #[cold]
    fn find_out(
        &mut self,
        table: &MergeTable,
        character: u32,
        bytes: &[u8],
    ) -> [u32; MOST_SYMBOLS] {
        let mut ids = Vec::with_capacity(bytes.len());
        let mut scripts = ScriptSet::default();
        scripts.add(character);
        small::merge_bytes(&table.lookups_of(scripts), bytes, &mut ids);
        let mut symbols = [NO_SYMBOL; MOST_SYMBOLS];
        if let Some(room) = symbols.get_mut(..ids.len()) {
            room.copy_from_slice(&ids);
        }
        let there = self.known.get(self.place(character));
        let is_free = there.is_some_and(|known| known.character == 0);
        if !is_free && self.known.len() < MOST_KNOWN {
            let n = (self.known.len() * 4).clamp(FEW_KNOWN, MOST_KNOWN);
            let before = std::mem::replace(&mut self.known, vec![Known::default(); n]);
            for known in before.into_iter().filter(|known| known.character != 0) {
                self.keep(known);
            }
        }
        self.keep(Known { character, symbols });
        symbols
    }

    fn keep(&mut self, known: Known) {
        let place = self.place(known.character);
        self.known[place] = known;
    }

    /// By the bits in which characters of a script differ: six of each of the last two bytes.
    #[inline(always)]
    fn place(&self, character: u32) -> usize {
        (character & 0x3F | character >> 2 & 0xFC0) as usize & self.known.len().wrapping_sub(1)
    }
}

/// How the last symbol merges with one that follows it.
#[inline(never)]
fn candidate(table: &MergeTable, begun: &Begun, symbol: u32) -> u32 {
    let last = begun.symbols().last();
    let pairs = table.lookups_of(begun.scripts());
    last.map_or(NO_PAIR, |&last| pairs.find(last, symbol))
}

/// The symbol of a byte and the character behind it, if merging these alone ends with one, and the last merge takes a part of the
/// character: then no merge before has the whole one.
fn joined(table: &MergeTable, left: u8, right: &[u8]) -> Option<u32> {
    let merged = |bytes: &[u8]| {
        let mut ids = Vec::with_capacity(bytes.len());
        small::merge(table, bytes, &mut ids);
        let &[id] = &ids[..] else { return None };
        Some(id)
    };
    let both = [&[left], right].concat();
    let symbol = merged(&both)?;
    let is_last = |cut: usize| {
        let (first, last) = both.split_at(cut);
        let sides = merged(first).zip(merged(last));
        let pair = sides.map(|(first, last)| table.find(first, last));
        pair.is_some_and(|pair| pair != NO_PAIR && table.merged(pair >> PLACE_BITS) == symbol)
    };
    (2..both.len()).any(is_last).then_some(symbol)
}

/// The only symbol of a character, if it has one.
fn one(symbols: [u32; MOST_SYMBOLS]) -> Option<u32> {
    let [first, second, _] = symbols;
    (first != NO_SYMBOL && second == NO_SYMBOL).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::cuts::tests::LETTERS;
    use super::super::{BpeModel, BpeScratch, Merges, Missing, naive};
    use super::*;
    use crate::pipeline::Model;
    use crate::vocab::Vocab;
    use proptest::prelude::*;

    /// All bytes, and tokens that merges make of any bytes of the letters, halves of characters above all. `backwards`: by
    /// falling ids, as no training would number them.
    fn model(
        letters: &[&str],
        choices: &[(usize, usize)],
        by_rank: bool,
        backwards: bool,
    ) -> BpeModel {
        let mut bytes = Vocab::default();
        for byte in 0..=255u8 {
            bytes.insert(u32::from(byte), &[byte]).unwrap();
        }
        let used: Vec<u8> = letters.concat().into_bytes();
        let mut vocab = bytes.clone();
        let list = naive::drawn_merges(&mut vocab, &used, choices, 16);
        if backwards {
            let made = vocab.iter().filter(|&(id, _)| id >= 256);
            let tokens: Vec<Vec<u8>> = made.map(|(_, token)| token.to_vec()).collect();
            vocab = bytes;
            for (id, token) in (256..).zip(tokens.iter().rev()) {
                vocab.insert(id, token).unwrap();
            }
        }
        let merges = if by_rank || backwards {
            Merges::ByRank
        } else {
            Merges::List(list)
        };
        BpeModel::new(vocab, &merges, false, Missing::Fail).unwrap()
    }

    /// What merging ends with by definition.
    fn naively(model: &BpeModel, unit: &[u8]) -> Vec<u32> {
        match model.merges() {
            Merges::ByRank => naive::encode_by_rank(model.vocab(), unit),
            Merges::List(list) => naive::encode_by_list(model.vocab(), &list, unit),
        }
    }

    proptest! {
        #[test]
        fn beginning_with_characters_ends_as_beginning_with_bytes(
            choices in prop::collection::vec((any::<usize>(), any::<usize>()), 0..80),
            texts in prop::collection::vec(
                prop::collection::vec(prop::sample::select(&LETTERS[..]), 1..30), 1..20),
            by_rank in any::<bool>(),
            backwards in prop::bool::weighted(0.2),
        ) {
            let model = model(&LETTERS, &choices, by_rank, backwards);
            let table = model.table().unwrap();
            // Its cuts are made, as they are when texts with such letters come.
            let cuts = model.cuts();
            let (mut starts, mut scratch) = (Starts::default(), BpeScratch::default());
            for text in texts {
                let unit = text.concat().into_bytes();
                let expected = naively(&model, &unit);
                if table.is_in_order() {
                    let mut ids = Vec::new();
                    if starts.merge(table, cuts, &unit, &mut ids) {
                        prop_assert_eq!(&ids, &expected);
                    } else {
                        prop_assert!(unit.len() > small::MOST);
                        prop_assert!(ids.is_empty());
                    }
                }
                let mut ids = Vec::new();
                model.encode_unit(&unit, &mut scratch, &mut ids).unwrap();
                prop_assert_eq!(ids, expected);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        /// Of few letters, so that tokens with halves of them come early and late, and units begin with all of them.
        #[test]
        fn characters_begin_whole_where_nothing_comes_before(
            choices in prop::collection::vec((any::<usize>(), any::<usize>()), 0..24),
            texts in prop::collection::vec(
                prop::collection::vec(prop::sample::select(&["a", "b", "é", "ê"][..]), 1..7), 1..40),
            by_rank in any::<bool>(),
        ) {
            let model = model(&["a", "b", "é", "ê"], &choices, by_rank, false);
            let (table, cuts) = (model.table().unwrap(), model.cuts());
            let mut starts = Starts::default();
            for text in texts.iter().filter(|_| table.is_in_order()) {
                let unit = text.concat().into_bytes();
                let mut ids = Vec::new();
                prop_assert!(starts.merge(table, cuts, &unit, &mut ids));
                prop_assert_eq!(ids, naively(&model, &unit));
            }
        }
    }

    /// The tokens of these pairs of bytes or of tokens that there are by then.
    fn with_tokens(tokens: &[&[u8]]) -> BpeModel {
        let mut vocab = Vocab::default();
        let bytes = (0..=255u8).map(|byte| vec![byte]);
        let tokens = tokens.iter().map(|token| token.to_vec());
        for (id, token) in (0..).zip(bytes.chain(tokens)) {
            vocab.insert(id, &token).unwrap();
        }
        BpeModel::new(vocab, &Merges::ByRank, false, Missing::Fail).unwrap()
    }

    fn begun(model: &BpeModel, text: &str) -> Vec<u32> {
        let mut begun = Begun::default();
        let (table, cuts) = (model.table().unwrap(), Cuts::new(model.vocab()));
        assert!(table.is_in_order());
        assert!(Starts::default().begin(table, &cuts, text.as_bytes(), &mut begun));
        begun.symbols().to_vec()
    }

    #[test]
    fn characters_begin_as_what_they_are_alone() {
        // 256: half of 你 and of 佀; 257: 你; 258: 你你.
        let model = with_tokens(&[b"\xE4\xBD", "你".as_bytes(), "你你".as_bytes()]);
        assert_eq!(begun(&model, "a你佀é"), [97, 257, 256, 0x80, 0xC3, 0xA9]);
        // With a token of 你 and the first byte of é, é begins as its bytes, if that token comes before é.
        let half: [&[u8]; 2] = [b"\xE4\xBD", "你".as_bytes()];
        let (token, letter): (&[u8], _) = (b"\xE4\xBD\xA0\xC3", "é".as_bytes());
        let model = with_tokens(&[half[0], half[1], token, letter]);
        assert_eq!(begun(&model, "你é佀é"), [257, 0xC3, 0xA9, 256, 0x80, 259]);
        let model = with_tokens(&[half[0], half[1], letter, token]);
        assert_eq!(begun(&model, "你é佀é"), [257, 258, 256, 0x80, 258]);
        // And with one of the last byte of 你 and é, 你 does.
        let token: &[u8] = b"\xA0\xC3\xA9";
        let model = with_tokens(&[half[0], letter, token, half[1]]);
        assert_eq!(
            begun(&model, "你é佀é"),
            [0xE4, 0xBD, 0xA0, 257, 256, 0x80, 257]
        );
        let model = with_tokens(&[half[0], half[1], letter, token]);
        assert_eq!(begun(&model, "你é佀é"), [257, 258, 256, 0x80, 258]);
    }

    #[test]
    fn a_unit_begins_with_two_characters_that_join() {
        let (half, letter, both) = (&b"a\xC3"[..], "é".as_bytes(), "aé".as_bytes());
        // 256: a and half of é; 257: é; 258: both.
        let model = with_tokens(&[half, letter, both]);
        assert_eq!(begun(&model, "aé"), [258]);
        assert_eq!(begun(&model, "aéb"), [258, 98]);
        assert_eq!(begun(&model, "aéé"), [258, 257]);
        // Not behind another one, nor where something may take a part of é, nor where é is made first.
        assert_eq!(begun(&model, "baé"), [98, 97, 0xC3, 0xA9]);
        let model = with_tokens(&[half, letter, both, b"\xA9b"]);
        assert_eq!(begun(&model, "aéb"), [97, 0xC3, 0xA9, 98]);
        assert_eq!(begun(&model, "aéé"), [258, 257]);
        let model = with_tokens(&[letter, half, both]);
        assert_eq!(begun(&model, "aéb"), [97, 256, 98]);
    }

    #[test]
    fn what_is_not_in_order_is_said_to_be_so() {
        let is_in_order = |tokens: &[&[u8]]| with_tokens(tokens).table().unwrap().is_in_order();
        assert!(is_in_order(&[b"ab", b"abc"]));
        assert!(!is_in_order(&[b"abc", b"ab"]));
    }
}
