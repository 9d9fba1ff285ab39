//! Merging by ranks with the vocabulary itself, before it is worth to make a table of pairs.
//!
//! To find the pair that each of a hundred thousand tokens is made of takes longer than to encode some megabytes of text: words come
//! again, and a text has few that are new.
//!
//! Any pair merges whose concatenation is a token, and the concatenation is a piece of the word that is merged. So pieces are looked up
//! in the vocabulary. After some words a filter of all tokens is made, in a fraction of the time that the table takes: a word gets a hash for
//! each of its beginnings, the hash of any piece comes from two of those by one multiplication, and the filter says of most pieces
//! that they are no tokens. Two bytes have a table of their own, and which token the last pairs made is kept.

use super::last::LastPairs;
use super::small::{Find, MOST, Pair};
use super::table::{GRID, MAX_ID, NO_PAIR, PLACE_BITS};
use super::{NONE, small};
use crate::vocab::Vocab;

/// Bits of the filter for each token, of which three are set: 3% of what is no token passes.
const BITS_PER_TOKEN: usize = 10;
/// The base of the polynomial whose value is the hash of a piece: any odd number without a pattern does.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Bits of an id.
const ID_BITS: u32 = MAX_ID.ilog2();
/// Spreads a hash, whose low bits depend on the last bytes only.
const SPREAD: u64 = 0xD6E8_FEB8_6659_FD93;

const POWERS: [u64; MOST + 1] = {
    let mut powers = [1u64; MOST + 1];
    let mut n = 1;
    while n < powers.len() {
        powers[n] = powers[n - 1].wrapping_mul(BASE);
        n += 1;
    }
    powers
};

/// What makes looking for pieces quicker.
#[derive(Debug)]
pub(super) struct Fresh {
    filter: Vec<u64>,
    /// For two bytes what [`small::merge_bytes`] asks for.
    grid: Vec<u32>,
    last: LastPairs,
}

/// The hash of a piece, and one byte more.
const fn push(hash: u64, byte: u8) -> u64 {
    hash.wrapping_mul(BASE).wrapping_add(byte as u64 + 1)
}

/// Whether every pair of tokens merges whose concatenation is one: not with two tokens of the same bytes, nor with bytes that
/// have none. Nor with too many of them.
pub(super) fn holds(vocab: &Vocab, symbols: &[u32; 256]) -> bool {
    vocab.is_unique() && vocab.size() < MAX_ID && !symbols.contains(&NONE)
}

/// Appends the ids of a word of at most [`MOST`] bytes. It must be a vocabulary for which this [holds].
pub(super) fn merge(
    fresh: Option<&Fresh>,
    vocab: &Vocab,
    symbols: &[u32; 256],
    word: &[u8],
    out: &mut Vec<u32>,
) {
    let known = Known {
        vocab,
        symbols,
        word,
    };
    let Some(fresh) = fresh else {
        return small::merge_bytes(&known, word, out);
    };
    let mut begins = [0; MOST + 1];
    let mut hash = 0;
    for (begin, &byte) in begins[1..].iter_mut().zip(word) {
        hash = push(hash, byte);
        *begin = hash;
    }
    small::merge_bytes(
        &Filtered {
            fresh,
            known,
            begins,
        },
        word,
        out,
    );
}

impl Fresh {
    /// Of a vocabulary for which it [holds].
    pub(super) fn new(vocab: &Vocab) -> Self {
        let words = vocab.n_tokens() as usize * BITS_PER_TOKEN / 64 + 1;
        let mut fresh = Self {
            filter: vec![0; words],
            grid: vec![NO_PAIR; GRID],
            last: LastPairs::new(),
        };
        for (id, token) in vocab.iter().filter(|&(id, _)| vocab.is_findable(id)) {
            match *token {
                [] | [_] => {}
                [first, second] => {
                    let pair = usize::from(first) << 8 | usize::from(second);
                    fresh.grid[pair] = id << PLACE_BITS;
                }
                _ if token.len() > MOST => {}
                _ => {
                    let hash = token.iter().fold(0, |hash, &byte| push(hash, byte));
                    let (word, bits) = fresh.place(hash);
                    fresh.filter[word] |= bits;
                }
            }
        }
        fresh
    }

    /// Whether a piece may be a token: of what is none, and of at most [`MOST`] bytes, 3% may. Saying so takes no more than the second
    /// cache, where the vocabulary's slots are further away.
    #[inline]
    pub(super) fn may_be_token(&self, piece: &[u8]) -> bool {
        match *piece {
            [first, second] => self.grid[usize::from(first) << 8 | usize::from(second)] != NO_PAIR,
            _ if (3..=MOST).contains(&piece.len()) => {
                self.has(piece.iter().fold(0, |hash, &byte| push(hash, byte)))
            }
            _ => true,
        }
    }

    #[inline(always)]
    fn has(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.filter[word] & bits == bits
    }

    #[inline(always)]
    fn place(&self, hash: u64) -> (usize, u64) {
        let spread = hash.wrapping_mul(SPREAD);
        let low = spread >> 14 ^ hash;
        let word = ((spread >> 32) * self.filter.len() as u64) >> 32;
        let bits = 1 << (low & 63) | 1 << (low >> 6 & 63) | 1 << (low >> 12 & 63);
        (word as usize, bits)
    }
}

/// A word, and which of its pieces are tokens.
struct Known<'w> {
    vocab: &'w Vocab,
    symbols: &'w [u32; 256],
    word: &'w [u8],
}

impl Known<'_> {
    #[inline]
    fn piece(&self, pair: Pair) -> &[u8] {
        self.word.get(pair.start..pair.end).unwrap_or_default()
    }

    #[inline]
    fn id(&self, piece: &[u8]) -> Option<u32> {
        self.vocab.bytes_to_id(piece)
    }
}

impl Find for Known<'_> {
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
}

/// The same, with what makes it quicker.
struct Filtered<'w> {
    fresh: &'w Fresh,
    known: Known<'w>,
    /// The hash of what comes before each place.
    begins: [u64; MOST + 1],
}

impl Find for Filtered<'_> {
    #[inline]
    fn symbol(&self, byte: u8) -> u32 {
        self.known.symbol(byte)
    }

    #[inline]
    fn find_bytes(&self, first: u8, second: u8) -> u32 {
        self.fresh.grid[usize::from(first) << 8 | usize::from(second)]
    }

    #[inline]
    fn find(&self, pair: Pair) -> u32 {
        let (start, end) = (pair.start % (MOST + 1), pair.end % (MOST + 1));
        let before = self.begins[start].wrapping_mul(POWERS[end.wrapping_sub(start) % (MOST + 1)]);
        if !self.fresh.has(self.begins[end].wrapping_sub(before)) {
            return NO_PAIR;
        }
        let both = u64::from(pair.left) << ID_BITS | u64::from(pair.right);
        let id = self.fresh.last.get_or(both, both.wrapping_mul(SPREAD), || {
            self.known.id(self.known.piece(pair))
        });
        id.map_or(NO_PAIR, |id| id << PLACE_BITS)
    }

    #[inline]
    fn merged(&self, index: u32) -> u32 {
        index
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            words in prop::collection::vec(prop::collection::vec(0..5u8, 0..=MOST), 1..20),
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
            let fresh = Fresh::new(&vocab);
            for word in &words {
                let expected = encode_by_rank(&vocab, word);
                for fresh in [None, Some(&fresh)] {
                    let mut ids = Vec::new();
                    merge(fresh, &vocab, &symbols, word, &mut ids);
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

    #[test]
    fn the_filter_lets_few_pass() {
        let mut vocab = Vocab::default();
        for byte in 0..=255u8 {
            vocab.insert(u32::from(byte), &[byte]).unwrap();
        }
        for n in 0..20_000u32 {
            vocab
                .insert(vocab.size(), &(n * 3).to_string().repeat(2).into_bytes())
                .unwrap();
        }
        let fresh = Fresh::new(&vocab);
        let passes = |n: u32| fresh.may_be_token(n.to_string().repeat(2).as_bytes());
        assert!((10..20_000).all(|n| passes(n * 3)));
        let n_wrong = (10..20_000).filter(|n| passes(n * 3 + 1)).count();
        assert!(n_wrong < 20_000 / 16, "{n_wrong}");
    }
}
