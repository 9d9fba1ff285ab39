//! The engine for patterns that no automaton expresses: back-references, long looks and the like.
//!
//! It backtracks, so it counts its steps. A match may take a million of them, but a text of a
//! million characters must not take a million times as many. So the matches of a text that may take
//! more than [`QUICK_STEPS`] are limited. All in all that is some 2,000 steps for a byte of text.
//!
//! In a step an automaton may read ahead or back, as long as characters go on that a part of the
//! pattern repeats. So a search is charged for its steps times the longest such run near it
//! ([`Reach`]). The charges of a text are limited too.

use super::pattern::{Dialect, ParseError, translate};
use super::reach::{Reach, Runs};
use crate::error::{Error, ErrorKind, Result};
use crate::text::unicode::UnicodeVersion;

/// Steps of a first try where steps may be long: nearly all matches take fewer.
const FEW_STEPS: usize = 32;
/// Bytes that all steps of a text may read, by the charges. Each byte of the text adds
/// [`READ_BYTES_PER_BYTE`]. A byte takes about a nanosecond.
const READ_BYTES: u64 = 1 << 30;
const READ_BYTES_PER_BYTE: u64 = 1 << 14;
/// Steps that any match may take (`fancy-regex` counts them).
const QUICK_STEPS: usize = 1024;
/// Steps that a limited number of matches may take.
const PATIENT_STEPS: usize = 1_000_000;
/// Matches of a text that may take [`PATIENT_STEPS`]: this many, and one more for every
/// [`BYTES_PER_PATIENT_MATCH`] bytes.
const PATIENT_MATCHES: usize = 64;
const BYTES_PER_PATIENT_MATCH: usize = 1024;
/// Bytes that a compiled pattern may take.
const SIZE_LIMIT_BYTES: usize = 64 << 20;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Backtracking {
    quick: fancy_regex::Regex,
    patient: fancy_regex::Regex,
    /// Reach of a step that may read far, and the engine of [`FEW_STEPS`].
    far: Option<(Reach, fancy_regex::Regex)>,
}

impl Backtracking {
    /// Compiles a pattern, read as its dialect means it.
    pub(crate) fn new(pattern: &str, dialect: Dialect, unicode: UnicodeVersion) -> Result<Self> {
        let translated = translate(pattern, dialect, unicode).map_err(|error| match error {
            ParseError::Bad { offset, reason } => Error::pattern(pattern, Some(offset), reason),
            ParseError::Beyond(what) => Error::pattern(pattern, None, what),
        })?;
        let compile = |steps| {
            fancy_regex::RegexBuilder::new(&translated)
                .backtrack_limit(steps)
                .delegate_size_limit(SIZE_LIMIT_BYTES)
                .build()
                .map_err(|error| Error::pattern(pattern, None, error.to_string()))
        };
        let reach = Reach::new(&translated);
        let far = (!reach.is_short()).then(|| compile(FEW_STEPS).map(|few| (reach, few)));
        Ok(Self {
            far: far.transpose()?,
            quick: compile(QUICK_STEPS)?,
            patient: compile(PATIENT_STEPS)?,
        })
    }

    /// The byte ranges of all matches, left to right. Empty ones are among them, but not where
    /// another match ends. After an error nothing comes.
    pub(crate) fn matches<'r, 't>(&'r self, text: &'t str) -> Matches<'r, 't> {
        Matches {
            pattern: self,
            text,
            position: Some(0),
            last_end: None,
            patient_left: PATIENT_MATCHES + text.len() / BYTES_PER_PATIENT_MATCH,
            runs: self.far.as_ref().map(|(reach, _)| reach.runs(text)),
            read_left: READ_BYTES + READ_BYTES_PER_BYTE * text.len() as u64,
        }
    }
}

/// See [`Backtracking::matches`].
pub(crate) struct Matches<'r, 't> {
    pattern: &'r Backtracking,
    text: &'t str,
    /// Where the next search begins; None at the end.
    position: Option<usize>,
    last_end: Option<usize>,
    patient_left: usize,
    runs: Option<Runs<'r, 't>>,
    read_left: u64,
}

impl Matches<'_, '_> {
    fn search(&mut self, from: usize) -> Result<Option<(usize, usize)>> {
        let Backtracking {
            quick,
            patient,
            far,
        } = self.pattern;
        let mut steps = FEW_STEPS;
        let mut found = match far {
            Some((_, few)) => few.find_from_pos(self.text, from),
            None => quick.find_from_pos(self.text, from),
        };
        if found.is_err() && far.is_some() {
            steps = QUICK_STEPS;
            found = quick.find_from_pos(self.text, from);
        }
        if found.is_err() && self.patient_left > 0 {
            self.patient_left -= 1;
            steps = PATIENT_STEPS;
            found = patient.find_from_pos(self.text, from);
        }
        if let (Some(runs), Ok(place)) = (&mut self.runs, &found) {
            let end = place
                .as_ref()
                .map_or(self.text.len(), fancy_regex::Match::end);
            let read = steps as u64 * runs.longest(from, end) as u64;
            self.read_left = match self.read_left.checked_sub(read) {
                Some(left) => left,
                None => {
                    let byte_offset = from as u64;
                    return Err(ErrorKind::PatternCost { byte_offset }.into());
                }
            };
        }
        match found {
            Ok(found) => Ok(found.map(|found| (found.start(), found.end()))),
            Err(_) => Err(ErrorKind::PatternCost {
                byte_offset: from as u64,
            }
            .into()),
        }
    }
}

impl Iterator for Matches<'_, '_> {
    type Item = Result<(usize, usize)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let from = self.position.take()?;
            let (start, end) = match self.search(from) {
                Ok(found) => found?,
                Err(error) => return Some(Err(error)),
            };
            self.position = if start < end {
                Some(end)
            } else {
                let next = self.text[end..].chars().next();
                next.map(|character| end + character.len_utf8())
            };
            if start < end || self.last_end != Some(end) {
                self.last_end = Some(end);
                return Some(Ok((start, end)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(pattern: &str) -> Backtracking {
        Backtracking::new(pattern, Dialect::Oniguruma, UnicodeVersion::REFERENCES).unwrap()
    }

    #[test]
    fn matches_are_those_of_the_engine() {
        for pattern in [
            "(?<=a)b", "x*", "", "a|(?<=b)", r"(\w)\1", "$", "(?=b)|b", r"\b",
        ] {
            let pattern = compiled(pattern);
            for text in ["", "a", "abbab", "xxaxx", "日本 b\u{301}b", "aabbcc dd"] {
                let expected: Vec<_> = pattern
                    .patient
                    .find_iter(text)
                    .map(|found| found.unwrap())
                    .map(|found| (found.start(), found.end()))
                    .collect();
                let found: Result<Vec<_>> = pattern.matches(text).collect();
                assert_eq!(found.unwrap(), expected, "{pattern:?} {text:?}");
            }
        }
    }

    #[test]
    fn some_costly_matches_are_borne_and_too_many_are_not() {
        // Every line takes thousands of steps before its full stop is found.
        let costly = compiled(r"(?<!b)(?:a|aa){12,}(?<=c)x|\.(?<!b)");
        let line = format!("{}.", "a".repeat(18));
        let few = costly.matches(&line).collect::<Result<Vec<_>>>();
        assert_eq!(few.unwrap().len(), 1);
        let text = line.repeat(2000);
        let error = costly.matches(&text).find_map(Result::err).unwrap();
        let ErrorKind::PatternCost { byte_offset } = error.kind() else {
            panic!("{error}");
        };
        assert!(*byte_offset as usize >= PATIENT_MATCHES * line.len());
    }

    #[test]
    fn looks_that_read_far_count_what_they_read() {
        for pattern in [
            r"(?=(a+)+b)x|a",
            r"a(?!(?:a+)+b)",
            r"(?<=ba*)x|a",
            r"(a+b)?(?<=a)|a",
        ] {
            let pattern = compiled(pattern);
            let all = |n: usize| pattern.matches(&"a".repeat(n)).find_map(Result::err);
            assert!(all(500).is_none());
            let error = all(200_000).unwrap();
            assert!(matches!(error.kind(), ErrorKind::PatternCost { .. }));
            // Words are short, however long the text is.
            let text = "aaa aa ".repeat(20_000);
            assert!(pattern.matches(&text).all(|found| found.is_ok()));
        }
    }

    #[test]
    fn a_match_without_end_is_given_up() {
        let pattern = compiled(r"(?:a|aa)+\b(?<=c)");
        let text = "a".repeat(200);
        let mut matches = pattern.matches(&text);
        let error = matches.next().unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::PatternCost { .. }));
        assert!(matches.next().is_none());
    }
}
