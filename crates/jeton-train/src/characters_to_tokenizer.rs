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
        // Merges never make a special token, and no character is one of several; the other models
        // find one by its text.
        let is_apart = |text: &str| match kind {
            CharacterModelKind::Bpe(_) => true,
            CharacterModelKind::Character => text.chars().nth(1).is_some(),
            CharacterModelKind::WordPiece { .. } | CharacterModelKind::Word => false,
        };
        let token = |(id, text): (usize, &String)| {
            let is_in = id >= self.n_special || !is_apart(text);
            is_in.then(|| Base64Bytes(text.clone().into_bytes()))
        };
        let tokens = self.tokens.iter().enumerate().map(token).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StopReason;

    #[test]
    fn a_vocabulary_of_characters_has_no_token_of_several() {
        let tokens = ["[UNK]", "#", "a"].map(str::to_owned).to_vec();
        let trained = TrainedChars {
            tokens,
            n_special: 2,
            merges: Vec::new(),
            stop: StopReason::NoPairLeft,
        };
        let around = Surroundings {
            unk_token: Some("[UNK]".to_owned()),
            ..Surroundings::default()
        };
        let made = |kind| trained.to_tokenizer(kind, &around, Vec::new(), Vec::new());
        let config = made(CharacterModelKind::Character).unwrap().to_config();
        let ModelConfig::Character { tokens, .. } = &config.model else {
            panic!("{:?}", config.model);
        };
        let is_there: Vec<bool> = tokens.iter().map(Option::is_some).collect();
        assert_eq!(is_there, [false, true, true]);
        assert_eq!(config.added_tokens.len(), 2);
        let word = made(CharacterModelKind::Word).unwrap().to_config();
        assert!(matches!(word.model, ModelConfig::Word { tokens, .. } if tokens[0].is_some()));
    }
}
