//! Pretokens by the batch: where many of them end, then all their keys, then what they are.
//!
//! Each step is a short loop whose turns do not wait for one another, whereas a pretoken that is cut and looked
//! up before the next one is cut waits for memory each time: while keys are made, the sets of the cache where the words
//! would be are on their way already.

use crate::pretokenize::TextPieces;
use crate::simd::{Level, Work, level, run_at};
use crate::word_cache::{Key, ShortWords};

/// Pretokens of a batch.
const AT_ONCE: usize = 128;

/// Ids of an entry for a short word.
pub(crate) const SHORT_IDS: usize = 3;

/// A batch of pretokens, and the ids of those that are known.
pub(crate) struct WordBatch {
    level: Level,
    ends: [usize; AT_ONCE],
    /// The key of each, and the set of the cache where it would be.
    words: [(Key<1>, usize); AT_ONCE],
    n: usize,
    /// Pretokens that have been looked up.
    at: usize,
    /// Where the next one begins.
    start: usize,
    known: [u32; AT_ONCE * SHORT_IDS + SHORT_IDS],
    n_known: usize,
}

impl WordBatch {
    /// For a text from its beginning.
    pub(crate) fn new() -> Self {
        Self {
            level: level(),
            ends: [0; AT_ONCE],
            words: [(Key::NONE, 0); AT_ONCE],
            n: 0,
            at: 0,
            start: 0,
            known: [0; AT_ONCE * SHORT_IDS + SHORT_IDS],
            n_known: 0,
        }
    }

    /// Takes the next pretokens of a text; says whether there are any.
    pub(crate) fn fill(
        &mut self,
        text: &[u8],
        pieces: &mut TextPieces<'_, '_>,
        cache: &ShortWords,
    ) -> bool {
        let batch = self;
        run_at(
            batch.level,
            Fill {
                batch,
                text,
                pieces,
                cache,
            },
        )
    }

    #[inline(always)]
    fn fill_here(
        &mut self,
        text: &[u8],
        pieces: &mut TextPieces<'_, '_>,
        cache: &ShortWords,
    ) -> bool {
        self.n = pieces.ends(&mut self.ends);
        self.at = 0;
        let mut from = self.start;
        for (word, &end) in self.words.iter_mut().zip(&self.ends[..self.n]) {
            let key = Key::new(text, from, end).unwrap_or(Key::NONE);
            *word = (key, cache.fetch(key));
            from = end;
        }
        self.n > 0
    }

    /// Looks pretokens up until one is not known: where that begins and ends, or None at the end of the batch.
    pub(crate) fn next_unknown(&mut self, cache: &ShortWords) -> Option<(usize, usize)> {
        let batch = self;
        run_at(batch.level, NextUnknown { batch, cache })
    }

    #[inline(always)]
    fn next_unknown_here(&mut self, cache: &ShortWords) -> Option<(usize, usize)> {
        let mut n_known = 0;
        let mut found = None;
        let words = self.words[..self.n].iter().enumerate().skip(self.at);
        let mut at = self.n;
        for (index, &(key, place)) in words {
            let Some((ids, n_ids)) = cache.find(key, place) else {
                at = index + 1;
                let before = index.checked_sub(1).map(|before| self.ends[before]);
                found = Some((before.unwrap_or(self.start), self.ends[index]));
                break;
            };
            if let Some(known) = self.known.get_mut(n_known..)
                && let Some(known) = known.first_chunk_mut()
            {
                *known = *ids;
            }
            n_known += n_ids;
        }
        self.at = at;
        self.n_known = n_known;
        if found.is_none()
            && let Some(last) = self.n.checked_sub(1)
        {
            self.start = self.ends[last];
        }
        found
    }

    /// The ids of the pretokens that were known before the one that was not.
    #[inline]
    pub(crate) fn known(&self) -> &[u32] {
        &self.known[..self.n_known]
    }
}

struct Fill<'b, 'p, 's, 't> {
    batch: &'b mut WordBatch,
    text: &'b [u8],
    pieces: &'p mut TextPieces<'s, 't>,
    cache: &'b ShortWords,
}

impl Work for Fill<'_, '_, '_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.batch.fill_here(self.text, self.pieces, self.cache)
    }
}

struct NextUnknown<'b> {
    batch: &'b mut WordBatch,
    cache: &'b ShortWords,
}

impl Work for NextUnknown<'_> {
    type Output = Option<(usize, usize)>;

    #[inline(always)]
    fn run(self) -> Option<(usize, usize)> {
        self.batch.next_unknown_here(self.cache)
    }
}
