//! Writing `.model` files: as they were read, or anew from what the canonical form has.

use super::wire::put_bytes;
use super::{SpmFile, file_bytes};
use crate::codec::leb128::put_varint;
use crate::config::{Config, ModelConfig};
use crate::engine::Engine;
use crate::format::writing::draft::{Draft, Words};
use crate::format::writing::ledger::Ledger;
use crate::format::writing::translate::to_sentencepiece;
use crate::sentencepiece::unread_fields::UnreadFields;
use crate::sentencepiece::{ModelType, NormalizerSpec, PieceKind, SpmModel};
use crate::tokenizer::Tokenizer;

/// Writes the file, and what stands in its way.
pub(in crate::format) fn write(
    tokenizer: &Tokenizer,
    config: &Config,
    ledger: &mut Ledger,
) -> Option<Draft> {
    if let Engine::SentencePiece(engine) = &tokenizer.engine
        && let Some(unread) = &engine.unread
    {
        return Some(Draft::of(file_bytes(&engine.model, unread)));
    }
    let (model, words) = match &config.model {
        ModelConfig::SentencePiece(model) => (as_written(model.clone().into()), Words::Own),
        _ => (to_sentencepiece(config, ledger)?, Words::Model),
    };
    Some(Draft {
        words,
        ..Draft::of(SpmFile::from_model(model).to_bytes())
    })
}

/// The model as SentencePiece takes it: bytes that no text falls back to are control pieces.
fn as_written(mut model: SpmModel) -> SpmModel {
    if !model.trainer.byte_fallback {
        for piece in &mut model.pieces {
            if piece.kind == PieceKind::Byte {
                piece.kind = PieceKind::Control;
            }
        }
    }
    model
}

impl SpmFile {
    /// A file that says what the model is, and nothing of how it was made.
    pub fn from_model(model: SpmModel) -> Self {
        let unread = UnreadFields {
            stated: model
                .pieces
                .iter()
                .map(|piece| (true, piece.kind != PieceKind::Normal))
                .collect(),
            trainer: Some(trainer(&model)),
            normalizer: Some(normalizer(&model.normalizer)),
            denormalizer: model.denormalizer.as_ref().map(normalizer),
            ..UnreadFields::default()
        };
        Self { model, unread }
    }
}

fn put_number(out: &mut Vec<u8>, number: u32, value: u64) {
    put_varint(out, u64::from(number) << 3);
    put_varint(out, value);
}

fn trainer(model: &SpmModel) -> Vec<u8> {
    let spec = &model.trainer;
    let mut out = Vec::new();
    put_number(
        &mut out,
        3,
        match spec.model_type {
            ModelType::Unigram => 1,
            ModelType::Bpe => 2,
            ModelType::Word => 3,
            ModelType::Char => 4,
        },
    );
    put_number(&mut out, 4, model.pieces.len() as u64);
    put_number(&mut out, 24, u64::from(spec.treat_whitespace_as_suffix));
    put_number(&mut out, 35, u64::from(spec.byte_fallback));
    let id = |wanted: PieceKind, text: Option<&str>| {
        let found = model.pieces.iter().position(|piece| {
            piece.kind == wanted && text.is_none_or(|text| piece.bytes == text.as_bytes())
        });
        // None is -1, which is written as a number of 64 bits.
        found.map_or(u64::MAX, |id| id as u64)
    };
    let control = |text: &str| id(PieceKind::Control, Some(text));
    let unknown = id(PieceKind::Unknown, None);
    put_number(&mut out, 40, unknown);
    put_number(&mut out, 41, control(&spec.bos_piece));
    put_number(&mut out, 42, control(&spec.eos_piece));
    put_number(&mut out, 43, control(&spec.pad_piece));
    let unk_piece = model.pieces.get(unknown as usize);
    let unk_piece = unk_piece.map_or(spec.unk_piece.as_bytes(), |piece| &piece.bytes);
    put_bytes(&mut out, 44, spec.unk_surface.as_bytes());
    put_bytes(&mut out, 45, unk_piece);
    put_bytes(&mut out, 46, spec.bos_piece.as_bytes());
    put_bytes(&mut out, 47, spec.eos_piece.as_bytes());
    put_bytes(&mut out, 48, spec.pad_piece.as_bytes());
    out
}

fn normalizer(spec: &NormalizerSpec) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, 1, spec.name.as_bytes());
    put_bytes(&mut out, 2, &spec.precompiled_charsmap);
    put_number(&mut out, 3, u64::from(spec.add_dummy_prefix));
    put_number(&mut out, 4, u64::from(spec.remove_extra_whitespaces));
    put_number(&mut out, 5, u64::from(spec.escape_whitespaces));
    out
}
