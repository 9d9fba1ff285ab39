//! The slots of a table of merges: one word for each pair, open addressing, and a filter of bits.

use super::low_ids::LowIdPartition;
use crate::memory::bloom;

/// Ids must be below this for an entry to fit a word. The limit is five times the size of the
/// largest published vocabulary.
pub(super) const MAX_ID: u32 = 1 << 20;
/// Indexes must be below this, for the same reason.
pub(super) const MAX_INDEX: usize = 1 << 24;
/// An empty entry: no index is that large.
pub(super) const EMPTY: u64 = u64::MAX;
/// No such pair, in the form that `MergeTable::find` gives. It is larger than all that exist, as a
/// signed number, too.
pub(super) const NO_PAIR: u32 = i32::MAX as u32;
/// Bits by which `MergeTable::find` shifts an index: room for a place among 64.
pub(super) const PLACE_BITS: u32 = 6;
/// Slots for two pairs: a third of the table is empty.
pub(super) const SLOTS_FOR_TWO: usize = 3;
/// Pairs of bytes.
pub(super) const GRID: usize = 1 << 16;
/// Bits of the filter for each pair. With three bits set for each, 3% of the pairs that are not
/// there pass.
pub(super) const FILTER_BITS: usize = 10;

/// Hash of a pair of ids.
#[inline(always)]
pub(super) fn hash_of(left: u32, right: u32) -> u64 {
    // Fibonacci hashing: the high bits of the product depend on all bits of the pair.
    (u64::from(left) << 20 | u64::from(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The bits of a pair in its word of the filter.
#[inline(always)]
pub(super) fn filter_bits(hash: u64) -> u64 {
    bloom::filter_bits(hash ^ hash >> 32)
}

/// Puts a pair among entries of which one at least is empty; a pair that is there already gets the
/// new index. Says whether it is new.
pub(super) fn put(
    entries: &mut [u64],
    filter: &mut [u64],
    low_ids: LowIdPartition,
    left: u32,
    right: u32,
    index: u32,
) -> bool {
    let (hash, is_low) = (hash_of(left, right), low_ids.has(left, right));
    filter[low_ids.word(hash, is_low, filter.len())] |= filter_bits(hash);
    let key = u64::from(left) << 20 | u64::from(right);
    let mut slot = low_ids.slot(hash, is_low, entries.len());
    while entries[slot] != EMPTY && entries[slot] >> 24 != key {
        slot = (slot + 1) % entries.len();
    }
    let is_new = entries[slot] == EMPTY;
    entries[slot] = key << 24 | u64::from(index);
    is_new
}

/// Returns left id, right id and index of an entry.
pub(super) fn unpack(entry: u64) -> (u32, u32, u32) {
    let low = |bits: u64| (bits & u64::from(MAX_ID - 1)) as u32;
    let index = entry as u32 & (MAX_INDEX as u32 - 1);
    (low(entry >> 44), low(entry >> 24), index)
}
