//! All merges of a count of `floor` and more, on fragments.
//!
//! The count of a pair is recounted in every fragment that a merge changes; fragments are short.
//! Pairs below the floor are not followed at all: their counts cannot rise.

use hashbrown::{HashMap, HashSet};

use crate::bpe::BpeTrainOptions;
use crate::engine::Ties;
use crate::queue::{Candidate, Queue};
use jeton_core::error::{ErrorKind, Result};
use jeton_core::vocab::{Vocab, hasher};

use super::fragments::Fragments;

type ByteStrings = HashSet<Vec<u8>, foldhash::fast::FixedState>;

/// Merges between two reports.
const MERGES_PER_REPORT: usize = 256;

#[derive(Default)]
struct Pair {
    count: u64,
    /// Words that hold it, or held it, by rising number.
    words: Vec<u32>,
}

pub(super) struct Merging<'a> {
    tokens: Vec<u32>,
    starts: Vec<usize>,
    /// Tokens that each word has now.
    lens: Vec<u32>,
    weights: Vec<u64>,
    pairs: HashMap<(u32, u32), Pair, foldhash::fast::FixedState>,
    queue: Queue,
    floor: u64,
    options: &'a BpeTrainOptions,
}

impl<'a> Merging<'a> {
    pub(super) fn new(
        fragments: Fragments<'_>,
        floor: u64,
        options: &'a BpeTrainOptions,
    ) -> Result<Self> {
        let (tokens, starts, weights) = fragments.into_words()?;
        if u32::try_from(weights.len()).is_err() {
            return Err(ErrorKind::TooLarge {
                what: "the number of distinct fragments of words",
                limit: u64::from(u32::MAX),
            }
            .into());
        }
        let lens = starts
            .windows(2)
            .map(|place| (place[1] - place[0]) as u32)
            .collect();
        let mut new = Self {
            tokens,
            starts,
            lens,
            weights,
            pairs: HashMap::with_hasher(hasher()),
            queue: Queue::default(),
            floor,
            options,
        };
        for word in 0..new.weights.len() {
            let (start, len) = (new.starts[word], new.lens[word] as usize);
            for at in start + 1..start + len {
                let pair = (new.tokens[at - 1], new.tokens[at]);
                note(&mut new.pairs, pair, new.weights[word], word as u32);
            }
        }
        Ok(new)
    }

    fn fits(&self, vocab: &Vocab, pair: (u32, u32)) -> bool {
        let len = |id| vocab.id_to_bytes(id).map_or(0, <[u8]>::len);
        let joined = len(pair.0) + len(pair.1);
        self.options.max_token_bytes.is_none_or(|max| joined <= max)
    }

    /// Merges until the best count is below the floor (false) or the vocabulary is full (true).
    pub(super) fn run(
        mut self,
        vocab: &mut Vocab,
        merges: &mut Vec<(u32, u32, u32)>,
        forbidden: &ByteStrings,
        report: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<bool> {
        let mut candidates = Vec::new();
        let mut known: Vec<_> = self
            .pairs
            .iter()
            .map(|(&pair, of)| (pair, of.count))
            .collect();
        known.sort_unstable();
        for (pair, count) in known {
            if count >= self.floor && self.fits(vocab, pair) {
                candidates.push(candidate(pair, count));
            }
        }
        self.queue = Queue::new(candidates);
        loop {
            if vocab.size() as usize >= self.options.vocab_size {
                return Ok(true);
            }
            let Some(pair) = self.next_best(vocab) else {
                return Ok(false);
            };
            let bytes = |id| vocab.id_to_bytes(id).unwrap_or_default();
            let (left, right) = (bytes(pair.0), bytes(pair.1));
            let may_merge = self.options.may_merge.as_ref();
            let joined = [left, right].concat();
            if forbidden.contains(&joined) || may_merge.is_some_and(|may| !(may.0)(left, right)) {
                continue;
            }
            let new = vocab.size();
            vocab.insert(new, &joined)?;
            merges.push((pair.0, pair.1, new));
            self.join(pair, new, vocab);
            if merges.len().is_multiple_of(MERGES_PER_REPORT) {
                report(vocab.size() as usize)?;
            }
        }
    }

    /// Takes the best pair off the queue.
    fn next_best(&mut self, vocab: &Vocab) -> Option<(u32, u32)> {
        let order = Ties {
            rule: self.options.tie_rule,
            vocab,
        };
        while let Some(best) = self.queue.peek(&order) {
            let pair = (best.left, best.right);
            let count = self.pairs.get(&pair).map_or(0, |pair| pair.count);
            if count < self.floor {
                self.queue.remove_first(&order);
            } else if count != best.score {
                self.queue.rescore_first(count, &order);
            } else {
                self.queue.remove_first(&order);
                return Some(pair);
            }
        }
        None
    }

    /// Joins a pair wherever it stands, from left to right.
    fn join(&mut self, pair: (u32, u32), new: u32, vocab: &Vocab) {
        let words = self.pairs.remove(&pair).unwrap_or_default().words;
        let mut made: Vec<(u32, u32)> = Vec::new();
        for word in words {
            let index = word as usize;
            let (start, len) = (self.starts[index], self.lens[index] as usize);
            let weight = self.weights[index];
            let before = &self.tokens[start..start + len];
            if !before.windows(2).any(|two| (two[0], two[1]) == pair) {
                continue;
            }
            for two in before.windows(2) {
                if let Some(of) = self.pairs.get_mut(&(two[0], two[1])) {
                    of.count -= weight;
                }
            }
            let (mut to, mut from) = (start, start);
            while from < start + len {
                let is_pair =
                    from + 1 < start + len && (self.tokens[from], self.tokens[from + 1]) == pair;
                self.tokens[to] = if is_pair { new } else { self.tokens[from] };
                from += 1 + usize::from(is_pair);
                to += 1;
            }
            self.lens[index] = (to - start) as u32;
            for at in start + 1..to {
                let two = (self.tokens[at - 1], self.tokens[at]);
                if two == pair {
                    continue;
                }
                if two.0 == new || two.1 == new {
                    if !self.pairs.contains_key(&two) {
                        made.push(two);
                    }
                    note(&mut self.pairs, two, weight, word);
                } else if let Some(of) = self.pairs.get_mut(&two) {
                    of.count += weight;
                }
            }
        }
        let order = Ties {
            rule: self.options.tie_rule,
            vocab,
        };
        for two in made {
            let count = self.pairs.get(&two).map_or(0, |of| of.count);
            if count < self.floor {
                self.pairs.remove(&two);
            } else if self.fits(vocab, two) {
                self.queue.push(candidate(two, count), &order);
            }
        }
    }
}

fn note(
    pairs: &mut HashMap<(u32, u32), Pair, foldhash::fast::FixedState>,
    pair: (u32, u32),
    weight: u64,
    word: u32,
) {
    let of = pairs.entry(pair).or_default();
    of.count += weight;
    if of.words.last() != Some(&word) {
        of.words.push(word);
    }
}

fn candidate((left, right): (u32, u32), score: u64) -> Candidate {
    Candidate { score, left, right }
}
