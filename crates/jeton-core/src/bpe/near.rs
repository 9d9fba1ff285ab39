//! The pairs that are met most often, beside each other.
//!
//! Merging makes short tokens first, again and again, and training gave these the first ids. Of the pairs that are found while new words of
//! code and English are merged more than four of five have two ids below a thousand, of all pairs a fifth (docs/engine.md). All over a
//! table each of them takes a cache line for itself, and all of the filter is looked at. So a table has a part for them, as
//! full as the rest of it, and so has its filter; in which one a pair is says the pair.

/// Ids below this are met most often.
pub(super) const NEAR_IDS: u32 = 1 << 10;

/// The part of a table for pairs of two ids below [`NEAR_IDS`]: its first slots, and the first words of its filter. Searches for these pairs
/// begin there, those for others behind it. None at all: there is one part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Near {
    ids: u32,
    slots: usize,
    words: usize,
}

impl Near {
    /// Of a table in which so many of the pairs are such: as full as the rest of it. There is a rest in any case.
    pub(super) fn new(n_near: usize, n_pairs: usize, n_slots: usize, n_words: usize) -> Self {
        let share = |n: usize| (n_near as u64 * n as u64 / n_pairs as u64) as usize;
        if n_near == 0 || n_pairs == 0 || n_slots < 2 || n_words < 2 {
            return Self::default();
        }
        Self {
            ids: NEAR_IDS,
            slots: share(n_slots).clamp(1, n_slots - 1),
            words: share(n_words).clamp(1, n_words - 1),
        }
    }

    /// Whether a pair is such.
    #[inline(always)]
    pub(super) fn has(&self, left: u32, right: u32) -> bool {
        (left | right) < self.ids
    }

    /// The slots double.
    pub(super) fn grow(&mut self) {
        self.slots *= 2;
    }

    /// Where a search among so many slots begins.
    #[inline(always)]
    pub(super) fn slot(&self, hash: u64, is_near: bool, n_slots: usize) -> usize {
        place(hash, is_near, self.slots, n_slots)
    }

    /// Which of so many words of a filter it is.
    #[inline(always)]
    pub(super) fn word(&self, hash: u64, is_near: bool, n_words: usize) -> usize {
        place(hash, is_near, self.words, n_words)
    }
}

/// A number below `n` from the high bits of a hash: below `n_near` or else from that on.
#[inline(always)]
fn place(hash: u64, is_near: bool, n_near: usize, n: usize) -> usize {
    let (begin, n) = if is_near {
        (0, n_near)
    } else {
        (n_near, n - n_near)
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
            n_near in 0..300usize,
            n_others in 0..300usize,
            n_slots in 1..900usize,
            n_words in 1..90usize,
            hash in any::<u64>(),
        ) {
            let near = Near::new(n_near, n_near + n_others, n_slots, n_words);
            let is_parted = near.has(0, NEAR_IDS - 1);
            prop_assert_eq!(is_parted, n_near > 0 && n_slots > 1 && n_words > 1);
            prop_assert!(!near.has(0, NEAR_IDS));
            if is_parted {
                prop_assert!(near.slot(hash, true, n_slots) < near.slot(hash, false, n_slots));
                prop_assert!(near.word(hash, true, n_words) < near.word(hash, false, n_words));
            }
            prop_assert!(near.slot(hash, false, n_slots) < n_slots);
            prop_assert!(near.word(hash, false, n_words) < n_words);
        }
    }
}
