//! A part of a text for one thread, with exactly the ids that the text has there.
//!
//! A pretoken depends only on its beginning and on the text from there on. A match of the pattern
//! begins where the match before ended, and looks at nothing before it. So two threads that begin
//! at different places cut the text alike from the first end that both have.
//!
//! Each thread begins at a place that is probably an end (some ends after a guess). It goes on to
//! the place where the next thread began. If it has an end exactly there, the next thread's ids
//! follow its own. If it has none, it goes on until it meets an end of the next thread, and says
//! how many ids the two have in common. Threads that do not meet before the section after cost
//! time, never ids: one thread then encodes the text.
//!
//! That holds where the text is cut as it was given, by one automaton.

use std::ops::Range;

use crate::cpu::prefetch::ReadLater;
use crate::error::Result;
use crate::models::{Counter, Model};
use crate::pipeline::lookup::Ends;
use crate::pipeline::{Pipeline, WordScratch};
use crate::pretokenize::TextPieces;

/// A part of a section. A section is the text between two special or added tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadSpan {
    /// The section, in the whole text. The other places are counted from where it begins.
    pub(crate) section: Range<usize>,
    /// Where it begins.
    pub(crate) from: usize,
    /// Where the next one begins, or the section ends.
    pub(crate) until: usize,
    /// Where the one after that begins, or the section ends.
    pub(crate) limit: usize,
}

/// Ends up to the first that is not before a limit.
struct Until<'s, 't> {
    pieces: TextPieces<'s, 't>,
    limit: usize,
    /// The last one given.
    last: usize,
}

impl Ends for Until<'_, '_> {
    #[inline(always)]
    fn ends(&mut self, ends: &mut [usize]) -> usize {
        if self.last >= self.limit {
            return 0;
        }
        let mut n = self.pieces.ends(ends);
        if let Some(&last) = ends[..n].last() {
            if last > self.limit {
                n = ends[..n].partition_point(|&end| end < self.limit) + 1;
            }
            self.last = ends[n - 1];
        }
        n
    }
}

impl<M: Model> Pipeline<M> {
    /// Appends the ids of a stretch of a section, and of what follows it until the next stretch is
    /// met. Returns how many of the ids that the next one begins with are among them; None if the
    /// two do not meet, and where the section is not cut by one automaton. `later` is what will be
    /// read next.
    pub(crate) fn encode_stretch(
        &self,
        section: &str,
        stretch: &ThreadSpan,
        later: ReadLater,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        ids: &mut Vec<u32>,
    ) -> Result<Option<usize>> {
        let pieces_from = |from: usize| {
            let rest = section.get(from..)?;
            Some((rest.as_bytes(), self.pretokenizer().pieces_of_text(rest)?))
        };
        let Some((bytes, mut pieces)) = pieces_from(stretch.from) else {
            return Ok(None);
        };
        pieces.set_later(later);
        let mut until = Until {
            pieces,
            limit: stretch.until - stretch.from,
            last: 0,
        };
        self.encode_pieces(bytes, &mut until, words, scratch, ids)?;
        let mut here = stretch.from + until.last;
        let mut next = stretch.until;
        if here == next {
            return Ok(Some(0));
        }
        // Both go on, the one that is behind first, until they are at the same place.
        let (Some((mine, mut my_pieces)), Some((theirs, mut their_pieces))) =
            (pieces_from(here), pieces_from(next))
        else {
            return Ok(None);
        };
        let (my_start, their_start) = (here, next);
        let mut common = Counter::default();
        while here != next {
            if here.max(next) > stretch.limit {
                return Ok(None);
            }
            let piece = if here < next {
                my_pieces.next()
            } else {
                their_pieces.next()
            };
            let Some((start, end)) = piece else {
                return Ok(None);
            };
            if here < next {
                self.word(mine, start, end, words, scratch, ids)?;
                here = my_start + end;
            } else {
                self.word(theirs, start, end, words, scratch, &mut common)?;
                next = their_start + end;
            }
        }
        if here > stretch.limit {
            return Ok(None);
        }
        Ok(usize::try_from(common.0).ok())
    }
}
