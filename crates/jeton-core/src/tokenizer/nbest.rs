//! The n best segmentations of a whole text.
//!
//! The segmentations of a text are all combinations of its pretokens' segmentations. So the best
//! ones are found by joining one pretoken's list after the other. The result so far is a list of
//! choices, ordered by their loss against the best. A heap gives the `n` best of its combinations
//! with the next list. A choice is written down only where it is not the best one. A combination
//! that differs from the best in k places has 2^k - 1 better ones, so no list of choices is longer
//! than log2(n). A pretoken is skipped if even its second best loses more than the worst
//! combination that is kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Tokenizer;
use super::encode::Parts;
use crate::engine::{Alternative, Engine, EngineScratch};
use crate::error::{Error, Result};
use crate::models::unigram::MAX_NBEST;
use crate::pretokenize::rewriting::Origin;
use crate::special::Allow;

/// Parts of a text with their alternatives, and the best combinations of these.
struct Combinations {
    n: usize,
    parts: Vec<Vec<Alternative>>,
    /// In order of what they lose.
    best: Vec<Combination>,
}

#[derive(Clone)]
struct Combination {
    /// How far its score is below the best, 0 or more.
    loss: f64,
    /// Parts in which it is not the first alternative, and which one it is.
    choices: Vec<(usize, usize)>,
}

/// A loss as a number that sorts like it: bits of floating-point numbers that are not negative do.
fn key(loss: f64) -> u64 {
    loss.max(0.0).to_bits()
}

impl Combinations {
    fn new(n: usize) -> Self {
        let nothing = Combination {
            loss: 0.0,
            choices: Vec::new(),
        };
        Self {
            n,
            parts: Vec::new(),
            best: vec![nothing],
        }
    }

    /// Goes on with a part whose alternatives come best first.
    fn add(&mut self, mut alternatives: Vec<Alternative>) {
        let losses: Vec<f64> = match alternatives.first() {
            Some((_, best)) => alternatives.iter().map(|(_, score)| best - score).collect(),
            None => return,
        };
        let worst = self.best.last().map_or(0.0, |worst| worst.loss);
        let is_full = self.best.len() == self.n;
        // Among equals the ones found first stay.
        let useful = |loss: &f64| !is_full || *loss < worst;
        let n_useful = 1 + losses.iter().skip(1).filter(|&loss| useful(loss)).count();
        alternatives.truncate(n_useful);
        if n_useful > 1 {
            self.best = self.joined(&losses[..n_useful]);
        }
        self.parts.push(alternatives);
    }

    fn joined(&self, losses: &[f64]) -> Vec<Combination> {
        let part = self.parts.len();
        let mut joined: Vec<Combination> = Vec::with_capacity(self.n);
        let mut heap = BinaryHeap::new();
        let entry = |i: usize, j: usize| {
            let loss = self.best.get(i)?.loss + losses.get(j)?;
            Some(Reverse((key(loss), i, j)))
        };
        heap.extend(entry(0, 0));
        while let Some(Reverse((loss, i, j))) = heap.pop() {
            let mut choices = self.best[i].choices.clone();
            if j > 0 {
                choices.push((part, j));
            }
            let loss = f64::from_bits(loss);
            joined.push(Combination { loss, choices });
            if joined.len() == self.n {
                break;
            }
            heap.extend(entry(i, j + 1));
            if j == 0 {
                heap.extend(entry(i + 1, 0));
            }
        }
        joined
    }

    fn finish(&self) -> Vec<Alternative> {
        let whole = |combination: &Combination| {
            let mut choices = combination.choices.iter().peekable();
            let mut whole: Alternative = (Vec::new(), 0.0);
            for (number, part) in self.parts.iter().enumerate() {
                let choice = choices.next_if(|(place, _)| *place == number);
                let (ids, score) = &part[choice.map_or(0, |&(_, choice)| choice)];
                whole.0.extend_from_slice(ids);
                whole.1 += score;
            }
            whole
        };
        self.best.iter().map(whole).collect()
    }
}

impl Parts for Combinations {
    fn text(
        &mut self,
        engine: &Engine,
        text: &str,
        origin: Origin<'_>,
        _: &mut EngineScratch,
    ) -> Result<()> {
        let n = self.n;
        engine.nbest(text, origin, n, |alternatives| self.add(alternatives))
    }

    fn token(&mut self, id: u32) {
        self.parts.push(vec![(vec![id], 0.0)]);
    }
}

impl Tokenizer {
    /// The `n` best segmentations of a text (1 to [`MAX_NBEST`]) with their scores, best first;
    /// fewer if there are no more. Only Unigram models have scores.
    ///
    /// SentencePiece sees the whole text at once, and its list equals `sentencepiece`'s. With a
    /// pre-tokenizer, the list has all combinations of the pretokens' segmentations, and a score is
    /// the sum over them. Added tokens that are always found count as certain.
    pub fn nbest(&self, text: &str, n: usize) -> Result<Vec<Alternative>> {
        if !self.engine.has_scores() {
            return Err(Error::usage(format!(
                "this is a {} tokenizer, and the best segmentations are known of unigram models only",
                self.algorithm()
            )));
        }
        if !(1..=MAX_NBEST).contains(&n) {
            return Err(Error::usage(format!("n is {n}; expected 1 to {MAX_NBEST}")));
        }
        self.pool.with(|scratch| {
            let mut combinations = Combinations::new(n);
            self.encode_sections(text, &Allow::None, scratch, &mut combinations)?;
            Ok(combinations.finish())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Scores are multiples of 1/8, so that every sum is exact.
        #[test]
        fn the_best_of_all_combinations(
            scores in prop::collection::vec(prop::collection::vec(0..40i32, 1..5), 0..5),
            n in 1..12usize,
        ) {
            let mut combinations = Combinations::new(n);
            let mut all: Vec<Alternative> = vec![(Vec::new(), 0.0)];
            for (part, mut scores) in (0..).zip(scores) {
                scores.sort_unstable();
                let alternatives: Vec<Alternative> = (0..)
                    .zip(&scores)
                    .map(|(choice, &score)| (vec![10 * part + choice], -f64::from(score) / 8.0))
                    .collect();
                all = all
                    .iter()
                    .flat_map(|(ids, score)| {
                        alternatives.iter().map(move |(more, other)| {
                            ([ids.as_slice(), more].concat(), score + other)
                        })
                    })
                    .collect();
                combinations.add(alternatives);
            }
            let found = combinations.finish();
            prop_assert_eq!(found.len(), n.min(all.len()));
            for (index, alternative) in found.iter().enumerate() {
                // It is one of all, and there only once.
                prop_assert_eq!(all.iter().filter(|other| *other == alternative).count(), 1);
                prop_assert!(!found[..index].contains(alternative));
            }
            all.sort_by(|a, b| b.1.total_cmp(&a.1));
            let expected: Vec<f64> = all.iter().take(n).map(|(_, score)| *score).collect();
            let scores: Vec<f64> = found.iter().map(|(_, score)| *score).collect();
            prop_assert_eq!(scores, expected);
        }
    }
}
