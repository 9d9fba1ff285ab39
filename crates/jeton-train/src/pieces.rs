//! Unigram for any pipeline: pieces with log probabilities from counts, whatever cut them, as
//! `tokenizers` trains it.
//!
//! The method is the one of [`unigram`](super::unigram). SentencePiece's rules for pieces are left
//! out: a piece is any string within a pretoken.

use std::ops::ControlFlow;

use serde::Deserialize;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::MAX_IDS;

use super::alphabet::{AlphabetOptions, choose_alphabet, count_characters};
use super::counts::PretokenCounts;
use super::learner::Progress;
use super::sentences::PieceRules;
use super::unigram::{TrainedUnigram, UnigramTrainOptions, train_unigram};

/// Options of learning.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieceTrainOptions {
    /// Pieces wanted, characters included.
    pub n_pieces: usize,
    /// Characters that are pieces even if the text does not have them.
    pub required_chars: String,
    /// Strings that must not be pieces: special tokens, the unknown one.
    pub refused: Vec<String>,
    /// Longest piece in characters.
    pub max_piece_length: usize,
    /// Share of the pieces that a pruning keeps.
    pub shrinking_factor: f64,
    /// Rounds of expectation and maximization before a pruning.
    pub n_sub_iterations: usize,
    /// Candidates besides the characters.
    pub seed_size: usize,
}

impl PieceTrainOptions {
    /// Reads options as JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .map_err(|error| Error::usage(format!("the options cannot be read: {error}")))
    }
}

/// Learn pieces from counts.
///
/// # Errors
///
/// `Training`: no text, no room for the characters. `TooLarge`, `Interrupted`: as
/// [`train_unigram`].
pub fn train_pieces(
    counts: &PretokenCounts,
    options: &PieceTrainOptions,
    num_threads: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedUnigram> {
    if options.n_pieces > MAX_IDS as usize {
        return Err(ErrorKind::TooLarge {
            what: "vocab_size",
            limit: u64::from(MAX_IDS),
        }
        .into());
    }
    let alphabet = AlphabetOptions {
        required: options.required_chars.clone(),
        ..AlphabetOptions::default()
    };
    let refused = |text: &str| options.refused.iter().any(|other| other == text);
    let mut alphabet = choose_alphabet(&count_characters(counts)?, &alphabet);
    alphabet.retain(|(c, _)| !refused(c.encode_utf8(&mut [0; 4])));
    let unigram = UnigramTrainOptions {
        seed_sentencepiece_size: options.seed_size,
        shrinking_factor: options.shrinking_factor,
        num_sub_iterations: options.n_sub_iterations,
        max_sentencepiece_length: options.max_piece_length,
        ..UnigramTrainOptions::new(options.n_pieces)
    };
    train_unigram(
        counts,
        &alphabet,
        &PieceRules::any(options.max_piece_length)?,
        &refused,
        &unigram,
        num_threads,
        on_progress,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> PieceTrainOptions {
        PieceTrainOptions {
            n_pieces: 8,
            required_chars: "z".to_owned(),
            refused: vec!["ab".to_owned()],
            max_piece_length: 5,
            shrinking_factor: 0.75,
            n_sub_iterations: 2,
            seed_size: 1000,
        }
    }

    #[test]
    fn pieces_hold_spaces_and_required_characters_and_nothing_refused() {
        let mut counts = PretokenCounts::new();
        counts.add(b"ab cd", 30).unwrap();
        counts.add(b"ab", 40).unwrap();
        let mut tell = |_| ControlFlow::Continue(());
        let trained = train_pieces(&counts, &options(), 1, &mut tell).unwrap();
        let texts: Vec<&str> = trained.pieces.iter().map(|p| p.0.as_str()).collect();
        assert!(texts.contains(&"z") && texts.contains(&" ") && !texts.contains(&"ab"));
        assert!(
            texts
                .iter()
                .any(|text| text.contains(' ') && text.len() > 1),
            "{texts:?}"
        );
        assert!(trained.pieces.iter().all(|p| p.0.chars().count() <= 5));
        let none = train_pieces(&PretokenCounts::new(), &options(), 1, &mut tell);
        assert!(none.is_err());
    }
}
