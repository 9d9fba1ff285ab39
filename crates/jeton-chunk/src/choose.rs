//! The choice among cuts: the cheapest ones that keep each chunk within its budget.
//!
//! Costs to the end of the text are summed backwards over all cuts, with token counts from the text
//! as a whole. Then chunks are made from the front, and each is counted as it will be sent: where
//! a cut changes the tokens so that a chunk would exceed, the next best cut is taken.

use std::ops::Range;

use crate::characters::{ceil_whole, floor_whole, has_no_spaces, is_whole};
use crate::finer::add_finer;

/// A place at which a text may be cut, and the price of doing so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) at: usize,
    pub(crate) cost: u32,
}

/// Limits and costs of a division.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Tokens of a chunk as it is sent, at most.
    pub max_tokens: usize,
    /// Tokens of a chunk that stand for text of the one before it, at most.
    pub overlap_tokens: usize,
    /// Parts between given boundaries that the next chunk repeats, as far as they fit.
    pub overlap_parts: usize,
    /// Price of each chunk.
    pub chunk_cost: u32,
    /// Price of a cut between clauses of a part that is too long.
    pub clause_cost: u32,
    /// Price of a cut between words of such a part; 0: parts are cut at tokens.
    pub word_cost: u32,
}

/// A tokenizer, as far as chunking needs it.
pub trait Source {
    /// Reason for which encoding failed.
    type Error;

    /// Returns the ends of the tokens of a part of the text, as bytes of the text, rising.
    fn token_ends(&mut self, part: Range<usize>) -> Result<Vec<usize>, Self::Error>;

    /// Returns the tokens of a chunk as it will be sent. `ends`: what [`Self::token_ends`] gave for
    /// a part of the text that has all of the chunk.
    fn count(&mut self, chunk: Range<usize>, ends: &[usize]) -> Result<usize, Self::Error>;

    /// Returns the tokens that are sent with a chunk that begins there.
    fn overhead(&mut self, start: usize) -> usize;
}

/// A chunk in bytes of the text, and its tokens as it will be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Tokens, with all that is sent with it.
    pub n_tokens: usize,
}

/// Reason for which a text was not divided.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure<E> {
    /// The source failed.
    Source(E),
    /// The character at `at` takes `n_tokens` by itself, more than a chunk may have.
    TooSmall {
        /// First byte of the character.
        at: usize,
        /// Tokens of a chunk that holds nothing else.
        n_tokens: usize,
    },
}

/// Bytes of text that are planned at a time, at least: bounds the memory for ends and prices. Cuts
/// are chosen with what a window knows, so another value can give other chunks.
const WINDOW_BYTES: usize = 1 << 17;
/// Bytes that are planned at a time for each token of the budget.
const BYTES_PER_TOKEN: usize = 64;
/// Cuts that are looked at for each chunk: the last ones that its budget reaches. Bounds the time
/// for text with a cut at each byte. Another value can give other chunks.
const DEPTH: usize = 256;
/// Price of a place that no cut within the budget reaches.
const UNREACHED: u64 = 1 << 20;

/// Divides a text. `boundaries` rise, and are no less than 1.
pub fn cut<S: Source>(
    text: &str,
    boundaries: &[usize],
    costs: &[u32],
    settings: &Settings,
    source: &mut S,
) -> Result<Vec<Chunk>, Failure<S::Error>> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let size = WINDOW_BYTES.max(settings.max_tokens.saturating_mul(BYTES_PER_TOKEN));
    let mut start = 0;
    let mut done = 0;
    while done < text.len() {
        let end = if text.len() - start <= size + size / 4 {
            text.len()
        } else {
            floor_whole(text, start, start + size)
        };
        let ends = source.token_ends(start..end).map_err(Failure::Source)?;
        let from = boundaries.partition_point(|&at| at <= start);
        let to = boundaries.partition_point(|&at| at < end);
        let given = (from..to).map(|at| Cut {
            at: boundaries[at],
            cost: costs[at],
        });
        let is_last = end == text.len();
        let overhead = source.overhead(start);
        let window = Window::new(text, start, ends, end, given, is_last, settings, overhead);
        (start, done) = window.walk(start, done, is_last, source, &mut chunks)?;
    }
    Ok(chunks)
}

/// The cuts of a part of the text, and their costs to its end.
struct Window<'t> {
    text: &'t str,
    settings: &'t Settings,
    /// Ends of tokens, rising.
    ends: Vec<usize>,
    /// Cuts, the last at the end of the window.
    cuts: Vec<Cut>,
    /// Tokens from the start of the window to each cut.
    tokens: Vec<usize>,
    /// True for cuts that were given, not added between them.
    given: Vec<bool>,
    /// Price of a chunk's end at each cut and of all chunks behind it.
    price: Vec<u64>,
}

impl<'t> Window<'t> {
    #[allow(clippy::too_many_arguments)] // each is a different thing, and it is called once
    fn new(
        text: &'t str,
        start: usize,
        ends: Vec<usize>,
        end: usize,
        given: impl Iterator<Item = Cut>,
        is_last: bool,
        settings: &'t Settings,
        overhead: usize,
    ) -> Self {
        let last = Cut {
            at: end,
            cost: if is_last { 0 } else { settings.word_cost },
        };
        let mut window = Self {
            text,
            settings,
            ends,
            cuts: Vec::new(),
            tokens: Vec::new(),
            given: Vec::new(),
            price: Vec::new(),
        };
        let room = settings.max_tokens.saturating_sub(overhead).max(1);
        let mut before = (start, 0);
        let mut token = 0;
        for cut in given.chain([last]) {
            // What people see as one character is torn by no rule.
            if cut.at < end && !is_whole(text, before.0, cut.at) {
                continue;
            }
            while token < window.ends.len() && window.ends[token] <= cut.at {
                token += 1;
            }
            if token - before.1 > room && settings.word_cost > 0 {
                window.add_finer_between(before, cut.at);
            }
            window.push(cut, token, true);
            before = (cut.at, token);
        }
        window.sum_prices(room);
        window
    }

    fn push(&mut self, cut: Cut, tokens: usize, given: bool) {
        self.cuts.push(cut);
        self.tokens.push(tokens);
        self.given.push(given);
    }

    fn add_finer_between(&mut self, before: (usize, usize), end: usize) {
        let mut finer = Vec::new();
        add_finer(self.text, before.0..end, self.settings, &mut finer);
        let (mut token, mut whole) = (before.1, before.0);
        for cut in finer {
            if !is_whole(self.text, whole, cut.at) {
                continue;
            }
            whole = cut.at;
            while token < self.ends.len() && self.ends[token] <= cut.at {
                token += 1;
            }
            self.push(cut, token, false);
        }
    }

    /// Sums prices from the end of the window backwards.
    fn sum_prices(&mut self, room: usize) {
        let chunk_cost = u64::from(self.settings.chunk_cost);
        let overlap = self.settings.overlap_tokens;
        let room = room.saturating_sub(overlap).max(1);
        let n = self.cuts.len();
        self.price = vec![0; n];
        let mut reach = n;
        // Price of all chunks from a cut on; from the last cut on there are none.
        let mut rest = 0;
        for at in (0..n).rev() {
            self.price[at] = u64::from(self.cuts[at].cost) + rest;
            if at == 0 {
                break;
            }
            // Chunks that begin at the cut before this one.
            let begin = self.tokens[at - 1];
            while reach > at && self.tokens[reach - 1] - begin > room {
                reach -= 1;
            }
            rest = if reach == at {
                self.price[at] + UNREACHED + chunk_cost * ((self.tokens[at] - begin) / room) as u64
            } else {
                let low = at.max(reach.saturating_sub(DEPTH));
                let best = self.price[low..reach].iter().min().copied().unwrap_or(0);
                best + chunk_cost
            };
        }
    }

    /// Makes chunks until the window ends; returns where the next chunk starts, and up to where the
    /// text is done.
    fn walk<S: Source>(
        &self,
        mut start: usize,
        mut done: usize,
        is_last: bool,
        source: &mut S,
        chunks: &mut Vec<Chunk>,
    ) -> Result<(usize, usize), Failure<S::Error>> {
        let end = self.cuts[self.cuts.len() - 1].at;
        let made = chunks.len();
        loop {
            let overhead = source.overhead(start);
            let room = self.settings.max_tokens.saturating_sub(overhead).max(1);
            let begin = self.tokens_before(start);
            // A chunk that the end of the window would cut short is left to the next one.
            if !is_last && chunks.len() > made && self.ends.len() - begin <= room {
                return Ok((start, done));
            }
            let chunk = match self.best(start, begin, done, room, source)? {
                Some(chunk) => chunk,
                None => self.hard(start, begin, done, room, source)?,
            };
            if self.repeats_too_much(&chunk, done, source)? {
                start = self.next_start(chunk.range.start, done);
                continue;
            }
            done = chunk.range.end;
            start = if done >= end { done } else { self.back(&chunk) };
            chunks.push(chunk);
            if done >= end {
                return Ok((start, done));
            }
        }
    }

    /// Returns the cheapest chunk from `start` that ends at a cut behind `done`, if one fits.
    fn best<S: Source>(
        &self,
        start: usize,
        begin: usize,
        done: usize,
        room: usize,
        source: &mut S,
    ) -> Result<Option<Chunk>, Failure<S::Error>> {
        if self.settings.word_cost == 0 && self.cuts.len() == 1 && self.tokens[0] - begin > room {
            return Ok(None);
        }
        let low = self.cuts.partition_point(|cut| cut.at <= done);
        let mut high = self
            .tokens
            .partition_point(|&tokens| tokens <= begin + room);
        while high > low {
            let first = low.max(high.saturating_sub(DEPTH));
            let prices = self.price[first..high].iter().enumerate();
            // Of equal prices the longest chunk.
            let Some((chosen, _)) = prices.min_by_key(|&(at, &price)| (price, usize::MAX - at))
            else {
                return Ok(None);
            };
            let chosen = first + chosen;
            let range = start..self.cuts[chosen].at;
            let n_tokens = source
                .count(range.clone(), &self.ends)
                .map_err(Failure::Source)?;
            if n_tokens <= self.settings.max_tokens {
                return Ok(Some(Chunk { range, n_tokens }));
            }
            let excess = n_tokens - self.settings.max_tokens;
            let limit = self.tokens[chosen].saturating_sub(excess);
            high = self.tokens[..chosen].partition_point(|&tokens| tokens <= limit);
        }
        Ok(None)
    }

    /// Returns a chunk from `start` that ends at a token, for want of a cut.
    fn hard<S: Source>(
        &self,
        start: usize,
        begin: usize,
        done: usize,
        room: usize,
        source: &mut S,
    ) -> Result<Chunk, Failure<S::Error>> {
        let mut n = room.min(self.ends.len().saturating_sub(begin));
        while n > 0 {
            let end = floor_whole(self.text, done, self.ends[begin + n - 1]);
            if end <= done {
                break;
            }
            let range = start..end;
            let n_tokens = source
                .count(range.clone(), &self.ends)
                .map_err(Failure::Source)?;
            if n_tokens <= self.settings.max_tokens {
                return Ok(Chunk { range, n_tokens });
            }
            n = n.saturating_sub(n_tokens - self.settings.max_tokens);
        }
        // One character, with and then without what is repeated before it.
        let first = self.text[done..].chars().next().map_or(1, char::len_utf8);
        let mut n_tokens = 0;
        for from in [start, done] {
            let range = from..done + first;
            n_tokens = source
                .count(range.clone(), &self.ends)
                .map_err(Failure::Source)?;
            if n_tokens <= self.settings.max_tokens {
                return Ok(Chunk { range, n_tokens });
            }
        }
        Err(Failure::TooSmall { at: done, n_tokens })
    }

    /// Tokens of the window that end at or before a place.
    fn tokens_before(&self, at: usize) -> usize {
        self.ends.partition_point(|&end| end <= at)
    }

    /// Returns the start of the chunk after `chunk`, with the overlap that was asked for.
    fn back(&self, chunk: &Chunk) -> usize {
        let (low, end) = (chunk.range.start, chunk.range.end);
        let settings = self.settings;
        if settings.overlap_parts > 0 {
            return self.back_by_parts(low, end);
        }
        if settings.overlap_tokens == 0 {
            return end;
        }
        // The token that holds the last byte may go on into the text behind.
        let tokens = self.ends.partition_point(|&other| other < end) + 1;
        let first = tokens.saturating_sub(settings.overlap_tokens);
        if first == 0 {
            return end;
        }
        self.start_from(low, self.ends[first - 1], end)
    }

    /// Returns the first place from `at` on with which a chunk may begin; `end`: there is none.
    fn start_from(&self, low: usize, at: usize, end: usize) -> usize {
        let mut at = ceil_whole(self.text, low, at);
        if self.settings.word_cost > 0 {
            // The beginning of a part or of a word.
            let part = self.cuts.partition_point(|cut| cut.at < at);
            let known = self.cuts.get(part).map_or(end, |cut| cut.at);
            at = if known < end {
                known
            } else {
                next_word(self.text, low, at, end)
            };
        }
        if at > low && at < end { at } else { end }
    }

    /// Returns the place after `start` with which a chunk may begin that repeats less.
    fn next_start(&self, start: usize, done: usize) -> usize {
        let token = self.ends.partition_point(|&end| end <= start);
        let at = self.ends.get(token).copied().unwrap_or(done).max(start + 1);
        if at >= done {
            return done;
        }
        self.start_from(start, at, done)
    }

    /// True if more tokens of a chunk than asked for stand for text before `done`.
    fn repeats_too_much<S: Source>(
        &self,
        chunk: &Chunk,
        done: usize,
        source: &mut S,
    ) -> Result<bool, Failure<S::Error>> {
        let most = self.settings.overlap_tokens;
        if most == 0 || chunk.range.start >= done {
            return Ok(false);
        }
        let ends = source
            .token_ends(chunk.range.clone())
            .map_err(Failure::Source)?;
        Ok(ends.partition_point(|&end| end < done) + 1 > most)
    }

    fn back_by_parts(&self, low: usize, end: usize) -> usize {
        let room = self.settings.max_tokens / 2;
        let tokens = self.tokens_before(end);
        let last = self.cuts.partition_point(|cut| cut.at < end);
        let mut start = end;
        let mut parts = 0;
        for at in (0..last).rev() {
            if !self.given[at] {
                continue;
            }
            if self.cuts[at].at <= low || tokens - self.tokens[at] > room {
                break;
            }
            start = self.cuts[at].at;
            parts += 1;
            if parts == self.settings.overlap_parts {
                break;
            }
        }
        start
    }
}

/// Returns the first beginning of a word in `[at, end)`, or `end`.
fn next_word(text: &str, low: usize, at: usize, end: usize) -> usize {
    let mut before = text[..at].chars().next_back().unwrap_or(' ');
    for (offset, c) in text[at..end].char_indices() {
        let begins = (before.is_whitespace() && !c.is_whitespace()) || has_no_spaces(c);
        if begins && is_whole(text, low, at + offset) {
            return at + offset;
        }
        before = c;
    }
    end
}

#[cfg(test)]
mod tests;
