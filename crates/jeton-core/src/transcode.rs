//! Characters of one, two or four bytes each to UTF-8.
//!
//! So Python keeps its strings. A surrogate becomes the three bytes that its number would have, which are not UTF-8:
//! whoever checks what was written finds it, at the place at which the text stops being one.

use crate::huge::prefer_huge_pages;

/// Characters looked at together: all of them ASCII is the usual case in many texts.
const AT_ONCE: usize = 16;
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

/// Writes characters as UTF-8 to the beginning of `room` and returns how many bytes they are. `room` grows and is not
/// emptied, so that one which is used again need not be filled with zeros again.
pub fn to_utf8<U: Unit>(characters: &[U], room: &mut Vec<u8>) -> usize {
    if characters.len() > LONG_TEXT && room.is_empty() {
        // Only what is written to is taken from the system.
        room.reserve(characters.len().saturating_mul(U::MAX_BYTES));
        prefer_huge_pages(room);
    }
    let mut at = 0;
    for some in characters.chunks(ROOM_AT_ONCE) {
        // Four bytes are written for each character, whatever its width.
        let needed = at + some.len() * U::MAX_BYTES + AT_ONCE;
        if room.len() < needed {
            room.resize(needed, 0);
        }
        at = write_some(some, room, at);
    }
    at
}

/// Writes characters at a place that has room for them and returns where they end.
fn write_some<U: Unit>(characters: &[U], room: &mut [u8], mut at: usize) -> usize {
    let (blocks, rest) = characters.as_chunks::<AT_ONCE>();
    for block in blocks {
        let all = block.iter().fold(0, |all, unit| all | unit.number());
        if all < 0x80 {
            // As a whole: this is a few instructions for many characters.
            if let Some(place) = room.get_mut(at..at + AT_ONCE) {
                for (place, unit) in place.iter_mut().zip(block) {
                    *place = unit.number() as u8;
                }
            }
            at += AT_ONCE;
        } else {
            at = write(block, room, at);
        }
    }
    write(rest, room, at)
}

/// Writes characters at a place and returns where they end. Without branches: which widths follow one another in a text
/// cannot be predicted.
#[inline]
fn write<U: Unit>(characters: &[U], room: &mut [u8], mut at: usize) -> usize {
    for unit in characters {
        let number = unit.number();
        let (bytes, width) = if U::MAX_BYTES == 4 && number >= 0x1_0000 {
            (four(number), 4)
        } else {
            narrow(number)
        };
        if let Some(place) = room.get_mut(at..at + 4) {
            place.copy_from_slice(&bytes.to_le_bytes());
        }
        at += width;
    }
    at
}

/// A character below U+10000, its first byte lowest, and how many bytes count.
#[inline]
fn narrow(number: u32) -> (u32, usize) {
    let last = 0x80 | number & 0x3F;
    let two = 0xC0 | number >> 6 | last << 8;
    let three = 0xE0 | number >> 12 | (0x80 | number >> 6 & 0x3F) << 8 | last << 16;
    let is_two = u32::from(number >= 0x80);
    let is_three = u32::from(number >= 0x800);
    let bytes = if number < 0x800 { two } else { three };
    let bytes = if number < 0x80 { number } else { bytes };
    (bytes, (1 + is_two + is_three) as usize)
}

fn four(number: u32) -> u32 {
    0xF0 | number >> 18 & 7
        | (0x80 | number >> 12 & 0x3F) << 8
        | (0x80 | number >> 6 & 0x3F) << 16
        | (0x80 | number & 0x3F) << 24
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written<U: Unit>(characters: &[U]) -> Vec<u8> {
        // What was written before must not show.
        let mut room = vec![0xFF; 40];
        let n = to_utf8(characters, &mut room);
        room.truncate(n);
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
    }

    #[test]
    fn room_is_made_as_it_is_needed() {
        let text = "aé中 and more ".repeat(LONG_TEXT / 10);
        let units: Vec<u16> = text.encode_utf16().collect();
        assert!(units.len() > LONG_TEXT);
        assert!(written(&units) == text.as_bytes());
        let mut room = Vec::new();
        assert!(to_utf8(&units, &mut room) == text.len());
        assert!(&room[..text.len()] == text.as_bytes());
        assert!(room.len() < text.len() + 3 * ROOM_AT_ONCE + 2 * AT_ONCE);
    }

    proptest! {
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
