//! Writing Anthropic's old JSON.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value, json};

use super::FORMAT;
use crate::config::Config;
use crate::error::Error;
use crate::format::tiktoken::{pattern, ranks, special_tokens};
use crate::format::writing::draft::Draft;
use crate::format::writing::ledger::Ledger;

/// Writes the file, and what stands in its way.
pub(in crate::format) fn write(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let vocab = ranks(config, ledger);
    let pattern = pattern(config, ledger);
    let vocab = vocab?;
    let mut lines: Vec<String> = Vec::new();
    let mut next = None;
    for (id, bytes) in vocab.iter() {
        if bytes.is_empty() {
            ledger.refuse(format!("the token of id {id} is empty"));
            return None;
        }
        if next != Some(id) {
            lines.push(format!("! {id}"));
        }
        next = Some(id + 1);
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            BASE64_STANDARD.encode_string(bytes, line);
        }
    }
    let special: Map<String, Value> = special_tokens(config)
        .into_iter()
        .map(|(text, id)| (text, id.into()))
        .collect();
    let added = config.added_tokens.iter().map(|token| token.id + 1).max();
    let file = json!({
        "explicit_n_vocab": vocab.size().max(added.unwrap_or(0)),
        "pat_str": pattern?,
        "special_tokens": special,
        "bpe_ranks": lines.join("\n"),
    });
    let bytes = serde_json::to_vec(&file).map_err(|error| Error::format(FORMAT, error.to_string()));
    Some(Draft::of(ledger.take(bytes)?))
}
