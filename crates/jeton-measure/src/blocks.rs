//! Sixty-four bytes of text at once: which of them are white space, and how many are letters or
//! digits.
//!
//! Only ASCII characters are told apart here; of the others, the places are known. `x86_64` has the
//! instructions for this (SSE2, which every such processor has); elsewhere each byte is looked at.

#![allow(unsafe_code)] // one call of a function that needs SSE2

/// Bytes of a block: one for each bit of a mask.
pub(crate) const BLOCK: usize = 64;

/// Kinds of bytes in a block. Bit `i` is byte `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// ASCII characters that are Unicode `White_Space`.
    pub(crate) blank: u64,
    /// Bytes of 128 and above.
    pub(crate) wide: u64,
    /// Bytes that continue a character.
    pub(crate) continuation: u64,
    /// ASCII letters.
    pub(crate) n_letters: u64,
    /// ASCII digits.
    pub(crate) n_digits: u64,
}

impl Block {
    /// Looks at a block.
    #[inline]
    pub(crate) fn of(bytes: &[u8; BLOCK]) -> Self {
        // SAFETY: SSE2 is a part of the architecture; `sse2` needs nothing else and takes no
        // pointers.
        #[cfg(target_arch = "x86_64")]
        return unsafe { sse2(bytes) };
        #[cfg(not(target_arch = "x86_64"))]
        return Self::naive(bytes);
    }

    /// Finds the kinds byte by byte.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    fn naive(bytes: &[u8; BLOCK]) -> Self {
        let mut block = Self::default();
        for (bit, &byte) in bytes.iter().enumerate() {
            let flag = |is: bool| u64::from(is) << bit;
            block.blank |= flag(byte == b' ' || (9..14).contains(&byte));
            block.wide |= flag(byte >= 0x80);
            block.continuation |= flag(byte & 0xC0 == 0x80);
            block.n_letters += u64::from(byte.is_ascii_alphabetic());
            block.n_digits += u64::from(byte.is_ascii_digit());
        }
        block
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn sse2(bytes: &[u8; BLOCK]) -> Block {
    use core::arch::x86_64::{
        _mm_add_epi64, _mm_and_si128, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_cvtsi128_si64,
        _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_sad_epu8, _mm_set_epi64x, _mm_set1_epi8,
        _mm_setzero_si128, _mm_sub_epi8, _mm_unpackhi_epi64,
    };
    let (mut letters, mut digits) = (_mm_setzero_si128(), _mm_setzero_si128());
    let mut block = Block::default();
    for (part, chunk) in bytes.as_chunks::<16>().0.iter().enumerate() {
        let whole = u128::from_le_bytes(*chunk);
        let text = _mm_set_epi64x((whole >> 64) as i64, whole as i64);
        let mask = |found| u64::from(_mm_movemask_epi8(found).cast_unsigned()) << (16 * part);
        // As unsigned numbers: a byte is at most `last` if it is the smaller of the two.
        let up_to = |byte, last| _mm_cmpeq_epi8(_mm_min_epu8(byte, _mm_set1_epi8(last)), byte);
        let blank = _mm_or_si128(
            _mm_cmpeq_epi8(text, _mm_set1_epi8(b' ' as i8)),
            up_to(_mm_sub_epi8(text, _mm_set1_epi8(9)), 4),
        );
        let small = _mm_or_si128(text, _mm_set1_epi8(0x20));
        let letter = up_to(_mm_sub_epi8(small, _mm_set1_epi8(b'a' as i8)), 25);
        let digit = up_to(_mm_sub_epi8(text, _mm_set1_epi8(b'0' as i8)), 9);
        // A lane that matches is -1: subtracting it counts one.
        letters = _mm_sub_epi8(letters, letter);
        digits = _mm_sub_epi8(digits, digit);
        block.blank |= mask(blank);
        block.wide |= mask(text);
        block.continuation |= mask(_mm_and_si128(
            text,
            _mm_cmplt_epi8(text, _mm_set1_epi8(-0x40)),
        ));
    }
    let sum = |counts| {
        let halves = _mm_sad_epu8(counts, _mm_setzero_si128());
        _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves))).cast_unsigned()
    };
    block.n_letters = sum(letters);
    block.n_digits = sum(digits);
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_naive_twin(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 8u8..34, 40u8..128], BLOCK)) {
            let bytes: [u8; BLOCK] = bytes.try_into().unwrap();
            prop_assert_eq!(Block::of(&bytes), Block::naive(&bytes));
        }
    }

    #[test]
    fn every_byte_in_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                let mut bytes = [b'x'; BLOCK];
                bytes[place] = byte;
                assert_eq!(Block::of(&bytes), Block::naive(&bytes), "{byte} at {place}");
            }
        }
    }
}
