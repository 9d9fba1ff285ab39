//! Writing `tokenizer.json`.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    FORMAT, added_tokens, decoder, inexpressible, inputs, normalizer, post_processor, pre_tokenizer,
};
use crate::base64_bytes::Base64Bytes;
use crate::byte_alphabet;
use crate::config::{Config, MissingConfig, ModelConfig};
use crate::error::{Error, Result};
use crate::format::writing::translate::to_hf;
use crate::format::writing::{Draft, FileFormat, Ledger, pairs};
use crate::normalize::replace::{ReplaceConfig, ReplacePattern};
use crate::normalize::{Form, NormalizerConfig};
use crate::tokenizer::Tokenizer;
use crate::unicode::UnicodeVersion;

/// Writes a `tokenizer.json` that `tokenizers` loads and that gives equal ids there; refused, with every reason,
/// where there is none.
pub fn to_hf_json(tokenizer: &Tokenizer) -> Result<Vec<u8>> {
    let mut ledger = Ledger::default();
    let draft = write(&tokenizer.to_config(), &mut ledger);
    ledger.check(FileFormat::HfJson)?;
    let file = draft.and_then(|mut draft| draft.files.pop());
    file.map(|file| file.bytes)
        .ok_or_else(|| inexpressible("it cannot be written"))
}

/// Writes a `tokenizer.json`, and what stands in its way.
pub(in crate::format) fn write(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let other_words = match &config.model {
        ModelConfig::SentencePiece(_)
        | ModelConfig::Character { .. }
        | ModelConfig::RawBytes { .. } => Some(to_hf(config, ledger)?),
        _ => None,
    };
    let translated = other_words.is_some();
    let mut config = other_words.unwrap_or_else(|| config.clone());
    clean_up(&mut config, ledger);
    let on_bytes = matches!(config.model, ModelConfig::Bpe { .. });
    let decoder = match &config.decoder {
        Some(steps) => Some(decoder::write(steps)),
        None if on_bytes => Some(decoder::byte_level()),
        None => {
            ledger.refuse("it decodes by joining bytes, without a vocabulary of bytes");
            None
        }
    };
    let normalizer = ledger.take(normalizer::write(&config.normalizer));
    let pre_tokenizer = ledger.take(pre_tokenizer::write(&config.pretokenizer, on_bytes));
    let post_processor = ledger.take(post_processor::write(
        &config.template,
        &config.added_tokens,
    ));
    let model = model(&config, ledger);
    let file = json!({
        "version": "1.0",
        "truncation": inputs::write_truncation(config.truncation.as_ref()),
        "padding": inputs::write_padding(config.padding.as_ref()),
        "added_tokens": added_tokens::write(&config.added_tokens),
        "normalizer": normalizer?,
        "pre_tokenizer": pre_tokenizer?,
        "post_processor": post_processor?,
        "decoder": decoder?,
        "model": model?,
    });
    let bytes =
        serde_json::to_vec_pretty(&file).map_err(|error| Error::format(FORMAT, error.to_string()));
    Some(Draft {
        translated,
        ..Draft::of(ledger.take(bytes)?)
    })
}

/// CLIP's cleaning of texts, which the library does not have, becomes what transformers takes for it (5.23.0,
/// `CLIPConverter`).
fn clean_up(config: &mut Config, ledger: &mut Ledger) {
    if !config.normalizer.contains(&NormalizerConfig::Clip) {
        return;
    }
    ledger.lose(
        "normalizer",
        "that entities of HTML and damaged encodings are mended",
        "texts with such things in them get other ids",
    );
    let steps = config.normalizer.iter().flat_map(|step| match step {
        NormalizerConfig::Clip => vec![
            NormalizerConfig::Form {
                form: Form::Nfc,
                unicode: UnicodeVersion::HF_NORMALIZATION,
            },
            NormalizerConfig::Replace(ReplaceConfig {
                pattern: ReplacePattern::Regex(r"\s+".to_owned()),
                content: " ".to_owned(),
            }),
            NormalizerConfig::Lowercase,
        ],
        other => vec![other.clone()],
    });
    config.normalizer = steps.collect();
}

/// The model, and what stands in its way.
fn model(config: &Config, ledger: &mut Ledger) -> Option<Value> {
    ledger.take(write_model(config))
}

fn write_model(config: &Config) -> Result<Value> {
    let dropout = config.dropout.map(f64::from);
    match &config.model {
        ModelConfig::Bpe {
            tokens,
            opaque,
            merges,
            whole_pretokens,
            missing,
        } => {
            let config_opaque = opaque;
            let opaque: HashSet<u32> = opaque.iter().copied().collect();
            let names = Names::new(tokens, |id, bytes| {
                if opaque.contains(&id) {
                    String::from_utf8_lossy(bytes).into_owned()
                } else {
                    byte_alphabet::write(bytes)
                }
            });
            let list = match merges {
                Some(list) => list.clone(),
                None => merges_of_ranks(tokens, config_opaque)?,
            };
            let unknown = match missing {
                MissingConfig::Unknown(id) => Some(*id),
                MissingConfig::Skip | MissingConfig::Fail => None,
            };
            Ok(json!({
                "type": "BPE",
                "dropout": dropout,
                "unk_token": names.of(unknown, config)?,
                "continuing_subword_prefix": null,
                "end_of_word_suffix": null,
                "fuse_unk": false,
                "byte_fallback": false,
                "ignore_merges": whole_pretokens,
                "vocab": names.vocab(config),
                "merges": names.merges(&list),
            }))
        }
        ModelConfig::CharacterBpe {
            tokens,
            merges,
            missing,
            fuse_unknown,
            byte_fallback,
            continuing_prefix,
            end_of_word_suffix,
            whole_pretokens,
            ..
        } => {
            let names = Names::of_strings(tokens)?;
            let affix = |affix: &String| (!affix.is_empty()).then(|| affix.clone());
            let unknown = match missing {
                MissingConfig::Unknown(id) => names.of(Some(*id), config)?,
                MissingConfig::Skip => None,
                // A name that no vocabulary has: the reference fails where it is needed, too.
                MissingConfig::Fail => Some(String::new()),
            };
            Ok(json!({
                "type": "BPE",
                "dropout": dropout,
                "unk_token": unknown,
                "continuing_subword_prefix": affix(continuing_prefix),
                "end_of_word_suffix": affix(end_of_word_suffix),
                "fuse_unk": fuse_unknown,
                "byte_fallback": byte_fallback,
                "ignore_merges": whole_pretokens,
                "vocab": names.vocab(config),
                "merges": names.merges(merges),
            }))
        }
        ModelConfig::WordPiece {
            tokens,
            prefix,
            max_chars,
            unknown,
            ..
        } => {
            let names = Names::of_strings(tokens)?;
            Ok(json!({
                "type": "WordPiece",
                // One that is in no vocabulary: without an unknown token the reference fails, too.
                "unk_token": names.of(*unknown, config)?.unwrap_or_default(),
                "continuing_subword_prefix": prefix,
                "max_input_chars_per_word": max_chars,
                "vocab": names.vocab(config),
            }))
        }
        ModelConfig::Word {
            tokens, unknown, ..
        } => {
            let names = Names::of_strings(tokens)?;
            Ok(json!({
                "type": "WordLevel",
                "vocab": names.vocab(config),
                "unk_token": names.of(*unknown, config)?.unwrap_or_default(),
            }))
        }
        ModelConfig::Unigram {
            pieces,
            unknown,
            byte_fallback,
        } => {
            let listed = pieces
                .iter()
                .map(|(piece, score)| json!([piece, legible(f64::from(*score))]));
            let last = pieces.len() as u32;
            if let Some(token) = config.added_tokens.iter().find(|token| {
                // The reference numbers what is in no vocabulary from its end on.
                token.id >= last && token.id - last >= config.added_tokens.len() as u32
            }) {
                return Err(inexpressible(format!(
                    "the id {} of {:?} leaves a hole after the pieces",
                    token.id, token.content
                )));
            }
            Ok(json!({
                "type": "Unigram",
                "unk_id": unknown,
                "vocab": listed.collect::<Vec<_>>(),
                "byte_fallback": byte_fallback,
            }))
        }
        ModelConfig::Greedy { .. } => Err(inexpressible(
            "the library has no model that takes the longest token that fits",
        )),
        ModelConfig::Character { .. }
        | ModelConfig::RawBytes { .. }
        | ModelConfig::SentencePiece(_) => Err(inexpressible("the library has no such model")),
    }
}

/// The number that reads as this one: the parser that `tokenizers` uses (ours, too) is off by a bit now and
/// then, and that bit decides ties between segmentations.
fn legible(score: f64) -> f64 {
    const MOST_BITS_OFF: u64 = 8;
    let reads_as = |written: f64| {
        let text = serde_json::to_string(&written).unwrap_or_default();
        serde_json::from_str::<f64>(&text).is_ok_and(|read| read.to_bits() == score.to_bits())
    };
    let near = (0..=MOST_BITS_OFF).flat_map(|off| {
        [
            score.to_bits().wrapping_add(off),
            score.to_bits().wrapping_sub(off),
        ]
        .map(f64::from_bits)
    });
    near.into_iter()
        .find(|&written| reads_as(written))
        .unwrap_or(score)
}

/// Token strings by id.
struct Names(Vec<Option<String>>);

impl Names {
    fn new(tokens: &[Option<Base64Bytes>], spell: impl Fn(u32, &[u8]) -> String) -> Self {
        let names = (0..)
            .zip(tokens)
            .map(|(id, token)| token.as_ref().map(|token| spell(id, &token.0)));
        Self(names.collect())
    }

    fn of_strings(tokens: &[Option<Base64Bytes>]) -> Result<Self> {
        let names = tokens.iter().map(|token| {
            let Some(Base64Bytes(bytes)) = token else {
                return Ok(None);
            };
            let text = String::from_utf8(bytes.clone())
                .map_err(|_| inexpressible("a token is not UTF-8"))?;
            Ok(Some(text))
        });
        Ok(Self(names.collect::<Result<_>>()?))
    }

    fn get(&self, id: u32) -> Option<&str> {
        self.0.get(id as usize)?.as_deref()
    }

    /// The name of an id, which may be that of an added token.
    fn of(&self, id: Option<u32>, config: &Config) -> Result<Option<String>> {
        let Some(id) = id else { return Ok(None) };
        let added = || {
            let mut tokens = config.added_tokens.iter();
            tokens
                .find(|token| token.id == id)
                .map(|token| token.content.as_str())
        };
        self.get(id)
            .or_else(added)
            .map(|name| Some(name.to_owned()))
            .ok_or_else(|| inexpressible(format!("its unknown token {id} has no text")))
    }

    /// Special tokens stand in the vocabulary too: `tokenizers` numbers those that do not as it likes.
    fn vocab(&self, config: &Config) -> Map<String, Value> {
        let mut vocab = Map::with_capacity(self.0.len());
        for (id, name) in self.0.iter().enumerate() {
            if let Some(name) = name {
                vocab.insert(name.clone(), json!(id));
            }
        }
        for token in &config.added_tokens {
            vocab.insert(token.content.clone(), json!(token.id));
        }
        vocab
    }

    fn merges(&self, list: &[(u32, u32)]) -> Vec<[&str; 2]> {
        let name = |id| self.get(id).unwrap_or_default();
        list.iter()
            .map(|&(left, right)| [name(left), name(right)])
            .collect()
    }
}

/// The merge list that does what ranks do: every pair that makes a token, in the order of the tokens'
/// ids. (A single merge per token would not always do: ranks let any cut of a token merge into it.)
fn merges_of_ranks(tokens: &[Option<Base64Bytes>], opaque: &[u32]) -> Result<Vec<(u32, u32)>> {
    let vocab = pairs::vocab(tokens, opaque)?;
    Ok(pairs::all_pairs(&vocab))
}
