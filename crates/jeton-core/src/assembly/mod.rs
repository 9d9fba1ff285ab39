//! A tokenizer put together from its canonical form or a parsed file, and taken apart again.

mod models;
mod without;

pub(crate) use models::ModelParts;
use once_cell::race::OnceBox;

use crate::cache::pool::Pool;
use crate::codec::gpt2_alphabet;
use crate::config::{CANONICAL_VERSION, Config, ModelConfig, Real, Reference};
use crate::decode::{Decoder, DecoderConfig};
use crate::engine::{Engine, SentencePiece};
use crate::error::{Error, ErrorKind, Result};
use crate::inputs::template::{Template, check_parts};
use crate::inputs::{Padding, Truncation};
use crate::normalize::{Normalizer, NormalizerConfig};
use crate::pretokenize::{PreTokenizer, RawAutomaton, StepConfig};
use crate::sentencepiece::{ModelType, Piece, PieceKind, SpmModel};
use crate::special::{AddedFlags, AddedToken, AddedTokens};
use crate::tokenizer::{Tokenizer, Twins};

/// Parts of a tokenizer, as the reader of a format hands them over.
pub(crate) struct Parts {
    pub(crate) reference: Reference,
    pub(crate) normalizer: Vec<NormalizerConfig>,
    pub(crate) added_tokens: Vec<AddedToken>,
    pub(crate) pretokenizer: Vec<StepConfig>,
    /// The automata of its patterns, as far as they are known.
    pub(crate) automata: Vec<Option<RawAutomaton>>,
    pub(crate) template: Template,
    pub(crate) decoder: Option<Vec<DecoderConfig>>,
    pub(crate) truncation: Option<Truncation>,
    pub(crate) padding: Option<Padding>,
    pub(crate) dropout: Option<f64>,
    pub(crate) model: ModelParts,
}

impl Parts {
    /// Assembles a tokenizer from its canonical form; the model may come from elsewhere.
    pub(crate) fn from_config(
        config: Config,
        model: impl FnOnce(ModelConfig) -> Result<ModelParts>,
    ) -> Result<Self> {
        Ok(Self {
            reference: config.reference,
            normalizer: config.normalizer,
            added_tokens: config.added_tokens,
            pretokenizer: config.pretokenizer,
            automata: Vec::new(),
            template: config.template,
            decoder: config.decoder,
            truncation: config.truncation,
            padding: config.padding,
            dropout: config.dropout.map(f64::from),
            model: model(config.model)?,
        })
    }

    /// A model and nothing around it: the rest is filled in where a format has it.
    pub(crate) fn new(reference: Reference, model: ModelParts) -> Self {
        Self {
            reference,
            normalizer: Vec::new(),
            added_tokens: Vec::new(),
            pretokenizer: Vec::new(),
            automata: Vec::new(),
            template: Template::default(),
            decoder: None,
            truncation: None,
            padding: None,
            dropout: None,
            model,
        }
    }
}

/// Added tokens, by id, that `tokenizers` 0.23.3 decodes to another text. A token found in
/// normalized text decodes to its normalized content. Where tokens are bytes, the content is read
/// in GPT-2's alphabet.
fn respelled(
    added_tokens: &[AddedToken],
    normalizer: &Normalizer,
    on_bytes: bool,
) -> Result<Vec<(u32, Vec<u8>)>> {
    let mut found = Vec::new();
    for token in added_tokens {
        let text = if token.normalized {
            normalizer.normalize(&token.content)?
        } else {
            token.content.as_str().into()
        };
        let spelled = on_bytes.then(|| gpt2_alphabet::spell(&text)).flatten();
        let bytes = spelled.unwrap_or_else(|| text.as_bytes().to_vec());
        if bytes != token.content.as_bytes() {
            found.push((token.id, bytes));
        }
    }
    Ok(found)
}

/// True for references that look for the next special token right after the first character of one
/// that is not allowed.
fn looks_again(reference: Reference) -> bool {
    matches!(reference, Reference::Tiktoken | Reference::LlamaCpp)
}

impl Tokenizer {
    /// Builds a tokenizer from its canonical form.
    pub fn from_config(config: Config) -> Result<Self> {
        Self::from_parts(Parts::from_config(config, ModelParts::from_config)?)
    }

    /// Builds a tokenizer from a SentencePiece model. Its control pieces are special tokens.
    ///
    /// The piece of the beginning is put before a text on request. That of the end is put behind it
    /// for Unigram alone: T5's and the encoders' classes add it, Llama's and Mistral's do not.
    pub fn from_sentencepiece(model: SpmModel) -> Result<Self> {
        let controls = (0..)
            .zip(&model.pieces)
            .filter(|(_, piece)| piece.kind == PieceKind::Control);
        let added_tokens = controls
            .filter_map(|(id, piece)| {
                Some(AddedToken::special(
                    id,
                    std::str::from_utf8(&piece.bytes).ok()?,
                ))
            })
            .filter(|token| !token.content.is_empty())
            .collect();
        let algorithm = model.trainer.model_type;
        let engine = SentencePiece::new(model)?;
        let before: Vec<u32> = engine.processor.bos().into_iter().collect();
        let after: Vec<u32> = match algorithm {
            ModelType::Unigram => engine.processor.eos().into_iter().collect(),
            ModelType::Bpe | ModelType::Word | ModelType::Char => Vec::new(),
        };
        Self::from_parts(Parts {
            added_tokens,
            template: Template::around(&before, &after),
            ..Parts::new(
                Reference::SentencePiece,
                ModelParts::SentencePiece(engine.model),
            )
        })
    }

    /// Builds a tokenizer from what a format's reader found.
    pub(crate) fn from_parts(parts: Parts) -> Result<Self> {
        let Parts {
            reference,
            normalizer,
            mut added_tokens,
            pretokenizer,
            automata,
            template,
            decoder,
            truncation,
            padding,
            dropout,
            model,
        } = parts;
        check_parts(template.single.len().max(template.pair.len()))?;
        added_tokens.sort_by_key(|token| token.id);
        let cut = PreTokenizer::with_automata(&pretokenizer, automata)?;
        let mut engine = model.build(cut, &added_tokens)?;
        if let (Reference::LlamaCpp, Engine::SentencePiece(spm)) = (reference, &mut engine) {
            spm.processor.show_named_bytes(&spm.model);
        }
        let vocab = engine.vocab();
        let added = added_tokens.iter().map(|token| token.id);
        for id in template.token_ids().chain(added) {
            if vocab.id_to_bytes(id).is_none() {
                let vocab_size = u64::from(vocab.size());
                return Err(ErrorKind::UnknownId {
                    id: u64::from(id),
                    vocab_size,
                }
                .into());
            }
        }
        let mut special_ids: Vec<u32> = added_tokens
            .iter()
            .filter(|t| t.special)
            .map(|t| t.id)
            .collect();
        special_ids.sort_unstable();
        let compiled = Normalizer::new(&normalizer)?;
        let respelled = match reference {
            Reference::Hf => respelled(&added_tokens, &compiled, decoder.is_none())?,
            _ => Vec::new(),
        };
        let added = AddedTokens::new(added_tokens, &compiled, looks_again(reference))?;
        Ok(Self {
            reference,
            normalizer_config: normalizer,
            normalizer: compiled,
            added,
            steps: pretokenizer,
            template,
            decoder: decoder.as_deref().map(Decoder::new).transpose()?,
            truncation,
            padding,
            dropout,
            engine,
            special_ids,
            respelled,
            uniform: OnceBox::new(),
            twins: Twins::default(),
            raw_words: OnceBox::new(),
            seams: OnceBox::new(),
            pieces: OnceBox::new(),
            pool: Pool::default(),
        })
    }

    /// This tokenizer, but text never becomes a control token: a special token, or an id of
    /// `control`. Of any text it makes the ids that `encode_guarded` makes without trusted ranges,
    /// as quickly as a tokenizer does. None: this one is such a tokenizer itself.
    ///
    /// The unknown token goes on standing for text without a token.
    pub fn guarded(&self, control: &[u32]) -> Result<Option<Self>> {
        let mut unmatched: Vec<u32> = self.special_ids.iter().chain(control).copied().collect();
        unmatched.extend(self.byte_names());
        unmatched.sort_unstable();
        unmatched.dedup();
        let found_anyway = |token: &AddedToken| !token.special && control.contains(&token.id);
        let mut added_tokens = self.added.tokens().to_vec();
        if !self.engine.may_match(&unmatched) && !added_tokens.iter().any(found_anyway) {
            return Ok(None);
        }
        let engine = self
            .engine
            .without(&unmatched, false, &self.steps, &added_tokens)?;
        for token in &mut added_tokens {
            token.special |= control.contains(&token.id);
        }
        let mut special_ids: Vec<u32> = self.special_ids.iter().chain(control).copied().collect();
        special_ids.sort_unstable();
        special_ids.dedup();
        let normalizer = Normalizer::new(&self.normalizer_config)?;
        let decoder = self.decoder.as_ref().map(Decoder::config);
        Ok(Some(Self {
            reference: self.reference,
            normalizer_config: self.normalizer_config.clone(),
            added: AddedTokens::new(added_tokens, &normalizer, looks_again(self.reference))?,
            normalizer,
            steps: self.steps.clone(),
            template: self.template.clone(),
            decoder: decoder.as_deref().map(Decoder::new).transpose()?,
            truncation: self.truncation,
            padding: self.padding.clone(),
            dropout: self.dropout,
            engine,
            special_ids,
            respelled: self.respelled.clone(),
            uniform: OnceBox::new(),
            twins: Twins::default(),
            raw_words: OnceBox::new(),
            seams: OnceBox::new(),
            pieces: OnceBox::new(),
            pool: Pool::default(),
        }))
    }

    /// The canonical form.
    pub fn to_config(&self) -> Config {
        Config {
            jeton: CANONICAL_VERSION,
            reference: self.reference,
            normalizer: self.normalizer_config.clone(),
            added_tokens: self.added.tokens().to_vec(),
            pretokenizer: self.steps.clone(),
            template: self.template.clone(),
            decoder: self.decoder.as_ref().map(Decoder::config),
            truncation: self.truncation,
            padding: self.padding.clone(),
            dropout: self.dropout.map(Real::from),
            model: models::to_config(&self.engine, self.added.tokens()),
        }
    }
}

impl Tokenizer {
    /// A tokenizer with more added tokens. A token of the vocabulary keeps its id, a new one gets
    /// the next id. Tokens that are added already get the flags. A SentencePiece model gets control
    /// pieces, and user-defined ones for tokens that are not special.
    pub fn with_added_tokens(&self, contents: &[&str], flags: AddedFlags) -> Result<Self> {
        let mut config = self.to_config();
        let mut size = self.vocab().size();
        let mut pieces = Vec::new();
        for &content in contents {
            if content.is_empty() {
                return Err(Error::usage("an added token has no text; expected some"));
            }
            let known = config
                .added_tokens
                .iter_mut()
                .find(|token| token.content == content);
            let of_flags = |id| AddedToken {
                id,
                content: content.to_owned(),
                special: flags.special,
                single_word: flags.single_word,
                lstrip: flags.lstrip,
                rstrip: flags.rstrip,
                normalized: flags.normalized,
            };
            if let Some(token) = known {
                *token = of_flags(token.id);
                continue;
            }
            let is_piece = matches!(config.model, ModelConfig::SentencePiece(_));
            let found = self.name_to_token(content);
            let id = found.unwrap_or(size);
            if found.is_none() {
                size += 1;
                pieces.push(Piece {
                    bytes: content.into(),
                    score: 0.0,
                    kind: if flags.special {
                        PieceKind::Control
                    } else {
                        PieceKind::UserDefined
                    },
                });
            }
            if !is_piece || flags.special {
                config.added_tokens.push(of_flags(id));
            }
        }
        Self::from_parts(Parts::from_config(config, |model| {
            let mut parts = ModelParts::from_config(model)?;
            if let ModelParts::SentencePiece(model) = &mut parts {
                model.pieces.append(&mut pieces);
            }
            Ok(parts)
        })?)
    }
}
