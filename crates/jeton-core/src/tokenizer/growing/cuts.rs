//! Where a text that may go on can be taken up again: a place that is good for every part of the
//! pipeline.
//!
//! Claim: let `at` be among the cuts of a text T, and X any text behind it. Then the ids of T X are
//! some ids that do not depend on X, followed by the ids that [`Tokenizer::encode_from`] gives for
//! T X from `at` on. The parts in their order: added tokens of the raw text (`special/resume.rs`),
//! normalization (`normalize/resume.rs`), added tokens of the normalized text, pre-tokenization
//! (`pretokenize/resume.rs`), the model (`engine/resume.rs`). Each part says which places are good
//! in the text that it sees, as far as that is certain.

use std::sync::Arc;

use super::resume::{Cut, Kind};
use crate::engine::{Engine, ResumePoint, Seams};
use crate::error::Result;
use crate::pretokenize::{GrowingPiece, PreTokenizer};
use crate::special::{Allow, OpenTokens};
use crate::tokenizer::{Scratch, Tokenizer};

/// Places of normalized text that are looked for in the text, from the last one back, before the
/// search is given up until the text has grown. Nearly always the first is found.
const MAX_TRIES: usize = 12;

impl Tokenizer {
    /// The places at which a text that may go on can be taken up again, behind one such place;
    /// rising.
    ///
    /// Where normalization changes text, finding a place costs a little. Then only the last place
    /// is returned, and the `wanted` ones.
    pub(super) fn cuts(
        &self,
        text: &str,
        from: &Cut,
        allow: &Allow,
        wanted: &dyn Fn(usize) -> bool,
        scratch: &mut Scratch,
    ) -> Result<Vec<Cut>> {
        let nothing = self.added.nothing_to_find(allow);
        let tokens = if nothing {
            OpenTokens::none(text)
        } else {
            self.added.open_raw(text, from.at, allow)
        };
        let mut cuts = Vec::new();
        let mut section = from.clone();
        for &(found, clean) in &tokens.found {
            section = Cut {
                at: found.end,
                kind: Kind::Section,
                paths: None,
            };
            if clean {
                cuts.push(section.clone());
            }
        }
        if section.at < tokens.decided {
            let search = Search {
                tokenizer: self,
                section: &text[section.at..tokens.decided],
                from: &section,
                allow: (!nothing).then_some(allow),
                wanted,
            };
            let found = search.run(scratch)?;
            cuts.extend(found.into_iter().filter(|cut| tokens.is_good(cut.at)));
        }
        Ok(cuts)
    }
}

/// A search in the last section of a text, of which all that is here is certain.
struct Search<'a> {
    tokenizer: &'a Tokenizer,
    section: &'a str,
    from: &'a Cut,
    allow: Option<&'a Allow>,
    wanted: &'a dyn Fn(usize) -> bool,
}

impl Search<'_> {
    fn run(&self, scratch: &mut Scratch) -> Result<Vec<Cut>> {
        let tokenizer = self.tokenizer;
        let normalizer = &tokenizer.normalizer;
        let normalized = normalizer.certain(self.section, self.from.normalizes_on())?;
        let tokens = match self.allow {
            Some(allow) => tokenizer.added.open_normalized(&normalized, allow),
            None => OpenTokens::none(&normalized),
        };
        let mut found: Vec<(usize, Kind, ResumePoint)> = Vec::new();
        let mut part = 0;
        for &(token, clean) in &tokens.found {
            part = token.end;
            if clean {
                found.push((part, Kind::Part, (0, None)));
            }
        }
        if part < tokens.decided {
            let places = self.places(&normalized[part..tokens.decided], part, scratch)?;
            let inside = places
                .into_iter()
                .map(|place| (part + place.0, Kind::Inside, place));
            found.extend(inside);
        }
        found.retain(|(at, ..)| {
            let before = normalized[..*at].chars().next_back();
            tokens.is_good(*at) && tokenizer.added.is_as_if_first(before)
        });
        self.in_the_text(found)
    }

    /// Good places of a part of the normalized text.
    fn places(&self, part: &str, offset: usize, scratch: &mut Scratch) -> Result<Vec<ResumePoint>> {
        let tokenizer = self.tokenizer;
        let goes_on = self.from.goes_on() && offset == 0;
        let engine = &tokenizer.engine;
        let (cuts, growing) = match engine.pretokenizer() {
            Some(pretokenizer) => {
                let begins = self.begins_the_text(pretokenizer, offset)?;
                let open = pretokenizer.open_end(part, begins, goes_on);
                (open.cuts, open.growing)
            }
            None => (Vec::new(), None),
        };
        let growing = match engine {
            Engine::SentencePiece(engine) => {
                engine.processor.normalizer().check(part)?;
                let (text, places) = engine.processor.normalizer().open_end(part, goes_on);
                Some(GrowingPiece {
                    bytes: text.into_bytes(),
                    from_the_beginning: true,
                    places,
                })
            }
            _ => growing,
        };
        let mut places: Vec<ResumePoint> = cuts.into_iter().map(|at| (at, None)).collect();
        if let Some(piece) = growing {
            let seams = tokenizer.seams.get_or_init(|| Box::new(Seams::new(engine)));
            let paths = self.from.paths.as_deref();
            let paths = paths.filter(|_| piece.from_the_beginning && goes_on);
            places.extend(engine.growing_places(&piece, paths, seams, &mut scratch.engine)?);
        }
        Ok(places)
    }

    /// True if a part of the normalized text comes from the very beginning of the text that was
    /// given.
    fn begins_the_text(&self, pretokenizer: &PreTokenizer, offset: usize) -> Result<bool> {
        if self.from.kind != Kind::Start || offset > 0 || !pretokenizer.needs_origin() {
            return Ok(self.from.kind == Kind::Start && offset == 0);
        }
        let (_, alignment) = self.tokenizer.normalizer.normalize_aligned(self.section)?;
        Ok(alignment.lookup().source_range(0, 1).0 == 0)
    }

    /// Maps places of the normalized text to places of the text at which it can be taken up again.
    fn in_the_text(&self, found: Vec<(usize, Kind, ResumePoint)>) -> Result<Vec<Cut>> {
        let cut = |at: usize, kind, place: ResumePoint| Cut {
            at: self.from.at + at,
            kind,
            paths: place.1.map(Arc::new),
        };
        let normalizer = &self.tokenizer.normalizer;
        if normalizer.is_identity() {
            let cuts = found.into_iter().filter(|(at, ..)| *at > 0);
            return Ok(cuts.map(|(at, kind, place)| cut(at, kind, place)).collect());
        }
        let goes_on = self.from.normalizes_on();
        let (_, alignment) = normalizer.go_on_aligned(self.section, goes_on)?;
        let mut lookup = alignment.lookup();
        let sources: Vec<usize> = found
            .iter()
            .map(|(at, ..)| lookup.source_range(*at, at + 1).0)
            .collect();
        let mut cuts = Vec::new();
        let mut tries = 0;
        let mut done = false;
        for ((at, kind, place), source) in found.into_iter().zip(sources).rev() {
            let wanted = (self.wanted)(self.from.at + source);
            if !wanted && (done || tries >= MAX_TRIES) {
                continue;
            }
            tries += 1;
            // A step may tell the source of a character to be its neighbour's.
            for source in [Some(source), source.checked_add(1), source.checked_sub(1)] {
                let Some(source) = source.filter(|&source| source > 0) else {
                    continue;
                };
                if normalizer.cut(self.section, source, goes_on)? == Some(at) {
                    cuts.push(cut(source, kind, place));
                    done = true;
                    break;
                }
            }
        }
        cuts.reverse();
        Ok(cuts)
    }
}
