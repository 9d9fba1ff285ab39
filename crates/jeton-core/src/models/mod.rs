//! Tokenization models, from a pretoken to ids. A model knows no other model.

pub mod bpe;
pub mod longest_match;
pub mod model;
pub mod rwkv;
pub mod uniform_sampling;
pub mod unigram;
pub mod word;
pub mod wordpiece;

pub(crate) use model::spans_of_lengths;
pub use model::{Counter, Model, Sink};
