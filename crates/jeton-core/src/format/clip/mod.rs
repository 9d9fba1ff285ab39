//! `bpe_simple_vocab_16e6.txt`: CLIP's merges, and the vocabulary that OpenAI's code makes of them.
//!
//! The file has a first line that says nothing and far more merges than are used: the first 48,894.
//! Ids 0 to 255 are the characters of GPT-2's alphabet (the printable ones first), the next 256
//! these characters at the end of a word. The results of the merges follow, then `<|startoftext|>`
//! and `<|endoftext|>` (`clip/simple_tokenizer.py`, commit d05afc4).
//!
//! The model is BPE of characters with a suffix at the end of a word, the text is cleaned first
//! ([`crate::normalize::clip`]), and only what the pattern matches is encoded.

use std::collections::HashMap;

use super::ranks::check_size;
use crate::assembly::{ModelParts, Parts};
use crate::codec::gpt2_alphabet::byte_to_char;
use crate::config::Reference;
use crate::decode::DecoderConfig;
use crate::error::{Error, Result};
use crate::inputs::template::Template;
use crate::models::bpe::CharacterBpeOptions;
use crate::normalize::NormalizerConfig;
use crate::normalize::replace::ReplacePattern;
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig};
use crate::special::AddedToken;
use crate::text::unicode::UnicodeVersion;
use crate::tokenizer::Tokenizer;
use crate::vocab::Vocab;

mod write;

pub(super) use write::write;

const FORMAT: &str = "CLIP merges";

/// How many merges are used: 49,152 less 256 characters and the two special tokens.
const N_MERGES: usize = 49_152 - 256 - 2;
/// Suffix of the last token of a word.
const END_OF_WORD: &str = "</w>";

/// Pattern of a pretoken; text between matches is dropped. The pattern ignores case, as the
/// published one does, although the text is in lower case by then. So a long s after an apostrophe
/// counts as an s. U+0345 is dropped: its capital is a letter while it is none, and the `regex`
/// module matches it by neither class.
const PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|\p{L}+|\p{N}|[^\s\p{L}\p{N}\x{345}]+";

/// Reads the merges, decompressed, as OpenAI's tokenizer.
pub fn from_clip(bytes: &[u8]) -> Result<Tokenizer> {
    let parts = read(bytes)?;
    let mut vocab = Vocab::with_capacity(parts.tokens.len());
    for (id, token) in (0..).zip(&parts.tokens) {
        vocab.insert(id, token.as_bytes())?;
    }
    let (start, end) = parts.template;
    Tokenizer::from_parts(Parts {
        normalizer: vec![NormalizerConfig::Clip],
        added_tokens: parts.added_tokens,
        pretokenizer: vec![StepConfig::Split(parts.split), StepConfig::ByteLevel],
        template: Template::around(&[start], &[end]),
        decoder: Some(vec![
            DecoderConfig::ByteLevel,
            DecoderConfig::Replace {
                pattern: ReplacePattern::String(END_OF_WORD.to_owned()),
                content: " ".to_owned(),
            },
        ]),
        ..Parts::new(
            Reference::Clip,
            ModelParts::CharacterBpe {
                vocab,
                merges: parts.merges,
                options: CharacterBpeOptions {
                    end_of_word_suffix: END_OF_WORD.to_owned(),
                    ..CharacterBpeOptions::default()
                },
            },
        )
    })
}

/// Parts that the file is built into.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClipParts {
    /// Tokens by id, written in GPT-2's alphabet, those at the end of a word with [`END_OF_WORD`];
    /// the two special tokens are not among them.
    tokens: Vec<String>,
    /// Merges in order, as pairs of ids.
    merges: Vec<(u32, u32)>,
    /// How cleaned text is cut.
    split: SplitConfig,
    /// The two special tokens, found in cleaned text.
    added_tokens: Vec<AddedToken>,
    /// Ids put before and after a text on request.
    template: (u32, u32),
}

/// Reads the merges, decompressed.
fn read(bytes: &[u8]) -> Result<ClipParts> {
    check_size(bytes, "CLIP merges in bytes")?;
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
        Error::format_line(
            FORMAT,
            line,
            "the line is not UTF-8; is the file decompressed?",
        )
    })?;
    let printable = |byte: &u8| byte_to_char(*byte) as u32 == u32::from(*byte);
    let letters: Vec<String> = (0..=255u8)
        .filter(printable)
        .chain((0..=255u8).filter(|byte| !printable(byte)))
        .map(|byte| byte_to_char(byte).to_string())
        .collect();
    let ends = letters
        .iter()
        .map(|letter| format!("{letter}{END_OF_WORD}"));
    let mut tokens: Vec<String> = letters.iter().cloned().chain(ends).collect();
    let mut ids: HashMap<String, u32> = tokens.iter().cloned().zip(0..).collect();
    let mut merges = Vec::with_capacity(N_MERGES);
    for (number, line) in (1..).zip(text.split('\n')).skip(1).take(N_MERGES) {
        let bad = |reason: String| Error::format_line(FORMAT, number, reason);
        let mut words = line.split_whitespace();
        let (Some(left), Some(right), None) = (words.next(), words.next(), words.next()) else {
            let shown: String = line.chars().take(80).collect();
            return Err(bad(format!("expected two tokens, found {shown:?}")));
        };
        let id_of = |token: &str| {
            let id = ids.get(token).copied();
            id.ok_or_else(|| bad(format!("no merge before this line makes {token:?}")))
        };
        merges.push((id_of(left)?, id_of(right)?));
        let made = format!("{left}{right}");
        if let Some(other) = ids.insert(made.clone(), tokens.len() as u32) {
            return Err(bad(format!("it makes {made:?}, which has the id {other}")));
        }
        tokens.push(made);
    }
    if merges.len() < N_MERGES {
        let reason = format!(
            "{} merges where {N_MERGES} are used; is it cut off?",
            merges.len()
        );
        return Err(Error::format(FORMAT, reason));
    }
    let start = tokens.len() as u32;
    let special = |id, text: &str| AddedToken {
        normalized: true,
        ..AddedToken::special(id, text)
    };
    Ok(ClipParts {
        tokens,
        merges,
        split: SplitConfig {
            pattern: PATTERN.to_owned(),
            dialect: Dialect::FancyRegex,
            unicode: UnicodeVersion::REFERENCES,
            behavior: Behavior::Removed,
            invert: true,
            in_byte_alphabet: false,
        },
        added_tokens: vec![
            special(start, "<|startoftext|>"),
            special(start + 1, "<|endoftext|>"),
        ],
        template: (start, start + 1),
    })
}

#[cfg(test)]
mod tests;
