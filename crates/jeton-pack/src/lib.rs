//! Packing documents by their lengths into bins of one capacity.
//!
//! Lengths go in, bins come out; tokens are never touched. Each method is a function of its input
//! alone, so a run can be repeated to the byte.

mod bins;
mod methods;
mod rooms;

pub use bins::Bins;
pub use methods::{best_fit, first_fit, sorted_batches};

/// Reasons why lengths cannot be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackError {
    /// No document fits into a bin without room.
    NoCapacity,
    /// A document is longer than a bin; the caller splits, cuts or drops it first.
    TooLong {
        /// Place of the document in the input.
        document: usize,
        /// Its length.
        length: u32,
    },
    /// More documents than a 32-bit place can name.
    TooMany {
        /// Number of documents given.
        documents: usize,
    },
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoCapacity => f.write_str("the capacity is 0"),
            Self::TooLong { document, length } => {
                write!(
                    f,
                    "document {document} has {length} tokens, more than a bin holds"
                )
            }
            Self::TooMany { documents } => {
                write!(f, "{documents} documents are more than 4294967294")
            }
        }
    }
}

impl std::error::Error for PackError {}
