//! Code that the readers of rank vocabularies share: the largest file, and the way from ranks, a
//! pattern and special tokens to a tokenizer.

use crate::assembly::{ModelParts, Parts};
use crate::config::Reference;
use crate::error::{Error, ErrorKind, Result};
use crate::inputs::template::Template;
use crate::models::bpe::{Merges, Missing};
use crate::normalize::NormalizerConfig;
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig};
use crate::special::AddedToken;
use crate::text::unicode::UnicodeVersion;
use crate::tokenizer::Tokenizer;
use crate::vocab::Vocab;

/// Largest vocabulary file read, in bytes: thirty times the largest published one.
const MAX_FILE_BYTES: usize = 1 << 29;

/// Refuses a file that is larger than any vocabulary.
pub(super) fn check_size(bytes: &[u8], what: &'static str) -> Result<()> {
    if bytes.len() <= MAX_FILE_BYTES {
        return Ok(());
    }
    let limit = MAX_FILE_BYTES as u64;
    Err(ErrorKind::TooLarge { what, limit }.into())
}

/// Ranks and what goes with them, as a file has them.
pub(super) struct Ranks {
    pub(super) format: &'static str,
    pub(super) vocab: Vocab,
    pub(super) pattern: String,
    pub(super) normalizer: Vec<NormalizerConfig>,
    pub(super) special_tokens: Vec<(u32, String)>,
    pub(super) template: Template,
}

impl Ranks {
    /// The tokenizer that `tiktoken` would be with these ranks.
    pub(super) fn into_tokenizer(self) -> Result<Tokenizer> {
        if let Some(byte) = (0..=255u8).find(|&byte| self.vocab.bytes_to_id(&[byte]).is_none()) {
            let reason = format!("no rank for the byte 0x{byte:02x}; is the file cut off?");
            return Err(Error::format(self.format, reason));
        }
        let added_tokens = check_special_tokens(self.format, self.special_tokens, &self.vocab)?;
        Tokenizer::from_parts(Parts {
            normalizer: self.normalizer,
            added_tokens,
            pretokenizer: vec![StepConfig::Split(SplitConfig {
                pattern: self.pattern,
                dialect: Dialect::FancyRegex,
                unicode: UnicodeVersion::REFERENCES,
                behavior: Behavior::Isolated,
                invert: false,
                in_byte_alphabet: false,
            })],
            template: self.template,
            ..Parts::new(
                Reference::Tiktoken,
                ModelParts::Bpe {
                    vocab: self.vocab,
                    merges: Merges::ByRank,
                    whole_pretokens: true,
                    missing: Missing::Fail,
                },
            )
        })
    }
}

/// Special tokens by id; each has a text and an id of its own, which no rank has.
fn check_special_tokens(
    format: &'static str,
    mut tokens: Vec<(u32, String)>,
    vocab: &Vocab,
) -> Result<Vec<AddedToken>> {
    let fail = |reason: String| Err(Error::format(format, reason));
    tokens.sort();
    for (id, text) in &tokens {
        if text.is_empty() {
            return fail(format!("the special token of id {id} is empty"));
        }
        if vocab.id_to_bytes(*id).is_some() {
            return fail(format!(
                "the special token {text:?} has the id {id}, which is the rank of another token"
            ));
        }
    }
    if let Some(pair) = tokens.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (id, first, second) = (pair[0].0, &pair[0].1, &pair[1].1);
        return fail(format!(
            "the special tokens {first:?} and {second:?} share the id {id}"
        ));
    }
    let mut texts: Vec<&(u32, String)> = tokens.iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1));
    if let Some(pair) = texts.windows(2).find(|pair| pair[0].1 == pair[1].1) {
        let (text, first, second) = (&pair[0].1, pair[0].0, pair[1].0);
        return fail(format!(
            "the special token {text:?} has the ids {first} and {second}"
        ));
    }
    Ok(tokens
        .into_iter()
        .map(|(id, text)| AddedToken::special(id, text))
        .collect())
}
