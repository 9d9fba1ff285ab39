//! Where a document may be cut, and which cuts keep its chunks within a token budget.
//!
//! [`scan_sentences`] and [`scan_structure`] find the places ([`Boundary`]); [`cut`] chooses among
//! them. The crate knows no tokenizer: a [`Source`] tells where tokens end and counts a chunk as it
//! will be sent.

mod abbreviations;
mod blocks;
mod boundary;
mod characters;
mod choose;
mod cohesion;
mod finer;
mod lines;
mod sentences;
mod structure;

pub use blocks::{Heading, Outline, Table, scan_outline};
pub use boundary::{Boundary, Kind};
pub use choose::{Chunk, Failure, Settings, Source, cut};
pub use sentences::{Language, scan_sentences};
pub use structure::scan_structure;
