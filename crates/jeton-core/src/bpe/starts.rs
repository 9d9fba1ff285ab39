//! What merging may begin with: whole characters instead of their bytes.
//!
//! Of the merges that letters of two or three bytes take, most only put the bytes of a letter together. What they end
//! with is the same wherever the character stands, so that it is found out once, if two things hold:
//!
//! *Nothing else can happen to its bytes.* No token has a part of the character and something of a neighbour, as far as the
//! sets of [`super::cuts`] tell. Then no merge ever joins the two, and the character's own merges are done as if it
//! stood alone.
//!
//! *It is not too early.* Whatever merges with the whole character does so later, by rank, than the character is made. That
//! is so of tables in which every pair comes after the pairs that make its two sides ([`MergeTable::is_in_order`]), as
//! training makes them. Merging is then to apply one pair after the other to all of the text, each from the left: a pair that
//! takes the character finds it there when its turn comes, whether it was there from the start or not, and no pair before it
//! asks.
//!
//! Where either does not hold merging begins with bytes, as it is defined.

use super::cuts::{Cuts, character};
use super::small;
use super::table::MergeTable;

/// Characters that are known at a time: those of a script lie beside each other. At most 64 KB for each thread, so that what is
/// known of Chinese stays within the second cache; a page at first, which is enough for most scripts.
const FEW_KNOWN: usize = 1 << 8;
const MOST_KNOWN: usize = 1 << 12;
/// Most symbols that a character is known by. One of four bytes that do not merge begins as these.
const MOST_SYMBOLS: usize = 3;
/// What stands for no symbol: no id is that large.
const NO_SYMBOL: u32 = u32::MAX;
/// Room for the symbols of a unit, and for all of a character's behind the last one that counts.
const ROOM: usize = small::MOST + MOST_SYMBOLS;

/// A character, by its bytes as a number, and what its merges end with; all zeros is none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
struct Known {
    character: u32,
    /// Those that there are come first. None at all: the character begins as its bytes.
    symbols: [u32; MOST_SYMBOLS],
}

/// What a thread knows of characters.
#[derive(Debug, Default)]
pub(super) struct Starts {
    /// A power of two of them; none before the first one.
    known: Vec<Known>,
}

/// Symbols in the order of the text.
struct Symbols {
    ids: [u32; ROOM],
    n: usize,
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
        let mut symbols = Symbols {
            ids: [0; ROOM],
            n: 0,
        };
        if !self.begin(table, cuts, unit, &mut symbols) {
            return false;
        }
        small::merge_symbols(table, &symbols.ids[..symbols.n], out);
        true
    }

    fn begin(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        unit: &[u8],
        symbols: &mut Symbols,
    ) -> bool {
        let mut here = character(unit, 0);
        let (mut at, mut is_open) = (0, false);
        while let Some((left, end)) = here {
            here = character(unit, end);
            let next = here.map(|(right, _)| cuts.parts(left, right, unit[end - 1], unit[end]));
            let [of_left, of_right] = next.unwrap_or_default();
            let bytes = &unit[at..end];
            let begins_whole =
                !(is_open || of_left) && symbols.push(self.alone(table, left, bytes));
            if !begins_whole && !symbols.push_bytes(table, bytes) {
                return false;
            }
            (at, is_open) = (end, of_right);
        }
        at == unit.len()
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
        small::merge(table, bytes, &mut ids);
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

impl Symbols {
    /// Adds what a character begins as; false if that is nothing, or there is no room.
    #[inline]
    fn push(&mut self, symbols: [u32; MOST_SYMBOLS]) -> bool {
        let count: usize = symbols.iter().map(|&id| usize::from(id != NO_SYMBOL)).sum();
        // All are written, as many as there are count.
        let room = self.ids.get_mut(self.n..self.n + MOST_SYMBOLS);
        let Some(room) = room.filter(|_| count > 0 && self.n + count <= small::MOST) else {
            return false;
        };
        room.copy_from_slice(&symbols);
        self.n += count;
        true
    }

    fn push_bytes(&mut self, table: &MergeTable, bytes: &[u8]) -> bool {
        for &byte in bytes {
            if self.n == small::MOST {
                return false;
            }
            self.ids[self.n] = table.symbol(byte);
            self.n += 1;
        }
        true
    }
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
    fn model(choices: &[(usize, usize)], by_rank: bool, backwards: bool) -> BpeModel {
        let mut bytes = Vocab::default();
        for byte in 0..=255u8 {
            bytes.insert(u32::from(byte), &[byte]).unwrap();
        }
        let used: Vec<u8> = LETTERS.concat().into_bytes();
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
            let model = model(&choices, by_rank, backwards);
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
        let mut symbols = Symbols {
            ids: [0; ROOM],
            n: 0,
        };
        let (table, cuts) = (model.table().unwrap(), Cuts::new(model.vocab()));
        assert!(table.is_in_order());
        assert!(Starts::default().begin(table, &cuts, text.as_bytes(), &mut symbols));
        symbols.ids[..symbols.n].to_vec()
    }

    #[test]
    fn characters_begin_as_what_they_are_alone() {
        // 256: half of 你 and of 佀; 257: 你; 258: 你你.
        let model = with_tokens(&[b"\xE4\xBD", "你".as_bytes(), "你你".as_bytes()]);
        assert_eq!(begun(&model, "a你佀é"), [97, 257, 256, 0x80, 0xC3, 0xA9]);
        // With a token of 你 and the first byte of é, é begins as its bytes.
        let model = with_tokens(&[
            b"\xE4\xBD",
            "你".as_bytes(),
            "é".as_bytes(),
            b"\xE4\xBD\xA0\xC3",
        ]);
        assert_eq!(begun(&model, "你é佀é"), [257, 0xC3, 0xA9, 256, 0x80, 258]);
        // And with one of the last byte of 你 and é, 你 does.
        let model = with_tokens(&[
            b"\xE4\xBD",
            "你".as_bytes(),
            "é".as_bytes(),
            b"\xA0\xC3\xA9",
        ]);
        assert_eq!(
            begun(&model, "你é佀é"),
            [0xE4, 0xBD, 0xA0, 258, 256, 0x80, 258]
        );
    }

    #[test]
    fn what_is_not_in_order_is_said_to_be_so() {
        let is_in_order = |tokens: &[&[u8]]| with_tokens(tokens).table().unwrap().is_in_order();
        assert!(is_in_order(&[b"ab", b"abc"]));
        assert!(!is_in_order(&[b"abc", b"ab"]));
    }
}
