//! Pretokens by the batch: where many of them end, then all their keys, then what they are.
//!
//! Each step is a short loop whose turns do not wait for one another, whereas a pretoken that is cut and looked
//! up before the next one is cut waits for memory each time: while keys are made, the sets of the cache where the words
//! would be are on their way already.

use crate::pretokenize::TextPieces;
use crate::simd::{Level, Work, level, run_at};
use crate::word_cache::{Key, LongWords, ShortWords};

/// Pretokens of a batch.
pub(crate) const AT_ONCE: usize = 128;

/// Ids of an entry for a short word, and for a long one.
pub(crate) const SHORT_IDS: usize = 3;
const LONG_IDS: usize = 7;

/// Marks the place of a set of long words: no cache of short ones has so many.
const LONG: usize = 1 << (usize::BITS - 1);

/// Pieces that follow one another, by where they end.
pub(crate) trait Ends {
    /// Puts the next ends there, as many as fit, and returns how many there are: none when all were given.
    fn ends(&mut self, ends: &mut [usize]) -> usize;
}

impl Ends for TextPieces<'_, '_> {
    #[inline(always)]
    fn ends(&mut self, ends: &mut [usize]) -> usize {
        TextPieces::ends(self, ends)
    }
}

/// A batch of pretokens, and the ids of those that are known. What is lent to one call after the other needs no
/// clearing in between.
#[derive(Debug)]
pub(crate) struct WordBatch {
    level: Level,
    ends: [usize; AT_ONCE],
    /// The key of each, and the set of the cache where it would be.
    keys: [Key<1>; AT_ONCE],
    places: [usize; AT_ONCE],
    n: usize,
    /// Pretokens that have been looked up.
    at: usize,
    /// Where the next one begins.
    start: usize,
    known: [u32; AT_ONCE * LONG_IDS],
    n_known: usize,
}

impl Default for WordBatch {
    fn default() -> Self {
        Self {
            level: level(),
            ends: [0; AT_ONCE],
            keys: [Key::NONE; AT_ONCE],
            places: [0; AT_ONCE],
            n: 0,
            at: 0,
            start: 0,
            known: [0; AT_ONCE * LONG_IDS],
            n_known: 0,
        }
    }
}

impl WordBatch {
    /// Begins with a text.
    pub(crate) fn begin(&mut self) {
        (self.n, self.at, self.start, self.n_known) = (0, 0, 0, 0);
    }

    /// Takes the next pretokens of a text; says whether there are any.
    pub(crate) fn fill(
        &mut self,
        text: &[u8],
        pieces: &mut impl Ends,
        caches: (&ShortWords, &LongWords),
    ) -> bool {
        let batch = self;
        run_at(
            batch.level,
            Fill {
                batch,
                text,
                pieces,
                caches,
            },
        )
    }

    #[inline(always)]
    fn fill_here(
        &mut self,
        text: &[u8],
        pieces: &mut impl Ends,
        (short, long): (&ShortWords, &LongWords),
    ) -> bool {
        self.n = pieces.ends(&mut self.ends);
        self.at = 0;
        let mut from = self.start;
        let (places, long_places) = (short.places(), long.places());
        let words = self.keys.iter_mut().zip(&mut self.places);
        for ((key, place), &end) in words.zip(&self.ends[..self.n]) {
            *key = Key::new(text, from, end).unwrap_or(Key::NONE);
            *place = if end - from <= Key::<1>::MAX_WORD_BYTES {
                places.fetch(*key)
            } else {
                let key = Key::<2>::new(text, from, end);
                LONG | key.map_or(0, |key| long_places.fetch(key))
            };
            from = end;
        }
        self.n > 0
    }

    /// Looks pretokens up until one is not known: where that begins and ends, or None at the end of the batch.
    pub(crate) fn next_unknown(
        &mut self,
        text: &[u8],
        caches: (&ShortWords, &LongWords),
    ) -> Option<(usize, usize)> {
        let batch = self;
        run_at(
            batch.level,
            NextUnknown {
                batch,
                text,
                caches,
            },
        )
    }

    #[inline(always)]
    fn next_unknown_here(
        &mut self,
        text: &[u8],
        (short, long): (&ShortWords, &LongWords),
    ) -> Option<(usize, usize)> {
        let mut n_known = 0;
        let mut found = None;
        let words = self.keys.iter().zip(&self.places).enumerate();
        let mut at = self.n;
        for (index, (&key, &place)) in words.take(self.n).skip(self.at) {
            if let Some((ids, n_ids)) = short.find(key, place) {
                if let Some(known) = self.known.get_mut(n_known..)
                    && let Some(known) = known.first_chunk_mut()
                {
                    *known = *ids;
                }
                n_known += n_ids;
                continue;
            }
            let before = index.checked_sub(1).map(|before| self.ends[before]);
            let (from, end) = (before.unwrap_or(self.start), self.ends[index]);
            if let Some((ids, n_ids)) = long_word(text, from, end, place, long)
                && let Some(known) = self.known.get_mut(n_known..)
                && let Some(known) = known.first_chunk_mut()
            {
                *known = *ids;
                n_known += n_ids;
                continue;
            }
            at = index + 1;
            found = Some((from, end));
            break;
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

/// The ids of a word that is long, or has more than a short one may have.
#[inline(always)]
fn long_word<'c>(
    text: &[u8],
    from: usize,
    end: usize,
    place: usize,
    long: &'c LongWords,
) -> Option<(&'c [u32; LONG_IDS], usize)> {
    let key = Key::<2>::new(text, from, end)?;
    let place = if place & LONG == 0 {
        long.places().fetch(key)
    } else {
        place & !LONG
    };
    long.find(key, place)
}

struct Fill<'b, 'p, E> {
    batch: &'b mut WordBatch,
    text: &'b [u8],
    pieces: &'p mut E,
    caches: (&'b ShortWords, &'b LongWords),
}

impl<E: Ends> Work for Fill<'_, '_, E> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.batch.fill_here(self.text, self.pieces, self.caches)
    }
}

struct NextUnknown<'b> {
    batch: &'b mut WordBatch,
    text: &'b [u8],
    caches: (&'b ShortWords, &'b LongWords),
}

impl Work for NextUnknown<'_> {
    type Output = Option<(usize, usize)>;

    #[inline(always)]
    fn run(self) -> Option<(usize, usize)> {
        self.batch.next_unknown_here(self.text, self.caches)
    }
}
