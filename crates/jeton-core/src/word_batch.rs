//! Pretokens by the batch: where many of them end, then all their keys, then what they are.
//!
//! Each step is a short loop whose turns do not wait for one another, whereas a pretoken that is cut and looked
//! up before the next one is cut waits for memory each time: while keys are made, the sets of the cache where the words
//! would be are on their way already.

use crate::phrases::{MAX_PHRASE, Phrases, hash};
use crate::pretokenize::TextPieces;
use crate::simd::{Kernel, Work, run_at, run_wide};
use crate::word_cache::{Key, RichWords, Role, ShortWords};

/// Most pretokens of a batch: at least 128 as long as there are so many, and those of another block of 64 bytes, so that
/// the ends of a block are always taken together.
pub(crate) const AT_ONCE: usize = 192;

/// Ids of an entry for a short word, and for one that has more.
pub(crate) const SHORT_IDS: usize = ShortWords::MAX_IDS;
pub(crate) const RICH_IDS: usize = RichWords::MAX_IDS;
/// Room for the ids of a batch: those of a hundred phrases or so, or of rich words only.
const ROOM: usize = AT_ONCE * RICH_IDS + RICH_IDS + 1;

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
    kernel: Kernel,
    ends: [usize; AT_ONCE],
    /// The key of each that is short, and what tells its place in a cache: for long ones their hash.
    keys: [Key<1>; AT_ONCE],
    places: [usize; AT_ONCE],
    /// Which are long.
    long: [usize; AT_ONCE],
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
            kernel: Kernel::fastest(),
            ends: [0; AT_ONCE],
            keys: [Key::NONE; AT_ONCE],
            places: [0; AT_ONCE],
            long: [0; AT_ONCE],
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

    /// Whether all pretokens of a text have been looked up.
    #[inline]
    pub(crate) fn is_at_end(&self, text: &[u8]) -> bool {
        self.start == text.len()
    }

    /// Takes the next pretokens of a text; says whether there are any.
    pub(crate) fn fill(&mut self, text: &[u8], pieces: &mut impl Ends, caches: &Caches) -> bool {
        let batch = self;
        let n = run_wide(
            batch.kernel,
            Cut {
                ends: &mut batch.ends,
                pieces,
            },
        );
        (batch.n, batch.at) = (n.min(AT_ONCE), 0);
        let n_long = run_at(
            batch.kernel,
            Keys {
                batch,
                text,
                caches,
            },
        );
        if n_long > 0 {
            batch.fill_long(text, n_long, &caches.phrases);
        }
        batch.n > 0
    }

    // Loops over indices of arrays, not over zipped iterators: all arrays are in one place of memory, and what a turn needs
    // fits the registers, as it would not beside the loop that cuts.
    #[inline(always)]
    fn make_keys(&mut self, text: &[u8], caches: &Caches) -> usize {
        let places = caches.short.places();
        let mut from = self.start;
        let mut n_long = 0;
        for index in 0..self.n.min(AT_ONCE) {
            let end = self.ends[index];
            if let Some(short) = Key::new(text, from, end) {
                self.keys[index] = short;
                self.places[index] = places.fetch(short);
            } else {
                self.keys[index] = Key::NONE;
                self.long[n_long % AT_ONCE] = index;
                n_long += 1;
            }
            from = end;
        }
        n_long
    }

    /// Hashes of longer pretokens, and their records on their way.
    #[inline(never)]
    fn fill_long(&mut self, text: &[u8], n_long: usize, phrases: &Phrases) {
        for long in 0..n_long {
            let index = self.long[long];
            let pretoken = &text[self.begin_of(index)..self.ends[index]];
            if pretoken.len() <= MAX_PHRASE {
                let hash = hash(pretoken);
                phrases.fetch(hash);
                self.places[index] = hash as usize;
            }
        }
        // By now the slots have arrived that say where the records are.
        for &index in &self.long[..n_long] {
            phrases.fetch_record(self.places[index] as u32);
        }
    }

    /// Where a pretoken of the batch begins.
    #[inline]
    fn begin_of(&self, index: usize) -> usize {
        let before = index.checked_sub(1).map(|before| self.ends[before]);
        before.unwrap_or(self.start)
    }

    /// Looks pretokens up until one is not known: where that begins and ends, or None at the end of the batch.
    pub(crate) fn next_unknown(&mut self, text: &[u8], caches: &Caches) -> Option<(usize, usize)> {
        let batch = self;
        run_at(
            batch.kernel,
            NextUnknown {
                batch,
                text,
                caches,
            },
        )
    }

    #[inline(always)]
    fn next_unknown_here(&mut self, text: &[u8], caches: &Caches) -> Option<(usize, usize)> {
        let short = caches.short.places();
        let n = self.n.min(AT_ONCE);
        let mut n_known = 0;
        let mut index = self.at;
        while index < n {
            if let Some(payload) = short.find(self.keys[index], self.places[index])
                && let Some(room) = self.known.get_mut(n_known..)
                && let Some(room) = room.first_chunk_mut()
            {
                // As many numbers as there are: which of them count does not matter for the copy.
                *room = *payload;
                n_known += payload[SHORT_IDS] as usize;
                index += 1;
                continue;
            }
            let Some(more) = self.rare(index, n_known, text, caches) else {
                (self.at, self.n_known) = (index + 1, n_known);
                return Some((self.begin_of(index), self.ends[index]));
            };
            n_known += more;
            index += 1;
        }
        (self.at, self.n_known) = (n, n_known);
        if let Some(last) = n.checked_sub(1) {
            self.start = self.ends[last];
        }
        None
    }

    /// Looks for a pretoken where most are not, and puts its ids behind those that are known so far; how many they are.
    #[inline(never)]
    fn rare(
        &mut self,
        index: usize,
        n_known: usize,
        text: &[u8],
        caches: &Caches,
    ) -> Option<usize> {
        let (key, place) = (self.keys[index], self.places[index]);
        let room = self.known.get_mut(n_known..)?;
        if key == Key::NONE {
            let pretoken = &text[self.begin_of(index)..self.ends[index]];
            let ids = caches
                .phrases
                .find(pretoken, place as u32, Role::Pretoken)?;
            self.known
                .get_mut(n_known..)?
                .get_mut(..ids.len())?
                .copy_from_slice(ids);
            return Some(ids.len());
        }
        if let Some(payload) = caches.short.places().find_beside(key, place) {
            *room.first_chunk_mut()? = *payload;
            return Some(payload[SHORT_IDS] as usize);
        }
        let rich = caches.rich.places();
        let payload = rich
            .find(key, place)
            .or_else(|| rich.find_beside(key, place))?;
        *room.first_chunk_mut()? = *payload;
        Some(payload[RICH_IDS] as usize)
    }

    /// The ids of the pretokens that were known before the one that was not.
    #[inline]
    pub(crate) fn known(&self) -> &[u32] {
        &self.known[..self.n_known]
    }
}

struct Cut<'b, E> {
    ends: &'b mut [usize; AT_ONCE],
    pieces: &'b mut E,
}

impl<E: Ends> Work for Cut<'_, E> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        self.pieces.ends(self.ends)
    }
}

struct Keys<'b> {
    batch: &'b mut WordBatch,
    text: &'b [u8],
    caches: &'b Caches,
}

impl Work for Keys<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        self.batch.make_keys(self.text, self.caches)
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
