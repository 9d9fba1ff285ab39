//! Greedy longest-match segmentation in linear time.
//!
//! A word is cut into tokens, each the longest that fits where the one before it ended. Written
//! down plainly that is quadratic: a search may run far and come back with a short match, again and
//! again. Here one automaton reads each byte once. Where a search fails, the node knows the tokens
//! at the front of the text read so far (its *pops*). It also knows where the search for the rest
//! stands (its *failure link*). Song, Salcianu, Song, Dopson and Zhou, "Fast `WordPiece`
//! Tokenization" (EMNLP 2021).
//!
//! There are two sets of tokens. Some may begin a word; others may continue it (the `##` of
//! `WordPiece`, which the text does not have). Where the two are one set (RWKV's vocabulary), one
//! root does.
//!
//! The trie is numbered breadth first, so the children of a node are neighbours: a node is one byte
//! of label, where its children begin, and nothing else. Building takes time and memory linear in
//! the vocabulary's bytes, whatever they are.

use std::ops::Range;

use crate::error::{ErrorKind, Result};

/// The root for tokens that begin a word.
const BEGIN: u32 = 0;
/// No node, no token, no pops.
const NONE: u32 = u32::MAX;
/// Most nodes of a trie: 16 bytes each, so 1 GB; published vocabularies have 200,000.
const MAX_NODES: usize = 1 << 26;

/// A token: its id, and its length in bytes of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The token's id.
    pub(crate) id: u32,
    /// Bytes of text that it covers.
    pub(crate) bytes: u32,
}

/// Tokens that a node knows the text to begin with: one, or two lists after each other.
///
/// Lists share their parts, so that all of them together take room linear in the trie.
#[derive(Clone, Copy, Debug)]
enum Pops {
    One(Piece),
    Two(u32, u32),
}

/// A compiled set of tokens.
#[derive(Debug)]
pub(crate) struct LongestMatch {
    /// Where a word continues: 1, or 0 if any token may begin a word and continue it.
    continuing: u32,
    /// Byte that leads to a node.
    labels: Vec<u8>,
    /// `first[node]..first[node + 1]` are a node's children.
    first: Vec<u32>,
    /// Where the search goes on after the pops; `NONE` where the word cannot be segmented.
    failure: Vec<u32>,
    /// Index into `pops`, or `NONE`.
    pops_of: Vec<u32>,
    pops: Vec<Pops>,
    /// Children of the roots by byte: two or three matches in four start there.
    from_root: Vec<u32>,
}

/// Memory that matching reuses: lists of pops that are still to be read.
pub(crate) type PopStack = Vec<u32>;

impl LongestMatch {
    /// Compiles (text, id) pairs. Empty texts never match; of equal texts the first wins.
    ///
    /// `continuing`: tokens that continue a word, if they differ from the beginning ones.
    pub(crate) fn new<'v>(
        beginning: impl Iterator<Item = (&'v [u8], u32)>,
        continuing: Option<&mut dyn Iterator<Item = (&'v [u8], u32)>>,
    ) -> Result<Self> {
        let mut keys: Vec<(&[u8], u32)> = beginning.filter(|(text, _)| !text.is_empty()).collect();
        sort_unique(&mut keys);
        let n_beginning = keys.len();
        let two_roots = continuing.is_some();
        if let Some(continuing) = continuing {
            let mut more: Vec<(&[u8], u32)> =
                continuing.filter(|(text, _)| !text.is_empty()).collect();
            sort_unique(&mut more);
            keys.append(&mut more);
        }
        let mut trie = Self {
            continuing: u32::from(two_roots),
            labels: Vec::new(),
            first: Vec::new(),
            failure: Vec::new(),
            pops_of: Vec::new(),
            pops: Vec::new(),
            from_root: Vec::new(),
        };
        let mut roots = Vec::with_capacity(2);
        roots.push(0..n_beginning);
        if two_roots {
            roots.push(n_beginning..keys.len());
        }
        let (tokens, parents) = trie.build_nodes(&keys, &roots)?;
        trie.build_root_table();
        trie.build_links(&tokens, &parents);
        Ok(trie)
    }

    /// Numbers the nodes breadth first; returns each node's token and parent.
    fn build_nodes(
        &mut self,
        keys: &[(&[u8], u32)],
        roots: &[Range<usize>],
    ) -> Result<(Vec<Option<Piece>>, Vec<u32>)> {
        // Keys below each node, while the level above it is being read.
        let mut level: Vec<Range<usize>> = roots.to_vec();
        let mut tokens: Vec<Option<Piece>> = vec![None; roots.len()];
        let mut parents: Vec<u32> = vec![NONE; roots.len()];
        self.labels.resize(roots.len(), 0);
        let mut node = 0u32;
        let mut depth = 0;
        while !level.is_empty() {
            let mut next = Vec::new();
            for range in level {
                self.first.push(self.labels.len() as u32);
                // The key that ends at this node comes first.
                let mut at = range.start;
                if depth > 0 && keys[at].0.len() == depth {
                    at += 1;
                }
                while at < range.end {
                    let byte = keys[at].0[depth];
                    let end =
                        at + keys[at..range.end].partition_point(|(text, _)| text[depth] <= byte);
                    let (text, id) = keys[at];
                    tokens.push((text.len() == depth + 1).then_some(Piece {
                        id,
                        bytes: text.len() as u32,
                    }));
                    self.labels.push(byte);
                    parents.push(node);
                    next.push(at..end);
                    at = end;
                }
                if self.labels.len() > MAX_NODES {
                    return Err(ErrorKind::TooLarge {
                        what: "vocabulary",
                        limit: MAX_NODES as u64,
                    }
                    .into());
                }
                node += 1;
            }
            level = next;
            depth += 1;
        }
        self.first.push(self.labels.len() as u32);
        Ok((tokens, parents))
    }

    fn build_root_table(&mut self) {
        self.from_root = vec![NONE; 256 * (self.continuing as usize + 1)];
        for root in BEGIN..=self.continuing {
            for child in self.children(root) {
                let byte = self.labels[child];
                self.from_root[root as usize * 256 + byte as usize] = child as u32;
            }
        }
    }

    /// Failure links and pops, by rising depth: a link always leads to a shallower node.
    fn build_links(&mut self, tokens: &[Option<Piece>], parents: &[u32]) {
        let n = self.labels.len();
        self.failure = vec![NONE; n];
        self.pops_of = vec![NONE; n];
        for node in (self.continuing as usize + 1)..n {
            if let Some(piece) = tokens[node] {
                self.failure[node] = self.continuing;
                self.pops_of[node] = self.add(Pops::One(piece));
                continue;
            }
            let parent = parents[node] as usize;
            let mut link = self.failure[parent];
            let mut pops = self.pops_of[parent];
            while link != NONE {
                if let Some(target) = self.child(link, self.labels[node]) {
                    self.failure[node] = target;
                    self.pops_of[node] = pops;
                    break;
                }
                // A root has no pops and no failure link: there the word cannot be segmented.
                let (next, more) = (self.failure[link as usize], self.pops_of[link as usize]);
                pops = match (pops, more) {
                    (NONE, only) | (only, NONE) => only,
                    (left, right) => self.add(Pops::Two(left, right)),
                };
                link = next;
            }
        }
    }

    fn add(&mut self, pops: Pops) -> u32 {
        self.pops.push(pops);
        (self.pops.len() - 1) as u32
    }

    fn children(&self, node: u32) -> Range<usize> {
        self.first[node as usize] as usize..self.first[node as usize + 1] as usize
    }

    #[inline]
    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        if node <= self.continuing {
            let child = self.from_root[node as usize * 256 + byte as usize];
            return (child != NONE).then_some(child);
        }
        let range = self.children(node);
        let labels = &self.labels[range.clone()];
        // Most nodes have one or two children; only those near the root have many.
        let at = if labels.len() <= 8 {
            labels.iter().position(|&label| label == byte)?
        } else {
            memchr::memchr(byte, labels)?
        };
        Some((range.start + at) as u32)
    }

    /// Calls `emit` with each token of a word, left to right; false if the word cannot be segmented
    /// (some tokens may have been emitted before that is known).
    #[inline]
    pub(crate) fn segment(
        &self,
        word: &[u8],
        stack: &mut PopStack,
        mut emit: impl FnMut(Piece),
    ) -> bool {
        if word.is_empty() {
            return true;
        }
        let mut node = BEGIN;
        for &byte in word {
            node = loop {
                if let Some(child) = self.child(node, byte) {
                    break child;
                }
                if !self.pop(&mut node, stack, &mut emit) {
                    return false;
                }
            };
        }
        while node != self.continuing {
            if !self.pop(&mut node, stack, &mut emit) {
                return false;
            }
        }
        true
    }

    /// Emits what a node knows and follows its failure link.
    #[inline]
    fn pop(&self, node: &mut u32, stack: &mut PopStack, emit: &mut impl FnMut(Piece)) -> bool {
        let link = self.failure[*node as usize];
        if link == NONE {
            return false;
        }
        let mut at = self.pops_of[*node as usize];
        *node = link;
        stack.clear();
        loop {
            match self.pops.get(at as usize) {
                Some(Pops::Two(left, right)) => {
                    stack.push(*right);
                    at = *left;
                    continue;
                }
                Some(Pops::One(piece)) => emit(*piece),
                None => {}
            }
            match stack.pop() {
                Some(next) => at = next,
                None => return true,
            }
        }
    }
}

fn sort_unique(keys: &mut Vec<(&[u8], u32)>) {
    keys.sort_by_key(|(text, _)| *text); // stable: the first of equals stays first
    keys.dedup_by_key(|(text, _)| *text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: the longest token at each place.
    fn naive(beginning: &[String], continuing: &[String], word: &str) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < word.len() {
            let set = if at == 0 { beginning } else { continuing };
            let (id, token) = set
                .iter()
                .enumerate()
                .filter(|(_, token)| !token.is_empty() && word[at..].starts_with(token.as_str()))
                .max_by_key(|(id, token)| (token.len(), usize::MAX - id))?;
            pieces.push(Piece {
                id: id as u32,
                bytes: token.len() as u32,
            });
            at += token.len();
        }
        Some(pieces)
    }

    fn fast(matcher: &LongestMatch, word: &str) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        matcher
            .segment(word.as_bytes(), &mut PopStack::new(), |piece| {
                pieces.push(piece);
            })
            .then_some(pieces)
    }

    fn pairs(tokens: &[String]) -> impl Iterator<Item = (&[u8], u32)> {
        tokens
            .iter()
            .zip(0..)
            .map(|(token, id)| (token.as_bytes(), id))
    }

    proptest! {
        #[test]
        fn two_sets_equal_the_naive_twin(
            beginning in prop::collection::vec("[abc]{0,7}", 0..12),
            continuing in prop::collection::vec("[abc]{0,7}", 0..16),
            words in prop::collection::vec("[abc]{0,30}", 1..20),
        ) {
            let matcher = LongestMatch::new(pairs(&beginning), Some(&mut pairs(&continuing))).unwrap();
            for word in words {
                prop_assert_eq!(fast(&matcher, &word), naive(&beginning, &continuing, &word), "{}", word);
            }
        }

        #[test]
        fn one_set_equals_the_naive_twin(
            tokens in prop::collection::vec("[abc]{1,6}", 0..16),
            words in prop::collection::vec("[abc]{0,30}", 1..20),
        ) {
            let matcher = LongestMatch::new(pairs(&tokens), None).unwrap();
            for word in words {
                prop_assert_eq!(fast(&matcher, &word), naive(&tokens, &tokens, &word), "{}", word);
            }
        }
    }

    #[test]
    fn a_search_that_runs_far_and_comes_back_costs_no_more() {
        // Every search would run 20,000 bytes ahead for the long token and come back with one "a".
        // A plain search would take two thousand million steps; here there is about one for each
        // byte.
        let long = format!("{}b", "a".repeat(20_000));
        let tokens = ["a".to_owned(), long.clone()];
        let matcher = LongestMatch::new(pairs(&tokens), None).unwrap();
        let text = format!("{}c{}", "a".repeat(100_000), long);
        assert_eq!(fast(&matcher, &text), None);
        let text = format!("{}{long}", "a".repeat(100_000));
        let pieces = fast(&matcher, &text).unwrap();
        assert_eq!(pieces.len(), 100_001);
        assert_eq!(
            pieces[100_000],
            Piece {
                id: 1,
                bytes: 20_001
            }
        );
    }
}
