//! Methods of packing.

use crate::PackError;
use crate::bins::Bins;
use crate::rooms::{RoomSet, RoomTree};

const NONE: u32 = u32::MAX;

/// Packs the longest document first, each into the bin that it fills best.
///
/// Memory: 8 bytes a document, 20 a bin and 12 for each token of capacity, beside the input.
pub fn best_fit(lengths: &[u32], capacity: u32) -> Result<Bins, PackError> {
    check(lengths, capacity)?;
    let largest = lengths.iter().copied().max().unwrap_or(0) as usize;
    let full = capacity as usize;
    let mut rooms = RoomSet::new(full);
    // Bins of equal room form a list; its head stands under the room.
    let mut head = vec![NONE; full + 1];
    let mut next: Vec<u32> = Vec::new();
    let mut bin_of = vec![0u32; lengths.len()];
    for &document in ascending(lengths, largest).iter().rev() {
        let length = lengths[document as usize] as usize;
        let (bin, room) = match rooms.at_least(length) {
            Some(room) => {
                let bin = head[room];
                head[room] = next[bin as usize];
                if head[room] == NONE {
                    rooms.remove(room);
                }
                (bin, room)
            }
            None => {
                next.push(NONE);
                (next.len() as u32 - 1, full)
            }
        };
        let left = room - length;
        if head[left] == NONE {
            rooms.insert(left);
        }
        next[bin as usize] = head[left];
        head[left] = bin;
        bin_of[document as usize] = bin;
    }
    Ok(Bins::from_places(&bin_of, next.len()))
}

/// Packs the documents in their order, each into the first bin with room.
pub fn first_fit(lengths: &[u32], capacity: u32) -> Result<Bins, PackError> {
    check(lengths, capacity)?;
    if lengths.is_empty() {
        return Ok(Bins::from_places(&[], 0));
    }
    // Any two bins that first fit fills next to each other hold more than one capacity.
    let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    let most = (2 * (tokens / u64::from(capacity)) + 2).min(lengths.len() as u64) as usize;
    let mut tree = RoomTree::new(most, capacity);
    let mut bins = 0;
    let mut bin_of = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let bin = tree.take(length).unwrap_or(bins);
        bins = bins.max(bin + 1);
        bin_of.push(bin as u32);
    }
    Ok(Bins::from_places(&bin_of, bins))
}

/// Packs neighbours by length: sorts ascending and closes a bin when the next does not fit.
pub fn sorted_batches(lengths: &[u32], capacity: u32) -> Result<Bins, PackError> {
    check(lengths, capacity)?;
    let largest = lengths.iter().copied().max().unwrap_or(0) as usize;
    let mut bin_of = vec![0u32; lengths.len()];
    let mut bins = 0;
    let mut room = 0;
    for document in ascending(lengths, largest) {
        let length = lengths[document as usize];
        if bins == 0 || length > room {
            bins += 1;
            room = capacity;
        }
        room -= length;
        bin_of[document as usize] = bins as u32 - 1;
    }
    Ok(Bins::from_places(&bin_of, bins))
}

fn check(lengths: &[u32], capacity: u32) -> Result<(), PackError> {
    if capacity == 0 {
        return Err(PackError::NoCapacity);
    }
    if lengths.len() >= NONE as usize {
        return Err(PackError::TooMany {
            documents: lengths.len(),
        });
    }
    match lengths.iter().position(|&length| length > capacity) {
        Some(document) => Err(PackError::TooLong {
            document,
            length: lengths[document],
        }),
        None => Ok(()),
    }
}

/// Returns the places of the documents by length; equal lengths keep their order.
fn ascending(lengths: &[u32], largest: usize) -> Vec<u32> {
    let mut start = vec![0usize; largest + 2];
    for &length in lengths {
        start[length as usize + 1] += 1;
    }
    for length in 0..=largest {
        start[length + 1] += start[length];
    }
    let mut order = vec![0u32; lengths.len()];
    for (document, &length) in lengths.iter().enumerate() {
        let slot = &mut start[length as usize];
        order[*slot] = document as u32;
        *slot += 1;
    }
    order
}
