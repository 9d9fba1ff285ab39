//! Words cut where pairs are rare, and counted; the rarer the pairs that part them, the more memory
//! they take.

use std::ops::RangeInclusive;

use super::pairs::PairCounts;
use crate::counts::{PretokenCounter, PretokenCounts};
use jeton_core::error::{Error, Result};
use jeton_core::vocab::Vocab;

/// Approximate memory of the loop for each token of a fragment: the token, its place in lists,
/// shares of tables.
const BYTES_PER_TOKEN: usize = 40;

/// A floor for which there is no room is doubled; once one has lasted for this part of all words,
/// it rises by a quarter. Too high a floor takes more rounds, and too low a floor cuts all
/// fragments again. Quarters alone took 43 s, both 30 (`python -m benches.many_words --distinct
/// 2000000 --max-memory 64000000`).
const NEAR: u64 = 64;

/// Rule by length for tokens that may ever be joined.
pub(super) struct Lengths {
    of: Vec<u32>,
    most: u32,
}

impl Lengths {
    /// Builds the lengths of these tokens; nothing longer than `most` is made.
    pub(super) fn new(tokens: &Vocab, most: Option<usize>) -> Self {
        let of = tokens.iter().map(|(_, bytes)| bytes.len() as u32).collect();
        let most = most.and_then(|most| u32::try_from(most).ok());
        Self {
            of,
            most: most.unwrap_or(u32::MAX),
        }
    }

    /// True if joining the two makes no token that is too long; if it does, so does whatever comes
    /// to lie there.
    #[inline]
    pub(super) fn fit(&self, left: u32, right: u32) -> bool {
        self.of[left as usize].saturating_add(self.of[right as usize]) <= self.most
    }

    /// Neighbours in a word that may be joined.
    #[inline]
    pub(super) fn pairs_of(&self, tokens: &[u32]) -> impl Iterator<Item = (u32, u32)> {
        let adjacent = tokens.windows(2).map(|pair| (pair[0], pair[1]));
        adjacent.filter(|&(left, right)| self.fit(left, right))
    }
}

/// Distinct fragments and their counts.
pub(super) struct Fragments<'l> {
    pairs: PairCounts,
    lengths: &'l Lengths,
    most: u64,
    floor: u64,
    counter: PretokenCounter,
    max_bytes: usize,
    n_tokens: usize,
    n_words: u64,
    n_since_raised: u64,
}

impl<'l> Fragments<'l> {
    /// No fragments yet, for `n_words` words. The floor is the first of `floors` for which there is
    /// room.
    pub(super) fn new(
        pairs: PairCounts,
        lengths: &'l Lengths,
        n_words: u64,
        floors: RangeInclusive<u64>,
        max_bytes: usize,
    ) -> Self {
        let (floor, most) = floors.into_inner();
        Self {
            pairs,
            lengths,
            most,
            floor: floor.min(most),
            // Two are there while words are cut again.
            counter: PretokenCounter::new(max_bytes / 2),
            max_bytes,
            n_tokens: 0,
            n_words,
            n_since_raised: 0,
        }
    }

    /// Pairs that occur less often part words.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Cuts a word and counts its fragments; cuts all again, at more places, if there is no room.
    pub(super) fn add(&mut self, tokens: &[u32], count: u64) -> Result<()> {
        let mut rest = tokens;
        self.n_since_raised += 1;
        loop {
            let done = self.cut(rest, count)?;
            if done == rest.len() {
                return Ok(());
            }
            // The part that was cut off stays, and its place is a cut at any floor.
            rest = &rest[done..];
            self.raise()?;
        }
    }

    /// Counts the fragments of a word; returns how many of its tokens found room.
    fn cut(&mut self, tokens: &[u32], count: u64) -> Result<usize> {
        let mut start = 0;
        let mut key = Vec::new();
        for end in 1..=tokens.len() {
            let holds = tokens.get(end).is_some_and(|&right| {
                let left = tokens[end - 1];
                self.lengths.fit(left, right) && self.pairs.get(left, right) >= self.floor
            });
            if holds {
                continue;
            }
            let fragment = &tokens[start..end];
            if fragment.len() > 1 {
                key.clear();
                for token in fragment {
                    key.extend_from_slice(&token.to_le_bytes());
                }
                let n_before = self.counter.n_distinct();
                if self.n_tokens * BYTES_PER_TOKEN > self.max_bytes
                    || !self.counter.try_add(&key, count)?
                {
                    return Ok(start);
                }
                if self.counter.n_distinct() > n_before {
                    self.n_tokens += fragment.len();
                }
            }
            start = end;
        }
        Ok(tokens.len())
    }

    /// Cuts everything again, at more places.
    fn raise(&mut self) -> Result<()> {
        let old = std::mem::replace(&mut self.counter, PretokenCounter::new(0)).finish()?;
        loop {
            if self.floor >= self.most {
                return Err(Error::training(
                    "there is too little memory for the places of the most frequent pairs\n\
                     hint: allow more memory",
                ));
            }
            let is_near = self.n_since_raised >= self.n_words / NEAR;
            let step = if is_near { self.floor / 4 } else { self.floor };
            let higher = self.floor.saturating_add(step.max(1));
            self.floor = if higher > self.most {
                self.floor + (self.most - self.floor).div_ceil(2)
            } else {
                higher
            };
            self.counter = PretokenCounter::new(self.max_bytes / 2);
            self.n_tokens = 0;
            if self.cut_all(&old)? {
                self.n_since_raised = 0;
                return Ok(());
            }
        }
    }

    /// True if all fragments found room.
    fn cut_all(&mut self, fragments: &PretokenCounts) -> Result<bool> {
        let mut tokens = Vec::new();
        for (key, count) in fragments.iter() {
            tokens.clear();
            tokens.extend(tokens_of(key));
            if self.cut(&tokens, count)? < tokens.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All fragments one after another, where each begins, and how often each occurs.
    pub(super) fn into_words(self) -> Result<(Vec<u32>, Vec<usize>, Vec<u64>)> {
        let Self {
            counter, n_tokens, ..
        } = self;
        let counts = counter.finish()?;
        let mut tokens = Vec::with_capacity(n_tokens);
        let mut starts = Vec::with_capacity(counts.len() + 1);
        let mut weights = Vec::with_capacity(counts.len());
        for (key, count) in counts.iter() {
            starts.push(tokens.len());
            tokens.extend(tokens_of(key));
            weights.push(count);
        }
        starts.push(tokens.len());
        Ok((tokens, starts, weights))
    }
}

fn tokens_of(key: &[u8]) -> impl Iterator<Item = u32> {
    key.as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| u32::from_le_bytes(*bytes))
}
