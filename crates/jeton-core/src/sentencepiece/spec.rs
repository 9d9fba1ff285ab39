//! A SentencePiece model as data: pieces and settings.

use super::piece::Piece;

/// How a model cuts text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelType {
    /// The most probable pieces.
    #[default]
    Unigram,
    /// Merges by score.
    Bpe,
    /// Whole words.
    Word,
    /// Single characters.
    Char,
}

/// A SentencePiece model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpmModel {
    /// The vocabulary; an id is a place in it.
    pub pieces: Vec<Piece>,
    /// Settings of training that also decide how text is encoded.
    pub trainer: TrainerSpec,
    /// Normalization of text before the model sees it.
    pub normalizer: NormalizerSpec,
    /// Normalization of decoded text, if any.
    pub denormalizer: Option<NormalizerSpec>,
}

/// Settings of training that also decide how text is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainerSpec {
    /// How the model cuts text.
    pub model_type: ModelType,
    /// True if characters without a piece become bytes.
    pub byte_fallback: bool,
    /// True if the space belongs to the word before it.
    pub treat_whitespace_as_suffix: bool,
    /// Text of the unknown piece.
    pub unk_piece: String,
    /// Text of the piece at the beginning of a sentence.
    pub bos_piece: String,
    /// Text of the piece at the end of a sentence.
    pub eos_piece: String,
    /// Text of the piece that fills batches.
    pub pad_piece: String,
    /// Its id when the model was trained; the pieces themselves decide.
    pub unk_id: i32,
    /// As `unk_id`.
    pub bos_id: i32,
    /// As `unk_id`.
    pub eos_id: i32,
    /// As `unk_id`; -1: none.
    pub pad_id: i32,
    /// Text that the unknown id decodes to.
    pub unk_surface: String,
}

impl Default for TrainerSpec {
    /// The defaults of `sentencepiece_model.proto` (0.2.3).
    fn default() -> Self {
        Self {
            model_type: ModelType::Unigram,
            byte_fallback: false,
            treat_whitespace_as_suffix: false,
            unk_piece: "<unk>".to_owned(),
            bos_piece: "<s>".to_owned(),
            eos_piece: "</s>".to_owned(),
            pad_piece: "<pad>".to_owned(),
            unk_id: 0,
            bos_id: 1,
            eos_id: 2,
            pad_id: -1,
            unk_surface: " \u{2047} ".to_owned(),
        }
    }
}

/// Normalization of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalizerSpec {
    /// Name of the rules (`nmt_nfkc`).
    pub name: String,
    /// The compiled rules; empty: none.
    pub precompiled_charsmap: Vec<u8>,
    /// True if a space is put in front of (or after) the text.
    pub add_dummy_prefix: bool,
    /// True if spaces at both ends go and runs of spaces become one.
    pub remove_extra_whitespaces: bool,
    /// True if a space is written as U+2581.
    pub escape_whitespaces: bool,
}

impl Default for NormalizerSpec {
    /// The defaults of `sentencepiece_model.proto` (0.2.3).
    fn default() -> Self {
        Self {
            name: String::new(),
            precompiled_charsmap: Vec::new(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        }
    }
}
