//! Merges of a list, by their left token: what is read from a file, and what a few words can be
//! merged with before there is a table of pairs.
//!
//! The pairs of one left token lie together, sorted by the right one. They take 12 bytes a pair and
//! 4 a token, a fifth of the table, and are quickly made or read. A lookup is a binary search among
//! the few pairs of a token.

use super::pairs::{Merge, NO_MERGE, PairTable};
use crate::error::{Error, Result};
use crate::vocab::Vocab;

/// Rank and token of a pair with a given left token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListedPair {
    pub(crate) right: u32,
    pub(crate) rank: u32,
    pub(crate) merged: u32,
}

/// The pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Where the pairs of each left token begin, and where the last ones end.
    starts: Vec<u32>,
    pairs: Vec<ListedPair>,
}

/// The length of what is no token: no sum of lengths is so large.
const NO_LENGTH: u32 = 1 << 31;

impl Listed {
    /// The listed pairs; the place in the list is the rank. The last entry of a repeated pair
    /// counts, as in `tokenizers`.
    ///
    /// Fails where a pair's concatenation is no token.
    pub(crate) fn new(vocab: &Vocab, list: &[(u32, u32)], prefix_bytes: usize) -> Result<Self> {
        if u32::try_from(list.len()).is_err() {
            return Err(Error::format("BPE model", "too many merges"));
        }
        let n_ids = vocab.size() as usize;
        let mut starts = vec![0u32; n_ids + 1];
        let mut merged_ids = Vec::with_capacity(list.len());
        let mut concatenation = Vec::new();
        let unique = vocab.is_unique();
        // Files list merges in the order of the tokens that they make: the next one is tried first.
        let mut next = 0;
        for (rank, &(left, right)) in list.iter().enumerate() {
            let [left_bytes, right_bytes] = pair_bytes(vocab, rank, left, right, prefix_bytes)?;
            let is_next = unique
                && vocab.is_findable(next)
                && vocab.id_to_bytes(next).is_some_and(|token| {
                    token.len() == left_bytes.len() + right_bytes.len()
                        && token.starts_with(left_bytes)
                        && token.ends_with(right_bytes)
                });
            let merged = if is_next {
                next
            } else {
                concatenation.clear();
                concatenation.extend_from_slice(left_bytes);
                concatenation.extend_from_slice(right_bytes);
                vocab.bytes_to_id(&concatenation).ok_or_else(|| {
                    let token = String::from_utf8_lossy(&concatenation).into_owned();
                    Error::format(
                        "BPE model",
                        format!("merge {rank} makes {token:?}, which is not in the vocabulary"),
                    )
                })?
            };
            next = merged + 1;
            merged_ids.push(merged);
            starts[left as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let none = ListedPair {
            right: 0,
            rank: 0,
            merged: 0,
        };
        let mut pairs = vec![none; list.len()];
        let mut free = starts.clone();
        for (rank, (&(left, right), merged)) in (0..).zip(list.iter().zip(merged_ids)) {
            let at = &mut free[left as usize];
            pairs[*at as usize] = ListedPair {
                right,
                rank,
                merged,
            };
            *at += 1;
        }
        let mut all = Self { starts, pairs };
        all.sort();
        Ok(all)
    }

    /// Sorts the pairs of each left token, and drops repeated pairs.
    fn sort(&mut self) {
        let mut repeated = false;
        for range in self.starts.windows(2) {
            let pairs = &mut self.pairs[range[0] as usize..range[1] as usize];
            if pairs.len() > 1 {
                pairs.sort_unstable_by_key(|pair| (pair.right, pair.rank));
                repeated |= pairs.windows(2).any(|two| two[0].right == two[1].right);
            }
        }
        if !repeated {
            return;
        }
        let mut kept = Vec::with_capacity(self.pairs.len());
        let mut from = 0;
        for end in &mut self.starts[1..] {
            let pairs = &self.pairs[from..*end as usize];
            from = *end as usize;
            let is_last = |at: usize| pairs.get(at + 1).is_none_or(|n| n.right != pairs[at].right);
            kept.extend(
                (0..pairs.len())
                    .filter(|&at| is_last(at))
                    .map(|at| pairs[at]),
            );
            *end = kept.len() as u32;
        }
        self.pairs = kept;
    }

    /// Pairs as they were written, if they can be used: every place, id and length is checked.
    pub(crate) fn from_raw(
        starts: Vec<u32>,
        pairs: Vec<ListedPair>,
        vocab: &Vocab,
    ) -> Option<Self> {
        let n_ids = vocab.size();
        let whole = starts.len() == n_ids as usize + 1
            && starts.first() == Some(&0)
            && starts.last().map(|&end| end as usize) == Some(pairs.len())
            && starts.is_sorted();
        // A list that fits into a core's own cache: two of three lookups are anywhere in it.
        let length = |id: u32| {
            vocab
                .id_to_bytes(id)
                .map_or(NO_LENGTH, |token| token.len() as u32)
        };
        let lengths: Vec<u32> = (0..n_ids).map(length).collect();
        let length = |id: u32| lengths.get(id as usize).copied().unwrap_or(NO_LENGTH);
        let fits = |left: u32, pair: &ListedPair| {
            let (left, right, both) = (length(left), length(pair.right), length(pair.merged));
            (left | right | both) < NO_LENGTH && left + right == both
        };
        let usable = whole
            && (0..).zip(starts.windows(2)).all(|(left, range)| {
                let pairs = &pairs[range[0] as usize..range[1] as usize];
                pairs.is_sorted_by(|a, b| a.right < b.right)
                    && pairs.iter().all(|pair| fits(left, pair))
            });
        usable.then_some(Self { starts, pairs })
    }

    /// Returns the list for a vocabulary that got more ids, which merge with nothing.
    pub(crate) fn cover(&mut self, n_ids: u32) {
        let end = self.pairs.len() as u32;
        let n_starts = self.starts.len().max(n_ids as usize + 1);
        self.starts.resize(n_starts, end);
    }

    pub(crate) fn raw(&self) -> (&[u32], &[ListedPair]) {
        (&self.starts, &self.pairs)
    }

    /// How a pair merges; [`NO_MERGE`] if it does not.
    pub(crate) fn get(&self, left: u32, right: u32) -> Merge {
        let Some(&[start, end]) = self
            .starts
            .get(left as usize..)
            .and_then(|s| s.first_chunk())
        else {
            return NO_MERGE;
        };
        let pairs = &self.pairs[start as usize..end as usize];
        match pairs.binary_search_by_key(&right, |pair| pair.right) {
            Ok(at) => u64::from(pairs[at].rank) << 32 | u64::from(pairs[at].merged),
            Err(_) => NO_MERGE,
        }
    }

    /// All pairs, with how they merge.
    fn iter(&self) -> impl Iterator<Item = (u32, &ListedPair)> {
        (0..).zip(self.starts.windows(2)).flat_map(|(left, range)| {
            let pairs = &self.pairs[range[0] as usize..range[1] as usize];
            pairs.iter().map(move |pair| (left, pair))
        })
    }

    /// The table of pairs.
    pub(crate) fn table(&self) -> PairTable {
        let mut table = PairTable::with_capacity(self.pairs.len());
        for (left, pair) in self.iter() {
            let merge = u64::from(pair.rank) << 32 | u64::from(pair.merged);
            table.insert(left, pair.right, merge);
        }
        table
    }

    /// All pairs by rising rank.
    pub(crate) fn by_rank(&self) -> Vec<(u32, u32)> {
        let all = self.merges().into_iter();
        all.map(|(left, right, _)| (left, right)).collect()
    }

    /// Returns the pairs by rank, each with the token that it makes.
    pub(super) fn merges(&self) -> Vec<(u32, u32, u32)> {
        let mut all: Vec<_> = self
            .iter()
            .map(|(left, pair)| (pair.rank, left, pair.right, pair.merged))
            .collect();
        all.sort_unstable();
        all.into_iter()
            .map(|(_, left, right, merged)| (left, right, merged))
            .collect()
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }
}

/// The bytes of the two of a pair. The first `prefix_bytes` bytes of the right one are left out,
/// whatever they are.
fn pair_bytes(
    vocab: &Vocab,
    rank: usize,
    left: u32,
    right: u32,
    prefix_bytes: usize,
) -> Result<[&[u8]; 2]> {
    let bytes = |id: u32| {
        vocab.id_to_bytes(id).ok_or_else(|| {
            Error::format(
                "BPE model",
                format!("merge {rank} names id {id}, which has no token"),
            )
        })
    };
    let right = bytes(right)?.get(prefix_bytes..).ok_or_else(|| {
        Error::format(
            "BPE model",
            format!(
                "the right token of merge {rank} is shorter than the prefix of continuing tokens"
            ),
        )
    })?;
    Ok([bytes(left)?, right])
}
