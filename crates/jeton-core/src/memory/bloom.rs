//! Bits of a number within its word, in a Bloom filter of 64-bit words.
//!
//! One word is read for each question, so that it costs one read of memory; with ten bits for each
//! number, 3% of absent numbers pass. Other bits of the hash choose the word.

/// Three bits, by the lowest eighteen of a hash; some may be the same.
#[inline(always)]
pub(crate) fn filter_bits(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
}
