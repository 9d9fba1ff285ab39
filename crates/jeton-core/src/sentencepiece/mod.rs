//! SentencePiece as a library has it: pieces with kinds, its own normalizer, its BPE, its decoding.
//!
//! Follows `sentencepiece` 0.2.3. The Unigram model itself is in [`crate::models::unigram`].

pub mod bpe;
pub mod decode;
pub mod normalizer;
pub mod processor;
pub mod spec;
pub(crate) mod unread_fields;
mod words;

pub use crate::models::unigram::piece::{self, Piece, PieceKind};
pub use bpe::SpmBpe;
pub use decode::SpmDecoder;
pub use normalizer::{Origins, SpmNormalizer};
pub use processor::{SpmEncoder, SpmProcessor, SpmScratch, Surface};
pub use spec::{ModelType, NormalizerSpec, SpmModel, TrainerSpec};
pub use words::{SpmChars, SpmWords};
