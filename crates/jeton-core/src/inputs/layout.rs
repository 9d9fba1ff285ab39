//! Rows made of texts, and the place of each token.
//!
//! A row is the template with one window of each text in it. If both texts of a pair overflow,
//! every window of the one meets every window of the other.

use super::rows::{
    MAX_ROWS, check_ids, fewer_seconds, next_windows, no_room, to_index, to_usize, too_long,
    too_many_rows,
};
use super::windows::{count, kept, window};
use super::{InputOptions, Side, Truncation};
use crate::error::{Error, Result};
use crate::inputs::template::{Part, Segment, Template};

/// The tokens of a text that stand in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first.
    pub start: usize,
    /// How many.
    pub length: usize,
}

impl Cut {
    fn between(start: usize, end: usize) -> Self {
        let length = end - start;
        Self { start, length }
    }
}

/// A part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A token of the template.
    Token {
        /// Its id.
        id: u32,
        /// Its token-type id.
        type_id: u32,
    },
    /// Tokens of a text.
    Text {
        /// Side of the pair: first or second.
        segment: Segment,
        /// Token-type id of its tokens.
        type_id: u32,
        /// Range of its tokens.
        cut: Cut,
    },
}

/// The rows of a batch.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The template's parts, without its tokens unless `add_special_tokens` is set.
    parts: Vec<Part>,
    /// For each part that is a text, its segment: 0 or 1.
    segments: Vec<usize>,
    /// The cut of each text, row by row.
    cuts: Vec<Cut>,
    /// The text or pair of each row.
    samples: Vec<i64>,
    /// Starts of the rows that lie one behind the other, and the end of the last one.
    row_offsets: Vec<i64>,
    /// Tokens of each text or pair.
    n_tokens: Vec<i64>,
    /// Tokens of each text or pair that stand in no row.
    n_truncated: Vec<i64>,
    /// Columns of a matrix and the side that is filled; None: rows lie one behind the other.
    columns: Option<(usize, Side)>,
    /// Id and type id of the filling.
    pad: (u32, u32),
}

/// Result of truncating one text or pair.
struct Sample {
    index: usize,
    lengths: (usize, Option<usize>),
    kept: (usize, usize),
}

impl Layout {
    /// Lays out texts by their numbers of tokens; `seconds` has as many entries as `firsts`.
    pub fn new(
        template: &Template,
        options: &InputOptions,
        firsts: impl ExactSizeIterator<Item = usize>,
        seconds: Option<&mut dyn Iterator<Item = usize>>,
    ) -> Result<Self> {
        let whole = match seconds {
            Some(_) => &template.pair,
            None => &template.single,
        };
        let asked = |part: &&Part| options.add_special_tokens || matches!(part, Part::Text { .. });
        let parts: Vec<Part> = whole.iter().filter(asked).copied().collect();
        let which = |part: &Part| match part {
            Part::Text { segment, .. } => Some(usize::from(*segment == Segment::Second)),
            Part::Token { .. } => None,
        };
        let segments = parts.iter().filter_map(which).collect();
        let pad = options.padding.as_ref();
        let mut layout = Self {
            segments,
            cuts: Vec::new(),
            samples: Vec::new(),
            row_offsets: vec![0],
            n_tokens: Vec::with_capacity(firsts.len()),
            n_truncated: Vec::with_capacity(firsts.len()),
            columns: None,
            pad: pad.map_or((0, 0), |padding| (padding.pad_id, padding.pad_type_id)),
            parts,
        };
        let truncation = options.truncation.as_ref();
        let room = truncation.map(|how| layout.room(how, options.overflow));
        let room = room.transpose()?;
        let mut seconds = seconds;
        for (index, first) in firsts.enumerate() {
            let second = match &mut seconds {
                Some(seconds) => Some(seconds.next().ok_or_else(fewer_seconds)?),
                None => None,
            };
            let whole = (first, second.unwrap_or(0));
            let kept = match (truncation, room) {
                (Some(how), Some(room)) => kept(first, second, room, how.strategy)
                    .map_err(|why| too_long(why, index, (first, second), room, how))?,
                _ => whole,
            };
            let lengths = (first, second);
            layout.push(
                &Sample {
                    index,
                    lengths,
                    kept,
                },
                truncation.filter(|_| options.overflow),
                truncation.map_or(Side::Right, |how| how.direction),
            )?;
        }
        layout.set_columns(options)?;
        Ok(layout)
    }

    /// Tokens of the template in each row.
    fn n_special(&self) -> usize {
        self.parts.len() - self.segments.len()
    }

    /// The room for texts beside the template's tokens.
    fn room(&self, how: &Truncation, overflow: bool) -> Result<usize> {
        let n_special = self.n_special();
        let max_length = to_usize(how.max_length);
        let Some(room) = max_length.checked_sub(n_special) else {
            return Err(Error::usage(format!(
                "max_length is {max_length}, but the template alone has {n_special} tokens\n\
                 hint: a max_length above {n_special}, or add_special_tokens=False"
            )));
        };
        if overflow && how.stride >= room as u64 {
            return Err(Error::usage(format!(
                "stride is {}; expected less than the {room} tokens of text that max_length {max_length} leaves room \
                 for: windows that share all their tokens come to no end",
                how.stride
            )));
        }
        Ok(room)
    }

    /// Adds the rows of one text or pair.
    fn push(&mut self, sample: &Sample, overflow: Option<&Truncation>, side: Side) -> Result<()> {
        let (first, second) = (sample.lengths.0, sample.lengths.1.unwrap_or(0));
        let both = [(first, sample.kept.0), (second, sample.kept.1)];
        let n_truncated = first + second - sample.kept.0 - sample.kept.1;
        self.n_tokens.push((first + second) as i64);
        self.n_truncated.push(match overflow {
            Some(_) => 0,
            None => n_truncated as i64,
        });
        let Some(how) = overflow.filter(|_| n_truncated > 0) else {
            let cuts = both.map(|(length, room)| window(length, room, 0, side, 0));
            let cuts = cuts.map(|range| Cut::between(range.start, range.end));
            self.cuts
                .extend(self.segments.iter().map(|&which| cuts[which]));
            return self.close_row(sample.index);
        };
        let stride = to_usize(how.stride);
        for (which, (length, room)) in both.into_iter().enumerate() {
            if room < length && room <= stride {
                return Err(no_room(sample.index, which, room, how));
            }
        }
        let counts = both.map(|(length, room)| count(length, room, stride));
        self.check_windows(sample, counts)?;
        let mut chosen = vec![0; self.segments.len()];
        let mut digits = chosen.clone();
        loop {
            for (&which, &index) in self.segments.iter().zip(&chosen) {
                let (length, room) = both[which];
                let range = window(length, room, stride, side, index);
                self.cuts.push(Cut::between(range.start, range.end));
            }
            self.close_row(sample.index)?;
            if !next_windows(&mut digits, &mut chosen, &self.segments, counts) {
                return Ok(());
            }
        }
    }

    /// Ends a row whose cuts are there.
    fn close_row(&mut self, sample: usize) -> Result<()> {
        let first = self.cuts.len() - self.segments.len();
        let lengths = self.cuts[first..].iter().map(|cut| cut.length);
        let length = self.n_special() + lengths.sum::<usize>();
        self.samples.push(sample as i64);
        self.row_offsets.push((self.n_ids() + length) as i64);
        if self.n_rows() > MAX_ROWS {
            return Err(too_many_rows());
        }
        check_ids(self.n_ids() as u64)
    }

    /// Refuses more windows of one text or pair than there may be rows, before the first of them is
    /// made.
    fn check_windows(&self, sample: &Sample, counts: [usize; 2]) -> Result<()> {
        let n_rows = self
            .segments
            .iter()
            .fold(1_usize, |n, &which| n.saturating_mul(counts[which]));
        // Windows have more than half of the kept length on average, for all but one are full.
        let kept = [sample.kept.0, sample.kept.1];
        let kept: usize = self.segments.iter().map(|&which| kept[which]).sum();
        check_ids((n_rows as u64).saturating_mul(kept as u64) / 2)?;
        if n_rows > MAX_ROWS {
            return Err(too_many_rows());
        }
        Ok(())
    }

    /// Fixes the matrix if there is to be one.
    fn set_columns(&mut self, options: &InputOptions) -> Result<()> {
        let Some(padding) = &options.padding else {
            return Ok(());
        };
        let longest = self.longest();
        let mut columns = padding.fixed_length.unwrap_or(longest as u64);
        if let Some(multiple) = padding.pad_to_multiple_of.filter(|&multiple| multiple > 0) {
            columns = columns.div_ceil(multiple).saturating_mul(multiple);
        }
        if columns < longest as u64 {
            let row = (0..self.n_rows()).find(|&row| self.row_length(row) as u64 > columns);
            let row = row.unwrap_or(0);
            return Err(Error::usage(format!(
                "text {} has {} tokens with those of the template, and rows are to have {columns}\n\
                 hint: truncation=\"longest_first\" cuts it, padding=\"longest\" makes rows as long as the longest",
                self.samples[row],
                self.row_length(row),
            )));
        }
        check_ids(columns.saturating_mul(self.n_rows() as u64))?;
        self.columns = Some((to_usize(columns), padding.direction));
        Ok(())
    }

    /// Rows.
    pub fn n_rows(&self) -> usize {
        self.samples.len()
    }

    /// Ids in all rows, without padding.
    pub fn n_ids(&self) -> usize {
        self.row_offsets.last().map_or(0, |&end| to_index(end))
    }

    /// Ids of a row, without padding.
    pub fn row_length(&self, row: usize) -> usize {
        to_index(self.row_offsets[row + 1] - self.row_offsets[row])
    }

    /// Ids of the longest row, without padding.
    pub fn longest(&self) -> usize {
        (0..self.n_rows())
            .map(|row| self.row_length(row))
            .max()
            .unwrap_or(0)
    }

    /// Columns of the matrix; None where rows lie one behind the other.
    pub fn columns(&self) -> Option<usize> {
        self.columns.map(|(columns, _)| columns)
    }

    /// The side that is filled.
    pub(super) fn side(&self) -> Side {
        self.columns.map_or(Side::Right, |(_, side)| side)
    }

    /// The id that fills and its type.
    pub(super) fn pad(&self) -> (u32, u32) {
        self.pad
    }

    /// Index of the text or pair of each row.
    pub fn samples(&self) -> &[i64] {
        &self.samples
    }

    /// Starts of the rows that lie one behind the other, and the end of the last one.
    pub fn row_offsets(&self) -> &[i64] {
        &self.row_offsets
    }

    /// Tokens of each text or pair before truncation, without the template's.
    pub fn n_tokens(&self) -> &[i64] {
        &self.n_tokens
    }

    /// Tokens of each text or pair that stand in no row.
    pub fn n_truncated(&self) -> &[i64] {
        &self.n_truncated
    }

    /// The largest id or token type beside the texts' own.
    pub fn largest_value(&self) -> u32 {
        let of_part = |part: &Part| match *part {
            Part::Token { id, type_id } => id.max(type_id),
            Part::Text { type_id, .. } => type_id,
        };
        let largest = self.parts.iter().map(of_part).max().unwrap_or(0);
        largest.max(self.pad.0).max(self.pad.1)
    }

    /// The parts of a row, in order.
    pub fn pieces(&self, row: usize) -> impl Iterator<Item = Piece> + '_ {
        let n_texts = self.segments.len();
        let cuts = row * n_texts..(row + 1) * n_texts;
        let mut cuts = self.cuts[cuts].iter();
        self.parts.iter().filter_map(move |part| match *part {
            Part::Token { id, type_id } => Some(Piece::Token { id, type_id }),
            Part::Text { segment, type_id } => cuts.next().map(|&cut| Piece::Text {
                segment,
                type_id,
                cut,
            }),
        })
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
