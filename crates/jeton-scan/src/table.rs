//! Properties of code points: rows, found by a table of two stages.

use std::collections::HashMap;

/// Numbers of classes, in the order of the guard's own list.
pub mod kind {
    /// Letters.
    pub const LETTER: u8 = 1;
    /// Decimal digits.
    pub const DIGIT: u8 = 2;
    /// Combining marks.
    pub const MARK: u8 = 3;
    /// Marks that bind consonants.
    pub const VIRAMA: u8 = 4;
    /// Compatibility forms of ASCII letters and digits.
    pub const COMPATIBLE: u8 = 5;
    /// Emoji.
    pub const EMOJI: u8 = 6;
    /// Modifiers of emoji.
    pub const MODIFIER: u8 = 7;
    /// Braille cells.
    pub const BRAILLE: u8 = 8;
    /// Control characters but white space.
    pub const CONTROL: u8 = 9;
    /// Line and paragraph separators.
    pub const LINE_END: u8 = 10;
    /// Private use.
    pub const PRIVATE: u8 = 11;
    /// Noncharacters.
    pub const NONCHARACTER: u8 = 12;
    /// Unassigned.
    pub const UNASSIGNED: u8 = 13;
    /// First class of characters without ink.
    pub const FIRST_HIDDEN: u8 = 15;
    /// U+200C.
    pub const NON_JOINER: u8 = 16;
    /// U+200D.
    pub const JOINER: u8 = 17;
    /// U+200B.
    pub const ZERO_WIDTH_SPACE: u8 = 18;
    /// Variation selectors 1 to 16.
    pub const SELECTOR: u8 = 21;
    /// Variation selectors 17 to 256.
    pub const IDEOGRAPHIC_SELECTOR: u8 = 22;
    /// Selectors of Mongolian.
    pub const MONGOLIAN_SELECTOR: u8 = 23;
    /// Tag characters.
    pub const TAG: u8 = 24;
    /// Marks of direction.
    pub const BIDI_MARK: u8 = 26;
}

/// Flags of a row.
pub mod flag {
    /// U+FE0E and U+FE0F may follow.
    pub const EMOJI: u8 = 1;
    /// A standardized variation sequence begins with it.
    pub const VARIANT_BASE: u8 = 2;
    /// A script without spaces between words.
    pub const BREAKS: u8 = 4;
    /// Written from right to left.
    pub const RTL: u8 = 8;
    /// A unified ideograph.
    pub const IDEOGRAPH: u8 = 16;
}

/// The properties of a code point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Row {
    /// The class.
    pub kind: u8,
    /// The script; 0 Common, 1 Inherited.
    pub script: u8,
    /// The joining type; 0 none, 1 C, 2 D, 3 R, 4 L, 5 T.
    pub joining: u8,
    /// Flags.
    pub flags: u8,
    /// The bit of a script whose letters are taken for those of another; else 0.
    pub script_bit: u8,
    /// The ASCII character that it passes for; else 0.
    pub fold: u8,
    /// True for U+00C2 to U+00F4: UTF-8 read as Windows-1252 begins with such a letter.
    pub is_latin_1: bool,
}

impl Row {
    /// True for a character without ink.
    #[inline]
    pub fn is_hidden(&self) -> bool {
        self.kind >= kind::FIRST_HIDDEN
    }

    /// True for a character of a word.
    #[inline]
    pub fn is_word(&self) -> bool {
        matches!(self.kind, kind::LETTER..=kind::COMPATIBLE)
    }
}

const BLOCK_BITS: u32 = 7;
const BLOCK: usize = 1 << BLOCK_BITS;
const N_CODES: u32 = 0x11_0000;

/// Different rows, numbered as they come.
#[derive(Default)]
struct Rows {
    all: Vec<Row>,
    numbers: HashMap<Row, u16>,
}

impl Rows {
    fn number(&mut self, row: Row) -> u16 {
        *self.numbers.entry(row).or_insert_with(|| {
            self.all.push(row);
            (self.all.len() - 1) as u16
        })
    }
}

/// Rows by code point.
#[derive(Clone, Debug)]
pub struct Table {
    blocks: Vec<u16>,
    cells: Vec<u16>,
    rows: Vec<Row>,
}

impl Table {
    /// Makes a table from ranges.
    ///
    /// `ranges` has first code points, ascending from 0, each with the row of all code points up to
    /// the next; `folds` has characters with the ASCII character they pass for.
    pub fn new(ranges: &[(u32, Row)], folds: &[(char, u8)]) -> Self {
        let mut rows = Rows::default();
        let mut codes = vec![rows.number(Row::default()); N_CODES as usize];
        for (index, &(start, row)) in ranges.iter().enumerate() {
            let end = ranges.get(index + 1).map_or(N_CODES, |next| next.0);
            let (start, end) = (start.min(N_CODES) as usize, end.min(N_CODES) as usize);
            if start < end {
                codes[start..end].fill(rows.number(row));
            }
        }
        let mut change = |code: usize, changed: &dyn Fn(Row) -> Row| {
            let row = rows.all[usize::from(codes[code])];
            codes[code] = rows.number(changed(row));
        };
        for &(char, fold) in folds {
            change(char as usize, &|row| Row { fold, ..row });
        }
        for code in 0x21..0x7f_u8 {
            let fold = code.to_ascii_lowercase();
            change(usize::from(code), &|row| Row { fold, ..row });
        }
        for code in 0xc2..=0xf4 {
            change(code, &|row| Row { is_latin_1: true, ..row });
        }
        let mut cells: Vec<u16> = Vec::new();
        let mut known: HashMap<&[u16], u16> = HashMap::new();
        let mut blocks = Vec::with_capacity(N_CODES as usize / BLOCK);
        for block in codes.chunks(BLOCK) {
            blocks.push(*known.entry(block).or_insert_with(|| {
                cells.extend_from_slice(block);
                (cells.len() / BLOCK - 1) as u16
            }));
        }
        Self {
            blocks,
            cells,
            rows: rows.all,
        }
    }

    /// The rows, by number.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The number of the row of a code point; of a number that is none, that of U+0000.
    #[inline]
    pub fn number(&self, code: u32) -> usize {
        let code = code as usize;
        let block = usize::from(self.blocks.get(code >> BLOCK_BITS).copied().unwrap_or(0));
        usize::from(self.cells[block << BLOCK_BITS | code & (BLOCK - 1)])
    }

    /// The row of a code point.
    #[inline]
    pub fn row(&self, char: char) -> &Row {
        &self.rows[self.number(u32::from(char))]
    }
}
