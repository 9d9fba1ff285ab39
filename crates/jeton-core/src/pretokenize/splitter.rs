//! One split: a pattern, and what becomes of what it matches.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::text::growth::Room;

use super::SplitConfig;
use super::automaton::{Automaton, BuildError};
use super::backtracking::Backtracking;
use super::pattern::{Dialect, ParseError, parse};

/// Treatment of the matches of a pattern (the names are `tokenizer.json`'s).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// A match is a pretoken of its own.
    Isolated,
    /// A match is dropped.
    Removed,
    /// A match ends the pretoken before it.
    MergedWithPrevious,
    /// A match begins the pretoken after it.
    MergedWithNext,
    /// Neighbouring matches are one pretoken, as are neighbouring non-matches.
    Contiguous,
}

/// A compiled split.
#[derive(Debug)]
pub struct Splitter {
    engine: Engine,
    behavior: Behavior,
    invert: bool,
    /// True if a match of nothing separates the text around it, as it does in `tokenizers`.
    empty_separates: bool,
}

#[derive(Debug)]
enum Engine {
    Automaton(Box<Automaton>),
    Backtracking(Box<Backtracking>),
}

impl Splitter {
    /// Compiles a split.
    ///
    /// Patterns that a small automaton can express get one; the others run on a backtracking engine
    /// with a limit.
    pub fn new(config: &SplitConfig) -> Result<Self> {
        let pattern = &config.pattern;
        let engine = match parse(pattern, config.dialect, config.unicode) {
            Err(ParseError::Bad { offset, reason }) => {
                return Err(Error::pattern(pattern, Some(offset), reason));
            }
            Err(ParseError::Beyond(what)) if config.in_byte_alphabet => {
                return Err(Error::pattern(
                    pattern,
                    None,
                    format!("{what} is not supported after ByteLevel"),
                ));
            }
            Err(ParseError::Beyond(_)) => Self::backtracking(config)?,
            // An automaton does not report matches of nothing, which separate text in this dialect.
            Ok(ast)
                if config.dialect == Dialect::Oniguruma
                    && !config.in_byte_alphabet
                    && ast.may_be_empty() =>
            {
                Self::backtracking(config)?
            }
            Ok(ast) => match Automaton::new(&ast, config.in_byte_alphabet) {
                Ok(automaton) => Engine::Automaton(Box::new(automaton)),
                Err(BuildError::Possessive | BuildError::TooLarge) if config.in_byte_alphabet => {
                    return Err(Error::pattern(pattern, None, "too complex after ByteLevel"));
                }
                Err(BuildError::Possessive | BuildError::TooLarge) => Self::backtracking(config)?,
            },
        };
        Ok(Self {
            engine,
            behavior: config.behavior,
            invert: config.invert,
            empty_separates: config.dialect == Dialect::Oniguruma,
        })
    }

    /// Builds the split with an automaton that was made before.
    pub(super) fn with_automaton(config: &SplitConfig, automaton: Automaton) -> Self {
        Self {
            engine: Engine::Automaton(Box::new(automaton)),
            behavior: config.behavior,
            invert: config.invert,
            empty_separates: config.dialect == Dialect::Oniguruma,
        }
    }

    fn backtracking(config: &SplitConfig) -> Result<Engine> {
        let pattern = Backtracking::new(&config.pattern, config.dialect, config.unicode)?;
        Ok(Engine::Backtracking(Box::new(pattern)))
    }

    /// The automaton, if parts of a text have the matches that they have in the whole: not on the
    /// backtracking engine, nor where matches depend on what is before them.
    pub(super) fn automaton(&self) -> Option<&Automaton> {
        match &self.engine {
            Engine::Automaton(automaton) if !automaton.looks_behind() => Some(automaton),
            Engine::Automaton(_) | Engine::Backtracking(_) => None,
        }
    }

    /// Calls `each` with the matches that nothing behind the text can change; returns up to where
    /// all is decided. On the backtracking engine nothing is, nor where matches depend on what is
    /// before them.
    pub(crate) fn decided_matches(&self, text: &str, each: impl FnMut(usize, usize)) -> usize {
        self.automaton().map_or(0, |automaton| {
            automaton.decided_matches(text.as_bytes(), each)
        })
    }

    /// Treatment of matches, and true if gaps are meant.
    pub(super) fn arrangement(&self) -> (Behavior, bool) {
        (self.behavior, self.invert)
    }

    /// True if the pattern runs in time linear in the text.
    pub fn is_linear(&self) -> bool {
        matches!(self.engine, Engine::Automaton(_))
    }

    /// Automaton that gives all pieces, matches or not, if this split comes down to that.
    #[inline]
    pub(crate) fn isolating(&self) -> Option<&Automaton> {
        match &self.engine {
            // Inverting an isolating split changes nothing: both kinds of piece are kept.
            Engine::Automaton(automaton)
                if self.behavior == Behavior::Isolated && !automaton.looks_behind() =>
            {
                Some(automaton)
            }
            _ => None,
        }
    }

    /// A place of a part of a text where a piece ends, whatever is around that part; only where
    /// [`Self::isolating`] gives an automaton.
    pub(crate) fn sure_end(&self, part: &str) -> Option<usize> {
        match &self.engine {
            Engine::Automaton(automaton) => automaton.sure_end(part),
            Engine::Backtracking(_) => None,
        }
    }

    /// Calls `emit` with the byte range of each pretoken, left to right.
    pub(crate) fn split(
        &self,
        text: &str,
        emit: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        match &self.engine {
            Engine::Automaton(automaton) => {
                self.arrange(text.len(), automaton.matches(text.as_bytes()).map(Ok), emit)
            }
            Engine::Backtracking(pattern) => self.arrange(text.len(), pattern.matches(text), emit),
        }
    }

    /// The text with every match replaced. `n_before`: bytes that were made of other texts, which
    /// share the room.
    pub(crate) fn replace(
        &self,
        text: &str,
        content: &str,
        n_before: usize,
        room: Room,
    ) -> Result<String> {
        if text.is_empty() {
            return Ok(String::new()); // where the reference finds nothing, not even an empty match
        }
        let mut out = String::with_capacity(text.len());
        let mut position = 0;
        let mut checked = Ok(());
        self.for_each_match(text, &mut |start, end| {
            if checked.is_err() {
                return;
            }
            out.push_str(&text[position..start]);
            out.push_str(content);
            position = end;
            checked = room.check("decoding", n_before + out.len());
        })?;
        checked?;
        out.push_str(&text[position..]);
        Ok(out)
    }

    /// Calls `each` with the byte range of every match; empty ones only where they separate.
    pub(crate) fn for_each_match(
        &self,
        text: &str,
        each: &mut dyn FnMut(usize, usize),
    ) -> Result<()> {
        match &self.engine {
            Engine::Automaton(automaton) => automaton
                .matches(text.as_bytes())
                .for_each(|(start, end)| each(start, end)),
            Engine::Backtracking(pattern) => {
                for found in pattern.matches(text) {
                    let (start, end) = found?;
                    if end > start || self.empty_separates {
                        each(start, end);
                    }
                }
            }
        }
        Ok(())
    }

    /// `split` for bytes that are seen as characters of GPT-2's alphabet.
    pub(crate) fn split_bytes(
        &self,
        text: &[u8],
        emit: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        match &self.engine {
            Engine::Automaton(automaton) => {
                self.arrange(text.len(), automaton.matches(text).map(Ok), emit)
            }
            Engine::Backtracking(_) => Err(ErrorKind::PatternCost { byte_offset: 0 }.into()), // refused by `new`
        }
    }

    /// Turns matches into pretokens.
    #[inline]
    fn arrange(
        &self,
        length: usize,
        matches: impl Iterator<Item = Result<(usize, usize)>>,
        emit: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut arranger = Arranger {
            behavior: self.behavior,
            pending: None,
            emit,
        };
        let mut position = 0;
        for found in matches {
            let (start, end) = found?;
            if end == start && !self.empty_separates {
                continue;
            }
            if start > position {
                arranger.piece(position, start, self.invert)?;
            }
            arranger.piece(start, end, !self.invert)?;
            position = end;
        }
        if position < length {
            arranger.piece(position, length, self.invert)?;
        }
        arranger.finish()
    }
}

/// Joins matches with their neighbours as the behaviour says.
struct Arranger<'a> {
    behavior: Behavior,
    /// A pretoken that may still grow: its range, and whether it ended with a match.
    pending: Option<(usize, usize, bool)>,
    emit: &'a mut dyn FnMut(usize, usize) -> Result<()>,
}

impl Arranger<'_> {
    #[inline]
    fn piece(&mut self, start: usize, end: usize, is_match: bool) -> Result<()> {
        match self.behavior {
            Behavior::Isolated => self.out(start, end),
            Behavior::Removed => {
                if is_match {
                    Ok(())
                } else {
                    self.out(start, end)
                }
            }
            Behavior::Contiguous => self.join(start, end, is_match, |before, now| before == now),
            // A match joins the non-match before it; a second match in a row stands alone.
            Behavior::MergedWithPrevious => {
                self.join(start, end, is_match, |before, now| now && !before)
            }
            // A match waits for the non-match after it.
            Behavior::MergedWithNext => {
                self.join(start, end, is_match, |before, now| before && !now)
            }
        }
    }

    fn join(
        &mut self,
        start: usize,
        end: usize,
        is_match: bool,
        joins: impl Fn(bool, bool) -> bool,
    ) -> Result<()> {
        if let Some((from, to, was_match)) = self.pending {
            if joins(was_match, is_match) {
                self.pending = Some((from, end, is_match));
                return Ok(());
            }
            self.out(from, to)?;
        }
        self.pending = Some((start, end, is_match));
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        match self.pending.take() {
            Some((from, to, _)) => self.out(from, to),
            None => Ok(()),
        }
    }

    /// A pretoken, unless nothing is in it.
    #[inline]
    fn out(&mut self, start: usize, end: usize) -> Result<()> {
        if end > start {
            (self.emit)(start, end)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::unicode::UnicodeVersion;
    use proptest::prelude::*;

    fn splitter(
        pattern: &str,
        behavior: Behavior,
        invert: bool,
        in_byte_alphabet: bool,
    ) -> Splitter {
        let pattern = pattern.to_owned();
        let (dialect, unicode) = (Dialect::Oniguruma, UnicodeVersion::REFERENCES);
        Splitter::new(&SplitConfig {
            pattern,
            dialect,
            unicode,
            behavior,
            invert,
            in_byte_alphabet,
        })
        .unwrap()
    }

    fn split(pattern: &str, behavior: Behavior, invert: bool, text: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        splitter(pattern, behavior, invert, false)
            .split(text, &mut |start, end| {
                pieces.push(text[start..end].to_owned());
                Ok(())
            })
            .unwrap();
        pieces
    }

    #[test]
    fn bytes_are_seen_as_gpt2_characters() {
        // U+8C32 is E8 B0 B2 in UTF-8, and the byte B2 is written as a superscript two: a number.
        let mut pieces = Vec::new();
        splitter(r"\p{N}", Behavior::Contiguous, false, true)
            .split_bytes("谲1".as_bytes(), &mut |start, end| {
                pieces.push((start, end));
                Ok(())
            })
            .unwrap();
        assert_eq!(pieces, [(0, 2), (2, 4)]);
    }

    #[test]
    fn behaviors_are_those_of_the_reference() {
        // The examples come from the `tokenizers` documentation: splitting "the-final--countdown"
        // at "-".
        let text = "the-final--countdown";
        assert_eq!(
            split("-", Behavior::Removed, false, text),
            ["the", "final", "countdown"]
        );
        assert_eq!(
            split("-", Behavior::Isolated, false, text),
            ["the", "-", "final", "-", "-", "countdown"]
        );
        assert_eq!(
            split("-", Behavior::MergedWithPrevious, false, text),
            ["the-", "final-", "-", "countdown"]
        );
        assert_eq!(
            split("-", Behavior::MergedWithNext, false, text),
            ["the", "-final", "-", "-countdown"]
        );
        assert_eq!(
            split("-", Behavior::Contiguous, false, text),
            ["the", "-", "final", "--", "countdown"]
        );
        assert_eq!(
            split("[a-z]+", Behavior::Removed, true, "ab-c"),
            ["ab", "c"]
        );
    }

    #[test]
    fn patterns_beyond_the_automaton_still_work() {
        assert!(!splitter(r"(?<=ab)b", Behavior::Isolated, false, false).is_linear());
        assert_eq!(
            split(r"(?<=ab)b", Behavior::Isolated, false, "abbab"),
            ["ab", "b", "ab"]
        );
    }

    #[test]
    fn looks_at_the_last_character_are_no_reason_to_backtrack() {
        let splitter = splitter(r"(?<=a)b", Behavior::Isolated, false, false);
        assert!(splitter.is_linear());
        // A match of a whole text need not be a match of a part.
        assert!(splitter.automaton().is_none());
        assert!(splitter.isolating().is_none());
        assert_eq!(
            split(r"(?<=a)b", Behavior::Isolated, false, "abbab"),
            ["a", "b", "ba", "b"]
        );
    }

    proptest! {
        #[test]
        fn both_engines_look_behind_alike(
            which in 0..5usize,
            text in "[a-cA-C_ .éÉ漢0-1\n-]{0,24}",
            fancy in any::<bool>(),
        ) {
            let pattern = [
                r"\b\w{1,2}|\w+|[^\w\s]{1,3}\s?|\s",
                r"(?<=[a-c])\p{Lu}+|\p{L}{1,2}\b|[^a]",
                r"(?<!\s)\s|\s+\b|\w+",
                r"\w(?:\B\w)*(?:-\b\w+)?|.",
                r"\A\w+|(?:(?<=0)1|0)+|.",
            ][which];
            let config = SplitConfig {
                pattern: pattern.to_owned(),
                dialect: if fancy { Dialect::FancyRegex } else { Dialect::Oniguruma },
                unicode: UnicodeVersion::REFERENCES,
                behavior: Behavior::Isolated,
                invert: false,
                in_byte_alphabet: false,
            };
            let made = Splitter::new(&config).unwrap();
            prop_assert!(made.is_linear());
            let slow = Splitter { engine: Splitter::backtracking(&config).unwrap(), ..made };
            let pieces = |splitter: &Splitter| {
                let mut pieces = Vec::new();
                splitter.split(&text, &mut |start, end| {
                    pieces.push((start, end));
                    Ok(())
                }).unwrap();
                pieces
            };
            let expected = pieces(&slow);
            prop_assert_eq!(pieces(&Splitter::new(&config).unwrap()), expected, "{}", pattern);
        }
    }
}
