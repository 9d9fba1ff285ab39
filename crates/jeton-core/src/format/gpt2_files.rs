//! `vocab.json` and `merges.txt`: GPT-2's two files, as `tokenizers` 0.23.3 reads them.
//!
//! `vocab.json` maps tokens, written in GPT-2's alphabet, to ids; of a token listed twice the last
//! id counts. `merges.txt` has one merge a line, two tokens with one space between; lines that
//! begin with `#version` are skipped wherever they stand, and `\r\n` ends a line as `\n` does.
//! Empty lines are skipped, where the reference refuses the file; nothing else is forgiven: spaces
//! in other places would leave open which two tokens were meant.
//!
//! The files say nothing of special tokens, of a space before the text, or of what goes around it:
//! that comes from the caller.

use std::collections::{BTreeMap, HashSet};

use crate::assembly::{ModelParts, Parts};
use crate::codec::gpt2_alphabet;
use crate::config::Reference;
use crate::error::{Error, ErrorKind, Result};
use crate::inputs::template::Template;
use crate::models::bpe::{Merges, Missing};
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig, published};
use crate::special::AddedToken;
use crate::text::unicode::UnicodeVersion;
use crate::tokenizer::Tokenizer;
use crate::vocab::{MAX_IDS, Vocab};

use super::ranks::check_size;

mod write;

pub(super) use write::write;

const VOCAB: &str = "vocab.json";
const MERGES: &str = "merges.txt";

/// Options that the two files do not hold. The default adds nothing: no space, no special tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpt2Options {
    /// A space is put in front of text that does not begin with one.
    pub add_prefix_space: bool,
    /// Special tokens. A token that the vocabulary lacks gets the next id after the vocabulary's
    /// last.
    pub special_tokens: Vec<String>,
    /// The token of bytes without a token; None: such bytes are left out.
    pub unk_token: Option<String>,
    /// Special tokens put before a text on request (`<s>`).
    pub before: Vec<String>,
    /// Special tokens put after a text on request (`</s>`).
    pub after: Vec<String>,
}

/// Reads the two files.
pub fn from_gpt2_files(
    vocab_json: &[u8],
    merges_txt: &[u8],
    options: &Gpt2Options,
) -> Result<Tokenizer> {
    check_size(vocab_json, "vocab.json in bytes")?;
    check_size(merges_txt, "merges.txt in bytes")?;
    let entries: BTreeMap<String, u32> = serde_json::from_slice(vocab_json)
        .map_err(|error| Error::format_line(VOCAB, error.line() as u64, error.to_string()))?;
    if entries.is_empty() {
        return Err(Error::format(VOCAB, "it holds no tokens"));
    }
    let (merges, spelled) = read_merges(merges_txt, &entries)?;
    let added_tokens = special_tokens(options, &entries)?;
    let id_of = |name: &String| {
        let token = added_tokens.iter().find(|token| token.content == *name);
        token.map(|token| token.id).ok_or_else(|| {
            let reason = format!("{name:?} is put around texts but is not a special token");
            Error::format(VOCAB, reason)
        })
    };
    let ids = |names: &[String]| names.iter().map(id_of).collect::<Result<Vec<u32>>>();
    let template = Template::around(&ids(&options.before)?, &ids(&options.after)?);
    let missing = match &options.unk_token {
        None => Missing::Skip,
        Some(token) => Missing::Unknown(*entries.get(token).ok_or_else(|| {
            let reason = format!("the unknown token {token:?} is not in the vocabulary");
            Error::format(VOCAB, reason)
        })?),
    };
    let vocab = read_vocab(&entries, |token| {
        !options.special_tokens.iter().any(|name| name == token) || spelled.contains(token)
    })?;
    let split = StepConfig::Split(SplitConfig {
        pattern: published::GPT2.to_owned(),
        dialect: Dialect::Oniguruma,
        unicode: UnicodeVersion::REFERENCES,
        behavior: Behavior::Isolated,
        invert: false,
        in_byte_alphabet: false,
    });
    let prefix = options.add_prefix_space.then_some(StepConfig::PrefixSpace);
    Tokenizer::from_parts(Parts {
        added_tokens,
        pretokenizer: prefix.into_iter().chain([split]).collect(),
        template,
        ..Parts::new(
            Reference::Hf,
            ModelParts::Bpe {
                vocab,
                merges: Merges::List(merges),
                whole_pretokens: false,
                missing,
            },
        )
    })
}

/// Tokens and ids. A token that `is_ordinary` denies is only a special token: no text becomes it.
fn read_vocab(
    entries: &BTreeMap<String, u32>,
    is_ordinary: impl Fn(&str) -> bool,
) -> Result<Vocab> {
    let mut vocab = Vocab::with_capacity(entries.len());
    for (token, &id) in entries.iter().filter(|(token, _)| is_ordinary(token)) {
        match gpt2_alphabet::spell(token) {
            Some(bytes) => vocab.insert(id, &bytes),
            None => vocab.insert_opaque(id, token.as_bytes()),
        }
        .map_err(|error| match error.kind() {
            ErrorKind::TooLarge { .. } => error,
            _ => Error::format(VOCAB, format!("the token {token:?}: {error}")),
        })?;
    }
    Ok(vocab)
}

/// Pairs of ids in merge order.
type Pairs = Vec<(u32, u32)>;

/// The merges as pairs of ids, and the tokens of more than one character that they name or make.
fn read_merges(bytes: &[u8], entries: &BTreeMap<String, u32>) -> Result<(Pairs, HashSet<String>)> {
    let mut merges = Vec::with_capacity(entries.len());
    let mut spelled = HashSet::with_capacity(entries.len());
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#version") {
            continue;
        }
        let bad = |reason: String| Error::format_line(MERGES, number, reason);
        let line = std::str::from_utf8(line)
            .map_err(|error| bad(format!("not UTF-8 from byte {} on", error.valid_up_to())))?;
        let (left, right) = line
            .split_once(' ')
            .filter(|(left, right)| !left.is_empty() && !right.is_empty() && !right.contains(' '))
            .ok_or_else(|| {
                let shown: String = line.chars().take(80).collect();
                bad(format!(
                    "expected two tokens with one space between, found {shown:?}"
                ))
            })?;
        let id_of = |token: &str| {
            let id = entries.get(token).copied();
            id.ok_or_else(|| bad(format!("the token {token:?} is not in the vocabulary")))
        };
        merges.push((id_of(left)?, id_of(right)?));
        let made = format!("{left}{right}");
        id_of(&made)?;
        if merges.len() > MAX_IDS as usize {
            return Err(bad(format!("more than {MAX_IDS} merges")));
        }
        for token in [left, right] {
            if token.chars().nth(1).is_some() {
                spelled.insert(token.to_owned());
            }
        }
        spelled.insert(made);
    }
    Ok((merges, spelled))
}

/// Special tokens with the vocabulary's ids, or the next free ones.
fn special_tokens(
    options: &Gpt2Options,
    entries: &BTreeMap<String, u32>,
) -> Result<Vec<AddedToken>> {
    let mut next = entries.values().max().map_or(0, |&id| id.saturating_add(1));
    let mut tokens: Vec<AddedToken> = Vec::with_capacity(options.special_tokens.len());
    for name in &options.special_tokens {
        if name.is_empty() {
            return Err(Error::format(VOCAB, "a special token is empty"));
        }
        if tokens.iter().any(|token| token.content == *name) {
            continue;
        }
        let id = entries.get(name).copied().unwrap_or_else(|| {
            next = next.saturating_add(1);
            next - 1
        });
        tokens.push(AddedToken::special(id, name.as_str()));
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests;
