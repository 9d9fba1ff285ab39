//! Best fit, longest document first.
//!
//! Bins of equal room are interchangeable, and so are documents of equal length. So whole groups
//! of bins are filled at once. A group is an interval of neighbouring bins with equal room; a run
//! of equal lengths takes a group, or its first bins, in one step. Memory is then read and written
//! in order, which matters more than the number of steps.

use crate::bins::Bins;
use crate::order::ascending;
use crate::rooms::{DenseRooms, Rooms, SparseRooms};
use crate::table::filled;
use crate::{ASK_EVERY, DENSE_CAPACITY, KeepGoing, NONE, PackError, ask, check};

/// Neighbouring bins with the same room, and the next group of that room.
#[derive(Clone, Copy)]
struct Group {
    first: u32,
    bins: u32,
    next: u32,
}

/// Packs the longest document first, each into the bin that it fills best.
///
/// Memory: 12 bytes a document and 20 a bin, beside the input. Up to a capacity of 2^20 tokens, or
/// one token a document, a table adds 4.2 bytes a token of capacity.
pub fn best_fit(
    lengths: &[u32],
    capacity: u32,
    keep_going: KeepGoing<'_>,
) -> Result<Bins, PackError> {
    check(lengths, capacity)?;
    if capacity as usize <= DENSE_CAPACITY.max(lengths.len()) {
        fill(lengths, capacity, DenseRooms::new(capacity)?, keep_going)
    } else {
        fill(lengths, capacity, SparseRooms::default(), keep_going)
    }
}

fn fill(
    lengths: &[u32],
    capacity: u32,
    mut rooms: impl Rooms,
    keep_going: KeepGoing<'_>,
) -> Result<Bins, PackError> {
    let mut order = ascending(lengths)?;
    order.reverse();
    let mut groups: Vec<Group> = Vec::new();
    let mut unused = NONE;
    let mut bin_of = filled(0u32, order.len())?;
    let mut n_bins = 0u32;
    let mut at = 0;
    let mut steps = 0;
    while at < order.len() {
        let length = lengths[order[at] as usize];
        let run = order[at..].iter();
        let mut left = run
            .take_while(|&&document| lengths[document as usize] == length)
            .count() as u32;
        while left > 0 {
            steps += 1;
            ask(steps, keep_going)?;
            let found = rooms.at_least(length);
            let room = found.map_or(capacity, |(room, _)| room);
            // A bin is filled with this length as far as it goes before the next one is begun.
            let each = room.checked_div(length).unwrap_or(NONE).min(left);
            let wanted = left / each;
            let (first, bins) = match found {
                Some((_, head)) => {
                    let group = &mut groups[head as usize];
                    let (first, bins) = (group.first, group.bins.min(wanted));
                    if bins == group.bins {
                        rooms.set(room, group.next);
                        group.next = unused;
                        unused = head;
                    } else {
                        group.first += bins;
                        group.bins -= bins;
                    }
                    (first, bins)
                }
                None => {
                    n_bins += wanted;
                    (n_bins - wanted, wanted)
                }
            };
            for bin in first..first + bins {
                bin_of[at..at + each as usize].fill(bin);
                at += each as usize;
            }
            left -= each * bins;
            let room = room - each * length;
            let new = Group {
                first,
                bins,
                next: rooms.head(room),
            };
            let slot = if unused == NONE {
                groups.push(new);
                groups.len() as u32 - 1
            } else {
                let slot = unused;
                unused = groups[slot as usize].next;
                groups[slot as usize] = new;
                slot
            };
            rooms.set(room, slot);
        }
    }
    if order.len() >= ASK_EVERY {
        ask(0, keep_going)?;
    }
    Bins::gather(&order, &bin_of, n_bins as usize)
}
