//! Pretokens of any length and their counts, within a limit on memory.
//!
//! Three tables by length: most pretokens have at most 15 bytes, nearly all at most 31. A pretoken
//! that would make the table larger than its limit is not taken; the table then has to be emptied.

use std::cmp::Ordering;

use jeton_core::cache::key::Key;
use jeton_core::error::{Error, ErrorKind, Result};

use super::long::LongWords;
use super::splitting::Looked;
use super::words::{Added, Words};

pub(super) type ShortWords = Words<1, 16>;
pub(super) type MediumWords = Words<2, 32>;

/// Usable share of a table's limit: the allocator and sorting need memory on top.
const USED_PERCENT: usize = 95;

/// Bytes that one pretoken's entry in the list takes that long ones are sorted in.
const SORTED_BYTES: usize = size_of::<(&[u8], u64)>();

/// Counts of one thread, or of all.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) short: ShortWords,
    pub(super) medium: MediumWords,
    long: LongWords,
    n_distinct_bytes: usize,
    limit: usize,
    /// Changes whenever pretokens move.
    pub(super) generation: u32,
}

impl Default for Table {
    fn default() -> Self {
        Self::with_limit(usize::MAX)
    }
}

impl Table {
    /// An empty table that takes at most `limit` bytes, or what one pretoken needs.
    pub(super) fn with_limit(limit: usize) -> Self {
        Self {
            short: Words::default(),
            medium: Words::default(),
            long: LongWords::default(),
            n_distinct_bytes: 0,
            limit,
            generation: 0,
        }
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.short.memory_bytes() + self.medium.memory_bytes() + self.long.memory_bytes()
    }

    /// True if it takes more than it may.
    pub(super) fn is_above_limit(&self) -> bool {
        self.memory_bytes() > self.limit
    }

    pub(super) fn len(&self) -> usize {
        self.short.len() + self.medium.len() + self.long.len()
    }

    pub(super) fn n_distinct_bytes(&self) -> usize {
        self.n_distinct_bytes
    }

    /// Adds to the count of `text[start..end]`, modulo 2^64. False: there is no room, and nothing
    /// was changed.
    pub(super) fn add(
        &mut self,
        text: &[u8],
        start: usize,
        end: usize,
        count: u64,
    ) -> Result<bool> {
        let len = end - start;
        let added = if len <= ShortWords::MAX_BYTES
            && let Some(key) = Key::<1>::new(text, start, end)
        {
            self.add_short(key, count)
        } else if len <= MediumWords::MAX_BYTES
            && let Some(key) = Key::<2>::new(text, start, end)
        {
            self.add_medium(key, count)
        } else {
            self.add_long(&text[start..end], count)?
        };
        Ok(self.note(added, len))
    }

    /// Notes the result of adding a pretoken of `len` bytes; false if there was no room.
    #[inline(always)]
    pub(super) fn note(&mut self, added: Added, len: usize) -> bool {
        if added == Added::New {
            self.n_distinct_bytes += len;
        }
        added != Added::NoRoom
    }

    /// Adds to the counts of a text's words, given by their starts and ends: at most one batch of
    /// [`Looked`]. `full` makes room.
    #[inline(always)]
    pub(super) fn add_words(
        &mut self,
        text: &[u8],
        (starts, ends): (&[usize], &[usize]),
        count: u64,
        looked: &mut Looked,
        full: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let words = || starts.iter().zip(ends);
        for ((key, place), (&start, &end)) in looked.iter_mut().zip(words()) {
            if end - start <= ShortWords::MAX_BYTES {
                *key = Key::new(text, start, end).unwrap_or(Key::NONE);
                *place = self.short.place(*key);
                self.short.fetch(*place);
            } else if end - start <= MediumWords::MAX_BYTES
                && let Some(key) = Key::<2>::new(text, start, end)
            {
                *place = self.medium.place(key);
                self.medium.fetch(*place);
            }
        }
        let generation = self.generation;
        for (&(key, place), (&start, &end)) in looked.iter().zip(words()) {
            let len = end - start;
            let added = if self.generation != generation {
                Added::NoRoom
            } else if len <= ShortWords::MAX_BYTES {
                self.short.add(key, place, count)
            } else if len <= MediumWords::MAX_BYTES
                && let Some(key) = Key::<2>::new(text, start, end)
            {
                self.medium.add(key, place, count)
            } else {
                Added::NoRoom
            };
            match added {
                Added::Known | Added::New => {
                    self.note(added, len);
                }
                Added::NoRoom | Added::Crowded => {
                    self.add_whatever(text, start, end, count, full)?;
                }
            }
        }
        Ok(())
    }

    /// Adds to the count of one; `full` makes room.
    #[inline(never)]
    pub(super) fn add_whatever(
        &mut self,
        text: &[u8],
        start: usize,
        end: usize,
        count: u64,
        full: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        while !self.add(text, start, end, count)? {
            full(self)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn add_short(&mut self, key: Key<1>, count: u64) -> Added {
        loop {
            if self.short.n_places() > 0 {
                match self.short.add(key, self.short.place(key), count) {
                    Added::Crowded => {
                        self.short.reseed();
                        self.generation = self.generation.wrapping_add(1);
                    }
                    Added::NoRoom => {}
                    added => return added,
                }
            }
            let now = self.short.n_places();
            let more = self.places(now, self.short.next_places(), ShortWords::PLACE_BYTES);
            if more <= now {
                return Added::NoRoom;
            }
            self.short.resize(more);
            self.generation = self.generation.wrapping_add(1);
        }
    }

    #[inline(never)]
    fn add_medium(&mut self, key: Key<2>, count: u64) -> Added {
        loop {
            if self.medium.n_places() > 0 {
                match self.medium.add(key, self.medium.place(key), count) {
                    Added::Crowded => {
                        self.medium.reseed();
                        self.generation = self.generation.wrapping_add(1);
                    }
                    Added::NoRoom => {}
                    added => return added,
                }
            }
            let now = self.medium.n_places();
            let more = self.places(now, self.medium.next_places(), MediumWords::PLACE_BYTES);
            if more <= now {
                return Added::NoRoom;
            }
            self.medium.resize(more);
            self.generation = self.generation.wrapping_add(1);
        }
    }

    fn add_long(&mut self, pretoken: &[u8], count: u64) -> Result<Added> {
        if u32::try_from(pretoken.len()).is_err() {
            return Err(ErrorKind::TooLarge {
                what: "the length of a pretoken in bytes",
                limit: u64::from(u32::MAX),
            }
            .into());
        }
        // A single pretoken is let in whatever it takes.
        let is_empty = self.len() == 0;
        let others = self.short.memory_bytes() + self.medium.memory_bytes();
        let allowed = self.allowed();
        Ok(self.long.add(pretoken, count, |long| {
            let sorted = (long.len() + 1) * SORTED_BYTES;
            is_empty || others + long.growing_bytes(pretoken.len()) + sorted <= allowed
        }))
    }

    fn allowed(&self) -> usize {
        self.limit / 100 * USED_PERCENT
    }

    /// How many places a table may have that has `now` and would have `next`, both there while
    /// pretokens move.
    fn places(&self, now: usize, next: usize, place_bytes: usize) -> usize {
        let sorted = self.long.len() * SORTED_BYTES;
        let left = self.allowed().saturating_sub(self.memory_bytes() + sorted) / place_bytes;
        // So little more would be full again at once. A table that has none gets some, whatever the
        // limit.
        match left.min(next) {
            _ if now == 0 => next,
            few if few < now + now / 4 => now,
            places => places,
        }
    }

    /// Count of a pretoken.
    pub(super) fn get(&self, pretoken: &[u8]) -> u64 {
        let len = pretoken.len();
        if len <= ShortWords::MAX_BYTES {
            Key::new(pretoken, 0, len).map_or(0, |key| self.short.get(key))
        } else if len <= MediumWords::MAX_BYTES {
            Key::new(pretoken, 0, len).map_or(0, |key| self.medium.get(key))
        } else {
            self.long.get(pretoken)
        }
    }

    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let short = self.short.iter().chain(self.medium.iter());
        short.chain(self.long.iter())
    }

    /// Adds everything of another one. It must have no limit.
    pub(super) fn merge(&mut self, other: &Self) -> Result<()> {
        for (bytes, count) in other.iter() {
            if !self.add(bytes, 0, bytes.len(), count)? {
                return Err(Error::from(ErrorKind::TooLarge {
                    what: "the memory of counts in bytes",
                    limit: self.limit as u64,
                }));
            }
        }
        Ok(())
    }

    /// Hands everything to `each` in the order of the bytes, without what has a count of 0, and
    /// forgets it. Its memory is then shared out anew, in the old proportions.
    pub(super) fn drain_sorted(
        &mut self,
        each: &mut dyn FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        {
            let short = self.short.sort();
            let medium = self.medium.sort();
            let long = self.long.sorted();
            let (mut a, mut b, mut c) = (0, 0, 0);
            loop {
                let first = short.get(a).map(|place| (place.bytes(), place.count()));
                let second = medium.get(b).map(|place| (place.bytes(), place.count()));
                let third = long.get(c).copied();
                let mut best = first;
                let mut which = &mut a;
                if is_before(second, best) {
                    (best, which) = (second, &mut b);
                }
                if is_before(third, best) {
                    (best, which) = (third, &mut c);
                }
                let Some((bytes, count)) = best else {
                    break;
                };
                *which += 1;
                if count != 0 {
                    each(bytes, count)?;
                }
            }
        }
        self.clear();
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        let used = self.memory_bytes();
        let n_short = self.short.len() + self.medium.len();
        let n_places = self.short.n_places() + self.medium.n_places();
        self.n_distinct_bytes = 0;
        self.generation = self.generation.wrapping_add(1);
        // Where the limit was lowered, or places stay empty that long pretokens had no room for,
        // all begin anew: what is kept would be full again at once.
        if used > self.allowed() || n_short < n_places / 4 {
            self.short = Words::default();
            self.medium = Words::default();
            self.long = LongWords::default();
            return;
        }
        // The first time the tables have only half or so of what they may have, since growing takes
        // the rest.
        if self.limit != usize::MAX && used < self.allowed() / 8 * 7 {
            let (short, medium) = (self.short.n_places(), self.medium.n_places());
            let long = self.long.memory_bytes();
            self.short = Words::default();
            self.medium = Words::default();
            self.long.clear();
            let share = (self.allowed() - long) as f64 / (used - long).max(1) as f64;
            #[allow(clippy::cast_sign_loss)] // a share is positive
            let more = |places: usize| ((places as f64 * share) as usize).max(places);
            self.short = Words::with_places(more(short));
            self.medium = Words::with_places(more(medium));
        } else {
            self.short.clear();
            self.medium.clear();
            self.long.clear();
        }
    }
}

/// True if the first comes before the second, where it is there.
fn is_before(first: Option<(&[u8], u64)>, second: Option<(&[u8], u64)>) -> bool {
    match (first, second) {
        (Some(first), Some(second)) => first.0.cmp(second.0) == Ordering::Less,
        (first, _) => first.is_some(),
    }
}
