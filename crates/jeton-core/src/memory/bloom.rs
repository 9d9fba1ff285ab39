//! Which bits of its word a number has in a filter of words of 64 bits.
//!
//! One word is read for each question, so that it costs one read of memory; with ten bits for each
//! number, 3% of those that are not there pass. Which word it is depends on other bits of the hash.

/// Three bits, by the lowest eighteen of a hash; some may be the same.
#[inline(always)]
pub(crate) fn filter_bits(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
}
