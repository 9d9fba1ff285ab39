//! Byte positions of a text as numbers of code points.

use std::cell::OnceCell;

/// Bytes between two places whose number is kept, and the longest way that is walked rather than
/// looked up.
const BLOCK_BYTES: usize = 512;

/// The last place up to `at` where a character of the text begins or the text ends.
pub fn floor_boundary(text: &str, at: usize) -> usize {
    let mut floor = at.min(text.len());
    while !text.is_char_boundary(floor) {
        floor -= 1;
    }
    floor
}

/// Half-open ranges of code points, as columns of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePointRanges {
    /// The first code point of each.
    pub starts: Vec<i64>,
    /// The code point behind each.
    pub ends: Vec<i64>,
}

/// Byte ranges as code-point ranges: a range that begins or ends inside a character takes all of
/// it.
///
/// Starts and ends rise as a rule (tokens come in order of the text), so one walk over the text
/// does for each. Where they do not (a token that takes white space along covers others), distant
/// positions are looked up. So no order of the ranges costs more than a block for each of them.
pub fn code_point_ranges(text: &str, starts: &[usize], ends: &[usize]) -> CodePointRanges {
    if text.is_ascii() {
        // Bytes are code points.
        let convert = |positions: &[usize]| -> Vec<i64> {
            positions
                .iter()
                .map(|&at| at.min(text.len()) as i64)
                .collect()
        };
        return CodePointRanges {
            starts: convert(starts),
            ends: convert(ends),
        };
    }
    let blocks = OnceCell::new();
    let convert = |positions: &[usize], inside: i64| -> Vec<i64> {
        let mut walk = Walk {
            bytes: text.as_bytes(),
            position: 0,
            characters: 0,
            blocks: &blocks,
        };
        let each = positions.iter().map(|&at| {
            let before = walk.to(at);
            before
                + if text.is_char_boundary(at) || at > text.len() {
                    0
                } else {
                    inside
                }
        });
        each.collect()
    };
    CodePointRanges {
        starts: convert(starts, -1),
        ends: convert(ends, 0),
    }
}

/// Where code points begin, by number; a number beyond the last is the text's end. As for the
/// ranges, no order of the numbers costs more than a block for each of them.
pub fn byte_positions(text: &str, numbers: &[i64]) -> Vec<usize> {
    let blocks = OnceCell::new();
    let mut walk = Walk {
        bytes: text.as_bytes(),
        position: 0,
        characters: 0,
        blocks: &blocks,
    };
    numbers.iter().map(|&number| walk.find(number)).collect()
}

/// A place in a text, and how many characters begin before it.
struct Walk<'t> {
    bytes: &'t [u8],
    position: usize,
    characters: i64,
    /// Characters that begin before each block; made when a way back is long.
    blocks: &'t OnceCell<Vec<i64>>,
}

impl Walk<'_> {
    /// The number of characters that begin before a byte.
    fn to(&mut self, at: usize) -> i64 {
        let at = at.min(self.bytes.len());
        if at < self.position && self.position - at > BLOCK_BYTES {
            self.make_blocks();
        }
        if at.abs_diff(self.position) > BLOCK_BYTES
            && let Some(blocks) = self.blocks.get()
            && let Some(&before) = blocks.get(at / BLOCK_BYTES)
        {
            self.position = at / BLOCK_BYTES * BLOCK_BYTES;
            self.characters = before;
        }
        if at < self.position {
            self.characters -= characters(&self.bytes[at..self.position]);
        } else {
            self.characters += characters(&self.bytes[self.position..at]);
        }
        self.position = at;
        self.characters
    }

    /// Where the character of a number begins.
    fn find(&mut self, number: i64) -> usize {
        let far = self.characters.abs_diff(number) > BLOCK_BYTES as u64;
        if far && number < self.characters {
            self.make_blocks();
        }
        if far && let Some(blocks) = self.blocks.get() {
            let block = blocks.partition_point(|&before| before <= number);
            if let Some(block) = block.checked_sub(1) {
                self.position = block * BLOCK_BYTES;
                self.characters = blocks[block];
            }
        }
        while self.characters > number && self.position > 0 {
            self.position -= 1;
            self.characters -= i64::from(begins_character(self.bytes[self.position]));
        }
        while let Some(&byte) = self.bytes.get(self.position) {
            if begins_character(byte) {
                if self.characters >= number {
                    break;
                }
                self.characters += 1;
            }
            self.position += 1;
        }
        self.position
    }

    fn make_blocks(&self) {
        self.blocks.get_or_init(|| {
            let mut before = 0;
            let count = |block| {
                let begun = before;
                before += characters(block);
                begun
            };
            self.bytes.chunks(BLOCK_BYTES).map(count).collect()
        });
    }
}

/// True if a byte of UTF-8 is the first of its character.
fn begins_character(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// Characters that begin in a part of a text.
fn characters(bytes: &[u8]) -> i64 {
    bytes.iter().filter(|&&byte| begins_character(byte)).count() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition.
    fn naive(text: &str, start: usize, end: usize) -> (i64, i64) {
        let begin_before = |at| text.char_indices().filter(|(i, _)| *i < at).count() as i64;
        let cut = i64::from(start < text.len() && !text.is_char_boundary(start));
        (begin_before(start) - cut, begin_before(end))
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin_in_any_order(
            part in "[a\u{e9}\u{4e2d}\u{1f600}]{1,12}",
            repeats in 1usize..200,
            places in prop::collection::vec((any::<usize>(), any::<usize>()), 0..40),
        ) {
            let text = part.repeat(repeats);
            let places = places.into_iter().map(|(a, b)| (a % (text.len() + 1), b % (text.len() + 1)));
            let (starts, ends): (Vec<_>, Vec<_>) = places.unzip();
            let CodePointRanges { starts: from, ends: to } = code_point_ranges(&text, &starts, &ends);
            for i in 0..starts.len() {
                prop_assert_eq!((from[i], to[i]), naive(&text, starts[i], ends[i]));
            }
            let back = byte_positions(&text, &from);
            for i in 0..starts.len() {
                let number = usize::try_from(from[i]).unwrap();
                let found = text.char_indices().nth(number).map_or(text.len(), |(at, _)| at);
                prop_assert_eq!(back[i], found);
            }
        }
    }

    #[test]
    fn places_may_alternate_between_both_ends() {
        // Walking every way would be 2 x 10^11 steps.
        let text = "\u{e9}".repeat(500_000);
        let places: Vec<usize> = (0..200_000)
            .map(|i| if i % 2 == 0 { 0 } else { text.len() })
            .collect();
        let CodePointRanges { starts, ends } = code_point_ranges(&text, &places, &places);
        assert_eq!(starts, ends);
        assert_eq!(&starts[..3], [0, 500_000, 0]);
        assert_eq!(byte_positions(&text, &starts), places);
        assert_eq!(byte_positions("a", &[2, 1, 0, 9]), [1, 1, 0, 1]);
    }
}
