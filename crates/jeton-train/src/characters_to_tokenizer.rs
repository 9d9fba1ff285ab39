//! Trained models on characters as tokenizers, in the way in which `tokenizers` has them.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use jeton_core::codec::base64::Base64Bytes;
use jeton_core::config::{Config, MissingCharacterConfig, MissingConfig, ModelConfig, Reference};
use jeton_core::decode::DecoderConfig;
use jeton_core::error::{Error, Result};
use jeton_core::inputs::template::Template;
use jeton_core::normalize::NormalizerConfig;
use jeton_core::pretokenize::{Behavior, StepConfig};
use jeton_core::special::AddedToken;
use jeton_core::tokenizer::Tokenizer;
use jeton_core::vocab::hasher;

use crate::{CharacterModelKind, Surroundings, TrainedChars};

impl TrainedChars {
    /// Returns the tokenizer, with the pipeline that the tokens were learned under.
    pub fn to_tokenizer(
        &self,
        kind: CharacterModelKind,
        around: &Surroundings,
        normalizer: Vec<NormalizerConfig>,
        pretokenizer: Vec<StepConfig>,
    ) -> Result<Tokenizer> {
        let special = |text: &str| {
            let mut known = (0..).zip(&self.tokens[..self.n_special]);
            let found = known.find(|(_, token)| *token == text);
            found.map(|(id, _)| id).ok_or_else(|| {
                Error::training(format!(
                    "{text:?} is to be a special token and is none of those given"
                ))
            })
        };
        let unknown = around.unk_token.as_deref().map(special).transpose()?;
        let template = match &around.cls_sep {
            Some((cls, sep)) => Template::bert(special(cls)?, special(sep)?),
            None => Template::default(),
        };
        Tokenizer::from_config(Config {
            normalizer,
            added_tokens: self.added_tokens(&around.forced_tokens)?,
            template,
            decoder: Some(decoder(&kind, &pretokenizer)),
            pretokenizer,
            ..Config::new(Reference::Hf, self.model(kind, unknown))
        })
    }

    /// Returns the special tokens and those forced. A forced token that was not learned stands
    /// behind the vocabulary, as added tokens do.
    fn added_tokens(&self, forced: &[String]) -> Result<Vec<AddedToken>> {
        let special = (0..).zip(&self.tokens[..self.n_special]);
        let mut added: Vec<AddedToken> = special
            .map(|(id, text)| AddedToken::special(id, text.as_str()))
            .collect();
        if forced.is_empty() {
            return Ok(added);
        }
        let learned = (0..).zip(&self.tokens).skip(self.n_special);
        let mut ids = HashMap::<&str, u32, FixedState>::with_hasher(hasher());
        ids.extend(learned.map(|(id, text)| (text.as_str(), id)));
        let mut next_id = self.tokens.len() as u32;
        for text in forced {
            if text.is_empty() {
                return Err(Error::training("a forced token is empty"));
            }
            if added.iter().any(|token| token.content == *text) {
                return Err(Error::training(format!(
                    "the forced token {text:?} is a special token too, or given twice"
                )));
            }
            let id = ids.get(text.as_str()).copied().unwrap_or(next_id);
            next_id = next_id.max(id + 1);
            added.push(AddedToken {
                special: false,
                ..AddedToken::special(id, text.as_str())
            });
        }
        Ok(added)
    }

    /// Returns the canonical form of the model.
    fn model(&self, kind: CharacterModelKind, unknown: Option<u32>) -> ModelConfig {
        // Merges of characters never make a special token; the other models find one by its text.
        let n_apart = match kind {
            CharacterModelKind::Bpe(_) => self.n_special,
            _ => 0,
        };
        let mut tokens = vec![None; n_apart];
        let found = self.tokens.iter().skip(n_apart);
        tokens.extend(found.map(|text| Some(Base64Bytes(text.clone().into_bytes()))));
        let opaque = Vec::new();
        match kind {
            CharacterModelKind::Bpe(spelling) => ModelConfig::CharacterBpe {
                tokens,
                opaque,
                merges: (self.merges.iter())
                    .map(|&(left, right, _)| (left, right))
                    .collect(),
                missing: unknown.map_or(MissingConfig::Skip, MissingConfig::Unknown),
                fuse_unknown: false,
                byte_fallback: false,
                continuing_prefix: spelling.continuing_prefix,
                end_of_word_suffix: spelling.end_of_word_suffix,
                whole_pretokens: false,
            },
            CharacterModelKind::WordPiece { prefix, max_chars } => ModelConfig::WordPiece {
                tokens,
                opaque,
                prefix,
                max_chars: max_chars as u64,
                unknown,
            },
            CharacterModelKind::Word => ModelConfig::Word {
                tokens,
                opaque,
                unknown,
            },
            CharacterModelKind::Character => ModelConfig::Character {
                tokens,
                opaque,
                missing: unknown.map_or(
                    MissingCharacterConfig::Fail,
                    MissingCharacterConfig::Unknown,
                ),
            },
        }
    }
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
