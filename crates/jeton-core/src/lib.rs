//! Tokenization on bytes in memory.
//!
//! The core knows nothing of files, Python, prices or pictures. Imports point one way:
//! error <- vocab <- {special, normalize, pretokenize} <- models <- pipeline <- tokenizer <-
//! {format, compiled}. Measuring and training are crates of their own, `jeton-measure` and
//! `jeton-train`.

mod assembly;
pub mod cache;
pub mod codec;
pub mod compiled;
pub mod config;
pub mod cpu;
pub mod decode;
pub mod documents;
mod engine;
pub mod error;
pub mod format;
pub mod inputs;
pub mod memory;
pub mod models;
pub mod normalize;
pub mod pipeline;
pub mod pretokenize;
pub mod raw_words;
pub mod sentencepiece;
pub mod special;
pub mod text;
pub mod tokenizer;
pub mod vocab;
