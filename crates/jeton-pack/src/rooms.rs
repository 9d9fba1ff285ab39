//! Indexes of the room that is left in open bins.

use std::collections::BTreeMap;

use crate::table::filled;
use crate::{NONE, PackError};

/// The first group of bins for each amount of room.
pub(crate) trait Rooms {
    /// Returns the smallest room that is at least `length`, and its first group.
    fn at_least(&self, length: u32) -> Option<(u32, u32)>;
    /// Returns the first group of a room, or `NONE`.
    fn head(&self, room: u32) -> u32;
    /// Sets the first group of a room; `NONE` takes the room away.
    fn set(&mut self, room: u32, head: u32);
}

/// A table with one entry a token of capacity.
pub(crate) struct DenseRooms {
    occur: RoomSet,
    heads: Vec<u32>,
}

impl DenseRooms {
    pub(crate) fn new(capacity: u32) -> Result<Self, PackError> {
        Ok(Self {
            occur: RoomSet::new(capacity as usize)?,
            heads: filled(NONE, capacity as usize + 1)?,
        })
    }
}

impl Rooms for DenseRooms {
    fn at_least(&self, length: u32) -> Option<(u32, u32)> {
        let room = self.occur.at_least(length as usize)?;
        Some((room as u32, self.heads[room]))
    }

    fn head(&self, room: u32) -> u32 {
        self.heads[room as usize]
    }

    fn set(&mut self, room: u32, head: u32) {
        let before = std::mem::replace(&mut self.heads[room as usize], head);
        if before == NONE && head != NONE {
            self.occur.insert(room as usize);
        } else if before != NONE && head == NONE {
            self.occur.remove(room as usize);
        }
    }
}

/// A sorted map: its size follows the rooms that occur, not the capacity.
#[derive(Default)]
pub(crate) struct SparseRooms(BTreeMap<u32, u32>);

impl Rooms for SparseRooms {
    fn at_least(&self, length: u32) -> Option<(u32, u32)> {
        let found = self.0.range(length..).next();
        found.map(|(&room, &head)| (room, head))
    }

    fn head(&self, room: u32) -> u32 {
        self.0.get(&room).copied().unwrap_or(NONE)
    }

    fn set(&mut self, room: u32, head: u32) {
        if head == NONE {
            self.0.remove(&room);
        } else {
            self.0.insert(room, head);
        }
    }
}

/// Amounts of room that occur, as a tree of 64-bit words: 64 children a node.
///
/// A capacity of 2^24 takes four levels, so a search reads a handful of words.
pub(crate) struct RoomSet {
    levels: Vec<Vec<u64>>,
}

impl RoomSet {
    pub(crate) fn new(largest: usize) -> Result<Self, PackError> {
        let mut levels = Vec::new();
        let mut words = largest / 64 + 1;
        levels.push(filled(0u64, words)?);
        while words > 1 {
            words = words.div_ceil(64);
            levels.push(filled(0u64, words)?);
        }
        Ok(Self { levels })
    }

    pub(crate) fn insert(&mut self, mut room: usize) {
        for level in &mut self.levels {
            let word = &mut level[room / 64];
            let was_empty = *word == 0;
            *word |= 1 << (room % 64);
            if !was_empty {
                return;
            }
            room /= 64;
        }
    }

    pub(crate) fn remove(&mut self, mut room: usize) {
        for level in &mut self.levels {
            let word = &mut level[room / 64];
            *word &= !(1 << (room % 64));
            if *word != 0 {
                return;
            }
            room /= 64;
        }
    }

    /// Returns the smallest amount that is at least `room`.
    pub(crate) fn at_least(&self, room: usize) -> Option<usize> {
        let mut place = room;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(place / 64)? & (u64::MAX << (place % 64));
            if word != 0 {
                let mut found = place / 64 * 64 + word.trailing_zeros() as usize;
                for lower in self.levels[..height].iter().rev() {
                    found = found * 64 + lower[found].trailing_zeros() as usize;
                }
                return Some(found);
            }
            // The node itself is used up: go on with its right neighbour.
            place = place / 64 + 1;
        }
        None
    }
}

/// Room of every bin under a tree of maxima: finds the first bin with enough.
pub(crate) struct RoomTree {
    leaves: usize,
    largest: Vec<u32>,
}

impl RoomTree {
    /// Makes a tree whose bins all have `capacity`.
    pub(crate) fn new(bins: usize, capacity: u32) -> Result<Self, PackError> {
        let leaves = bins.next_power_of_two();
        Ok(Self {
            leaves,
            largest: filled(capacity, 2 * leaves)?,
        })
    }

    /// Takes `length` from the first bin that has it and returns the bin.
    pub(crate) fn take(&mut self, length: u32) -> Option<usize> {
        if self.largest[1] < length {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node = 2 * node + usize::from(self.largest[2 * node] < length);
        }
        let bin = node - self.leaves;
        self.largest[node] -= length;
        while node > 1 {
            node /= 2;
            let both = self.largest[2 * node].max(self.largest[2 * node + 1]);
            if self.largest[node] == both {
                break;
            }
            self.largest[node] = both;
        }
        Some(bin)
    }
}
