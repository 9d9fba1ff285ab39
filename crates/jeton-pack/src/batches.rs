//! Batches of padded rows: a document a row, all rows of a batch as wide as one another.

use crate::bins::Bins;
use crate::order::ascending;
use crate::table::{filled, with_room};
use crate::{KeepGoing, PackError, ask, check};

/// Groups neighbours by length into batches that are padded to their longest document.
///
/// Rows times the longest length stay within the capacity; a batch ends where one more row would
/// not fit.
pub fn sorted_batches(
    lengths: &[u32],
    capacity: u32,
    keep_going: KeepGoing<'_>,
) -> Result<Bins, PackError> {
    check(lengths, capacity)?;
    let mut bin_of = filled(0u32, lengths.len())?;
    let (mut bins, mut rows) = (0u32, 0u64);
    for (done, document) in ascending(lengths)?.into_iter().enumerate() {
        ask(done, keep_going)?;
        rows += 1;
        let width = u64::from(lengths[document as usize]);
        if bins == 0 || rows * width > u64::from(capacity) {
            bins += 1;
            rows = 1;
        }
        bin_of[document as usize] = bins - 1;
    }
    Bins::from_places(&bin_of, bins as usize)
}

/// Groups documents of one bucket, in their order, into batches that are padded to its edge.
///
/// A document belongs to the first edge that is not below its length. Rows times the edge stay
/// within the capacity.
pub fn buckets(
    lengths: &[u32],
    capacity: u32,
    edges: &[u32],
    keep_going: KeepGoing<'_>,
) -> Result<Bins, PackError> {
    let widest = edges.last().copied().unwrap_or(0).min(capacity);
    if edges.first() == Some(&0) || edges.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(PackError::BadEdges);
    }
    if !lengths.is_empty() {
        check(lengths, widest)?;
    }
    // Batches of narrow rows come first, as sorted batches have it.
    let mut counts = vec![0u64; edges.len()];
    for &length in lengths {
        counts[bucket(edges, length)] += 1;
    }
    let rows: Vec<u64> = edges
        .iter()
        .map(|&edge| u64::from(capacity / edge).max(1))
        .collect();
    let mut next = Vec::with_capacity(edges.len());
    let mut bins = 0u64;
    for (count, rows) in counts.iter().zip(&rows) {
        next.push((bins, 0u64));
        bins += count.div_ceil(*rows);
    }
    let mut bin_of = with_room(lengths.len())?;
    for &length in lengths {
        ask(bin_of.len(), keep_going)?;
        let bucket = bucket(edges, length);
        let (bin, filled) = &mut next[bucket];
        if *filled == rows[bucket] {
            (*bin, *filled) = (*bin + 1, 0);
        }
        *filled += 1;
        bin_of.push(*bin as u32);
    }
    Bins::from_places(&bin_of, bins as usize)
}

/// Returns the bucket of a length; the caller has checked that there is one.
fn bucket(edges: &[u32], length: u32) -> usize {
    edges.partition_point(|&edge| edge < length)
}
