//! The closed list of errors of the core.
//!
//! An [`Error`] is one pointer wide and says what was wrong with fields, not prose: callers match
//! on [`ErrorKind`], people read its `Display`. The binding crate maps each kind to one Python
//! class in one exhaustive match, so a new kind cannot be forgotten there.

use std::fmt;

/// Result of the core's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the core. See [`ErrorKind`] for what can go wrong.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// Everything that can go wrong in the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// A file does not have the format it should have.
    Format {
        /// The format that was expected (`tiktoken`, `tokenizer.json` ...).
        format: &'static str,
        /// 1-based line, where the format has lines.
        line: Option<u64>,
        /// Byte offset, where lines do not help.
        offset: Option<u64>,
        /// Value found and value expected.
        reason: String,
    },
    /// A component of a tokenizer file is known by name but not supported.
    Unsupported {
        /// The format in which it was met.
        format: &'static str,
        /// Where it stands (`pre_tokenizer`, `model` ...).
        place: &'static str,
        /// Its name.
        component: String,
    },
    /// A split pattern cannot be parsed or compiled.
    Pattern {
        /// The pattern.
        pattern: String,
        /// Byte offset in the pattern, where known.
        offset: Option<u64>,
        /// Description of the fault.
        reason: String,
    },
    /// A split pattern that needs backtracking gave up on a text.
    PatternCost {
        /// Where in the text the search started.
        byte_offset: u64,
    },
    /// An id has no token.
    UnknownId {
        /// The id.
        id: u64,
        /// One past the highest id.
        vocab_size: u64,
    },
    /// A token named as special is not one of the tokenizer's.
    UnknownSpecial {
        /// The name given.
        token: String,
    },
    /// A piece of text has no token and the model has no way to say so.
    Unencodable {
        /// The bytes, as text.
        piece: String,
    },
    /// Bytes that are not UTF-8.
    InvalidUtf8 {
        /// Where the first bad byte is.
        byte_offset: u64,
    },
    /// Something is larger than the core can count.
    TooLarge {
        /// Name of the thing that is too large.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A file makes a text longer than it may become.
    Growth {
        /// Step that makes it longer (`normalization` ...).
        stage: &'static str,
        /// Bytes of the text.
        n_bytes: u64,
        /// Bytes that it may become.
        limit: u64,
        /// Times its length that it may become.
        times: u32,
    },
    /// A tokenizer cannot be trained as asked.
    Training {
        /// Description of the fault, and the remedy.
        reason: String,
    },
    /// A tokenizer cannot be written in a format.
    Inexpressible {
        /// The format.
        format: &'static str,
        /// Part of the tokenizer that the format cannot express.
        reason: String,
    },
    /// Arguments are out of range, contradict one another, or do not fit the tokenizer.
    Usage {
        /// Value found, value expected, and the remedy.
        reason: String,
    },
    /// The caller asked to stop.
    Interrupted,
}

impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// A format error in a line-oriented file.
    pub fn format_line(format: &'static str, line: u64, reason: impl Into<String>) -> Self {
        ErrorKind::Format {
            format,
            line: Some(line),
            offset: None,
            reason: reason.into(),
        }
        .into()
    }

    /// A format error without a position.
    pub fn format(format: &'static str, reason: impl Into<String>) -> Self {
        ErrorKind::Format {
            format,
            line: None,
            offset: None,
            reason: reason.into(),
        }
        .into()
    }

    /// A pattern error.
    pub fn pattern(pattern: &str, offset: Option<usize>, reason: impl Into<String>) -> Self {
        ErrorKind::Pattern {
            pattern: pattern.to_owned(),
            offset: offset.map(|o| o as u64),
            reason: reason.into(),
        }
        .into()
    }

    /// A component that is not supported.
    pub fn unsupported(
        format: &'static str,
        place: &'static str,
        component: impl Into<String>,
    ) -> Self {
        ErrorKind::Unsupported {
            format,
            place,
            component: component.into(),
        }
        .into()
    }

    /// A training error.
    pub fn training(reason: impl Into<String>) -> Self {
        ErrorKind::Training {
            reason: reason.into(),
        }
        .into()
    }

    /// Arguments that cannot be.
    pub fn usage(reason: impl Into<String>) -> Self {
        ErrorKind::Usage {
            reason: reason.into(),
        }
        .into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format {
                format,
                line,
                offset,
                reason,
            } => {
                write!(f, "not a valid {format} file: ")?;
                if let Some(line) = line {
                    write!(f, "line {line}: ")?;
                }
                if let Some(offset) = offset {
                    write!(f, "byte {offset}: ")?;
                }
                f.write_str(reason)
            }
            Self::Unsupported {
                format,
                place,
                component,
            } => {
                write!(
                    f,
                    "the {format} file uses {component:?} as {place}, which is not supported"
                )
            }
            Self::Pattern {
                pattern,
                offset,
                reason,
            } => {
                write!(f, "bad split pattern {}: {reason}", Shortened(pattern))?;
                if let Some(offset) = offset {
                    write!(f, " (at byte {offset} of the pattern)")?;
                }
                Ok(())
            }
            Self::PatternCost { byte_offset } => write!(
                f,
                "the split pattern gave up on the text at byte {byte_offset}: it needs too much backtracking\n\
                 hint: write the pattern without look-around or back-references"
            ),
            Self::UnknownId { id, vocab_size } => {
                write!(
                    f,
                    "id {id} has no token; the ids of this tokenizer are below {vocab_size}"
                )
            }
            Self::UnknownSpecial { token } => write!(
                f,
                "{token:?} is not a special token of this tokenizer\n\
                 hint: `special_tokens` lists them; \"all\" allows every one"
            ),
            Self::Unencodable { piece } => write!(
                f,
                "{piece:?} cannot be encoded: the vocabulary has no token for it and none for unknown text"
            ),
            Self::InvalidUtf8 { byte_offset } => {
                write!(
                    f,
                    "the text is not valid UTF-8: first bad byte at offset {byte_offset}"
                )
            }
            Self::TooLarge { what, limit } => write!(f, "{what} exceeds the limit of {limit}"),
            Self::Growth {
                stage,
                n_bytes,
                limit,
                times,
            } => write!(
                f,
                "{stage} makes more than {limit} bytes of a text of {n_bytes}: the limit is {times} times its length\n\
                 hint: the tokenizer's file rewrites text into much more text; if it is meant so, \
                 `set_growth_limit` allows more"
            ),
            Self::Training { reason } | Self::Usage { reason } => f.write_str(reason),
            Self::Inexpressible { format, reason } => {
                write!(f, "this tokenizer cannot be written as {format}: {reason}")
            }
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

/// Shows at most the first 120 characters of a long string.
struct Shortened<'a>(&'a str);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LIMIT: usize = 120;
        match self.0.char_indices().nth(LIMIT) {
            Some((end, _)) => write!(f, "{:?}...", &self.0[..end]),
            None => write!(f, "{:?}", self.0),
        }
    }
}
