//! Patterns that `tokenizers` has built into its components, each with the Unicode version of the
//! tables that it uses there.

use super::{Behavior, Dialect, SplitConfig, StepConfig};
use crate::text::unicode::UnicodeVersion;

/// Numeric characters of `tokenizers` 0.23 (`char::is_numeric` of Rust's standard library, Unicode
/// 17), with the digits of Unicode 17 that the tables here lack. Found by asking it for every
/// character.
pub const NUMERIC: &str = r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]";

/// Punctuation of `tokenizers`: the categories P* of Unicode 8, two characters whose category has
/// changed since, and all of ASCII's. Found by asking it for every character.
pub const PUNCTUATION: &str = r"[\p{P}\x{166D}\x{111C9}!-/:-@\[-`{-~]";

/// White space, which Unicode does not change any more.
pub const WHITE_SPACE: &str = r"\s";

/// `Whitespace`: words, and runs of what is neither word nor white space.
pub const WORDS: &str = r"\w+|[^\w\s]+";

/// The version of [`NUMERIC`].
pub const NUMERIC_UNICODE: UnicodeVersion = UnicodeVersion(17, 0);

/// The version of [`PUNCTUATION`].
pub const PUNCTUATION_UNICODE: UnicodeVersion = UnicodeVersion(8, 0);

/// BERT's words: cut at white space, which goes, and around each punctuation mark.
pub fn bert_words() -> [StepConfig; 2] {
    let split = |pattern: &str, unicode, dialect, behavior| {
        StepConfig::Split(SplitConfig {
            pattern: pattern.to_owned(),
            dialect,
            unicode,
            behavior,
            invert: false,
            in_byte_alphabet: false,
        })
    };
    [
        split(
            WHITE_SPACE,
            UnicodeVersion::REFERENCES,
            Dialect::FancyRegex,
            Behavior::Removed,
        ),
        split(
            PUNCTUATION,
            PUNCTUATION_UNICODE,
            Dialect::Oniguruma,
            Behavior::Isolated,
        ),
    ]
}
