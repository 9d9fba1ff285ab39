//! Texts to the pretokens that are counted, by the batch: as the encoder cuts them.
//!
//! Where one automaton cuts a text as it is (every published pattern), the ends of many pretokens are found at once, then
//! the place of each in the table is asked for, then each is counted: no step waits for the one before, see `word_batch`.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::error::{Error, ErrorKind, Result};
use crate::normalize::Normalizer;
use crate::pretokenize::rewriting::Origin;
use crate::pretokenize::{PreTokenizer, TextPieces};
use crate::simd::{Kernel, Work, run_at};
use crate::word_cache::Key;

use super::table::{MediumWords, ShortWords, Table};
use super::words::Added;

/// How a text is cut into pretokens: calls the function given for each of them, in order.
pub type SplitFn<'a> = dyn Fn(&str, &mut dyn FnMut(&[u8])) -> Result<()> + Sync + 'a;

/// What is done with a table that is full, and with what is left at the end.
pub type DrainFn<'a> = dyn Fn(Drain<'_>) -> Result<()> + Sync + 'a;

/// Counts that leave memory.
pub struct Drain<'t>(pub(super) &'t mut Table);

impl Drain<'_> {
    /// Calls `each` with every pretoken and its count, by rising bytes, and forgets them. Counts are modulo 2^64: where the
    /// same pretoken is drained more than once, their sum is its count, which may be 0.
    pub fn each(self, each: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        self.0.drain_sorted(each)
    }
}

/// What cuts texts into pretokens.
#[derive(Clone, Copy)]
pub enum Splitting<'a> {
    /// As a tokenizer does.
    Steps(&'a Normalizer, &'a PreTokenizer),
    /// Any other way.
    Function(&'a SplitFn<'a>),
}

/// What was counted: with weights, pretokens and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) n_pretokens: u64,
    pub(super) n_bytes: u64,
}

impl Sums {
    /// Adds pretokens and their bytes, each so many times.
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
const AT_ONCE: usize = 128;

/// A thread's own table with what it needs to fill it.
pub(super) struct Worker<'w> {
    pub(super) table: &'w mut Table,
    pub(super) drain: &'w DrainFn<'w>,
    kernel: Kernel,
    ends: [usize; AT_ONCE],
    short: [(Key<1>, usize); AT_ONCE],
}

impl<'w> Worker<'w> {
    pub(super) fn new(table: &'w mut Table, drain: &'w DrainFn<'w>) -> Self {
        Self {
            table,
            drain,
            kernel: Kernel::fastest(),
            ends: [0; AT_ONCE],
            short: [(Key::NONE, 0); AT_ONCE],
        }
    }

    /// Counts a text; returns how many pretokens and bytes of them it has.
    pub(super) fn count_text(
        &mut self,
        text: &str,
        splitting: Splitting<'_>,
        weight: u64,
    ) -> Result<(u64, u64)> {
        let (mut n_pretokens, mut n_bytes) = (0, 0);
        let mut each = |worker: &mut Self, bytes: &[u8], start: usize, end: usize| {
            if start < end {
                n_pretokens += 1;
                n_bytes += (end - start) as u64;
                worker.add(bytes, start, end, weight)?;
            }
            Ok(())
        };
        match splitting {
            Splitting::Function(split) => {
                let mut outcome = Ok(());
                split(text, &mut |pretoken| {
                    if outcome.is_ok() {
                        outcome = each(self, pretoken, 0, pretoken.len());
                    }
                })?;
                outcome?;
            }
            Splitting::Steps(normalizer, pretokenizer) => {
                let text = if normalizer.is_identity() {
                    Cow::Borrowed(text)
                } else {
                    normalizer.normalize(text)?
                };
                if let Some(pieces) = pretokenizer.pieces_of_text(&text) {
                    let (n, _) = self.count_pieces(text.as_bytes(), pieces, usize::MAX, weight)?;
                    return Ok((n, text.len() as u64));
                }
                if pretokenizer.rewrites() {
                    let origin = Origin {
                        begins: true,
                        ..Origin::default()
                    };
                    let pieces = pretokenizer.pieces(&text, origin, false)?;
                    for &(start, end) in &pieces.ranges {
                        each(self, pieces.text.as_bytes(), start, end)?;
                    }
                } else {
                    pretokenizer
                        .split(&text, |start, end| each(self, text.as_bytes(), start, end))?;
                }
            }
        }
        Ok((n_pretokens, n_bytes))
    }

    /// Counts pieces that follow one another, up to the first that ends at or behind a limit. Returns how many there were
    /// and where the last one ended.
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
    #[inline(never)]
    pub(super) fn add(&mut self, text: &[u8], start: usize, end: usize, weight: u64) -> Result<()> {
        while !self.table.add(text, start, end, weight)? {
            (self.drain)(Drain(self.table))?;
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
        let mut n = walk.pieces.ends(&mut worker.ends);
        if n == 0 {
            return Ok(ControlFlow::Break(()));
        }
        if worker.ends[n - 1] > walk.limit {
            n = worker.ends[..n].partition_point(|&end| end < walk.limit) + 1;
        }
        let text = walk.text;
        let mut start = walk.start;
        let words = worker.short.iter_mut().zip(&worker.ends[..n]);
        for ((key, place), &end) in words {
            if end - start <= ShortWords::MAX_BYTES {
                *key = Key::new(text, start, end).unwrap_or(Key::NONE);
                *place = worker.table.short.place(*key);
                worker.table.short.fetch(*place);
            } else if end - start <= MediumWords::MAX_BYTES
                && let Some(key) = Key::<2>::new(text, start, end)
            {
                *place = worker.table.medium.place(key);
                worker.table.medium.fetch(*place);
            }
            start = end;
        }
        let generation = worker.table.generation;
        let mut start = walk.start;
        for index in 0..n {
            let end = worker.ends[index];
            let (key, place) = worker.short[index];
            let len = end - start;
            let added = if worker.table.generation != generation {
                Added::NoRoom
            } else if len <= ShortWords::MAX_BYTES {
                worker.table.short.add(key, place, walk.weight)
            } else if len <= MediumWords::MAX_BYTES
                && let Some(key) = Key::<2>::new(text, start, end)
            {
                worker.table.medium.add(key, place, walk.weight)
            } else {
                Added::NoRoom
            };
            match added {
                Added::Known | Added::New => {
                    worker.table.note(added, len);
                }
                Added::NoRoom | Added::Crowded => worker.add(text, start, end, walk.weight)?,
            }
            start = end;
        }
        walk.n_pretokens += n as u64;
        walk.start = start;
        Ok(ControlFlow::Continue(()))
    }
}
