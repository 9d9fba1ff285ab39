//! Training: texts become weighted pretokens once, and every algorithm learns from those counts.
//!
//! - [`counts`]: [`PretokenCounts`], mergeable, so threads, files and machines give one answer;
//!   [`PretokenCounter`] makes them from text in bounded memory.
//! - [`bounded`]: [`train_bpe_bounded`], the same merges from counts that do not fit in memory.
//! - [`bpe`]: byte-level BPE, [`train_bpe`], with the written rules of counting and of ties.
//! - [`cutting`]: [`Cutter`], from documents to pretokens; `sentences` is SentencePiece's way.
//! - [`superword`]: tokens of several words, [`train_superwords`].
//! - [`continued`]: more merges for a tokenizer that is there, [`continue_bpe`].
//! - [`parity`]: merges for the language that is worst off, [`train_parity`].
//! - [`trimmed`]: BPE without tokens that only lead to others, [`train_trimmed`].
//! - [`fewest`]: the vocabulary with which text needs fewest tokens, [`train_fewest`].
//! - [`alphabet`]: the characters of a vocabulary.
//! - [`char_bpe`], [`wordpiece`], [`word`]: algorithms on characters and words. They share
//!   `symbols`.
//! - [`characters`]: one door to these algorithms, with options as they come from outside.
//! - `to_tokenizer`, `characters_to_tokenizer`: a tokenizer of the learned tokens.
//! - [`unigram`]: the Unigram language model.
//! - [`spm`]: SentencePiece models of all four kinds.
//! - `engine`: the merge loop, generic over a [`MergePolicy`], so that a variant of BPE is a
//!   policy.
//! - `learner`: the policy of BPE and its kin.
//! - `state`: rows under merging, and the best pair.
//! - `cells`: all rows as one array of symbols that merges shrink in place.
//! - `pairs`: counts of pairs, and their changes by one merge.
//! - `queue`: the order of pairs.
//! - `units`: phrases as sequences of units that no merge within words can cross.
//! - `forced`: tokens that a vocabulary must have.
//! - `frequent`: learning from frequent characters only.
//! - `words`: sums over all distinct words, on all threads.
//! - [`rules`]: winners of ties, and reasons to stop.
//! - `naive`: the same results by recounting everything at each step; tests only.

pub mod alphabet;
pub mod bounded;
pub mod bpe;
mod cells;
pub mod char_bpe;
pub mod characters;
mod characters_to_tokenizer;
pub mod continued;
pub mod counts;
pub mod cutting;
mod engine;
pub mod fewest;
mod forced;
mod frequent;
mod learner;
mod pairs;
pub mod parity;
pub mod pieces;
mod queue;
pub mod rules;
pub mod sentences;
pub mod spm;
mod state;
pub mod superword;
pub mod symbols;
mod to_tokenizer;
pub mod trimmed;
pub mod unigram;
mod units;
pub mod word;
pub mod wordpiece;
mod words;

#[cfg(test)]
mod char_tests;
#[cfg(test)]
mod naive;
#[cfg(test)]
mod parity_tests;
#[cfg(test)]
mod superword_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trimmed_tests;

pub use alphabet::AlphabetOptions;
pub use bounded::{CountSource, Scratch, train_bpe_bounded};
pub use bpe::{BpeTrainOptions, TrainedBpe, train_bpe, train_bpe_until};
pub use char_bpe::{CharBpeTrainOptions, CharTieRule, TrainedChars, train_char_bpe};
pub use characters::{
    CharacterModelKind, CharacterTrainOptions, Surroundings, train_on_characters,
};
pub use continued::{Continued, NewToken, continue_bpe, cutting_of};
pub use counts::{
    Drain, DrainFn, LongPretokens, PretokenCounter, PretokenCounts, SplitFn, Splitting, Totals,
    Weights,
};
pub use cutting::{CutConfig, Cutter, Steps};
pub use engine::{Merge, MergePolicy};
pub use fewest::{FewestOptions, TrainedFewest, train_fewest};
pub use learner::{MergePredicate, Progress};
pub use parity::{Language, ParityOptions, TrainedParity, train_parity};
pub use pieces::{PieceTrainOptions, train_pieces};
pub use rules::{StopReason, TieRule};
pub use sentences::SentenceConfig;
pub use spm::{SpmTrainOptions, train_sentencepiece};
pub use superword::{
    SuperwordOptions, TrainedSuperwords, train_superwords, train_superwords_until,
};
pub use symbols::Spelling;
pub use trimmed::{TrainedTrimmed, TrimmedOptions, train_trimmed};
pub use unigram::{TrainedUnigram, UnigramTrainOptions, train_unigram};
pub use word::{WordTrainOptions, train_characters, train_words};
pub use wordpiece::{WordPieceRule, WordPieceTrainOptions, train_wordpiece};
