//! How two characters that stand beside each other begin to merge, as far as a thread has found
//! out.
//!
//! Words are made of few pairs of letters: a thousand make nearly all Russian words. The start of
//! merging such a pair depends on nothing else ([`super::starts`]), and is found in one place here.

use super::slots::{MAX_ID, NO_PAIR};

/// Bits of the number of pairs there is room for at first: 64 KB are enough for most scripts.
const MIN_BITS: u32 = 12;
/// Bits of that number once pairs displaced others.
const MAX_BITS: u32 = 14;
/// Displaced pairs after which there is more room.
const MAX_DISPLACED: usize = 256;

/// An entry for two neighbours; all zeros is none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
struct PairState {
    /// Both as one number, plus one.
    pair: u64,
    start: Start,
}

/// Symbols that the right one of two neighbours begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Start {
    /// The symbol of the right one, if it has only one, below the flags.
    symbol: u32,
    /// How both symbols merge, as a table of merges says it. It counts only if both neighbours
    /// have one symbol.
    pub(super) candidate: u32,
}

/// The lowest flag: symbols are below it.
const FLAGS: u32 = MAX_ID;
/// Something may merge a part of the left one with something of the right one.
const LEFT_IS_OPEN: u32 = FLAGS;
/// Something may merge a part of the right one with something of the left one.
const RIGHT_IS_OPEN: u32 = FLAGS << 1;
/// The right one is not one symbol by itself.
const MANY: u32 = FLAGS << 2;

/// Symbols of one character between two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// Its only symbol.
    Whole(u32),
    /// The symbols that its own merges end with, several of them.
    Parts,
    /// Its bytes.
    Bytes,
}

impl Start {
    /// Behind the last character, where nothing follows.
    pub(super) const AT_END: Self = Self {
        symbol: 0,
        candidate: NO_PAIR,
    };

    /// `symbol`: the symbol of the right character, if it has only one. `are_open`: the left one,
    /// the right one.
    pub(super) fn new(symbol: Option<u32>, candidate: u32, are_open: [bool; 2]) -> Self {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(are_open[0], LEFT_IS_OPEN) | flag(are_open[1], RIGHT_IS_OPEN);
        Self {
            symbol: symbol.unwrap_or(MANY) | flags,
            candidate,
        }
    }

    #[inline(always)]
    fn symbol(self) -> u32 {
        self.symbol & (FLAGS - 1)
    }

    /// How the right one begins; `next`: the same of it and what follows it.
    #[inline(always)]
    pub(super) fn begins(self, next: Self) -> Begins {
        let of_left = (next.symbol & LEFT_IS_OPEN) << 1;
        let flags = (self.symbol | of_left) & (RIGHT_IS_OPEN | MANY);
        if flags == 0 {
            Begins::Whole(self.symbol())
        } else if flags & RIGHT_IS_OPEN == 0 {
            Begins::Parts
        } else {
            Begins::Bytes
        }
    }
}

/// Pairs of characters that a thread has met. Each is at one of two places in one cache line.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    /// None before the first pair.
    states: Vec<PairState>,
    bits: u32,
    n_displaced: usize,
}

#[inline(always)]
fn number(left: u32, right: u32) -> u64 {
    (u64::from(left) << 32 | u64::from(right)) + 1
}

impl Neighbours {
    /// Where a pair is, or beside it: by the high bits of a product, to which all bits of both
    /// contribute.
    #[inline(always)]
    fn place(&self, pair: u64) -> usize {
        let hash = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32 >> (u32::BITS - self.bits)) as usize
    }

    /// Returns how two neighbours begin, if they were met.
    #[inline(always)]
    pub(super) fn get(&self, left: u32, right: u32) -> Option<Start> {
        let pair = number(left, right);
        let place = self.place(pair);
        let here = self.states.get(place)?;
        if here.pair == pair {
            return Some(here.start);
        }
        let beside = self.states.get(place ^ 1)?;
        (beside.pair == pair).then_some(beside.start)
    }

    /// Remembers how two neighbours begin.
    pub(super) fn keep(&mut self, left: u32, right: u32, start: Start) {
        if self.states.is_empty() {
            self.make_room(MIN_BITS);
        }
        let pair = number(left, right);
        self.n_displaced += usize::from(self.put(PairState { pair, start }));
        if self.n_displaced > MAX_DISPLACED && self.bits < MAX_BITS {
            self.make_room(MAX_BITS);
        }
    }

    /// Puts an entry where its pair is already, else where there is room, else in place of another
    /// one. Returns true in that last case.
    fn put(&mut self, state: PairState) -> bool {
        let place = self.place(state.pair);
        let both = [place, place ^ 1];
        let holds = |pair| {
            both.into_iter()
                .find(|&place| self.states[place].pair == pair)
        };
        let free = holds(state.pair).or_else(|| holds(0));
        self.states[free.unwrap_or(place)] = state;
        free.is_none()
    }

    #[cold]
    fn make_room(&mut self, bits: u32) {
        let before = std::mem::replace(&mut self.states, vec![PairState::default(); 1 << bits]);
        self.bits = bits;
        for state in before.into_iter().filter(|state| state.pair != 0) {
            self.put(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The naive twin is a map: what is known is what was kept last, and it may be forgotten.
        #[test]
        fn what_is_known_was_kept(
            pairs in prop::collection::vec((0..400u32, 0..400u32), 1..2000),
        ) {
            let (mut neighbours, mut map) = (Neighbours::default(), BTreeMap::new());
            for (symbol, &(left, right)) in (0..).zip(&pairs) {
                let start = Start::new(Some(symbol), symbol, [false; 2]);
                neighbours.keep(left, right, start);
                map.insert((left, right), start);
                prop_assert_eq!(neighbours.get(left, right), Some(start));
            }
            for (&(left, right), &start) in &map {
                prop_assert!(neighbours.get(left, right).is_none_or(|known| known == start));
            }
        }
    }

    #[test]
    fn characters_begin_as_bytes_where_one_side_is_open() {
        let start = |are_open| Start::new(Some(5), 7, are_open);
        let closed = start([false; 2]);
        assert_eq!(closed.begins(Start::AT_END), Begins::Whole(5));
        assert_eq!(closed.begins(start([false, true])), Begins::Whole(5));
        assert_eq!(closed.begins(start([true, false])), Begins::Bytes);
        assert_eq!(start([true, false]).begins(closed), Begins::Whole(5));
        assert_eq!(start([false, true]).begins(closed), Begins::Bytes);
        let many = Start::new(None, 7, [false; 2]);
        assert_eq!(many.begins(closed), Begins::Parts);
        assert_eq!(many.begins(start([true, false])), Begins::Bytes);
    }

    #[test]
    fn nothing_is_known_at_first() {
        let mut neighbours = Neighbours::default();
        assert_eq!(neighbours.get(0, 0), None);
        neighbours.keep(1, 1, Start::AT_END);
        assert_eq!(neighbours.get(0, 0), None);
    }

    #[test]
    fn there_is_more_room_when_many_are_pushed_out() {
        let mut neighbours = Neighbours::default();
        let letters = || 0x40..0xC0u32;
        for _ in 0..2 {
            for (left, right) in
                letters().flat_map(|left| letters().map(move |right| (left, right)))
            {
                let (left, right) = (
                    0xD000 | (left & 0x40) << 2 | left & 0x3F,
                    right << 2 & 0x100 | right & 0x3F,
                );
                neighbours.keep(
                    left,
                    right,
                    Start {
                        symbol: left,
                        candidate: right,
                    },
                );
            }
        }
        assert_eq!(neighbours.states.len(), 1 << MAX_BITS);
        let kept = neighbours.states.iter().filter(|state| state.pair != 0);
        assert!(kept.count() > 128 * 128 * 3 / 4);
    }
}
