//! A freshly trained model as a tokenizer.

use crate::assembly::{ModelParts, Parts};
use crate::codec::gpt2_alphabet::byte_to_char;
use crate::config::Reference;
use crate::decode::DecoderConfig;
use crate::error::{Error, Result};
use crate::models::bpe::{Merges, Missing};
use crate::normalize::NormalizerConfig;
use crate::pretokenize::StepConfig;
use crate::special::AddedToken;
use crate::tokenizer::Tokenizer;
use crate::train::{TrainedBpe, TrainedFewest, TrainedTrimmed};
use crate::vocab::Vocab;

/// Puts what training found together with the pre-tokenization it was found under.
pub fn from_trained(
    trained: &TrainedBpe,
    normalizer: Vec<NormalizerConfig>,
    pretokenizer: Vec<StepConfig>,
) -> Result<Tokenizer> {
    bpe(trained, false, normalizer, pretokenizer)
}

/// Builds the tokenizer in which a pretoken that is a token is never cut.
pub fn from_trained_trimmed(
    trained: &TrainedTrimmed,
    normalizer: Vec<NormalizerConfig>,
    pretokenizer: Vec<StepConfig>,
) -> Result<Tokenizer> {
    bpe(&trained.bpe, true, normalizer, pretokenizer)
}

/// The vocabulary of fewest tokens, as a Unigram model in the byte alphabet.
pub fn from_trained_fewest(
    trained: &TrainedFewest,
    normalizer: Vec<NormalizerConfig>,
    mut pretokenizer: Vec<StepConfig>,
) -> Result<Tokenizer> {
    let mut added_tokens = Vec::with_capacity(trained.n_special);
    let mut pieces = Vec::with_capacity(trained.tokens.len());
    for (id, (bytes, &cost)) in trained.tokens.iter().zip(&trained.costs).enumerate() {
        let score = -(cost as f64);
        if id < trained.n_special {
            let content = special_text(bytes)?;
            added_tokens.push(AddedToken::special(id as u32, content.clone()));
            pieces.push((content, score));
        } else {
            let spelled = bytes.iter().map(|&byte| byte_to_char(byte)).collect();
            pieces.push((spelled, score));
        }
    }
    pretokenizer.push(StepConfig::ByteLevel);
    Tokenizer::from_parts(Parts {
        normalizer,
        added_tokens,
        pretokenizer,
        decoder: Some(vec![DecoderConfig::ByteLevel]),
        ..Parts::new(
            Reference::Hf,
            ModelParts::Unigram {
                pieces,
                unknown: None,
                byte_fallback: false,
            },
        )
    })
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
    let mut vocab = Vocab::with_capacity(trained.tokens.len());
    let mut added_tokens = Vec::with_capacity(trained.n_special);
    for (id, bytes) in trained.tokens.iter().enumerate() {
        if id < trained.n_special {
            added_tokens.push(AddedToken::special(id as u32, special_text(bytes)?));
        } else {
            vocab.insert(id as u32, bytes)?;
        }
    }
    Tokenizer::from_parts(Parts {
        normalizer,
        added_tokens,
        pretokenizer,
        ..Parts::new(
            Reference::Jeton,
            ModelParts::Bpe {
                vocab,
                merges: Merges::List(
                    trained
                        .merges
                        .iter()
                        .map(|&(left, right, _)| (left, right))
                        .collect(),
                ),
                whole_pretokens,
                missing: Missing::Fail,
            },
        )
    })
}
