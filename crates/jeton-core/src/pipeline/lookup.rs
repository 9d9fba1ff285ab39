//! Pretokens by the batch: first many ends, then all keys, then all lookups.
//!
//! Each step is a short loop whose turns do not wait for one another. Cutting and looking up one
//! pretoken after the other would wait for memory each time. While keys are made, the cache sets
//! where the pretokens would be are on their way already.

mod long;

use std::hint::select_unpredictable;

use crate::cache::key::{Hashed, Key, Role};
use crate::cache::key_simd::{EIGHT, KeyBatch};
use crate::cache::tiers::{FEW_IDS, MANY_IDS, PretokenCache};
use crate::cache::two_way::Payload;
use crate::cpu::dispatch::{Kernel, Work, run_at, run_wide};
use crate::pretokenize::TextPieces;
use crate::vocab::Search;

/// Most pretokens of a batch. It has at least 128 while the text has them, plus the pretokens of
/// another block of 64 bytes. So the ends of a block are always taken together.
pub(crate) const BATCH_PRETOKENS: usize = 192;

/// Room for the ids of a batch: a hundred phrases or so, or pretokens with many ids only.
const ROOM: usize = BATCH_PRETOKENS * MANY_IDS + MANY_IDS + 1;

/// A batch asks for the sets of `many_ids` ahead once one pretoken in this many was there before.
const MANY_IDS_SHARE: usize = 8;

/// A batch looks at both tiers for each pretoken once one in this many had many ids: a guess would
/// miss too often.
const MIXED_SHARE: usize = 6;

/// Pieces that follow one another, by where they end.
pub(crate) trait Ends {
    /// Writes the next ends into `ends` and returns their number: 0 when all were given.
    fn ends(&mut self, ends: &mut [usize]) -> usize;
}

impl Ends for TextPieces<'_, '_> {
    #[inline(always)]
    fn ends(&mut self, ends: &mut [usize]) -> usize {
        TextPieces::ends(self, ends)
    }
}

/// A batch of pretokens, and the ids of the known ones. A batch lent to one call after the other
/// needs no clearing in between.
///
/// Arrays come first, and begin with cache lines: no vector is in two of them.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct BatchLookup {
    ends: [usize; BATCH_PRETOKENS],
    /// The key of each short pretoken, and the number that tells its place in a cache. Long ones
    /// share one place and one key, which no cache has. The lookup sees that a pretoken is long
    /// only after a look at its place, and would wait for memory there in vain.
    keys: [Key<1>; BATCH_PRETOKENS],
    places: [usize; BATCH_PRETOKENS],
    /// Indices of the long pretokens; `long_places` holds their places or hashes by the index of
    /// the pretoken.
    long: [usize; BATCH_PRETOKENS + EIGHT],
    long_places: [usize; BATCH_PRETOKENS],
    n: usize,
    /// Pretokens that have been looked up.
    at: usize,
    /// Where the next one begins.
    start: usize,
    known: [u32; ROOM],
    n_known: usize,
    kernel: Kernel,
    /// Search of the last pretoken that [`Self::look_up_slow`] looked for, see [`Miss`].
    is_new: bool,
    search: Search,
    /// Short pretokens with few ids that were not in their own set, in this text so far.
    n_detours: usize,
    /// Short pretokens of this batch that `few_ids` did not have.
    n_many_ids: usize,
    /// True if the last batch had many of them, see [`MANY_IDS_SHARE`].
    has_many_ids: bool,
    is_mixed: bool,
}

/// A pretoken that was not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Key of a short pretoken, if it was made.
    pub(crate) key: Key<1>,
    /// True if it is in no cache for certain: it may be too long to be looked for by the batch, or
    /// there was no room for its ids.
    pub(crate) is_new: bool,
    /// The model's search for it as a whole.
    pub(crate) search: Search,
}

impl Miss {
    /// One of which nothing else is known.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            key: Key::NONE,
            is_new: false,
            search: Search::NotBegun,
        }
    }
}

impl Default for BatchLookup {
    fn default() -> Self {
        Self {
            kernel: Kernel::fastest(),
            ends: [0; BATCH_PRETOKENS],
            keys: [Key::NONE; BATCH_PRETOKENS],
            places: [0; BATCH_PRETOKENS],
            long: [0; BATCH_PRETOKENS + EIGHT],
            long_places: [0; BATCH_PRETOKENS],
            n: 0,
            at: 0,
            start: 0,
            known: [0; ROOM],
            n_known: 0,
            is_new: false,
            search: Search::NotBegun,
            n_detours: 0,
            n_many_ids: 0,
            has_many_ids: false,
            is_mixed: false,
        }
    }
}

impl BatchLookup {
    /// Begins with a text.
    pub(crate) fn begin(&mut self) {
        (self.at, self.start, self.n_known, self.n_detours) = (0, 0, 0, 0);
    }

    /// Returns the number of short pretokens with few ids that were not in their own set.
    pub(crate) fn n_detours(&self) -> usize {
        self.n_detours
    }

    /// True if all pretokens of a text have been looked up.
    #[inline]
    pub(crate) fn is_at_end(&self, text: &[u8]) -> bool {
        self.start == text.len()
    }

    /// Takes the next pretokens of a text; says whether there are any.
    pub(crate) fn fill(
        &mut self,
        text: &[u8],
        pieces: &mut impl Ends,
        caches: &PretokenCache,
    ) -> bool {
        let batch = self;
        let n = run_wide(
            batch.kernel,
            Cut {
                ends: &mut batch.ends,
                pieces,
            },
        );
        // The counts of the last batch predict this one. Where a text begins, the last batch
        // belongs to another text.
        if batch.n > 0 {
            batch.has_many_ids = batch.n_many_ids * MANY_IDS_SHARE > batch.n;
            batch.is_mixed = batch.n_many_ids * MIXED_SHARE > batch.n;
        }
        (batch.n, batch.at, batch.n_many_ids) = (n.min(BATCH_PRETOKENS), 0, 0);
        let n_long = if batch.has_many_ids {
            run_wide(batch.kernel, Keys::<true>(batch, text, caches))
        } else {
            run_wide(batch.kernel, Keys::<false>(batch, text, caches))
        };
        if n_long > 0 {
            batch.fill_long(text, n_long, caches);
        }
        batch.n > 0
    }

    // `MANY`: pretokens with more ids are asked for, too, before it is known which these are.
    //
    // Loops over indices of arrays, not over zipped iterators. All arrays are in one place of
    // memory, and a turn's values fit the registers. They would not fit beside the loop that cuts.
    #[inline(always)]
    fn make_keys<const MANY: bool>(&mut self, text: &[u8], caches: &PretokenCache) -> usize {
        let (places, many) = (caches.few_ids.places(), caches.many_ids.places());
        let (made, mut n_long) = self.make_eights::<MANY>(text, caches);
        let mut from = self.end_before(made);
        for index in made..self.n.min(BATCH_PRETOKENS) {
            let end = self.ends[index];
            if let Some(short) = Key::new(text, from, end) {
                let place = places.fetch(short);
                if MANY {
                    many.fetch_at(place);
                }
                self.keys[index] = short;
                self.places[index] = place;
            } else {
                (self.keys[index], self.places[index]) = (Key::NONE, Key::<1>::NONE.hash());
                self.long[n_long % BATCH_PRETOKENS] = index;
                n_long += 1;
            }
            from = end;
        }
        n_long
    }

    /// Makes keys eight at a time by vectors. Returns the number of keys, and how many are long.
    #[inline(always)]
    fn make_eights<const MANY: bool>(
        &mut self,
        text: &[u8],
        caches: &PretokenCache,
    ) -> (usize, usize) {
        let (mut made, mut n_long) = (0, 0);
        let (short, many) = (caches.few_ids.places(), caches.many_ids.places());
        let mut from = self.start;
        let (ends, _) = self.ends[..self.n.min(BATCH_PRETOKENS)].as_chunks();
        let (keys, _) = self.keys.as_chunks_mut();
        let (places, _) = self.places.as_chunks_mut();
        for ((ends, keys), places) in ends.iter().zip(keys).zip(places) {
            let Some(long) = self.long[n_long..].first_chunk_mut() else {
                break;
            };
            let mut eight = KeyBatch { keys, places, long };
            let Some((more_long, hashes)) =
                self.kernel
                    .keys_of_eight(text, from, ends, made, Role::Pretoken, &mut eight)
            else {
                break;
            };
            for place in hashes {
                short.fetch_at(place);
                if MANY {
                    many.fetch_at(place);
                }
            }
            from = ends[EIGHT - 1];
            (made, n_long) = (made + EIGHT, n_long + more_long);
        }
        (made, n_long)
    }

    /// Where a pretoken of the batch begins.
    #[inline]
    fn end_before(&self, index: usize) -> usize {
        let before = index.checked_sub(1).map(|before| self.ends[before]);
        before.unwrap_or(self.start)
    }

    /// Looks pretokens up until one is not known ([`Self::unknown`] tells of it); says whether
    /// there is one left in the batch. `search` prefetches the memory that the model will look at.
    pub(crate) fn next_unknown(
        &mut self,
        text: &[u8],
        caches: &PretokenCache,
        search: impl Fn(&[u8]) -> Search,
    ) -> bool {
        let batch = self;
        run_at(
            batch.kernel,
            NextUnknown {
                batch,
                text,
                caches,
                search,
            },
        )
    }

    // `MIXED`: both caches are looked at for each pretoken.
    #[inline(always)]
    fn next_unknown_here<const MIXED: bool>(
        &mut self,
        text: &[u8],
        caches: &PretokenCache,
        search: &impl Fn(&[u8]) -> Search,
    ) -> bool {
        let (short, many) = (caches.few_ids.places(), caches.many_ids.places());
        let n = self.n.min(BATCH_PRETOKENS);
        let (mut n_known, mut n_many_ids) = (0, 0);
        let mut index = self.at;
        while index < n {
            if MIXED {
                // Without a branch on where it was.
                let (key, place) = (self.keys[index], self.places[index]);
                if let Some(few) = short.entry_fast(key, place)
                    && let Some(many) = many.entry_fast(key, place)
                    && let Some(room) = self.known.get_mut(n_known..)
                    && let Some(room) = room.first_chunk_mut::<{ MANY_IDS + 1 }>()
                {
                    // Not "either is equal", of which two branches would be made.
                    let differs = [few.key.differs(key), many.key.differs(key)];
                    if differs[0].min(differs[1]) == 0 {
                        let is_few = differs[0] == 0;
                        *room = many.payload;
                        let n_many = &many.payload[MANY_IDS];
                        let n_ids = select_unpredictable(is_few, &few.payload[FEW_IDS], n_many);
                        if let (Some(first), Some(room)) =
                            (many.payload.first_chunk(), room.first_chunk_mut())
                        {
                            *room = *select_unpredictable(is_few, &few.payload, first);
                        }
                        n_known += *n_ids as usize;
                        n_many_ids += usize::from(!is_few);
                        index += 1;
                        continue;
                    }
                }
            } else if let Some(payload) = short.find_fast(self.keys[index], self.places[index])
                && let Some(room) = self.known.get_mut(n_known..)
                && let Some(room) = room.first_chunk_mut::<{ FEW_IDS + 1 }>()
            {
                // As many numbers as there are: which of them count does not matter for the copy.
                room.copy_from_slice(payload);
                n_known += payload[FEW_IDS] as usize;
                index += 1;
                continue;
            }
            let more = if self.keys[index] == Key::NONE {
                self.known_long(index, n_known, text, caches)
            } else {
                self.look_up_slow(index, n_known, text, caches, search)
            };
            let Some(more) = more else {
                self.n_many_ids += n_many_ids;
                (self.at, self.n_known) = (index + 1, n_known);
                return true;
            };
            n_known += more;
            index += 1;
        }
        self.n_many_ids += n_many_ids;
        (self.at, self.n_known) = (n, n_known);
        if let Some(last) = n.checked_sub(1) {
            self.start = self.ends[last];
        }
        false
    }

    /// The one that was not known.
    #[inline]
    pub(crate) fn unknown(&self) -> Miss {
        let index = self.at.saturating_sub(1);
        Miss {
            start: self.end_before(index),
            end: self.ends[index],
            key: self.keys[index],
            is_new: self.is_new,
            search: self.search,
        }
    }

    /// Looks for a short pretoken where most are not, appends its ids to the known ones and returns
    /// their number.
    #[inline(never)]
    fn look_up_slow(
        &mut self,
        index: usize,
        n_known: usize,
        text: &[u8],
        caches: &PretokenCache,
        search: &impl Fn(&[u8]) -> Search,
    ) -> Option<usize> {
        let (key, place) = (self.keys[index], self.places[index]);
        let (begin, end) = (self.end_before(index), self.ends[index]);
        (self.is_new, self.search) = (false, Search::NotBegun);
        let (short, many) = (caches.few_ids.places(), caches.many_ids.places());
        let found = short.find(key, place);
        if found.is_none() {
            // Where many have many ids, their set was asked for with the pretoken's own.
            if self.has_many_ids
                && let Some(payload) = many.find(key, place)
            {
                return self.take_rich(n_known, payload);
            }
            // All that it may take until the pretoken is known, at once: else one would wait for
            // the other.
            short.fetch_beside(place);
            many.fetch_at(place);
            self.search = search(&text[begin..end]);
        }
        if let Some(payload) = found.or_else(|| short.find_beside(key, place)) {
            self.n_detours += usize::from(found.is_none());
            *self.known.get_mut(n_known..)?.first_chunk_mut()? = *payload;
            return Some(payload[FEW_IDS] as usize);
        }
        let found = many.find(key, place);
        let found = found.or_else(|| many.find_beside(key, place));
        let Some(payload) = found else {
            self.n_many_ids += 1;
            self.is_new = !caches.are_crowded();
            return None;
        };
        self.take_rich(n_known, payload)
    }

    /// Appends the ids of a pretoken with many to the known ones, and returns their number.
    #[inline(always)]
    fn take_rich(&mut self, n_known: usize, payload: &Payload<{ MANY_IDS + 1 }>) -> Option<usize> {
        let n_ids = payload[MANY_IDS] as usize;
        self.n_many_ids += 1;
        self.n_detours += usize::from(n_ids <= FEW_IDS);
        *self.known.get_mut(n_known..)?.first_chunk_mut()? = *payload;
        Some(n_ids)
    }

    /// The ids of the pretokens that were known before the one that was not.
    #[inline]
    pub(crate) fn known(&self) -> &[u32] {
        &self.known[..self.n_known]
    }
}

struct Cut<'b, E> {
    ends: &'b mut [usize; BATCH_PRETOKENS],
    pieces: &'b mut E,
}

impl<E: Ends> Work for Cut<'_, E> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        self.pieces.ends(self.ends)
    }
}

struct Keys<'b, const MANY: bool>(&'b mut BatchLookup, &'b [u8], &'b PretokenCache);

impl<const MANY: bool> Work for Keys<'_, MANY> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self(batch, text, caches) = self;
        batch.make_keys::<MANY>(text, caches)
    }
}

struct NextUnknown<'b, E> {
    batch: &'b mut BatchLookup,
    text: &'b [u8],
    caches: &'b PretokenCache,
    search: E,
}

impl<E: Fn(&[u8]) -> Search> Work for NextUnknown<'_, E> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        if self.batch.is_mixed {
            self.batch
                .next_unknown_here::<true>(self.text, self.caches, &self.search)
        } else {
            self.batch
                .next_unknown_here::<false>(self.text, self.caches, &self.search)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::records::MAX_RECORD_BYTES;
    use proptest::prelude::*;

    /// Ends that are given, some at a time.
    struct Given<'a>(&'a [usize]);

    impl Ends for Given<'_> {
        fn ends(&mut self, ends: &mut [usize]) -> usize {
            let n = self.0.len().min(ends.len()).min(150);
            let (now, later) = self.0.split_at(n);
            ends[..n].copy_from_slice(now);
            self.0 = later;
            n
        }
    }

    /// A pretoken for each number, of 1 to 40 bytes or a phrase, and ids that tell which pretoken
    /// they are of. `many`: one for each byte.
    fn pretoken(number: u32, many: bool) -> (Vec<u8>, Vec<u32>) {
        let len = match number % 20 {
            0 => 40 + number as usize * 3 % (MAX_RECORD_BYTES - 40),
            _ => 4 + number as usize * 7 % 36,
        };
        let bytes = number.to_le_bytes().into_iter().cycle().take(len);
        let n_ids = if many { len } else { 1 + len / 6 };
        let ids = (0..n_ids as u32)
            .map(|n| number.wrapping_mul(31) ^ n)
            .collect();
        (bytes.collect(), ids)
    }

    proptest! {
        /// For any pretokens kept before, with few or many ids.
        #[test]
        fn what_is_known_is_what_was_kept(
            numbers in prop::collection::vec((0u32..300, prop::bool::weighted(0.9)), 1..800),
            changes in 1usize..500,
            rounds in 1usize..4,
        ) {
            let mut caches = PretokenCache::default();
            let mut batch = Box::<BatchLookup>::default();
            // Pretokens with many ids have numbers of their own.
            let many = |at: usize| at / changes % 2 == 1;
            let pretokens: Vec<_> = numbers
                .iter()
                .enumerate()
                .map(|(at, &(number, kept))| {
                    let many = many(at);
                    (pretoken(number + u32::from(many) * 1000, many), kept)
                })
                .collect();
            let text: Vec<u8> = pretokens.iter().flat_map(|((bytes, _), _)| bytes).copied().collect();
            let expected: Vec<u32> = pretokens.iter().flat_map(|((_, ids), _)| ids).copied().collect();
            let mut end = 0;
            let ends: Vec<usize> = pretokens
                .iter()
                .map(|((bytes, _), _)| {
                    end += bytes.len();
                    end
                })
                .collect();
            for _ in 0..rounds {
                let (mut pieces, mut ids, mut n_unknown) = (Given(&ends), Vec::new(), 0);
                batch.begin();
                while !batch.is_at_end(&text) && batch.fill(&text, &mut pieces, &caches) {
                    let begun = |_: &[u8]| Search::NotBegun;
                    while batch.next_unknown(&text, &caches, begun) {
                        let Miss { start, end, is_new, .. } = batch.unknown();
                        ids.extend_from_slice(batch.known());
                        let at = ends.binary_search(&end).unwrap();
                        let ((bytes, of_word), kept) = &pretokens[at];
                        prop_assert_eq!(&text[start..end], &bytes[..]);
                        n_unknown += 1;
                        if let Some(known) = caches.get(Role::Pretoken, &text, start, end) {
                            prop_assert!(!is_new);
                            prop_assert_eq!(known, &of_word[..]);
                        } else if *kept {
                            let any_many = pretokens.len() > changes;
                            prop_assert!(is_new || any_many || bytes.len() > MAX_RECORD_BYTES);
                            caches.keep(Role::Pretoken, bytes, of_word);
                            if caches.get(Role::Pretoken, &text, start, end).is_none() {
                                // Phrases are kept when they come again.
                                let is_short = bytes.len() <= Key::<1>::MAX_PRETOKEN_BYTES;
                                prop_assert!(!is_short || of_word.len() > MANY_IDS);
                                caches.keep(Role::Pretoken, bytes, of_word);
                            }
                            let known = caches.get(Role::Pretoken, &text, start, end);
                            prop_assert_eq!(known, Some(&of_word[..]));
                        }
                        prop_assert_eq!(caches.get(Role::Unit, &text, start, end), None);
                        ids.extend_from_slice(of_word);
                    }
                    ids.extend_from_slice(batch.known());
                }
                prop_assert_eq!(&ids, &expected);
                prop_assert!(n_unknown <= pretokens.len());
            }
        }
    }
}
