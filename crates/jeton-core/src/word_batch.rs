//! Pretokens by the batch: where many of them end, then all their keys, then what they are.
//!
//! Each step is a short loop whose turns do not wait for one another, whereas a pretoken that is cut and looked
//! up before the next one is cut waits for memory each time: while keys are made, the sets of the cache where the words
//! would be are on their way already.

use crate::phrases::{MAX_PHRASE, Phrases, hash};
use crate::pretokenize::TextPieces;
use crate::simd::{Level, Work, level, run_at};
use crate::word_cache::{Key, RichWords, Role, ShortWords};

/// Pretokens of a batch.
pub(crate) const AT_ONCE: usize = 128;

/// Ids of an entry for a short word, and for one that has more.
pub(crate) const SHORT_IDS: usize = 3;
pub(crate) const RICH_IDS: usize = 11;
/// Room for the ids of a batch: those of a hundred phrases or so, or of rich words only.
const ROOM: usize = AT_ONCE * RICH_IDS + SHORT_IDS;

/// What knows words.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    pub(crate) short: ShortWords,
    pub(crate) rich: RichWords,
    pub(crate) phrases: Phrases,
}

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
    /// The key of each that is short, and what tells its place in a cache: for long ones their hash.
    keys: [Key<1>; AT_ONCE],
    places: [usize; AT_ONCE],
    n: usize,
    /// Pretokens that have been looked up.
    at: usize,
    /// Where the next one begins.
    start: usize,
    known: [u32; ROOM],
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
            known: [0; ROOM],
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
    pub(crate) fn fill(&mut self, text: &[u8], pieces: &mut impl Ends, caches: &Caches) -> bool {
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
    fn fill_here(&mut self, text: &[u8], pieces: &mut impl Ends, caches: &Caches) -> bool {
        self.n = pieces.ends(&mut self.ends);
        self.at = 0;
        let mut from = self.start;
        let places = caches.short.places();
        let mut long = [0; AT_ONCE];
        let mut n_long = 0;
        let words = self.keys.iter_mut().zip(&mut self.places);
        for (index, ((key, place), &end)) in words.zip(&self.ends[..self.n]).enumerate() {
            if let Some(short) = Key::new(text, from, end) {
                *key = short;
                *place = places.fetch(short);
            } else {
                *key = Key::NONE;
                if end - from <= MAX_PHRASE {
                    let hash = hash(&text[from..end]);
                    caches.phrases.fetch(hash);
                    *place = hash as usize;
                    long[n_long] = index;
                    n_long += 1;
                }
            }
            from = end;
        }
        // By now the slots have arrived that say where the records are.
        for &index in &long[..n_long] {
            caches.phrases.fetch_record(self.places[index] as u32);
        }
        self.n > 0
    }

    /// Looks pretokens up until one is not known: where that begins and ends, or None at the end of the batch.
    pub(crate) fn next_unknown(&mut self, text: &[u8], caches: &Caches) -> Option<(usize, usize)> {
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
    fn next_unknown_here(&mut self, text: &[u8], caches: &Caches) -> Option<(usize, usize)> {
        let mut n_known = 0;
        let mut found = None;
        let words = self.keys.iter().zip(&self.places).enumerate();
        let mut at = self.n;
        for (index, (&key, &place)) in words.take(self.n).skip(self.at) {
            if let Some((ids, n_ids)) = caches.short.find(key, place)
                && let Some(known) = self.known.get_mut(n_known..)
                && let Some(known) = known.first_chunk_mut()
            {
                *known = *ids;
                n_known += n_ids;
                continue;
            }
            if let Some((ids, n_ids)) = caches.rich.find(key, place)
                && let Some(known) = self.known.get_mut(n_known..)
                && let Some(known) = known.first_chunk_mut()
            {
                *known = *ids;
                n_known += n_ids;
                continue;
            }
            let before = index.checked_sub(1).map(|before| self.ends[before]);
            let (from, end) = (before.unwrap_or(self.start), self.ends[index]);
            if key == Key::NONE
                && let Some(ids) =
                    caches
                        .phrases
                        .find(&text[from..end], place as u32, Role::Pretoken)
                && let Some(known) = self.known.get_mut(n_known..)
                && let Some(known) = known.get_mut(..ids.len())
            {
                known.copy_from_slice(ids);
                n_known += ids.len();
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

struct Fill<'b, 'p, E> {
    batch: &'b mut WordBatch,
    text: &'b [u8],
    pieces: &'p mut E,
    caches: &'b Caches,
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
    caches: &'b Caches,
}

impl Work for NextUnknown<'_> {
    type Output = Option<(usize, usize)>;

    #[inline(always)]
    fn run(self) -> Option<(usize, usize)> {
        self.batch.next_unknown_here(self.text, self.caches)
    }
}
