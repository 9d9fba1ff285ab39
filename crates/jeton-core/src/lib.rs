//! Tokenization on bytes in memory.
//!
//! The core knows nothing of files, Python, prices or pictures. Imports point one way:
//! error <- vocab <- {special, normalize, pretokenize} <- models <- pipeline <- tokenizer <-
//! {format, train, measure}.

pub mod alignment;
mod assembly;
pub mod base64_bytes;
pub mod batch;
pub mod bpe;
mod byte_alphabet;
mod cache_budget;
mod cache_memory;
mod caches;
pub mod code_points;
pub mod config;
pub mod decode;
pub mod documents;
mod engine;
mod entry_ids;
pub mod error;
mod filter_bits;
pub mod format;
pub mod growth;
pub mod huge;
pub mod inputs;
mod known_spans;
pub mod longest_match;
mod lossy;
mod maker;
pub mod measure;
pub mod normalize;
mod numbers;
pub mod parallel;
mod phrases;
pub mod pipeline;
mod prefetch;
pub mod pretokenize;
mod raw_words;
pub mod rewrite;
pub mod rwkv;
mod scratch;
mod seen;
mod shelf;
pub mod simd;
pub mod special;
pub mod spm;
mod stretch;
pub mod template;
pub mod tokenizer;
pub mod train;
pub mod transcode;
pub mod unicode;
pub mod uniform;
pub mod unigram;
mod units;
pub mod varint;
pub mod vocab;
pub mod word;
mod word_batch;
mod word_cache;
mod word_key;
mod word_keys;
pub mod wordpiece;
