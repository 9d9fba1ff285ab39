//! White space left out of the places of tokens (`trim_offsets` of `tokenizer.json`).
//!
//! As `tokenizers` 0.23.3 has it: a token loses as many characters of the text at each end as its
//! own string has white space there. That string is not always the text: normalization may have put
//! white space into it or taken some out. A token then loses white space that it does not have, or
//! keeps white space that it has.

use std::ops::Range;

use super::{Encoding, Tokenizer};
use crate::engine::Engine;
use crate::inputs::template::TrimOffsets;
use crate::text::code_points::{CodePointRanges, byte_positions, code_point_ranges};

/// White space, or the letter that a space is in GPT-2's alphabet.
fn is_white(c: char) -> bool {
    c == '\u{120}' || c.is_whitespace()
}

/// Characters of white space at the beginning and at the end of a token's string; a token of
/// nothing else has them at both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct White {
    leading: usize,
    trailing: usize,
}

impl White {
    fn of(string: &str) -> Self {
        let count = |characters: &mut dyn Iterator<Item = char>| {
            characters.take_while(|&c| is_white(c)).count()
        };
        Self {
            leading: count(&mut string.chars()),
            trailing: count(&mut string.chars().rev()),
        }
    }

    /// Trims a range of code points. The first token of a text may have one space that
    /// normalization put there.
    pub(super) fn trim(self, start: i64, end: i64, how: TrimOffsets, is_first: bool) -> (i64, i64) {
        let Self { leading, trailing } = self;
        let put_there = how.add_prefix_space && leading == 1 && (is_first || start == 0);
        let leading = if put_there { 0 } else { leading as i64 };
        let trailing = trailing as i64;
        let start = (start + leading).min(end);
        // An end before which there is less text than the token has white space stays where it is.
        let kept = if end < trailing { 0 } else { trailing };
        (start, (end - kept).max(start))
    }
}

impl Tokenizer {
    /// The white space of a token that the model made; `surface` is what it made it of.
    pub(super) fn white_of_token(&self, id: u32, surface: &[u8]) -> White {
        let vocab = self.vocab();
        match &self.engine {
            // A space is the only byte whose letter in GPT-2's alphabet counts as white space.
            Engine::Bpe(_) if vocab.is_findable(id) => {
                let bytes = vocab.id_to_bytes(id).unwrap_or_default();
                let space = |&&byte: &&u8| byte == b' ';
                White {
                    leading: bytes.iter().take_while(space).count(),
                    trailing: bytes.iter().rev().take_while(space).count(),
                }
            }
            // Unknown text of a Unigram model is its own string; any other unknown token has a
            // name.
            Engine::Unigram(_) if self.engine.unknown() == Some(id) => {
                White::of(&String::from_utf8_lossy(surface))
            }
            _ => White::of(&self.model_string(id)),
        }
    }
}

/// Leaves white space out of the ranges of the last tokens, one for each entry of `white`.
pub(super) fn trim(text: &str, how: TrimOffsets, white: &[White], encoding: &mut Encoding) {
    let first = encoding.ids.len().saturating_sub(white.len());
    let CodePointRanges {
        starts: from,
        ends: to,
    } = code_point_ranges(text, &encoding.starts[first..], &encoding.ends[first..]);
    let (mut changed, mut starts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (index, white) in white.iter().enumerate() {
        let (start, end) = white.trim(from[index], to[index], how, index == 0);
        if (start, end) != (from[index], to[index]) {
            changed.push(first + index);
            starts.push(start);
            ends.push(end);
        }
    }
    let (starts, ends) = (byte_positions(text, &starts), byte_positions(text, &ends));
    for ((index, start), end) in changed.into_iter().zip(starts).zip(ends) {
        encoding.starts[index] = start;
        encoding.ends[index] = end;
    }
}

/// Counts the white space of added tokens in the text that they were found in. The run that was
/// walked last is kept. Tokens of white space alone may overlap in it, and walking it for each of
/// them would take the square of its length. Tokens with something visible overlap with no other.
#[derive(Debug)]
pub(super) struct Runs<'t> {
    text: &'t str,
    run: Range<usize>,
    /// A place in the run, and the characters from there to its end.
    counted: (usize, usize),
}

impl<'t> Runs<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            run: 0..0,
            counted: (0, 0),
        }
    }

    pub(super) fn white(&mut self, range: Range<usize>) -> White {
        if range.is_empty() {
            return White::default();
        }
        if !self.run.contains(&range.start) {
            let rest = self.text[range.start..].trim_start_matches(is_white);
            self.run = range.start..self.text.len() - rest.len();
            self.counted = (range.start, self.text[self.run.clone()].chars().count());
        }
        if range.end < self.run.end {
            let all = self.text[range].chars().count();
            return White {
                leading: all,
                trailing: all,
            };
        }
        let leading = self.characters_from(range.start);
        let trailing = if range.end == self.run.end {
            leading
        } else {
            White::of(&self.text[self.run.end..range.end]).trailing
        };
        White { leading, trailing }
    }

    fn characters_from(&mut self, start: usize) -> usize {
        let (at, characters) = self.counted;
        let between = self.text[start.min(at)..start.max(at)].chars().count();
        let from = if start < at {
            characters + between
        } else {
            characters - between
        };
        self.counted = (start, from);
        from
    }
}

#[cfg(test)]
#[path = "trim_tests.rs"]
mod tests;
