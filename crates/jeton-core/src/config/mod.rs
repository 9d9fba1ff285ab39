//! The one canonical form of a tokenizer.
//!
//! The canonical form of a tokenizer: everything that decides ids and decoding. Name, path and
//! comments are not in it. The file's format does not show. It is written as JSON with a fixed
//! order of fields; the SHA-256 of those bytes is the tokenizer's fingerprint, and a tokenizer is
//! pickled as them.

mod models;
mod sentencepiece;

pub use models::{MissingCharacterConfig, MissingConfig, ModelConfig};
pub use sentencepiece::SentencePieceConfig;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::decode::DecoderConfig;
use crate::error::{Error, Result};
use crate::inputs::template::Template;
use crate::inputs::{Padding, Truncation};
use crate::normalize::NormalizerConfig;
use crate::pretokenize::StepConfig;
use crate::special::AddedToken;

/// Version of the canonical form. It changes only when the same tokenizer would be written
/// differently.
pub const CANONICAL_VERSION: u32 = 1;

/// Name of the canonical form in messages.
const FORMAT: &str = "jeton tokenizer";

/// The library whose ids a tokenizer reproduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// `tiktoken`.
    Tiktoken,
    /// Hugging Face `tokenizers`.
    Hf,
    /// Google's `sentencepiece`.
    #[serde(rename = "sentencepiece")]
    SentencePiece,
    /// RWKV's own tokenizer.
    Rwkv,
    /// OpenAI's `simple_tokenizer.py` of CLIP.
    Clip,
    /// llama.cpp.
    LlamaCpp,
    /// A tokenizer of our own.
    Jeton,
}

impl Reference {
    /// The name (`tiktoken`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiktoken => "tiktoken",
            Self::Hf => "hf",
            Self::SentencePiece => "sentencepiece",
            Self::Rwkv => "rwkv",
            Self::Clip => "clip",
            Self::LlamaCpp => "llama_cpp",
            Self::Jeton => "jeton",
        }
    }
}

/// Everything that decides what a tokenizer does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// [`CANONICAL_VERSION`]; the first field, so that a file is recognised by its first bytes.
    pub jeton: u32,
    /// Reference whose ids these are.
    pub reference: Reference,
    /// Normalization steps, in order.
    pub normalizer: Vec<NormalizerConfig>,
    /// Special and added tokens, by id.
    pub added_tokens: Vec<AddedToken>,
    /// Steps of pre-tokenization, in order.
    pub pretokenizer: Vec<StepConfig>,
    /// Tokens around texts when special tokens are asked for.
    pub template: Template,
    /// Steps from token strings to text; null where decoding joins the tokens' bytes.
    pub decoder: Option<Vec<DecoderConfig>>,
    /// How texts that are too long are cut, if the file says so.
    pub truncation: Option<Truncation>,
    /// How batches are filled up, if the file says so.
    pub padding: Option<Padding>,
    /// The probability of leaving out a merge that the file asks for; only sampling uses it.
    pub dropout: Option<Real>,
    /// The model.
    pub model: ModelConfig,
}

/// A text and the ids that the tokenizer gave it when it was saved, to see at every load that it
/// still does. Samples are no part of the canonical form, and so not of the fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The text.
    pub text: String,
    /// Its ids, no special tokens added or allowed.
    pub ids: Vec<u32>,
}

/// Fields of a file of the canonical form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    jeton: u32,
    reference: Reference,
    normalizer: Vec<NormalizerConfig>,
    added_tokens: Vec<AddedToken>,
    pretokenizer: Vec<StepConfig>,
    template: Template,
    decoder: Option<Vec<DecoderConfig>>,
    truncation: Option<Truncation>,
    padding: Option<Padding>,
    dropout: Option<Real>,
    model: ModelConfig,
    #[serde(default)]
    samples: Vec<Sample>,
}

/// A number by the bits of its 64-bit float, so that every one of a file is written and read as it
/// is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Real(u64);

impl From<f64> for Real {
    fn from(value: f64) -> Self {
        Self(value.to_bits())
    }
}

impl From<Real> for f64 {
    fn from(real: Real) -> Self {
        Self::from_bits(real.0)
    }
}

/// SHA-256 in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Config {
    /// A model and nothing around it: the other fields are filled in where there is something.
    pub fn new(reference: Reference, model: ModelConfig) -> Self {
        Self {
            jeton: CANONICAL_VERSION,
            reference,
            normalizer: Vec::new(),
            added_tokens: Vec::new(),
            pretokenizer: Vec::new(),
            template: Template::default(),
            decoder: None,
            truncation: None,
            padding: None,
            dropout: None,
            model,
        }
    }

    /// The canonical bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::format(FORMAT, error.to_string()))
    }

    /// Reads canonical bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_file(bytes).map(|(config, _)| config)
    }

    /// Reads a file of the canonical form, which may have samples behind it.
    pub fn from_file(bytes: &[u8]) -> Result<(Self, Vec<Sample>)> {
        let file: File = serde_json::from_slice(bytes)
            .map_err(|error| Error::format_line(FORMAT, error.line() as u64, error.to_string()))?;
        if file.jeton != CANONICAL_VERSION {
            let reason = format!(
                "it has version {} and this release reads version {CANONICAL_VERSION}",
                file.jeton
            );
            return Err(Error::format(FORMAT, reason));
        }
        let config = Self {
            jeton: file.jeton,
            reference: file.reference,
            normalizer: file.normalizer,
            added_tokens: file.added_tokens,
            pretokenizer: file.pretokenizer,
            template: file.template,
            decoder: file.decoder,
            truncation: file.truncation,
            padding: file.padding,
            dropout: file.dropout,
            model: file.model,
        };
        Ok((config, file.samples))
    }

    /// SHA-256 of the canonical bytes, in hexadecimal.
    pub fn fingerprint(&self) -> Result<String> {
        Ok(sha256_hex(&self.to_bytes()?))
    }
}
