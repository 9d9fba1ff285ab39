//! `added_tokens`.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::bad;
use super::entries::Entries;
use crate::error::Result;
use crate::special::AddedToken;

/// A token as it is written. The file's own id is not read: see [`read`].
#[derive(Deserialize)]
pub(super) struct Written {
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default = "yes")]
    normalized: bool,
    #[serde(default)]
    special: bool,
}

fn yes() -> bool {
    true
}

/// Added tokens with the ids that `tokenizers` gives them. The id is the vocabulary's for this
/// text, else the next free one. The file's own number does not count (`tokenizers` 0.23 warns and
/// renumbers).
pub(super) fn read(written: Vec<Written>, vocab: &Entries<'_>) -> Result<Vec<AddedToken>> {
    let mut tokens: Vec<AddedToken> = Vec::with_capacity(written.len());
    let mut seen: HashSet<String> = HashSet::with_capacity(written.len());
    let mut next = vocab.len() as u32;
    for token in written {
        if token.content.is_empty() {
            continue;
        }
        if !seen.insert(token.content.clone()) {
            let reason = format!("the added token {:?} stands there twice", token.content);
            return Err(bad(reason));
        }
        let id = vocab.id(&token.content).unwrap_or(next);
        next = next.max(id.saturating_add(1));
        tokens.push(AddedToken {
            id,
            content: token.content,
            special: token.special,
            single_word: token.single_word,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            normalized: token.normalized,
        });
    }
    Ok(tokens)
}

pub(super) fn write(tokens: &[AddedToken]) -> Vec<Value> {
    let written = tokens.iter().map(|token| {
        json!({
            "id": token.id,
            "content": token.content,
            "single_word": token.single_word,
            "lstrip": token.lstrip,
            "rstrip": token.rstrip,
            "normalized": token.normalized,
            "special": token.special,
        })
    });
    written.collect()
}
