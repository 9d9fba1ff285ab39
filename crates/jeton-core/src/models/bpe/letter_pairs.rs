//! What is known of two letters of one alphabet of two bytes a letter: a row for each left one, and
//! a place in it for each right one.
//!
//! The letters of a language lie beside each other in its alphabet, and so do what is known of
//! them: forty of Arabic have 13 KB, which stay near, where places told by a hash are all over 64
//! KB. Nor has anything to be guessed: a pair has one place.

use super::cuts::script_bitmaps::{BITS_OF_TWO, N_OF_TWO, index};
use super::neighbours::Start;

const SPACE: u32 = b' ' as u32;

/// Letters of an alphabet.
const N_LETTERS: usize = 1 << BITS_OF_TWO;
/// So many rows there are at most, 256 KB. The first one is of those of which nothing is known.
const MOST_ROWS: usize = 128;

/// What may be left of a letter: a letter, a letter and the space before it as one symbol, a space
/// before a letter of each alphabet.
const JOINED: usize = N_OF_TWO << BITS_OF_TWO;
const SPACES: usize = 2 * JOINED;
const N_LEFT: usize = SPACES + N_OF_TWO;
const N_ROWS: usize = N_LEFT.next_power_of_two();

/// What is left of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Left(usize);

impl Left {
    #[inline(always)]
    pub(super) fn letter(letter: u32) -> Self {
        Self(index(letter))
    }

    /// A letter and the space before it, which are one symbol.
    #[inline(always)]
    pub(super) fn joined(letter: u32) -> Self {
        Self(JOINED + index(letter))
    }

    /// A space before a letter.
    #[inline(always)]
    pub(super) fn space(letter: u32) -> Self {
        Self(SPACES + (index(letter) >> BITS_OF_TWO))
    }
}

/// A letter behind what is of the same alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    left: Left,
    /// By its place in the alphabet.
    right: usize,
}

impl Place {
    #[inline(always)]
    pub(super) fn new(left: Left, right: u32) -> Self {
        let right = index(right) % N_LETTERS;
        Self { left, right }
    }

    /// Of two characters, by their bytes.
    #[inline(always)]
    pub(super) fn of(left: u32, right: u32) -> Option<Self> {
        if !is_letter(right) {
            return None;
        }
        let left = match left {
            SPACE => Left::space(right),
            _ if is_of_one_alphabet(left ^ right) => Left::letter(left),
            _ => return None,
        };
        Some(Self::new(left, right))
    }
}

/// True if a character, by its bytes, is one of two bytes.
#[inline(always)]
pub(super) fn is_letter(character: u32) -> bool {
    character & 0xFFFF_E0C0 == 0xC080
}

/// True if a letter is of the same alphabet as others, by the bits in which it differs.
#[inline(always)]
pub(super) fn is_of_one_alphabet(differ: u32) -> bool {
    differ & !0x033F == 0
}

/// What is known of such pairs.
#[derive(Debug, Default)]
pub(super) struct LetterPairs {
    /// The row of what is left. None of these before the first pair.
    rows: Option<Box<[u8; N_ROWS]>>,
    /// [`N_LETTERS`] to a row; of what nothing is known the default.
    starts: Vec<Start>,
}

impl LetterPairs {
    /// What is known of a pair; the default if nothing is.
    #[inline(always)]
    pub(super) fn get(&self, place: Place) -> Start {
        let Some(rows) = &self.rows else {
            return Start::default();
        };
        let row = rows[place.left.0 % N_ROWS];
        let start = self.starts.get(usize::from(row) * N_LETTERS + place.right);
        start.copied().unwrap_or_default()
    }

    /// Remembers it; false if there is no room for another row.
    pub(super) fn keep(&mut self, place: Place, start: Start) -> bool {
        let rows = self.rows.get_or_insert_with(|| Box::new([0; N_ROWS]));
        let row = &mut rows[place.left.0 % N_ROWS];
        if *row == 0 {
            let n = (self.starts.len() / N_LETTERS).max(1);
            if n == MOST_ROWS {
                return false;
            }
            *row = n as u8;
            self.starts.resize((n + 1) * N_LETTERS, Start::default());
        }
        self.starts[usize::from(*row) * N_LETTERS + place.right] = start;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::table::NO_PAIR;
    use super::*;

    fn number(character: char) -> u32 {
        let bytes = character.to_string().into_bytes();
        bytes
            .iter()
            .fold(0, |number, &byte| number << 8 | u32::from(byte))
    }

    /// The letters from one on.
    fn letters(first: u32, n: u32) -> impl Iterator<Item = u32> + Clone {
        (first..first + n).filter_map(char::from_u32).map(number)
    }

    #[test]
    fn pairs_of_one_alphabet_have_places_of_their_own() {
        let mut places = BTreeSet::new();
        let mut n = 0;
        for (first, size) in [(0x80, 0x80), (0x400, 0x100), (0x600, 0x100)] {
            for right in letters(first, size) {
                for left in letters(first, size).chain([SPACE]) {
                    places.insert(Place::of(left, right).unwrap());
                    n += 1;
                }
                for left in letters(first, size) {
                    places.insert(Place::new(Left::joined(left), right));
                    n += 1;
                }
            }
        }
        assert_eq!(places.len(), n);
        assert!(
            places
                .iter()
                .all(|place| place.left.0 < N_LEFT && place.right < N_LETTERS)
        );
        for (left, right) in [
            ('б', 'é'),
            ('б', 'ก'),
            ('ก', 'ไ'),
            ('a', 'б'),
            ('б', ' '),
            ('日', '本'),
            ('a', 'b'),
            ('😀', '😀'),
        ] {
            let place = Place::of(number(left), number(right));
            assert_eq!(place, None, "{left}{right}");
        }
    }

    #[test]
    fn what_is_known_was_kept_as_long_as_there_is_room() {
        let (mut pairs, mut kept) = (LetterPairs::default(), BTreeMap::new());
        let mut n_without_room = 0;
        for left in letters(0x80, 0x780) {
            let place = Place::of(left, left).unwrap();
            assert_eq!(pairs.get(place), Start::default());
            let start = Start::new(Some(left), NO_PAIR, [false; 2]);
            if pairs.keep(place, start) {
                kept.insert(left, start);
            } else {
                n_without_room += 1;
            }
        }
        assert_eq!(kept.len(), MOST_ROWS - 1);
        assert_eq!(n_without_room, 0x780 - kept.len());
        for left in letters(0x80, 0x780) {
            let known = pairs.get(Place::of(left, left).unwrap());
            assert_eq!(known, kept.get(&left).copied().unwrap_or_default());
        }
    }
}
