//! Files at speed: documents in batches of bytes and offsets, compressed or not.
//!
//! Counts of pretokens are kept in [`counts`], in memory as far as it reaches and on disk beyond.
//!
//! [`DocumentReader`] streams one file (or standard input) of text or JSON lines; [`decompress`]
//! and [`compress_zstd`] serve whole small files. Compression is told from the first bytes, never
//! from the name. Memory is bounded by options, not by the input: hostile files meet a limit, and
//! say so as an [`IoError`].

mod ahead;
pub mod compress;
pub mod counts;
pub mod error;
mod jsonl;
mod lines;
pub mod places;
pub mod reader;
mod text;
mod window;

pub use compress::{compress_zstd, decompress};
pub use error::IoError;
pub use places::Places;
pub use reader::{AHEAD_FROM_BYTES, DocumentReader, Documents, Format, LeftOut, ReaderOptions};
