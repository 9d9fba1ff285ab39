//! What was found out once about a model: a compiled file keeps it, so that neither the tables of merges nor the cuts are
//! made again from each token's bytes.

/// The tables as they lie in memory. That they are those of a vocabulary is not looked at; what could lead outside of its ids
/// is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Entries of the table of merges.
    pub(super) entries: Vec<u64>,
    /// Its filter.
    pub(super) filter: Vec<u64>,
    /// Pairs of bytes that merge.
    pub(super) grid: Vec<u64>,
    /// Sets of boundaries that tokens straddle.
    pub(super) cuts: Vec<u64>,
}

impl Known {
    /// What [`Self::columns`] gave.
    pub(crate) fn new([entries, filter, grid, cuts]: [Vec<u64>; 4]) -> Self {
        Self {
            entries,
            filter,
            grid,
            cuts,
        }
    }

    /// To be written.
    pub(crate) fn columns(&self) -> [&[u64]; 4] {
        [&self.entries, &self.filter, &self.grid, &self.cuts]
    }
}
