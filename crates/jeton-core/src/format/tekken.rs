//! `tekken.json`: Mistral's rank vocabularies, as `mistral_common` 1.13 reads them.
//!
//! The file has more ranks than the model has rows. The first ids are special tokens; then come as
//! many ranks as fit below `default_vocab_size`, each shifted by the number of special tokens.
//! Files up to version 7 may leave the special tokens out, and mean the ones of that time. Ids of
//! special tokens that nobody named are called `<SPECIAL_20>` and so on.
//!
//! A text can get `<s>` before it and `</s>` after it. Text that spells a special token stays
//! text, as there.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;

use super::ranks::{Ranks, check_size};
use crate::error::{Error, ErrorKind, Result};
use crate::inputs::template::Template;
use crate::tokenizer::Tokenizer;
use crate::vocab::{MAX_IDS, Vocab};

mod write;

pub(super) use write::write;

const FORMAT: &str = "tekken.json";

/// The special tokens of files that list none, by id (`mistral_common` 1.13.1,
/// `Tekkenizer.DEPRECATED_SPECIAL_TOKENS`).
const UNLISTED: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// The last version whose files may leave the special tokens out.
const LAST_UNLISTED_VERSION: u32 = 7;
/// Special tokens that a file may ask for: each gets a text, listed or not. Published files have
/// 1,000.
const MAX_SPECIAL: usize = 1 << 16;

#[derive(Deserialize)]
struct File {
    config: Config,
    vocab: Vec<Token>,
    #[serde(default)]
    special_tokens: Option<Vec<SpecialToken>>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: u32,
    default_num_special_tokens: u32,
    version: String,
}

#[derive(Deserialize)]
struct Token {
    rank: u32,
    token_bytes: String,
}

#[derive(Deserialize)]
struct SpecialToken {
    rank: u32,
    token_str: String,
}

/// Reads a `tekken.json`.
pub fn from_tekken(bytes: &[u8]) -> Result<Tokenizer> {
    check_size(bytes, "tekken.json in bytes")?;
    let file: File = serde_json::from_slice(bytes)
        .map_err(|error| Error::format_line(FORMAT, error.line() as u64, error.to_string()))?;
    let n_special = file.config.default_num_special_tokens;
    let vocab_size = file.config.default_vocab_size;
    if vocab_size > MAX_IDS {
        let reason = format!("default_vocab_size is {vocab_size}; the limit is {MAX_IDS}");
        return Err(Error::format(FORMAT, reason));
    }
    let n_ranks = vocab_size.checked_sub(n_special).ok_or_else(|| {
        let reason = format!(
            "default_num_special_tokens ({n_special}) is above default_vocab_size ({vocab_size})"
        );
        Error::format(FORMAT, reason)
    })?;
    if n_special as usize > MAX_SPECIAL {
        return Err(ErrorKind::TooLarge {
            what: "default_num_special_tokens",
            limit: MAX_SPECIAL as u64,
        }
        .into());
    }
    let special_tokens = special_tokens(&file, n_special)?;
    let id_of = |text: &str| {
        let token = special_tokens.iter().find(|(_, other)| other == text);
        token.map(|&(id, _)| id)
    };
    // A prompt begins with `<s>`; `</s>` ends the answers, which the model writes.
    let before: Vec<u32> = id_of("<s>").into_iter().collect();
    let template = Template::around(&before, &[]);
    Ranks {
        format: FORMAT,
        vocab: read_ranks(&file.vocab, n_ranks, n_special)?,
        pattern: file.config.pattern,
        normalizer: Vec::new(),
        special_tokens,
        template,
    }
    .into_tokenizer()
}

/// Every id below `n_special` with its text.
fn special_tokens(file: &File, n_special: u32) -> Result<Vec<(u32, String)>> {
    let fail = |reason: String| Err(Error::format(FORMAT, reason));
    let version = &file.config.version;
    let Some(number) = version
        .strip_prefix('v')
        .and_then(|v| v.parse::<u32>().ok())
    else {
        return fail(format!(
            "the version is {version:?}; expected v and a number"
        ));
    };
    let mut texts: Vec<Option<String>> = vec![None; n_special as usize];
    let listed: Vec<(u32, &str)> = match &file.special_tokens {
        Some(tokens) => tokens
            .iter()
            .map(|token| (token.rank, token.token_str.as_str()))
            .collect(),
        None if number <= LAST_UNLISTED_VERSION => (0..).zip(UNLISTED).collect(),
        None => {
            return fail(format!(
                "it lists no special tokens; only files up to v{LAST_UNLISTED_VERSION} may leave them out, and this is {version}"
            ));
        }
    };
    let n_listed = listed.len();
    for (rank, text) in listed {
        match texts.get_mut(rank as usize) {
            Some(slot @ None) => *slot = Some(text.to_owned()),
            Some(Some(other)) => {
                let other = other.clone();
                return fail(format!(
                    "the special tokens {other:?} and {text:?} share the rank {rank}"
                ));
            }
            None => {
                return fail(format!(
                    "the special token {text:?} has the rank {rank}; default_num_special_tokens is {n_special}"
                ));
            }
        }
    }
    if let Some(hole) = texts.iter().take(n_listed).position(Option::is_none) {
        return fail(format!("no special token has the rank {hole}"));
    }
    let named = |(id, text): (u32, Option<String>)| {
        let filler = || format!("<SPECIAL_{id}>");
        (id, text.unwrap_or_else(filler))
    };
    Ok((0..).zip(texts).map(named).collect())
}

/// Reads the first `n_ranks` tokens. Their ids come after the special tokens' ids.
fn read_ranks(tokens: &[Token], n_ranks: u32, n_special: u32) -> Result<Vocab> {
    if tokens.len() < n_ranks as usize {
        let reason = format!(
            "it has {} tokens; default_vocab_size less default_num_special_tokens needs {n_ranks}",
            tokens.len()
        );
        return Err(Error::format(FORMAT, reason));
    }
    let mut vocab = Vocab::with_capacity(n_ranks as usize);
    let mut token = Vec::new();
    for (rank, written) in (0..n_ranks).zip(tokens) {
        let fail = |reason: String| Err(Error::format(FORMAT, format!("token {rank}: {reason}")));
        if written.rank != rank {
            return fail(format!("its rank is {}; expected its place", written.rank));
        }
        token.clear();
        if let Err(error) = BASE64_STANDARD.decode_vec(&written.token_bytes, &mut token) {
            return fail(format!(
                "token_bytes {:?} is not base64: {error}",
                written.token_bytes
            ));
        }
        if token.is_empty() {
            return fail("it is empty".to_owned());
        }
        if rank < 256 && token != [rank as u8] {
            return fail(format!(
                "it is {:?}; the first 256 are the bytes in order",
                String::from_utf8_lossy(&token)
            ));
        }
        if let Some(other) = vocab.bytes_to_id(&token) {
            return fail(format!(
                "it is {:?}, like token {}",
                String::from_utf8_lossy(&token),
                other - n_special
            ));
        }
        vocab.insert(rank + n_special, &token)?;
    }
    Ok(vocab)
}

#[cfg(test)]
mod tests;
