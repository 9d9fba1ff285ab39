//! A batch that is shared out among threads.
//!
//! A long text is cut into stretches at places where a pretoken probably ends. A guess may be
//! wrong: the stretch before did not end exactly there. Then the difference between the two counts
//! is added and subtracted until they meet. So guesses cost time, never counts. Counts are modulo
//! 2^64 for that, and no sum of a corpus passes it (that is checked).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::cutting::Steps;
use jeton_core::documents::batch::BatchRef;
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::raw_words::RawCuts;
use jeton_core::text::code_points::floor_boundary;

use super::splitting::{DrainFn, Splitting, Sums, Worker};
use super::table::Table;

/// Bytes of documents that a thread takes at a time: small enough that threads end together, large
/// enough that taking costs nothing. Half and twice as many do the same
/// (docs/log/2026-11-28-tuning-constants.md), as do bytes of a stretch.
const BYTES_PER_TASK: usize = 1 << 17;
/// Texts of this many bytes or more are cut into stretches ...
const LONG_TEXT: usize = 1 << 20;
/// ... of about this many bytes.
const BYTES_PER_STRETCH: usize = 1 << 18;
/// How often each document counts.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// One weight for all of them.
    All(u64),
    /// A weight for each of them; 0 leaves it out.
    Each(&'a [u64]),
}

impl Weights<'_> {
    pub(super) fn of(self, document: usize) -> u64 {
        match self {
            Self::All(weight) => weight,
            Self::Each(weights) => weights.get(document).copied().unwrap_or(0),
        }
    }
}

/// Task of a thread.
enum Task<'a> {
    Documents(Range<usize>),
    /// Part of a document between places where all steps start afresh.
    Part {
        document: usize,
        range: Range<usize>,
    },
    /// From a place of a document to the first end at or behind another. The text was found to be
    /// one once, not for each stretch.
    Stretch {
        document: usize,
        text: &'a str,
        from: usize,
        until: usize,
    },
}

/// A stretch that was counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done<'a> {
    pub(super) document: usize,
    pub(super) text: &'a str,
    pub(super) from: usize,
    pub(super) end: usize,
}

/// Results of the threads.
#[derive(Default)]
pub(super) struct Results<'a> {
    pub(super) sums: Sums,
    pub(super) n_documents: u64,
    pub(super) stretches: Vec<Done<'a>>,
}

pub(super) struct Job<'a> {
    batch: BatchRef<'a>,
    pub(super) weights: Weights<'a>,
    splitting: Splitting<'a>,
    tasks: Vec<Task<'a>>,
    next: AtomicUsize,
    failed: AtomicBool,
}

impl<'a> Job<'a> {
    /// Cuts the batch into what a thread takes at a time.
    pub(super) fn new(
        batch: BatchRef<'a>,
        weights: Weights<'a>,
        splitting: Splitting<'a>,
    ) -> Result<Self> {
        Ok(Self {
            batch,
            weights,
            splitting,
            tasks: tasks(batch, weights, splitting)?,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        })
    }

    pub(super) fn n_tasks(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn run(
        &self,
        tables: &mut [Table],
        raw_memory: usize,
        keep_going: &mut dyn FnMut() -> bool,
        drain: &DrainFn<'_>,
    ) -> Result<Results<'a>> {
        let Some((own, others)) = tables.split_first_mut() else {
            return Ok(Results::default());
        };
        let mut interrupted = false;
        let outcomes = std::thread::scope(|scope| {
            let mut helpers = Vec::with_capacity(others.len());
            for table in others {
                let helper = std::thread::Builder::new()
                    .spawn_scoped(scope, || self.work(table, raw_memory, &mut || true, drain));
                // If the system gives no more threads, the started ones do all the work.
                let Ok(helper) = helper else { break };
                helpers.push(helper);
            }
            let own = self.work(
                own,
                raw_memory,
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

    /// On an error, every task before it is taken already and is finished, so that the earliest
    /// error is found whatever the threads do.
    fn work(
        &self,
        table: &mut Table,
        raw_memory: usize,
        keep_going: &mut dyn FnMut() -> bool,
        drain: &DrainFn<'_>,
    ) -> std::result::Result<Results<'a>, (usize, Error)> {
        let mut worker = Worker::new(table, raw_memory, drain);
        let mut results = Results::default();
        let mut last = 0;
        while !self.failed.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(index) else {
                break;
            };
            if let Err(error) = self.one(task, &mut worker, &mut results) {
                self.failed.store(true, Ordering::Relaxed);
                return Err((index, error));
            }
            last = index;
            if !keep_going() {
                self.failed.store(true, Ordering::Relaxed);
            }
        }
        let ended = worker.end(self.steps());
        let ended = ended.and_then(|sums| results.sums.add(sums.n_pretokens, sums.n_bytes, 1));
        ended.map_err(|error| (last, error))?;
        Ok(results)
    }

    fn one(
        &self,
        task: &Task<'a>,
        worker: &mut Worker<'_>,
        results: &mut Results<'a>,
    ) -> Result<()> {
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
            Task::Part {
                document,
                ref range,
            } => {
                let text = self.text_between(document, range)?;
                let weight = self.weights.of(document);
                let (n_pretokens, n_bytes) = worker.count_text(text, self.splitting, weight)?;
                results.sums.add(n_pretokens, n_bytes, weight)?;
                results.n_documents += u64::from(range.start == 0);
            }
            Task::Stretch {
                document,
                text,
                from,
                until,
            } => {
                let rest = text.get(from..).unwrap_or_default();
                let pieces = self.steps().and_then(|steps| steps.pieces_of_text(rest));
                let Some(pieces) = pieces else {
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
                    text,
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

    /// Part of a document, whose other parts are looked at by themselves.
    fn text_between(&self, document: usize, range: &Range<usize>) -> Result<&str> {
        let bytes = self.batch.get(document).unwrap_or_default();
        text(bytes.get(range.clone()).unwrap_or_default(), range.start)
    }

    pub(super) fn steps(&self) -> Option<&Steps> {
        match self.splitting {
            Splitting::Steps(steps) => Some(steps),
            Splitting::Function(_) => None,
        }
    }
}

fn text_of(batch: BatchRef<'_>, document: usize) -> Result<&str> {
    text(batch.get(document).unwrap_or_default(), 0)
}

/// The text of bytes that begin at a place of their document.
fn text(bytes: &[u8], from: usize) -> Result<&str> {
    simdutf8::compat::from_utf8(bytes).map_err(|error| {
        let byte_offset = (from + error.valid_up_to()) as u64;
        ErrorKind::InvalidUtf8 { byte_offset }.into()
    })
}

/// Cuts a batch into ranges of documents of about [`BYTES_PER_TASK`] bytes, and long documents into
/// stretches.
fn tasks<'a>(
    batch: BatchRef<'a>,
    weights: Weights<'_>,
    splitting: Splitting<'_>,
) -> Result<Vec<Task<'a>>> {
    let steps = match splitting {
        Splitting::Steps(steps)
            if steps.raw_cuts().is_some() || steps.pieces_of_text("").is_some() =>
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
            && let Some(steps) = steps
        {
            if start < document {
                tasks.push(Task::Documents(start..document));
            }
            match steps.raw_cuts() {
                Some(cuts) => cut_raw(document, bytes, cuts, &mut tasks),
                None => cut(document, text_of(batch, document)?, steps, &mut tasks),
            }
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

/// Cuts a document where words of raw text end.
fn cut_raw(document: usize, bytes: &[u8], cuts: &RawCuts, tasks: &mut Vec<Task<'_>>) {
    let mut from = 0;
    while from < bytes.len() {
        let until = cuts.place(bytes, from + BYTES_PER_STRETCH);
        let until = until.unwrap_or(bytes.len());
        let range = from..until;
        tasks.push(Task::Part { document, range });
        from = until;
    }
}

fn cut<'a>(document: usize, text: &'a str, steps: &Steps, tasks: &mut Vec<Task<'a>>) {
    let mut starts = vec![0];
    for part in 1..text.len() / BYTES_PER_STRETCH {
        let guess = floor_boundary(text, part * BYTES_PER_STRETCH);
        starts.extend(steps.pretokenizer().likely_end(text, guess));
    }
    starts.push(text.len());
    for places in starts.windows(2) {
        tasks.push(Task::Stretch {
            document,
            text,
            from: places[0],
            until: places[1],
        });
    }
}
