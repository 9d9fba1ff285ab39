//! Merging that begins with whole characters instead of their bytes.
//!
//! Most merges of letters of two or three bytes only put the bytes of a letter together. They end
//! alike wherever the character stands. So their result is found once, if two things hold:
//!
//! *Nothing else can happen to its bytes.* No token that comes before the character does has a part
//! of it and something of a neighbour, as far as [`super::cuts`] tells. Then no merge joins the two
//! before it is too late for that, and the character's own merges are done as if it stood alone.
//!
//! *It is not too early.* Whatever merges with the whole character does so later, by rank, than the
//! character is made. That is so of tables in which every pair comes after the pairs that make its
//! two sides ([`MergeTable::is_in_order`]), as training makes them. Merging then amounts to
//! applying one pair after the other to all of the text, each from the left. A pair that takes the
//! character finds it there in its turn, whether the character was there from the start or not. No
//! earlier pair asks for it.
//!
//! Where either does not hold merging begins with bytes, as it is defined.

use super::cuts::{Cuts, character};
use super::merge_scalar::{self, MergeSeed};
use super::neighbours::{Begins, Neighbours, Start};
use super::scripts::{N_SCRIPTS, ScriptSet};
use super::segment_merger::SegmentMerger;
use super::slots::NO_PAIR;
use super::table::MergeTable;

/// Characters kept at a time: the characters of a script lie beside each other. At most 64 KB for
/// each thread, so that what is known of Chinese stays within the second cache; a page at first,
/// which is enough for most scripts.
const MIN_CHARACTERS: usize = 1 << 8;
const MAX_CHARACTERS: usize = 1 << 12;
/// Most symbols that a character is known by. One of four bytes that do not merge begins as these.
const MAX_KEPT_SYMBOLS: usize = 3;
/// Segments of a script after which all of its pairs are prefetched.
const SEGMENTS_BEFORE_PREFETCH: u8 = 8;
/// Stands for no symbol: no id is that large.
const NO_SYMBOL: u32 = u32::MAX;

/// A character, by its bytes as a number, and what its merges end with; all zeros is none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
struct CharacterState {
    character: u32,
    /// Its symbols, the unused places last. Without any the character begins as its bytes.
    symbols: [u32; MAX_KEPT_SYMBOLS],
}

/// Characters that a thread has met, and how they begin.
#[derive(Debug)]
pub(super) struct Starts {
    /// A power of two of them; none before the first one.
    known: Vec<CharacterState>,
    neighbours: Neighbours,
    /// Units of each script so far; not all of them where there are many.
    n_units: [u8; N_SCRIPTS],
}

impl Default for Starts {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            neighbours: Neighbours::default(),
            n_units: [0; N_SCRIPTS],
        }
    }
}

/// Begins with whole characters where that ends as beginning with bytes does. The table must be
/// complete and [in order](MergeTable::is_in_order).
pub(super) struct ByCharacters<'m> {
    pub(super) starts: &'m mut Starts,
    pub(super) cuts: &'m Cuts,
}

impl SegmentMerger for ByCharacters<'_> {
    #[inline]
    fn merge_segment(&mut self, table: &MergeTable, segment: &[u8], out: &mut Vec<u32>) -> bool {
        self.starts.merge(table, self.cuts, segment, out)
    }
}

impl Starts {
    /// Appends the ids of a unit; false if it has too many symbols, or bytes that are no character.
    /// The table must be complete and [in order](MergeTable::is_in_order).
    pub(super) fn merge(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        unit: &[u8],
        out: &mut Vec<u32>,
    ) -> bool {
        let mut seed = MergeSeed::default();
        if !self.begin(table, cuts, unit, &mut seed) {
            return false;
        }
        if let Some(script) = seed.scripts().only() {
            self.note_script(table, script);
        }
        seed.merge(table, out);
        true
    }

    /// Counts the units of a script: what is looked at for them is asked for as a whole when there
    /// were some.
    #[inline(always)]
    fn note_script(&mut self, table: &MergeTable, script: usize) {
        let n_units = &mut self.n_units[script % N_SCRIPTS];
        *n_units = n_units.saturating_add(1);
        if *n_units == SEGMENTS_BEFORE_PREFETCH {
            table.ask_for(script);
        }
    }

    /// Puts there what merging begins with; false if that cannot be done.
    #[inline(always)]
    fn begin(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        unit: &[u8],
        seed: &mut MergeSeed,
    ) -> bool {
        let Some((mut here, mut end)) = character(unit, 0) else {
            return unit.is_empty();
        };
        let symbols = self.alone(table, here, &unit[..end]);
        let mut start = Start::new(one(symbols), NO_PAIR, [false; 2]);
        let (mut at, mut is_whole) = (0, true);
        if here != u32::from(b' ') {
            seed.meets(here);
        }
        loop {
            let next = character(unit, end);
            if let Some((next, _)) = next {
                seed.meets(next);
            }
            let next_start = self.both(table, cuts, unit, (here, at, end), next);
            let begins = start.begins(next_start);
            let has_room = if let Begins::Whole(symbol) = begins {
                let candidate = if is_whole {
                    start.candidate
                } else {
                    candidate(table, seed, symbol)
                };
                seed.push(symbol, candidate)
            } else {
                let is_bytes = begins == Begins::Bytes;
                self.push_parts(table, is_bytes, here, &unit[at..end], seed)
            };
            is_whole = matches!(begins, Begins::Whole(_));
            if !has_room {
                return false;
            }
            let Some((right, right_end)) = next else {
                return end == unit.len();
            };
            (here, at, end, start) = (right, end, right_end, next_start);
        }
    }

    /// Adds what a character begins as that is not one symbol: its bytes, or what its own merges
    /// end with.
    #[inline(never)]
    fn push_parts(
        &mut self,
        table: &MergeTable,
        is_bytes: bool,
        character: u32,
        bytes: &[u8],
        seed: &mut MergeSeed,
    ) -> bool {
        let mut symbols = if is_bytes {
            [NO_SYMBOL; MAX_KEPT_SYMBOLS]
        } else {
            self.alone(table, character, bytes)
        };
        // Where its merges end with too many symbols, too.
        let is_bytes = symbols[0] == NO_SYMBOL;
        if let (true, &[first, ..]) = (is_bytes, bytes) {
            symbols[0] = table.symbol(first);
        }
        for symbol in symbols
            .into_iter()
            .take_while(|&symbol| symbol != NO_SYMBOL)
        {
            let candidate = candidate(table, seed, symbol);
            if !seed.push(symbol, candidate) {
                return false;
            }
        }
        !is_bytes
            || bytes.windows(2).all(|both| {
                let candidate = table.find_bytes(both[0], both[1]);
                seed.push(table.symbol(both[1]), candidate)
            })
    }

    /// Returns how the right one of two characters begins. `left`: a character, its start and end;
    /// `next`: the character behind it and its end, if there is one.
    #[inline(always)]
    fn both(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        unit: &[u8],
        (left, at, end): (u32, usize, usize),
        next: Option<(u32, usize)>,
    ) -> Start {
        let Some((right, right_end)) = next else {
            return Start::AT_END;
        };
        self.neighbours.get(left, right).unwrap_or_else(|| {
            let both = [(left, &unit[at..end]), (right, &unit[end..right_end])];
            self.find_out_both(table, cuts, both)
        })
    }

    #[cold]
    fn find_out_both(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        [(left, left_bytes), (right, right_bytes)]: [(u32, &[u8]); 2],
    ) -> Start {
        let of_left = one(self.alone(table, left, left_bytes));
        let of_right = one(self.alone(table, right, right_bytes));
        let mut scripts = ScriptSet::default();
        if left != u32::from(b' ') {
            scripts.add(left);
        }
        scripts.add(right);
        let pairs = table.lookups_of(scripts);
        let bytes = [left_bytes, right_bytes];
        let may_have_parts = cuts.may_have_parts(bytes);
        // Most have none.
        let are_open = if may_have_parts == [false; 2] {
            may_have_parts
        } else {
            cuts.come_apart(bytes, [of_left, of_right])
        };
        let candidate = of_left
            .zip(of_right)
            .map_or(NO_PAIR, |(left, right)| pairs.find(left, right));
        let start = Start::new(of_right, candidate, are_open);
        self.neighbours.keep(left, right, start);
        start
    }

    /// Returns the symbols of a character that stands alone.
    #[inline]
    fn alone(
        &mut self,
        table: &MergeTable,
        character: u32,
        bytes: &[u8],
    ) -> [u32; MAX_KEPT_SYMBOLS] {
        if let &[byte] = bytes {
            return [table.symbol(byte), NO_SYMBOL, NO_SYMBOL];
        }
        match self.known.get(self.place(character)) {
            Some(known) if known.character == character => known.symbols,
            _ => self.find_out(table, character, bytes),
        }
    }

    #[cold]
    fn find_out(
        &mut self,
        table: &MergeTable,
        character: u32,
        bytes: &[u8],
    ) -> [u32; MAX_KEPT_SYMBOLS] {
        let mut ids = Vec::with_capacity(bytes.len());
        merge_scalar::merge_bytes(&table.lookups_of(ScriptSet::of(character)), bytes, &mut ids);
        let mut symbols = [NO_SYMBOL; MAX_KEPT_SYMBOLS];
        if let Some(room) = symbols.get_mut(..ids.len()) {
            room.copy_from_slice(&ids);
        }
        let there = self.known.get(self.place(character));
        let is_free = there.is_some_and(|known| known.character == 0);
        if !is_free && self.known.len() < MAX_CHARACTERS {
            let n = (self.known.len() * 4).clamp(MIN_CHARACTERS, MAX_CHARACTERS);
            let before = std::mem::replace(&mut self.known, vec![CharacterState::default(); n]);
            for known in before.into_iter().filter(|known| known.character != 0) {
                self.keep(known);
            }
        }
        self.keep(CharacterState { character, symbols });
        symbols
    }

    fn keep(&mut self, known: CharacterState) {
        let place = self.place(known.character);
        self.known[place] = known;
    }

    /// By the bits in which characters of a script differ: six of each of the last two bytes.
    #[inline(always)]
    fn place(&self, character: u32) -> usize {
        (character & 0x3F | character >> 2 & 0xFC0) as usize & self.known.len().wrapping_sub(1)
    }
}

/// How the last symbol merges with one that follows it.
#[inline(never)]
fn candidate(table: &MergeTable, seed: &MergeSeed, symbol: u32) -> u32 {
    let last = seed.symbols().last();
    let pairs = table.lookups_of(seed.scripts());
    last.map_or(NO_PAIR, |&last| pairs.find(last, symbol))
}

/// The only symbol of a character, if it has one.
fn one(symbols: [u32; MAX_KEPT_SYMBOLS]) -> Option<u32> {
    let [first, second, _] = symbols;
    (first != NO_SYMBOL && second == NO_SYMBOL).then_some(first)
}

#[cfg(test)]
#[path = "starts_tests.rs"]
mod tests;
