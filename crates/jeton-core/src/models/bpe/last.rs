//! The pairs that merged last, for all threads together.
//!
//! A few thousand pairs make most of a text's merges. Side by side they have room in a processor's
//! second cache, while looking for their tokens takes three reads of tables of a megabyte each.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many are kept: 256 KB.
const N: usize = 1 << 15;
/// Bits of a pair's number, above those of what it merges to.
const PAIR_BITS: u32 = 40;
const MERGE_BITS: u32 = 64 - PAIR_BITS;

/// Pairs, and what they merge to. A pair and its merge are one number, so that what one thread
/// writes and another one reads is never half of one pair and half of another.
#[derive(Debug)]
pub(super) struct LastPairs(Vec<AtomicU64>);

impl LastPairs {
    pub(super) fn new() -> Self {
        Self(std::iter::repeat_with(AtomicU64::default).take(N).collect())
    }

    /// What a pair merges to: a number below 2^24, as it is kept or else as `find` says. `pair`: a
    /// number below 2^40; `hash`: of it, of which the highest bits count. What does not merge is
    /// not kept.
    #[inline(always)]
    pub(super) fn get_or(
        &self,
        pair: u64,
        hash: u64,
        find: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        let Some(last) = self.0.get((hash >> (u64::BITS - N.ilog2())) as usize) else {
            return find();
        };
        let kept = last.load(Ordering::Relaxed);
        // Zero is nothing; the one pair that would be zero is looked for each time.
        if kept >> MERGE_BITS == pair && kept != 0 {
            return Some((kept & ((1 << MERGE_BITS) - 1)) as u32);
        }
        let merge = find()?;
        last.store(pair << MERGE_BITS | u64::from(merge), Ordering::Relaxed);
        Some(merge)
    }
}
