//! The canonical form of a SentencePiece model: what decides ids and decoding, and nothing of how
//! it was trained.

use serde::{Deserialize, Serialize};

use crate::codec::base64::Base64Bytes;
use crate::sentencepiece::{ModelType, NormalizerSpec, Piece, PieceKind, SpmModel, TrainerSpec};

/// A SentencePiece model, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentencePieceConfig {
    algorithm: Algorithm,
    /// Bytes in base64 (U+2581 for a space), score, kind; an id is a place in the list.
    pieces: Vec<(Base64Bytes, Score, Kind)>,
    byte_fallback: bool,
    treat_whitespace_as_suffix: bool,
    bos_piece: String,
    eos_piece: String,
    pad_piece: String,
    unk_surface: String,
    normalizer: Rules,
    denormalizer: Option<Rules>,
}

/// A score by its bits, so that every float of a file, NaN included, is written and read as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Score(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Algorithm {
    Unigram,
    Bpe,
    Word,
    Char,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    charsmap: Base64Bytes,
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
    escape_whitespaces: bool,
}

impl From<&NormalizerSpec> for Rules {
    fn from(spec: &NormalizerSpec) -> Self {
        Self {
            charsmap: Base64Bytes(spec.precompiled_charsmap.clone()),
            add_dummy_prefix: spec.add_dummy_prefix,
            remove_extra_whitespaces: spec.remove_extra_whitespaces,
            escape_whitespaces: spec.escape_whitespaces,
        }
    }
}

impl From<Rules> for NormalizerSpec {
    fn from(rules: Rules) -> Self {
        Self {
            name: String::new(),
            precompiled_charsmap: rules.charsmap.0,
            add_dummy_prefix: rules.add_dummy_prefix,
            remove_extra_whitespaces: rules.remove_extra_whitespaces,
            escape_whitespaces: rules.escape_whitespaces,
        }
    }
}

impl From<&SpmModel> for SentencePieceConfig {
    fn from(model: &SpmModel) -> Self {
        let kind = |piece: &Piece| match piece.kind {
            PieceKind::Normal => Kind::Normal,
            PieceKind::Unknown => Kind::Unknown,
            PieceKind::Control => Kind::Control,
            PieceKind::UserDefined => Kind::UserDefined,
            PieceKind::Unused => Kind::Unused,
            PieceKind::Byte => Kind::Byte,
        };
        let pieces = model.pieces.iter();
        Self {
            algorithm: match model.trainer.model_type {
                ModelType::Unigram => Algorithm::Unigram,
                ModelType::Bpe => Algorithm::Bpe,
                ModelType::Word => Algorithm::Word,
                ModelType::Char => Algorithm::Char,
            },
            pieces: pieces
                .map(|p| {
                    (
                        Base64Bytes(p.bytes.clone()),
                        Score(p.score.to_bits()),
                        kind(p),
                    )
                })
                .collect(),
            byte_fallback: model.trainer.byte_fallback,
            treat_whitespace_as_suffix: model.trainer.treat_whitespace_as_suffix,
            bos_piece: model.trainer.bos_piece.clone(),
            eos_piece: model.trainer.eos_piece.clone(),
            pad_piece: model.trainer.pad_piece.clone(),
            unk_surface: model.trainer.unk_surface.clone(),
            normalizer: Rules::from(&model.normalizer),
            denormalizer: model.denormalizer.as_ref().map(Rules::from),
        }
    }
}

impl From<SentencePieceConfig> for SpmModel {
    fn from(config: SentencePieceConfig) -> Self {
        let kind = |kind| match kind {
            Kind::Normal => PieceKind::Normal,
            Kind::Unknown => PieceKind::Unknown,
            Kind::Control => PieceKind::Control,
            Kind::UserDefined => PieceKind::UserDefined,
            Kind::Unused => PieceKind::Unused,
            Kind::Byte => PieceKind::Byte,
        };
        let pieces = config.pieces.into_iter();
        Self {
            pieces: pieces
                .map(|(bytes, Score(bits), k)| Piece {
                    bytes: bytes.0,
                    score: f32::from_bits(bits),
                    kind: kind(k),
                })
                .collect(),
            trainer: TrainerSpec {
                model_type: match config.algorithm {
                    Algorithm::Unigram => ModelType::Unigram,
                    Algorithm::Bpe => ModelType::Bpe,
                    Algorithm::Word => ModelType::Word,
                    Algorithm::Char => ModelType::Char,
                },
                byte_fallback: config.byte_fallback,
                treat_whitespace_as_suffix: config.treat_whitespace_as_suffix,
                bos_piece: config.bos_piece,
                eos_piece: config.eos_piece,
                pad_piece: config.pad_piece,
                unk_surface: config.unk_surface,
                ..TrainerSpec::default()
            },
            normalizer: config.normalizer.into(),
            denormalizer: config.denormalizer.map(Into::into),
        }
    }
}
