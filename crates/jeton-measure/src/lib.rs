//! Counting, once over each batch: mergeable integers and nothing else.
//!
//! Everything here can be added up in any order with the same result, so one thread, many threads
//! and many machines agree. Ratios, quantiles and money are made of it elsewhere.

mod blocks;
mod characters;
mod digests;
mod markers;
mod near_duplicates;
mod prefixes;
mod quality;
mod survey;
mod terms;
mod text;
mod tokens;
mod words;

pub use characters::{CharacterCount, CharacterCounts, ScriptCounts, script_names};
pub use digests::{digests, pair_digests};
pub use markers::{MarkerCounts, Markers};
pub use near_duplicates::{BETWEEN, NearDuplicateOptions, NearDuplicates, Placed};
pub use prefixes::{PrefixIndex, SharedPrefix};
pub use quality::{QUALITY_FIGURES, QualityRow, quality};
pub use survey::{Survey, Surveyor};
pub use terms::TermCounter;
pub use text::TextStats;
pub use tokens::{Counted, TokenStats, measure};
pub use words::Outlines;
pub use words::WordCounts;

use std::collections::BTreeMap;

/// How many documents have each length: exact, and small because lengths repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LengthHistogram(BTreeMap<u64, u64>);

/// A histogram of lengths as columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthColumns {
    /// Different lengths, ascending.
    pub lengths: Vec<u64>,
    /// The number of documents of each.
    pub n_documents: Vec<u64>,
}

impl LengthHistogram {
    /// Notes one document.
    pub fn add(&mut self, length: u64) {
        *self.0.entry(length).or_default() += 1;
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (&length, &count) in &other.0 {
            *self.0.entry(length).or_default() += count;
        }
    }

    /// Lengths ascending, and the number of documents of each.
    pub fn columns(&self) -> LengthColumns {
        LengthColumns {
            lengths: self.0.keys().copied().collect(),
            n_documents: self.0.values().copied().collect(),
        }
    }
}
