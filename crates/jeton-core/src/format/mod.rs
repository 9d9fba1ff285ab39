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
mod vocab_txt;
pub mod writing;

pub use claude::from_claude;
pub use clip::from_clip;
pub use gguf::from_gguf;
pub use gpt2_files::{Gpt2Options, from_gpt2_files};
pub use hf_json::{from_hf_json, to_hf_json};
pub use rwkv::from_rwkv;
pub use tekken::from_tekken;
pub use tiktoken::{RankFile, TiktokenOptions, from_tiktoken, to_tiktoken};
pub use vocab_txt::{BertOptions, from_vocab_txt, to_vocab_txt};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::special::Allow;
use crate::tokenizer::Tokenizer;

/// Reads the canonical form. Samples that the file has are tried: a tokenizer that gives a sample
/// other ids than it gave when it was saved is refused.
pub fn from_canonical(bytes: &[u8]) -> Result<Tokenizer> {
    let (config, samples) = Config::from_file(bytes)?;
    let tokenizer = Tokenizer::from_config(config)?;
    let mut ids = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        ids.clear();
        let shown: String = sample.text.chars().take(40).collect();
        tokenizer.encode_into(&sample.text, &Allow::None, false, &mut ids)?;
        if ids != sample.ids {
            let few = |ids: &[u32]| {
                let more = if ids.len() > 16 { ", ..." } else { "" };
                let ids: Vec<String> = ids.iter().take(16).map(u32::to_string).collect();
                format!("[{}{more}]", ids.join(", "))
            };
            let reason = format!(
                "sample {number}, {shown:?}, gets the ids {} and not {}: it is damaged, or made by a release that \
                 encoded otherwise",
                few(&ids),
                few(&sample.ids)
            );
            return Err(Error::format("jeton tokenizer", reason));
        }
    }
    Ok(tokenizer)
}

/// Writes the canonical form.
pub fn to_canonical(tokenizer: &Tokenizer) -> Result<Vec<u8>> {
    tokenizer.to_config().to_bytes()
}

/// Reads a SentencePiece `.model`.
pub fn from_sentencepiece(bytes: &[u8]) -> Result<Tokenizer> {
    sentencepiece::SpmFile::from_bytes(bytes)?.into_tokenizer()
}
