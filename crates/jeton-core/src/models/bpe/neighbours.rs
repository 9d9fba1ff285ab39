//! How two characters that stand beside each other begin to merge, as far as a thread has found
//! out.
//!
//! Words are made of few pairs of letters: a thousand make nearly all Russian words. What merging
//! such a pair begins with depends on nothing else ([`super::starts`]), and is found in one place
//! here.

use super::letter_pairs::{LetterPairs, Place};
use super::table::{MAX_ID, NO_PAIR};

/// Pairs there is room for, as bits: 64 KB are enough for most scripts.
const FEW_BITS: u32 = 12;
const MOST_BITS: u32 = 14;
/// So many pairs push out others before there is more room.
const PATIENCE: usize = 256;

/// Two neighbours; all zeros is none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
struct Known {
    /// Both as one number, and one more.
    pair: u64,
    start: Start,
}

/// What merging the right one of two neighbours begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Start {
    /// The symbol of the right one, if it has one only, and flags: see below.
    symbol: u32,
    /// How the left one's symbol merges with it, as a table of merges says it, or with its first
    /// byte if it is open and has two; of any value unless both have one symbol only. If both of
    /// them join, the symbol that they become; if they are split, the second one, and above that
    /// the first.
    pub(super) candidate: u32,
}

/// Flags above a symbol, which is below this.
const FLAGS: u32 = MAX_ID;
/// Something may merge a part of the left one with something of the right one, or the other way
/// round.
const LEFT_IS_OPEN: u32 = FLAGS;
const RIGHT_IS_OPEN: u32 = FLAGS << 1;
/// The right one is not one symbol by itself.
const MANY: u32 = FLAGS << 2;
/// There is a token of a part of the left one and something of the right one, early or not.
const LEFT_HAS_PARTS: u32 = FLAGS << 3;
/// At the beginning of a unit both are one symbol, if nothing takes a part of the right one.
const JOIN: u32 = FLAGS << 4;
/// At the beginning of a unit both are two symbols, of which the first one ends within the right
/// one, if nothing takes a part of that.
const SPLIT: u32 = FLAGS << 7;
/// No token straddles the boundary between them.
const CUT: u32 = FLAGS << 5;
/// It is something.
const IS_KNOWN: u32 = FLAGS << 6;

/// What words of letters do not have that are merged without a look at each letter.
const UNUSUAL: u32 = LEFT_IS_OPEN | JOIN | SPLIT;

/// What is before a letter: a symbol or, of a letter that begins as these, bytes.
#[derive(Clone, Copy)]
pub(super) struct Before {
    /// What is unusual behind it and nowhere else.
    unusual: u32,
    no_pair: u32,
}

impl Before {
    pub(super) const SYMBOL: Self = Self {
        unusual: 0,
        no_pair: 0,
    };
    /// Where no token begins with a part of the letter nothing merges with its last byte.
    pub(super) const BYTES: Self = Self {
        unusual: LEFT_HAS_PARTS,
        no_pair: NO_PAIR,
    };

    /// How it merges with the letter.
    #[inline(always)]
    pub(super) fn candidate(self, start: Start) -> u32 {
        start.candidate | self.no_pair
    }
}

/// What is known of all neighbours in a word of letters, one pair after the other.
#[derive(Clone, Copy)]
pub(super) struct All {
    unusual: u32,
    of_each: u32,
}

impl All {
    pub(super) const NONE: Self = Self {
        unusual: 0,
        of_each: IS_KNOWN,
    };

    #[inline(always)]
    pub(super) fn add(&mut self, start: Start, before: Before) {
        self.unusual |= start.symbol & (UNUSUAL | before.unusual);
        self.of_each &= start.symbol;
    }

    /// True if all is known, and each letter begins as its symbol or as its bytes, as
    /// [`Start::begins_as_bytes`] says.
    #[inline(always)]
    pub(super) fn are_usual(self) -> bool {
        self.of_each & IS_KNOWN != 0 && self.unusual == 0
    }
}

/// Of one character, between a neighbour and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// As its symbol.
    Whole(u32),
    /// As what its own merges end with, several symbols.
    Parts,
    /// As its bytes.
    Bytes,
}

impl Start {
    /// Behind the last character, where nothing follows.
    pub(super) const AT_END: Self = Self {
        symbol: 0,
        candidate: NO_PAIR,
    };

    /// `symbol`: that of the right one, if it has only one. `are_open`: the left one, the right
    /// one.
    pub(super) fn new(symbol: Option<u32>, candidate: u32, are_open: [bool; 2]) -> Self {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(are_open[0], LEFT_IS_OPEN) | flag(are_open[1], RIGHT_IS_OPEN);
        Self {
            symbol: symbol.unwrap_or(MANY) | flags | IS_KNOWN,
            candidate,
        }
    }

    /// True if the right one, if it has two bytes, begins as these unless the next one says that it
    /// is open.
    #[inline(always)]
    pub(super) fn begins_as_bytes(self) -> bool {
        self.symbol & (RIGHT_IS_OPEN | MANY) != 0
    }

    /// False of the default.
    #[inline(always)]
    pub(super) fn is_known(self) -> bool {
        self.symbol & IS_KNOWN != 0
    }

    /// The same where there is a token of a part of the left one.
    pub(super) fn with_parts(mut self) -> Self {
        self.symbol |= LEFT_HAS_PARTS;
        self
    }

    /// The same where both join at the beginning of a unit, and are this symbol then.
    pub(super) fn joining(self, symbol: u32) -> Self {
        Self {
            symbol: self.symbol | JOIN,
            candidate: symbol,
        }
    }

    /// The same with another left one.
    pub(super) fn with_candidate(self, candidate: u32) -> Self {
        Self { candidate, ..self }
    }

    /// The same where no token straddles the boundary between both.
    pub(super) fn with_cut(mut self) -> Self {
        self.symbol |= CUT;
        self
    }

    #[inline(always)]
    pub(super) fn is_cut(self) -> bool {
        self.symbol & CUT != 0
    }

    /// The same where both are these two symbols at the beginning of a unit.
    pub(super) fn split(self, [first, second]: [u32; 2]) -> Self {
        let flags = self.symbol & !(FLAGS - 1);
        Self {
            symbol: first | flags | SPLIT,
            candidate: second,
        }
    }

    /// The two symbols that both are at the beginning of a unit, if they are.
    #[inline(always)]
    pub(super) fn halves(self) -> Option<[u32; 2]> {
        (self.symbol & SPLIT != 0).then(|| [self.symbol(), self.candidate])
    }

    #[inline(always)]
    pub(super) fn joins(self) -> bool {
        self.symbol & JOIN != 0
    }

    #[inline(always)]
    pub(super) fn has_parts(self) -> bool {
        self.symbol & LEFT_HAS_PARTS != 0
    }

    /// The symbol of the right one, if it has one only.
    #[inline(always)]
    pub(super) fn symbol(self) -> u32 {
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

/// What is known of pairs of characters.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    /// Most of those of alphabets.
    pub(super) letters: LetterPairs,
    /// All others; none before the first one. A pair is at either of two places, both in one cache
    /// line.
    known: Vec<Known>,
    bits: u32,
    n_pushed_out: usize,
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

    /// What is known of two neighbours.
    #[inline(always)]
    pub(super) fn get(&self, left: u32, right: u32) -> Option<Start> {
        if let Some(place) = Place::of(left, right) {
            let start = self.letters.get(place);
            if start.is_known() {
                return Some(start);
            }
        }
        let pair = number(left, right);
        let place = self.place(pair);
        let here = self.known.get(place)?;
        if here.pair == pair {
            return Some(here.start);
        }
        let beside = self.known.get(place ^ 1)?;
        (beside.pair == pair).then_some(beside.start)
    }

    /// Remembers it.
    pub(super) fn keep(&mut self, left: u32, right: u32, start: Start) {
        if let Some(place) = Place::of(left, right)
            && self.letters.keep(place, start)
        {
            return;
        }
        if self.known.is_empty() {
            self.make_room(FEW_BITS);
        }
        let known = Known {
            pair: number(left, right),
            start,
        };
        let has_pushed_out = self.put(known);
        self.n_pushed_out += usize::from(has_pushed_out);
        if self.n_pushed_out > PATIENCE && self.bits < MOST_BITS {
            self.make_room(MOST_BITS);
        }
    }

    /// Puts it where it is already, where there is room or else in place of another one, and says
    /// whether that was so.
    fn put(&mut self, known: Known) -> bool {
        let place = self.place(known.pair);
        let both = [place, place ^ 1];
        let holds = |pair| {
            both.into_iter()
                .find(|&place| self.known[place].pair == pair)
        };
        let free = holds(known.pair).or_else(|| holds(0));
        self.known[free.unwrap_or(place)] = known;
        free.is_none()
    }

    #[cold]
    fn make_room(&mut self, bits: u32) {
        let known = std::mem::replace(&mut self.known, vec![Known::default(); 1 << bits]);
        self.bits = bits;
        for known in known.into_iter().filter(|known| known.pair != 0) {
            self.put(known);
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
        assert_eq!(neighbours.known.len(), 1 << MOST_BITS);
        let known = neighbours.known.iter().filter(|known| known.pair != 0);
        assert!(known.count() > 128 * 128 * 3 / 4);
    }
}
