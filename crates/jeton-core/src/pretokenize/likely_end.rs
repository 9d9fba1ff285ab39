//! Guesses of where a pretoken ends in the middle of a text, so that several threads can begin.
//!
//! A pattern that starts in the middle of a pretoken soon ends where one that started at the
//! beginning ends. A guess may be wrong: callers check it, so it costs time and never ids.

use super::PreTokenizer;
use crate::text::code_points::floor_boundary;

/// Bytes behind a place in which ends are looked for. Half and twice as many do the same
/// (docs/log/2026-11-28-tuning-constants.md).
pub(crate) const LOOK_BYTES: usize = 4 << 10;
/// Ends behind a place that are passed over: after some of them, hardly any guess is still out of
/// step. Half and twice as many do the same (docs/log/2026-11-28-tuning-constants.md).
const PASSED_ENDS: usize = 16;

impl PreTokenizer {
    /// Returns an end of a pretoken, probably, behind a place between characters; none if there is
    /// none near, or if no single pattern cuts the text.
    pub fn likely_end(&self, text: &str, from: usize) -> Option<usize> {
        let until = floor_boundary(text, from.saturating_add(LOOK_BYTES));
        let near = text.get(from..until)?;
        let mut ends = [0; PASSED_ENDS];
        let n = self.pieces_of_text(near)?.ends(&mut ends);
        // An end of what was looked at is no end.
        let ends = ends.get(..n)?;
        let end = ends.iter().rev().find(|&&end| end < near.len())?;
        Some(from + end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::published::GPT2;
    use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig};
    use crate::text::unicode::UnicodeVersion;

    fn words() -> PreTokenizer {
        let split = SplitConfig {
            pattern: GPT2.to_owned(),
            dialect: Dialect::FancyRegex,
            unicode: UnicodeVersion::REFERENCES,
            behavior: Behavior::Isolated,
            invert: false,
            in_byte_alphabet: false,
        };
        PreTokenizer::new(&[StepConfig::Split(split)]).unwrap()
    }

    #[test]
    fn a_guess_in_a_word_is_in_step_after_some_words() {
        let text = "some words ".repeat(1000);
        let steps = words();
        let ends: Vec<usize> = steps
            .pieces_of_text(&text)
            .unwrap()
            .map(|(_, end)| end)
            .collect();
        for from in 0..50 {
            let end = steps.likely_end(&text, from).unwrap();
            assert!(end > from && ends.contains(&end));
        }
    }

    #[test]
    fn the_end_of_the_text_and_of_the_look_are_no_ends() {
        let steps = words();
        assert_eq!(steps.likely_end("word", 1), None);
        assert_eq!(steps.likely_end("word", 4), None);
        assert_eq!(steps.likely_end("word", 5), None);
        assert_eq!(steps.likely_end(&"a".repeat(3 * LOOK_BYTES), 5), None);
    }

    #[test]
    fn no_guess_without_a_single_pattern() {
        assert_eq!(
            PreTokenizer::new(&[]).unwrap().likely_end("some words", 0),
            None
        );
    }
}
