//! The closed list of errors of reading and writing files.
//!
//! Errors have fields instead of prose: the binding crate matches on them. People read `Display`,
//! which is one line. If something can be done about it, a second line starts with `hint:`.

use std::fmt;
use std::io;

/// Result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, IoError>;

/// Everything that can go wrong with a file. `path` is what the caller gave; `-` is standard input.
#[derive(Debug)]
pub enum IoError {
    /// The operating system refused. Nothing is lost with kind `Interrupted`: the call can be made
    /// again.
    Io {
        /// The file.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The operating system refused to write.
    Write {
        /// The file, or the folder of temporary files.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A line is not the record it should be.
    Record {
        /// The file.
        path: String,
        /// 1-based line.
        line: u64,
        /// Value found and value expected.
        reason: String,
    },
    /// The input is larger than a limit that guards against hostile files.
    Limit {
        /// The file.
        path: String,
        /// Name of the thing that is too large.
        what: String,
        /// The limit, in bytes.
        limit: u64,
        /// Remedy.
        hint: &'static str,
    },
    /// Bytes that are not UTF-8, or a lone surrogate, where only valid text is allowed.
    InvalidText {
        /// The file.
        path: String,
        /// 1-based line, where a document is a line or a record.
        line: Option<u64>,
        /// Where the text stops being valid: from the start of the document where there is a line,
        /// else from the start of the (decompressed) file.
        byte_offset: u64,
    },
    /// A file of counts is not one, is damaged or ends early.
    Counts {
        /// The file.
        path: String,
        /// Value found and value expected.
        reason: String,
    },
    /// Compressed data is damaged or ends early.
    BadCompression {
        /// The file.
        path: String,
        /// Description of the fault.
        reason: String,
    },
}

impl IoError {
    /// The file that the error is about.
    pub fn path(&self) -> &str {
        match self {
            Self::Io { path, .. }
            | Self::Write { path, .. }
            | Self::Counts { path, .. }
            | Self::Record { path, .. }
            | Self::Limit { path, .. }
            | Self::InvalidText { path, .. }
            | Self::BadCompression { path, .. } => path,
        }
    }

    /// True if a signal came in between: the same call continues where it stopped.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::Interrupted)
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = Shown(self.path());
        match self {
            Self::Io { source, .. } => write!(f, "cannot read {path}: {source}"),
            Self::Write { source, .. } => write!(f, "cannot write {path}: {source}"),
            Self::Counts { reason, .. } => {
                write!(
                    f,
                    "{path}: not a valid file of counts: {reason}\n\
                     hint: `jeton count-pretokens INPUT... -o FILE` writes one; text is trained on without --from-counts"
                )
            }
            Self::Record { line, reason, .. } => write!(f, "{path}, line {line}: {reason}"),
            Self::Limit {
                what, limit, hint, ..
            } => write!(
                f,
                "{path}: {what} exceeds the limit of {limit} bytes\nhint: {hint}"
            ),
            Self::InvalidText {
                line: Some(line),
                byte_offset,
                ..
            } => write!(
                f,
                "{path}, line {line}: not valid UTF-8 at byte {byte_offset} of the text\n\
                 hint: without strict reading, such bytes are replaced and counted"
            ),
            Self::InvalidText {
                line: None,
                byte_offset,
                ..
            } => write!(
                f,
                "{path}: not valid UTF-8 at byte {byte_offset}\n\
                 hint: without strict reading, such bytes are replaced and counted"
            ),
            Self::BadCompression { reason, .. } => write!(
                f,
                "{path}: the compressed data is damaged or incomplete: {reason}\n\
                 hint: fetch or write the file again"
            ),
        }
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } | Self::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}

struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 == "-" {
            "standard input"
        } else {
            self.0
        })
    }
}
