//! First fit, in the order of the input.

use crate::bins::Bins;
use crate::rooms::RoomTree;
use crate::table::with_room;
use crate::{KeepGoing, PackError, ask, check};

/// Packs the documents in their order, each into the first bin with room.
pub fn first_fit(
    lengths: &[u32],
    capacity: u32,
    keep_going: KeepGoing<'_>,
) -> Result<Bins, PackError> {
    check(lengths, capacity)?;
    if lengths.is_empty() {
        return Bins::from_places(&[], 0);
    }
    // Any two bins that first fit fills next to each other hold more than one capacity.
    let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    let most = (2 * (tokens / u64::from(capacity)) + 2).min(lengths.len() as u64) as usize;
    let mut tree = RoomTree::new(most, capacity)?;
    let mut bins = 0;
    let mut bin_of = with_room(lengths.len())?;
    for &length in lengths {
        ask(bin_of.len(), keep_going)?;
        let bin = tree.take(length).unwrap_or(bins);
        bins = bins.max(bin + 1);
        bin_of.push(bin as u32);
    }
    Bins::from_places(&bin_of, bins)
}
