//! Boundaries between two characters of one alphabet: a bit for each pair of them.
//!
//! An alphabet of two-byte characters whose first bytes begin alike (Cyrillic, Arabic) has 256
//! characters. An alphabet of three-byte characters behind 0xE0 (Thai, Devanagari) has 128. The
//! bits of its pairs take 8 KB or 2 KB, stay in near caches and need no hash. No two pairs of an
//! alphabet share a bit.

use std::ops::Range;

use super::Side;

/// Alphabets of two bytes a character, told by three bits of the first byte; two more, and six of
/// the last byte, tell their characters.
const N_OF_TWO: usize = 8;
const BITS_OF_TWO: u32 = 8;
/// Alphabets behind 0xE0, told by four bits of the second byte, which is 0xA0 or more. One more bit
/// and six of the last byte tell their characters.
const N_OF_E0: usize = 16;
const BITS_OF_E0: u32 = 7;
const WORDS_OF_ALL_TWO: usize = N_OF_TWO << (2 * BITS_OF_TWO) >> 6;
pub(super) const WORDS_OF_ALL_E0: usize = N_OF_E0 << (2 * BITS_OF_E0) >> 6;
/// Words of 64 pairs.
pub(super) const N_WORDS: usize = WORDS_OF_ALL_TWO + WORDS_OF_ALL_E0;

/// For each alphabet a bit for each pair of characters that some token may straddle; in each, a row
/// for each left character.
#[derive(Debug, PartialEq)]
pub(super) struct Alphabets {
    /// [`WORDS_OF_ALL_TWO`] words.
    of_two: Vec<u64>,
    /// [`WORDS_OF_ALL_E0`] words.
    of_e0: Vec<u64>,
}

/// An alphabet by its number.
#[derive(Clone, Copy)]
struct Alphabet(usize);

/// Characters of an alphabet: their rows, told by all bytes but the last, and in each of them those
/// whose last byte has a bit.
struct Characters {
    rows: Range<usize>,
    last: u64,
}

impl Characters {
    /// By their places in the alphabet.
    fn places(&self) -> impl Iterator<Item = usize> {
        let of_row = |row: usize| (row << 6..(row + 1) << 6).zip(0..);
        let all = self.rows.clone().flat_map(of_row);
        all.filter(|(_, bit)| self.last >> bit & 1 != 0)
            .map(|(place, _)| place)
    }
}

impl Alphabet {
    fn all() -> impl Iterator<Item = Self> {
        (0..N_OF_TWO + N_OF_E0).map(Self)
    }

    /// As many words as the pairs with one left character have: one for each row.
    fn n_rows(self) -> usize {
        let bits = if self.0 < N_OF_TWO {
            BITS_OF_TWO
        } else {
            BITS_OF_E0
        };
        1 << bits >> 6
    }

    /// Returns the characters of which a token may have this on one side of a boundary, if any.
    fn of_side(self, side: Side<'_>) -> Option<Characters> {
        let is_of_two = self.0 < N_OF_TWO;
        let is_whole = matches!(side, Side::Whole(_));
        let (rows, last) = match (side.bytes(), is_whole, is_of_two) {
            (&[lead @ 0xC0..0xE0, last], true, true) => (self.row(lead)?, Some(last)),
            // With or without the byte before the last two.
            (&[0xE0, second, last], true, false) | (&[second @ 0xA0..0xC0, last], false, false) => {
                (self.row(second)?, Some(last))
            }
            (&[last @ 0x80..0xC0], false, _) => (0..self.n_rows(), Some(last)),
            // Beginnings of a character.
            (&[lead @ 0xC0..0xE0], false, true) => (self.row(lead)?, None),
            (&[0xE0, second], false, false) => (self.row(second)?, None),
            (&[0xE0], false, false) => (0..self.n_rows(), None),
            _ => return None,
        };
        let last = last.map_or(u64::MAX, |last| 1 << (last & 0x3F));
        Some(Characters { rows, last })
    }

    /// The row of characters whose last byte but one is that, if they are of this alphabet.
    fn row(self, byte: u8) -> Option<Range<usize>> {
        let number = self.0.checked_sub(N_OF_TWO).unwrap_or(self.0);
        let (of_byte, n_rows) = (usize::from(byte & 0x1F), self.n_rows());
        let row = of_byte % n_rows;
        (of_byte / n_rows == number).then_some(row..row + 1)
    }
}

/// Index among characters with as many bytes: five bits of the last byte but one, six of the last.
#[inline(always)]
fn index(character: u32) -> usize {
    (character >> 2 & 0x7C0 | character & 0x3F) as usize
}

/// Returns the bit of a pair of two-byte characters; None if they are not of one alphabet.
#[inline(always)]
fn place_of_two(left: u32, right: u32) -> Option<usize> {
    let is_one = (0x8000..0x1_0000).contains(&right) && (left ^ right) < 0x400;
    is_one.then(|| index(left) << BITS_OF_TWO | index(right) & ((1 << BITS_OF_TWO) - 1))
}

/// Returns the bit of a pair of characters of three bytes behind 0xE0.
#[inline(always)]
fn place_of_e0(left: u32, right: u32) -> Option<usize> {
    let is_one = right >> 16 == 0xE0 && (left ^ right) < 0x200;
    is_one.then(|| index(left) << BITS_OF_E0 | index(right) & ((1 << BITS_OF_E0) - 1))
}

impl Alphabets {
    pub(super) fn new() -> Self {
        Self {
            of_two: vec![0; WORDS_OF_ALL_TWO],
            of_e0: vec![0; WORDS_OF_ALL_E0],
        }
    }

    /// [`N_WORDS`] words.
    pub(super) fn bits(&self) -> impl Iterator<Item = u64> {
        self.of_two.iter().chain(self.of_e0.iter()).copied()
    }

    /// Builds the bitmaps from [`Self::bits`]; None of another number of words.
    pub(super) fn from_bits(bits: &[u64]) -> Option<Self> {
        let (of_two, of_e0) = bits.split_at_checked(WORDS_OF_ALL_TWO)?;
        (of_e0.len() == WORDS_OF_ALL_E0).then(|| Self {
            of_two: of_two.to_vec(),
            of_e0: of_e0.to_vec(),
        })
    }

    /// A token has two whole characters.
    pub(super) fn insert(&mut self, left: u32, right: u32) {
        if let Some(place) = place_of_two(left, right) {
            self.of_two[place >> 6] |= 1 << (place & 63);
        } else if let Some(place) = place_of_e0(left, right) {
            self.of_e0[place >> 6] |= 1 << (place & 63);
        }
    }

    /// A token has a part of at least one of two characters.
    pub(super) fn insert_parts(&mut self, before: Side<'_>, after: Side<'_>) {
        for alphabet in Alphabet::all() {
            if let Some(lefts) = alphabet.of_side(before)
                && let Some(rights) = alphabet.of_side(after)
            {
                let n_rows = alphabet.n_rows();
                let words = self.of_mut(alphabet);
                for left in lefts.places() {
                    let rows = &mut words[left * n_rows..(left + 1) * n_rows];
                    rows[rights.rows.clone()]
                        .iter_mut()
                        .for_each(|row| *row |= rights.last);
                }
            }
        }
    }

    /// The pairs of an alphabet.
    fn of_mut(&mut self, Alphabet(number): Alphabet) -> &mut [u64] {
        match number.checked_sub(N_OF_TWO) {
            None => {
                let n = WORDS_OF_ALL_TWO / N_OF_TWO;
                &mut self.of_two[number * n..(number + 1) * n]
            }
            Some(number) => {
                let n = WORDS_OF_ALL_E0 / N_OF_E0;
                &mut self.of_e0[number * n..(number + 1) * n]
            }
        }
    }

    /// True if some token may straddle the boundary between two characters; None if they are not of
    /// one alphabet.
    #[inline(always)]
    pub(super) fn straddled(&self, left: u32, right: u32) -> Option<bool> {
        let (bits, place) = match place_of_two(left, right) {
            Some(place) => (&self.of_two, place),
            None => (&self.of_e0, place_of_e0(left, right)?),
        };
        Some(bits.get(place >> 6)? >> (place & 63) & 1 != 0)
    }

    /// The pairs of the alphabets behind 0xE0: a row of 128 for each left character.
    #[inline(always)]
    pub(super) fn of_e0(&self) -> Option<&[u64; WORDS_OF_ALL_E0]> {
        self.of_e0.first_chunk()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::bpe::cuts::joined;

    /// All characters that an alphabet may be of, and some of other lengths.
    fn characters() -> impl Iterator<Item = char> {
        ('\u{7E}'..'\u{1080}').chain(['日', '😀'])
    }

    fn number(character: char) -> u32 {
        joined(character.encode_utf8(&mut [0; 4]).as_bytes())
    }

    /// Each character with its number, and what is asked about it.
    fn of_each(is_of: &dyn Fn(&str) -> bool) -> Vec<(char, u32, bool)> {
        characters()
            .map(|one| (one, number(one), is_of(&one.to_string())))
            .collect()
    }

    #[test]
    fn each_pair_of_an_alphabet_has_a_bit_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for left in characters() {
            for right in characters() {
                let numbers = (number(left), number(right));
                let of_two = place_of_two(numbers.0, numbers.1);
                let of_e0 = place_of_e0(numbers.0, numbers.1);
                assert!(of_two.is_none() || of_e0.is_none());
                if of_two.is_some() || of_e0.is_some() {
                    assert!(seen.insert((of_two, of_e0)), "{left}{right}");
                    assert_eq!(left.len_utf8(), right.len_utf8());
                }
            }
        }
        for (left, right, is_one) in [
            ('б', 'ю', true),
            ('ก', 'ไ', true),
            ('б', 'é', false),
            ('ก', 'क', false),
            ('日', '本', false),
        ] {
            let straddled = Alphabets::new().straddled(number(left), number(right));
            assert_eq!(straddled, is_one.then_some(false), "{left}{right}");
        }
    }

    #[test]
    fn parts_are_of_all_characters_that_have_them() {
        let sides =
            |text: &'static str, part: std::ops::Range<usize>| Side::Part(&text.as_bytes()[part]);
        for (before, after) in [
            (Side::Whole("ก".as_bytes()), sides("ข", 0..1)),
            (Side::Whole("ก".as_bytes()), sides("ข", 0..2)),
            (sides("ก", 1..3), Side::Whole("ข".as_bytes())),
            (sides("ก", 2..3), Side::Whole("ข".as_bytes())),
            (sides("ก", 2..3), sides("ข", 0..1)),
            (sides("б", 1..2), sides("ю", 0..1)),
            (sides("б", 1..2), Side::Whole("ю".as_bytes())),
            (Side::Whole("б".as_bytes()), sides("ю", 0..1)),
            (sides("😀", 1..4), sides("ю", 0..1)),
        ] {
            let mut alphabets = Alphabets::new();
            alphabets.insert_parts(before, after);
            let is_of = |side, has: &dyn Fn(&[u8]) -> bool, character: &str| match side {
                Side::Whole(bytes) => bytes == character.as_bytes(),
                Side::Part(part) => has(part),
            };
            let lefts =
                of_each(&|left| is_of(before, &|part| left.as_bytes().ends_with(part), left));
            let rights =
                of_each(&|right| is_of(after, &|part| right.as_bytes().starts_with(part), right));
            for &(left, left_number, is_left) in &lefts {
                for &(right, right_number, is_right) in &rights {
                    let straddled = alphabets.straddled(left_number, right_number);
                    assert!(
                        straddled.is_none_or(|straddled| straddled == (is_left && is_right)),
                        "{left}{right}"
                    );
                }
            }
        }
    }
}
