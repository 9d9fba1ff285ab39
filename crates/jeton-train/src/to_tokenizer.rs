//! Trained models as tokenizers, by their canonical form.

use jeton_core::codec::base64::Base64Bytes;
use jeton_core::codec::gpt2_alphabet::byte_to_char;
use jeton_core::config::{Config, MissingConfig, ModelConfig, Reference};
use jeton_core::decode::DecoderConfig;
use jeton_core::error::{Error, Result};
use jeton_core::normalize::NormalizerConfig;
use jeton_core::pretokenize::StepConfig;
use jeton_core::special::AddedToken;
use jeton_core::tokenizer::Tokenizer;

use crate::{TrainedBpe, TrainedFewest, TrainedTrimmed};

impl TrainedBpe {
    /// Returns the tokenizer, with the pre-tokenization that the merges were learned under.
    pub fn to_tokenizer(
        &self,
        normalizer: Vec<NormalizerConfig>,
        pretokenizer: Vec<StepConfig>,
    ) -> Result<Tokenizer> {
        bpe(self, false, normalizer, pretokenizer)
    }
}

impl TrainedTrimmed {
    /// Returns the tokenizer, which never cuts a pretoken that is a token.
    pub fn to_tokenizer(
        &self,
        normalizer: Vec<NormalizerConfig>,
        pretokenizer: Vec<StepConfig>,
    ) -> Result<Tokenizer> {
        bpe(&self.bpe, true, normalizer, pretokenizer)
    }
}

impl TrainedFewest {
    /// Returns the tokenizer: a Unigram model in the byte alphabet.
    pub fn to_tokenizer(
        &self,
        normalizer: Vec<NormalizerConfig>,
        mut pretokenizer: Vec<StepConfig>,
    ) -> Result<Tokenizer> {
        let mut added_tokens = Vec::with_capacity(self.n_special);
        let mut pieces = Vec::with_capacity(self.tokens.len());
        for (id, (bytes, &cost)) in (0_u32..).zip(self.tokens.iter().zip(&self.costs)) {
            let score = -(cost as f64);
            if (id as usize) < self.n_special {
                let content = special_text(bytes)?;
                added_tokens.push(AddedToken::special(id, content.clone()));
                pieces.push((content, score.into()));
            } else {
                let spelled = bytes.iter().map(|&byte| byte_to_char(byte)).collect();
                pieces.push((spelled, score.into()));
            }
        }
        pretokenizer.push(StepConfig::ByteLevel);
        let model = ModelConfig::Unigram {
            pieces,
            unknown: None,
            byte_fallback: false,
        };
        Tokenizer::from_config(Config {
            normalizer,
            added_tokens,
            pretokenizer,
            decoder: Some(vec![DecoderConfig::ByteLevel]),
            ..Config::new(Reference::Hf, model)
        })
    }
}

fn special_text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec())
        .map_err(|_| Error::training("a special token is not valid UTF-8"))
}

fn bpe(
    trained: &TrainedBpe,
    whole_pretokens: bool,
    normalizer: Vec<NormalizerConfig>,
    pretokenizer: Vec<StepConfig>,
) -> Result<Tokenizer> {
    let (special, learned) = trained.tokens.split_at(trained.n_special);
    let special = (0..).zip(special);
    let added_tokens = special
        .map(|(id, bytes)| Ok(AddedToken::special(id, special_text(bytes)?)))
        .collect::<Result<Vec<_>>>()?;
    // An added token is no token of the model's.
    let mut tokens = vec![None; trained.n_special];
    tokens.extend(learned.iter().map(|bytes| Some(Base64Bytes(bytes.clone()))));
    let merges = trained.merges.iter();
    let model = ModelConfig::Bpe {
        tokens,
        opaque: Vec::new(),
        merges: Some(merges.map(|&(left, right, _)| (left, right)).collect()),
        whole_pretokens,
        missing: MissingConfig::Fail,
    };
    Tokenizer::from_config(Config {
        normalizer,
        added_tokens,
        pretokenizer,
        ..Config::new(Reference::Jeton, model)
    })
}
