//! All ways to cut a word into pieces, as one lattice: forward-backward sums and best paths.
//!
//! Sums are made of probabilities, not of their logarithms, which would cost an exponential for
//! each piece of each word. Probabilities must neither vanish nor overflow, so a piece of n bytes
//! has its own multiplied by `exp(n * shift)`. That multiplies all ways to cut a word by the same
//! factor. Where a word is so unlikely that this is not enough, the sums are made of logarithms.

use super::seeds::begins_char;
use jeton_core::error::Result;
use jeton_core::models::unigram::trie::Trie;

/// Stands for a character without a piece.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// Extra cost of an unknown character over the least likely piece, as `sentencepiece` 0.2.3 has it.
const UNKNOWN_PENALTY: f64 = 10.0;
/// Sums outside of this are made again of logarithms.
const SAFE: std::ops::Range<f64> = 1e-250..1e250;

/// Pieces with their log probabilities.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    pub(super) scores: Vec<f64>,
}

impl Pieces {
    pub(super) fn push(&mut self, text: &[u8], score: f64) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
        self.scores.push(score);
    }

    pub(super) fn len(&self) -> usize {
        self.scores.len()
    }

    pub(super) fn text(&self, id: usize) -> &[u8] {
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.bytes[start as usize..self.ends[id] as usize]
    }

    /// Returns the pieces that `keep` accepts, with new scores.
    pub(super) fn filtered(&self, keep: impl Fn(usize) -> Option<f64>) -> Self {
        let mut new = Self::default();
        for id in 0..self.len() {
            if let Some(score) = keep(id) {
                new.push(self.text(id), score);
            }
        }
        new
    }
}

/// A model ready to build lattices with.
pub(super) struct Model {
    trie: Trie,
    scores: Vec<f64>,
    /// `exp(score + shift * bytes)`.
    scaled: Vec<f64>,
    unknown_score: f64,
    shift: f64,
}

impl Model {
    pub(super) fn new(pieces: &Pieces, shift: f64) -> Result<Self> {
        let keys = (0..pieces.len()).map(|id| (pieces.text(id), id as u32));
        let lowest = pieces.scores.iter().copied().fold(0.0, f64::min);
        let scaled = (0..pieces.len())
            .map(|id| (pieces.scores[id] + shift * pieces.text(id).len() as f64).exp())
            .collect();
        Ok(Self {
            trie: Trie::new(keys.collect())?,
            scores: pieces.scores.clone(),
            scaled,
            unknown_score: lowest - UNKNOWN_PENALTY,
            shift,
        })
    }

    #[inline]
    fn score(&self, node: Node) -> f64 {
        match self.scores.get(node.id as usize) {
            Some(&score) => score,
            None => self.unknown_score,
        }
    }

    #[inline]
    fn scaled(&self, node: Node) -> f64 {
        match self.scaled.get(node.id as usize) {
            Some(&scaled) => scaled,
            None => (self.unknown_score + self.shift * f64::from(node.end - node.start)).exp(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) id: u32,
}

/// Memory that is used again from word to word.
#[derive(Default)]
pub(super) struct Lattice {
    nodes: Vec<Node>,
    forward: Vec<f64>,
    backward: Vec<f64>,
    /// The last node of the best path to each place.
    last: Vec<u32>,
}

impl Lattice {
    /// List the pieces of a word, by where they begin.
    fn fill(&mut self, model: &Model, word: &[u8]) {
        self.nodes.clear();
        for start in 0..word.len() {
            if !begins_char(word[start]) {
                continue;
            }
            let rest = &word[start..];
            let char_len = 1 + rest[1..].iter().take_while(|&&b| !begins_char(b)).count();
            let mut has_char = false;
            for (len, id) in model.trie.prefixes(rest) {
                has_char |= len == char_len;
                self.nodes.push(Node {
                    start: start as u32,
                    end: (start + len) as u32,
                    id,
                });
            }
            if !has_char {
                self.nodes.push(Node {
                    start: start as u32,
                    end: (start + char_len) as u32,
                    id: UNKNOWN,
                });
            }
        }
    }

    /// Calls `each` with every piece of the word and its probability of being used. Returns the log
    /// probability of the word, all ways to cut it together.
    pub(super) fn expect(
        &mut self,
        model: &Model,
        word: &[u8],
        mut each: impl FnMut(u32, f64),
    ) -> f64 {
        self.fill(model, word);
        let n = word.len();
        self.forward.clear();
        self.forward.resize(n + 1, 0.0);
        self.forward[0] = 1.0;
        for &node in &self.nodes {
            let from = self.forward[node.start as usize];
            self.forward[node.end as usize] += from * model.scaled(node);
        }
        let all = self.forward[n];
        let safe = |value: f64| SAFE.contains(&value);
        if !safe(all)
            || !self
                .nodes
                .iter()
                .all(|node| safe(self.forward[node.start as usize]))
        {
            return self.expect_by_logarithms(model, n, each);
        }
        self.backward.clear();
        self.backward.resize(n + 1, 0.0);
        self.backward[n] = 1.0;
        for &node in self.nodes.iter().rev() {
            let ways = model.scaled(node) * self.backward[node.end as usize];
            self.backward[node.start as usize] += ways;
            if node.id != UNKNOWN {
                each(node.id, self.forward[node.start as usize] * ways / all);
            }
        }
        all.ln() - model.shift * n as f64
    }

    /// Adds the expectations of words that are too unlikely for sums of probabilities.
    fn expect_by_logarithms(
        &mut self,
        model: &Model,
        n: usize,
        mut each: impl FnMut(u32, f64),
    ) -> f64 {
        self.forward.fill(f64::NEG_INFINITY);
        self.forward[0] = 0.0;
        for &node in &self.nodes {
            let way = self.forward[node.start as usize] + model.score(node);
            add_logarithm(&mut self.forward[node.end as usize], way);
        }
        let all = self.forward[n];
        self.backward.clear();
        self.backward.resize(n + 1, f64::NEG_INFINITY);
        self.backward[n] = 0.0;
        for &node in self.nodes.iter().rev() {
            let ways = model.score(node) + self.backward[node.end as usize];
            add_logarithm(&mut self.backward[node.start as usize], ways);
            if node.id != UNKNOWN {
                each(
                    node.id,
                    (self.forward[node.start as usize] + ways - all).exp(),
                );
            }
        }
        all
    }

    /// The best way to cut a word, from its last piece to its first, and its log probability.
    /// `whole`: whether the word itself may be a piece of it. Among equals, the way whose last
    /// piece begins first.
    pub(super) fn best(
        &mut self,
        model: &Model,
        word: &[u8],
        whole: bool,
        mut each: impl FnMut(u32),
    ) -> f64 {
        self.fill(model, word);
        let n = word.len();
        self.forward.clear();
        self.forward.resize(n + 1, f64::NEG_INFINITY);
        self.forward[0] = 0.0;
        self.last.clear();
        self.last.resize(n + 1, 0);
        for (index, &node) in self.nodes.iter().enumerate() {
            if !whole && node.start == 0 && node.end as usize == n {
                continue;
            }
            let score = self.forward[node.start as usize] + model.score(node);
            if score > self.forward[node.end as usize] {
                self.forward[node.end as usize] = score;
                self.last[node.end as usize] = index as u32;
            }
        }
        let mut end = n;
        while end > 0 && self.forward[end] > f64::NEG_INFINITY {
            let node = self.nodes[self.last[end] as usize];
            each(node.id);
            end = node.start as usize;
        }
        self.forward[n]
    }
}

/// `to` becomes the logarithm of the sum of what both are logarithms of.
fn add_logarithm(to: &mut f64, other: f64) {
    let (high, low) = if *to > other {
        (*to, other)
    } else {
        (other, *to)
    };
    *to = if low == f64::NEG_INFINITY {
        high
    } else {
        high + (low - high).exp().ln_1p()
    };
}
