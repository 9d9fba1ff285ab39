//! Pre-tokenization: text to pretokens, the pieces that no token crosses.
//!
//! The published split patterns (how digits are grouped, for example) are in `published`.
//! A pre-tokenizer is a sequence of splits, each applied to the pieces of the one before. Every
//! scheme in use is such a sequence: the published patterns are one split; `tokenizer.json`
//! combines several (digits apart, punctuation apart, GPT-2's pattern).
//!
//! A few steps of `tokenizer.json` also rewrite their pieces (see [`rewriting`]); what follows them
//! works on the new text, and an alignment leads back.

mod automaton;
mod backtracking;
pub mod components;
mod emptiness;
pub mod fixed_length;
mod likely_end;
mod likeness;
pub mod metaspace;
mod pattern;
pub mod published;
mod reach;
mod resume;
pub mod rewriting;
pub mod scripts;
mod splitter;

pub use automaton::Pieces as TextPieces;
pub(crate) use automaton::{Automaton, RawAutomaton, RawClasses};
pub(crate) use backtracking::Backtracking;
pub(crate) use emptiness::ParsedPattern;
pub(crate) use likely_end::LOOK_BYTES;
pub use pattern::Dialect;
pub(crate) use resume::GrowingPiece;
pub use splitter::{Behavior, Splitter};

use serde::{Deserialize, Serialize};

use self::fixed_length::FixedLength;
use self::metaspace::MetaspaceConfig;
use self::rewriting::{Origin, Pieces, Rewrite};
use self::scripts::ScriptSplitter;
use crate::error::{Error, Result};
use crate::text::alignment::Alignment;
use crate::text::alignment::compose;
use crate::text::growth::GrowthLimit;
use crate::text::unicode::UnicodeVersion;

/// One step of a pre-tokenizer, as the canonical form keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum StepConfig {
    /// A pattern, and what becomes of its matches.
    Split(SplitConfig),
    /// A cut wherever the script changes.
    Scripts,
    /// Pieces of a fixed number of characters.
    FixedLength {
        /// Characters of a piece.
        chars: usize,
    },
    /// Spaces become a visible character, which also begins pieces.
    Metaspace(MetaspaceConfig),
    /// Each piece that does not begin with a space gets one.
    PrefixSpace,
    /// Bytes are written in GPT-2's alphabet, for models that do not work on bytes themselves.
    ByteLevel,
}

/// A split as the canonical form keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitConfig {
    /// The pattern, as given.
    pub pattern: String,
    /// Dialect by which the pattern is read.
    pub dialect: Dialect,
    /// The Unicode version of its classes.
    pub unicode: UnicodeVersion,
    /// Treatment of the matches.
    pub behavior: Behavior,
    /// True if matches and non-matches trade places.
    pub invert: bool,
    /// True if the pattern sees bytes as characters of GPT-2's alphabet (a step after `ByteLevel`
    /// does). Its pretokens may end inside a character.
    pub in_byte_alphabet: bool,
}

impl SplitConfig {
    /// Compiles the split.
    pub fn compile(&self) -> Result<Splitter> {
        Splitter::new(self)
    }
}

/// A compiled pre-tokenizer: cuts of the text as it is, and perhaps steps that rewrite its pieces.
#[derive(Debug)]
pub struct PreTokenizer {
    /// Cuts of the text.
    text: Vec<Cut>,
    /// Cuts in GPT-2's alphabet, where the model works on bytes; they come after the cuts of text.
    bytes: Vec<Splitter>,
    /// Stages from the first rewriting step on, that step included.
    stages: Vec<Stage>,
}

/// A step that cuts and changes nothing.
#[derive(Debug)]
enum Cut {
    Pattern(Splitter),
    Scripts(Box<ScriptSplitter>),
    FixedLength(FixedLength),
}

/// A step that rewrites pieces, and the cuts after it.
#[derive(Debug)]
struct Stage {
    rewrite: Rewrite,
    cuts: Vec<Cut>,
}

impl Cut {
    fn split(&self, text: &str, emit: &mut dyn FnMut(usize, usize) -> Result<()>) -> Result<()> {
        match self {
            Self::Pattern(splitter) => splitter.split(text, emit),
            Self::Scripts(scripts) => scripts.split(text, emit),
            Self::FixedLength(length) => length.split(text, emit),
        }
    }
}

impl PreTokenizer {
    /// Compiles a sequence of steps; an empty one leaves the text whole.
    pub fn new(configs: &[StepConfig]) -> Result<Self> {
        Self::with_automata(configs, Vec::new())
    }

    /// Builds the steps with the automata that [`Self::automata`] gave for these very steps.
    pub(crate) fn with_automata(
        configs: &[StepConfig],
        known: Vec<Option<RawAutomaton>>,
    ) -> Result<Self> {
        let mut known = known.into_iter();
        let mut compile = |split: &SplitConfig| match known.next().flatten() {
            None => split.compile(),
            Some(raw) => Automaton::from_raw(&raw, split.in_byte_alphabet)
                .map(|automaton| Splitter::with_automaton(split, automaton))
                .ok_or_else(|| Error::pattern(&split.pattern, None, "its automaton is none")),
        };
        let mut made = Self {
            text: Vec::new(),
            bytes: Vec::new(),
            stages: Vec::new(),
        };
        for config in configs {
            let rewrite = match config {
                StepConfig::Split(split) if split.in_byte_alphabet => {
                    made.bytes.push(compile(split)?);
                    continue;
                }
                StepConfig::Split(split) => {
                    made.push(Cut::Pattern(compile(split)?))?;
                    continue;
                }
                StepConfig::Scripts => {
                    made.push(Cut::Scripts(Box::new(ScriptSplitter::new()?)))?;
                    continue;
                }
                &StepConfig::FixedLength { chars } => {
                    made.push(Cut::FixedLength(FixedLength::new(chars)?))?;
                    continue;
                }
                &StepConfig::Metaspace(metaspace) => Rewrite::Metaspace(metaspace),
                StepConfig::PrefixSpace => Rewrite::PrefixSpace,
                StepConfig::ByteLevel => Rewrite::ByteLevel,
            };
            made.check_order()?;
            made.stages.push(Stage {
                rewrite,
                cuts: Vec::new(),
            });
        }
        Ok(made)
    }

    fn push(&mut self, cut: Cut) -> Result<()> {
        self.check_order()?;
        match self.stages.last_mut() {
            Some(stage) => stage.cuts.push(cut),
            None => self.text.push(cut),
        }
        Ok(())
    }

    /// Splits of bytes may cut characters, so nothing that works on text can follow.
    fn check_order(&self) -> Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(Error::unsupported(
            "pre-tokenizer",
            "step",
            "one on text after a split of bytes",
        ))
    }

    /// True if pre-tokenization takes time linear in the text.
    pub fn is_linear(&self) -> bool {
        self.patterns().all(Splitter::is_linear)
    }

    /// The splits by patterns, in the order of the steps.
    fn patterns(&self) -> impl Iterator<Item = &Splitter> {
        let cuts = self
            .text
            .iter()
            .chain(self.stages.iter().flat_map(|stage| &stage.cuts));
        let patterns = cuts.filter_map(|cut| match cut {
            Cut::Pattern(splitter) => Some(splitter),
            Cut::Scripts(_) | Cut::FixedLength(_) => None,
        });
        patterns.chain(&self.bytes)
    }

    /// The automaton of each pattern, if it has one, in the order of the steps.
    pub(crate) fn automata(&self) -> Vec<Option<RawAutomaton>> {
        let raw = |splitter: &Splitter| splitter.automaton().map(Automaton::to_raw);
        self.patterns().map(raw).collect()
    }

    /// True if the pretokens of a text are all of it, unchanged.
    pub(crate) fn keeps_all(&self) -> bool {
        let keeps = |splitter: &Splitter| splitter.arrangement().0 != Behavior::Removed;
        !self.rewrites()
            && self.bytes.iter().all(keeps)
            && self.text.iter().all(|cut| match cut {
                Cut::Pattern(splitter) => keeps(splitter),
                Cut::Scripts(_) | Cut::FixedLength(_) => true,
            })
    }

    /// True if pieces are rewritten, so that pretokens are not ranges of the text.
    pub fn rewrites(&self) -> bool {
        !self.stages.is_empty()
    }

    /// True if pieces depend on where in the original text they come from.
    pub fn needs_origin(&self) -> bool {
        self.stages.iter().any(|stage| stage.rewrite.needs_origin())
    }

    /// Automaton that gives all pretokens, if one pattern cuts the whole text and drops nothing.
    /// Every published pattern has this shape.
    #[inline]
    pub(crate) fn only_automaton(&self) -> Option<&Automaton> {
        match (
            self.text.as_slice(),
            self.bytes.as_slice(),
            self.stages.as_slice(),
        ) {
            ([Cut::Pattern(only)], [], []) => only.isolating(),
            _ => None,
        }
    }

    /// The pretokens that it gives.
    #[inline]
    pub fn pieces_of_text<'s, 't>(&'s self, text: &'t str) -> Option<TextPieces<'s, 't>> {
        let automaton = self.only_automaton()?;
        Some(automaton.pieces(text.as_bytes()))
    }

    /// A place of a part of a text where a pretoken ends, whatever is around that part, if its
    /// characters tell of one; only where [`Self::pieces_of_text`] gives pretokens.
    pub(crate) fn sure_end(&self, part: &str) -> Option<usize> {
        match self.text.as_slice() {
            [Cut::Pattern(only)] => only.sure_end(part),
            _ => None,
        }
    }

    /// Calls `emit` with the byte range of each pretoken of `text`, left to right. For a
    /// pre-tokenizer that [rewrites](Self::rewrites), use [`Self::pieces`].
    pub fn split(
        &self,
        text: &str,
        mut emit: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        // A loop without calls through pointers.
        if let Some(pieces) = self.pieces_of_text(text) {
            for (start, end) in pieces {
                emit(start, end)?;
            }
            return Ok(());
        }
        split_cuts(&self.text, text, 0, &mut |start, end| {
            split_bytes(&self.bytes, &text.as_bytes()[start..end], start, &mut emit)
        })
    }

    /// The pretokens of a text whose pieces are rewritten: the new text, the ranges of it that are
    /// pretokens, and, if `align`, the way back.
    pub fn pieces(&self, text: &str, origin: Origin<'_>, align: bool) -> Result<Pieces> {
        let mut ranges = Vec::new();
        split_cuts(&self.text, text, 0, &mut |start, end| {
            ranges.push((start, end));
            Ok(())
        })?;
        // Ranges of the first stage's pieces are ranges of the text; later ones lead back to it.
        let mut later = self.stages.iter().skip(1);
        let align = align || later.any(|stage| stage.rewrite.needs_origin());
        let mut pieces = Pieces {
            text: text.to_owned(),
            ranges,
            alignment: align.then(|| Alignment::identity(text.len())),
        };
        let mut origin = origin;
        origin.continues &= self.text.is_empty();
        let room = GrowthLimit::default().room(text.len());
        for stage in &self.stages {
            pieces = stage.apply(&pieces, origin)?;
            room.check("pre-tokenization", pieces.text.len())?;
            // Pieces that a stage has cut apart begin anew in the next one.
            origin.continues &= !stage.cuts_pieces();
        }
        if !self.bytes.is_empty() {
            let mut cut = Vec::new();
            for &(start, end) in &pieces.ranges {
                split_bytes(
                    &self.bytes,
                    &pieces.text.as_bytes()[start..end],
                    start,
                    &mut |start, end| {
                        cut.push((start, end));
                        Ok(())
                    },
                )?;
            }
            pieces.ranges = cut;
        }
        Ok(pieces)
    }
}

impl Stage {
    /// Rewrites pieces, then cuts them.
    fn apply(&self, before: &Pieces, origin: Origin<'_>) -> Result<Pieces> {
        let mut lookup = before.alignment.as_ref().map(Alignment::lookup);
        let mut outer = origin.alignment.map(Alignment::lookup);
        let pieces: Vec<(usize, usize, bool)> = before
            .ranges
            .iter()
            .map(|&(start, end)| {
                let at_start = origin.begins && {
                    let (start, end) = lookup
                        .as_mut()
                        .map_or((start, end), |lookup| lookup.source_range(start, end));
                    let (start, end) = (origin.offset + start, origin.offset + end);
                    let from = outer
                        .as_mut()
                        .map_or(start, |outer| outer.source_range(start, end).0);
                    from == 0
                };
                (start, end, at_start)
            })
            .collect();
        let rewritten = self.rewrite.apply(&before.text, &pieces, origin.continues);
        let mut ranges = Vec::with_capacity(rewritten.ends.len());
        let mut start = 0;
        for end in rewritten.ends {
            split_cuts(
                &self.cuts,
                &rewritten.text[start..end],
                start,
                &mut |start, end| {
                    ranges.push((start, end));
                    Ok(())
                },
            )?;
            start = end;
        }
        Ok(Pieces {
            alignment: before.alignment.as_ref().map(|outer| {
                let made = self.rewrite.align(&before.text, &pieces, origin.continues);
                compose(outer, &made)
            }),
            text: rewritten.text,
            ranges,
        })
    }
}

/// Cuts text by one step after the other; no piece is empty.
fn split_cuts(
    cuts: &[Cut],
    text: &str,
    base: usize,
    emit: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    match cuts {
        [] if text.is_empty() => Ok(()),
        [] => emit(base, base + text.len()),
        [head, tail @ ..] => head.split(text, &mut |start, end| {
            split_cuts(tail, &text[start..end], base + start, emit)
        }),
    }
}

fn split_bytes(
    steps: &[Splitter],
    text: &[u8],
    base: usize,
    emit: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    match steps {
        [] if text.is_empty() => Ok(()),
        [] => emit(base, base + text.len()),
        [head, tail @ ..] => head.split_bytes(text, &mut |start, end| {
            split_bytes(tail, &text[start..end], base + start, emit)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_apply_to_the_pieces_of_the_step_before() {
        let step = |pattern: &str, behavior| {
            StepConfig::Split(SplitConfig {
                pattern: pattern.to_owned(),
                dialect: Dialect::Oniguruma,
                unicode: UnicodeVersion::REFERENCES,
                behavior,
                invert: false,
                in_byte_alphabet: false,
            })
        };
        let pre = PreTokenizer::new(&[
            step("[0-9]", Behavior::Isolated),
            step(r"\s+", Behavior::MergedWithNext),
        ])
        .unwrap();
        let text = "ab 12 cd";
        let mut pieces = Vec::new();
        pre.split(text, |start, end| {
            pieces.push(&text[start..end]);
            Ok(())
        })
        .unwrap();
        assert_eq!(pieces, ["ab", " ", "1", "2", " cd"]);
    }
}
