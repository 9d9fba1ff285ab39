//! Short pretokens and their counts: the bytes of each are its place's own, so that there is no
//! second place to look.
//!
//! Open addressing with linear probing. A place has the pretoken's bytes, zeros behind them, and in
//! the last byte their number, which is what [`Key`] makes of text without looking at single bytes.
//! Read as a string, a place sorts as the pretoken does: where two differ only in zeros, the last
//! byte decides as their lengths do.

#![allow(unsafe_code)] // says what zeros are

use jeton_core::cache::key::Key;
use jeton_core::cpu::prefetch::prefetch;
use jeton_core::memory::huge_pages::{HugeSlice, Zeroed};

/// Places of a table that has its first pretoken.
const FIRST_PLACES: usize = 1 << 10;
/// Places that are looked at before the hash function is taken to be unfortunate. With three
/// quarters taken, the longest run among 10^9 places is about 550 long (ln n / (a - 1 - ln a) for a
/// load a; Pittel 1987, J. Algorithms 8).
const MAX_PROBES: usize = 4096;
/// Other hash functions that are tried: whoever writes text for it makes pretokens collide in one,
/// not in all.
const MAX_SEEDS: u64 = 8;

/// A pretoken of at most `B - 1` bytes, and its count. All zeros: free.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Slot<const B: usize> {
    key: [u8; B],
    count: u64,
}

// SAFETY: numbers only, and all zeros is a free place.
unsafe impl<const B: usize> Zeroed for Slot<B> {}

impl<const B: usize> Slot<B> {
    #[inline(always)]
    fn is_free(&self) -> bool {
        self.key[B - 1] == 0
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.key[..usize::from(self.key[B - 1])]
    }

    #[inline(always)]
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

/// Outcome of adding to a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// It was there.
    Known,
    /// It is there now.
    New,
    /// There is no room: nothing was changed.
    NoRoom,
    /// It has no place near where it belongs: nothing was changed.
    Crowded,
}

/// Pretokens of up to `B - 1` bytes; `W` is `B / 16`.
#[derive(Debug, Default)]
pub(super) struct Words<const W: usize, const B: usize> {
    places: HugeSlice<Slot<B>>,
    n: usize,
    /// Number of the hash function.
    seed: u64,
}

impl<const W: usize, const B: usize> Clone for Words<W, B> {
    fn clone(&self) -> Self {
        let mut places = HugeSlice::zeroed(self.places.len());
        places.copy_from_slice(&self.places);
        Self {
            places,
            n: self.n,
            seed: self.seed,
        }
    }
}

impl<const W: usize, const B: usize> Words<W, B> {
    pub(super) const MAX_BYTES: usize = B - 1;
    pub(super) const PLACE_BYTES: usize = size_of::<Slot<B>>();

    /// An empty table of `n_places` places.
    pub(super) fn with_places(n_places: usize) -> Self {
        Self {
            places: HugeSlice::zeroed(n_places),
            n: 0,
            seed: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.n
    }

    pub(super) fn n_places(&self) -> usize {
        self.places.len()
    }

    /// Places that it would have after growing.
    pub(super) fn next_places(&self) -> usize {
        (self.places.len() * 2).max(FIRST_PLACES)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.places.len() * Self::PLACE_BYTES
    }

    #[inline(always)]
    fn key_bytes(key: Key<W>) -> [u8; B] {
        let mut bytes = [0; B];
        for (to, number) in bytes.chunks_exact_mut(16).zip(key.numbers()) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    #[inline(always)]
    fn key_of(bytes: &[u8; B]) -> [u128; W] {
        let mut numbers = [0; W];
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<16>().0) {
            *number = u128::from_le_bytes(*bytes);
        }
        numbers
    }

    /// Where a pretoken belongs.
    #[inline(always)]
    pub(super) fn place(&self, key: Key<W>) -> usize {
        place_of(key.numbers(), self.seed, self.places.len())
    }

    /// Asks for the memory there.
    #[inline(always)]
    pub(super) fn fetch(&self, place: usize) {
        if let Some(place) = self.places.get(place) {
            prefetch(place);
        }
    }

    /// Adds to the count of a pretoken that belongs to a place, modulo 2^64.
    #[inline(always)]
    pub(super) fn add(&mut self, key: Key<W>, place: usize, count: u64) -> Added {
        let key = Self::key_bytes(key);
        // The first place nearly always is the one.
        if let Some(known) = self.places.get_mut(place)
            && known.key == key
        {
            known.count = known.count.wrapping_add(count);
            return Added::Known;
        }
        self.add_near(key, place, count)
    }

    fn add_near(&mut self, key: [u8; B], place: usize, count: u64) -> Added {
        let n_places = self.places.len();
        let mut at = place;
        let probes = if self.seed < MAX_SEEDS {
            MAX_PROBES.min(n_places)
        } else {
            n_places
        };
        for _ in 0..probes {
            let known = &mut self.places[at];
            if known.key == key {
                known.count = known.count.wrapping_add(count);
                return Added::Known;
            }
            if known.is_free() {
                if self.n >= n_places / 4 * 3 {
                    return Added::NoRoom;
                }
                *known = Slot { key, count };
                self.n += 1;
                return Added::New;
            }
            at += 1;
            if at == n_places {
                at = 0;
            }
        }
        // In a table that is small or nearly full, there may be no free place among all.
        if self.n >= n_places / 4 * 3 || self.seed >= MAX_SEEDS {
            Added::NoRoom
        } else {
            Added::Crowded
        }
    }

    /// Moves to `n_places` places, but never to fewer than now.
    pub(super) fn resize(&mut self, n_places: usize) {
        self.rebuild(n_places.max(self.places.len()), self.seed);
    }

    /// Moves to another hash function.
    pub(super) fn reseed(&mut self) {
        self.rebuild(self.places.len(), self.seed + 1);
    }

    fn rebuild(&mut self, n_places: usize, seed: u64) {
        let mut next = Self {
            places: HugeSlice::zeroed(n_places),
            n: 0,
            seed,
        };
        for place in self.places.iter().filter(|place| !place.is_free()) {
            let mut at = place_of(Self::key_of(&place.key), seed, n_places);
            while !next.places[at].is_free() {
                at = if at + 1 == n_places { 0 } else { at + 1 };
            }
            next.places[at] = *place;
            next.n += 1;
        }
        *self = next;
    }

    /// Count of a pretoken.
    pub(super) fn get(&self, key: Key<W>) -> u64 {
        let n_places = self.places.len();
        if n_places == 0 {
            return 0;
        }
        let mut at = self.place(key);
        let key = Self::key_bytes(key);
        for _ in 0..n_places {
            let known = &self.places[at];
            if known.key == key {
                return known.count;
            }
            if known.is_free() {
                break;
            }
            at = if at + 1 == n_places { 0 } else { at + 1 };
        }
        0
    }

    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.places
            .iter()
            .filter(|place| !place.is_free())
            .map(|place| (place.bytes(), place.count))
    }

    /// Puts them in the order of their bytes, where they are; only [`clear`](Self::clear) may
    /// follow.
    pub(super) fn sort(&mut self) -> &[Slot<B>] {
        let mut n = 0;
        for at in 0..self.places.len() {
            if !self.places[at].is_free() {
                self.places.swap(n, at);
                n += 1;
            }
        }
        let sorted = &mut self.places[..n];
        sorted.sort_unstable_by_key(|place| Self::key_of(&place.key).map(u128::swap_bytes));
        sorted
    }

    /// Forgets all of them and keeps the memory.
    pub(super) fn clear(&mut self) {
        let free = Slot {
            key: [0; B],
            count: 0,
        };
        self.places.fill(free);
        self.n = 0;
    }
}

/// Place of a pretoken among `n_places`, by the high bits of its hash. So tables of different sizes
/// hold pretokens in about the same order, and moving to a larger one walks through both.
#[inline(always)]
fn place_of<const W: usize>(key: [u128; W], seed: u64, n_places: usize) -> usize {
    let mut hash = seed.wrapping_mul(0xA076_1D64_78BD_642F);
    for number in key {
        let (low, high) = (number as u64 ^ hash, (number >> 64) as u64);
        let product = u128::from(low ^ 0x9E37_79B9_7F4A_7C15)
            * u128::from(high ^ hash.rotate_left(32) ^ 0xD6E8_FEB8_6659_FD93);
        hash = (product >> 64) as u64 ^ product as u64;
    }
    ((u128::from(hash) * n_places as u128) >> 64) as usize
}
