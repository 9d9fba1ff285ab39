//! How a file wants texts to be cut and filled up for a model, as the canonical form keeps it.

use serde::{Deserialize, Serialize};

/// How texts that are too long are cut (`truncation` of `tokenizer.json`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// Most tokens, those of the template included.
    pub max_length: u64,
    /// Tokens that neighbouring windows share.
    pub stride: u64,
    /// Which of two texts is cut.
    pub strategy: TruncationStrategy,
    /// Which end is cut.
    pub direction: Side,
}

/// Which of two texts is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruncationStrategy {
    /// The longer one, token by token.
    LongestFirst,
    /// The first.
    OnlyFirst,
    /// The second.
    OnlySecond,
}

/// One end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The beginning.
    Left,
    /// The end.
    Right,
}

/// How batches are filled up (`padding` of `tokenizer.json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Padding {
    /// All texts to this many tokens; None: to the longest of a batch.
    pub fixed_length: Option<u64>,
    /// Which end is filled.
    pub direction: Side,
    /// Lengths are rounded up to a multiple of this.
    pub pad_to_multiple_of: Option<u64>,
    /// The token that fills.
    pub pad_id: u32,
    /// Its token-type id.
    pub pad_type_id: u32,
    /// Its text.
    pub pad_token: String,
}
