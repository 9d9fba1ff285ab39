//! Units of a long pretoken, some at a time: where they end, their keys, and where these would be kept.
//!
//! A batch has the same of pretokens ([`crate::word_batch`]), but more of them, and room for their ids.

use crate::caches::Caches;
use crate::simd::Kernel;
use crate::word_key::{Hashed, Key, Role};
use crate::word_keys::{EIGHT, Made};

/// Units that are cut, keyed and looked up together.
const AT_ONCE: usize = 32;

/// Its arrays begin with cache lines, as those of a batch.
#[repr(C, align(64))]
pub(crate) struct Units {
    ends: [usize; AT_ONCE],
    keys: [Key<1>; AT_ONCE],
    places: [usize; AT_ONCE],
    kernel: Kernel,
    role: Role,
}

impl Units {
    pub(crate) fn new(kernel: Kernel, role: Role) -> Self {
        Self {
            kernel,
            role,
            ends: [0; AT_ONCE],
            keys: [Key::NONE; AT_ONCE],
            places: [0; AT_ONCE],
        }
    }

    /// Where they end, to be filled.
    pub(crate) fn ends(&mut self) -> &mut [usize] {
        &mut self.ends
    }

    /// Makes the keys of `n` units of a text, the first of which begins at `start`, and asks for where they would be.
    pub(crate) fn make_keys(&mut self, text: &[u8], start: usize, n: usize, caches: &Caches) {
        let n = n.min(AT_ONCE);
        // The last eight are as many: what is behind them is empty.
        let last = n.checked_sub(1).map_or(start, |last| self.ends[last]);
        self.ends[n..n.next_multiple_of(EIGHT)].fill(last);
        let short = caches.short.places();
        let mut from = start;
        let (ends, _) = self.ends[..n.next_multiple_of(EIGHT)].as_chunks();
        let (keys, _) = self.keys.as_chunks_mut();
        let (places, _) = self.places.as_chunks_mut();
        for ((ends, keys), places) in ends.iter().zip(keys).zip(places) {
            let made = Made {
                keys,
                places,
                long: &mut [0; EIGHT],
            };
            for place in make_eight(self.kernel, text, from, ends, self.role, made) {
                short.fetch_at(place);
            }
            from = ends[EIGHT - 1];
        }
    }

    /// The key of each, its place and where it ends.
    pub(crate) fn all(&self, n: usize) -> impl Iterator<Item = (Key<1>, usize, usize)> {
        let both = self.keys.iter().zip(&self.places).zip(&self.ends);
        both.take(n).map(|((&key, &place), &end)| (key, place, end))
    }
}

#[inline]
fn make_eight(
    kernel: Kernel,
    text: &[u8],
    start: usize,
    ends: &[usize; EIGHT],
    role: Role,
    mut made: Made<'_>,
) -> [usize; EIGHT] {
    if let Some((_, hashes)) = kernel.make_eight(text, start, ends, 0, role, &mut made) {
        return hashes;
    }
    let mut from = start;
    for ((&end, key), place) in ends.iter().zip(made.keys).zip(&mut *made.places) {
        *key = Key::new(text, from, end).map_or(Key::NONE, |key| key.of(role));
        *place = key.hash();
        from = end;
    }
    *made.places
}
