//! The table of pairs that may merge: (left id, right id) -> (rank, merged id).
//!
//! Open addressing with linear probing over 16-byte entries, at most half full. A lookup reads one
//! cache line in nearly all cases, and one probe rejects a pair that cannot merge.
//!
//! Most pairs that are asked for cannot merge, and that one cache line is not in a cache that is
//! near: some megabytes are. So a byte for each id is looked at first: it tells whether the id is
//! ever a left or a right side. Bytes of characters without a token never are. Then comes a bit of
//! a filter a sixteenth as large.

use crate::error::{Error, Result};
use crate::vocab::Vocab;

const EMPTY: u64 = u64::MAX;

const LEFT: u8 = 1;
const RIGHT: u8 = 2;

/// Rank and merged id in one word, rank high: the smaller word is the merge that comes first.
pub(crate) type Merge = u64;

/// The word of a pair that cannot merge, larger than any real merge.
pub(crate) const NO_MERGE: Merge = u64::MAX;

/// Answers how pairs merge.
pub(crate) trait Pairs {
    /// How a pair merges; [`NO_MERGE`] if it does not.
    fn get(&self, left: u32, right: u32) -> Merge;
    /// Every rank is below this.
    fn n_ranks(&self) -> usize;
}

#[derive(Debug)]
pub(crate) struct PairTable {
    entries: Vec<(u64, Merge)>,
    /// For each id up to the largest in a pair, in which places of a pair it is.
    places: Vec<u8>,
    /// Eight bits for each entry; the bits of pairs that merge are set.
    filter: Vec<u64>,
    shift: u32,
    n_ranks: usize,
}

/// Bits of the filter for each entry of the table: a power of two.
const FILTER_BITS: usize = 8;

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl PairTable {
    pub(crate) fn with_capacity(pairs: usize) -> Self {
        let size = (pairs * 2).next_power_of_two().max(16);
        Self {
            entries: vec![(EMPTY, NO_MERGE); size],
            places: Vec::new(),
            filter: vec![0; size * FILTER_BITS / 64],
            shift: 64 - size.trailing_zeros(),
            n_ranks: 0,
        }
    }

    /// Every way to cut a token in two tokens is a pair that merges into it.
    pub(crate) fn from_ranks(vocab: &Vocab) -> Self {
        let mut pairs = Vec::with_capacity(vocab.n_tokens() as usize * 3);
        for (id, bytes) in vocab.iter().filter(|&(id, _)| vocab.is_findable(id)) {
            for cut in 1..bytes.len() {
                if let Some(left) = vocab.bytes_to_id(&bytes[..cut])
                    && let Some(right) = vocab.bytes_to_id(&bytes[cut..])
                {
                    pairs.push((left, right, id));
                }
            }
        }
        let mut table = Self::with_capacity(pairs.len());
        for (left, right, id) in pairs {
            table.insert(left, right, u64::from(id) << 32 | u64::from(id));
        }
        table
    }

    /// The listed pairs; the place in the list is the rank. The last entry of a repeated pair
    /// counts, as in `tokenizers`.
    #[cfg(test)]
    pub(crate) fn from_list(vocab: &Vocab, list: &[(u32, u32)]) -> Result<Self> {
        Self::from_prefixed_list(vocab, list, 0)
    }

    /// Builds the table of a list whose continuing tokens begin with a prefix. The first
    /// `prefix_bytes` of each right token are left out, as in `tokenizers`.
    pub(crate) fn from_prefixed_list(
        vocab: &Vocab,
        list: &[(u32, u32)],
        prefix_bytes: usize,
    ) -> Result<Self> {
        let mut table = Self::with_capacity(list.len());
        let merged = listed(vocab, list, prefix_bytes)?;
        for (rank, (&(left, right), id)) in list.iter().zip(merged).enumerate() {
            table.insert(left, right, (rank as u64) << 32 | u64::from(id));
        }
        Ok(table)
    }

    /// Where a pair's bit of the filter is; the place of its entry is that divided by the bits for
    /// each.
    #[inline]
    fn bit(&self, key: u64) -> usize {
        // Fibonacci hashing: the high bits of the product depend on all bits of the key.
        let folded = (key ^ (key >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (folded >> (self.shift - FILTER_BITS.trailing_zeros())) as usize
    }

    /// True if an id is in such a place of some pair.
    #[inline]
    fn is_in(&self, id: u32, place: u8) -> bool {
        self.places
            .get(id as usize)
            .is_some_and(|places| places & place != 0)
    }

    pub(crate) fn insert(&mut self, left: u32, right: u32, merge: Merge) {
        let key = key(left, right);
        let mask = self.entries.len() - 1;
        let bit = self.bit(key);
        self.filter[bit / 64] |= 1 << (bit % 64);
        for (id, place) in [(left, LEFT), (right, RIGHT)] {
            let id = id as usize;
            if self.places.len() <= id {
                self.places.resize(id + 1, 0);
            }
            self.places[id] |= place;
        }
        let mut slot = bit / FILTER_BITS;
        while self.entries[slot].0 != EMPTY && self.entries[slot].0 != key {
            slot = (slot + 1) & mask;
        }
        self.entries[slot] = (key, merge);
        self.n_ranks = self.n_ranks.max((merge >> 32) as usize + 1);
    }

    /// All pairs by rising rank.
    pub(crate) fn by_rank(&self) -> Vec<(u32, u32)> {
        let mut all: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.0 != EMPTY)
            .collect();
        all.sort_unstable_by_key(|entry| entry.1);
        all.iter()
            .map(|entry| ((entry.0 >> 32) as u32, entry.0 as u32))
            .collect()
    }
}

impl Pairs for PairTable {
    fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    #[inline]
    fn get(&self, left: u32, right: u32) -> Merge {
        if !self.is_in(left, LEFT) || !self.is_in(right, RIGHT) {
            return NO_MERGE;
        }
        let key = key(left, right);
        let bit = self.bit(key);
        if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
            return NO_MERGE;
        }
        let mask = self.entries.len() - 1;
        let mut slot = bit / FILTER_BITS;
        loop {
            let (found, merge) = self.entries[slot & mask];
            if found == key {
                return merge;
            }
            if found == EMPTY {
                return NO_MERGE;
            }
            slot += 1;
        }
    }
}

/// Returns the token that each pair of a list makes. The first `prefix_bytes` of each right token
/// are left out.
pub(super) fn listed(vocab: &Vocab, list: &[(u32, u32)], prefix_bytes: usize) -> Result<Vec<u32>> {
    let mut concatenation = Vec::new();
    let mut make = |rank: usize, left: u32, right: u32| {
        concatenation.clear();
        for (id, skipped) in [(left, 0), (right, prefix_bytes)] {
            let bytes = vocab.id_to_bytes(id).ok_or_else(|| {
                Error::format(
                    "BPE model",
                    format!("merge {rank} names id {id}, which has no token"),
                )
            })?;
            let bytes = bytes.get(skipped..).ok_or_else(|| {
                Error::format(
                    "BPE model",
                    format!("the right token of merge {rank} is shorter than the prefix of continuing tokens"),
                )
            })?;
            concatenation.extend_from_slice(bytes);
        }
        vocab.bytes_to_id(&concatenation).ok_or_else(|| {
            let token = String::from_utf8_lossy(&concatenation).into_owned();
            Error::format(
                "BPE model",
                format!("merge {rank} makes {token:?}, which is not in the vocabulary"),
            )
        })
    };
    list.iter()
        .enumerate()
        .map(|(rank, &(left, right))| make(rank, left, right))
        .collect()
}
