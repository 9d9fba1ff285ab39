//! The ways to merge one segment of a pretoken, tried in turn.
//!
//! A way that costs code must pay for it: without it a first or warm pass over some language falls
//! by more than a tenth. To measure, leave the way out of `BpeModel::encode_with`, build, and run
//! `python -m benches.ablation before=FOLDER after=FOLDER` (docs/log/2026-11-28-what-pays.md).

use super::table::MergeTable;

/// A way to merge a segment.
pub(super) trait SegmentMerger {
    /// Appends the ids of a segment. Returns false, with nothing appended, if it does not fit.
    /// Each byte must have a symbol.
    fn merge_segment(&mut self, table: &MergeTable, segment: &[u8], out: &mut Vec<u32>) -> bool;
}

/// Begins with bytes, as merging is defined. It takes segments of up to 64 bytes.
pub(super) struct ByBytes;
