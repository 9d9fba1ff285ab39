//! Texts to the pretokens that are counted, by the batch: as the encoder cuts them.
//!
//! One automaton may cut a text as it is (every published pattern). Then the ends of many pretokens
//! are found at once, their places in the table are prefetched, and they are counted. No step waits
//! for the one before, see `word_batch`.

use std::ops::ControlFlow;

use jeton_core::cache::key::Key;
use jeton_core::cpu::dispatch::{Kernel, Work, run_at};
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::pretokenize::TextPieces;

use super::raw::RawCounts;
use super::table::Table;
use crate::cutting::Steps;

/// How a text is cut into pretokens: calls the function given for each of them, in order.
pub type SplitFn<'a> = dyn Fn(&str, &mut dyn FnMut(&[u8])) -> Result<()> + Sync + 'a;

/// Callback for a table that is full, and for the rest at the end.
pub type DrainFn<'a> = dyn Fn(Drain<'_>) -> Result<()> + Sync + 'a;

/// Counts that leave memory.
pub struct Drain<'t>(pub(super) &'t mut Table);

impl Drain<'_> {
    /// Calls `each` with every pretoken and its count, by rising bytes, and forgets them. Counts
    /// are modulo 2^64: where the same pretoken is drained more than once, their sum is its count,
    /// which may be 0.
    pub fn each(self, each: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        self.0.drain_sorted(each)
    }
}

/// Method that cuts texts into pretokens.
#[derive(Clone, Copy)]
pub enum Splitting<'a> {
    /// As a tokenizer does.
    Steps(&'a Steps),
    /// Any other way.
    Function(&'a SplitFn<'a>),
}

/// Sums of a count: weighted, pretokens and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) n_pretokens: u64,
    pub(super) n_bytes: u64,
}

impl Sums {
    /// Adds pretokens and their bytes, `weight` times.
    pub(super) fn add(&mut self, n_pretokens: u64, n_bytes: u64, weight: u64) -> Result<()> {
        let sum = |sum: u64, n: u64| n.checked_mul(weight).and_then(|n| sum.checked_add(n));
        let (Some(n_pretokens), Some(n_bytes)) = (
            sum(self.n_pretokens, n_pretokens),
            sum(self.n_bytes, n_bytes),
        ) else {
            return Err(too_large("the number of bytes counted"));
        };
        *self = Self {
            n_pretokens,
            n_bytes,
        };
        Ok(())
    }
}

pub(super) fn too_large(what: &'static str) -> Error {
    ErrorKind::TooLarge {
        what,
        limit: u64::MAX,
    }
    .into()
}

/// Pretokens that are looked at together.
pub(super) const BATCH_PRETOKENS: usize = 128;

/// A thread's own table with what it needs to fill it.
pub(super) struct Worker<'w> {
    pub(super) table: &'w mut Table,
    pub(super) drain: &'w DrainFn<'w>,
    pub(super) raw: RawCounts,
    pub(super) kernel: Kernel,
    /// Where a pretoken begins, and where it and those behind it end.
    bounds: [usize; BATCH_PRETOKENS + 1],
    pub(super) looked: Looked,
}

/// The keys of pretokens, with where the table of short ones has them.
pub(super) type Looked = [(Key<1>, usize); BATCH_PRETOKENS];

impl<'w> Worker<'w> {
    /// `raw_memory`: what raw words may take besides.
    pub(super) fn new(table: &'w mut Table, raw_memory: usize, drain: &'w DrainFn<'w>) -> Self {
        Self {
            table,
            drain,
            raw: RawCounts::new(raw_memory),
            kernel: Kernel::fastest(),
            bounds: [0; BATCH_PRETOKENS + 1],
            looked: [(Key::NONE, 0); BATCH_PRETOKENS],
        }
    }

    /// Counts a text. Returns its numbers of pretokens and of their bytes, without the ones that
    /// [`Self::end`] returns.
    pub(super) fn count_text(
        &mut self,
        text: &str,
        splitting: Splitting<'_>,
        weight: u64,
    ) -> Result<(u64, u64)> {
        match splitting {
            Splitting::Function(split) => {
                let mut found = PretokenAdder::new(self, weight);
                let mut outcome = Ok(());
                split(text, &mut |pretoken| {
                    if outcome.is_ok() {
                        outcome = found.add(pretoken);
                    }
                })?;
                outcome.map(|()| found.n)
            }
            Splitting::Steps(steps) => {
                if self.count_raw(text, steps, weight)? {
                    return Ok((0, 0));
                }
                self.count_steps(text, steps, weight)
            }
        }
    }

    /// Counts by normalizing and cutting the text as a whole.
    pub(super) fn count_steps(
        &mut self,
        text: &str,
        steps: &Steps,
        weight: u64,
    ) -> Result<(u64, u64)> {
        if let Some(pieces) = steps.pieces_of_text(text) {
            let (n, _) = self.count_pieces(text.as_bytes(), pieces, usize::MAX, weight)?;
            return Ok((n, text.len() as u64));
        }
        let text = steps.normalizer().normalize(text)?;
        if let Some(pieces) = steps.pretokenizer().pieces_of_text(&text) {
            let (n, _) = self.count_pieces(text.as_bytes(), pieces, usize::MAX, weight)?;
            return Ok((n, text.len() as u64));
        }
        let mut found = PretokenAdder::new(self, weight);
        steps.cut_normalized(&text, &mut |pretoken| found.add(pretoken))?;
        Ok(found.n)
    }

    /// Counts pieces that follow one another, up to the first that ends at or behind a limit.
    /// Returns how many there were and where the last one ended.
    pub(super) fn count_pieces(
        &mut self,
        text: &[u8],
        pieces: TextPieces<'_, '_>,
        limit: usize,
        weight: u64,
    ) -> Result<(u64, usize)> {
        let mut walk = Walk {
            worker: self,
            text,
            pieces,
            limit,
            weight,
            start: 0,
            n_pretokens: 0,
        };
        loop {
            match run_at(walk.worker.kernel, Portion(&mut walk))? {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(()) => return Ok((walk.n_pretokens, walk.start)),
            }
        }
    }

    /// Counts one pretoken; empties the table where it has no room.
    pub(super) fn add(&mut self, text: &[u8], start: usize, end: usize, weight: u64) -> Result<()> {
        let drain = self.drain;
        self.table
            .add_whatever(text, start, end, weight, &mut |table| drain(Drain(table)))
    }
}

/// Pretokens that are counted one by one.
struct PretokenAdder<'a, 'w> {
    worker: &'a mut Worker<'w>,
    weight: u64,
    /// Pretokens, and their bytes.
    n: (u64, u64),
}

impl<'a, 'w> PretokenAdder<'a, 'w> {
    fn new(worker: &'a mut Worker<'w>, weight: u64) -> Self {
        Self {
            worker,
            weight,
            n: (0, 0),
        }
    }

    fn add(&mut self, pretoken: &[u8]) -> Result<()> {
        if !pretoken.is_empty() {
            self.n.0 += 1;
            self.n.1 += pretoken.len() as u64;
            self.worker.add(pretoken, 0, pretoken.len(), self.weight)?;
        }
        Ok(())
    }
}

/// The way through a text.
struct Walk<'a, 'w, 's, 't> {
    worker: &'a mut Worker<'w>,
    text: &'a [u8],
    pieces: TextPieces<'s, 't>,
    limit: usize,
    weight: u64,
    /// Where the next pretoken begins.
    start: usize,
    n_pretokens: u64,
}

/// The next portion of it.
struct Portion<'p, 'a, 'w, 's, 't>(&'p mut Walk<'a, 'w, 's, 't>);

impl Work for Portion<'_, '_, '_, '_, '_> {
    type Output = Result<ControlFlow<()>>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let walk = self.0;
        let worker = &mut *walk.worker;
        if walk.start >= walk.limit {
            return Ok(ControlFlow::Break(()));
        }
        worker.bounds[0] = walk.start;
        let mut n = walk.pieces.ends(&mut worker.bounds[1..]);
        if n == 0 {
            return Ok(ControlFlow::Break(()));
        }
        let ends = &worker.bounds[1..];
        if ends[n - 1] > walk.limit {
            n = ends[..n].partition_point(|&end| end < walk.limit) + 1;
        }
        let drain = worker.drain;
        worker.table.add_words(
            walk.text,
            (&worker.bounds[..n], &worker.bounds[1..=n]),
            walk.weight,
            &mut worker.looked,
            &mut |table| drain(Drain(table)),
        )?;
        walk.n_pretokens += n as u64;
        walk.start = worker.bounds[n];
        Ok(ControlFlow::Continue(()))
    }
}
