//! Encoding from a place on, at which a text can be taken up again.

use std::sync::Arc;

use crate::engine::{Engine, EngineScratch};
use crate::error::Result;
use crate::models::unigram::PathsSoFar;
use crate::pretokenize::PreTokenizer;
use crate::pretokenize::rewriting::Origin;
use crate::special::Allow;
use crate::text::alignment::Alignment;
use crate::tokenizer::{Scratch, Tokenizer};

/// Parts of the pipeline that go on across a place, and parts that begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The text begins here.
    Start,
    /// A token that was found in the raw text ends here: all begins anew.
    Section,
    /// A token that was found in the normalized text ends here: normalization goes on.
    Part,
    /// A pretoken begins here, or the model goes on inside of one.
    Inside,
}

/// A place of a text, and what encoding has to know to go on from it.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// Bytes of the text before it.
    pub(super) at: usize,
    pub(super) kind: Kind,
    /// Paths of the model up to the place, if the model goes on.
    pub(super) paths: Option<Arc<PathsSoFar>>,
}

impl Cut {
    pub(super) const START: Self = Self {
        at: 0,
        kind: Kind::Start,
        paths: None,
    };

    /// True if normalization goes on.
    pub(super) fn normalizes_on(&self) -> bool {
        matches!(self.kind, Kind::Part | Kind::Inside)
    }

    /// True if a pretoken, or what steps before the last see as one, goes on.
    pub(super) fn goes_on(&self) -> bool {
        self.kind == Kind::Inside
    }
}

impl Tokenizer {
    /// Appends the ids of a text from a place on.
    pub(super) fn encode_from(
        &self,
        text: &str,
        cut: &Cut,
        allow: &Allow,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let nothing = self.added.nothing_to_find(allow);
        let mut raw = std::mem::take(&mut scratch.raw);
        raw.clear();
        if !nothing {
            self.added.find_raw_from(text, cut.at, allow, &mut raw);
        }
        let allow = (!nothing).then_some(allow);
        let mut position = cut.at;
        let mut encode = || -> Result<()> {
            for found in raw.iter().map(Some).chain([None]) {
                let end = found.map_or(text.len(), |found| found.start);
                if position < end {
                    let from = if position == cut.at {
                        cut.clone()
                    } else {
                        Cut {
                            at: position,
                            kind: Kind::Section,
                            paths: None,
                        }
                    };
                    self.encode_section_from(&text[position..end], &from, allow, scratch, out)?;
                }
                if let Some(found) = found {
                    out.push(found.id);
                    position = found.end;
                }
            }
            Ok(())
        };
        let result = encode();
        scratch.raw = raw;
        scratch.after_text(text.len() - cut.at);
        result
    }

    /// A part of the raw text in which no token is found there.
    fn encode_section_from(
        &self,
        section: &str,
        cut: &Cut,
        allow: Option<&Allow>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let needs_alignment = !self.normalizer.is_identity()
            && self
                .engine
                .pretokenizer()
                .is_some_and(PreTokenizer::needs_origin);
        let (text, alignment): (_, Option<Alignment>) = if needs_alignment {
            let (text, alignment) = self
                .normalizer
                .go_on_aligned(section, cut.normalizes_on())?;
            (text, Some(alignment))
        } else {
            let text = self.normalizer.go_on(section, cut.normalizes_on())?;
            (text, None)
        };
        let mut found = std::mem::take(&mut scratch.normalized);
        found.clear();
        if let Some(allow) = allow {
            self.added.find_normalized(&text, allow, &mut found);
        }
        let mut position = 0;
        let engine = &mut scratch.engine;
        let mut encode = || -> Result<()> {
            for token in found.iter().map(Some).chain([None]) {
                let end = token.map_or(text.len(), |token| token.start);
                let goes_on = cut.goes_on() && position == 0;
                // The last part may be empty, and may get something behind its end all the same.
                if position < end || token.is_none() {
                    let origin = Origin {
                        begins: cut.kind == Kind::Start,
                        alignment: alignment.as_ref(),
                        offset: position,
                        continues: goes_on,
                    };
                    self.encode_part(&text[position..end], origin, cut, engine, out)?;
                }
                if let Some(token) = token {
                    out.push(token.id);
                    position = token.end;
                }
            }
            Ok(())
        };
        let result = encode();
        scratch.normalized = found;
        result
    }

    fn encode_part(
        &self,
        part: &str,
        origin: Origin<'_>,
        cut: &Cut,
        scratch: &mut EngineScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let paths = cut.paths.as_deref();
        let is_spm = matches!(self.engine, Engine::SentencePiece(_));
        if origin.continues && (is_spm || paths.is_some()) {
            return self.engine.go_on(part, origin, paths, scratch, out);
        }
        self.engine.encode(part, origin, scratch, out)
    }
}
