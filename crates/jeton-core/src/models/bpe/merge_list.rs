//! A list of merges by itself, without a vocabulary: what a trainer applies to its own tokens.

use super::merge::{BpeScratch, merge};
use super::pairs::PairTable;

/// Merges in order, and the memory that applying them reuses.
#[derive(Debug)]
pub struct MergeList {
    pairs: PairTable,
    scratch: BpeScratch,
}

impl MergeList {
    /// Takes merges in order of rank, each as the left id, the right id and the id of both.
    pub fn new(merges: &[(u32, u32, u32)]) -> Self {
        let mut pairs = PairTable::with_capacity(merges.len());
        for (rank, &(left, right, new)) in (0_u64..).zip(merges) {
            pairs.insert(left, right, rank << 32 | u64::from(new));
        }
        Self {
            pairs,
            scratch: BpeScratch::default(),
        }
    }

    /// Merges adjacent ids, the pair of lowest rank first, until no listed pair is left.
    #[inline]
    pub fn apply(&mut self, ids: &mut Vec<u32>) {
        let n = merge(&self.pairs, ids, &mut self.scratch);
        ids.truncate(n);
    }
}
