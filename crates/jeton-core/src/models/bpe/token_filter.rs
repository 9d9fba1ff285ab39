//! A filter that rejects most pieces of a word that are no tokens, without the vocabulary.
//!
//! The vocabulary's slots, tokens' places and bytes take some megabytes. The filter takes an eighth
//! of a megabyte for a hundred thousand tokens, so it lies in a processor's second cache. The hash
//! of a piece is a polynomial of its bytes. So it comes from the hashes of two beginnings of the
//! word, by one multiplication.

use super::merge_scalar::MAX_SYMBOLS;
use crate::memory::bloom::filter_bits;
use crate::vocab::Vocab;

/// Bits for each token, of which three are set: 3% of what is no token passes.
const BITS_PER_TOKEN: usize = 10;
/// Shortest piece that the filter knows of: pairs of bytes are few, and have better tables.
const MIN_BYTES: usize = 3;
/// The base of the polynomial: any odd number without a pattern does.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Spreads a hash, whose low bits depend on the last bytes only.
const SPREAD: u64 = 0xD6E8_FEB8_6659_FD93;

const POWERS: [u64; MAX_SYMBOLS + 1] = {
    let mut powers = [1u64; MAX_SYMBOLS + 1];
    let mut n = 1;
    while n < powers.len() {
        powers[n] = powers[n - 1].wrapping_mul(BASE);
        n += 1;
    }
    powers
};

/// The hashes of a word's beginnings: of the first none, one, two ... bytes.
pub(super) struct Beginnings([u64; MAX_SYMBOLS + 1]);

impl Beginnings {
    /// Hashes the beginnings of a word of at most [`MAX_SYMBOLS`] bytes.
    #[inline]
    pub(super) fn new(word: &[u8]) -> Self {
        let mut begins = [0; MAX_SYMBOLS + 1];
        let mut hash = 0;
        for (begin, &byte) in begins[1..].iter_mut().zip(word) {
            hash = push(hash, byte);
            *begin = hash;
        }
        Self(begins)
    }

    /// The hash of the piece between two places.
    #[inline(always)]
    fn piece(&self, start: usize, end: usize) -> u64 {
        let (start, end) = (start % (MAX_SYMBOLS + 1), end % (MAX_SYMBOLS + 1));
        let before =
            self.0[start].wrapping_mul(POWERS[end.wrapping_sub(start) % (MAX_SYMBOLS + 1)]);
        self.0[end].wrapping_sub(before)
    }
}

/// The hash of a piece and one byte more.
const fn push(hash: u64, byte: u8) -> u64 {
    hash.wrapping_mul(BASE).wrapping_add(byte as u64 + 1)
}

/// The filter.
#[derive(Debug)]
pub(super) struct TokenFilter(Vec<u64>);

impl TokenFilter {
    /// Builds the filter of all tokens that the vocabulary finds.
    pub(super) fn new(vocab: &Vocab) -> Self {
        let n_words = vocab.n_tokens() as usize * BITS_PER_TOKEN / 64 + 1;
        let mut filter = Self(vec![0; n_words]);
        for (id, token) in vocab.iter() {
            if is_known(token) && vocab.is_findable(id) {
                let hash = token.iter().fold(0, |hash, &byte| push(hash, byte));
                let (word, bits) = filter.place(hash);
                filter.0[word] |= bits;
            }
        }
        filter
    }

    /// True if a word may be a token.
    #[inline]
    pub(super) fn may_have(&self, word: &[u8]) -> bool {
        !is_known(word) || self.has(word.iter().fold(0, |hash, &byte| push(hash, byte)))
    }

    /// True if a piece of at least three bytes may be one.
    #[inline(always)]
    pub(super) fn may_have_piece(&self, begins: &Beginnings, start: usize, end: usize) -> bool {
        self.has(begins.piece(start, end))
    }

    #[inline(always)]
    fn has(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.0[word] & bits == bits
    }

    #[inline(always)]
    fn place(&self, hash: u64) -> (usize, u64) {
        let spread = hash.wrapping_mul(SPREAD);
        let low = spread >> 14 ^ hash;
        let word = ((spread >> 32) * self.0.len() as u64) >> 32;
        (word as usize, filter_bits(low))
    }
}

#[inline]
fn is_known(token: &[u8]) -> bool {
    (MIN_BYTES..=MAX_SYMBOLS).contains(&token.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vocab<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Vocab {
        let mut vocab = Vocab::default();
        for token in tokens {
            vocab.insert(vocab.size(), token).unwrap();
        }
        vocab
    }

    proptest! {
        #[test]
        fn tokens_pass_wherever_they_stand(
            before in prop::collection::vec(any::<u8>(), 0..20),
            token in prop::collection::vec(any::<u8>(), 1..MAX_SYMBOLS + 9),
            after in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let filter = TokenFilter::new(&vocab([&token[..]].into_iter()));
            prop_assert!(filter.may_have(&token));
            let word = [&before[..], &token, &after].concat();
            let (start, end) = (before.len(), before.len() + token.len());
            if word.len() <= MAX_SYMBOLS && token.len() >= MIN_BYTES {
                prop_assert!(filter.may_have_piece(&Beginnings::new(&word), start, end));
            }
        }
    }

    #[test]
    fn little_else_passes() {
        let token = |n: u32| n.to_string().repeat(2).into_bytes();
        let tokens: Vec<_> = (10..20_000).map(|n| token(3 * n)).collect();
        let filter = TokenFilter::new(&vocab(tokens.iter().map(Vec::as_slice)));
        assert!(tokens.iter().all(|token| filter.may_have(token)));
        let wrong = |n: &u32| filter.may_have(&token(3 * n + 1));
        let n_wrong = (10..20_000).filter(wrong).count();
        assert!(n_wrong < 20_000 / 16, "{n_wrong}");
    }
}
