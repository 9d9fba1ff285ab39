//! SentencePiece as an engine: it normalizes by rules of its own, sees a whole sentence at once,
//! and has its own way back.

use crate::error::Result;
use crate::models::unigram::SpannedId;
use crate::pipeline::EachSpan;
use crate::sentencepiece::unread_fields::UnreadFields;
use crate::sentencepiece::{PieceKind, SpmModel, SpmProcessor, SpmScratch};
use crate::vocab::Vocab;

/// A SentencePiece model with what the tokenizer's interface asks of it.
#[derive(Debug)]
pub(crate) struct SentencePiece {
    pub(crate) model: SpmModel,
    pub(crate) processor: SpmProcessor,
    /// The bytes that each id stands for: spaces as spaces, `<0x41>` as the byte.
    pub(super) bytes: Vocab,
    /// Further fields of the file that the model was read from, to write it again. The tokenizer
    /// does not need them.
    pub(crate) unread: Option<UnreadFields>,
}

/// U+2581, which stands for a space inside pieces.
const SPACE: char = '\u{2581}';

impl SentencePiece {
    pub(crate) fn new(model: SpmModel) -> Result<Self> {
        let processor = SpmProcessor::new(&model)?;
        let mut bytes = Vocab::with_capacity(model.pieces.len());
        for (id, piece) in (0..).zip(&model.pieces) {
            let shown = String::from_utf8_lossy(&piece.bytes)
                .replace(SPACE, " ")
                .into_bytes();
            match piece.kind {
                PieceKind::Byte => {
                    let byte = crate::sentencepiece::piece::byte_of(&piece.bytes);
                    // A byte may be a piece of its own too, which then wins the way back.
                    bytes.insert_opaque(id, &byte.map_or(shown, |byte| vec![byte]))?;
                }
                PieceKind::Control | PieceKind::Unknown => bytes.insert_opaque(id, &piece.bytes)?,
                _ => bytes.insert(id, &shown)?,
            }
        }
        Ok(Self {
            model,
            processor,
            bytes,
            unread: None,
        })
    }

    /// The id that stands for text without a piece.
    pub(super) fn unknown(&self) -> Option<u32> {
        let mut all = (0..).zip(&self.model.pieces);
        all.find(|(_, piece)| piece.kind == PieceKind::Unknown)
            .map(|(id, _)| id)
    }

    /// Returns the text that decoding the ids of `text` should give: normalized, spaces as spaces,
    /// without the space that normalization put in front.
    pub(crate) fn expected_decoding(&self, text: &str) -> String {
        let normalized = self
            .processor
            .normalizer()
            .normalize(text)
            .replace(SPACE, " ");
        let spec = &self.model.normalizer;
        if !spec.add_dummy_prefix || self.model.trainer.treat_whitespace_as_suffix {
            return normalized;
        }
        normalized
            .strip_prefix(' ')
            .map(str::to_owned)
            .unwrap_or(normalized)
    }

    /// Encodes text: `each(id, start, end, word)` in bytes of it. Returns the number of words.
    pub(super) fn encode_spans(
        &self,
        text: &str,
        scratch: &mut SpmScratch,
        each: &mut EachSpan<'_>,
    ) -> Result<i64> {
        let mut spans: Vec<SpannedId> = Vec::new();
        self.processor
            .encode_with_surfaces(text, scratch, &mut spans)?;
        let mut words = 0;
        for span in &spans {
            // A piece that begins with a space begins a word.
            let begins = self
                .bytes
                .id_to_bytes(span.id)
                .is_some_and(|bytes| bytes.starts_with(b" "));
            words += i64::from(begins || words == 0);
            let (start, end) = (span.start as usize, span.end as usize);
            let surface = text.as_bytes().get(start..end).unwrap_or_default();
            each(span.id, start, end, words - 1, surface);
        }
        Ok(words)
    }
}
