//! File formats, parsed from bytes and written to bytes.

mod claude;
mod clip;
pub mod gguf;
mod gpt2_files;
mod hf_json;
mod ranks;
mod rwkv;
pub mod sentencepiece;
mod tekken;
mod tiktoken;
mod trained;
mod vocab_txt;

pub use claude::from_claude;
pub use clip::from_clip;
pub use gguf::from_gguf;
pub use gpt2_files::{Gpt2Options, from_gpt2_files};
pub use hf_json::{from_hf_json, to_hf_json};
pub use rwkv::from_rwkv;
pub use tekken::from_tekken;
pub use tiktoken::{TiktokenOptions, from_tiktoken, to_tiktoken};
pub use trained::from_trained;
pub use vocab_txt::{BertOptions, from_vocab_txt, to_vocab_txt};

use crate::config::Config;
use crate::error::Result;
use crate::tokenizer::Tokenizer;

/// Reads the canonical form.
pub fn from_canonical(bytes: &[u8]) -> Result<Tokenizer> {
    Tokenizer::from_config(Config::from_bytes(bytes)?)
}

/// Writes the canonical form.
pub fn to_canonical(tokenizer: &Tokenizer) -> Result<Vec<u8>> {
    tokenizer.to_config().to_bytes()
}

/// Reads a SentencePiece `.model`.
pub fn from_sentencepiece(bytes: &[u8]) -> Result<Tokenizer> {
    Tokenizer::from_sentencepiece(sentencepiece::SpmFile::from_bytes(bytes)?.model)
}
