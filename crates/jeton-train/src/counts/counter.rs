//! Counting with several threads, in bounded memory.
//!
//! Each thread has a table of its own from the first batch to the last, so that none waits for
//! another and no batch pays for adding tables up. Their common memory is shared out evenly; a
//! thread whose table is full empties it by itself. Sums do not depend on who counted what, so
//! results are the same with any number of threads.

use std::thread::ScopedJoinHandle;

use jeton_core::documents::batch::BatchRef;
use jeton_core::error::{Error, Result};

use super::job::{Done, Job, Weights};
use super::raw::raw_memory;
use super::splitting::{Drain, DrainFn, Splitting, Sums, Worker, too_large};
use super::table::Table;
use super::{PretokenCounts, Totals};

/// Counts in the making.
pub struct PretokenCounter {
    tables: Vec<Table>,
    totals: Totals,
    max_memory: usize,
    /// Bytes of memory that each thread has for raw words, which come out of that.
    raw_memory: usize,
    /// Something was subtracted, so that a count may be 0.
    has_zeros: bool,
}

impl PretokenCounter {
    /// Counts nothing yet. Its tables take at most `max_memory` bytes, or what one pretoken for
    /// each thread needs.
    pub fn new(max_memory: usize) -> Self {
        Self {
            tables: Vec::new(),
            totals: Totals::default(),
            max_memory,
            raw_memory: 0,
            has_zeros: false,
        }
    }

    /// Returns the totals counted so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the totals since the last call.
    pub fn take_totals(&mut self) -> Totals {
        std::mem::take(&mut self.totals)
    }

    /// Says what was counted, where that is known better elsewhere.
    pub fn set_totals(&mut self, totals: Totals) {
        self.totals = totals;
    }

    /// Goes on from counts; their totals are not taken over.
    pub fn from_counts(counts: PretokenCounts, max_memory: usize) -> Self {
        let mut table = counts.table;
        table.set_limit(max_memory);
        Self {
            tables: vec![table],
            totals: Totals::default(),
            max_memory,
            raw_memory: 0,
            has_zeros: false,
        }
    }

    /// Adds to the count of one pretoken; totals are the caller's business.
    pub fn add(&mut self, pretoken: &[u8], count: u64, drain: &DrainFn<'_>) -> Result<()> {
        self.make_tables(1, drain)?;
        while !self.tables[0].add(pretoken, 0, pretoken.len(), count)? {
            drain(Drain(&mut self.tables[0]))?;
        }
        Ok(())
    }

    /// Adds a pretoken unless there is no room for it: false then.
    pub fn try_add(&mut self, pretoken: &[u8], count: u64) -> Result<bool> {
        self.make_tables(1, &|_| Ok(()))?;
        self.tables[0].add(pretoken, 0, pretoken.len(), count)
    }

    /// Distinct pretokens, where one thread has counted all.
    pub fn n_distinct(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }

    /// Number of tables, one for each thread.
    pub fn n_tables(&self) -> usize {
        self.tables.len()
    }

    /// Bytes of memory that the tables take now.
    pub fn memory_bytes(&self) -> usize {
        self.tables.iter().map(Table::memory_bytes).sum()
    }

    /// Count the pretokens of every document of a batch, on up to `threads` threads.
    ///
    /// Threads are made for the call and end with it, so a process may fork between calls. `drain`
    /// takes what is in a full table, on whatever thread that is. After an error (of `drain`, of
    /// the splitter, `InvalidUtf8`, `TooLarge`, `Interrupted` where `keep_going` says no) part of
    /// the batch may be counted: drop the counts.
    pub fn count(
        &mut self,
        batch: BatchRef<'_>,
        weights: Weights<'_>,
        splitting: Splitting<'_>,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
        drain: &DrainFn<'_>,
    ) -> Result<()> {
        if let Weights::Each(each) = weights
            && each.len() != batch.len()
        {
            let (n, m) = (each.len(), batch.len());
            return Err(Error::usage(format!(
                "{n} weights for {m} documents; expected as many"
            )));
        }
        let job = Job::new(batch, weights, splitting)?;
        let threads = threads.clamp(1, job.n_tasks().max(1));
        let has_raw_words = job.steps().is_some_and(|steps| steps.raw_cuts().is_some());
        let raw_memory = if has_raw_words {
            raw_memory(self.max_memory / threads)
        } else {
            0
        };
        if raw_memory != self.raw_memory {
            self.raw_memory = raw_memory;
            self.set_limits(self.tables.len().max(threads), drain)?;
        }
        self.make_tables(threads, drain)?;
        let tables = &mut self.tables[..threads];
        let done = job.run(tables, raw_memory, keep_going, drain)?;
        let mut sums = done.sums;
        let mut totals = self.totals;
        totals.n_documents = totals
            .n_documents
            .checked_add(done.n_documents)
            .ok_or_else(|| too_large("the number of documents counted"))?;
        if !done.stretches.is_empty() {
            self.join_stretches(&job, &done.stretches, &mut sums, drain)?;
        }
        let sum = |a: u64, b: u64| {
            a.checked_add(b)
                .ok_or_else(|| too_large("the number of bytes counted"))
        };
        totals.n_pretokens = sum(totals.n_pretokens, sums.n_pretokens)?;
        totals.n_bytes = sum(totals.n_bytes, sums.n_bytes)?;
        self.totals = totals;
        Ok(())
    }

    fn make_tables(&mut self, threads: usize, drain: &DrainFn<'_>) -> Result<()> {
        if self.tables.len() >= threads {
            return Ok(());
        }
        self.tables.resize_with(threads, Table::default);
        self.set_limits(threads, drain)
    }

    /// Shares the memory out to `threads` threads.
    fn set_limits(&mut self, threads: usize, drain: &DrainFn<'_>) -> Result<()> {
        let limit = match self.max_memory {
            usize::MAX => usize::MAX,
            bytes => bytes / threads - self.raw_memory,
        };
        for table in &mut self.tables {
            table.set_limit(limit);
            if table.is_above_limit() {
                drain(Drain(table))?;
            }
        }
        Ok(())
    }

    /// Makes up for stretches that did not begin where the one before ended.
    fn join_stretches(
        &mut self,
        job: &Job<'_>,
        stretches: &[Done<'_>],
        sums: &mut Sums,
        drain: &DrainFn<'_>,
    ) -> Result<()> {
        let Some(steps) = job.steps() else {
            return Ok(());
        };
        let mut worker = Worker::new(&mut self.tables[0], 0, drain);
        let mut at = 0;
        for done in stretches {
            if done.from == 0 {
                at = done.end;
                continue;
            }
            if at == done.from {
                at = done.end;
                continue;
            }
            self.has_zeros = true;
            let text = done.text;
            let weight = job.weights.of(done.document);
            // Two cuttings: the right one, from the end of the stretch before, and the counted one.
            // The one that is behind goes on, until both are at the same place or the stretch ends.
            let (mut right, mut wrong) = (at, done.from);
            let pieces_from = |from: usize| {
                let rest = text.get(from..).unwrap_or_default();
                steps.pieces_of_text(rest).map(|pieces| (pieces, from))
            };
            let (Some((mut rights, right_base)), Some((mut wrongs, wrong_base))) =
                (pieces_from(right), pieces_from(wrong))
            else {
                return Ok(());
            };
            let (mut n_more, mut n_less) = (0_u64, 0_u64);
            while right != wrong {
                if right < wrong || wrong >= done.end {
                    let Some((start, end)) = rights.next().filter(|_| right < done.end) else {
                        break;
                    };
                    right = right_base + end;
                    n_more += 1;
                    worker.add(text.as_bytes(), right_base + start, right, weight)?;
                } else {
                    let Some((start, end)) = wrongs.next() else {
                        break;
                    };
                    wrong = wrong_base + end;
                    n_less += 1;
                    let less = weight.wrapping_neg();
                    worker.add(text.as_bytes(), wrong_base + start, wrong, less)?;
                }
            }
            at = if right == wrong { done.end } else { right };
            sums.add(n_more, 0, weight)?;
            sums.n_pretokens = sums
                .n_pretokens
                .saturating_sub(n_less.saturating_mul(weight));
        }
        Ok(())
    }

    /// Empties all tables.
    pub fn drain(&mut self, drain: &DrainFn<'_>) -> Result<()> {
        for table in &mut self.tables {
            if table.len() > 0 {
                drain(Drain(table))?;
            }
        }
        Ok(())
    }

    /// The counts that are in memory. Pairs of tables are added up at the same time, on as many
    /// threads as were used.
    pub fn finish(self) -> Result<PretokenCounts> {
        let mut tables = self.tables;
        for table in &mut tables {
            table.set_limit(usize::MAX);
        }
        while tables.len() > 1 {
            let mut halves = Vec::with_capacity(tables.len() / 2 + 1);
            let odd = if tables.len() % 2 == 1 {
                tables.pop()
            } else {
                None
            };
            std::thread::scope(|scope| {
                let mut joined = Vec::new();
                let mut pairs = tables.drain(..);
                while let (Some(mut one), Some(other)) = (pairs.next(), pairs.next()) {
                    joined.push(scope.spawn(move || {
                        if one.len() < other.len() {
                            let mut other = other;
                            other.merge(&one).map(|()| other)
                        } else {
                            one.merge(&other).map(|()| one)
                        }
                    }));
                }
                for pair in joined {
                    halves.push(joined_result(pair)?);
                }
                Ok::<(), Error>(())
            })?;
            halves.extend(odd);
            tables = halves;
        }
        let mut table = tables.pop().unwrap_or_default();
        if self.has_zeros {
            let mut without = Table::default();
            for (bytes, count) in table.iter().filter(|&(_, count)| count > 0) {
                without.add(bytes, 0, bytes.len(), count)?;
            }
            table = without;
        }
        Ok(PretokenCounts {
            table,
            totals: self.totals,
        })
    }
}

fn joined_result<T>(handle: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    match handle.join() {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}
