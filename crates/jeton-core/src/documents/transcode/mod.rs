//! Characters of one, two or four bytes each to UTF-8.
//!
//! So Python keeps its strings. A `str` may hold half a surrogate pair. It becomes the three bytes
//! of its number, which are not UTF-8. A look at the written bytes then finds the place of the
//! error. That is looked at only where a number was no character's: what is made of characters
//! needs no check.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod text;

pub use text::to_text;

use crate::cpu::dispatch::{Kernel, Work, run_wide};
use crate::memory::huge_pages::prefer_huge_pages;

/// Characters that are written together.
const BLOCK_CHARACTERS: usize = 16;
/// Room for them, whatever their widths.
const MAX_BLOCK_BYTES: usize = BLOCK_CHARACTERS * 4;
/// Characters that room is made for at a time. Room for a whole text would be filled with zeros for
/// three or four bytes a character, though most characters need one. Half and twice as many do the
/// same (docs/log/2026-11-28-tuning-constants.md).
const ROOM_CHARACTERS: usize = 1 << 14;
/// Characters of a text that is long enough for huge pages.
const LONG_TEXT: usize = 1 << 20;

/// A character as it is kept.
pub trait Unit: Copy {
    /// Most bytes of UTF-8 that one becomes.
    const MAX_BYTES: usize;

    /// Its number.
    fn number(self) -> u32;

    /// Characters of this class, as UTF-8.
    fn kept(characters: &[Self]) -> Kept<'_>;
}

/// Characters, by how many bytes each is kept in.
#[derive(Clone, Copy)]
pub enum Kept<'a> {
    /// Numbers below 0x100.
    One(&'a [u8]),
    /// Numbers below 0x10000.
    Two(&'a [u16]),
    /// Any numbers.
    Four(&'a [u32]),
}

impl Unit for u8 {
    const MAX_BYTES: usize = 2;

    #[inline]
    fn number(self) -> u32 {
        u32::from(self)
    }

    #[inline]
    fn kept(characters: &[Self]) -> Kept<'_> {
        Kept::One(characters)
    }
}

impl Unit for u16 {
    const MAX_BYTES: usize = 3;

    #[inline]
    fn number(self) -> u32 {
        u32::from(self)
    }

    #[inline]
    fn kept(characters: &[Self]) -> Kept<'_> {
        Kept::Two(characters)
    }
}

impl Unit for u32 {
    const MAX_BYTES: usize = 4;

    #[inline]
    fn number(self) -> u32 {
        self
    }

    #[inline]
    fn kept(characters: &[Self]) -> Kept<'_> {
        Kept::Four(characters)
    }
}

/// Bytes written at the beginning of the room.
struct Written {
    n_bytes: usize,
    /// True if each number is a character's.
    is_text: bool,
}

fn to_utf8<U: Unit>(characters: &[U], room: &mut Vec<u8>) -> Written {
    if characters.len() > LONG_TEXT && room.is_empty() {
        // Only what is written to is taken from the system.
        room.reserve(characters.len().saturating_mul(U::MAX_BYTES));
        prefer_huge_pages(room);
    }
    let kernel = Kernel::fastest();
    let (mut at, mut is_text) = (0, true);
    for some in characters.chunks(ROOM_CHARACTERS) {
        let needed = at + some.len() * U::MAX_BYTES + MAX_BLOCK_BYTES;
        if room.len() < needed {
            room.resize(needed, 0);
        }
        let written = write_all(kernel, some, &mut room[at..]);
        at += written.n_bytes;
        is_text &= written.is_text;
    }
    Written {
        n_bytes: at,
        is_text,
    }
}

/// Writes characters to the beginning of room that suffices; what is behind them there is
/// overwritten.
fn write_all<U: Unit>(kernel: Kernel, characters: &[U], room: &mut [u8]) -> Written {
    #[cfg(target_arch = "x86_64")]
    if let Kernel::Avx512(_) = kernel {
        return avx512::call_write(U::kept(characters), room);
    }
    let (blocks, rest) = characters.as_chunks();
    let mut written = run_wide(kernel, Write(blocks, room));
    if !rest.is_empty()
        && let Some(room) = room.get_mut(written.n_bytes..)
    {
        // The rest of the block is filled with zeros, a byte each.
        let mut block = [0u32; BLOCK_CHARACTERS];
        for (number, unit) in block.iter_mut().zip(rest) {
            *number = unit.number();
        }
        let last = run_wide(kernel, Write(&[block], room));
        written.n_bytes += last.n_bytes - (BLOCK_CHARACTERS - rest.len());
        written.is_text &= last.is_text;
    }
    written
}

/// Writes blocks of characters.
struct Write<'a, U>(&'a [[U; BLOCK_CHARACTERS]], &'a mut [u8]);

impl<U: Unit> Work for Write<'_, U> {
    type Output = Written;

    #[inline(always)]
    fn run(self) -> Written {
        let Self(blocks, room) = self;
        let mut at = 0;
        let mut is_text = true;
        for block in blocks {
            let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else {
                break;
            };
            if block.iter().fold(0, |all, unit| all | unit.number()) < 0x80 {
                at += write_ascii(block, place);
                continue;
            }
            // `write` gets the very numbers that were checked, whatever the type: its output is
            // UTF-8 only then.
            let mut numbers = [0; BLOCK_CHARACTERS];
            for (number, unit) in numbers.iter_mut().zip(block) {
                *number = unit.number();
            }
            is_text &= are_those_of_text(&numbers);
            at += write(&numbers, place);
        }
        Written {
            n_bytes: at,
            is_text,
        }
    }
}

/// True if each number is a character's: none is half a surrogate pair or too large. Without
/// branches, for vectors.
#[inline(always)]
fn are_those_of_text(numbers: &[u32; BLOCK_CHARACTERS]) -> bool {
    let odd = numbers.iter().fold(0, |odd, &number| {
        odd | u32::from(number & 0xFFFF_F800 == 0xD800) | u32::from(number > 0x10_FFFF)
    });
    odd == 0
}

#[inline(always)]
fn write_ascii<U: Unit>(block: &[U; BLOCK_CHARACTERS], place: &mut [u8; MAX_BLOCK_BYTES]) -> usize {
    for (place, unit) in place.iter_mut().zip(block) {
        *place = unit.number() as u8;
    }
    BLOCK_CHARACTERS
}

/// Without branches: which widths follow one another cannot be predicted.
#[inline(always)]
fn write(block: &[u32; BLOCK_CHARACTERS], place: &mut [u8; MAX_BLOCK_BYTES]) -> usize {
    // First all of them, which vectors do; then only where they go has to wait for the one before.
    // Not by `map`, which is a call of its own, compiled for every machine.
    let (mut all, mut widths) = ([0; BLOCK_CHARACTERS], [0; BLOCK_CHARACTERS]);
    for (n, &number) in block.iter().enumerate() {
        (all[n], widths[n]) = encoded(number);
    }
    let mut at = 0;
    for (bytes, width) in all.iter().zip(widths) {
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
    use std::fmt::Debug;

    use super::*;
    use crate::cpu::dispatch::Level;
    use crate::error::ErrorKind;
    use proptest::prelude::*;

    fn written<U: Unit>(characters: &[U]) -> Vec<u8> {
        // Earlier contents must not show.
        let mut room = vec![0xFF; 40];
        let Written { n_bytes, is_text } = to_utf8(characters, &mut room);
        room.truncate(n_bytes);
        assert_eq!(is_text, std::str::from_utf8(&room).is_ok());
        room
    }

    fn as_each_alone<U: Unit + Debug>(characters: &[U]) -> Result<(), TestCaseError> {
        let mut expected: Vec<u8> = Vec::new();
        let mut is_text = true;
        for unit in characters {
            let (bytes, width) = encoded(unit.number());
            expected.extend(&bytes.to_le_bytes()[..width as usize]);
            is_text &= char::from_u32(unit.number()).is_some();
        }
        for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
            let mut room = vec![0xFF; characters.len() * U::MAX_BYTES + MAX_BLOCK_BYTES];
            let written = write_all(kernel, characters, &mut room);
            prop_assert_eq!(&room[..written.n_bytes], &expected[..]);
            prop_assert_eq!(written.is_text, is_text);
        }
        Ok(())
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
        assert!(room.len() < text.len() + 3 * ROOM_CHARACTERS + 2 * MAX_BLOCK_BYTES);
    }

    proptest! {
        /// Surrogates and what is no character's number, and all.
        #[test]
        fn every_kernel_writes_the_same(
            stretches in prop::collection::vec((any::<u32>(), any::<[u8; 2]>()), 0..9),
            odd in prop::option::weighted(0.3, prop_oneof![0xD800..0xE000u32, 0x11_0000..=u32::MAX]),
        ) {
            // Stretches of one width that are long enough for every way that a kernel has, and
            // characters between them.
            let mut numbers = Vec::new();
            for (seed, [kind, length]) in stretches {
                let most = [0x80, 0x100, 0x800, 0xD000, 0x11_0000][usize::from(kind % 5)];
                let n = if kind < 128 { u32::from(length) } else { 1 };
                let next = |i: u32| seed.wrapping_add(i).wrapping_mul(0x9E37_79B1) >> 8;
                numbers.extend((0..n).map(next).map(|number| number % most));
            }
            if let Some(odd) = odd {
                let at = odd as usize % (numbers.len() + 1);
                numbers.insert(at, odd);
            }
            as_each_alone(&numbers)?;
            let basic: Vec<u16> = numbers.iter().filter_map(|&n| u16::try_from(n).ok()).collect();
            as_each_alone(&basic)?;
            let latin: Vec<u8> = basic.iter().filter_map(|&n| u8::try_from(n).ok()).collect();
            as_each_alone(&latin)?;
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
