//! Units of a pretoken: whether it is worth to cut it and, some at a time, where they end, their
//! keys, and where these would be kept.
//!
//! A batch has the same of pretokens ([`crate::pipeline::lookup`]), but more of them, and room for
//! their ids.

use crate::cache::key::{Hashed, Key, Role};
use crate::cache::key_simd::{EIGHT, KeyBatch};
use crate::cache::tiers::PretokenCache;
use crate::cpu::dispatch::Kernel;

/// Units that are cut, keyed and looked up together.
const BATCH_SEGMENTS: usize = 32;

/// Fewest bytes of a pretoken that may be cut. A character of a script without spaces has three.
const MIN_CUT_BYTES: usize = 7;
/// Longer ones are cut in any case: most come once, and merging takes long.
const MAX_MERGED_BYTES: usize = 64;
/// Largest mean length of short units, in bytes.
const SHORT_SEGMENT_BYTES: u32 = 8;
/// Bytes of pretokens, about, after which half of what is known of them is forgotten. Half and
/// twice as many do the same (docs/log/2026-11-28-tuning-constants.md), as do intervals.
const WINDOW_BYTES: u32 = 1 << 14;
/// Where units are long, one pretoken in this many is cut, to see whether they still are.
const SAMPLE_INTERVAL: u32 = 16;

/// How long units were lately: whether it is worth to cut pretokens that could be merged at once.
///
/// Where units are short, most of them came before, and are found. Long units have 10 bytes in
/// Russian under `cl100k_base` and 21 under `o200k_base`. Short ones have 3 to 5 bytes in Chinese,
/// Japanese, Korean and Thai. Looking for long units takes longer than merging the pretoken.
#[derive(Debug, Default)]
pub(crate) struct SegmentLengthStats {
    bytes: u32,
    units: u32,
    /// Pretokens that were merged since one was cut.
    merged: u32,
}

impl SegmentLengthStats {
    /// True if to cut a pretoken.
    #[inline]
    pub(crate) fn is_worth(&mut self, pretoken: &[u8]) -> bool {
        match pretoken.len() {
            ..MIN_CUT_BYTES => return false,
            MIN_CUT_BYTES..=MAX_MERGED_BYTES => {}
            _ => return true,
        }
        // Words of ASCII and letters of two bytes are merged as quickly
        // (docs/log/2026-11-28-what-pays.md).
        if ends_with_two_bytes(pretoken) || pretoken.is_ascii() {
            return false;
        }
        if self.bytes <= SHORT_SEGMENT_BYTES * self.units {
            return true;
        }
        self.merged = (self.merged + 1) % SAMPLE_INTERVAL;
        self.merged == 0
    }

    /// Notes that a pretoken of `n_bytes` bytes had `n_units` units.
    #[inline]
    pub(crate) fn note(&mut self, n_bytes: usize, n_units: usize) {
        if n_bytes > MAX_MERGED_BYTES {
            return;
        }
        self.bytes += n_bytes as u32;
        self.units += n_units as u32;
        if self.bytes > WINDOW_BYTES {
            (self.bytes, self.units) = (self.bytes / 2, self.units / 2);
        }
    }
}

/// True if the last letter has two bytes.
#[inline(always)]
fn ends_with_two_bytes(pretoken: &[u8]) -> bool {
    matches!(pretoken, [.., 0xC0..0xE0, _])
}

/// Units of a pretoken. The arrays begin with cache lines, as in a batch.
#[repr(C, align(64))]
pub(crate) struct Segments {
    ends: [usize; BATCH_SEGMENTS],
    keys: [Key<1>; BATCH_SEGMENTS],
    places: [usize; BATCH_SEGMENTS],
    kernel: Kernel,
    role: Role,
}

impl Segments {
    pub(crate) fn new(kernel: Kernel, role: Role) -> Self {
        Self {
            kernel,
            role,
            ends: [0; BATCH_SEGMENTS],
            keys: [Key::NONE; BATCH_SEGMENTS],
            places: [0; BATCH_SEGMENTS],
        }
    }

    /// Where they end, to be filled.
    pub(crate) fn ends(&mut self) -> &mut [usize] {
        &mut self.ends
    }

    /// Makes the keys of `n` units of a text, the first of which begins at `start`, and asks for
    /// where they would be.
    pub(crate) fn make_keys(
        &mut self,
        text: &[u8],
        start: usize,
        n: usize,
        caches: &PretokenCache,
    ) {
        let n = n.min(BATCH_SEGMENTS);
        // The last eight are filled up with empty units.
        let last = n.checked_sub(1).map_or(start, |last| self.ends[last]);
        self.ends[n..n.next_multiple_of(EIGHT)].fill(last);
        let short = caches.few_ids.places();
        let mut from = start;
        let (ends, _) = self.ends[..n.next_multiple_of(EIGHT)].as_chunks();
        let (keys, _) = self.keys.as_chunks_mut();
        let (places, _) = self.places.as_chunks_mut();
        for ((ends, keys), places) in ends.iter().zip(keys).zip(places) {
            let made = KeyBatch {
                keys,
                places,
                long: &mut [0; EIGHT],
            };
            for place in keys_of_eight(self.kernel, text, from, ends, self.role, made) {
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
fn keys_of_eight(
    kernel: Kernel,
    text: &[u8],
    start: usize,
    ends: &[usize; EIGHT],
    role: Role,
    mut made: KeyBatch<'_>,
) -> [usize; EIGHT] {
    if let Some((_, hashes)) = kernel.keys_of_eight(text, start, ends, 0, role, &mut made) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_long_as_units_are_short() {
        let mut segment_lengths = SegmentLengthStats::default();
        let (word, long) = ("คำไทย".as_bytes(), "คำไทย".repeat(5));
        assert!(segment_lengths.is_worth(word));
        segment_lengths.note(10, 2);
        assert!(segment_lengths.is_worth(word));
        // Pretokens that are never cut and pretokens that always are.
        assert!(!segment_lengths.is_worth("คำ".as_bytes()));
        assert!(!segment_lengths.is_worth("слово".as_bytes()));
        assert!(!segment_lengths.is_worth(b"incomprehensible"));
        for _ in 0..100 {
            segment_lengths.note(20, 1);
        }
        let n_cut = |segment_lengths: &mut SegmentLengthStats| {
            (0..160).filter(|_| segment_lengths.is_worth(word)).count()
        };
        assert_eq!(n_cut(&mut segment_lengths), 10);
        assert!(segment_lengths.is_worth(long.as_bytes()));
        assert!(segment_lengths.is_worth("слово".repeat(7).as_bytes()));
        segment_lengths.note(long.len(), 1 << 20);
        assert_eq!(n_cut(&mut segment_lengths), 10);
        // Another script follows.
        let n_noted = (0..10_000).take_while(|_| {
            segment_lengths.note(12, 4);
            n_cut(&mut segment_lengths) < 160
        });
        assert!((10..2_000).contains(&n_noted.count()));
    }
}
