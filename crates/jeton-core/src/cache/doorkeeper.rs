//! What came lately and was not kept, by its hash: what comes once is not worth the room and the time of keeping it.
//!
//! A filter of bits: of one in seven that did not come, in the test below, it says that it came, which is kept the first time then. When it
//! is full, it becomes larger, or forgets all.

use crate::memory::bloom::filter_bits;
use crate::memory::huge_pages::Huge;

/// Words of the filter at first, and at most.
const FIRST: usize = 1 << 8;
const MOST: usize = 1 << 14;
/// Bits for each hash, of which three are set.
const BITS: usize = 10;
/// By how many times it grows.
const MORE: usize = 4;

/// Hashes.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// A power of two of them; none until the first hash comes.
    words: Huge<u64>,
    /// How many came that were not there.
    n_new: usize,
}

impl Seen {
    /// Bytes that it takes.
    pub(crate) fn n_bytes(&self) -> usize {
        Self::bytes_of(self.words.len())
    }

    /// For how many words there should be room, if it is full.
    #[inline]
    pub(crate) fn wants(&self) -> Option<usize> {
        let n = self.words.len();
        let is_full = self.n_new * BITS >= n * 64;
        is_full.then(|| (n * MORE).clamp(FIRST, MOST))
    }

    /// Bytes of so many words.
    pub(crate) fn bytes_of(n_words: usize) -> usize {
        n_words * size_of::<u64>()
    }

    /// Uses more room, which must be zeros.
    pub(crate) fn grow(&mut self, mut room: Huge<u64>) {
        // A hash chooses its word by its upper bits: what was in one word may be in any of so many now.
        for (there, &before) in room.chunks_mut(MORE).zip(&*self.words) {
            there.fill(before);
        }
        self.words = room;
    }

    /// Goes on with the room that there is, and knows nothing any more.
    pub(crate) fn forget(&mut self) {
        self.words.fill(0);
        self.n_new = 0;
    }

    /// Whether a hash came before, not long ago; it has now.
    #[inline]
    pub(crate) fn came_before(&mut self, hash: u32) -> bool {
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
        let mut seen = Seen::default();
        assert!(!seen.came_before(7));
        assert!(!seen.came_before(7));
        let mut n_wrong = 0;
        for n in 0..50_000 {
            if let Some(n) = seen.wants() {
                assert!(n > seen.words.len());
                seen.grow(Huge::zeroed(n));
            }
            n_wrong += usize::from(seen.came_before(hash(n)));
        }
        assert!(n_wrong < 7_500, "{n_wrong}");
        // Nothing was lost with growing.
        assert!((0..50_000).all(|n| seen.came_before(hash(n))));
        assert_eq!(seen.words.len(), MOST);
        for n in 50_000..200_000 {
            seen.came_before(hash(n));
        }
        assert_eq!(seen.wants(), Some(MOST));
        seen.forget();
        assert_eq!((seen.wants(), seen.n_bytes()), (None, Seen::bytes_of(MOST)));
        assert!((0..100).all(|n| !seen.came_before(hash(n))));
    }
}
