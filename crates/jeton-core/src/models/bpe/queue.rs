//! Queues of merge candidates, best first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A merge that may happen: of the pair whose left symbol is at `at`, if it still is what it was.
///
/// The order of the fields is the order of merging: lowest rank first, of one rank the leftmost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) rank: u32,
    pub(super) at: u32,
    pub(super) merged: u32,
}

/// Candidates in, the best of them out.
pub(super) trait Queue {
    fn push(&mut self, candidate: Candidate);
    fn pop(&mut self) -> Option<Candidate>;
}

impl Queue for BinaryHeap<Reverse<Candidate>> {
    fn push(&mut self, candidate: Candidate) {
        self.push(Reverse(candidate));
    }

    fn pop(&mut self) -> Option<Candidate> {
        self.pop().map(|Reverse(candidate)| candidate)
    }
}

/// A list of candidates for each rank, and a heap of the ranks that have any.
///
/// A heap of millions of candidates touches log n cache lines for each, none near another. Here a
/// push is an append, a pop is the next of a list, and the heap of ranks is no larger than the
/// vocabulary. The candidates of a rank come from left to right, so that the symbols are walked
/// that way, too.
pub(super) struct Buckets {
    of_rank: Vec<Bucket>,
    /// Ranks whose bucket is not empty.
    ranks: BinaryHeap<Reverse<u32>>,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    /// (place, merged symbol).
    candidates: Vec<(u32, u32)>,
    /// How many of them were popped. They are sorted before the first.
    popped: usize,
    /// Candidates that came after that. A merge brings an earlier rank about again only where it
    /// makes a token no longer than the tokens of lower ranks.
    late: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Buckets {
    pub(super) fn new(n_ranks: usize) -> Self {
        Self {
            of_rank: vec![Bucket::default(); n_ranks],
            ranks: BinaryHeap::new(),
        }
    }
}

impl Queue for Buckets {
    fn push(&mut self, Candidate { rank, at, merged }: Candidate) {
        let bucket = &mut self.of_rank[rank as usize];
        if bucket.popped > 0 {
            bucket.late.push(Reverse((at, merged)));
            return;
        }
        if bucket.candidates.is_empty() {
            self.ranks.push(Reverse(rank));
        }
        bucket.candidates.push((at, merged));
    }

    fn pop(&mut self) -> Option<Candidate> {
        loop {
            let &Reverse(rank) = self.ranks.peek()?;
            let bucket = &mut self.of_rank[rank as usize];
            if bucket.popped == 0 {
                // A few rising runs, one for each rank that brought this one about: the stable sort
                // merges runs.
                #[expect(clippy::stable_sort_primitive)]
                bucket.candidates.sort();
            }
            let next = bucket.candidates.get(bucket.popped);
            let found = match (next, bucket.late.peek()) {
                (Some(&next), Some(&Reverse(late))) if late < next => {
                    bucket.late.pop().map(|l| l.0)
                }
                (Some(&next), _) => {
                    bucket.popped += 1;
                    Some(next)
                }
                (None, _) => bucket.late.pop().map(|late| late.0),
            };
            if let Some((at, merged)) = found {
                return Some(Candidate { rank, at, merged });
            }
            *bucket = Bucket::default();
            self.ranks.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Pushes and pops in any order: both queues give the same.
        #[test]
        fn buckets_equal_the_heap(steps in prop::collection::vec(
            prop::option::of((0u32..6, 0u32..9, 0u32..3)), 0..200,
        )) {
            let mut heap = BinaryHeap::new();
            let mut buckets = Buckets::new(6);
            let drain = std::iter::repeat_n(None, steps.len() + 1);
            for step in steps.into_iter().chain(drain) {
                if let Some((rank, at, merged)) = step {
                    let candidate = Candidate { rank, at, merged };
                    Queue::push(&mut heap, candidate);
                    buckets.push(candidate);
                } else {
                    prop_assert_eq!(Queue::pop(&mut heap), buckets.pop());
                }
            }
        }
    }
}
