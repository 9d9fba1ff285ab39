//! The rules that every merge loop follows: which pair wins a tie, and why learning ends or cannot
//! begin.

use jeton_core::error::Error;

/// Order of pairs with equal counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieRule {
    /// The one with the lower left id, then the lower right id, as `tokenizers` has it. The 256
    /// bytes have ids by rising code point of the character that spells them in GPT-2's byte
    /// alphabet.
    #[default]
    Hf,
    /// The one whose left token has the lower bytes, then whose right token has: independent of
    /// ids. The 256 bytes have the same ids as under `Hf`.
    Bytes,
    /// The one whose token has fewer characters, then whose token has the lower bytes, as
    /// `sentencepiece` has it. A byte that continues a character counts for none. Ids are as under
    /// `Hf`.
    SentencePiece,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The vocabulary has the size wanted.
    VocabFull,
    /// No pair is left that may be merged and occurs `min_frequency` times.
    NoPairLeft,
    /// It was asked to stop; the merges so far are a longer run's first ones.
    Interrupted,
}

/// Where there is nothing to learn from.
pub(crate) fn no_text() -> Error {
    Error::training(
        "there is no text to train on\nhint: check that the inputs hold text under the field named",
    )
}
