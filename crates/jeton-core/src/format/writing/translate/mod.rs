//! One kind of model in the words of another.

mod characters;
mod from_hf;
mod order;
mod spaces;
mod to_hf;

pub(crate) use from_hf::to_sentencepiece;
pub(crate) use to_hf::to_hf;

/// Character that stands for a space in pieces.
const SPACE: &str = "\u{2581}";

/// Regular expressions of the space rules, as Oniguruma reads them; the writer's, which the reader
/// knows.
const SPACES_AT_START: &str = r"\A +";
const SPACES: &str = " {2,}";
const MARKS_AT_END: &str = "\u{2581}+\\z";
const SPACES_AT_END: &str = r" +\z";

/// Texts whose sums of scores nearly tie.
const ARITHMETIC: &str = "sums of scores are made in 32 bits there and in 64 bits here";
const ARITHMETIC_EFFECT: &str =
    "texts that can be cut in two ways of nearly the same score may be cut in the other one";
