//! Counts of parts of a text whose tokens are known: only what is near their ends is encoded again.
//!
//! At a sure end a pretoken ends, whatever is around the few characters that tell of it, and no
//! pretoken before it depends on more than these (see [`crate::pretokenize`]). So the part has the
//! text's own tokens from its first sure end to its last one. In front of the first and behind the
//! last it is encoded, together with the text that is sent around it.

use std::ops::Range;

use super::Tokenizer;
use crate::cpu::prefetch::ReadLater;
use crate::error::Result;
use crate::pipeline::section::ThreadSpan;
use crate::special::Allow;
use crate::text::code_points::floor_boundary;

/// Bytes in which a sure end is looked for: the least that can tell, then more.
const LOOKS_BYTES: [usize; 2] = [260, 1 << 10];
/// Parts below this size are encoded whole: their ends would be most of them.
const WHOLE_BYTES: usize = 3 * LOOKS_BYTES[0];

/// A part of a text, and the text that is sent around it.
#[derive(Clone, Debug)]
pub struct Excerpt<'t> {
    /// The text.
    pub text: &'t str,
    /// Bytes of it.
    pub range: Range<usize>,
    /// Sent in front of the part.
    pub before: &'t str,
    /// Sent behind it.
    pub behind: &'t str,
}

/// Memory that counting uses again.
#[derive(Debug, Default)]
pub struct ExcerptRoom {
    sent: String,
    ids: Vec<u32>,
}

impl Tokenizer {
    /// True if the tokens of a text tell those of its parts.
    pub fn knows_excerpts(&self) -> bool {
        self.cuts_texts() && self.added.nothing_to_find(&Allow::None)
    }

    /// Returns the number of ids of a part with the text around it. `known`: where tokens of a
    /// text end that has all of the part, in bytes of `excerpt.text`, rising; empty if
    /// [`Self::knows_excerpts`] is false.
    pub fn count_excerpt(
        &self,
        excerpt: &Excerpt<'_>,
        known: &[usize],
        room: &mut ExcerptRoom,
    ) -> Result<u64> {
        if excerpt.range.len() >= WHOLE_BYTES
            && !known.is_empty()
            && let Some(n) = self.count_by_ends(excerpt, known, room)?
        {
            return Ok(n);
        }
        let part = &excerpt.text[excerpt.range.clone()];
        if excerpt.before.is_empty() && excerpt.behind.is_empty() {
            return self.count(part, &Allow::None);
        }
        room.sent.clear();
        room.sent.extend([excerpt.before, part, excerpt.behind]);
        self.count(&room.sent, &Allow::None)
    }

    fn count_by_ends(
        &self,
        excerpt: &Excerpt<'_>,
        known: &[usize],
        room: &mut ExcerptRoom,
    ) -> Result<Option<u64>> {
        let Excerpt { text, range, .. } = excerpt;
        let Some((first, ahead)) = self.first_sure_end(text, range) else {
            return Ok(None);
        };
        let Some(last) = self
            .last_sure_end(text, range)
            .filter(|&last| last >= first)
        else {
            return Ok(None);
        };
        let Some(n_before) = self.count_until(excerpt, first, ahead, room)? else {
            return Ok(None);
        };
        let ends_by = |at: usize| known.partition_point(|&end| end <= at);
        let n_inside = (ends_by(last) - ends_by(first)) as u64;
        let rest = &text[last..range.end];
        let n_behind = if excerpt.behind.is_empty() {
            self.count(rest, &Allow::None)?
        } else {
            room.sent.clear();
            room.sent.extend([rest, excerpt.behind]);
            self.count(&room.sent, &Allow::None)?
        };
        Ok(Some(n_before + n_inside + n_behind))
    }

    /// The first sure end of a part, and the end of what tells of it.
    fn first_sure_end(&self, text: &str, range: &Range<usize>) -> Option<(usize, usize)> {
        LOOKS_BYTES.iter().find_map(|look| {
            let ahead = floor_boundary(text, range.end.min(range.start + look));
            let place = self.sure_end(&text[range.start..ahead])?;
            Some((range.start + place, ahead))
        })
    }

    /// A sure end near the end of a part.
    fn last_sure_end(&self, text: &str, range: &Range<usize>) -> Option<usize> {
        LOOKS_BYTES.iter().find_map(|look| {
            let from = floor_boundary(text, range.end.saturating_sub(*look).max(range.start));
            Some(from + self.sure_end(&text[from..range.end])?)
        })
    }

    fn sure_end(&self, part: &str) -> Option<usize> {
        self.engine.pretokenizer()?.sure_end(part)
    }

    /// Ids of the text in front of a part and of the part up to a sure end; None if no pretoken
    /// ends there after all.
    fn count_until(
        &self,
        excerpt: &Excerpt<'_>,
        until: usize,
        ahead: usize,
        room: &mut ExcerptRoom,
    ) -> Result<Option<u64>> {
        let begin = excerpt.range.start;
        let part = &excerpt.text[begin..ahead];
        let section = if excerpt.before.is_empty() {
            part
        } else {
            room.sent.clear();
            room.sent.extend([excerpt.before, part]);
            &room.sent
        };
        let stretch = ThreadSpan {
            section: 0..section.len(),
            from: 0,
            until: excerpt.before.len() + (until - begin),
            limit: section.len(),
        };
        room.ids.clear();
        let ids = &mut room.ids;
        let met = self
            .pool
            .with(|scratch| self.stretch(section, &stretch, ReadLater::default(), scratch, ids))?;
        Ok((met == Some(0)).then_some(room.ids.len() as u64))
    }
}

#[cfg(test)]
#[path = "excerpts_tests.rs"]
mod tests;
