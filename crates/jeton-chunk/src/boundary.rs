//! Places at which a text may be cut.

/// A place at which a text may be cut: the byte at which the next part begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Byte of the text; always the first of a character.
    pub at: usize,
    /// The part that begins there.
    pub kind: Kind,
}

/// The part that begins at a boundary. The numbers are the interface to Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A heading of the first level.
    Heading1 = 1,
    /// A heading of the second level.
    Heading2 = 2,
    /// A heading of the third level.
    Heading3 = 3,
    /// A heading of the fourth level.
    Heading4 = 4,
    /// A heading of the fifth level.
    Heading5 = 5,
    /// A heading of the sixth level.
    Heading6 = 6,
    /// A paragraph or another block, after an empty line.
    Paragraph = 7,
    /// A line that continues a sentence.
    Line = 8,
    /// An item of a list.
    Item = 9,
    /// A sentence, within a line.
    Sentence = 10,
    /// A sentence at the beginning of a line.
    SentenceLine = 11,
    /// A row of a table.
    Row = 12,
    /// The rule below the head of a table.
    TableRule = 13,
    /// A line of fenced code.
    CodeLine = 14,
    /// A line of fenced code after an empty line.
    CodeBlock = 15,
    /// The text below a heading.
    Body = 16,
    /// A phrase of a script that has no sentence ends (Thai, Lao, Khmer).
    Phrase = 17,
    /// A sentence, within a line, that leans on the one before it.
    LeaningSentence = 18,
    /// A sentence at the beginning of a line that leans on the one before it.
    LeaningLine = 19,
    /// A block that the text before it announces.
    Announced = 20,
}

impl Kind {
    /// Returns the heading of a level from 1 to 6.
    pub(crate) fn heading(level: usize) -> Self {
        match level {
            0 | 1 => Self::Heading1,
            2 => Self::Heading2,
            3 => Self::Heading3,
            4 => Self::Heading4,
            5 => Self::Heading5,
            _ => Self::Heading6,
        }
    }
}
