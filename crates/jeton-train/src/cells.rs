//! All rows (words, phrases) as one array of symbols that merges shrink in place.
//!
//! A row of n symbols takes n cells. A token made of k symbols keeps their k cells. The first holds
//! its id, the last holds [`TAIL`]` | k` (a token of one cell has only the id). The cells between
//! are never looked at again. So the next token starts k cells on, the previous one is found from
//! the cell before, and a merge writes three cells. Positions stay valid for ever: an outdated
//! position in a list shows when it is visited. One [`BOUNDARY`] stands before and after each row.
//!
//! The symbols of a row are bytes where training begins, and tokens where it goes on from others.
//!
//! Cost: 8 bytes a cell, symbol and row side by side, since a visit needs both; a visit is O(1),
//! whatever the length of the row.

use jeton_core::cpu::prefetch::prefetch;
use jeton_core::error::{Error, ErrorKind, Result};

/// Between two rows.
pub(crate) const BOUNDARY: u32 = u32::MAX;
/// Marks the last cell of a token; the low bits are its length in cells. Ids are below.
const TAIL: u32 = 1 << 31;
/// In place of an id that was absorbed, so that an old position cannot take it for a live one.
const ABSORBED: u32 = TAIL;

/// Most cells: lists of positions have at most three entries a cell (one for the first pairs, two
/// for each merge), and their places are u32.
const MAX_CELLS: usize = (u32::MAX / 4) as usize;

#[derive(Clone, Copy, Debug)]
struct Cell {
    symbol: u32,
    row: u32,
}

#[derive(Debug)]
#[allow(clippy::struct_field_names)] // what they are
pub(crate) struct Cells {
    cells: Vec<Cell>,
    /// Weight of each row; all together times their pairs fit i64.
    weights: Vec<i64>,
    /// Sum of weight times pairs.
    n_pairs: i64,
}

impl Cells {
    /// No rows yet, and room for `n_symbols` symbols in `n_rows` rows.
    pub(crate) fn with_capacity(n_symbols: usize, n_rows: usize) -> Self {
        let mut cells = Vec::with_capacity(n_symbols.saturating_add(n_rows).min(MAX_CELLS) + 1);
        cells.push(Cell {
            symbol: BOUNDARY,
            row: 0,
        });
        Self {
            cells,
            weights: Vec::with_capacity(n_rows),
            n_pairs: 0,
        }
    }

    /// Add a row. A weight of 0 is merged like any other and counts for nothing.
    ///
    /// Errors: `TooLarge` if the rows do not fit, or if the weighted number of pairs passes i64.
    pub(crate) fn push(&mut self, row: &[u32], weight: u64) -> Result<()> {
        if row.len() >= MAX_CELLS - self.cells.len() {
            let what = "the text of all distinct pretokens in symbols";
            return Err(ErrorKind::TooLarge {
                what,
                limit: MAX_CELLS as u64,
            }
            .into());
        }
        let n_windows = row.len().saturating_sub(1) as i64;
        self.n_pairs = i64::try_from(weight)
            .ok()
            .and_then(|weight| weight.checked_mul(n_windows))
            .and_then(|added| self.n_pairs.checked_add(added))
            .ok_or_else(|| {
                let what = "the number of pairs in the text";
                Error::from(ErrorKind::TooLarge {
                    what,
                    limit: i64::MAX as u64,
                })
            })?;
        let index = self.weights.len() as u32;
        // A weight beyond i64 belongs to a row without pairs, where it does not matter.
        self.weights.push(i64::try_from(weight).unwrap_or(i64::MAX));
        let cells = row.iter().map(|&symbol| Cell { symbol, row: index });
        self.cells.extend(cells);
        self.cells.push(Cell {
            symbol: BOUNDARY,
            row: index,
        });
        Ok(())
    }

    /// Cells, boundaries included.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The cell itself and the one after it, where both are symbols. Says something before the
    /// first merge only, while each cell is a token of its own.
    #[inline]
    pub(crate) fn first_pair(&self, at: usize) -> Option<(u32, u32)> {
        let (left, right) = (self.cells[at].symbol, self.cells.get(at + 1)?.symbol);
        (left != BOUNDARY && right != BOUNDARY).then_some((left, right))
    }

    /// Weight of the row that a cell belongs to.
    #[inline]
    pub(crate) fn weight_at(&self, at: usize) -> i64 {
        self.weights[self.cells[at].row as usize]
    }

    /// The cell itself: an id where a live token starts.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> u32 {
        self.cells[at].symbol
    }

    /// Start and id of the token before the one that starts at `at`.
    #[inline]
    pub(crate) fn before(&self, at: usize) -> Option<(usize, u32)> {
        let last = self.cells[at - 1].symbol;
        if last == BOUNDARY {
            return None;
        }
        let start = if last & TAIL == 0 {
            at - 1
        } else {
            at - (last & !TAIL) as usize
        };
        Some((start, self.cells[start].symbol))
    }

    /// Join the tokens of `left_width` and `right_width` cells at `at` into the token `id`.
    #[inline]
    pub(crate) fn join(&mut self, at: usize, left_width: usize, right_width: usize, id: u32) {
        let width = left_width + right_width;
        self.cells[at + left_width].symbol = ABSORBED;
        self.cells[at + width - 1].symbol = TAIL | width as u32;
        self.cells[at].symbol = id;
    }

    /// Bring a cell near that will be visited soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        if let Some(cell) = self.cells.get(at) {
            prefetch(cell);
        }
    }

    /// Call `each` with the weight and the tokens of every row, in the order in which they were
    /// added. `width_of`: cells of each token.
    pub(crate) fn for_each_row(
        &self,
        width_of: impl Fn(u32) -> usize,
        mut each: impl FnMut(i64, &[u32]),
    ) {
        let mut tokens = Vec::new();
        let mut at = 1;
        for &weight in &self.weights {
            tokens.clear();
            while self.cells[at].symbol != BOUNDARY {
                let id = self.cells[at].symbol;
                tokens.push(id);
                at += width_of(id);
            }
            at += 1;
            each(weight, &tokens);
        }
    }
}
