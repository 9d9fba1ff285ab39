//! White space left out of the places of tokens (`trim_offsets` of `tokenizer.json`).

use std::borrow::Cow;
use std::ops::Range;

use super::{Encoding, Tokenizer};
use crate::engine::Engine;
use crate::template::TrimOffsets;

/// White space, or the letter that a space is in GPT-2's alphabet.
fn is_white(c: char) -> bool {
    c == '\u{120}' || c.is_whitespace()
}

impl Tokenizer {
    /// Leaves white space at the ends of tokens out of their ranges, as `tokenizers` does: as many
    /// characters of the text as the token has white space.
    pub(super) fn trim(&self, text: &str, how: TrimOffsets, encoding: &mut Encoding) {
        let mut runs = Runs::default();
        for index in 0..encoding.ids.len() {
            let range = encoding.starts[index]..encoding.ends[index];
            // One space at the beginning may be the one that was put there; more are text.
            let may_be_prefix = how.add_prefix_space && (index == 0 || range.start == 0);
            // An added token has the white space that it took along, as long as that may be.
            let trimmed = if encoding.word_ids[index] < 0 {
                runs.trim(text, range, may_be_prefix)
            } else {
                self.trim_token(encoding.ids[index], text, range, may_be_prefix)
            };
            encoding.starts[index] = trimmed.start;
            encoding.ends[index] = trimmed.end;
        }
    }

    /// A token of the model: its string says how much white space it has.
    fn trim_token(
        &self,
        id: u32,
        text: &str,
        range: Range<usize>,
        may_be_prefix: bool,
    ) -> Range<usize> {
        // Unknown text of a Unigram model is its own string there; any other unknown token has a name.
        let token = match &self.engine {
            Engine::Unigram(_) if self.engine.unknown() == Some(id) => text
                .get(range.clone())
                .map_or_else(|| self.model_string(id), Cow::Borrowed),
            _ => self.model_string(id),
        };
        let mut leading = token.chars().take_while(|&c| is_white(c)).count();
        let trailing = token.chars().rev().take_while(|&c| is_white(c)).count();
        if leading == 1 && may_be_prefix {
            leading = 0;
        }
        // Bytes of a character that a range cuts belong to it for this purpose.
        let mut outer = range.clone();
        while !text.is_char_boundary(outer.start) {
            outer.start -= 1;
        }
        while !text.is_char_boundary(outer.end) {
            outer.end += 1;
        }
        let mut characters = text[outer].chars();
        let skipped: usize = characters.by_ref().take(leading).map(char::len_utf8).sum();
        let dropped: usize = characters.rev().take(trailing).map(char::len_utf8).sum();
        let end = range.end.saturating_sub(dropped);
        (range.start + skipped).min(end)..end
    }
}

/// The run of white space that was walked last. Tokens that are nothing else may overlap in it, so that walking it
/// for each of them would take the square of its length; those that have something visible overlap with no other.
#[derive(Debug, Default)]
struct Runs {
    last: Range<usize>,
}

impl Runs {
    fn trim(&mut self, text: &str, range: Range<usize>, may_be_prefix: bool) -> Range<usize> {
        if range.is_empty() {
            return range;
        }
        let visible = self.run_from(text, range.start).min(range.end);
        let one_space = text[range.start..visible].chars().nth(1).is_none();
        let start = if may_be_prefix && one_space {
            range.start
        } else {
            visible
        };
        if visible == range.end {
            return start..start;
        }
        let inside = text[range.clone()].trim_end_matches(is_white);
        start..range.start + inside.len()
    }

    /// Where the white space ends that begins at a byte.
    fn run_from(&mut self, text: &str, start: usize) -> usize {
        if !self.last.contains(&start) {
            let rest = text[start..].trim_start_matches(is_white);
            self.last = start..text.len() - rest.len();
        }
        self.last.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_tokens_lose_the_white_space_that_they_took_along() {
        let text = "a \n <m>  b";
        let mut runs = Runs::default();
        assert_eq!(runs.trim(text, 1..9, false), 4..7);
        assert_eq!(runs.trim(text, 2..4, false), 4..4);
        assert_eq!(runs.trim(text, 3..7, false), 4..7);
        assert_eq!(runs.trim(text, 3..7, true), 3..7);
        assert_eq!(runs.trim(text, 5..5, false), 5..5);
        assert_eq!(runs.trim(" x", 0..2, true), 0..2);
        assert_eq!(Runs::default().trim("  x", 0..3, true), 2..3);
    }
}
