//! A priority queue of pairs, whose entries may be out of date.
//!
//! Most pairs are rare and are never merged. So entries wait in an unsorted list, `cold`, until the
//! best ones above them are used up. Only the best part is in the heap, which has eight children a
//! node: three levels hold 585 entries, and a node's children lie side by side in memory.
//!
//! Cost: O(1) for an entry that stays cold, else O(log n); 16 bytes an entry.

/// A pair with the score it had when it was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) score: u64,
    pub(crate) left: u32,
    pub(crate) right: u32,
}

/// Order of candidates: total, since no pair is in the queue twice.
pub(crate) trait Order {
    /// True if pair `a` wins against pair `b` at equal score.
    fn wins_tie(&self, a: (u32, u32), b: (u32, u32)) -> bool;

    #[inline]
    fn before(&self, a: &Candidate, b: &Candidate) -> bool {
        if a.score != b.score {
            return a.score > b.score;
        }
        self.wins_tie((a.left, a.right), (b.left, b.right))
    }
}

const ARITY: usize = 8;
/// Part of the cold entries that a refill moves, so that refills stay rare. Half and twice as many
/// do the same (docs/log/2026-11-28-tuning-constants.md).
const REFILL_SHARE: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: Vec<Candidate>,
    /// Candidates with a score below `threshold`; those in the heap have at least that.
    cold: Vec<Candidate>,
    threshold: u64,
}

impl Queue {
    pub(crate) fn new(candidates: Vec<Candidate>) -> Self {
        Self {
            heap: Vec::new(),
            cold: candidates,
            threshold: u64::MAX,
        }
    }

    pub(crate) fn push(&mut self, candidate: Candidate, order: &impl Order) {
        if candidate.score < self.threshold {
            self.cold.push(candidate);
        } else {
            self.heap.push(candidate);
            self.sift_up(self.heap.len() - 1, order);
        }
    }

    /// The first candidate in the order.
    pub(crate) fn peek(&mut self, order: &impl Order) -> Option<Candidate> {
        if self.heap.is_empty() {
            self.refill(order);
        }
        self.heap.first().copied()
    }

    /// Give the candidate that `peek` returned its present score.
    pub(crate) fn rescore_first(&mut self, score: u64, order: &impl Order) {
        let Some(first) = self.heap.first_mut() else {
            return;
        };
        first.score = score;
        if score < self.threshold {
            self.cold.push(*first);
            self.remove_first(order);
        } else {
            self.sift_down(0, order);
        }
    }

    /// Remove the candidate that `peek` returned.
    pub(crate) fn remove_first(&mut self, order: &impl Order) {
        if self.heap.is_empty() {
            return;
        }
        self.heap.swap_remove(0);
        if !self.heap.is_empty() {
            self.sift_down(0, order);
        }
    }

    fn refill(&mut self, order: &impl Order) {
        if self.cold.is_empty() {
            return;
        }
        let n_wanted = self.cold.len().div_ceil(REFILL_SHARE);
        let (_, last, _) = self
            .cold
            .select_nth_unstable_by(n_wanted - 1, |a, b| b.score.cmp(&a.score));
        self.threshold = last.score;
        // Entries with the same score as the last one have to come along.
        let threshold = self.threshold;
        self.heap.extend(
            self.cold
                .extract_if(.., |candidate| candidate.score >= threshold),
        );
        for index in (0..=self.heap.len() / ARITY).rev() {
            self.sift_down(index, order);
        }
    }

    fn sift_up(&mut self, mut index: usize, order: &impl Order) {
        let candidate = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / ARITY;
            if !order.before(&candidate, &self.heap[parent]) {
                break;
            }
            self.heap[index] = self.heap[parent];
            index = parent;
        }
        self.heap[index] = candidate;
    }

    fn sift_down(&mut self, mut index: usize, order: &impl Order) {
        let Some(&candidate) = self.heap.get(index) else {
            return;
        };
        loop {
            let first_child = index * ARITY + 1;
            let end = (first_child + ARITY).min(self.heap.len());
            if first_child >= end {
                break;
            }
            let mut best = first_child;
            for child in first_child + 1..end {
                if order.before(&self.heap[child], &self.heap[best]) {
                    best = child;
                }
            }
            if !order.before(&self.heap[best], &candidate) {
                break;
            }
            self.heap[index] = self.heap[best];
            index = best;
        }
        self.heap[index] = candidate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct ByIds;

    impl Order for ByIds {
        fn wins_tie(&self, a: (u32, u32), b: (u32, u32)) -> bool {
            a < b
        }
    }

    proptest! {
        /// Pushes and lowered scores in any order: what comes out is always the first of what is
        /// in.
        #[test]
        fn equals_a_sorted_list(
            start in proptest::collection::vec((0_u64..50, 0_u32..4, 0_u32..4), 0..9000),
            steps in proptest::collection::vec((0_u8..3, 0_u64..50, 0_u32..4, 0_u32..4), 0..200),
        ) {
            let mut serial = 0; // makes every pair different
            let mut make = |(score, left, right): (u64, u32, u32)| {
                serial += 1;
                Candidate { score, left, right: right << 16 | serial }
            };
            let mut naive: Vec<Candidate> = start.into_iter().map(&mut make).collect();
            let mut queue = Queue::new(naive.clone());
            let key = |c: &Candidate| (u64::MAX - c.score, c.left, c.right);
            for (step, score, left, right) in steps {
                naive.sort_by_key(key);
                let first = queue.peek(&ByIds);
                prop_assert_eq!(first, naive.first().copied());
                match step {
                    0 => {
                        let candidate = make((score, left, right));
                        queue.push(candidate, &ByIds);
                        naive.push(candidate);
                    }
                    1 => {
                        queue.remove_first(&ByIds);
                        naive.drain(..naive.len().min(1));
                    }
                    _ => {
                        queue.rescore_first(score, &ByIds);
                        if let Some(first) = naive.first_mut() {
                            first.score = score;
                        }
                    }
                }
            }
        }
    }
}
