//! Unigram language models: every piece has a probability, and a text is cut so that the product is
//! largest.
//!
//! Two libraries do this with different arithmetic, and both are followed exactly: `sentencepiece`
//! 0.2.3 ([`Flavor::SentencePiece`]: `f32`, kinds of pieces, ties to the earlier start) and
//! `tokenizers` 0.23 ([`Flavor::Hf`]: `f64`, no kinds, unknown text fused and looked up again).
//! Source: Kudo, "Subword regularization" (2018), arXiv:1804.10959.
//!
//! A "pretoken" here is a whole normalized sentence, or whatever a pre-tokenizer makes of it. Time
//! is the length of the text times the longest match in the trie; memory 12 to 24 bytes per byte of
//! text.

pub(crate) mod emit;
#[cfg(test)]
mod naive;
mod nbest;
pub mod piece;
mod queue;
pub mod random;
mod resume;
mod sample;
mod several;
pub mod trie;
mod viterbi;
mod words;

pub use emit::{Emit, SpannedId};
pub use random::SplitMix64;
pub(crate) use resume::PathsSoFar;
pub use several::MAX_NBEST;
pub(crate) use words::{LARGEST_SUM, MAX_CERTAIN_CHARS, Sum};

use self::piece::{FORMAT, Piece, PieceKind, byte_of, check};
use crate::error::{Error, ErrorKind, Result};
use crate::models::Model;
use crate::vocab::Vocab;
use emit::{Fuse, NO_ID, char_bytes};
use trie::Trie;
use viterbi::{Costs, NoUnknown, Paths, best_path};

/// Extra cost of a character without a piece over the least probable piece; equal in both
/// libraries.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Bonus that each byte but the first adds to the score of a user-defined piece (`sentencepiece`
/// 0.2.3).
const USER_DEFINED_BONUS: f64 = 0.1;

/// Library whose arithmetic a model follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// `sentencepiece` 0.2.3.
    SentencePiece,
    /// `tokenizers` 0.23.
    Hf,
}

/// A Unigram model.
#[derive(Debug)]
pub struct UnigramModel {
    vocab: Vocab,
    trie: Trie,
    scores: Scores,
    /// [`NO_ID`] if there is none.
    unknown: u32,
    bytes: Option<Box<[u32; 256]>>,
}

#[derive(Debug)]
enum Scores {
    SentencePiece {
        /// By id; of user-defined pieces by their length in bytes.
        scores: Vec<f32>,
        /// By id; of user-defined pieces by their length in characters: sampling counts these.
        lattice: Vec<f32>,
        unknown: f32,
    },
    Hf {
        scores: Vec<f64>,
        unknown: f64,
    },
}

/// Memory that encoding uses again.
#[derive(Debug, Default)]
pub struct UnigramScratch {
    single: Paths<f32>,
    double: Paths<f64>,
    ways: Vec<words::Two>,
}

fn user_defined_score(length: usize) -> f32 {
    (USER_DEFINED_BONUS * (length as f64 - 1.0)) as f32
}

impl UnigramModel {
    /// A model as SentencePiece has it. Fails where SentencePiece refuses the vocabulary.
    pub fn from_pieces(pieces: &[Piece], byte_fallback: bool) -> Result<Self> {
        let checked = check(pieces, byte_fallback, false)?;
        if let Some(id) = pieces.iter().position(|piece| !piece.score.is_finite()) {
            let score = pieces[id].score;
            return Err(Error::format(
                FORMAT,
                format!("the score of piece {id} is {score}; it must be finite"),
            ));
        }
        let least = pieces
            .iter()
            .filter(|piece| piece.kind == PieceKind::Normal)
            .fold(f32::MAX, |least, piece| least.min(piece.score));
        let scores_with = |length: fn(&[u8]) -> usize| -> Vec<f32> {
            let score = |piece: &Piece| match piece.kind {
                PieceKind::UserDefined => user_defined_score(length(&piece.bytes)),
                _ => piece.score,
            };
            pieces.iter().map(score).collect()
        };
        let matched = |piece: &Piece| {
            matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined) && !piece.is_null()
        };
        let keys: Vec<_> = pieces
            .iter()
            .zip(0..)
            .filter(|(piece, _)| matched(piece))
            .map(|(piece, id)| (piece.bytes.as_slice(), id))
            .collect();
        if !pieces
            .iter()
            .any(|piece| piece.is_matched() && !piece.is_null())
        {
            return Err(Error::format(
                FORMAT,
                "it has no pieces that text can become",
            ));
        }
        Ok(Self {
            trie: Trie::new(keys)?,
            scores: Scores::SentencePiece {
                scores: scores_with(<[u8]>::len),
                lattice: scores_with(n_chars),
                unknown: least - UNKNOWN_PENALTY,
            },
            unknown: checked.unknown.unwrap_or(NO_ID),
            bytes: checked.bytes,
            vocab: checked.vocab,
        })
    }

    /// A model as `tokenizers` has it; ids are places in the list.
    ///
    /// Fails if `unk_id` is none of them. The last of equal pieces counts.
    pub fn from_scored(
        pieces: &[(impl AsRef<str>, f64)],
        unk_id: Option<u32>,
        byte_fallback: bool,
    ) -> Result<Self> {
        Self::from_scored_without(pieces, unk_id, byte_fallback, &[])
    }

    /// Builds the model so that text never becomes the pieces `unmatched` (rising ids): they are
    /// decoded only, and bytes (`<0x41>`) stand for bytes only. Scores of all others, unknown text
    /// included, stay.
    pub(crate) fn from_scored_without(
        pieces: &[(impl AsRef<str>, f64)],
        unk_id: Option<u32>,
        byte_fallback: bool,
        unmatched: &[u32],
    ) -> Result<Self> {
        const MODEL: &str = "tokenizer.json";
        if unk_id.is_some_and(|id| id as usize >= pieces.len()) {
            let reason = format!(
                "unk_id is {}; the Unigram model has {} pieces",
                unk_id.unwrap_or_default(),
                pieces.len()
            );
            return Err(Error::format(MODEL, reason));
        }
        let is_matched = |id: u32| unmatched.binary_search(&id).is_err();
        let mut vocab = Vocab::with_capacity(pieces.len());
        let mut bytes = Box::new([NO_ID; 256]);
        // The first token of given bytes wins in a vocabulary; here it is to be the last.
        for (id, (piece, _)) in pieces.iter().enumerate().rev() {
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            let piece = piece.as_ref().as_bytes();
            if let Some(byte) = byte_of(piece)
                && bytes[usize::from(byte)] == NO_ID
            {
                bytes[usize::from(byte)] = id;
            }
            if is_matched(id) {
                vocab.insert(id, piece)?;
            } else {
                vocab.insert_opaque(id, piece)?;
            }
        }
        let keys = pieces
            .iter()
            .enumerate()
            .rev()
            .map(|(id, (piece, _))| (piece.as_ref().as_bytes(), id as u32))
            .filter(|&(_, id)| is_matched(id))
            .collect();
        let least = pieces
            .iter()
            .map(|&(_, score)| score)
            .fold(
                f64::INFINITY,
                |least, score| {
                    if score < least { score } else { least }
                },
            );
        Ok(Self {
            trie: Trie::new(keys)?,
            scores: Scores::Hf {
                scores: pieces.iter().map(|&(_, score)| score).collect(),
                unknown: least - f64::from(UNKNOWN_PENALTY),
            },
            unknown: unk_id.unwrap_or(NO_ID),
            bytes: byte_fallback.then_some(bytes),
            vocab,
        })
    }

    /// Adds a token that text never becomes: a special token without a score.
    pub(crate) fn insert_opaque(&mut self, id: u32, bytes: &[u8]) -> Result<()> {
        self.vocab.insert_opaque(id, bytes)
    }

    /// Pieces and scores by id.
    pub fn scored_pieces(&self) -> impl Iterator<Item = (&[u8], f64)> + '_ {
        (0..).map_while(|id| Some((self.vocab.id_to_bytes(id)?, self.score(id)?)))
    }

    /// Returns the library whose arithmetic this model follows.
    pub fn flavor(&self) -> Flavor {
        match self.scores {
            Scores::SentencePiece { .. } => Flavor::SentencePiece,
            Scores::Hf { .. } => Flavor::Hf,
        }
    }

    /// The id of unknown text.
    pub fn unknown(&self) -> Option<u32> {
        (self.unknown != NO_ID).then_some(self.unknown)
    }

    /// True if unknown characters become bytes.
    pub fn byte_fallback(&self) -> bool {
        self.bytes.is_some()
    }

    /// The score of a piece as the model uses it.
    pub fn score(&self, id: u32) -> Option<f64> {
        match &self.scores {
            Scores::SentencePiece { scores, .. } => {
                scores.get(id as usize).map(|&score| f64::from(score))
            }
            Scores::Hf { scores, .. } => scores.get(id as usize).copied(),
        }
    }

    /// The most probable ids, each with the bytes of the text it stands for. A text is UTF-8.
    pub fn encode_with_pieces(
        &self,
        text: &[u8],
        scratch: &mut UnigramScratch,
        out: &mut Vec<SpannedId>,
    ) -> Result<()> {
        self.encode_to(text, scratch, out)
    }

    /// The segments that may begin at a character: `each(id, end, score)`. Returns where the next
    /// character begins.
    fn candidates(
        &self,
        text: &[u8],
        start: usize,
        mut each: impl FnMut(u32, usize, f64),
    ) -> usize {
        let one = start + char_bytes(text[start]).min(text.len() - start);
        let mut has_one = false;
        for (length, id) in self.trie.prefixes(&text[start..]) {
            let end = start + length;
            has_one |= end == one;
            each(id, end, self.lattice_score(id));
        }
        if !has_one {
            match &self.scores {
                Scores::SentencePiece { unknown, .. } => {
                    each(self.unknown, one, f64::from(*unknown));
                }
                Scores::Hf { unknown, .. } => {
                    if let Some(id) = self.unknown() {
                        each(id, one, *unknown);
                    }
                }
            }
        }
        one
    }

    fn lattice_score(&self, id: u32) -> f64 {
        match &self.scores {
            Scores::SentencePiece { lattice, .. } => f64::from(lattice[id as usize]),
            Scores::Hf { scores, .. } => scores[id as usize],
        }
    }

    fn emit_segments(
        &self,
        text: &[u8],
        segments: impl Iterator<Item = (u32, u32)>,
        out: &mut impl Emit,
    ) -> Result<()> {
        let mut start = 0;
        match &self.scores {
            Scores::SentencePiece { .. } => {
                let mut fuse = Fuse::new(self.unknown, self.bytes.as_deref(), out);
                for (id, end) in segments {
                    fuse.segment(text, id, start, end as usize);
                    start = end as usize;
                }
            }
            Scores::Hf { .. } => {
                // Where unknown text began that has not been emitted yet.
                let mut unknown_from = None;
                for (id, end) in segments {
                    let end = end as usize;
                    if id == self.unknown {
                        unknown_from.get_or_insert(start);
                    } else {
                        if let Some(from) = unknown_from.take() {
                            self.emit_unknown(text, from, start, out)?;
                        }
                        out.emit(id, start, end);
                    }
                    start = end;
                }
                if let Some(from) = unknown_from {
                    self.emit_unknown(text, from, start, out)?;
                }
            }
        }
        Ok(())
    }

    /// Unknown text as `tokenizers` has it: a piece if it happens to be one, bytes if all are
    /// there, or the unknown id.
    fn emit_unknown(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        out: &mut impl Emit,
    ) -> Result<()> {
        let unknown = &text[start..end];
        if let Some(id) = self.vocab.bytes_to_id(unknown) {
            out.emit(id, start, end);
        } else if let Some(bytes) = &self.bytes
            && unknown
                .iter()
                .all(|&byte| bytes[usize::from(byte)] != NO_ID)
        {
            for &byte in unknown {
                out.emit(bytes[usize::from(byte)], start, end);
            }
        } else {
            let id = self.unknown().ok_or_else(|| unencodable(unknown))?;
            out.emit(id, start, end);
        }
        Ok(())
    }

    fn encode_to(
        &self,
        text: &[u8],
        scratch: &mut UnigramScratch,
        out: &mut impl Emit,
    ) -> Result<()> {
        check_length(text)?;
        let no_unknown = |at: NoUnknown| unencodable(&text[at.start..at.end]);
        match &self.scores {
            Scores::SentencePiece {
                scores, unknown, ..
            } => {
                let costs = Costs {
                    scores,
                    unknown_score: *unknown,
                    unknown: Some(self.unknown),
                };
                let paths = &mut scratch.single;
                best_path(&self.trie, &costs, text, paths).map_err(no_unknown)?;
                self.emit_segments(text, paths.segments.iter().copied(), out)
            }
            Scores::Hf { scores, unknown } => {
                let costs = Costs {
                    scores,
                    unknown_score: *unknown,
                    unknown: self.unknown(),
                };
                let paths = &mut scratch.double;
                best_path(&self.trie, &costs, text, paths).map_err(no_unknown)?;
                self.emit_segments(text, paths.segments.iter().copied(), out)
            }
        }
    }
}

impl Model for UnigramModel {
    type Scratch = UnigramScratch;

    fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    fn encode_spans(
        &self,
        pretoken: &[u8],
        scratch: &mut UnigramScratch,
        each: &mut dyn FnMut(u32, usize, usize),
    ) -> Result<()> {
        let mut spans: Vec<SpannedId> = Vec::new();
        self.encode_to(pretoken, scratch, &mut spans)?;
        for span in spans {
            each(span.id, span.start as usize, span.end as usize);
        }
        Ok(())
    }

    fn encode_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut UnigramScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.encode_to(pretoken, scratch, out)
    }
}

/// Positions are 32 bits wide.
pub(crate) fn check_length(text: &[u8]) -> Result<()> {
    if text.len() >= u32::MAX as usize {
        return Err(ErrorKind::TooLarge {
            what: "text in bytes",
            limit: u64::from(u32::MAX) - 1,
        }
        .into());
    }
    Ok(())
}

fn unencodable(piece: &[u8]) -> Error {
    let piece = String::from_utf8_lossy(piece).into_owned();
    ErrorKind::Unencodable { piece }.into()
}

fn n_chars(text: &[u8]) -> usize {
    let mut n = 0;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += char_bytes(byte);
        n += 1;
    }
    n
}

#[cfg(test)]
mod tests;
