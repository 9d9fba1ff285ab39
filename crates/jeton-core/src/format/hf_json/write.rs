//! Writing `tokenizer.json`.

use serde_json::{Value, json};

use super::vocab::{self, Names};
use super::{
    FORMAT, added_tokens, decoder, inexpressible, inputs, normalizer, post_processor, pre_tokenizer,
};
use crate::codec::base64::Base64Bytes;
use crate::config::{Config, MissingConfig, ModelConfig};
use crate::error::{Error, Result};
use crate::format::writing::draft::{Draft, FileFormat, Words};
use crate::format::writing::ledger::Ledger;
use crate::format::writing::pairs;
use crate::format::writing::translate::to_hf;
use crate::normalize::replace::{ReplaceConfig, ReplacePattern};
use crate::normalize::{Form, NormalizerConfig};
use crate::text::unicode::UnicodeVersion;
use crate::tokenizer::Tokenizer;

/// Writes a `tokenizer.json` that `tokenizers` loads and that gives equal ids there; refused, with
/// every reason, where there is none.
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
    let is_translated = other_words.is_some();
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
    let names = Names::of_config(&config);
    let name = |id| match &names {
        Ok(names) => names.of_id(id, &config),
        Err(_) => None,
    };
    let post_processor = ledger.take(post_processor::write(&config.template, &name));
    let model = match names {
        Ok(names) => ledger.take(write_model(&config, &names)),
        Err(error) => ledger.take(Err(error)),
    };
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
        words: if is_translated {
            Words::All(Box::new(config))
        } else {
            Words::Own
        },
        ..Draft::of(ledger.take(bytes)?)
    })
}

/// CLIP's cleaning of texts, which the library does not have, becomes what transformers takes for
/// it (5.23.0, `CLIPConverter`).
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

fn write_model(config: &Config, names: &Names) -> Result<Value> {
    let dropout = config.dropout.map(f64::from);
    match &config.model {
        ModelConfig::Bpe {
            tokens,
            opaque,
            merges,
            whole_pretokens,
            missing,
        } => {
            let list = match merges {
                Some(list) => list.clone(),
                None => merges_of_ranks(tokens, opaque)?,
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
                "vocab": vocab::write(names, config, unknown),
                "merges": names.merges(&list),
            }))
        }
        ModelConfig::CharacterBpe {
            merges,
            missing,
            fuse_unknown,
            byte_fallback,
            continuing_prefix,
            end_of_word_suffix,
            whole_pretokens,
            ..
        } => {
            let affix = |affix: &String| (!affix.is_empty()).then(|| affix.clone());
            let unknown_id = match missing {
                MissingConfig::Unknown(id) => Some(*id),
                MissingConfig::Skip | MissingConfig::Fail => None,
            };
            let unknown = match missing {
                MissingConfig::Unknown(_) => names.of(unknown_id, config)?,
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
                "vocab": vocab::write(names, config, unknown_id),
                "merges": names.merges(merges),
            }))
        }
        ModelConfig::WordPiece {
            prefix,
            max_chars,
            unknown,
            ..
        } => {
            Ok(json!({
                "type": "WordPiece",
                // One that is in no vocabulary: without an unknown token the reference fails, too.
                "unk_token": names.of(*unknown, config)?.unwrap_or_default(),
                "continuing_subword_prefix": prefix,
                "max_input_chars_per_word": max_chars,
                "vocab": vocab::write(names, config, *unknown),
            }))
        }
        ModelConfig::Word { unknown, .. } => Ok(json!({
            "type": "WordLevel",
            "vocab": vocab::write(names, config, *unknown),
            "unk_token": names.of(*unknown, config)?.unwrap_or_default(),
        })),
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

/// The number that reads as this one: the parser that `tokenizers` uses (ours, too) is off by a bit
/// now and then, and that bit decides ties between segmentations.
fn legible(score: f64) -> f64 {
    const MAX_BITS_OFF: u64 = 8;
    let reads_as = |written: f64| {
        let text = serde_json::to_string(&written).unwrap_or_default();
        serde_json::from_str::<f64>(&text).is_ok_and(|read| read.to_bits() == score.to_bits())
    };
    let near = (0..=MAX_BITS_OFF).flat_map(|off| {
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

/// Returns the merge list that does what ranks do: every pair that makes a token, in the order of
/// the tokens' ids. One merge per token would not always do: ranks let any cut of a token merge
/// into it.
fn merges_of_ranks(tokens: &[Option<Base64Bytes>], opaque: &[u32]) -> Result<Vec<(u32, u32)>> {
    let vocab = pairs::vocab(tokens, opaque)?;
    Ok(pairs::all_pairs(&vocab))
}
