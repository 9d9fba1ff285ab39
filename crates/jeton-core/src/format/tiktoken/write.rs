//! Writing rank files; and what other formats of ranks write alike.

use base64::prelude::{BASE64_STANDARD, Engine};

use super::EMPTY_TOKEN;
use crate::config::{Config, ModelConfig};
use crate::error::{ErrorKind, Result};
use crate::format::writing::draft::{Draft, FileFormat, ReadOptions};
use crate::format::writing::ledger::Ledger;
use crate::format::writing::pairs;
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig};
use crate::text::unicode::UnicodeVersion;
use crate::tokenizer::Tokenizer;
use crate::vocab::Vocab;

/// Writes a rank file; only the ranks, as the format has it: pattern and special tokens belong to
/// whoever reads it.
pub fn to_tiktoken(tokenizer: &Tokenizer) -> Result<Vec<u8>> {
    let mut ledger = Ledger::default();
    let bytes = ranks(&tokenizer.to_config(), &mut ledger).map(|vocab| lines(&vocab));
    ledger.check(FileFormat::Tiktoken)?;
    bytes.ok_or_else(|| {
        ErrorKind::Inexpressible {
            format: super::FORMAT,
            reason: "it cannot be written".to_owned(),
        }
        .into()
    })
}

/// Writes a rank file, and what stands in its way.
pub(in crate::format) fn write(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let vocab = ranks(config, ledger);
    let pattern = pattern(config, ledger);
    Some(Draft {
        options: ReadOptions {
            pattern: Some(pattern?),
            special_tokens: Some(special_tokens(config)),
            ..ReadOptions::default()
        },
        ..Draft::of(lines(&vocab?))
    })
}

/// The vocabulary, if its ids are ranks.
pub(in crate::format) fn ranks(config: &Config, ledger: &mut Ledger) -> Option<Vocab> {
    let ModelConfig::Bpe {
        tokens,
        opaque,
        merges,
        whole_pretokens,
        ..
    } = &config.model
    else {
        ledger.refuse("only byte-level BPE has ranks");
        return None;
    };
    let vocab = ledger.take(pairs::vocab(tokens, opaque))?;
    if let Some(byte) = (0..=255u8).find(|&byte| vocab.bytes_to_id(&[byte]).is_none()) {
        ledger.refuse(format!("it has no token for the byte 0x{byte:02x}"));
    }
    let is_added = |id: u32| config.added_tokens.iter().any(|token| token.id == id);
    let mut strings = 0;
    let mut twice = 0;
    for (id, bytes) in vocab.iter().filter(|&(id, _)| !is_added(id)) {
        strings += usize::from(!vocab.is_findable(id) && !bytes.is_empty());
        let hidden = vocab.bytes_to_id(bytes).is_some_and(|other| other != id);
        twice += usize::from(vocab.is_findable(id) && hidden);
    }
    if strings > 0 {
        ledger.refuse(format!("{strings} of its tokens are no byte strings"));
    }
    if twice > 0 {
        ledger.refuse(format!("{twice} of its tokens have the bytes of another"));
    }
    let list = merges
        .as_deref()
        .map_or(Ok(Vec::new()), |list| pairs::by_rank(&vocab, list));
    match list {
        Ok(unreached) if unreached.is_empty() || *whole_pretokens => {}
        Ok(unreached) => ledger.refuse(format!(
            "{} of its tokens are not made by its merges, and ranks would find them as whole pretokens",
            unreached.len()
        )),
        Err(reason) => ledger.refuse(reason),
    }
    let mut kept = Vocab::with_capacity(vocab.n_tokens() as usize);
    for (id, bytes) in vocab.iter().filter(|&(id, _)| !is_added(id)) {
        ledger.take(if bytes.is_empty() {
            kept.insert_opaque(id, bytes)
        } else {
            kept.insert(id, bytes)
        })?;
    }
    Some(kept)
}

fn lines(vocab: &Vocab) -> Vec<u8> {
    let mut out = Vec::with_capacity(vocab.n_tokens() as usize * 14);
    for (id, bytes) in vocab.iter() {
        match bytes {
            [] => out.extend_from_slice(EMPTY_TOKEN),
            bytes => out.extend_from_slice(BASE64_STANDARD.encode(bytes).as_bytes()),
        }
        out.extend_from_slice(format!(" {id}\n").as_bytes());
    }
    out
}

/// The one pattern by which text is cut, as `tiktoken` reads it.
pub(in crate::format) fn pattern(config: &Config, ledger: &mut Ledger) -> Option<String> {
    let [StepConfig::Split(split)] = config.pretokenizer.as_slice() else {
        ledger.refuse(match config.pretokenizer.len() {
            0 => {
                "it does not cut text before its model sees it, and ranks need a pattern".to_owned()
            }
            1 => "it does not cut text by a pattern".to_owned(),
            n => format!("it cuts text in {n} steps, and ranks have one pattern"),
        });
        return None;
    };
    let as_read = |pattern: String| SplitConfig {
        pattern,
        dialect: Dialect::FancyRegex,
        unicode: UnicodeVersion::REFERENCES,
        behavior: Behavior::Isolated,
        invert: false,
        in_byte_alphabet: false,
    };
    // The end of a text is written otherwise in the two dialects.
    let candidates = [split.pattern.clone(), split.pattern.replace(r"\z", "$")];
    let found = candidates
        .into_iter()
        .find(|pattern| as_read(pattern.clone()).cuts_like(split));
    if found.is_none() {
        ledger.refuse("ranks cannot be read with a pattern that cuts text in the same way");
    }
    found
}

/// Added tokens with their ids, special or not.
pub(in crate::format) fn special_tokens(config: &Config) -> Vec<(String, u32)> {
    let tokens = config.added_tokens.iter();
    tokens
        .map(|token| (token.content.clone(), token.id))
        .collect()
}
