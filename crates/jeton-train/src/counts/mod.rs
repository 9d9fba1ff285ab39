//! Weighted pretokens: what every trainer starts from.
//!
//! - [`PretokenCounts`]: counts in memory, mergeable.
//! - [`PretokenCounter`]: makes them from text, with several threads and in bounded memory.
//! - `job`: a batch that is shared out among threads.
//! - `table`, `words`, `long`: where counts lie. A pretoken of up to 15 bytes takes 24 bytes at
//!   three quarters load. One of up to 31 takes 40, any other its bytes and 25.
//! - `raw`: words of raw text that are normalized and cut once for all of their occurrences.
//! - `splitting`: text to the pretokens that are counted, at the encoder's speed.
//!
//! Counts are u64 and checked. Counting is a sum, so threads, batches and machines may be merged in
//! any order; [`PretokenCounts::iter_sorted`] has a total order, so nothing later depends on how
//! the counts came about.
//!
//! Cost: one hash and, mostly, one comparison for each pretoken; distinct pretokens grow like
//! `3.45 * n_bytes^0.62` in English web text, so 1 GB of it needs about 45 MB.

mod counter;
mod job;
mod long;
mod raw;
mod splitting;
mod table;
mod words;

pub use counter::PretokenCounter;
pub use job::Weights;
pub use splitting::{Drain, DrainFn, SplitFn, Splitting};

use jeton_core::documents::batch::BatchRef;
use jeton_core::error::Result;

use self::splitting::too_large;
use self::table::Table;

/// Totals of a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents, also empty ones, but without documents of weight 0.
    pub n_documents: u64,
    /// Pretokens, with their weights.
    pub n_pretokens: u64,
    /// Bytes of all pretokens, with their weights.
    pub n_bytes: u64,
}

impl Totals {
    /// Adds others.
    ///
    /// Errors: `TooLarge` if one would pass `u64::MAX`.
    pub fn plus(self, other: Self) -> Result<Self> {
        let sum = |a: u64, b: u64, what| a.checked_add(b).ok_or_else(|| too_large(what));
        Ok(Self {
            n_documents: sum(
                self.n_documents,
                other.n_documents,
                "the number of documents counted",
            )?,
            n_pretokens: sum(
                self.n_pretokens,
                other.n_pretokens,
                "the number of pretokens counted",
            )?,
            n_bytes: sum(self.n_bytes, other.n_bytes, "the number of bytes counted")?,
        })
    }

    /// Returns the totals with all but the documents multiplied by `weight`.
    pub fn times(self, weight: u64) -> Result<Self> {
        let times = |n: u64| {
            n.checked_mul(weight)
                .ok_or_else(|| too_large("the number of bytes counted"))
        };
        Ok(Self {
            n_documents: self.n_documents,
            n_pretokens: times(self.n_pretokens)?,
            n_bytes: times(self.n_bytes)?,
        })
    }
}

/// Pretokens with how often each occurs. Mergeable.
#[derive(Clone, Debug, Default)]
pub struct PretokenCounts {
    table: Table,
    totals: Totals,
}

/// Pretokens beyond a length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongPretokens {
    /// Distinct ones.
    pub n_distinct: u64,
    /// The sum of their counts.
    pub n_pretokens: u64,
}

impl PretokenCounts {
    /// No counts yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Count `pretoken` `weight` times more. An empty pretoken and a weight of 0 count nothing.
    ///
    /// Errors: `TooLarge` if a total would pass `u64::MAX`; the counts are then as before.
    #[inline]
    pub fn add(&mut self, pretoken: &[u8], weight: u64) -> Result<()> {
        if pretoken.is_empty() || weight == 0 {
            return Ok(());
        }
        // No count can pass its sum, so this check covers the counts too.
        let more = Totals {
            n_documents: 0,
            n_pretokens: 1,
            n_bytes: pretoken.len() as u64,
        };
        let totals = self.totals.plus(more.times(weight)?)?;
        self.table.add(pretoken, 0, pretoken.len(), weight)?;
        self.totals = totals;
        Ok(())
    }

    /// Add documents to the number of those counted, whose pretokens were added one by one.
    ///
    /// Errors: `TooLarge` if there are more than `u64::MAX`.
    pub fn add_documents(&mut self, n_documents: u64) -> Result<()> {
        let more = Totals {
            n_documents,
            ..Totals::default()
        };
        self.totals = self.totals.plus(more)?;
        Ok(())
    }

    /// Add the counts of `other`.
    ///
    /// Errors: `TooLarge` if a total would pass `u64::MAX`; the counts are then as before.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let totals = self.totals.plus(other.totals)?;
        self.table.merge(&other.table)?;
        self.totals = totals;
        Ok(())
    }

    /// Count the pretokens of every document of a batch, on up to `num_threads` threads. For many
    /// batches use a [`PretokenCounter`], which adds its threads' counts up once.
    ///
    /// The result does not depend on `num_threads`. After an error (of the splitter, `InvalidUtf8`,
    /// `TooLarge`) nothing of the batch is counted.
    pub fn count_batch(
        &mut self,
        batch: BatchRef<'_>,
        splitter: &SplitFn<'_>,
        num_threads: usize,
    ) -> Result<()> {
        let mut counter = PretokenCounter::new(usize::MAX);
        let splitting = Splitting::Function(splitter);
        counter.count(
            batch,
            Weights::All(1),
            splitting,
            num_threads,
            &mut || true,
            &|_| Ok(()),
        )?;
        self.merge(&counter.finish()?)
    }

    /// Distinct pretokens with their counts, in no meaningful order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.table.iter()
    }

    /// Distinct pretokens with their counts, by falling count, then by rising bytes.
    pub fn iter_sorted(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        let mut pretokens: Vec<_> = self.iter().collect();
        pretokens.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        pretokens.into_iter()
    }

    /// Distinct pretokens with their counts, by rising bytes.
    pub fn iter_by_bytes(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        let mut pretokens: Vec<_> = self.iter().collect();
        pretokens.sort_unstable_by(|a, b| a.0.cmp(b.0));
        pretokens.into_iter()
    }

    /// How often a pretoken was counted.
    pub fn get(&self, pretoken: &[u8]) -> u64 {
        self.table.get(pretoken)
    }

    /// Number of distinct pretokens.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// Returns the totals.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Documents counted, empty ones too.
    pub fn n_documents(&self) -> u64 {
        self.totals.n_documents
    }

    /// Bytes of all pretokens counted, with their weights.
    pub fn n_bytes(&self) -> u64 {
        self.totals.n_bytes
    }

    /// Pretokens counted, with their weights.
    pub fn n_pretokens(&self) -> u64 {
        self.totals.n_pretokens
    }

    /// Returns how many pretokens are longer than `n_bytes` bytes.
    pub fn longer_than(&self, n_bytes: usize) -> LongPretokens {
        let mut found = LongPretokens::default();
        for (_, count) in self.iter().filter(|(bytes, _)| bytes.len() > n_bytes) {
            found.n_distinct += 1;
            found.n_pretokens += count;
        }
        found
    }

    /// Bytes of memory that the counts take.
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    /// Bytes of the distinct pretokens, each once.
    pub(crate) fn n_distinct_bytes(&self) -> usize {
        self.table.n_distinct_bytes()
    }
}

#[cfg(test)]
mod tests;
