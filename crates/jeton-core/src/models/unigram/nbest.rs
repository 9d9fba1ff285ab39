//! The n best segmentations: A* from the end of the text.
//!
//! The estimate of what is left is the exact best score of the prefix, so paths come out in order.
//! Long texts can have more near-best paths than memory. The limits are the ones of `sentencepiece`
//! 0.2.3: it drops all but the best hypotheses, and in the end falls back to the single best path.

use super::queue::Queue;

/// A piece at a place in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) score: f64,
}

/// A segmentation and its score.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScoredPath {
    /// (id, end) of its segments, in order.
    pub(super) segments: Vec<(u32, u32)>,
    pub(super) score: f64,
}

/// Hypotheses waiting, beyond which the worst are dropped.
const MAX_AGENDA: usize = 10_000;
/// How many stay then, at most.
const MIN_AGENDA: usize = 512;
/// Hypotheses made since the last time, beyond which the worst are dropped.
const MAX_MADE: usize = 100_000;
/// Hypotheses altogether, beyond which the single best path is the answer.
const MAX_MADE_ALTOGETHER: usize = 500_000;
/// How often the worst may be dropped before the single best path is the answer.
const MAX_SHRINKS: u32 = 10;

const NONE: u32 = u32::MAX;

/// A path from some place to the end.
#[derive(Clone, Copy)]
struct Hypothesis {
    /// The candidate it begins with; [`NONE`]: it has none yet, or it is complete.
    candidate: u32,
    next: u32,
    score: f64,
}

/// A hypothesis in the queue.
#[derive(Clone, Copy)]
struct Waiting {
    hypothesis: u32,
    /// The place it has reached; none: the very beginning, it is complete.
    at: Option<u32>,
}

/// Candidates by where they end, and the best score of every prefix.
pub(super) struct Lattice {
    candidates: Vec<Candidate>,
    /// Indices of candidates, by end and then as they were found.
    by_end: Vec<u32>,
    /// Start in `by_end` of the candidates that end at each byte.
    first: Vec<u32>,
    /// Best score of each prefix; none if it cannot be cut.
    best: Vec<Option<f64>>,
    /// True if sums are rounded to `f32`.
    single: bool,
}

impl Lattice {
    /// Candidates come in the order of their starts.
    pub(super) fn new(candidates: Vec<Candidate>, length: usize, single: bool) -> Self {
        let mut first = vec![0u32; length + 2];
        for candidate in &candidates {
            first[candidate.end as usize + 1] += 1;
        }
        for end in 1..first.len() {
            first[end] += first[end - 1];
        }
        let mut next = first.clone();
        let mut by_end = vec![0; candidates.len()];
        for (index, candidate) in candidates.iter().enumerate() {
            let slot = &mut next[candidate.end as usize];
            by_end[*slot as usize] = index as u32;
            *slot += 1;
        }
        let mut lattice = Self {
            candidates,
            by_end,
            first,
            best: vec![None; length + 1],
            single,
        };
        lattice.best[0] = Some(0.0);
        for end in 1..=length {
            let mut best: Option<f64> = None;
            for &index in lattice.ending_at(end as u32) {
                let estimate = lattice.estimate(index);
                if let Some(estimate) = estimate
                    && best.is_none_or(|best| estimate > best)
                {
                    best = Some(estimate);
                }
            }
            lattice.best[end] = best;
        }
        lattice
    }

    fn ending_at(&self, end: u32) -> &[u32] {
        let end = end as usize;
        &self.by_end[self.first[end] as usize..self.first[end + 1] as usize]
    }

    /// The best score of a path up to and with a candidate.
    fn estimate(&self, index: u32) -> Option<f64> {
        let candidate = self.candidates[index as usize];
        let before = self.best[candidate.start as usize]?;
        Some(self.add(before, candidate.score))
    }

    fn add(&self, a: f64, b: f64) -> f64 {
        // The sum of two `f32` is exact enough in `f64` that rounding it once more gives their
        // `f32` sum.
        if self.single {
            f64::from((a + b) as f32)
        } else {
            a + b
        }
    }

    /// The `n` best paths, best first; none if the text cannot be cut.
    pub(super) fn nbest(&self, n: usize) -> Vec<ScoredPath> {
        self.search(n)
            .unwrap_or_else(|| self.search(1).unwrap_or_default())
    }

    /// None: too many hypotheses.
    fn search(&self, n: usize) -> Option<Vec<ScoredPath>> {
        let mut results = Vec::new();
        let length = self.best.len() as u32 - 1;
        let Some(Some(best)) = self.best.last().copied() else {
            return Some(results);
        };
        if n == 0 || length == 0 {
            return Some(results);
        }
        let min_agenda = MIN_AGENDA.min(n.saturating_mul(10));
        let mut made = vec![Hypothesis {
            candidate: NONE,
            next: NONE,
            score: 0.0,
        }];
        let mut agenda = Queue::new();
        let end = Waiting {
            hypothesis: 0,
            at: Some(length),
        };
        agenda.push(best, end);
        let mut altogether = 1;
        let mut max_made = MAX_MADE;
        let mut shrinks = 0;
        while let Some((estimate, top)) = agenda.pop() {
            let Some(at) = top.at else {
                results.push(self.finish(&made, top.hypothesis, estimate));
                if results.len() == n {
                    break;
                }
                continue;
            };
            let so_far = made[top.hypothesis as usize].score;
            let before = altogether;
            let mut push = |candidate: u32, score: f64, estimate: f64, at: Option<u32>| {
                let hypothesis = made.len() as u32;
                made.push(Hypothesis {
                    candidate,
                    next: top.hypothesis,
                    score,
                });
                agenda.push(estimate, Waiting { hypothesis, at });
                altogether += 1;
            };
            if at == 0 {
                push(NONE, so_far, so_far, None);
            }
            for &index in self.ending_at(at) {
                let candidate = self.candidates[index as usize];
                if let Some(estimate) = self.estimate(index) {
                    push(
                        index,
                        self.add(candidate.score, so_far),
                        self.add(estimate, so_far),
                        Some(candidate.start),
                    );
                }
            }
            debug_assert!(altogether > before, "a best path leads on from everywhere");
            if n > 1 && altogether >= MAX_MADE_ALTOGETHER {
                return None;
            }
            if agenda.len() >= MAX_AGENDA || agenda.len() > min_agenda && made.len() >= max_made {
                if n > 1 && shrinks >= MAX_SHRINKS {
                    return None;
                }
                shrinks += 1;
                shrink(&mut agenda, &mut made, min_agenda);
                max_made = made.len() + MAX_MADE;
            }
        }
        Some(results)
    }

    fn finish(&self, made: &[Hypothesis], hypothesis: u32, score: f64) -> ScoredPath {
        let mut segments = Vec::new();
        let mut at = hypothesis;
        while let Some(hypothesis) = made.get(at as usize) {
            if let Some(candidate) = self.candidates.get(hypothesis.candidate as usize) {
                segments.push((candidate.id, candidate.end));
            }
            at = hypothesis.next;
        }
        ScoredPath { segments, score }
    }
}

/// Keeps the best of those waiting, and what they lead to.
fn shrink(agenda: &mut Queue<Waiting>, made: &mut Vec<Hypothesis>, keep: usize) {
    let kept: Vec<(f64, Waiting)> = std::iter::from_fn(|| agenda.pop()).take(keep).collect();
    let mut needed = vec![false; made.len()];
    for (_, waiting) in &kept {
        let mut at = waiting.hypothesis as usize;
        while let Some(flag) = needed.get_mut(at)
            && !*flag
        {
            *flag = true;
            at = made[at].next as usize;
        }
    }
    // A hypothesis is younger than the one it leads to, so one pass in order renames all.
    let mut names = vec![NONE; made.len()];
    let mut n = 0;
    for index in 0..made.len() {
        if needed[index] {
            let old = made[index];
            let next = names.get(old.next as usize).copied().unwrap_or(NONE);
            made[n] = Hypothesis { next, ..old };
            names[index] = n as u32;
            n += 1;
        }
    }
    made.truncate(n);
    *agenda = Queue::new();
    for (estimate, waiting) in kept {
        let hypothesis = names[waiting.hypothesis as usize];
        agenda.push(
            estimate,
            Waiting {
                hypothesis,
                ..waiting
            },
        );
    }
}
