//! Counts of pairs, and their changes by one merge.
//!
//! Merging (l, r) into n changes only pairs with a neighbour. These are (x, l) and (x, n) for x on
//! the left, and (r, y) and (n, y) for y on the right. So the changes of one merge are summed in
//! arrays indexed by the neighbour. The table of all pairs is touched once for each neighbour, not
//! once for each place: this is most of the trainer's speed.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use jeton_core::vocab::hasher;

/// A pair that may still be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// Its windows, weighted; positive.
    pub(crate) count: i64,
    /// Its positions: `postings[start..start + len]`.
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// The pairs that may still be merged.
#[derive(Debug)]
pub(crate) struct Pairs {
    pairs: HashMap<u64, Pair, FixedState>,
}

#[inline]
fn key((left, right): (u32, u32)) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Pairs {
    pub(crate) fn new() -> Self {
        Self {
            pairs: HashMap::with_hasher(hasher()),
        }
    }

    /// 0 for a pair that was never inserted, was removed, or is gone.
    pub(crate) fn count(&self, pair: (u32, u32)) -> u64 {
        self.pairs
            .get(&key(pair))
            .map_or(0, |pair| pair.count.cast_unsigned())
    }

    /// A pair comes into being. Its count is positive.
    pub(crate) fn insert(&mut self, pair: (u32, u32), facts: Pair) {
        self.pairs.insert(key(pair), facts);
    }

    /// A pair is merged, or never will be.
    pub(crate) fn remove(&mut self, pair: (u32, u32)) -> Option<Pair> {
        self.pairs.remove(&key(pair))
    }

    /// Lower the count of a pair, if it may still be merged.
    pub(crate) fn lower(&mut self, pair: (u32, u32), by: i64) {
        if let Entry::Occupied(mut occupied) = self.pairs.entry(key(pair)) {
            occupied.get_mut().count -= by;
            if occupied.get().count <= 0 {
                occupied.remove();
            }
        }
    }
}

/// Effect of one merge on one neighbour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) neighbour: u32,
    /// Places where the new pair came into being, those included where it is gone again.
    pub(crate) n_positions: u32,
    /// Count that the pair with the part that was merged away has lost.
    pub(crate) lost: i64,
    /// Count that the pair with the new token has gained.
    pub(crate) gained: i64,
    /// Where its next position goes.
    cursor: u32,
}

const NONE: u32 = u32::MAX;

/// The changes of one merge on one side, summed by neighbour.
#[derive(Debug, Default)]
pub(crate) struct Side {
    slot_of: Vec<u32>,
    changes: Vec<Change>,
    /// (slot, position), by rising position for each slot.
    positions: Vec<(u32, u32)>,
}

impl Side {
    /// Forget the last merge and make room for ids below `n_ids`.
    pub(crate) fn reset(&mut self, n_ids: usize) {
        for change in self.changes.drain(..) {
            self.slot_of[change.neighbour as usize] = NONE;
        }
        self.positions.clear();
        if self.slot_of.len() < n_ids {
            // Doubling, since the vocabulary grows by one at each merge.
            self.slot_of.resize(n_ids.next_power_of_two(), NONE);
        }
    }

    /// The slot of a neighbour.
    #[inline]
    fn slot(&mut self, neighbour: u32) -> u32 {
        let slot = self.slot_of[neighbour as usize];
        if slot != NONE {
            return slot;
        }
        let slot = self.changes.len() as u32;
        self.slot_of[neighbour as usize] = slot;
        self.changes.push(Change {
            neighbour,
            n_positions: 0,
            lost: 0,
            gained: 0,
            cursor: 0,
        });
        slot
    }

    /// A pair with the old part goes.
    #[inline]
    pub(crate) fn lose(&mut self, neighbour: u32, weight: i64) {
        let slot = self.slot(neighbour);
        self.changes[slot as usize].lost += weight;
    }

    /// A pair with the new token, which the same merge has made, goes again.
    #[inline]
    pub(crate) fn undo(&mut self, neighbour: u32, weight: i64) {
        let slot = self.slot(neighbour);
        self.changes[slot as usize].gained -= weight;
    }

    /// A pair with the new token comes into being at `position`.
    #[inline]
    pub(crate) fn gain(&mut self, neighbour: u32, weight: i64, position: u32) {
        let slot = self.slot(neighbour);
        let change = &mut self.changes[slot as usize];
        change.gained += weight;
        change.n_positions += 1;
        self.positions.push((slot, position));
    }

    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Append the positions of the `wanted` changes to `postings`, in the order of `changes`, each
    /// neighbour's side by side. Returns the place of the first.
    pub(crate) fn write_positions(
        &mut self,
        postings: &mut Vec<u32>,
        wanted: impl Fn(&Change) -> bool,
    ) -> u32 {
        let first = postings.len() as u32;
        let mut end = first;
        for change in &mut self.changes {
            change.cursor = NONE;
            if wanted(change) {
                change.cursor = end;
                end += change.n_positions;
            }
        }
        postings.resize(end as usize, 0);
        for &(slot, position) in &self.positions {
            let change = &mut self.changes[slot as usize];
            if change.cursor != NONE {
                postings[change.cursor as usize] = position;
                change.cursor += 1;
            }
        }
        first
    }
}
