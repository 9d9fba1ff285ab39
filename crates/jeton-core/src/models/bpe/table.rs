//! The merges of a byte-level model, small enough for a processor's second cache.
//!
//! Two things keep it small. An entry is one word: left id, right id and the *index* of the merge,
//! which is its rank, unique, and tells the merged token. And of a rank file only the pairs are
//! kept that a pretoken can ever show:
//!
//! *A token is only ever made by one pair.* Let merges be done in a text until a token stands on
//! some bytes. No merge done so far crosses the first or the last of these bytes, for what crosses
//! never comes apart. So all that happened inside happened as if the bytes stood alone: each time
//! the best candidate of the whole text was inside it was the best candidate inside. Hence the last
//! merge is the one that ends the encoding of the token's bytes alone. So the table keeps one cut
//! of a token into two tokens (cl100k has 2.3 on average), and none if the merges never make the
//! token. With dropout merges are left out, so that the proof fails: that needs all pairs.
//!
//! Most pairs that are looked up cannot merge. A filter, an eighth of the table, says so of all but
//! a few percent of them without reading the table. The pairs met most often lie together in table
//! and filter ([`LowIdPartition`]).
//!
//! A merge makes two pairs: of the new token with what follows, and with what is before. A
//! processor cannot guess whether either merges, and it repeats its work behind a wrong guess. So
//! all that is read for both is asked for before the first is looked at ([`Lookups::find_both`]).

use super::low_ids::LowIdPartition;
use super::pairs::{Merge, NO_MERGE, Pairs};
use super::scripts::{ScriptSet, Scripts};
use super::slots::{EMPTY, MAX_INDEX, NO_PAIR, PLACE_BITS, filter_bits, hash_of};
use crate::cpu::dispatch::Kernel;
use crate::cpu::prefetch::prefetch;
use crate::memory::arena::ArenaVec;

/// All pairs that may merge.
#[derive(Debug)]
pub(super) struct MergeTable {
    /// `left << 44 | right << 24 | index`, open addressing.
    pub(super) entries: ArenaVec<u64>,
    pub(super) filter: ArenaVec<u64>,
    pub(super) low_ids: LowIdPartition,
    /// For two bytes what [`Self::find`] says of their symbols.
    pub(super) grid: ArenaVec<u32>,
    pub(super) n_pairs: usize,
    pub(super) n_ranks: usize,
    /// The id that a merge makes is its index and this, unless there is a list of them.
    pub(super) offset: u32,
    pub(super) merged: Vec<u32>,
    /// True if every byte has a symbol.
    pub(super) complete: bool,
    /// True if every pair comes after the pairs that make its sides.
    pub(super) is_in_order: bool,
    pub(super) symbols: [u32; 256],
    /// Pairs of each script once more; none of a table that is not in order.
    pub(super) scripts: Scripts,
    pub(super) kernel: Kernel,
}

impl MergeTable {
    /// The level of vector instructions.
    #[inline]
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// True if every byte has a symbol.
    pub(super) fn complete(&self) -> bool {
        self.complete
    }

    /// True if every pair comes after the pairs that make its two sides.
    pub(super) fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    /// The symbol of a byte, if it has one.
    #[inline]
    pub(super) fn symbol(&self, byte: u8) -> u32 {
        self.symbols[usize::from(byte)]
    }

    /// Finds how the symbols of two bytes merge, as [`Self::find`] does.
    #[inline]
    pub(super) fn find_bytes(&self, first: u8, second: u8) -> u32 {
        self.grid[usize::from(first) << 8 | usize::from(second)]
    }

    /// The index of a pair's merge, shifted by [`PLACE_BITS`]; [`NO_PAIR`] if it does not merge.
    #[inline(always)]
    pub(super) fn find(&self, left: u32, right: u32) -> u32 {
        self.lookups().find(left, right)
    }

    /// To look for many pairs of what is merged in a text of these scripts, with a space before it
    /// or not.
    #[inline(always)]
    pub(super) fn lookups_of(&self, scripts: ScriptSet) -> Lookups<'_> {
        let of_script = scripts.only().and_then(|script| self.scripts.get(script));
        match of_script {
            Some((entries, filter)) => {
                Lookups::new(entries, filter, LowIdPartition::default(), self)
            }
            None => self.lookups(),
        }
    }

    /// Asks for all that will be looked at in texts of a script.
    pub(super) fn ask_for(&self, script: usize) {
        self.scripts.ask_for(script);
    }

    /// To look for many pairs.
    #[inline(always)]
    pub(super) fn lookups(&self) -> Lookups<'_> {
        Lookups::new(&self.entries, &self.filter, self.low_ids, self)
    }

    /// The token that a merge makes.
    #[inline]
    pub(super) fn merged(&self, index: u32) -> u32 {
        if self.merged.is_empty() {
            return self.offset + index;
        }
        self.merged[index as usize]
    }
}

impl Pairs for MergeTable {
    fn get(&self, left: u32, right: u32) -> Merge {
        match self.find(left, right) {
            NO_PAIR => NO_MERGE,
            found => {
                let index = found >> PLACE_BITS;
                u64::from(index) << 32 | u64::from(self.merged(index))
            }
        }
    }

    fn n_ranks(&self) -> usize {
        self.n_ranks
    }
}

/// A view of a table that fits registers: the arrays that a search reads.
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
    /// Views entries and filter of a table, or of one script.
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

    /// Finds two pairs. A pair with a false `is_there` may have any ids, and is not found.
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
            hash: hash_of(left, right),
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

    /// Finds a pair behind its word of the filter.
    #[inline(always)]
    fn find_behind(&self, word: u64, probe: PairProbe) -> u32 {
        let bits = filter_bits(probe.hash);
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
