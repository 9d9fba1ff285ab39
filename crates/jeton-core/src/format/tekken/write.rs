//! Writing `tekken.json`.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use super::FORMAT;
use crate::config::Config;
use crate::error::Error;
use crate::format::tiktoken::{pattern, ranks};
use crate::format::writing::draft::Draft;
use crate::format::writing::ledger::Ledger;

/// A version whose files list their special tokens (those up to 7 may leave them out), which
/// `mistral_common` 1.13.1 knows.
const VERSION: &str = "v11";

/// Writes the file, and what stands in its way.
pub(in crate::format) fn write(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let vocab = ranks(config, ledger);
    let pattern = pattern(config, ledger);
    let vocab = vocab?;
    let mut special: Vec<Value> = Vec::new();
    let mut n_special = 0;
    for token in &config.added_tokens {
        if token.id != n_special {
            ledger.refuse(format!(
                "the special token {:?} has the id {}; there they are the first ids, without a hole",
                token.content, token.id
            ));
            return None;
        }
        special.push(json!({
            "rank": token.id,
            "token_str": token.content,
            "is_control": true,
        }));
        n_special += 1;
    }
    let mut tokens = Vec::with_capacity(vocab.n_tokens() as usize);
    for id in n_special..vocab.size() {
        let rank = id - n_special;
        let bytes = vocab.id_to_bytes(id).unwrap_or_default();
        if bytes.is_empty() {
            ledger.refuse(format!(
                "the id {id} has no token; there, none may be left out"
            ));
            return None;
        }
        if rank < 256 && bytes != [rank as u8] {
            ledger.refuse(format!(
                "the id {id} is {:?}; there, the 256 bytes come in order behind the special tokens",
                String::from_utf8_lossy(bytes)
            ));
            return None;
        }
        tokens.push(json!({
            "rank": rank,
            "token_bytes": BASE64_STANDARD.encode(bytes),
            "token_str": std::str::from_utf8(bytes).ok(),
        }));
    }
    let file = json!({
        "config": {
            "pattern": pattern?,
            "num_vocab_tokens": tokens.len(),
            "default_vocab_size": vocab.size(),
            "default_num_special_tokens": n_special,
            "version": VERSION,
        },
        "vocab": tokens,
        "special_tokens": special,
    });
    let bytes =
        serde_json::to_vec_pretty(&file).map_err(|error| Error::format(FORMAT, error.to_string()));
    Some(Draft::of(ledger.take(bytes)?))
}
