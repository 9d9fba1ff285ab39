//! `Replace`: every match of a string or pattern becomes a text.
//!
//! The text is put in as it stands (`$1` is no reference to a group), also where a pattern matches
//! nothing: that is what `tokenizers` 0.23.3 does. A replacement comes from the last character
//! of its match, and from the character before it if the match is empty.

use serde::{Deserialize, Serialize};

use super::STAGE;
use super::resume::Apart;
use crate::error::Result;
use crate::pretokenize::{Backtracking, Behavior, Dialect, ParsedPattern, SplitConfig, Splitter};
use crate::text::alignment::Alignment;
use crate::text::growth::Room;
use crate::text::rewrite::{Sink, aligned, rewritten};
use crate::text::unicode::UnicodeVersion;

/// Text or pattern that is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplacePattern {
    /// This text.
    String(String),
    /// All matches of this pattern, in Oniguruma's dialect.
    Regex(String),
}

/// How a replacement is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaceConfig {
    /// Text or pattern to replace.
    pub pattern: ReplacePattern,
    /// Replacement.
    pub content: String,
}

/// A compiled replacement.
#[derive(Debug)]
pub(crate) struct Replace {
    engine: Engine,
    content: String,
}

#[derive(Debug)]
enum Engine {
    Literal(Box<memchr::memmem::Finder<'static>>),
    /// Emits matches alone.
    Automaton(Box<Splitter>),
    Backtracking(Box<Backtracking>),
}

impl Replace {
    pub(crate) fn new(config: &ReplaceConfig) -> Result<Self> {
        let engine = match &config.pattern {
            ReplacePattern::String(text) if !text.is_empty() => Engine::Literal(Box::new(
                memchr::memmem::Finder::new(text.as_bytes()).into_owned(),
            )),
            ReplacePattern::String(_) => Self::backtracking("")?,
            ReplacePattern::Regex(pattern) => Self::pattern(pattern)?,
        };
        Ok(Self {
            engine,
            content: config.content.clone(),
        })
    }

    fn pattern(pattern: &str) -> Result<Engine> {
        let (dialect, unicode) = (Dialect::Oniguruma, UnicodeVersion::REFERENCES);
        // An automaton does not report empty matches; a pattern that has some goes to the other
        // engine.
        if let ParsedPattern::NeverEmpty = ParsedPattern::of(pattern, dialect, unicode)? {
            let splitter = Splitter::new(&SplitConfig {
                pattern: pattern.to_owned(),
                dialect,
                unicode,
                behavior: Behavior::Removed,
                invert: true,
                in_byte_alphabet: false,
            })?;
            if splitter.is_linear() {
                return Ok(Engine::Automaton(Box::new(splitter)));
            }
        }
        Self::backtracking(pattern)
    }

    fn backtracking(pattern: &str) -> Result<Engine> {
        let (dialect, unicode) = (Dialect::Oniguruma, UnicodeVersion::REFERENCES);
        let regex = Backtracking::new(pattern, dialect, unicode)?;
        Ok(Engine::Backtracking(Box::new(regex)))
    }

    /// Where a text can be taken up again of which this is certain.
    pub(super) fn apart(&self, text: &str) -> Apart<'_> {
        match &self.engine {
            Engine::Literal(finder) => Apart::Literal(finder.needle()),
            Engine::Automaton(splitter) => {
                let mut ranges = Vec::new();
                let decided =
                    splitter.decided_matches(text, |start, end| ranges.push((start, end)));
                Apart::Matches {
                    ranges,
                    decided,
                    content: &self.content,
                }
            }
            Engine::Backtracking(_) => Apart::Nowhere,
        }
    }

    /// The new text, or None if nothing matches. `room`: bytes that it may have.
    pub(crate) fn normalize(&self, text: &str, room: Room) -> Result<Option<String>> {
        if let Engine::Literal(finder) = &self.engine
            && finder.find(text.as_bytes()).is_none()
        {
            return Ok(None);
        }
        self.check(text, room)?;
        let mut result = Ok(());
        let out = rewritten(text, |out| result = self.rewrite(text, out));
        result.map(|()| out)
    }

    /// True if the new text may be as long as it would be. A replacement comes at most once for
    /// each byte, and once more, so that nearly no text has to be looked through.
    fn check(&self, text: &str, room: Room) -> Result<()> {
        let most = (text.len() + 1).saturating_mul(self.content.len());
        if room.check(STAGE, text.len().saturating_add(most)).is_ok() {
            return Ok(());
        }
        let mut n_made = text.len();
        self.each_match(text, &mut |start, end| {
            n_made = n_made - (end - start) + self.content.len();
            room.check(STAGE, n_made)
        })
    }

    /// Where each stretch of the new text comes from.
    pub(crate) fn align(&self, text: &str) -> Result<Alignment> {
        let mut result = Ok(());
        let alignment = aligned(|out| result = self.rewrite(text, out));
        result.map(|()| alignment)
    }

    fn rewrite(&self, text: &str, sink: &mut impl Sink) -> Result<()> {
        // Text up to here has been handed over, but for the character before it, which an empty
        // match may need.
        let mut kept = 0;
        self.each_match(text, &mut |start, end| {
            let last = text[..end].chars().next_back().map_or(0, char::len_utf8);
            if end > start {
                sink.keep(&text[kept..start]);
                if end - last > start {
                    sink.omit(&text[start..end - last]);
                }
                sink.replace(&text[end - last..end], &self.content);
            } else if start > kept {
                sink.keep(&text[kept..start - last]);
                let before = &text[start - last..start];
                sink.replace(before, &format!("{before}{}", self.content));
            } else {
                sink.replace("", &self.content);
            }
            kept = end;
            Ok(())
        })?;
        sink.keep(&text[kept..]);
        Ok(())
    }

    /// Calls `each` with the bytes of every match, until it fails.
    fn each_match(
        &self,
        text: &str,
        each: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        match &self.engine {
            Engine::Literal(finder) => {
                for start in finder.find_iter(text.as_bytes()) {
                    each(start, start + finder.needle().len())?;
                }
            }
            Engine::Automaton(splitter) => splitter.split(text, each)?,
            Engine::Backtracking(pattern) if !text.is_empty() => {
                for found in pattern.matches(text) {
                    let (start, end) = found?;
                    each(start, end)?;
                }
            }
            Engine::Backtracking(_) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(pattern: ReplacePattern, content: &str) -> Replace {
        let content = content.to_owned();
        Replace::new(&ReplaceConfig { pattern, content }).unwrap()
    }

    fn regex(pattern: &str, content: &str) -> Replace {
        replace(ReplacePattern::Regex(pattern.to_owned()), content)
    }

    #[test]
    fn results_are_those_of_the_reference() {
        // (pattern, text, result of Replace(Regex(pattern), "[$1]") in `tokenizers` 0.23.3)
        let cases = [
            ("x*", "axxb", "[$1]a[$1]b[$1]"),
            ("x*", "ab", "[$1]a[$1]b[$1]"),
            ("x*", "", ""),
            ("^", "a b\nb", "[$1]a b\n[$1]b"),
            ("$", "a b\nb", "a b[$1]\nb[$1]"),
            (r"\b", "a b", "[$1]a[$1] [$1]b[$1]"),
            ("(?<=a)b", "ab", "a[$1]"),
            ("(a)(b)", "ab", "[$1]"),
            ("", "ab", "[$1]a[$1]b[$1]"),
            ("a|", "axxb", "[$1]x[$1]x[$1]b[$1]"),
            (r"\s+", "a b\nb", "a[$1]b[$1]b"),
            ("(?=b)", "a b\nb", "a [$1]b\n[$1]b"),
        ];
        for (pattern, text, expected) in cases {
            let found = regex(pattern, "[$1]")
                .normalize(text, Room::ENDLESS)
                .unwrap();
            assert_eq!(
                found.as_deref().unwrap_or(text),
                expected,
                "{pattern:?} in {text:?}"
            );
        }
        let literal = |text: &str| replace(ReplacePattern::String(text.to_owned()), "-");
        assert_eq!(
            literal(".")
                .normalize("ab.a", Room::ENDLESS)
                .unwrap()
                .as_deref(),
            Some("ab-a")
        );
        assert_eq!(
            literal("")
                .normalize("ab", Room::ENDLESS)
                .unwrap()
                .as_deref(),
            Some("-a-b-")
        );
        assert_eq!(literal("x").normalize("ab", Room::ENDLESS).unwrap(), None);
    }

    #[test]
    fn places_are_those_of_the_reference() {
        let ranges = |step: &Replace, text: &str| -> Vec<(usize, usize)> {
            let alignment = step.align(text).unwrap();
            let target = step
                .normalize(text, Room::ENDLESS)
                .unwrap()
                .unwrap_or_else(|| text.to_owned());
            let mut lookup = alignment.lookup();
            target
                .char_indices()
                .map(|(at, c)| lookup.source_range(at, at + c.len_utf8()))
                .collect()
        };
        assert_eq!(ranges(&regex(" +", " "), "a   b"), [(0, 1), (3, 4), (4, 5)]);
        assert_eq!(
            ranges(&replace(ReplacePattern::String("ab".into()), "xyz"), "qabq"),
            [(0, 1), (2, 3), (2, 3), (2, 3), (3, 4)]
        );
        assert_eq!(
            ranges(&regex(r"\b", "-"), "a b"),
            [(0, 0), (0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)]
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for pattern in ["(", r"(?s).(?<=a)", "[z-a]"] {
            let pattern = ReplacePattern::Regex(pattern.to_owned());
            let content = String::new();
            assert!(Replace::new(&ReplaceConfig { pattern, content }).is_err());
        }
    }
}
