//! SentencePiece as a library has it: pieces with kinds, its own normalizer, its BPE, its decoding.
//!
//! Follows `sentencepiece` 0.2.3. The Unigram model itself is in [`crate::unigram`].

pub mod bpe;
pub mod decode;
pub mod normalizer;
pub mod piece;
pub mod processor;
pub mod spec;
mod words;

pub use bpe::SpmBpe;
pub use decode::SpmDecoder;
pub use normalizer::{Origins, SpmNormalizer};
pub use piece::{Piece, PieceKind};
pub use processor::{SpmEncoder, SpmProcessor, SpmScratch, Surface};
pub use spec::{ModelType, NormalizerSpec, SpmModel, TrainerSpec};
pub use words::{SpmChars, SpmWords};
