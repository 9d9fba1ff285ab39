//! Characters of one, two or four bytes each to UTF-8.
//!
//! So Python keeps its strings. Half a surrogate pair, which a `str` may hold, becomes the three bytes that its number would have: these are
//! not UTF-8, and the place at which the text stops being one is found by looking at what was written. That is looked at only where a number
//! was no character's: what is made of characters needs no check.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod text;

pub use text::to_text;

use crate::huge::prefer_huge_pages;
use crate::simd::{Kernel, Work, run_wide};

/// Characters that are written together.
const AT_ONCE: usize = 16;
/// Room for them, whatever their widths.
const MOST_BYTES: usize = AT_ONCE * 4;
/// Characters that room is made for at a time. Made for all of a text, it would be filled with zeros for three or four
/// bytes for each character, where most have one: a fifth of the time that a text of 12 MB takes.
const ROOM_AT_ONCE: usize = 1 << 14;
/// Characters of a text that is long enough for huge pages.
const LONG_TEXT: usize = 1 << 20;

/// A character as it is kept.
pub trait Unit: Copy {
    /// Most bytes of UTF-8 that one becomes.
    const MAX_BYTES: usize;

    /// Its number.
    fn number(self) -> u32;
}

impl Unit for u8 {
    const MAX_BYTES: usize = 2;

    #[inline]
    fn number(self) -> u32 {
        u32::from(self)
    }
}

impl Unit for u16 {
    const MAX_BYTES: usize = 3;

    #[inline]
    fn number(self) -> u32 {
        u32::from(self)
    }
}

impl Unit for u32 {
    const MAX_BYTES: usize = 4;

    #[inline]
    fn number(self) -> u32 {
        self
    }
}

/// What was written at the beginning of room.
struct Written {
    n_bytes: usize,
    /// Whether all numbers are those of characters.
    is_text: bool,
}

/// What tells whether all numbers are those of characters. Kept for each place of a block: vectors do it, as they would not for
/// yes or no, and only at the end what the places have is put together.
struct Extremes {
    /// Zero if half a surrogate pair was there.
    least: [u32; AT_ONCE],
    most: [u32; AT_ONCE],
}

impl Extremes {
    fn none() -> Self {
        Self {
            least: [u32::MAX; AT_ONCE],
            most: [0; AT_ONCE],
        }
    }

    #[inline(always)]
    fn note(&mut self, block: &[u32; AT_ONCE]) {
        let places = self.least.iter_mut().zip(&mut self.most);
        for ((least, most), &number) in places.zip(block) {
            *least = (*least).min((number ^ 0xD800) & 0xFFFF_F800);
            *most = (*most).max(number);
        }
    }

    fn are_those_of_text(&self) -> bool {
        !self.least.contains(&0) && self.most.iter().all(|&most| most <= 0x10_FFFF)
    }
}

fn to_utf8<U: Unit>(characters: &[U], room: &mut Vec<u8>) -> Written {
    if characters.len() > LONG_TEXT && room.is_empty() {
        // Only what is written to is taken from the system.
        room.reserve(characters.len().saturating_mul(U::MAX_BYTES));
        prefer_huge_pages(room);
    }
    let kernel = Kernel::fastest();
    let (mut at, mut is_text) = (0, true);
    for some in characters.chunks(ROOM_AT_ONCE) {
        let needed = at + some.len() * U::MAX_BYTES + MOST_BYTES;
        if room.len() < needed {
            room.resize(needed, 0);
        }
        let written = run_wide(
            kernel,
            Write {
                kernel,
                some,
                room: &mut room[at..],
            },
        );
        at += written.n_bytes;
        is_text &= written.is_text;
    }
    Written {
        n_bytes: at,
        is_text,
    }
}

/// Writes characters to the beginning of room that suffices.
struct Write<'a, U> {
    kernel: Kernel,
    some: &'a [U],
    room: &'a mut [u8],
}

impl<U: Unit> Work for Write<'_, U> {
    type Output = Written;

    #[inline(always)]
    fn run(self) -> Written {
        let Self { kernel, some, room } = self;
        let mut at = 0;
        let mut extremes = Extremes::none();
        let (blocks, rest) = some.as_chunks();
        for block in blocks {
            if let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                let block = block.map(U::number);
                // Of these very numbers, whatever the type: that what is written is UTF-8 rests on it.
                extremes.note(&block);
                at += kernel.write(&block, place);
            }
        }
        if let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            // What the rest lacks of a block are zeros, a byte each.
            let mut block = [0; AT_ONCE];
            for (number, unit) in block.iter_mut().zip(rest) {
                *number = unit.number();
            }
            extremes.note(&block);
            at += kernel.write(&block, place) - (AT_ONCE - rest.len());
        }
        Written {
            n_bytes: at,
            is_text: extremes.are_those_of_text(),
        }
    }
}

impl Kernel {
    /// Writes characters as UTF-8 and returns how many bytes they are; what is behind them is overwritten.
    #[inline(always)]
    fn write(self, block: &[u32; AT_ONCE], place: &mut [u8; MOST_BYTES]) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::call_write(block, place),
            _ => write(block, place),
        }
    }
}

/// Without branches, except where all are ASCII, as in most texts: which widths follow one another cannot be predicted.
#[inline(always)]
fn write(block: &[u32; AT_ONCE], place: &mut [u8; MOST_BYTES]) -> usize {
    if block.iter().fold(0, |all, number| all | number) < 0x80 {
        for (place, &number) in place.iter_mut().zip(block) {
            *place = number as u8;
        }
        return AT_ONCE;
    }
    // First all of them, which vectors do; then only where they go has to wait for the one before.
    let all = block.map(encoded);
    let mut at = 0;
    for (bytes, width) in all {
        if let Some(place) = place.get_mut(at..at + 4) {
            place.copy_from_slice(&bytes.to_le_bytes());
        }
        at += width as usize;
    }
    at
}

/// The bytes of a character, the first one lowest, and how many count.
#[inline(always)]
fn encoded(number: u32) -> (u32, u32) {
    let last = 0x80 | number & 0x3F;
    let last_but_one = 0x80 | number >> 6 & 0x3F;
    let two = 0xC0 | number >> 6 | last << 8;
    let three = 0xE0 | number >> 12 | last_but_one << 8 | last << 16;
    let four = 0xF0
        | number >> 18 & 7
        | (0x80 | number >> 12 & 0x3F) << 8
        | last_but_one << 16
        | last << 24;
    let least = [0x80, 0x800, 0x1_0000].map(|least| u32::from(number >= least));
    let bytes = if number < 0x800 { two } else { three };
    let bytes = if number < 0x80 { number } else { bytes };
    let bytes = if number < 0x1_0000 { bytes } else { four };
    (bytes, 1 + least[0] + least[1] + least[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::simd::Level;
    use proptest::prelude::*;

    fn written<U: Unit>(characters: &[U]) -> Vec<u8> {
        // What was written before must not show.
        let mut room = vec![0xFF; 40];
        let Written { n_bytes, is_text } = to_utf8(characters, &mut room);
        room.truncate(n_bytes);
        assert_eq!(is_text, std::str::from_utf8(&room).is_ok());
        room
    }

    #[test]
    fn a_surrogate_is_where_the_text_ends() {
        let mut characters: Vec<u16> = "aé中".encode_utf16().collect();
        characters.push(0xD800);
        characters.push(u16::from(b'z'));
        let bytes = written(&characters);
        assert_eq!(bytes, b"a\xC3\xA9\xE4\xB8\xAD\xED\xA0\x80z");
        assert_eq!(std::str::from_utf8(&bytes).unwrap_err().valid_up_to(), 6);
        let wide: Vec<u32> = characters.iter().map(|&unit| u32::from(unit)).collect();
        assert_eq!(written(&wide), bytes);
        let error = to_text(&wide, &mut Vec::new()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidUtf8 { byte_offset: 6 }),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_characters_number_is_an_error_wherever_it_is() {
        for odd in [0xD800_u32, 0xDFFF, 0x11_0000, u32::MAX] {
            for at in 0..40 {
                let mut numbers = vec![0x4E2D; 40];
                assert!(to_text(&numbers, &mut Vec::new()).is_ok());
                numbers[at] = odd;
                assert!(to_text(&numbers, &mut Vec::new()).is_err(), "{odd} {at}");
            }
        }
        for even in [0xD7FF_u32, 0xE000, 0x10_FFFF] {
            assert!(to_text(&[even; 40], &mut Vec::new()).is_ok(), "{even}");
        }
    }

    #[test]
    fn room_is_made_as_it_is_needed() {
        let text = "aé中 and more ".repeat(LONG_TEXT / 10);
        let units: Vec<u16> = text.encode_utf16().collect();
        assert!(units.len() > LONG_TEXT);
        assert!(written(&units) == text.as_bytes());
        let mut room = Vec::new();
        assert!(to_text(&units, &mut room).unwrap() == text);
        assert!(room.len() < text.len() + 3 * ROOM_AT_ONCE + 2 * MOST_BYTES);
    }

    proptest! {
        /// Surrogates and all.
        #[test]
        fn every_kernel_writes_the_same(
            numbers in prop::array::uniform16(prop_oneof![0..0x80u32, 0x80..0x800u32, 0x800..0x1_0000u32, 0..0x11_0000u32]),
        ) {
            let of = |kernel: Kernel| {
                let mut place = [0xFF; MOST_BYTES];
                let n = kernel.write(&numbers, &mut place);
                place[..n].to_vec()
            };
            let expected: Vec<u8> = numbers
                .iter()
                .flat_map(|&number| {
                    let (bytes, width) = encoded(number);
                    bytes.to_le_bytes().into_iter().take(width as usize)
                })
                .collect();
            for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
                prop_assert_eq!(of(kernel), &expected[..]);
            }
        }

        /// The standard library writes the same.
        #[test]
        fn is_what_the_standard_library_writes(
            text in "(\\PC|[a-z ]{0,30}|[\\x{80}-\\x{FF}]|[\\x{400}-\\x{4FF}]{0,20}|[\\x{4E00}-\\x{9FFF}]{0,20}){0,40}"
        ) {
            let wide: Vec<u32> = text.chars().map(u32::from).collect();
            prop_assert_eq!(written(&wide), text.as_bytes());
            let basic: String = text.chars().filter(|&c| c < '\u{10000}').collect();
            let units: Vec<u16> = basic.encode_utf16().collect();
            prop_assert_eq!(written(&units), basic.as_bytes());
            let latin: String = text.chars().filter(|&c| c < '\u{100}').collect();
            let bytes: Vec<u8> = latin.chars().map(|c| c as u8).collect();
            prop_assert_eq!(written(&bytes), latin.as_bytes());
        }
    }
}
