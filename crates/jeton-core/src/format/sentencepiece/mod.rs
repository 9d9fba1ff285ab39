//! SentencePiece `.model` files: a protocol buffer of pieces and settings.
//!
//! The schema is `sentencepiece_model.proto` of 0.2.3. Fields that are not modelled are kept as
//! they stand, so that a file that was read can be written back byte for byte.

mod wire;
mod write;

pub(super) use write::write;

use crate::codec::leb128::put_varint;
use crate::engine::Engine;
use crate::error::{ErrorKind, Result};
use crate::sentencepiece::piece::{Piece, PieceKind};
use crate::sentencepiece::spec::{ModelType, NormalizerSpec, SpmModel, TrainerSpec};
use crate::sentencepiece::unread_fields::UnreadFields;
use crate::tokenizer::Tokenizer;
use crate::vocab::MAX_IDS;
use wire::{Field, Reader, Value, fail, put_bytes};

/// Largest file read, in bytes: a hundred times the largest published one.
const MAX_FILE_BYTES: usize = 1 << 29;

/// A `.model` file: what it says, and what it takes to write it again.
#[derive(Clone, Debug, PartialEq)]
pub struct SpmFile {
    /// The model.
    pub model: SpmModel,
    unread: UnreadFields,
}

impl SpmFile {
    /// Reads a file.
    ///
    /// Fails with `Format` and the byte at which the file is not what it should be. The models
    /// check the vocabulary itself.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(ErrorKind::TooLarge {
                what: "SentencePiece model in bytes",
                limit: MAX_FILE_BYTES as u64,
            }
            .into());
        }
        let mut model = SpmModel::default();
        let mut unread = UnreadFields::default();
        let mut reader = Reader::new(bytes, 0);
        while let Some(field) = reader.next()? {
            match (field.number, field.value) {
                (1, Value::Bytes(message)) => {
                    if model.pieces.len() >= MAX_IDS as usize {
                        return fail(field.offset, "more pieces than 16,777,216");
                    }
                    let (piece, stated, unknown) = read_piece(message, field.offset)?;
                    if !unknown.is_empty() {
                        unread.pieces.push((model.pieces.len() as u32, unknown));
                    }
                    model.pieces.push(piece);
                    unread.stated.push(stated);
                }
                (2, Value::Bytes(message)) => {
                    read_trainer(message, field.offset, &mut model.trainer)?;
                    unread
                        .trainer
                        .get_or_insert_default()
                        .extend_from_slice(message);
                }
                (3, Value::Bytes(message)) => {
                    read_normalizer(message, field.offset, &mut model.normalizer)?;
                    unread
                        .normalizer
                        .get_or_insert_default()
                        .extend_from_slice(message);
                }
                (5, Value::Bytes(message)) => {
                    let spec = model.denormalizer.get_or_insert_default();
                    read_normalizer(message, field.offset, spec)?;
                    unread
                        .denormalizer
                        .get_or_insert_default()
                        .extend_from_slice(message);
                }
                _ => unread.file.extend_from_slice(field.raw),
            }
        }
        if model.pieces.is_empty() {
            return fail(bytes.len(), "it has no pieces");
        }
        let mut file = Self { model, unread };
        if file.to_bytes() != bytes {
            file.unread.verbatim = Some(bytes.to_vec());
        }
        Ok(file)
    }

    /// True if the file has its parts in the usual order, so that it need not be kept whole.
    pub fn is_canonical(&self) -> bool {
        self.unread.verbatim.is_none()
    }

    /// Writes the file as it was read.
    pub fn to_bytes(&self) -> Vec<u8> {
        file_bytes(&self.model, &self.unread)
    }

    /// The tokenizer, which keeps what of the file is not modelled until it is changed.
    pub(super) fn into_tokenizer(self) -> Result<Tokenizer> {
        let is_byte = |piece: &Piece| piece.kind == PieceKind::Byte;
        if !self.model.trainer.byte_fallback
            && let Some(id) = self.model.pieces.iter().position(is_byte)
        {
            let reason = format!("piece {id} is a byte although byte_fallback is off");
            return fail(0, &reason);
        }
        let mut tokenizer = Tokenizer::from_sentencepiece(self.model)?;
        if let Engine::SentencePiece(engine) = &mut tokenizer.engine {
            engine.unread = Some(self.unread);
        }
        Ok(tokenizer)
    }
}

/// Returns the bytes of a file with these pieces and settings.
pub(super) fn file_bytes(model: &SpmModel, unread: &UnreadFields) -> Vec<u8> {
    if let Some(verbatim) = &unread.verbatim {
        return verbatim.clone();
    }
    let mut out = Vec::new();
    let mut message = Vec::new();
    let mut unknown = unread.pieces.iter().peekable();
    for (id, (piece, &(score, kind))) in model.pieces.iter().zip(&unread.stated).enumerate() {
        message.clear();
        put_bytes(&mut message, 1, &piece.bytes);
        if score {
            message.push(2 << 3 | 5);
            message.extend_from_slice(&piece.score.to_le_bytes());
        }
        if kind {
            message.push(3 << 3);
            put_varint(&mut message, kind_number(piece.kind));
        }
        if let Some((_, fields)) = unknown.next_if(|(piece, _)| *piece == id as u32) {
            message.extend_from_slice(fields);
        }
        put_bytes(&mut out, 1, &message);
    }
    let UnreadFields {
        trainer,
        normalizer,
        denormalizer,
        ..
    } = unread;
    for (number, fields) in [(2, trainer), (3, normalizer), (5, denormalizer)] {
        if let Some(fields) = fields {
            put_bytes(&mut out, number, fields);
        }
    }
    out.extend_from_slice(&unread.file);
    out
}

fn kind_number(kind: PieceKind) -> u64 {
    match kind {
        PieceKind::Normal => 1,
        PieceKind::Unknown => 2,
        PieceKind::Control => 3,
        PieceKind::UserDefined => 4,
        PieceKind::Unused => 5,
        PieceKind::Byte => 6,
    }
}

/// A piece, whether its score and type are stated, and the fields that are not modelled.
fn read_piece(message: &[u8], offset: usize) -> Result<(Piece, (bool, bool), Vec<u8>)> {
    let mut piece = Piece::default();
    let mut stated = (false, false);
    let mut unknown = Vec::new();
    let mut reader = Reader::new(message, offset);
    while let Some(field) = reader.next()? {
        match (field.number, field.value) {
            (1, Value::Bytes(bytes)) => piece.bytes = bytes.to_vec(),
            (2, Value::Fixed32(bits)) => {
                piece.score = f32::from_bits(bits);
                stated.0 = true;
            }
            (3, Value::Varint(kind @ 1..=6)) => {
                piece.kind = match kind {
                    2 => PieceKind::Unknown,
                    3 => PieceKind::Control,
                    4 => PieceKind::UserDefined,
                    5 => PieceKind::Unused,
                    6 => PieceKind::Byte,
                    _ => PieceKind::Normal,
                };
                stated.1 = true;
            }
            // A type from the future counts as unknown field, as the format has it.
            _ => unknown.extend_from_slice(field.raw),
        }
    }
    Ok((piece, stated, unknown))
}

fn text(field: &Field<'_>, bytes: &[u8], what: &str) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => fail(
            field.offset + error.valid_up_to(),
            &format!("{what} is not UTF-8"),
        ),
    }
}

fn read_trainer(message: &[u8], offset: usize, spec: &mut TrainerSpec) -> Result<()> {
    let mut reader = Reader::new(message, offset);
    while let Some(field) = reader.next()? {
        // A 32-bit number is written as the 64-bit one; the upper half is dropped.
        match (field.number, field.value) {
            (3, Value::Varint(model_type @ 1..=4)) => {
                spec.model_type = match model_type {
                    2 => ModelType::Bpe,
                    3 => ModelType::Word,
                    4 => ModelType::Char,
                    _ => ModelType::Unigram,
                }
            }
            (24, Value::Varint(flag)) => spec.treat_whitespace_as_suffix = flag != 0,
            (35, Value::Varint(flag)) => spec.byte_fallback = flag != 0,
            (40, Value::Varint(id)) => spec.unk_id = id as i32,
            (41, Value::Varint(id)) => spec.bos_id = id as i32,
            (42, Value::Varint(id)) => spec.eos_id = id as i32,
            (43, Value::Varint(id)) => spec.pad_id = id as i32,
            (44, Value::Bytes(bytes)) => spec.unk_surface = text(&field, bytes, "unk_surface")?,
            (45, Value::Bytes(bytes)) => spec.unk_piece = text(&field, bytes, "unk_piece")?,
            (46, Value::Bytes(bytes)) => spec.bos_piece = text(&field, bytes, "bos_piece")?,
            (47, Value::Bytes(bytes)) => spec.eos_piece = text(&field, bytes, "eos_piece")?,
            (48, Value::Bytes(bytes)) => spec.pad_piece = text(&field, bytes, "pad_piece")?,
            _ => {}
        }
    }
    Ok(())
}

fn read_normalizer(message: &[u8], offset: usize, spec: &mut NormalizerSpec) -> Result<()> {
    let mut reader = Reader::new(message, offset);
    while let Some(field) = reader.next()? {
        match (field.number, field.value) {
            (1, Value::Bytes(bytes)) => spec.name = text(&field, bytes, "name")?,
            (2, Value::Bytes(bytes)) => spec.precompiled_charsmap = bytes.to_vec(),
            (3, Value::Varint(flag)) => spec.add_dummy_prefix = flag != 0,
            (4, Value::Varint(flag)) => spec.remove_extra_whitespaces = flag != 0,
            (5, Value::Varint(flag)) => spec.escape_whitespaces = flag != 0,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
