//! Freshly trained models on characters as tokenizers, in the way in which `tokenizers` has them.

use crate::assembly::{ModelParts, Parts};
use crate::config::Reference;
use crate::decode::DecoderConfig;
use crate::error::{Error, Result};
use crate::inputs::template::Template;
use crate::models::bpe::{CharacterBpeOptions, Missing};
use crate::models::word::MissingCharacter;
use crate::normalize::NormalizerConfig;
use crate::pretokenize::{Behavior, StepConfig};
use crate::sentencepiece::SpmModel;
use crate::special::AddedToken;
use crate::tokenizer::Tokenizer;
use crate::train::{CharacterModelKind, Surroundings, TrainedChars};
use crate::vocab::Vocab;

/// Puts what training found together with the pipeline it was found under.
pub fn from_trained_characters(
    trained: &TrainedChars,
    kind: CharacterModelKind,
    around: &Surroundings,
    normalizer: Vec<NormalizerConfig>,
    pretokenizer: Vec<StepConfig>,
) -> Result<Tokenizer> {
    let mut vocab = Vocab::with_capacity(trained.tokens.len());
    let mut added_tokens = Vec::new();
    let special = |text: &str| {
        let found = trained.tokens[..trained.n_special]
            .iter()
            .position(|token| token == text);
        found.map(|id| id as u32).ok_or_else(|| {
            Error::training(format!(
                "{text:?} is to be a special token and is none of those given"
            ))
        })
    };
    for (id, text) in (0u32..).zip(&trained.tokens) {
        if (id as usize) < trained.n_special {
            added_tokens.push(AddedToken::special(id, text.as_str()));
            // Merges of characters never make a special token; the other models find one by its
            // text.
            if matches!(kind, CharacterModelKind::Bpe(_)) {
                vocab.insert_opaque(id, text.as_bytes())?;
                continue;
            }
            // No character is one of several: beside the vocabulary is where a tokenizer.json has
            // it.
            if kind == CharacterModelKind::Character && text.chars().nth(1).is_some() {
                continue;
            }
        }
        vocab.insert(id, text.as_bytes())?;
    }
    let mut next_id = trained.tokens.len() as u32;
    for text in &around.forced_tokens {
        if text.is_empty() {
            return Err(Error::training("a forced token is empty"));
        }
        if added_tokens.iter().any(|token| token.content == *text) {
            return Err(Error::training(format!(
                "the forced token {text:?} is a special token too, or given twice"
            )));
        }
        // One that was not learned stands behind the vocabulary, as added tokens do.
        let id = vocab.bytes_to_id(text.as_bytes()).unwrap_or(next_id);
        next_id = next_id.max(id + 1);
        added_tokens.push(AddedToken {
            special: false,
            ..AddedToken::special(id, text.as_str())
        });
    }
    let unknown = around.unk_token.as_deref().map(special).transpose()?;
    let template = match &around.cls_sep {
        Some((cls, sep)) => Template::bert(special(cls)?, special(sep)?),
        None => Template::default(),
    };
    let decoder = decoder(&kind, &pretokenizer);
    let model = match kind {
        CharacterModelKind::Bpe(spelling) => ModelParts::CharacterBpe {
            vocab,
            merges: trained
                .merges
                .iter()
                .map(|&(left, right, _)| (left, right))
                .collect(),
            options: CharacterBpeOptions {
                missing: unknown.map_or(Missing::Skip, Missing::Unknown),
                continuing_prefix: spelling.continuing_prefix,
                end_of_word_suffix: spelling.end_of_word_suffix,
                ..CharacterBpeOptions::default()
            },
        },
        CharacterModelKind::WordPiece { prefix, max_chars } => ModelParts::WordPiece {
            vocab,
            prefix,
            max_chars,
            unknown,
        },
        CharacterModelKind::Word => ModelParts::Word { vocab, unknown },
        CharacterModelKind::Character => ModelParts::Character {
            vocab,
            missing: unknown.map_or(MissingCharacter::Fail, MissingCharacter::Unknown),
        },
    };
    Tokenizer::from_parts(Parts {
        normalizer,
        added_tokens,
        pretokenizer,
        template,
        decoder: Some(decoder),
        ..Parts::new(Reference::Hf, model)
    })
}

/// How tokens become text again: spaces where the pre-tokenizer has dropped them.
fn decoder(kind: &CharacterModelKind, pretokenizer: &[StepConfig]) -> Vec<DecoderConfig> {
    let drops_spaces = pretokenizer.iter().any(
        |step| matches!(step, StepConfig::Split(split) if split.behavior == Behavior::Removed),
    );
    let spaced = |prefix: &str, cleanup| DecoderConfig::WordPiece {
        prefix: prefix.to_owned(),
        cleanup,
    };
    for step in pretokenizer {
        if let StepConfig::Metaspace(metaspace) = step {
            return vec![DecoderConfig::Metaspace {
                replacement: metaspace.replacement,
                prepend: metaspace.prepend_scheme,
            }];
        }
    }
    vec![match kind {
        CharacterModelKind::WordPiece { prefix, .. } => spaced(prefix, true),
        CharacterModelKind::Bpe(spelling) if !spelling.end_of_word_suffix.is_empty() => {
            DecoderConfig::Bpe {
                suffix: spelling.end_of_word_suffix.clone(),
            }
        }
        CharacterModelKind::Bpe(spelling) if !spelling.continuing_prefix.is_empty() => {
            spaced(&spelling.continuing_prefix, true)
        }
        // No token begins with a NUL, so each gets a space before it.
        CharacterModelKind::Word if drops_spaces => spaced("\0", true),
        _ => DecoderConfig::Fuse,
    }]
}

/// A freshly trained SentencePiece model as a tokenizer.
pub fn from_trained_sentencepiece(model: SpmModel) -> Result<Tokenizer> {
    Tokenizer::from_sentencepiece(model)
}
