//! Packing documents by their lengths into bins of one capacity.
//!
//! Lengths go in, bins come out; tokens are never touched. Each method is a function of its input
//! alone, so a run can be repeated to the byte.

mod batches;
mod best_fit;
mod bins;
mod edges;
mod first_fit;
mod order;
mod rooms;
mod table;

pub use batches::{buckets, sorted_batches};
pub use best_fit::best_fit;
pub use bins::Bins;
pub use edges::bucket_edges;
pub use first_fit::first_fit;

/// A function that is asked now and then whether the work shall go on.
pub type KeepGoing<'a> = &'a mut dyn FnMut() -> bool;

/// Documents between two questions to [`KeepGoing`]: a few milliseconds of work.
const ASK_EVERY: usize = 1 << 16;

/// Stands for no bin, no document and no group.
const NONE: u32 = u32::MAX;

/// Tables with one entry a token of capacity are used up to this capacity, or up to the number of
/// documents if that is more. Above, sorted maps take their place, so memory follows the documents.
const DENSE_CAPACITY: usize = 1 << 20;

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
    /// The edges of buckets do not ascend, or one is 0.
    BadEdges,
    /// There is not enough memory.
    NoMemory,
    /// The caller did not want to go on.
    Interrupted,
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
            Self::BadEdges => f.write_str("edges of buckets must ascend from 1 on"),
            Self::NoMemory => f.write_str("there is not enough memory"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for PackError {}

/// Refuses input that no method can pack.
fn check(lengths: &[u32], capacity: u32) -> Result<(), PackError> {
    if capacity == 0 {
        return Err(PackError::NoCapacity);
    }
    if lengths.len() >= NONE as usize {
        return Err(PackError::TooMany {
            documents: lengths.len(),
        });
    }
    match lengths.iter().position(|&length| length > capacity) {
        Some(document) => Err(PackError::TooLong {
            document,
            length: lengths[document],
        }),
        None => Ok(()),
    }
}

/// Asks at every multiple of [`ASK_EVERY`].
fn ask(done: usize, keep_going: KeepGoing<'_>) -> Result<(), PackError> {
    if done.is_multiple_of(ASK_EVERY) && !keep_going() {
        return Err(PackError::Interrupted);
    }
    Ok(())
}
