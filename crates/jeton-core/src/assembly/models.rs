//! Models: from their parameters to an engine, and back.

use crate::codec::base64::Base64Bytes;
use crate::config::{MissingCharacterConfig, ModelConfig, Real, SentencePieceConfig};
use crate::engine::{Engine, SentencePiece};
use crate::error::{Error, Result};
use crate::models::Model;
use crate::models::bpe::compiled_merges::CompiledMerges;
use crate::models::bpe::listed::Listed;
use crate::models::bpe::{BpeModel, CharacterBpeModel, CharacterBpeOptions, Merges, Missing};
use crate::models::rwkv::GreedyModel;
use crate::models::unigram::UnigramModel;
use crate::models::word::{CharacterModel, MissingCharacter, RawBytesModel, WordModel};
use crate::models::wordpiece::WordPieceModel;
use crate::pipeline::Pipeline;
use crate::pretokenize::PreTokenizer;
use crate::sentencepiece::SpmModel;
use crate::special::AddedToken;
use crate::text::growth::check_written;
use crate::vocab::{MAX_TOKEN_BYTES, Vocab, too_long};

/// A model's parameters as a reader hands them over.
pub(crate) enum ModelParts {
    /// Byte-level BPE.
    Bpe {
        vocab: Vocab,
        merges: Merges,
        whole_pretokens: bool,
        missing: Missing,
    },
    /// BPE with the tables that a compiled file holds.
    CompiledBpe {
        vocab: Vocab,
        list: Option<Listed>,
        known: Option<Box<CompiledMerges>>,
        whole_pretokens: bool,
        missing: Missing,
    },
    /// BPE on characters.
    CharacterBpe {
        vocab: Vocab,
        merges: Vec<(u32, u32)>,
        options: CharacterBpeOptions,
    },
    /// `WordPiece`.
    WordPiece {
        vocab: Vocab,
        prefix: String,
        max_chars: usize,
        unknown: Option<u32>,
    },
    /// Whole words.
    Word { vocab: Vocab, unknown: Option<u32> },
    /// Characters.
    Character {
        vocab: Vocab,
        missing: MissingCharacter,
    },
    /// Bytes.
    RawBytes { vocab: Vocab, offset: u32 },
    /// The longest token that fits.
    Greedy { vocab: Vocab },
    /// A unigram language model as `tokenizers` has it.
    Unigram {
        pieces: Vec<(String, f64)>,
        unknown: Option<u32>,
        byte_fallback: bool,
    },
    /// SentencePiece.
    SentencePiece(SpmModel),
}

impl ModelParts {
    /// Fails where building the engine would take far more than the file has, in memory or in time.
    fn check(&self) -> Result<()> {
        match self {
            Self::Bpe { vocab, .. }
            | Self::CompiledBpe { vocab, .. }
            | Self::Word { vocab, .. }
            | Self::Character { vocab, .. }
            | Self::RawBytes { vocab, .. }
            | Self::Greedy { vocab } => vocab.check_holes(),
            Self::CharacterBpe { vocab, options, .. } => {
                check_written("bytes of a continuation prefix", &options.continuing_prefix)?;
                check_written("bytes of a suffix of words", &options.end_of_word_suffix)?;
                vocab.check_holes()
            }
            Self::WordPiece { vocab, prefix, .. } => {
                check_written("bytes of a continuation prefix", prefix)?;
                vocab.check_holes()
            }
            // Their ids are the places in a list.
            Self::Unigram { pieces, .. } => {
                let is_long = |(piece, _): &(String, f64)| piece.len() > MAX_TOKEN_BYTES;
                pieces
                    .iter()
                    .any(is_long)
                    .then(too_long)
                    .map_or(Ok(()), Err)
            }
            Self::SentencePiece(model) => {
                let mut pieces = model.pieces.iter();
                let is_long = pieces.any(|piece| piece.bytes.len() > MAX_TOKEN_BYTES);
                is_long.then(too_long).map_or(Ok(()), Err)
            }
        }
    }

    /// Reads the canonical form.
    pub(crate) fn from_config(config: ModelConfig) -> Result<Self> {
        Ok(match config {
            ModelConfig::Bpe {
                tokens,
                opaque,
                merges,
                whole_pretokens,
                missing,
            } => Self::Bpe {
                vocab: read_vocab(tokens, &opaque)?,
                merges: merges.map_or(Merges::ByRank, Merges::List),
                whole_pretokens,
                missing: missing.into(),
            },
            ModelConfig::CharacterBpe {
                tokens,
                opaque,
                merges,
                missing,
                fuse_unknown,
                byte_fallback,
                continuing_prefix,
                end_of_word_suffix,
                whole_pretokens,
            } => Self::CharacterBpe {
                vocab: read_vocab(tokens, &opaque)?,
                merges,
                options: CharacterBpeOptions {
                    missing: missing.into(),
                    fuse_unknown,
                    byte_fallback,
                    continuing_prefix,
                    end_of_word_suffix,
                    whole_pretokens,
                },
            },
            ModelConfig::WordPiece {
                tokens,
                opaque,
                prefix,
                max_chars,
                unknown,
            } => Self::WordPiece {
                vocab: read_vocab(tokens, &opaque)?,
                prefix,
                max_chars: usize::try_from(max_chars).unwrap_or(usize::MAX),
                unknown,
            },
            ModelConfig::Word {
                tokens,
                opaque,
                unknown,
            } => Self::Word {
                vocab: read_vocab(tokens, &opaque)?,
                unknown,
            },
            ModelConfig::Character {
                tokens,
                opaque,
                missing,
            } => Self::Character {
                vocab: read_vocab(tokens, &opaque)?,
                missing: match missing {
                    MissingCharacterConfig::Unknown(id) => MissingCharacter::Unknown(id),
                    MissingCharacterConfig::Bytes(ids) => {
                        let ids = <Box<[u32; 256]>>::try_from(ids).map_err(|ids| {
                            let reason = format!("{} ids for 256 bytes", ids.len());
                            Error::format("jeton tokenizer", reason)
                        })?;
                        MissingCharacter::Bytes(ids)
                    }
                    MissingCharacterConfig::Fail => MissingCharacter::Fail,
                },
            },
            ModelConfig::RawBytes {
                tokens,
                opaque,
                offset,
            } => Self::RawBytes {
                vocab: read_vocab(tokens, &opaque)?,
                offset,
            },
            ModelConfig::Greedy { tokens, opaque } => Self::Greedy {
                vocab: read_vocab(tokens, &opaque)?,
            },
            ModelConfig::Unigram {
                pieces,
                unknown,
                byte_fallback,
            } => Self::Unigram {
                pieces: pieces
                    .into_iter()
                    .map(|(piece, score)| (piece, score.into()))
                    .collect(),
                unknown,
                byte_fallback,
            },
            ModelConfig::SentencePiece(model) => Self::SentencePiece(model.into()),
        })
    }

    /// Builds the engine. Added tokens that are in no model's vocabulary are decoded all the same.
    pub(super) fn build(self, cut: PreTokenizer, added: &[AddedToken]) -> Result<Engine> {
        self.check()?;
        Ok(match self {
            Self::Bpe {
                vocab,
                merges,
                whole_pretokens,
                missing,
            } => {
                let vocab = with_added(vocab, added)?;
                let model = BpeModel::new(vocab, &merges, whole_pretokens, missing)?;
                Engine::Bpe(Box::new(Pipeline::new(cut, model)))
            }
            Self::CompiledBpe {
                vocab,
                mut list,
                known,
                whole_pretokens,
                missing,
            } => {
                let vocab = with_added(vocab, added)?;
                if let Some(list) = &mut list {
                    list.cover(vocab.size());
                }
                let known = known.map(|known| *known);
                let model = BpeModel::with_list(vocab, list, known, whole_pretokens, missing)?;
                Engine::Bpe(Box::new(Pipeline::new(cut, model)))
            }
            Self::CharacterBpe {
                vocab,
                merges,
                options,
            } => {
                let vocab = with_added(vocab, added)?;
                let model = CharacterBpeModel::new(vocab, &merges, options)?;
                Engine::CharacterBpe(Box::new(Pipeline::new(cut, model)))
            }
            Self::WordPiece {
                vocab,
                prefix,
                max_chars,
                unknown,
            } => {
                let vocab = with_added(vocab, added)?;
                let model = WordPieceModel::new(vocab, prefix, max_chars, unknown)?;
                Engine::WordPiece(Box::new(Pipeline::new(cut, model)))
            }
            Self::Word { vocab, unknown } => {
                let model = WordModel::new(with_added(vocab, added)?, unknown)?;
                Engine::Word(Box::new(Pipeline::new(cut, model)))
            }
            Self::Character { vocab, missing } => {
                let model = CharacterModel::new(with_added(vocab, added)?, missing)?;
                Engine::Character(Box::new(Pipeline::new(cut, model)))
            }
            Self::RawBytes { vocab, offset } => {
                let model = RawBytesModel::from_vocab(with_added(vocab, added)?, offset)?;
                Engine::RawBytes(Box::new(Pipeline::new(cut, model)))
            }
            Self::Greedy { vocab } => {
                let model = GreedyModel::new(with_added(vocab, added)?)?;
                Engine::Greedy(Box::new(Pipeline::new(cut, model)))
            }
            Self::Unigram {
                pieces,
                unknown,
                byte_fallback,
            } => unigram(&pieces, unknown, byte_fallback, &[], cut, added)?,
            Self::SentencePiece(model) => {
                Engine::SentencePiece(Box::new(SentencePiece::new(model)?))
            }
        })
    }
}

/// A Unigram engine in which text never becomes the `unmatched` ids (rising).
pub(super) fn unigram(
    pieces: &[(String, f64)],
    unknown: Option<u32>,
    byte_fallback: bool,
    unmatched: &[u32],
    cut: PreTokenizer,
    added: &[AddedToken],
) -> Result<Engine> {
    let mut model = UnigramModel::from_scored_without(pieces, unknown, byte_fallback, unmatched)?;
    for token in added {
        if model.vocab().id_to_bytes(token.id).is_none() {
            model.insert_opaque(token.id, token.content.as_bytes())?;
        }
    }
    model.vocab().check_holes()?;
    Ok(Engine::Unigram(Box::new(Pipeline::new(cut, model))))
}

fn with_added(mut vocab: Vocab, added: &[AddedToken]) -> Result<Vocab> {
    for token in added {
        if vocab.id_to_bytes(token.id).is_none() {
            vocab.insert_opaque(token.id, token.content.as_bytes())?;
        }
    }
    vocab.check_holes()?;
    Ok(vocab)
}

/// The canonical form of an engine's model.
pub(super) fn to_config(engine: &Engine, added: &[AddedToken]) -> ModelConfig {
    let write = |vocab| write_vocab(vocab, added);
    match engine {
        Engine::Bpe(pipeline) => {
            let model = pipeline.model();
            let (tokens, opaque) = write(model.vocab());
            ModelConfig::Bpe {
                tokens,
                opaque,
                merges: match model.merges() {
                    Merges::ByRank => None,
                    Merges::List(list) => Some(list),
                },
                whole_pretokens: model.whole_pretokens(),
                missing: model.missing().into(),
            }
        }
        Engine::CharacterBpe(pipeline) => {
            let model = pipeline.model();
            let (tokens, opaque) = write(model.vocab());
            let options = model.options();
            ModelConfig::CharacterBpe {
                tokens,
                opaque,
                merges: model.merges(),
                missing: options.missing.into(),
                fuse_unknown: options.fuse_unknown,
                byte_fallback: options.byte_fallback,
                continuing_prefix: options.continuing_prefix.clone(),
                end_of_word_suffix: options.end_of_word_suffix.clone(),
                whole_pretokens: options.whole_pretokens,
            }
        }
        Engine::WordPiece(pipeline) => {
            let model = pipeline.model();
            let (tokens, opaque) = write(model.vocab());
            ModelConfig::WordPiece {
                tokens,
                opaque,
                prefix: model.prefix().to_owned(),
                max_chars: model.max_chars() as u64,
                unknown: model.unknown(),
            }
        }
        Engine::Word(pipeline) => {
            let (tokens, opaque) = write(pipeline.model().vocab());
            ModelConfig::Word {
                tokens,
                opaque,
                unknown: pipeline.model().unknown(),
            }
        }
        Engine::Character(pipeline) => {
            let (tokens, opaque) = write(pipeline.model().vocab());
            ModelConfig::Character {
                tokens,
                opaque,
                missing: match pipeline.model().missing() {
                    MissingCharacter::Unknown(id) => MissingCharacterConfig::Unknown(*id),
                    MissingCharacter::Bytes(ids) => MissingCharacterConfig::Bytes(ids.to_vec()),
                    MissingCharacter::Fail => MissingCharacterConfig::Fail,
                },
            }
        }
        Engine::RawBytes(pipeline) => {
            let (tokens, opaque) = write(pipeline.model().vocab());
            ModelConfig::RawBytes {
                tokens,
                opaque,
                offset: pipeline.model().offset(),
            }
        }
        Engine::Greedy(pipeline) => {
            let (tokens, opaque) = write(pipeline.model().vocab());
            ModelConfig::Greedy { tokens, opaque }
        }
        Engine::Unigram(pipeline) => {
            let model = pipeline.model();
            ModelConfig::Unigram {
                pieces: model
                    .scored_pieces()
                    .map(|(piece, score)| {
                        (
                            String::from_utf8_lossy(piece).into_owned(),
                            Real::from(score),
                        )
                    })
                    .collect(),
                unknown: model.unknown(),
                byte_fallback: model.byte_fallback(),
            }
        }
        Engine::SentencePiece(engine) => {
            ModelConfig::SentencePiece(SentencePieceConfig::from(&engine.model))
        }
    }
}

/// Tokens by id, and the ids that are opaque. An added token that is in no model's vocabulary is
/// written once, as an added token.
fn write_vocab(vocab: &Vocab, added: &[AddedToken]) -> (Vec<Option<Base64Bytes>>, Vec<u32>) {
    let is_added = |id| added.binary_search_by_key(&id, |token| token.id).is_ok();
    let ids = || 0..vocab.size();
    let tokens = ids().map(|id| match vocab.id_to_bytes(id) {
        Some(bytes) if vocab.is_findable(id) || !is_added(id) => Some(Base64Bytes(bytes.to_vec())),
        _ => None,
    });
    let opaque = ids()
        .filter(|&id| !vocab.is_findable(id) && !is_added(id) && vocab.id_to_bytes(id).is_some());
    (tokens.collect(), opaque.collect())
}

fn read_vocab(tokens: Vec<Option<Base64Bytes>>, opaque: &[u32]) -> Result<Vocab> {
    let mut vocab = Vocab::with_capacity(tokens.len());
    let mut is_opaque = vec![false; tokens.len()];
    for &id in opaque {
        if let Some(flag) = is_opaque.get_mut(id as usize) {
            *flag = true;
        }
    }
    for (id, (token, opaque)) in (0..).zip(tokens.into_iter().zip(is_opaque)) {
        match token {
            Some(Base64Bytes(bytes)) if opaque => vocab.insert_opaque(id, &bytes)?,
            Some(Base64Bytes(bytes)) => vocab.insert(id, &bytes)?,
            None => {}
        }
    }
    Ok(vocab)
}
