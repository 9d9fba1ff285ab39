//! Tables of a model that a compiled file keeps. Without them the merges and the cuts are made
//! again from each token's bytes.

use super::slots::GRID;
use crate::memory::arena::{ArenaVec, HugeArena};

/// The tables as they lie in memory. Loading checks that no entry leads outside the vocabulary's
/// ids. It does not check that the tables belong to the vocabulary.
#[derive(Debug)]
pub(crate) struct CompiledMerges {
    /// Entries of the table of merges.
    pub(super) entries: ArenaVec<u64>,
    /// Its filter.
    pub(super) filter: ArenaVec<u64>,
    /// Pairs of bytes that merge.
    pub(super) grid: Vec<u64>,
    /// Where they will lie by their bytes.
    pub(super) grid_room: ArenaVec<u32>,
    /// The entries of scripts, and their filters.
    pub(super) scripts: [ArenaVec<u64>; 2],
    /// How many pairs each script has.
    pub(super) script_pairs: Vec<u64>,
    /// Sets of boundaries that tokens straddle.
    pub(super) cuts: Vec<u64>,
}

impl CompiledMerges {
    /// Takes the columns of [`Self::columns`]. The grid gets its place on the shelf.
    pub(crate) fn new(
        [entries, filter, script_entries, script_filter]: [ArenaVec<u64>; 4],
        [grid, cuts, script_pairs]: [Vec<u64>; 3],
        shelf: &mut HugeArena,
    ) -> Self {
        Self {
            entries,
            filter,
            grid,
            grid_room: shelf.zeroed(GRID),
            scripts: [script_entries, script_filter],
            script_pairs,
            cuts,
        }
    }

    /// To be written: what stays as it is, and what is read to be made something of.
    pub(crate) fn columns(&self) -> ([&[u64]; 4], [&[u64]; 3]) {
        let [script_entries, script_filter] = &self.scripts;
        (
            [&self.entries, &self.filter, script_entries, script_filter],
            [&self.grid, &self.cuts, &self.script_pairs],
        )
    }
}
