//! Pairs of low ids, kept together in a table of merges.
//!
//! Merging makes short tokens first, and training gave those the first ids. Four of five pairs that
//! are found while new words are merged have two ids below a thousand; of all pairs a fifth has
//! (docs/log/engine-2026-11.md). Spread over the table, each takes a cache line for itself. So the
//! table and its filter have a part for them. docs/log/low-id-pairs.md has the measurement.

/// Ids below this are low.
pub(super) const LOW_IDS: u32 = 1 << 10;

/// The part of a table for pairs of two ids below [`LOW_IDS`]: its first slots, and the first words
/// of its filter. Searches for these pairs begin there, those for others behind it. None at all:
/// there is one part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LowIdPartition {
    ids: u32,
    slots: usize,
    words: usize,
}

impl LowIdPartition {
    /// Returns the partition of a table with `n_low` low pairs. It is as full as the rest, which is
    /// never empty.
    pub(super) fn new(n_low: usize, n_pairs: usize, n_slots: usize, n_words: usize) -> Self {
        let share = |n: usize| (n_low as u64 * n as u64 / n_pairs as u64) as usize;
        if n_low == 0 || n_pairs == 0 || n_slots < 2 || n_words < 2 {
            return Self::default();
        }
        Self {
            ids: LOW_IDS,
            slots: share(n_slots).clamp(1, n_slots - 1),
            words: share(n_words).clamp(1, n_words - 1),
        }
    }

    /// True if a pair is such.
    #[inline(always)]
    pub(super) fn has(&self, left: u32, right: u32) -> bool {
        (left | right) < self.ids
    }

    /// The slots double.
    pub(super) fn grow(&mut self) {
        self.slots *= 2;
    }

    /// Returns the first of `n_slots` slots that a search looks at.
    #[inline(always)]
    pub(super) fn slot(&self, hash: u64, is_low: bool, n_slots: usize) -> usize {
        place(hash, is_low, self.slots, n_slots)
    }

    /// Returns the index of a pair's word among the `n_words` words of a filter.
    #[inline(always)]
    pub(super) fn word(&self, hash: u64, is_low: bool, n_words: usize) -> usize {
        place(hash, is_low, self.words, n_words)
    }
}

/// A number below `n` from the high bits of a hash: below `n_low` or else from that on.
#[inline(always)]
fn place(hash: u64, is_low: bool, n_low: usize, n: usize) -> usize {
    let (begin, n) = if is_low {
        (0, n_low)
    } else {
        (n_low, n - n_low)
    };
    begin + (((hash >> 32) * n as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_there_and_each_part_has_its_own(
            n_low in 0..300usize,
            n_others in 0..300usize,
            n_slots in 1..900usize,
            n_words in 1..90usize,
            hash in any::<u64>(),
        ) {
            let low_ids = LowIdPartition::new(n_low, n_low + n_others, n_slots, n_words);
            let is_parted = low_ids.has(0, LOW_IDS - 1);
            prop_assert_eq!(is_parted, n_low > 0 && n_slots > 1 && n_words > 1);
            prop_assert!(!low_ids.has(0, LOW_IDS));
            if is_parted {
                prop_assert!(low_ids.slot(hash, true, n_slots) < low_ids.slot(hash, false, n_slots));
                prop_assert!(low_ids.word(hash, true, n_words) < low_ids.word(hash, false, n_words));
            }
            prop_assert!(low_ids.slot(hash, false, n_slots) < n_slots);
            prop_assert!(low_ids.word(hash, false, n_words) < n_words);
        }
    }
}
