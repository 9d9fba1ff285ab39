//! Lines of a stream, with a limit on their length.

use crate::error::{IoError, Result};
use crate::window::{Taken, Window, character_cut, find_line_end};

/// Treatment of a line that is longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongLine {
    /// It is an error (a record cannot be cut).
    Refuse,
    /// It comes in pieces cut between characters (text can).
    Cut,
}

/// A line without its end (`\n` or `\r\n`), or a piece of a long one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    /// 1-based.
    pub(crate) number: u64,
    pub(crate) bytes: Taken,
    /// This is the first of several pieces.
    pub(crate) starts_cut: bool,
}

pub(crate) struct Lines {
    window: Window,
    max_line_bytes: usize,
    long_line: LongLine,
    /// Unread bytes that are known to hold no line end.
    n_searched: usize,
    number: u64,
    inside_cut: bool,
}

impl Lines {
    /// `max_line_bytes` must be at least 4, the longest character.
    pub(crate) fn new(window: Window, max_line_bytes: usize, long_line: LongLine) -> Self {
        Self {
            window,
            max_line_bytes,
            long_line,
            n_searched: 0,
            number: 0,
            inside_cut: false,
        }
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// The next line, none at the end. A last line needs no line end. After an interruption, call
    /// again.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line>> {
        loop {
            let unread = self.window.unread();
            if let Some(length) = find_line_end(unread, self.n_searched) {
                let end_bytes = if unread[..length].last() == Some(&b'\r') {
                    2
                } else {
                    1
                };
                if length + 1 - end_bytes > self.max_line_bytes {
                    return self.long_piece().map(Some);
                }
                let bytes = self.window.take(length + 1).without_last(end_bytes);
                return Ok(Some(self.whole(bytes)));
            }
            self.n_searched = unread.len();
            // One more than the limit could still be the `\r` of a line end.
            if unread.len()
                > self
                    .max_line_bytes
                    .saturating_add(usize::from(!self.window.at_end()))
            {
                return self.long_piece().map(Some);
            }
            if self.window.at_end() {
                if unread.is_empty() {
                    return Ok(None);
                }
                let bytes = self.window.take(self.n_searched);
                return Ok(Some(self.whole(bytes)));
            }
            self.window.fill()?;
        }
    }

    fn whole(&mut self, bytes: Taken) -> Line {
        self.n_searched = 0;
        if !self.inside_cut {
            self.number += 1;
        }
        self.inside_cut = false;
        Line {
            number: self.number,
            bytes,
            starts_cut: false,
        }
    }

    fn long_piece(&mut self) -> Result<Line> {
        let starts_cut = !self.inside_cut;
        self.number += u64::from(starts_cut);
        if self.long_line == LongLine::Refuse {
            return Err(IoError::Limit {
                path: self.window.path().to_owned(),
                what: format!("line {}", self.number),
                limit: self.max_line_bytes as u64,
                hint: "a record is kept in memory as a whole: split it, or write its text to a plain text file, whose \
                       lines may be of any length",
            });
        }
        let cut = character_cut(self.window.unread(), self.max_line_bytes);
        let bytes = self.window.take(cut);
        // The first `n_searched` bytes hold no line end. A line end that was found is found again.
        self.n_searched = self.n_searched.saturating_sub(cut);
        self.inside_cut = true;
        Ok(Line {
            number: self.number,
            bytes,
            starts_cut,
        })
    }
}
