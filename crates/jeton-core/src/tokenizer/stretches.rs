//! One long text for several threads: where it is cut.
//!
//! Special and added tokens are found first, in the whole text. The text between two of them is a
//! section, and a long section is cut into stretches. [`crate::pipeline::section`] does that, and
//! says why the ids equal one thread's.

use std::ops::Range;

use super::Tokenizer;
use crate::engine::Engine;
use crate::inputs::template::Part;
use crate::pipeline::section::ThreadSpan;
use crate::pretokenize::LOOK_BYTES;
use crate::special::Allow;
use crate::text::code_points::floor_boundary;

/// A part of a text.
#[derive(Debug)]
pub(super) enum Piece {
    /// A special or added token.
    Token(u32),
    /// Text without such tokens.
    ThreadSpan(ThreadSpan),
}

/// How a text is cut.
#[derive(Debug)]
pub(super) struct Plan<'t> {
    pub(super) text: &'t str,
    /// At least one.
    pub(super) pieces: Vec<Piece>,
}

impl Tokenizer {
    /// True if a text may be cut: the model sees it as it is, in pieces that one automaton makes.
    pub(super) fn cuts_texts(&self) -> bool {
        let parts = self.template.single.iter();
        self.normalizer.is_identity()
            && !matches!(self.engine, Engine::SentencePiece(_))
            && self
                .engine
                .pretokenizer()
                .is_some_and(|steps| steps.pieces_of_text("").is_some())
            && parts
                .filter(|part| matches!(part, Part::Text { .. }))
                .count()
                == 1
    }

    /// Cuts a text into stretches of about `target` bytes.
    pub(super) fn plan<'t>(&self, text: &'t str, allow: &Allow, target: usize) -> Plan<'t> {
        let mut pieces = Vec::new();
        if self.added.nothing_to_find(allow) {
            self.cut_section(text, 0..text.len(), target, &mut pieces);
            return Plan { text, pieces };
        }
        let (mut raw, mut normalized) = (Vec::new(), Vec::new());
        self.added.find_raw(text, allow, &mut raw);
        let mut position = 0;
        for found in raw.iter().map(Some).chain([None]) {
            let end = found.map_or(text.len(), |found| found.start);
            if position < end {
                let base = position;
                let section = &text[base..end];
                self.added.find_normalized(section, allow, &mut normalized);
                for token in &normalized {
                    let start = base + token.start;
                    if position < start {
                        self.cut_section(text, position..start, target, &mut pieces);
                    }
                    pieces.push(Piece::Token(token.id));
                    position = base + token.end;
                }
                if position < end {
                    self.cut_section(text, position..end, target, &mut pieces);
                }
            }
            if let Some(found) = found {
                pieces.push(Piece::Token(found.id));
                position = found.end;
            }
        }
        Plan { text, pieces }
    }

    /// Cuts a section.
    fn cut_section(
        &self,
        text: &str,
        section: Range<usize>,
        target: usize,
        pieces: &mut Vec<Piece>,
    ) {
        let of_section = text.get(section.clone()).unwrap_or_default();
        let n = of_section.len();
        let mut starts = vec![0];
        let n_parts = n / target.max(2 * LOOK_BYTES);
        for part in 1..n_parts {
            let guess = floor_boundary(of_section, n / n_parts * part);
            let pretokenizer = self.engine.pretokenizer();
            starts.extend(pretokenizer.and_then(|steps| steps.likely_end(of_section, guess)));
        }
        starts.extend([n, n]);
        for places in starts.windows(3) {
            pieces.push(Piece::ThreadSpan(ThreadSpan {
                section: section.clone(),
                from: places[0],
                until: places[1],
                limit: places[2],
            }));
        }
    }
}

#[cfg(test)]
#[path = "stretches_tests.rs"]
pub(super) mod tests;
