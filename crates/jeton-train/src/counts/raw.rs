//! Raw words that wait to be normalized and cut: each distinct one is, once for all of its
//! occurrences.
//!
//! Normalizing and cutting 100 MB of English as BERT does took 1.6 s on two cores, this way 0.55 s
//! (2026-11-22). The raw text may have known places where they start afresh ([`RawCuts`]). Then the
//! words between these places are counted as they are. The pretokens of each word are counted as
//! often as the word, when a call ends or the words fill their memory.

use super::splitting::{BATCH_PRETOKENS, Drain, Looked, Sums, Worker};
use super::table::{MediumWords, Table};
use crate::cutting::Steps;
use jeton_core::cache::key::Key;
use jeton_core::error::Result;
use jeton_core::raw_words::RawCuts;

/// Bytes of memory that the raw words of a thread take at most: more would lie outside of most
/// caches.
const MAX_RAW_BYTES: usize = 4 << 20;
/// With less than that they are not worth their while.
const MIN_RAW_BYTES: usize = 1 << 17;

/// Returns the share of the memory that a thread's raw words may take.
pub(super) fn raw_memory(max_memory: usize) -> usize {
    match (max_memory / 8).min(MAX_RAW_BYTES) {
        MIN_RAW_BYTES.. => (max_memory / 8).min(MAX_RAW_BYTES),
        _ => 0,
    }
}

/// The raw words of one thread.
pub(super) struct RawCounts {
    table: Option<Table>,
    max_memory: usize,
    /// Bytes of the texts that they are of, with weights: what no count can pass.
    most: Sums,
    /// Sums so far.
    sums: Sums,
}

impl RawCounts {
    /// Takes at most `max_memory` bytes; 0: counts none.
    pub(super) fn new(max_memory: usize) -> Self {
        Self {
            table: None,
            max_memory,
            most: Sums::default(),
            sums: Sums::default(),
        }
    }
}

impl Worker<'_> {
    /// Counts the raw words of a text; says whether it did.
    pub(super) fn count_raw(&mut self, text: &str, steps: &Steps, weight: u64) -> Result<bool> {
        let Some(cuts) = steps.raw_cuts().filter(|_| self.raw.max_memory > 0) else {
            return Ok(false);
        };
        let n_bytes = text.len() as u64;
        if self.raw.most.add(0, n_bytes, weight).is_err() {
            self.take_raw(steps)?;
            if self.raw.most.add(0, n_bytes, weight).is_err() {
                return Ok(false);
            }
        }
        let max_memory = self.raw.max_memory;
        let table = self.raw.table.take();
        let mut table = table.unwrap_or_else(|| Table::with_limit(max_memory));
        let outcome = self.add_raw(&mut table, text, (steps, cuts), weight);
        self.raw.table = Some(table);
        outcome.map(|()| true)
    }

    fn add_raw(
        &mut self,
        table: &mut Table,
        text: &str,
        (steps, cuts): (&Steps, &RawCuts),
        weight: u64,
    ) -> Result<()> {
        let bytes = text.as_bytes();
        let mut looked: Looked = [(Key::NONE, 0); BATCH_PRETOKENS];
        cuts.each(text, &mut |starts, ends| {
            for (starts, ends) in starts
                .chunks(BATCH_PRETOKENS)
                .zip(ends.chunks(BATCH_PRETOKENS))
            {
                let is_long = |(start, end): (&usize, &usize)| end - start > MediumWords::MAX_BYTES;
                if !starts.iter().zip(ends).any(is_long) {
                    table.add_words(bytes, (starts, ends), weight, &mut looked, &mut |table| {
                        self.take(table, steps)
                    })?;
                    continue;
                }
                for (&start, &end) in starts.iter().zip(ends) {
                    let word = &text[start..end];
                    let mut add = |part: &str| {
                        if part.len() > MediumWords::MAX_BYTES {
                            return self.take_word(part, steps, weight);
                        }
                        let part = part.as_bytes();
                        table.add_whatever(part, 0, part.len(), weight, &mut |table| {
                            self.take(table, steps)
                        })
                    };
                    if word.len() > MediumWords::MAX_BYTES && cuts.has_parts(word) {
                        cuts.parts(word, &mut add)?;
                    } else {
                        add(word)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Counts what becomes of all raw words; returns the pretokens and bytes since this was asked
    /// for last.
    pub(super) fn end(&mut self, steps: Option<&Steps>) -> Result<Sums> {
        if let Some(steps) = steps {
            self.take_raw(steps)?;
        }
        Ok(std::mem::take(&mut self.raw.sums))
    }

    fn take_raw(&mut self, steps: &Steps) -> Result<()> {
        if let Some(mut table) = self.raw.table.take() {
            let outcome = self.take(&mut table, steps);
            self.raw.table = Some(table);
            outcome?;
        }
        self.raw.most = Sums::default();
        Ok(())
    }

    /// Counts what becomes of the words in a table, and empties it.
    fn take(&mut self, table: &mut Table, steps: &Steps) -> Result<()> {
        let mut pretoken = String::new();
        for (word, count) in table.iter() {
            let is_known = steps
                .raw_cuts()
                .is_some_and(|cuts| cuts.pretoken(word, &mut pretoken));
            if is_known {
                let bytes = pretoken.as_bytes();
                self.raw.sums.add(1, bytes.len() as u64, count)?;
                let drain = self.drain;
                self.table
                    .add_whatever(bytes, 0, bytes.len(), count, &mut |t| drain(Drain(t)))?;
            } else {
                let word = str::from_utf8(word).unwrap_or_default();
                self.take_word(word, steps, count)?;
            }
        }
        table.clear();
        Ok(())
    }

    fn take_word(&mut self, word: &str, steps: &Steps, count: u64) -> Result<()> {
        let (n_pretokens, n_bytes) = self.count_steps(word, steps, count)?;
        self.raw.sums.add(n_pretokens, n_bytes, count)
    }
}
