//! Positions in text and properties of characters.

pub mod alignment;
pub mod code_points;
pub mod growth;
pub mod rewrite;
pub mod unicode;
pub(crate) mod utf8_stream;
