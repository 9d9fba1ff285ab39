//! Training: texts become weighted pretokens once, and every algorithm learns from those counts.
//!
//! - [`counts`]: [`PretokenCounts`], mergeable, so threads, files and machines give one answer; [`PretokenCounter`]
//!   makes them from text in bounded memory.
//! - [`bpe`]: byte-level BPE, [`train_bpe`], with the written rules of counting and of ties.
//! - [`cutting`]: [`Cutter`], from documents to pretokens; `sentences` is SentencePiece's way.
//! - `cells`: all words as one array of symbols that merges shrink in place.
//! - `engine`: the merge loop, generic over a [`MergePolicy`], so that a variant of BPE is a policy.
//! - `pairs`: counts of pairs, and what one merge changes in them.
//! - `queue`: which pair comes next.
//! - [`rules`]: which pair wins a tie, and why learning ends.
//! - `naive`: the same result by recounting everything at each step; tests only.

pub mod bpe;
mod cells;
pub mod counts;
pub mod cutting;
mod engine;
mod pairs;
mod queue;
pub mod rules;
pub mod sentences;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

pub use bpe::{BpeTrainOptions, Progress, TrainedBpe, train_bpe};
pub use counts::{
    Drain, DrainFn, PretokenCounter, PretokenCounts, SplitFn, Splitting, Totals, Weights,
};
pub use cutting::{CutConfig, Cutter};
pub use engine::{Merge, MergePolicy};
pub use rules::{StopReason, TieRule};
pub use sentences::SentenceConfig;
