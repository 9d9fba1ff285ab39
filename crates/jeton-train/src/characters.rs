//! One door to every algorithm on characters and words, with options as they come from outside.

use std::ops::ControlFlow;

use serde::Deserialize;

use jeton_core::error::{Error, Result};

use super::alphabet::AlphabetOptions;
use super::char_bpe::{CharBpeTrainOptions, CharTieRule, TrainedChars, train_char_bpe};
use super::counts::PretokenCounts;
use super::learner::Progress;
use super::symbols::Spelling;
use super::word::{WordTrainOptions, train_characters, train_words};
use super::wordpiece::{WordPieceRule, WordPieceTrainOptions, train_wordpiece};

/// Model that the tokens are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CharacterModelKind {
    /// BPE on characters.
    Bpe(Spelling),
    /// `WordPiece`: what marks a continuation, and the most characters of a word.
    WordPiece {
        /// The mark.
        prefix: String,
        /// Longer words are unknown.
        max_chars: usize,
    },
    /// Whole words.
    Word,
    /// Single characters.
    Character,
}

/// Surroundings of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Surroundings {
    /// The special token for what has no other; without one, such text is an error.
    pub unk_token: Option<String>,
    /// Special tokens put before and behind a text on request, and between two.
    pub cls_sep: Option<(String, String)>,
    /// Strings that are one token wherever they stand.
    pub forced_tokens: Vec<String>,
}

/// Options of a model on characters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharacterTrainOptions {
    /// `bpe`, `wordpiece`, `word` or `character`.
    pub model: String,
    /// Tokens wanted.
    pub vocab_size: usize,
    /// Least frequency of a token.
    pub min_frequency: u64,
    /// Special tokens, with the ids 0, 1 ... in this order.
    pub special_tokens: Vec<String>,
    /// Longest token in characters.
    pub max_token_length: Option<usize>,
    /// Share of the text that the alphabet covers.
    pub character_coverage: f64,
    /// Most characters of the alphabet.
    pub limit_alphabet: Option<usize>,
    /// Characters of the alphabet whatever the text has.
    pub required_chars: String,
    /// Stands before what continues a word.
    #[serde(default)]
    pub continuing_prefix: String,
    /// Stands behind what ends a word.
    #[serde(default)]
    pub end_of_word_suffix: String,
    /// `WordPiece`: `frequency` or `likelihood`.
    #[serde(default)]
    pub rule: String,
    /// BPE: `ids` or `shorter`.
    #[serde(default)]
    pub ties: String,
    /// `WordPiece`: longer words are unknown.
    #[serde(default)]
    pub max_input_chars_per_word: usize,
    /// Surroundings of the model.
    #[serde(default)]
    pub around: Surroundings,
}

impl CharacterTrainOptions {
    /// Reads options as JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .map_err(|error| Error::usage(format!("the options cannot be read: {error}")))
    }
}

/// Learn what the options ask for: the tokens, and the kind of model that they are for.
///
/// Errors: the algorithm's, and `Usage` for an unknown model.
pub fn train_on_characters(
    counts: &PretokenCounts,
    options: &CharacterTrainOptions,
    tell: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<(TrainedChars, CharacterModelKind)> {
    let alphabet = AlphabetOptions {
        coverage: options.character_coverage,
        limit: options.limit_alphabet,
        required: options.required_chars.clone(),
    };
    let words = || WordTrainOptions {
        vocab_size: options.vocab_size,
        min_frequency: options.min_frequency,
        special_tokens: options.special_tokens.clone(),
        max_token_chars: options.max_token_length,
        max_token_bytes: None,
    };
    match options.model.as_str() {
        "bpe" => {
            let spelling = Spelling {
                continuing_prefix: options.continuing_prefix.clone(),
                end_of_word_suffix: options.end_of_word_suffix.clone(),
            };
            let bpe = CharBpeTrainOptions {
                vocab_size: options.vocab_size,
                min_frequency: options.min_frequency,
                special_tokens: options.special_tokens.clone(),
                max_token_chars: options.max_token_length,
                alphabet,
                spelling: spelling.clone(),
                tie_rule: match options.ties.as_str() {
                    "shorter" => CharTieRule::ShorterFirst,
                    _ => CharTieRule::LowerIds,
                },
            };
            let trained = train_char_bpe(counts, &bpe, tell)?;
            Ok((trained, CharacterModelKind::Bpe(spelling)))
        }
        "wordpiece" => {
            let wordpiece = WordPieceTrainOptions {
                vocab_size: options.vocab_size,
                min_frequency: options.min_frequency,
                special_tokens: options.special_tokens.clone(),
                max_token_chars: options.max_token_length,
                alphabet,
                prefix: options.continuing_prefix.clone(),
                rule: match options.rule.as_str() {
                    "likelihood" => WordPieceRule::Likelihood,
                    _ => WordPieceRule::Frequency,
                },
            };
            let trained = train_wordpiece(counts, &wordpiece, tell)?;
            let kind = CharacterModelKind::WordPiece {
                prefix: options.continuing_prefix.clone(),
                max_chars: options.max_input_chars_per_word,
            };
            Ok((trained, kind))
        }
        "word" => Ok((train_words(counts, &words())?, CharacterModelKind::Word)),
        "character" => {
            let trained = train_characters(counts, &words(), &alphabet)?;
            Ok((trained, CharacterModelKind::Character))
        }
        other => Err(Error::usage(format!(
            "model is {other:?}; expected \"bpe\", \"wordpiece\", \"word\" or \"character\""
        ))),
    }
}
