//! Exact counts of frequent pairs of neighbouring tokens, in bounded memory.
//!
//! If there are more distinct pairs than memory holds, a first look over all words adds them up in
//! *buckets*, several pairs to each. A bucket's sum is no less than the count of any of its pairs.
//! A second look counts those exactly whose buckets have enough. Buckets alone would not do: two
//! frequent pairs that share one would look more frequent than every pair is, and part no word.

use hashbrown::HashMap;

use jeton_core::error::{ErrorKind, Result};
use jeton_core::vocab::hasher;

/// Approximate memory of a pair in a table that may have just grown. A place takes 17 bytes, and
/// there are up to three and a half times as many places while all move.
const BYTES_PER_PAIR: usize = 64;

/// Counts of pairs; a missing pair occurs less often than `least`.
pub(super) struct PairCounts {
    counts: HashMap<u64, u64, foldhash::fast::FixedState>,
    most_pairs: usize,
    least: u64,
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

fn add_to(sum: &mut u64, count: u64) -> Result<()> {
    *sum = sum.checked_add(count).ok_or(ErrorKind::TooLarge {
        what: "the number of pairs of tokens in the text",
        limit: u64::MAX,
    })?;
    Ok(())
}

impl PairCounts {
    /// No counts yet, in at most `bytes` bytes, or what two pairs need. Pairs that occur less often
    /// than `least` may be missing.
    pub(super) fn new(bytes: usize, least: u64) -> Self {
        Self {
            counts: HashMap::with_hasher(hasher()),
            most_pairs: (bytes / BYTES_PER_PAIR).max(2),
            least,
        }
    }

    /// Adds to the count of a pair, whatever others there are. Returns true if it found room.
    #[inline]
    pub(super) fn add(&mut self, left: u32, right: u32, count: u64) -> Result<bool> {
        let is_full = self.counts.len() >= self.most_pairs;
        match self.counts.entry(key(left, right)) {
            hashbrown::hash_map::Entry::Occupied(mut known) => add_to(known.get_mut(), count)?,
            hashbrown::hash_map::Entry::Vacant(_) if is_full => return Ok(false),
            hashbrown::hash_map::Entry::Vacant(free) => {
                free.insert(count);
            }
        }
        Ok(true)
    }

    /// Adds to a pair, unless its bucket says that it occurs less often than `least`. That limit
    /// rises where there is no room: a pair that stays was there from its first place on.
    #[inline]
    pub(super) fn add_if(
        &mut self,
        left: u32,
        right: u32,
        count: u64,
        buckets: &PairBuckets,
    ) -> Result<()> {
        while buckets.at_most(key(left, right)) >= self.least {
            if self.add(left, right, count)? {
                return Ok(());
            }
            self.raise(buckets);
        }
        Ok(())
    }

    /// Forgets half of the pairs: those whose buckets have least.
    #[cold]
    fn raise(&mut self, buckets: &PairBuckets) {
        let mut sums: Vec<u64> = self
            .counts
            .keys()
            .map(|&key| buckets.at_most(key))
            .collect();
        let middle = sums.len() / 2;
        let (_, &mut median, _) = sums.select_nth_unstable(middle);
        self.least = median.max(self.least.saturating_add(1));
        let least = self.least;
        self.counts.retain(|&key, _| buckets.at_most(key) >= least);
    }

    /// The count of a pair; 0 for one that occurs less often than [`Self::least`], perhaps.
    #[inline]
    pub(super) fn get(&self, left: u32, right: u32) -> u64 {
        let count = self.counts.get(&key(left, right));
        count.copied().unwrap_or(0)
    }

    /// The largest count.
    pub(super) fn most(&self) -> u64 {
        self.counts.values().copied().max().unwrap_or(0)
    }

    /// Pairs that are not there occur less often than this.
    pub(super) fn least(&self) -> u64 {
        self.least
    }
}

/// Upper bounds for the counts of pairs: sums over pairs that share a bucket, in each of two rows
/// that mix them differently (a count-min sketch; Cormode and Muthukrishnan 2005, J. Algorithms
/// 55). Pairs that share both are few.
pub(super) struct PairBuckets {
    rows: [Vec<u64>; 2],
    shift: u32,
}

impl PairBuckets {
    /// Builds rows of `bytes` bytes, or fewer; at least two buckets in each row.
    pub(super) fn new(bytes: usize) -> Self {
        let bits = (bytes / 16).max(2).ilog2();
        Self {
            rows: [vec![0; 1 << bits], vec![0; 1 << bits]],
            shift: 64 - bits,
        }
    }

    /// The buckets of a pair, one in each row.
    #[inline]
    fn buckets(&self, key: u64) -> [usize; 2] {
        let mixed = (key ^ (key >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = mixed ^ (mixed >> 31);
        [0xD6E8_FEB8_6659_FD93, 0xCA5A_8263_9512_1157_u64]
            .map(|row| (mixed.wrapping_mul(row) >> self.shift) as usize)
    }

    #[inline]
    pub(super) fn add(&mut self, left: u32, right: u32, count: u64) -> Result<()> {
        let buckets = self.buckets(key(left, right));
        for (row, bucket) in self.rows.iter_mut().zip(buckets) {
            add_to(&mut row[bucket], count)?;
        }
        Ok(())
    }

    /// No pair occurs more often than this.
    #[inline]
    fn at_most(&self, key: u64) -> u64 {
        let [first, second] = self.buckets(key);
        self.rows[0][first].min(self.rows[1][second])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pairs in the table are exact, and pairs that are missing occur less often than the
        /// limit.
        #[test]
        fn frequent_pairs_are_counted_exactly(
            pairs in prop::collection::vec((0..12_u32, 0..12_u32, 1..9_u64), 1..400),
            n_pairs in 1..60_usize,
            n_buckets in 1..60_usize,
            least in 1..20_u64,
        ) {
            let mut expected: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            let mut buckets = PairBuckets::new(n_buckets * 16);
            for &(left, right, count) in &pairs {
                *expected.entry((left, right)).or_default() += count;
                buckets.add(left, right, count).unwrap();
            }
            let mut found = PairCounts::new(n_pairs * BYTES_PER_PAIR, least);
            for &(left, right, count) in &pairs {
                found.add_if(left, right, count, &buckets).unwrap();
            }
            prop_assert!(found.counts.len() <= n_pairs.max(2));
            for (&(left, right), &count) in &expected {
                let said = found.get(left, right);
                prop_assert!(said == count || said == 0 && count < found.least());
            }
            prop_assert!(found.most() <= expected.values().copied().max().unwrap_or(0));
        }
    }
}
