//! From ids to text, as SentencePiece does it.
//!
//! U+2581 becomes a space, and the space that normalization put in front goes. Control pieces are
//! invisible; the unknown piece shows its surface. Bytes are joined, and each byte that is part of
//! no character becomes U+FFFD. Follows `sentencepiece` 0.2.3.

mod stream;

pub(crate) use stream::SpmStream;

use super::normalizer::SpmNormalizer;
use super::piece::{Piece, PieceKind, SPACE};
use super::spec::SpmModel;
use crate::error::{ErrorKind, Result};
use crate::text::growth::check_written;

/// Decoding of a piece.
#[derive(Clone, Debug)]
enum Shown {
    /// Nothing.
    Nothing,
    /// Text that stands for an unknown token.
    Unknown,
    /// A byte.
    Byte(u8),
    /// Text with spaces; whether it begins with one.
    Text(Box<[u8]>, bool),
}

/// Decodes ids.
#[derive(Clone, Debug)]
pub struct SpmDecoder {
    shown: Vec<Shown>,
    unk_surface: String,
    /// True if a space at the very beginning goes.
    strip_first: bool,
    /// True if all of them go, until text comes.
    strip_all: bool,
    denormalizer: Option<SpmNormalizer>,
}

impl SpmDecoder {
    /// Compiles the decoder of a model.
    pub fn new(model: &SpmModel) -> Result<Self> {
        check_written(
            "bytes that unknown text decodes to",
            &model.trainer.unk_surface,
        )?;
        let byte_fallback = model.trainer.byte_fallback;
        let shown = model
            .pieces
            .iter()
            .map(|piece| match piece.kind {
                _ if piece.is_null() && byte_fallback => {
                    Shown::Text(piece.bytes.clone().into(), false)
                }
                PieceKind::Control => Shown::Nothing,
                PieceKind::Unknown => Shown::Unknown,
                PieceKind::Byte => {
                    super::piece::byte_of(&piece.bytes).map_or(Shown::Nothing, Shown::Byte)
                }
                _ => Shown::Text(
                    unescape(&piece.bytes).into(),
                    piece.bytes.starts_with(SPACE.as_bytes()),
                ),
            })
            .collect();
        let spec = model.denormalizer.as_ref();
        let denormalizer = spec
            .filter(|spec| !spec.precompiled_charsmap.is_empty())
            .map(|spec| SpmNormalizer::new(spec, false, None))
            .transpose()?;
        let normalizer = &model.normalizer;
        Ok(Self {
            shown,
            unk_surface: model.trainer.unk_surface.clone(),
            strip_first: normalizer.add_dummy_prefix || normalizer.remove_extra_whitespaces,
            strip_all: normalizer.remove_extra_whitespaces,
            denormalizer,
        })
    }

    /// Shows control pieces that are named as bytes (`<0x0A>`) as these bytes, as llama.cpp does
    /// whatever the model.
    pub(crate) fn show_named_bytes(&mut self, pieces: &[Piece]) {
        for (shown, piece) in self.shown.iter_mut().zip(pieces) {
            if piece.kind == PieceKind::Control
                && let Some(byte) = super::piece::byte_of(&piece.bytes)
            {
                *shown = Shown::Byte(byte);
            }
        }
    }

    /// The byte that an id stands for.
    pub(crate) fn byte(&self, id: u32) -> Option<u8> {
        match self.shown.get(id as usize) {
            Some(Shown::Byte(byte)) => Some(*byte),
            _ => None,
        }
    }

    /// The text of ids, as bytes: a piece of a damaged model need not be UTF-8.
    pub fn decode(&self, ids: &[u32]) -> Result<Vec<u8>> {
        let made = self.joined(ids, push_utf8)?;
        self.denormalized(made)
    }

    /// Decodes to bytes; bytes that are no text stay as they are.
    pub fn decode_bytes(&self, ids: &[u32]) -> Result<Vec<u8>> {
        if self.denormalizer.is_some() {
            return self.decode(ids);
        }
        self.joined(ids, Vec::extend_from_slice)
    }

    /// `push`: appends a run of bytes.
    fn joined(&self, ids: &[u32], push: impl Fn(&mut Vec<u8>, &[u8])) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(ids.len() * 4);
        let mut bytes = Vec::new();
        let mut at_start = true;
        for &id in ids {
            let shown = self.shown(id)?;
            if let Shown::Byte(byte) = shown {
                bytes.push(*byte);
                continue;
            }
            push(&mut out, &bytes);
            bytes.clear();
            at_start &= out.is_empty();
            match shown {
                Shown::Nothing | Shown::Byte(_) => {}
                Shown::Unknown => out.extend_from_slice(self.unk_surface.as_bytes()),
                Shown::Text(text, with_space) => {
                    let strip = at_start && self.strip_first && *with_space;
                    out.extend_from_slice(&text[usize::from(strip)..]);
                    if strip && !self.strip_all {
                        at_start = false;
                    }
                }
            }
        }
        push(&mut out, &bytes);
        Ok(out)
    }

    /// Denormalizes the whole text.
    fn denormalized(&self, text: Vec<u8>) -> Result<Vec<u8>> {
        let Some(denormalizer) = &self.denormalizer else {
            return Ok(text);
        };
        let mut valid = Vec::with_capacity(text.len());
        push_utf8(&mut valid, &text);
        let valid = String::from_utf8(valid).unwrap_or_default();
        denormalizer.check(&valid)?;
        Ok(denormalizer.normalize(&valid).into_bytes())
    }

    fn shown(&self, id: u32) -> Result<&Shown> {
        self.shown.get(id as usize).ok_or_else(|| {
            let vocab_size = self.shown.len() as u64;
            let id = u64::from(id);
            ErrorKind::UnknownId { id, vocab_size }.into()
        })
    }
}

/// Spaces for U+2581.
fn unescape(piece: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(piece.len());
    let mut start = 0;
    for at in memchr::memmem::find_iter(piece, SPACE) {
        out.extend_from_slice(&piece[start..at]);
        out.push(b' ');
        start = at + SPACE.len();
    }
    out.extend_from_slice(&piece[start..]);
    out
}

/// Appends bytes; each that is part of no character becomes U+FFFD.
fn push_utf8(out: &mut Vec<u8>, mut bytes: &[u8]) {
    while let Err(error) = std::str::from_utf8(bytes) {
        let (good, bad) = bytes.split_at(error.valid_up_to());
        out.extend_from_slice(good);
        out.extend_from_slice("\u{FFFD}".as_bytes());
        bytes = bad.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::super::piece::Piece;
    use super::*;

    fn model() -> SpmModel {
        let mut model = SpmModel::default();
        model.trainer.byte_fallback = true;
        let pieces = [
            ("<unk>", PieceKind::Unknown),
            ("<s>", PieceKind::Control),
            ("▁", PieceKind::Normal),
            ("▁a▁", PieceKind::Normal),
            ("<0xC3>", PieceKind::Byte),
            ("<0xA9>", PieceKind::Byte),
        ];
        model.pieces = pieces
            .map(|(text, kind)| Piece {
                bytes: text.into(),
                score: 0.0,
                kind,
            })
            .to_vec();
        model
    }

    fn decode(model: &SpmModel, ids: &[u32]) -> String {
        let decoder = SpmDecoder::new(model).unwrap();
        String::from_utf8(decoder.decode(ids).unwrap()).unwrap()
    }

    #[test]
    fn spaces_at_the_start() {
        let mut model = model();
        assert_eq!(decode(&model, &[1, 2, 2, 3, 3]), "a  a ");
        model.normalizer.remove_extra_whitespaces = false;
        assert_eq!(decode(&model, &[1, 2, 2, 3]), "  a ");
        model.normalizer.add_dummy_prefix = false;
        assert_eq!(decode(&model, &[2, 3]), "  a ");
    }

    #[test]
    fn bytes_and_the_unknown() {
        let model = model();
        assert_eq!(
            decode(&model, &[4, 5, 5, 4, 0, 4]),
            "é\u{FFFD}\u{FFFD} \u{2047} \u{FFFD}"
        );
        let decoder = SpmDecoder::new(&model).unwrap();
        assert!(decoder.decode(&[6]).is_err());
        assert_eq!(decode(&model, &[]), "");
    }
}
