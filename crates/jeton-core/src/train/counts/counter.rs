//! Counting with several threads, in bounded memory.
//!
//! Each thread has a table of its own from the first batch to the last, so that none waits for another and no batch
//! pays for adding tables up. What all of them may take is shared out evenly; a thread whose table is full empties it
//! by itself. Sums do not depend on who counted what, so results are the same with any number of threads.
//!
//! A long text is cut into stretches at places where a pretoken probably ends. Where it turns out not to (the stretch
//! before did not end exactly there), what the two counted differently is added and subtracted until they meet: guesses
//! cost time, never counts. Counts are modulo 2^64 for that, and no sum of a corpus passes it (that is checked).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use crate::batch::BatchRef;
use crate::code_points::floor_boundary;
use crate::error::{Error, ErrorKind, Result};
use crate::pretokenize::PreTokenizer;

use super::splitting::{Drain, DrainFn, Splitting, Sums, Worker, too_large};
use super::table::Table;
use super::{PretokenCounts, Totals};

/// Bytes of documents that a thread takes at a time: small enough that threads end together, large
/// enough that taking costs nothing.
const BYTES_PER_TASK: usize = 1 << 17;
/// A text of so many bytes is cut into stretches ...
const LONG_TEXT: usize = 1 << 20;
/// ... of about so many.
const BYTES_PER_STRETCH: usize = 1 << 18;
/// Bytes behind a guess in which ends are looked for, and how many are passed over: after some of them, hardly
/// any guess is still out of step.
const LOOK_BYTES: usize = 4 << 10;
const PASSED_ENDS: usize = 16;

/// How often each document counts.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// All of them so often.
    All(u64),
    /// Each of them so often; 0 leaves it out.
    Each(&'a [u64]),
}

impl Weights<'_> {
    fn of(self, document: usize) -> u64 {
        match self {
            Self::All(weight) => weight,
            Self::Each(weights) => weights.get(document).copied().unwrap_or(0),
        }
    }
}

/// Counts in the making.
pub struct PretokenCounter {
    tables: Vec<Table>,
    totals: Totals,
    max_memory: usize,
    /// Something was subtracted, so that a count may be 0.
    has_zeros: bool,
}

impl PretokenCounter {
    /// Counts nothing yet; its tables take at most so many bytes of memory, or what one pretoken for each thread needs.
    pub fn new(max_memory: usize) -> Self {
        Self {
            tables: Vec::new(),
            totals: Totals::default(),
            max_memory,
            has_zeros: false,
        }
    }

    /// What was counted so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// What was counted since this was asked last.
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

    /// The same, unless there is no room for it: false then.
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
    /// Threads are made for the call and end with it, so a process may fork between calls. `drain` takes what is in a
    /// full table, on whatever thread that is. After an error (of `drain`, of the splitter, `InvalidUtf8`, `TooLarge`,
    /// `Interrupted` where `keep_going` says no) part of the batch may be counted: drop the counts.
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
        let job = Job {
            batch,
            weights,
            splitting,
            tasks: tasks(batch, weights, splitting)?,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        };
        let threads = threads.clamp(1, job.tasks.len().max(1));
        self.make_tables(threads, drain)?;
        let done = job.run(&mut self.tables[..threads], keep_going, drain)?;
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
        let limit = match self.max_memory {
            usize::MAX => usize::MAX,
            bytes => bytes / threads,
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
        stretches: &[Done],
        sums: &mut Sums,
        drain: &DrainFn<'_>,
    ) -> Result<()> {
        let Splitting::Steps(_, steps) = job.splitting else {
            return Ok(());
        };
        let mut worker = Worker::new(&mut self.tables[0], drain);
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
            let text = job.text(done.document)?;
            let weight = job.weights.of(done.document);
            // What ought to be, from where the stretch before ended, and what was counted: the one that is behind
            // goes on, until they are at the same place or the stretch ends.
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

    /// The counts that are in memory. Pairs of tables are added up at the same time, on as many threads as were used.
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

/// What one thread does at a time.
enum Task {
    Documents(Range<usize>),
    /// From a place of a document to the first end at or behind another.
    Stretch {
        document: usize,
        from: usize,
        until: usize,
    },
}

/// A stretch that was counted.
#[derive(Clone, Copy, Debug)]
struct Done {
    document: usize,
    from: usize,
    end: usize,
}

/// What threads have done.
#[derive(Default)]
struct Results {
    sums: Sums,
    n_documents: u64,
    stretches: Vec<Done>,
}

struct Job<'a> {
    batch: BatchRef<'a>,
    weights: Weights<'a>,
    splitting: Splitting<'a>,
    tasks: Vec<Task>,
    next: AtomicUsize,
    failed: AtomicBool,
}

impl Job<'_> {
    fn run(
        &self,
        tables: &mut [Table],
        keep_going: &mut dyn FnMut() -> bool,
        drain: &DrainFn<'_>,
    ) -> Result<Results> {
        let Some((own, others)) = tables.split_first_mut() else {
            return Ok(Results::default());
        };
        let mut interrupted = false;
        let outcomes = std::thread::scope(|scope| {
            let mut helpers = Vec::with_capacity(others.len());
            for table in others {
                let helper = std::thread::Builder::new()
                    .spawn_scoped(scope, || self.work(table, &mut || true, drain));
                // Where the system gives no more threads, those that are there do it all.
                let Ok(helper) = helper else { break };
                helpers.push(helper);
            }
            let own = self.work(
                own,
                &mut || {
                    interrupted |= !keep_going();
                    !interrupted
                },
                drain,
            );
            let mut outcomes = vec![own];
            for helper in helpers {
                match helper.join() {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(payload) => std::panic::resume_unwind(payload),
                }
            }
            outcomes
        });
        if interrupted {
            return Err(ErrorKind::Interrupted.into());
        }
        let mut all = Results::default();
        let mut earliest: Option<(usize, Error)> = None;
        for outcome in outcomes {
            match outcome {
                Ok(results) => {
                    all.sums
                        .add(results.sums.n_pretokens, results.sums.n_bytes, 1)?;
                    all.n_documents += results.n_documents;
                    all.stretches.extend(results.stretches);
                }
                Err(error) if earliest.as_ref().is_some_and(|known| known.0 < error.0) => {}
                Err(error) => earliest = Some(error),
            }
        }
        if let Some((_, error)) = earliest {
            return Err(error);
        }
        all.stretches
            .sort_unstable_by_key(|done| (done.document, done.from));
        Ok(all)
    }

    /// On an error, every task before it is taken already and is finished, so that the earliest error is found
    /// whatever the threads do.
    fn work(
        &self,
        table: &mut Table,
        keep_going: &mut dyn FnMut() -> bool,
        drain: &DrainFn<'_>,
    ) -> std::result::Result<Results, (usize, Error)> {
        let mut worker = Worker::new(table, drain);
        let mut results = Results::default();
        while !self.failed.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(index) else {
                break;
            };
            if let Err(error) = self.one(task, &mut worker, &mut results) {
                self.failed.store(true, Ordering::Relaxed);
                return Err((index, error));
            }
            if !keep_going() {
                self.failed.store(true, Ordering::Relaxed);
            }
        }
        Ok(results)
    }

    fn one(&self, task: &Task, worker: &mut Worker<'_>, results: &mut Results) -> Result<()> {
        match *task {
            Task::Documents(ref documents) => {
                for document in documents.clone() {
                    let weight = self.weights.of(document);
                    if weight == 0 {
                        continue;
                    }
                    let text = self.text(document)?;
                    let (n_pretokens, n_bytes) = worker.count_text(text, self.splitting, weight)?;
                    results.sums.add(n_pretokens, n_bytes, weight)?;
                    results.n_documents += 1;
                }
            }
            Task::Stretch {
                document,
                from,
                until,
            } => {
                let (Splitting::Steps(_, steps), text) = (self.splitting, self.text(document)?)
                else {
                    return Ok(());
                };
                let rest = text.get(from..).unwrap_or_default();
                let Some(pieces) = steps.pieces_of_text(rest) else {
                    return Ok(());
                };
                let weight = self.weights.of(document);
                let (n, end) =
                    worker.count_pieces(rest.as_bytes(), pieces, until - from, weight)?;
                let end = from + end;
                let n_bytes = if from == 0 { text.len() as u64 } else { 0 };
                results.sums.add(n, n_bytes, weight)?;
                results.n_documents += u64::from(from == 0);
                results.stretches.push(Done {
                    document,
                    from,
                    end,
                });
            }
        }
        Ok(())
    }

    fn text(&self, document: usize) -> Result<&str> {
        text_of(self.batch, document)
    }
}

fn text_of(batch: BatchRef<'_>, document: usize) -> Result<&str> {
    let bytes = batch.get(document).unwrap_or_default();
    simdutf8::compat::from_utf8(bytes).map_err(|error| {
        let byte_offset = error.valid_up_to() as u64;
        ErrorKind::InvalidUtf8 { byte_offset }.into()
    })
}

/// Cuts a batch into ranges of documents of about [`BYTES_PER_TASK`] bytes, and long documents into stretches.
fn tasks(batch: BatchRef<'_>, weights: Weights<'_>, splitting: Splitting<'_>) -> Result<Vec<Task>> {
    let cutting = match splitting {
        Splitting::Steps(normalizer, steps)
            if normalizer.is_identity() && steps.pieces_of_text("").is_some() =>
        {
            Some(steps)
        }
        _ => None,
    };
    let mut tasks = Vec::new();
    let (mut start, mut n_bytes) = (0, 0);
    for (document, bytes) in batch.iter().enumerate() {
        if bytes.len() >= LONG_TEXT
            && weights.of(document) > 0
            && let Some(steps) = cutting
        {
            if start < document {
                tasks.push(Task::Documents(start..document));
            }
            cut(document, text_of(batch, document)?, steps, &mut tasks);
            (start, n_bytes) = (document + 1, 0);
            continue;
        }
        n_bytes += bytes.len();
        if n_bytes >= BYTES_PER_TASK {
            tasks.push(Task::Documents(start..document + 1));
            (start, n_bytes) = (document + 1, 0);
        }
    }
    if start < batch.len() {
        tasks.push(Task::Documents(start..batch.len()));
    }
    Ok(tasks)
}

fn cut(document: usize, text: &str, steps: &PreTokenizer, tasks: &mut Vec<Task>) {
    let mut starts = vec![0];
    for part in 1..text.len() / BYTES_PER_STRETCH {
        let guess = floor_boundary(text, part * BYTES_PER_STRETCH);
        starts.extend(likely_end(text, guess, steps));
    }
    starts.push(text.len());
    for places in starts.windows(2) {
        tasks.push(Task::Stretch {
            document,
            from: places[0],
            until: places[1],
        });
    }
}

/// An end of a pretoken, probably, behind a place in a text; none if there is none near.
fn likely_end(text: &str, from: usize, steps: &PreTokenizer) -> Option<usize> {
    let until = floor_boundary(text, from + LOOK_BYTES);
    let near = text.get(from..until)?;
    let ends = steps.pieces_of_text(near)?.map(|(_, end)| end);
    // An end of what was looked at is no end.
    let ends = ends.take(PASSED_ENDS).take_while(|&end| end < near.len());
    ends.last().map(|end| from + end)
}
