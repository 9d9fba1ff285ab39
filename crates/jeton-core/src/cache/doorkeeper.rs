//! Doorkeeper: a Bloom filter of the pretokens that came lately and were not kept. A pretoken that
//! comes once is not worth the room and the time of keeping it.
//!
//! A filter of bits: of one in seven that did not come, in the test below, it says that it came,
//! which is kept the first time then. When it is full, it becomes larger, or forgets all.

use crate::memory::bloom::filter_bits;
use crate::memory::huge_pages::HugeSlice;

/// Words of the filter at first, and at most: bounds of memory. A small budget has room for the
/// first ones. Beginning with the most is no faster (docs/log/2026-11-28-tuning-constants.md).
const FIRST_WORDS: usize = 1 << 8;
const MAX_WORDS: usize = 1 << 14;
/// Bits for each hash, of which three are set. Half of them in half the words is slower, twice as
/// many do the same (docs/log/2026-11-28-tuning-constants.md).
const BITS_PER_HASH: usize = 10;
/// By how many times it grows.
const GROWTH: usize = 4;

/// Hashes.
#[derive(Debug, Default)]
pub(crate) struct Doorkeeper {
    /// A power of two of them; none until the first hash comes.
    words: HugeSlice<u64>,
    /// How many came that were not there.
    n_new: usize,
}

impl Doorkeeper {
    /// Bytes that it takes.
    pub(crate) fn n_bytes(&self) -> usize {
        Self::bytes_of(self.words.len())
    }

    /// For how many words there should be room, if it is full.
    #[inline]
    pub(crate) fn wants(&self) -> Option<usize> {
        let n = self.words.len();
        let is_full = self.n_new * BITS_PER_HASH >= n * 64;
        is_full.then(|| (n * GROWTH).clamp(FIRST_WORDS, MAX_WORDS))
    }

    /// Bytes of `n_words` words of the filter.
    pub(crate) fn bytes_of(n_words: usize) -> usize {
        n_words * size_of::<u64>()
    }

    /// Uses more room, which must be zeros.
    pub(crate) fn grow(&mut self, mut room: HugeSlice<u64>) {
        // A hash chooses its word by its upper bits: each old word becomes `GROWTH` new ones.
        for (there, &before) in room.chunks_mut(GROWTH).zip(&*self.words) {
            there.fill(before);
        }
        self.words = room;
    }

    /// Goes on with the room that there is, and knows nothing any more.
    pub(crate) fn forget(&mut self) {
        self.words.fill(0);
        self.n_new = 0;
    }

    /// True if a hash came before, not long ago; it has now.
    #[inline]
    pub(crate) fn insert_seen(&mut self, hash: u32) -> bool {
        let place = (u64::from(hash) * self.words.len() as u64) >> 32;
        let Some(word) = self.words.get_mut(place as usize) else {
            return false;
        };
        let bits = filter_bits(u64::from(hash));
        let is_there = *word & bits == bits;
        *word |= bits;
        self.n_new += usize::from(!is_there);
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u32) -> u32 {
        let product = (u64::from(n) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let product = (product ^ product >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (product >> 32) as u32
    }

    #[test]
    fn what_came_is_known_again_until_there_is_no_more_room() {
        let mut seen = Doorkeeper::default();
        assert!(!seen.insert_seen(7));
        assert!(!seen.insert_seen(7));
        let mut n_wrong = 0;
        for n in 0..50_000 {
            if let Some(n) = seen.wants() {
                assert!(n > seen.words.len());
                seen.grow(HugeSlice::zeroed(n));
            }
            n_wrong += usize::from(seen.insert_seen(hash(n)));
        }
        assert!(n_wrong < 7_500, "{n_wrong}");
        // Nothing was lost with growing.
        assert!((0..50_000).all(|n| seen.insert_seen(hash(n))));
        assert_eq!(seen.words.len(), MAX_WORDS);
        for n in 50_000..200_000 {
            seen.insert_seen(hash(n));
        }
        assert_eq!(seen.wants(), Some(MAX_WORDS));
        seen.forget();
        assert_eq!(
            (seen.wants(), seen.n_bytes()),
            (None, Doorkeeper::bytes_of(MAX_WORDS))
        );
        assert!((0..100).all(|n| !seen.insert_seen(hash(n))));
    }
}
