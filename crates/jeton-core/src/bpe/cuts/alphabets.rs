//! Boundaries between two characters of one alphabet: a bit for each pair of them.
//!
//! Characters of two bytes whose first bytes begin alike, Cyrillic or Arabic, are 256; those of three bytes behind 0xE0, Thai or
//! Devanagari, are 128. So all of their pairs have 8 KB or 2 KB, which stay near, and are found without a hash; nor is any pair of an
//! alphabet taken for another one.

use super::{Side, continues};

/// Alphabets of two bytes a character, told by three bits of the first byte; two more, and six of the last byte, tell their characters.
const N_OF_TWO: usize = 8;
const BITS_OF_TWO: u32 = 8;
/// Those behind 0xE0, told by four bits of the second byte, which is 0xA0 or more; one more, and six of the last byte, tell their
/// characters.
const N_OF_E0: usize = 16;
const BITS_OF_E0: u32 = 7;
const WORDS_OF_ALL_TWO: usize = N_OF_TWO << (2 * BITS_OF_TWO) >> 6;
pub(super) const WORDS_OF_ALL_E0: usize = N_OF_E0 << (2 * BITS_OF_E0) >> 6;
/// Words of 64 pairs.
pub(super) const N_WORDS: usize = WORDS_OF_ALL_TWO + WORDS_OF_ALL_E0;

/// For each alphabet a bit for each pair of characters that some token may straddle; in each, a row for each left character.
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

impl Alphabet {
    fn all() -> impl Iterator<Item = Self> {
        (0..N_OF_TWO + N_OF_E0).map(Self)
    }

    fn n_characters(self) -> usize {
        1 << if self.0 < N_OF_TWO {
            BITS_OF_TWO
        } else {
            BITS_OF_E0
        }
    }

    /// The bytes of a character, with as many of them as it has. Not all are characters.
    fn bytes(self, index: usize) -> ([u8; 3], usize) {
        let last = 0x80 | index as u8 & 0x3F;
        let row = (index >> 6) as u8;
        match self.0.checked_sub(N_OF_TWO) {
            None => ([0xC0 | (self.0 as u8) << 2 | row, last, 0], 2),
            Some(number) => ([0xE0, 0xA0 | (number as u8) << 1 | row, last], 3),
        }
    }

    /// The characters of which a token has this on one side of a boundary.
    fn of_side(self, side: Side<'_>) -> impl Iterator<Item = usize> {
        let is_of = move |index: &usize| {
            let (bytes, len) = self.bytes(*index);
            let bytes = &bytes[..len];
            match side {
                Side::Whole(character) => bytes == character,
                // What remains of a character, or what there is of it so far.
                Side::Part(part) if continues(part[0]) => bytes.ends_with(part),
                Side::Part(part) => bytes.starts_with(part),
            }
        };
        (0..self.n_characters()).filter(is_of)
    }
}

/// What tells a character from others with as many bytes: five bits of the last but one, six of the last one.
#[inline(always)]
fn index(character: u32) -> usize {
    (character >> 2 & 0x7C0 | character & 0x3F) as usize
}

/// Which bit a pair of characters of two bytes has; None if they are not of one alphabet.
#[inline(always)]
fn place_of_two(left: u32, right: u32) -> Option<usize> {
    let is_one = (0x8000..0x1_0000).contains(&right) && (left ^ right) < 0x400;
    is_one.then(|| index(left) << BITS_OF_TWO | index(right) & ((1 << BITS_OF_TWO) - 1))
}

/// The same of characters of three bytes behind 0xE0.
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

    /// What [`Self::bits`] gave; None of another number of words.
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
            let number = |index| {
                let (bytes, len) = alphabet.bytes(index);
                super::joined(&bytes[..len])
            };
            let rights: Vec<usize> = alphabet.of_side(after).collect();
            if rights.is_empty() {
                continue;
            }
            for left in alphabet.of_side(before) {
                for &right in &rights {
                    self.insert(number(left), number(right));
                }
            }
        }
    }

    /// Whether some token may straddle the boundary between two characters; None if they are not of one alphabet.
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
    use crate::bpe::cuts::joined;

    /// All characters that an alphabet may be of, and some of other lengths.
    fn characters() -> impl Iterator<Item = char> {
        ('\u{7E}'..'\u{1080}').chain(['日', '😀'])
    }

    fn number(character: char) -> u32 {
        joined(character.encode_utf8(&mut [0; 4]).as_bytes())
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
            for left in characters() {
                for right in characters() {
                    let (left, right) = (left.to_string(), right.to_string());
                    let is_of = |side, has: &dyn Fn(&[u8]) -> bool, character: &str| match side {
                        Side::Whole(bytes) => bytes == character.as_bytes(),
                        Side::Part(part) => has(part),
                    };
                    let expected = is_of(before, &|part| left.as_bytes().ends_with(part), &left)
                        && is_of(after, &|part| right.as_bytes().starts_with(part), &right);
                    let numbers = [&left, &right].map(|one| joined(one.as_bytes()));
                    let straddled = alphabets.straddled(numbers[0], numbers[1]);
                    assert!(
                        straddled.is_none_or(|straddled| straddled == expected),
                        "{left}{right}"
                    );
                }
            }
        }
    }
}
