//! Rows under merging: their cells, the pairs that stand in them, and which pair is the best.
//!
//! A merge loop has one state, or several that share a vocabulary (one for each language, say); it
//! decides what is merged, the state does it.

use super::cells::{BOUNDARY, Cells};
use super::pairs::{Change, Pair, Pairs, Side};
use super::queue::{Candidate, Order, Queue};

/// How large a token is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Cells that it takes; 1 for the symbols that rows begin with.
    pub(crate) width: u32,
    pub(crate) n_bytes: u32,
}

/// Facts about the loop that a state is part of.
pub(crate) struct Context<'a, O, S> {
    /// Size of each token.
    pub(crate) sizes: &'a [Size],
    /// Longest token in bytes.
    pub(crate) max_token_bytes: usize,
    /// Lowest count of a pair worth remembering, at least 1.
    pub(crate) min_count: u64,
    pub(crate) order: &'a O,
    /// Worth of a pair with its count.
    pub(crate) score: S,
}

/// Effect of a merge.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Merged {
    /// Places that were looked at.
    pub(crate) n_places: usize,
    /// Places where the pair was joined, weighted: tokens that the text has less.
    pub(crate) n_joined: u64,
}

/// How far ahead of a visit its cell is asked for: about the time that memory takes. Half and twice
/// as far do the same (docs/log/2026-11-28-tuning-constants.md).
const PREFETCH_PLACES: usize = 12;

#[derive(Debug)]
pub(crate) struct State {
    cells: Cells,
    pairs: Pairs,
    postings: Vec<u32>,
    queue: Queue,
    left_side: Side,
    right_side: Side,
}

impl State {
    /// Count the pairs of the rows, which no merge has touched, and list their places.
    pub(crate) fn new<O: Order, S: Fn((u32, u32), u64) -> u64>(
        cells: Cells,
        context: &Context<'_, O, S>,
    ) -> Self {
        let mut new = Self {
            cells,
            pairs: Pairs::new(),
            postings: Vec::new(),
            queue: Queue::default(),
            left_side: Side::default(),
            right_side: Side::default(),
        };
        new.count_first_pairs(context);
        new
    }

    /// A counting sort of all positions by the left symbol, then within each left symbol by the
    /// right one. Both passes go in order, and neither jumps about in a table of all pairs.
    fn count_first_pairs<O: Order, S: Fn((u32, u32), u64) -> u64>(
        &mut self,
        context: &Context<'_, O, S>,
    ) {
        let n_ids = context.sizes.len();
        let mut ends = vec![0_u32; n_ids + 1];
        for at in 0..self.cells.len() {
            if let Some((left, _)) = self.cells.first_pair(at) {
                ends[left as usize + 1] += 1;
            }
        }
        for left in 0..n_ids {
            ends[left + 1] += ends[left];
        }
        let mut places = vec![0_u32; ends[n_ids] as usize];
        // From here on `ends[left]` is where the next place of `left` goes, and in the end where
        // they end.
        for at in 0..self.cells.len() {
            if let Some((left, _)) = self.cells.first_pair(at) {
                let end = &mut ends[left as usize];
                places[*end as usize] = at as u32;
                *end += 1;
            }
        }
        let mut candidates = Vec::new();
        let mut start = 0;
        for (left, &end) in ends[..n_ids].iter().enumerate() {
            let end = end as usize;
            self.count_first_pairs_of(left as u32, &places[start..end], context, &mut candidates);
            start = end;
        }
        self.queue = Queue::new(candidates);
    }

    fn count_first_pairs_of<O: Order, S: Fn((u32, u32), u64) -> u64>(
        &mut self,
        left: u32,
        places: &[u32],
        context: &Context<'_, O, S>,
        candidates: &mut Vec<Candidate>,
    ) {
        let Some(room) = room_beside(context, left) else {
            return;
        };
        let side = &mut self.right_side;
        side.reset(context.sizes.len());
        for (index, &place) in places.iter().enumerate() {
            if let Some(&later) = places.get(index + PREFETCH_PLACES) {
                self.cells.prefetch(later as usize);
            }
            if let Some((_, right)) = self.cells.first_pair(place as usize)
                && context.sizes[right as usize].n_bytes as usize <= room
            {
                side.gain(right, self.cells.weight_at(place as usize), place);
            }
        }
        let wanted = |change: &Change| change.gained.cast_unsigned() >= context.min_count;
        let mut start = side.write_positions(&mut self.postings, wanted);
        for change in side.changes().iter().filter(|&change| wanted(change)) {
            let right = change.neighbour;
            let len = change.n_positions;
            let count = change.gained;
            self.pairs.insert((left, right), Pair { count, start, len });
            let score = (context.score)((left, right), count.cast_unsigned());
            candidates.push(Candidate { score, left, right });
            start += len;
        }
    }

    /// The pair to merge next, with its count. It stays.
    pub(crate) fn best<O: Order, S: Fn((u32, u32), u64) -> u64>(
        &mut self,
        context: &Context<'_, O, S>,
    ) -> Option<((u32, u32), u64)> {
        while let Some(best) = self.queue.peek(context.order) {
            let pair = (best.left, best.right);
            let count = self.pairs.count(pair);
            if count < context.min_count {
                self.queue.remove_first(context.order);
                continue;
            }
            let score = (context.score)(pair, count);
            if score == best.score {
                return Some((pair, count));
            }
            self.queue.rescore_first(score, context.order);
        }
        None
    }

    /// How often a pair occurs, if it may be merged; else 0.
    pub(crate) fn count(&self, pair: (u32, u32)) -> u64 {
        self.pairs.count(pair)
    }

    /// Never offer this pair again.
    pub(crate) fn forget(&mut self, pair: (u32, u32)) {
        self.pairs.remove(pair);
    }

    /// Join a pair wherever it stands into the token `new`, whose size is known already.
    pub(crate) fn merge<O: Order, S: Fn((u32, u32), u64) -> u64>(
        &mut self,
        pair: (u32, u32),
        new: u32,
        context: &Context<'_, O, S>,
    ) -> Merged {
        let Some(facts) = self.pairs.remove(pair) else {
            return Merged::default();
        };
        let n_joined = self.join_everywhere(pair, facts, new, context);
        self.apply_changes(pair, new, context);
        Merged {
            n_places: facts.len as usize,
            n_joined: n_joined.cast_unsigned(),
        }
    }

    /// Join a pair in all its places, from left to right, and note what that changes on either
    /// side. Returns how often, weighted.
    fn join_everywhere<O, S>(
        &mut self,
        (left, right): (u32, u32),
        facts: Pair,
        new: u32,
        context: &Context<'_, O, S>,
    ) -> i64 {
        let sizes = context.sizes;
        let left_width = sizes[left as usize].width as usize;
        let right_width = sizes[right as usize].width as usize;
        let width = left_width + right_width;
        // Nothing fits beside a token that is as long as may be.
        let room = room_beside(context, new).unwrap_or(0);
        let fits = |id: u32| sizes[id as usize].n_bytes as usize <= room;
        let cells = &mut self.cells;
        let (on_left, on_right) = (&mut self.left_side, &mut self.right_side);
        on_left.reset(sizes.len());
        on_right.reset(sizes.len());
        let mut n_joined = 0;
        let first = facts.start as usize;
        let places = &self.postings[first..first + facts.len as usize];
        for (index, &place) in places.iter().enumerate() {
            if let Some(&later) = places.get(index + PREFETCH_PLACES) {
                cells.prefetch(later as usize);
            }
            let at = place as usize;
            if cells.get(at) != left || cells.get(at + left_width) != right {
                continue; // out of date: another merge, or the place before, took one of the two
            }
            let weight = cells.weight_at(at);
            if let Some((start, neighbour)) = cells.before(at) {
                if neighbour == new {
                    // Made at the place before: its pair with `left` is on the right side's list,
                    // and so goes (new, new).
                    on_right.undo(left, weight);
                    if fits(new) {
                        on_right.gain(new, weight, start as u32);
                    }
                } else {
                    on_left.lose(neighbour, weight);
                    if fits(neighbour) {
                        on_left.gain(neighbour, weight, start as u32);
                    }
                }
            }
            let neighbour = cells.get(at + width);
            if neighbour != BOUNDARY {
                on_right.lose(neighbour, weight);
                if fits(neighbour) {
                    on_right.gain(neighbour, weight, place);
                }
            }
            cells.join(at, left_width, right_width, new);
            n_joined += weight;
        }
        n_joined
    }

    /// Adjust the counts, and queue the pairs that came into being.
    fn apply_changes<O: Order, S: Fn((u32, u32), u64) -> u64>(
        &mut self,
        (left, right): (u32, u32),
        new: u32,
        context: &Context<'_, O, S>,
    ) {
        for change in self.left_side.changes().iter().filter(|c| c.lost > 0) {
            self.pairs.lower((change.neighbour, left), change.lost);
        }
        for change in self.right_side.changes().iter().filter(|c| c.lost > 0) {
            self.pairs.lower((right, change.neighbour), change.lost);
        }
        // `undo` for a pair that is too long leaves less than nothing; so a floor of 1 at least.
        let min_count = i64::try_from(context.min_count).unwrap_or(i64::MAX).max(1);
        for (side, is_left) in [(&mut self.left_side, true), (&mut self.right_side, false)] {
            let wanted = |change: &Change| change.gained >= min_count;
            let mut start = side.write_positions(&mut self.postings, wanted);
            for change in side.changes().iter().filter(|&change| wanted(change)) {
                let (left, right) = if is_left {
                    (change.neighbour, new)
                } else {
                    (new, change.neighbour)
                };
                let (count, len) = (change.gained, change.n_positions);
                self.pairs.insert((left, right), Pair { count, start, len });
                let score = (context.score)((left, right), count.cast_unsigned());
                let candidate = Candidate { score, left, right };
                self.queue.push(candidate, context.order);
                start += len;
            }
        }
    }

    /// The rows as they are now.
    pub(crate) fn into_cells(self) -> Cells {
        self.cells
    }
}

/// Most bytes that a neighbour of a token may have; None where not even one fits.
fn room_beside<O, S>(context: &Context<'_, O, S>, id: u32) -> Option<usize> {
    context
        .max_token_bytes
        .checked_sub(context.sizes[id as usize].n_bytes as usize)
        .filter(|&room| room > 0)
}
