//! What merging may begin with: whole characters instead of their bytes.
//!
//! Of the merges that letters of two or three bytes take, most only put the bytes of a letter
//! together. What they end with is the same wherever the character stands, so that it is found out
//! once, if two things hold:
//!
//! *Nothing else can happen to its bytes.* No token that comes before the character does has a part
//! of it and something of a neighbour, as far as [`super::cuts`] tells. Then no merge joins the two
//! before it is too late for that, and the character's own merges are done as if it stood alone.
//!
//! *It is not too early.* Whatever merges with the whole character does so later, by rank, than the
//! character is made. That is so of tables in which every pair comes after the pairs that make its
//! two sides ([`MergeTable::is_in_order`]), as training makes them. Merging is then to apply one
//! pair after the other to all of the text, each from the left: a pair that takes the character
//! finds it there when its turn comes, whether it was there from the start or not, and no pair
//! before it asks.
//!
//! Where either does not hold merging begins with bytes, as it is defined.
//!
//! *Two characters at once.* A space and the first byte of a letter are a token in most
//! vocabularies, and come before rare letters do. Let a unit begin with a byte and such a letter,
//! and let both, merged alone, end with one symbol, the last merge of which takes a part of the
//! letter: then all that ever ends where the letter does is a part of it, until both are one. If no
//! token has a part of it and something of what follows, nothing can take that away, and the unit
//! begins with the symbol of both. If they end with two symbols, one of the byte and a part of the
//! letter, one of the rest, what ends where the letter does is a part of it for ever: the unit
//! begins with both symbols, and nothing merges with them.

use super::cuts::{Cuts, character};
use super::letter_pairs::{Left, Place, is_letter};
use super::letters::{self, Word};
use super::merge_scalar::{self, MergeSeed};
use super::neighbours::{Begins, Neighbours, Start};
use super::scripts::{N_SCRIPTS, ScriptSet};
use super::table::{MergeTable, NO_PAIR, PLACE_BITS};

/// Characters that are known at a time: those of a script lie beside each other. At most 64 KB for
/// each thread, so that what is known of Chinese stays within the second cache; a page at first,
/// which is enough for most scripts.
const FEW_KNOWN: usize = 1 << 8;
const MOST_KNOWN: usize = 1 << 12;
/// Most symbols that a character is known by. One of four bytes that do not merge begins as these.
const MOST_SYMBOLS: usize = 3;
/// So many units of a script are worth asking for all of its pairs.
const WORTH_ALL: u8 = 8;
/// What stands for no symbol: no id is that large.
const NO_SYMBOL: u32 = u32::MAX;

/// A character, by its bytes as a number, and what its merges end with; all zeros is none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
struct Known {
    character: u32,
    /// Those that there are come first. None at all: the character begins as its bytes.
    symbols: [u32; MOST_SYMBOLS],
}

/// What a thread knows of characters.
#[derive(Debug)]
pub(super) struct Starts {
    /// A power of two of them; none before the first one.
    known: Vec<Known>,
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
        self.merge_letters(table, unit, out) || self.merge_characters(table, cuts, unit, out)
    }

    /// The same of any characters, one after the other.
    #[inline]
    fn merge_characters(
        &mut self,
        table: &MergeTable,
        cuts: &Cuts,
        unit: &[u8],
        out: &mut Vec<u32>,
    ) -> bool {
        let mut begun = MergeSeed::default();
        if !self.begin(table, cuts, unit, &mut begun) {
            return false;
        }
        if let Some(script) = begun.scripts().only() {
            self.note_script(table, script);
        }
        begun.merge(table, out);
        true
    }

    /// Appends the ids of letters of one alphabet, with a space before them or not; false where it
    /// is not that, or something is not as it mostly is, or not known.
    #[inline]
    fn merge_letters(&mut self, table: &MergeTable, unit: &[u8], out: &mut Vec<u32>) -> bool {
        let (has_space, letters) = match unit {
            [b' ', letters @ ..] => (true, letters),
            letters => (false, letters),
        };
        // Those before are of Latin ones, and stand between these.
        let (&[0xCC..0xE0, ..], Some((letter, rest))) = (letters, letters.split_first_chunk())
        else {
            return false;
        };
        let (first, from) = (letters::number(letter), out.len());
        if !is_letter(first) {
            return false;
        }
        let word = if has_space {
            self.begin_behind_space(table, letters, first, out)
        } else {
            let symbol = one(self.alone(table, first, letter));
            symbol.map(|symbol| Word {
                symbol,
                left: Left::letter(first),
                letters: rest,
                first,
            })
        };
        let Some(word) = word else {
            return false;
        };
        if !letters::merge(table, &self.neighbours.letters, word, out) {
            out.truncate(from);
            return false;
        }
        if let Some(script) = ScriptSet::of(first).only() {
            self.note_script(table, script);
        }
        true
    }

    /// What a word of a space and letters begins as; what is split from it is appended already.
    #[inline(always)]
    fn begin_behind_space<'t>(
        &mut self,
        table: &MergeTable,
        letters: &'t [u8],
        first: u32,
        out: &mut Vec<u32>,
    ) -> Option<Word<'t>> {
        let left = Left::space(first);
        let start = self.neighbours.letters.get(Place::new(left, first));
        let (_, rest) = letters.split_first_chunk::<2>()?;
        if start.joins() {
            return Some(Word {
                symbol: start.candidate,
                left: Left::joined(first),
                letters: rest,
                first,
            });
        }
        let Some(halves) = start.halves() else {
            return Some(Word {
                symbol: table.symbol(b' '),
                left,
                letters,
                first,
            });
        };
        let (letter, rest) = rest.split_first_chunk()?;
        let second = letters::number(letter);
        let behind = self.neighbours.letters.get(Place::of(first, second)?);
        if !behind.is_known() || behind.has_parts() {
            return None;
        }
        let symbol = one(self.alone(table, second, letter))?;
        out.extend_from_slice(&halves);
        Some(Word {
            symbol,
            left: Left::letter(second),
            letters: rest,
            first,
        })
    }

    /// Counts the units of a script: what is looked at for them is asked for as a whole when there
    /// were some.
    #[inline(always)]
    fn note_script(&mut self, table: &MergeTable, script: usize) {
        let n_units = &mut self.n_units[script % N_SCRIPTS];
        *n_units = n_units.saturating_add(1);
        if *n_units == WORTH_ALL {
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
        begun: &mut MergeSeed,
    ) -> bool {
        let Some((mut here, mut end)) = character(unit, 0) else {
            return unit.is_empty();
        };
        let symbols = self.alone(table, here, &unit[..end]);
        let mut start = Start::new(one(symbols), NO_PAIR, [false; 2]);
        let (mut at, mut is_whole) = (0, true);
        if here != u32::from(b' ') {
            begun.meets(here);
        }
        loop {
            let next = character(unit, end);
            if let Some((next, _)) = next {
                begun.meets(next);
            }
            let next_start = self.both(table, cuts, unit, (here, at, end), next);
            if next_start.joins()
                && at == 0
                && let Some((right, right_end)) = next
            {
                let after = character(unit, right_end);
                let after_start = self.both(table, cuts, unit, (right, end, right_end), after);
                if !after_start.has_parts() {
                    is_whole = false;
                    begun.push(next_start.candidate, NO_PAIR);
                    let Some((after, after_end)) = after else {
                        return right_end == unit.len();
                    };
                    begun.meets(after);
                    self.note_joined(table, begun, [right, after], after_start);
                    (here, at, end, start) = (after, right_end, after_end, after_start);
                    continue;
                }
            }
            if let Some([first, second]) = next_start.halves()
                && at == 0
                && let Some((right, right_end)) = next
            {
                let after = character(unit, right_end);
                let after_start = self.both(table, cuts, unit, (right, end, right_end), after);
                if !after_start.has_parts() {
                    begun.push(first, NO_PAIR);
                    begun.push(second, NO_PAIR);
                    let Some((after, after_end)) = after else {
                        return right_end == unit.len();
                    };
                    begun.meets(after);
                    (here, at, end) = (after, right_end, after_end);
                    start = after_start.with_candidate(NO_PAIR);
                    continue;
                }
            }
            let begins = start.begins(next_start);
            let has_room = if let Begins::Whole(symbol) = begins {
                let candidate = if is_whole {
                    start.candidate
                } else {
                    candidate(table, begun, symbol)
                };
                begun.push(symbol, candidate)
            } else {
                let is_bytes = begins == Begins::Bytes;
                self.push_parts(table, is_bytes, here, &unit[at..end], begun)
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

    /// Remembers how what has just begun as two characters in one symbol merges with the character
    /// behind it. `start`: what is known of the right one of the two, and that one.
    fn note_joined(
        &mut self,
        table: &MergeTable,
        begun: &MergeSeed,
        [left, right]: [u32; 2],
        start: Start,
    ) {
        let letters = &mut self.neighbours.letters;
        if Place::of(left, right).is_none() {
            return;
        }
        let place = Place::new(Left::joined(left), right);
        if !letters.get(place).is_known() {
            let [.., first_byte, _] = right.to_be_bytes();
            let symbol = if start.begins_as_bytes() {
                table.symbol(first_byte)
            } else {
                start.symbol()
            };
            let candidate = candidate(table, begun, symbol);
            letters.keep(place, start.with_candidate(candidate));
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
        begun: &mut MergeSeed,
    ) -> bool {
        let mut symbols = if is_bytes {
            [NO_SYMBOL; MOST_SYMBOLS]
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
            let candidate = candidate(table, begun, symbol);
            if !begun.push(symbol, candidate) {
                return false;
            }
        }
        !is_bytes
            || bytes.windows(2).all(|both| {
                let candidate = table.find_bytes(both[0], both[1]);
                begun.push(table.symbol(both[1]), candidate)
            })
    }

    /// What merging the right one of two characters begins with. A character, where it begins and
    /// where it ends; the one behind it and where that ends, if there is one.
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
        // Of two bytes one that is open, or has no symbol, begins as these.
        let begins = match (right_bytes, are_open) {
            (&[first, _], [_, true]) => Some(table.symbol(first)),
            (&[first, _], _) => of_right.or(Some(table.symbol(first))),
            _ => of_right,
        };
        let both = of_left.zip(begins);
        let candidate = both.map_or(NO_PAIR, |(left, right)| pairs.find(left, right));
        let mut start = Start::new(of_right, candidate, are_open);
        if may_have_parts[0] {
            start = start.with_parts();
        }
        if let (&[left], [_, true]) = (left_bytes, are_open) {
            start = match beginning(table, left, right_bytes) {
                Some(Beginning::Joined(symbol)) => start.joining(symbol),
                Some(Beginning::Split(symbols)) => start.split(symbols),
                None => start,
            };
        }
        if !cuts.may_straddle(bytes) {
            start = start.with_cut();
        }
        self.neighbours.keep(left, right, start);
        start
    }

    /// What a character's merges end with when it stands alone.
    #[inline]
    fn alone(&mut self, table: &MergeTable, character: u32, bytes: &[u8]) -> [u32; MOST_SYMBOLS] {
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
    ) -> [u32; MOST_SYMBOLS] {
        let mut ids = Vec::with_capacity(bytes.len());
        merge_scalar::merge_bytes(&table.lookups_of(ScriptSet::of(character)), bytes, &mut ids);
        let mut symbols = [NO_SYMBOL; MOST_SYMBOLS];
        if let Some(room) = symbols.get_mut(..ids.len()) {
            room.copy_from_slice(&ids);
        }
        let there = self.known.get(self.place(character));
        let is_free = there.is_some_and(|known| known.character == 0);
        if !is_free && self.known.len() < MOST_KNOWN {
            let n = (self.known.len() * 4).clamp(FEW_KNOWN, MOST_KNOWN);
            let before = std::mem::replace(&mut self.known, vec![Known::default(); n]);
            for known in before.into_iter().filter(|known| known.character != 0) {
                self.keep(known);
            }
        }
        self.keep(Known { character, symbols });
        symbols
    }

    fn keep(&mut self, known: Known) {
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
fn candidate(table: &MergeTable, begun: &MergeSeed, symbol: u32) -> u32 {
    let last = begun.symbols().last();
    let pairs = table.lookups_of(begun.scripts());
    last.map_or(NO_PAIR, |&last| pairs.find(last, symbol))
}

/// What a byte and the character behind it may begin as.
enum Beginning {
    Joined(u32),
    Split([u32; 2]),
}

/// The symbols that merging these alone ends with, if it is one, and the last merge takes a part of
/// the character: then no merge before has the whole one; or if they are two, the first of which
/// ends within the character.
fn beginning(table: &MergeTable, left: u8, right: &[u8]) -> Option<Beginning> {
    let merged = |bytes: &[u8]| {
        let mut ids = Vec::with_capacity(bytes.len());
        merge_scalar::merge(table, bytes, &mut ids);
        ids
    };
    let one = |bytes: &[u8]| match merged(bytes)[..] {
        [id] => Some(id),
        _ => None,
    };
    let both = [&[left], right].concat();
    let mut sides = (2..both.len()).filter_map(|cut| {
        let (first, last) = both.split_at(cut);
        one(first).zip(one(last))
    });
    match merged(&both)[..] {
        [symbol] => {
            let is_last = |(first, last)| {
                let pair = table.find(first, last);
                pair != NO_PAIR && table.merged(pair >> PLACE_BITS) == symbol
            };
            sides.any(is_last).then_some(Beginning::Joined(symbol))
        }
        [first, second] => {
            let are_these = sides.any(|sides| sides == (first, second));
            are_these.then_some(Beginning::Split([first, second]))
        }
        _ => None,
    }
}

/// The only symbol of a character, if it has one.
fn one(symbols: [u32; MOST_SYMBOLS]) -> Option<u32> {
    let [first, second, _] = symbols;
    (first != NO_SYMBOL && second == NO_SYMBOL).then_some(first)
}

#[cfg(test)]
#[path = "starts_tests.rs"]
mod tests;
