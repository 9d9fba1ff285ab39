//! The arrays of a batch, each written in one go, row by row, on several threads.
//!
//! Everything but the ids follows from the layout alone, so it is made when it is asked for.

use super::Side;
use super::layout::{Layout, Piece};
use super::rows::to_index;
use crate::documents::token_batch::TokenBatch;
use crate::error::{Error, Result};
use crate::inputs::template::Segment;

/// Numbers of an array below which a second thread costs more than it brings.
const MIN_NUMBERS_FOR_THREADS: usize = 1 << 17;

/// A type of whole numbers that ids are given out as.
pub trait Number: Copy + Send + Sync + Default + 'static {
    /// The largest.
    const LARGEST: u32;
    /// The number; what is above the largest becomes it. Callers check that.
    fn from_u32(value: u32) -> Self;
}

impl Number for i64 {
    const LARGEST: u32 = u32::MAX;
    fn from_u32(value: u32) -> Self {
        Self::from(value)
    }
}

impl Number for i32 {
    const LARGEST: u32 = Self::MAX as u32;
    fn from_u32(value: u32) -> Self {
        Self::try_from(value).unwrap_or(Self::MAX)
    }
}

/// A value for each token of some texts. The values of text `i` are at `offsets[i]..offsets[i +
/// 1]`.
#[derive(Clone, Copy, Debug)]
pub struct PerToken<'a, T> {
    /// The values.
    pub values: &'a [T],
    /// Where each text's begin, and where the last one's end.
    pub offsets: &'a [i64],
}

impl<'a, T> PerToken<'a, T> {
    fn of(&self, text: usize) -> &'a [T] {
        let at = |index: usize| {
            self.offsets
                .get(index)
                .map_or(0, |&offset| to_index(offset))
        };
        self.values.get(at(text)..at(text + 1)).unwrap_or_default()
    }
}

impl Layout {
    /// Numbers in an array of this layout.
    pub fn n_cells(&self) -> usize {
        match self.columns() {
            Some(columns) => columns * self.n_rows(),
            None => self.n_ids(),
        }
    }

    /// The ids, filled up.
    pub fn ids<T: Number>(
        &self,
        first: &TokenBatch,
        second: Option<&TokenBatch>,
        threads: usize,
    ) -> Result<Vec<T>> {
        let of = |batch: &'_ TokenBatch, row: usize| -> (usize, usize) {
            let sample = to_index(self.samples()[row]);
            let at = |index: usize| {
                batch
                    .offsets
                    .get(index)
                    .map_or(0, |&offset| to_index(offset))
            };
            (at(sample), at(sample + 1))
        };
        self.fill(T::from_u32(self.pad().0), threads, &|row, out| {
            let mut rest = Cells(out);
            for piece in self.pieces(row) {
                match piece {
                    Piece::Token { id, .. } => rest.put(1, |out| out.fill(T::from_u32(id))),
                    Piece::Text { segment, cut, .. } => rest.put(cut.length, |out| {
                        let batch = match segment {
                            Segment::First => Some(first),
                            Segment::Second => second,
                        };
                        let Some(batch) = batch else { return };
                        let (start, end) = of(batch, row);
                        let text = batch.ids.get(start..end).unwrap_or_default();
                        let window = text.get(cut.start..).unwrap_or_default();
                        for (to, &id) in out.iter_mut().zip(window) {
                            *to = T::from_u32(id);
                        }
                    }),
                }
            }
        })
    }

    /// 1 for every id, 0 for what fills.
    pub fn attention_mask<T: Number>(&self, threads: usize) -> Result<Vec<T>> {
        self.fill(T::default(), threads, &|_, out| out.fill(T::from_u32(1)))
    }

    /// The token types of the template; what fills has its own.
    pub fn type_ids<T: Number>(&self, threads: usize) -> Result<Vec<T>> {
        self.fill(T::from_u32(self.pad().1), threads, &|row, out| {
            let mut rest = Cells(out);
            for piece in self.pieces(row) {
                let (type_id, length) = match piece {
                    Piece::Token { type_id, .. } => (type_id, 1),
                    Piece::Text { type_id, cut, .. } => (type_id, cut.length),
                };
                rest.put(length, |out| out.fill(T::from_u32(type_id)));
            }
        })
    }

    /// True if an id is of the template or fills.
    pub fn special_tokens_mask(&self, threads: usize) -> Result<Vec<bool>> {
        self.fill(true, threads, &|row, out| {
            let mut rest = Cells(out);
            for piece in self.pieces(row) {
                match piece {
                    Piece::Token { .. } => rest.put(1, |_| {}),
                    Piece::Text { cut, .. } => rest.put(cut.length, |out| out.fill(false)),
                }
            }
        })
    }

    /// 0 and 1 for ids of the first and the second text, -1 for the template's tokens and padding.
    pub fn sequence_ids(&self, threads: usize) -> Result<Vec<i8>> {
        self.fill(-1, threads, &|row, out| {
            let mut rest = Cells(out);
            for piece in self.pieces(row) {
                match piece {
                    Piece::Token { .. } => rest.put(1, |_| {}),
                    Piece::Text { segment, cut, .. } => rest.put(cut.length, |out| {
                        out.fill(i8::from(segment == Segment::Second));
                    }),
                }
            }
        })
    }

    /// 0, 1, 2 ... for the ids of a row, on whichever side it is padded; 0 for padding.
    pub fn position_ids<T: Number>(&self, threads: usize) -> Result<Vec<T>> {
        self.fill(T::default(), threads, &|_, out| {
            for (to, position) in out.iter_mut().zip(0..) {
                *to = T::from_u32(position);
            }
        })
    }

    /// A value of each token of a text, `missing` for the others. `first` and `second` hold a value
    /// for each token; where `opening` is given, the first token of a window has the value from
    /// there.
    pub fn per_token<T: Copy + Send + Sync>(
        &self,
        texts: [Option<PerToken<'_, T>>; 2],
        opening: [Option<PerToken<'_, T>>; 2],
        missing: T,
        threads: usize,
    ) -> Result<Vec<T>> {
        self.fill(missing, threads, &|row, out| {
            let sample = to_index(self.samples()[row]);
            let mut rest = Cells(out);
            for piece in self.pieces(row) {
                let Piece::Text { segment, cut, .. } = piece else {
                    rest.put(1, |_| {});
                    continue;
                };
                let which = usize::from(segment == Segment::Second);
                rest.put(cut.length, |out| {
                    let Some(values) = texts[which].map(|text| text.of(sample)) else {
                        return;
                    };
                    let window = values.get(cut.start..).unwrap_or_default();
                    for (to, &value) in out.iter_mut().zip(window) {
                        *to = value;
                    }
                    if let Some(values) = opening[which].map(|text| text.of(sample))
                        && let (Some(to), Some(&value)) = (out.first_mut(), values.get(cut.start))
                    {
                        *to = value;
                    }
                });
            }
        })
    }

    /// An array in which `write` has been given the cells of each row's ids; the others hold
    /// `padding`.
    fn fill<T: Copy + Send + Sync>(
        &self,
        padding: T,
        threads: usize,
        write: &(dyn Fn(usize, &mut [T]) + Sync),
    ) -> Result<Vec<T>> {
        let n_cells = self.n_cells();
        let mut cells = Vec::new();
        cells.try_reserve_exact(n_cells).map_err(|_| {
            Error::usage(format!(
                "there is no memory for an array of {n_cells} numbers\nhint: fewer texts at a time"
            ))
        })?;
        cells.resize(n_cells, padding);
        let n_rows = self.n_rows();
        let threads = if n_cells < MIN_NUMBERS_FOR_THREADS {
            1
        } else {
            threads.clamp(1, n_rows.max(1))
        };
        let begin = |row: usize| match self.columns() {
            Some(columns) => row * columns,
            None => to_index(self.row_offsets()[row]),
        };
        let some_rows = |rows: std::ops::Range<usize>, block: &mut [T]| {
            let base = begin(rows.start);
            for row in rows {
                let length = self.row_length(row);
                let lead = match self.side() {
                    Side::Left => self.columns().map_or(0, |columns| columns - length),
                    Side::Right => 0,
                };
                let start = begin(row) - base + lead;
                if let Some(out) = block.get_mut(start..start + length) {
                    write(row, out);
                }
            }
        };
        if threads == 1 {
            some_rows(0..n_rows, &mut cells);
            return Ok(cells);
        }
        std::thread::scope(|scope| {
            let mut rest = cells.as_mut_slice();
            let rows_each = n_rows.div_ceil(threads);
            for first in (0..n_rows).step_by(rows_each) {
                let last = n_rows.min(first + rows_each);
                let whole = std::mem::take(&mut rest);
                let (block, tail) = whole.split_at_mut(begin(last) - begin(first));
                rest = tail;
                let some_rows = &some_rows;
                scope.spawn(move || some_rows(first..last, block));
            }
        });
        Ok(cells)
    }
}

/// The cells of a row that have not been written yet.
struct Cells<'a, T>(&'a mut [T]);

impl<T> Cells<'_, T> {
    /// Lets `write` have the next cells, and goes on behind them.
    fn put(&mut self, length: usize, write: impl FnOnce(&mut [T])) {
        let whole = std::mem::take(&mut self.0);
        let (now, later) = whole.split_at_mut(length.min(whole.len()));
        write(now);
        self.0 = later;
    }
}
