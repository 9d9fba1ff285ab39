//! Merging by ranks with the vocabulary itself, before it is worth to make a table of pairs.
//!
//! Finding the pair that makes each of a hundred thousand tokens takes longer than encoding some
//! megabytes of text. Words come again, and a text has few new ones.
//!
//! Any pair merges whose concatenation is a token, and the concatenation is a piece of the word
//! that is merged. So pieces are looked up in the vocabulary. After some words only pieces that
//! pass a filter are (`token_filter`). The filter takes a fraction of the time that the table takes
//! to make. Two bytes have a table of their own then.

use super::merge_scalar::{Find, Pair};
use super::slots::{GRID, MAX_ID, NO_PAIR, PLACE_BITS};
use super::token_filter::{Beginnings, TokenFilter};
use super::{NONE, merge_scalar};
use crate::cpu::dispatch::Kernel;
use crate::vocab::Vocab;

/// A table and a filter that make the search for pieces quicker.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Merges of two bytes, as [`Find::find_bytes`] returns them.
    grid: Vec<u32>,
    /// Pieces of three bytes or more that may be tokens.
    pub(super) filter: TokenFilter,
}

/// True if every pair of tokens merges whose concatenation is one: not with two tokens of the same
/// bytes, nor with bytes that have none. Nor with too many of them.
pub(super) fn holds(vocab: &Vocab, symbols: &[u32; 256]) -> bool {
    vocab.is_unique() && vocab.size() < MAX_ID && !symbols.contains(&NONE)
}

/// Appends the ids of a word of at most [`merge_scalar::MAX_SYMBOLS`] bytes. Merging by pieces must
/// hold for the vocabulary ([`holds`]).
pub(super) fn merge(
    pieces: Option<&Pieces>,
    vocab: &Vocab,
    symbols: &[u32; 256],
    kernel: Kernel,
    word: &[u8],
    out: &mut Vec<u32>,
) {
    let known = ByVocabulary {
        vocab,
        symbols,
        word,
        kernel,
    };
    let Some(pieces) = pieces else {
        return merge_scalar::merge_bytes(&known, word, out);
    };
    let filtered = Filtered {
        pieces,
        known,
        begins: Beginnings::new(word),
    };
    merge_scalar::merge_bytes(&filtered, word, out);
}

impl Pieces {
    /// Builds both for a vocabulary for which merging by pieces [holds].
    pub(super) fn new(vocab: &Vocab) -> Self {
        let mut grid = vec![NO_PAIR; GRID];
        for (id, token) in vocab.iter() {
            if let &[first, second] = token
                && vocab.is_findable(id)
            {
                grid[usize::from(first) << 8 | usize::from(second)] = id << PLACE_BITS;
            }
        }
        Self {
            grid,
            filter: TokenFilter::new(vocab),
        }
    }
}

/// A word, and which of its pieces are tokens.
struct ByVocabulary<'w> {
    vocab: &'w Vocab,
    symbols: &'w [u32; 256],
    word: &'w [u8],
    kernel: Kernel,
}

impl ByVocabulary<'_> {
    #[inline]
    fn piece(&self, pair: Pair) -> &[u8] {
        self.word.get(pair.start..pair.end).unwrap_or_default()
    }

    #[inline]
    fn id(&self, piece: &[u8]) -> Option<u32> {
        self.vocab.bytes_to_id(piece)
    }
}

impl Find for ByVocabulary<'_> {
    #[inline]
    fn symbol(&self, byte: u8) -> u32 {
        self.symbols[usize::from(byte)]
    }

    #[inline]
    fn find_bytes(&self, first: u8, second: u8) -> u32 {
        let id = self.id(&[first, second]);
        id.map_or(NO_PAIR, |id| id << PLACE_BITS)
    }

    #[inline]
    fn find(&self, pair: Pair) -> u32 {
        let id = self.id(self.piece(pair));
        id.map_or(NO_PAIR, |id| id << PLACE_BITS)
    }

    #[inline]
    fn merged(&self, index: u32) -> u32 {
        index
    }

    #[inline]
    fn kernel(&self) -> Kernel {
        self.kernel
    }
}

/// A word whose pieces pass a filter first.
struct Filtered<'w> {
    pieces: &'w Pieces,
    known: ByVocabulary<'w>,
    begins: Beginnings,
}

impl Find for Filtered<'_> {
    #[inline]
    fn symbol(&self, byte: u8) -> u32 {
        self.known.symbol(byte)
    }

    #[inline]
    fn find_bytes(&self, first: u8, second: u8) -> u32 {
        self.pieces.grid[usize::from(first) << 8 | usize::from(second)]
    }

    #[inline]
    fn find(&self, pair: Pair) -> u32 {
        let filter = &self.pieces.filter;
        if filter.may_have_piece(&self.begins, pair.start, pair.end) {
            self.known.find(pair)
        } else {
            NO_PAIR
        }
    }

    #[inline]
    fn merged(&self, index: u32) -> u32 {
        index
    }

    #[inline]
    fn kernel(&self) -> Kernel {
        self.known.kernel
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::merge_scalar::MAX_SYMBOLS;
    use super::super::naive::encode_by_rank;
    use super::*;

    fn symbols(vocab: &Vocab) -> [u32; 256] {
        std::array::from_fn(|byte| vocab.bytes_to_id(&[byte as u8]).unwrap_or(NONE))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Tokens may come before the bytes that they are made of, and need not be made by merges.
        #[test]
        fn words_are_those_of_the_naive_twin(
            tokens in prop::collection::vec(prop::collection::vec(0..4u8, 1..9), 0..40),
            words in prop::collection::vec(prop::collection::vec(0..5u8, 0..=MAX_SYMBOLS), 1..20),
        ) {
            let mut vocab = Vocab::default();
            let bytes: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
            for token in tokens.iter().chain(&bytes) {
                if vocab.bytes_to_id(token).is_none() {
                    vocab.insert(vocab.size(), token).unwrap();
                }
            }
            let symbols = symbols(&vocab);
            prop_assert!(holds(&vocab, &symbols));
            let made = Pieces::new(&vocab);
            for word in &words {
                let expected = encode_by_rank(&vocab, word);
                for pieces in [None, Some(&made)] {
                    let mut ids = Vec::new();
                    merge(pieces, &vocab, &symbols, Kernel::fastest(), word, &mut ids);
                    prop_assert_eq!(&ids, &expected);
                }
            }
        }
    }

    #[test]
    fn it_does_not_hold_for_all() {
        let mut vocab = Vocab::default();
        for byte in 0..255u8 {
            vocab.insert(u32::from(byte), &[byte]).unwrap();
        }
        assert!(!holds(&vocab, &symbols(&vocab)));
        vocab.insert(255, &[255]).unwrap();
        assert!(holds(&vocab, &symbols(&vocab)));
        let mut large = vocab.clone();
        large.insert(MAX_ID, b"ab").unwrap();
        assert!(!holds(&large, &symbols(&large)));
        vocab.insert(256, b"ab").unwrap();
        vocab.insert(257, b"ab").unwrap();
        assert!(!holds(&vocab, &symbols(&vocab)));
    }
}
