//! A long text that is not UTF-8 where it lies. It is made UTF-8 and encoded part by part, by
//! several threads at once. Each part is still in the processor's cache when it is read.
//!
//! Two parts meet where the characters around a place tell that a pretoken ends there, whatever
//! comes before them or after (see [`crate::pretokenize`]). Every thread that has these characters
//! finds this place, so the parts need not wait for one another. Where there is no such place, or
//! tokens are looked for in the text, all of it is made UTF-8 first.

use std::ops::Range;

use super::{Scratch, Tokenizer};
use crate::cache::pool::Lease;
use crate::cpu::prefetch::ReadLater;
use crate::documents::parallel::{Work, in_order};
use crate::documents::transcode::Kept;
use crate::error::{ErrorKind, Result};
use crate::memory::huge_pages::prefer_huge_pages;
use crate::pipeline::section::ThreadSpan;
use crate::special::Allow;

/// Characters of a part, and those around its end in which a place is looked for where two parts
/// meet.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    part: usize,
    look: usize,
}

const SIZES: Sizes = Sizes {
    part: 1 << 16,
    look: 1 << 10,
};

/// Result of a part.
#[derive(Default)]
struct PartResult {
    ids: Vec<u32>,
    /// True if places were found where the parts around it begin and end.
    meets: bool,
}

impl Tokenizer {
    /// The ids of a text, with several threads.
    pub fn encode_characters(
        &self,
        text: Kept<'_>,
        allow: &Allow,
        add_special_tokens: bool,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(text.len() / 4);
        prefer_huge_pages(&mut ids);
        ids.extend(self.tokens_around(true, add_special_tokens));
        let mut take = |more: &[u32]| ids.extend_from_slice(more);
        if self.encode_parts(text, SIZES, allow, threads, keep_going, &mut take)? {
            ids.extend(self.tokens_around(false, add_special_tokens));
            return Ok(ids);
        }
        let mut room = Vec::new();
        let text = text.text(&mut room)?;
        self.encode_shared(text, allow, add_special_tokens, threads, keep_going)
    }

    /// How many ids a text has.
    pub fn count_characters(
        &self,
        text: Kept<'_>,
        allow: &Allow,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<u64> {
        let mut n = 0;
        let mut take = |more: &[u32]| n += more.len() as u64;
        if self.encode_parts(text, SIZES, allow, threads, keep_going, &mut take)? {
            return Ok(n);
        }
        let mut room = Vec::new();
        let text = text.text(&mut room)?;
        self.count_shared(text, allow, threads, keep_going)
    }

    /// Encodes a text part by part. True if all parts met. If false, the ids given to `take` are of
    /// no use.
    fn encode_parts(
        &self,
        text: Kept<'_>,
        sizes: Sizes,
        allow: &Allow,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
        take: &mut (dyn FnMut(&[u32]) + Send),
    ) -> Result<bool> {
        let n_parts = text.len() / sizes.part;
        if n_parts < 2 || !self.cuts_texts() || !self.added.nothing_to_find(allow) {
            return Ok(false);
        }
        let work = Work {
            worker: &|| (self.pool.lend(), Vec::new()),
            task: &|(scratch, room): &mut (Lease<'_, Scratch>, Vec<u8>),
                    index,
                    made: &mut PartResult| {
                made.ids.clear();
                let begin = index * sizes.part;
                let end = if index + 1 < n_parts {
                    begin + sizes.part
                } else {
                    text.len()
                };
                let place = (text, begin..end, sizes.look);
                // With several threads most probably the one that this thread takes next.
                let next = begin.saturating_add(sizes.part.saturating_mul(threads));
                let next = next..text.len().min(next.saturating_add(sizes.part));
                let later = text.part(next).later();
                made.meets =
                    self.encode_written(place, later, scratch.get(), room, &mut made.ids)?;
                Ok(())
            },
        };
        let mut all_met = true;
        let mut take = |_, made: &mut PartResult| {
            all_met &= made.meets;
            if all_met {
                take(&made.ids);
            }
        };
        match in_order(n_parts, threads, keep_going, &work, &mut take) {
            Ok(()) => Ok(all_met),
            // Where it is in the whole text, is found when all of it is made UTF-8.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidUtf8 { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Appends the ids of a part, from where the one before it ends to where the next one begins.
    /// Returns true if there are such places.
    fn encode_written(
        &self,
        (text, part, look): (Kept<'_>, Range<usize>, usize),
        later: ReadLater,
        scratch: &mut Scratch,
        room: &mut Vec<u8>,
        ids: &mut Vec<u32>,
    ) -> Result<bool> {
        let sure_end = |part: &str| self.engine.pretokenizer()?.sure_end(part);
        // Both who end there and who begin there look at these characters and at no others: where a
        // place is, and how many bytes they are.
        let mut near = |at: usize| -> Result<Option<(usize, usize)>> {
            if at == 0 || at == text.len() {
                return Ok(Some((0, 0)));
            }
            let ahead = text.part(at..text.len().min(at + look)).text(room)?;
            Ok(sure_end(ahead).map(|place| (place, ahead.len())))
        };
        let (Some((from, _)), Some((behind, n_ahead))) = (near(part.start)?, near(part.end)?)
        else {
            return Ok(false);
        };
        let until_there = part.start..text.len().min(part.end + look);
        let section = text.part(until_there).text(room)?;
        let until = section.len() - n_ahead + behind;
        let stretch = ThreadSpan {
            section: 0..section.len(),
            from,
            until,
            limit: section.len(),
        };
        Ok(self.stretch(section, &stretch, later, scratch, ids)? == Some(0))
    }
}

#[cfg(test)]
#[path = "written_texts_tests.rs"]
mod tests;
