//! Characters of one, two or four bytes each to UTF-8.
//!
//! So Python keeps its strings. A surrogate becomes the three bytes that its number would have, which are not UTF-8:
//! whoever checks what was written finds it, at the place at which the text stops being one.

/// Characters looked at together: all of them ASCII is the usual case in many texts.
const AT_ONCE: usize = 16;

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
    // Four bytes are written for each character, whatever its width.
    let needed = characters
        .len()
        .saturating_mul(U::MAX_BYTES)
        .saturating_add(AT_ONCE);
    if room.len() < needed {
        room.resize(needed, 0);
    }
    let mut at = 0;
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
