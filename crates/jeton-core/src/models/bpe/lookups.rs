//! Looking for pairs in a table of merges, two at a time.
//!
//! A merge makes two pairs: of the new token with what follows, and with what is before. Whether
//! either merges cannot be guessed, and what a processor does behind a wrong guess it does again.
//! So all that is read for both is asked for before the first is looked at.

use super::low_ids::LowIdPartition;
use super::table::{EMPTY, MAX_INDEX, MergeTable, NO_PAIR, PLACE_BITS};
use crate::cpu::prefetch::prefetch;

/// A table, and where what is read to find a pair lies: who asks again and again has to hold less
/// at a time.
#[derive(Clone, Copy)]
pub(super) struct Lookups<'t> {
    entries: &'t [u64],
    filter: &'t [u64],
    low_ids: LowIdPartition,
    table: &'t MergeTable,
    /// True if entries are asked for before the filter has said that there may be any.
    asks_ahead: bool,
}

impl<'t> Lookups<'t> {
    /// What a table has.
    #[inline(always)]
    pub(super) fn new(
        entries: &'t [u64],
        filter: &'t [u64],
        low_ids: LowIdPartition,
        table: &'t MergeTable,
    ) -> Self {
        Self {
            entries,
            filter,
            low_ids,
            table,
            asks_ahead: true,
        }
    }

    /// For what mostly does not merge: asking for entries would only take room in the cache from
    /// others.
    #[inline(always)]
    pub(super) fn by_filter(self) -> Self {
        Self {
            asks_ahead: false,
            ..self
        }
    }

    /// All else that it knows.
    #[inline]
    pub(super) fn table(&self) -> &'t MergeTable {
        self.table
    }

    /// As [`MergeTable::find`].
    #[inline(always)]
    pub(super) fn find(&self, left: u32, right: u32) -> u32 {
        let probe = self.probe(left, right);
        self.find_behind(self.word(probe), probe)
    }

    /// The same of two pairs, each if `is_there` says so: else it may be of any ids.
    #[inline(always)]
    pub(super) fn find_both(&self, pairs: [(u32, u32); 2], is_there: [bool; 2]) -> [u32; 2] {
        let probe = pairs.map(|(left, right)| self.probe(left, right));
        let words = probe.map(|probe| self.word(probe));
        if self.asks_ahead {
            prefetch(&self.entries[self.slot(probe[0])]);
            prefetch(&self.entries[self.slot(probe[1])]);
        }
        let mut found = [NO_PAIR; 2];
        if is_there[0] {
            found[0] = self.find_behind(words[0], probe[0]);
        }
        if is_there[1] {
            found[1] = self.find_behind(words[1], probe[1]);
        }
        found
    }

    #[inline(always)]
    fn probe(&self, left: u32, right: u32) -> PairProbe {
        PairProbe {
            key: u64::from(left) << 20 | u64::from(right),
            hash: MergeTable::hash(left, right),
            is_low: self.low_ids.has(left, right),
        }
    }

    /// A pair's word of the filter.
    #[inline(always)]
    fn word(&self, probe: PairProbe) -> u64 {
        let n_words = self.filter.len();
        self.filter[self.low_ids.word(probe.hash, probe.is_low, n_words)]
    }

    #[inline(always)]
    fn slot(&self, probe: PairProbe) -> usize {
        let n_slots = self.entries.len();
        self.low_ids.slot(probe.hash, probe.is_low, n_slots)
    }

    /// What is found of a pair behind its word of the filter.
    #[inline(always)]
    fn find_behind(&self, word: u64, probe: PairProbe) -> u32 {
        let bits = MergeTable::filter_bits(probe.hash);
        if word & bits != bits {
            return NO_PAIR;
        }
        let mut slot = self.slot(probe);
        loop {
            let entry = self.entries[slot];
            if entry >> 24 == probe.key {
                return (entry as u32 & (MAX_INDEX as u32 - 1)) << PLACE_BITS;
            }
            if entry == EMPTY {
                return NO_PAIR;
            }
            slot += 1;
            if slot == self.entries.len() {
                slot = 0;
            }
        }
    }
}

/// A pair that is looked for.
#[derive(Clone, Copy)]
struct PairProbe {
    key: u64,
    hash: u64,
    is_low: bool,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::vocab::Vocab;

    /// Ids of both parts of a table.
    fn id() -> impl Strategy<Value = u32> {
        prop_oneof![0..16u32, 1016..1032u32]
    }

    proptest! {
        /// The naive twin is a map.
        #[test]
        fn both_are_found_as_in_a_map(
            pairs in prop::collection::btree_set((id(), id()), 0..200),
            asked in prop::collection::vec(([(id(), id()), (id(), id())], any::<[bool; 2]>()), 0..100),
        ) {
            let list: Vec<_> = pairs.into_iter().map(|(left, right)| (left, right, 0)).collect();
            let table = MergeTable::from_list(&Vocab::default(), &list, &[0; 256]);
            let map: BTreeMap<_, _> = (0u32..)
                .zip(&list)
                .map(|(index, &(left, right, _))| ((left, right), index << PLACE_BITS))
                .collect();
            let expected = |pair| map.get(&pair).copied().unwrap_or(NO_PAIR);
            for (pairs, is_there) in asked {
                let lookups = table.lookups();
                let both = lookups.find_both(pairs, is_there);
                prop_assert_eq!(lookups.by_filter().find_both(pairs, is_there), both);
                for ((pair, is_there), found) in pairs.into_iter().zip(is_there).zip(both) {
                    prop_assert_eq!(table.find(pair.0, pair.1), expected(pair));
                    prop_assert_eq!(found, if is_there { expected(pair) } else { NO_PAIR });
                }
            }
        }
    }
}
