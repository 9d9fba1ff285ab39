//! A SentencePiece model put together: normalizer, model, decoder.

use super::bpe::{SpmBpe, SpmBpeScratch};
use super::decode::SpmDecoder;
use super::normalizer::{Matcher, SpmNormalizer};
use super::piece::PieceKind;
use super::spec::{ModelType, SpmModel};
use super::words::{SpmChars, SpmWords};
use crate::error::Result;
use crate::models::Model as _;
use crate::models::unigram::{PathsSoFar, SpannedId, SplitMix64, UnigramModel, UnigramScratch};
use crate::vocab::Vocab;

/// The model of a SentencePiece file.
#[derive(Debug)]
pub enum SpmEncoder {
    /// The most probable pieces.
    Unigram(UnigramModel),
    /// Merges by score.
    Bpe(SpmBpe),
    /// Whole words.
    Words(SpmWords),
    /// Single characters.
    Chars(SpmChars),
}

/// Memory that encoding uses again.
#[derive(Debug, Default)]
pub struct SpmScratch {
    unigram: UnigramScratch,
    bpe: SpmBpeScratch,
}

impl SpmScratch {
    /// Memory of the Unigram model.
    pub(crate) fn unigram(&mut self) -> &mut UnigramScratch {
        &mut self.unigram
    }
}

/// An id and the bytes of the original text that it stands for, by SentencePiece's own rule.
pub type Surface = SpannedId;

impl SpmEncoder {
    /// Builds the model. Fails where SentencePiece refuses it.
    pub fn new(model: &SpmModel) -> Result<Self> {
        let (pieces, byte_fallback) = (&model.pieces, model.trainer.byte_fallback);
        Ok(match model.trainer.model_type {
            ModelType::Unigram => Self::Unigram(UnigramModel::from_pieces(pieces, byte_fallback)?),
            ModelType::Bpe => Self::Bpe(SpmBpe::new(pieces, byte_fallback)?),
            ModelType::Word => Self::Words(SpmWords::new(pieces, byte_fallback)?),
            ModelType::Char => Self::Chars(SpmChars::new(pieces, byte_fallback)?),
        })
    }

    /// Pieces and ids.
    pub fn vocab(&self) -> &Vocab {
        match self {
            Self::Unigram(model) => model.vocab(),
            Self::Bpe(model) => model.vocab(),
            Self::Words(model) => model.vocab(),
            Self::Chars(model) => model.vocab(),
        }
    }

    /// The ids of a normalized text, each with the bytes of it that it stands for.
    pub fn encode_with_pieces(
        &self,
        text: &[u8],
        scratch: &mut SpmScratch,
        out: &mut Vec<SpannedId>,
    ) -> Result<()> {
        match self {
            Self::Unigram(model) => model.encode_with_pieces(text, &mut scratch.unigram, out),
            Self::Bpe(model) => model.encode_with_pieces(text, &mut scratch.bpe, out),
            Self::Words(model) => model.encode_with_pieces(text, out),
            Self::Chars(model) => model.encode_with_pieces(text, out),
        }
    }

    /// The ids of a drawn segmentation: of the `nbest_size` best ones, or of all if it is none;
    /// `alpha` sharpens the distribution, and is the probability of leaving a merge out in BPE.
    /// Words and characters have but one.
    pub fn sample(
        &self,
        text: &[u8],
        nbest_size: Option<usize>,
        alpha: f64,
        random: &mut SplitMix64,
        scratch: &mut SpmScratch,
        out: &mut Vec<SpannedId>,
    ) -> Result<()> {
        match (self, nbest_size) {
            (Self::Unigram(model), Some(n)) if n > 1 => {
                model.sample_nbest(text, n, alpha, random, out)
            }
            (Self::Unigram(model), None) => model.sample(text, alpha, random, out),
            (Self::Bpe(model), _) => model.sample(text, alpha, random, &mut scratch.bpe, out),
            _ => self.encode_with_pieces(text, scratch, out),
        }
    }
}

impl SpmEncoder {
    /// Appends the ids of a normalized text.
    pub fn encode(&self, text: &[u8], scratch: &mut SpmScratch, out: &mut Vec<u32>) -> Result<()> {
        match self {
            Self::Unigram(model) => model.encode_pretoken(text, &mut scratch.unigram, out),
            Self::Bpe(model) => model.encode(text, &mut scratch.bpe, out),
            Self::Words(model) => model.encode(text, out),
            Self::Chars(model) => model.encode(text, out),
        }
    }
}

/// A SentencePiece model, ready for use; share it between threads by reference.
#[derive(Debug)]
pub struct SpmProcessor {
    normalizer: SpmNormalizer,
    encoder: SpmEncoder,
    decoder: SpmDecoder,
    bos: Option<u32>,
    eos: Option<u32>,
    pad: Option<u32>,
}

impl SpmProcessor {
    /// Compiles a model. Fails where SentencePiece refuses it.
    pub fn new(model: &SpmModel) -> Result<Self> {
        let trainer = &model.trainer;
        // The piece decides, whatever id the settings of training name.
        let control = |text: &str, usual: &str| {
            let text = if text.is_empty() { usual } else { text };
            let mut all = model.pieces.iter().zip(0..);
            all.find(|(piece, _)| {
                piece.kind == PieceKind::Control && piece.bytes == text.as_bytes()
            })
            .map(|(_, id)| id)
        };
        Ok(Self {
            encoder: SpmEncoder::new(model)?,
            normalizer: model.compile_normalizer()?,
            decoder: SpmDecoder::new(model)?,
            bos: control(&trainer.bos_piece, "<s>"),
            eos: control(&trainer.eos_piece, "</s>"),
            pad: control(&trainer.pad_piece, "<pad>"),
        })
    }

    /// Normalizer that text passes before the model sees it.
    pub fn normalizer(&self) -> &SpmNormalizer {
        &self.normalizer
    }

    /// The model.
    pub fn encoder(&self) -> &SpmEncoder {
        &self.encoder
    }

    /// See [`SpmDecoder::show_named_bytes`].
    pub(crate) fn show_named_bytes(&mut self, model: &SpmModel) {
        self.decoder.show_named_bytes(&model.pieces);
    }

    /// The way back.
    pub fn decoder(&self) -> &SpmDecoder {
        &self.decoder
    }

    /// The id put before a text on request.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The id put behind a text on request.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// The id that fills batches.
    pub fn pad(&self) -> Option<u32> {
        self.pad
    }

    /// Appends the ids of a text.
    pub fn encode(&self, text: &str, scratch: &mut SpmScratch, out: &mut Vec<u32>) -> Result<()> {
        self.normalizer.check(text)?;
        let normalized = self.normalizer.normalize(text);
        self.encoder.encode(normalized.as_bytes(), scratch, out)
    }

    /// Appends the ids of a text of which the beginning is not there. `from`: what the model knows
    /// of it.
    pub(crate) fn go_on(
        &self,
        text: &str,
        from: Option<&PathsSoFar>,
        scratch: &mut SpmScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.normalizer.check(text)?;
        let normalized = self.normalizer.go_on(text);
        match (&self.encoder, from) {
            (SpmEncoder::Unigram(model), Some(from)) => {
                model.go_on(normalized.as_bytes(), from, &mut scratch.unigram, out)
            }
            (encoder, _) => encoder.encode(normalized.as_bytes(), scratch, out),
        }
    }

    /// Appends the ids of a text with their surfaces, in bytes of the text. Surfaces leave nothing
    /// out between the first and the last, so that spaces which were removed belong to the piece
    /// before them.
    pub fn encode_with_surfaces(
        &self,
        text: &str,
        scratch: &mut SpmScratch,
        out: &mut Vec<Surface>,
    ) -> Result<()> {
        self.normalizer.check(text)?;
        let (normalized, origins) = self.normalizer.normalize_with_origins(text);
        let first = out.len();
        self.encoder
            .encode_with_pieces(normalized.as_bytes(), scratch, out)?;
        for surface in &mut out[first..] {
            surface.start = origins.of(surface.start as usize) as u32;
            surface.end = origins.of(surface.end as usize) as u32;
        }
        Ok(())
    }

    /// The text of ids.
    pub fn decode(&self, ids: &[u32]) -> Result<Vec<u8>> {
        self.decoder.decode(ids)
    }
}

impl SpmModel {
    /// The texts of pieces that text can become; of the user's own only, if so asked.
    pub(crate) fn matched_pieces(&self, only_user_defined: bool) -> impl Iterator<Item = &[u8]> {
        let pieces = self.pieces.iter().filter(move |piece| {
            piece.is_matched()
                && !piece.is_null()
                && (!only_user_defined || piece.kind == PieceKind::UserDefined)
        });
        pieces.map(|piece| piece.bytes.as_slice())
    }

    /// The normalizer of the model, with its user-defined pieces kept.
    pub fn compile_normalizer(&self) -> Result<SpmNormalizer> {
        let kept = self
            .pieces
            .iter()
            .zip(0..)
            .filter(|(piece, _)| piece.kind == PieceKind::UserDefined && !piece.is_null())
            .map(|(piece, id)| (piece.bytes.as_slice(), id))
            .collect();
        let as_suffix = self.trainer.treat_whitespace_as_suffix;
        SpmNormalizer::new(&self.normalizer, as_suffix, Matcher::new(kept)?)
    }
}
