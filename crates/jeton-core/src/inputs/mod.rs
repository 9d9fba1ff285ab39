//! Texts cut and padded for a model: settings, the windows of a text, rows and their arrays.
//!
//! The two settings are the ones that the canonical form keeps of a file. Truncation and padding
//! equal `tokenizers` 0.23.3: [`windows`] cuts a text into windows, [`layout`] makes rows of them,
//! [`arrays`] writes the rows.

pub mod arrays;
pub mod layout;
mod rows;
pub mod template;
pub mod windows;

pub use arrays::Number;
pub use layout::Layout;
pub use rows::{MAX_IDS, MAX_ROWS};

use serde::{Deserialize, Serialize};

/// How texts that are too long are cut (`truncation` of `tokenizer.json`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// Most tokens, the template's included.
    pub max_length: u64,
    /// Tokens that neighbouring windows share.
    pub stride: u64,
    /// Text of a pair that is cut.
    pub strategy: TruncationStrategy,
    /// End that is cut.
    pub direction: Side,
}

/// Text of a pair that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruncationStrategy {
    /// The longer one, token by token; both once they are equally long.
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
    /// End that is padded.
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

impl TruncationStrategy {
    /// The name (`longest_first`).
    pub fn name(self) -> &'static str {
        match self {
            Self::LongestFirst => "longest_first",
            Self::OnlyFirst => "only_first",
            Self::OnlySecond => "only_second",
        }
    }
}

/// Options of model inputs.
#[derive(Clone, Debug, Default)]
pub struct InputOptions {
    /// True if the template's tokens are put around the texts.
    pub add_special_tokens: bool,
    /// How texts that are too long are cut; None: not at all.
    pub truncation: Option<Truncation>,
    /// True if what is cut off becomes rows of its own.
    pub overflow: bool,
    /// How rows are filled up; None: they lie one behind the other.
    pub padding: Option<Padding>,
}
