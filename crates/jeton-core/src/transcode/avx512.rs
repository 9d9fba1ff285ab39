//! Sixteen characters to UTF-8 at a time with AVX-512 VBMI2, which presses bytes together that a mask chooses. Called only where
//! `Kernel::of` found it, which is all that makes the call unsafe; memory is read and written through references to arrays.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i, _mm_storeu_si128, _mm512_and_si512, _mm512_cmpge_epu32_mask, _mm512_cvtepi32_epi8,
    _mm512_loadu_si512, _mm512_mask_blend_epi32, _mm512_maskz_compress_epi8, _mm512_or_si512,
    _mm512_set1_epi32, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_si512,
    _mm512_test_epi8_mask,
};

use super::{AT_ONCE, MOST_BYTES};

#[inline(always)]
pub(super) fn call_write(block: &[u32; AT_ONCE], place: &mut [u8; MOST_BYTES]) -> usize {
    // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW, VBMI and VBMI2.
    unsafe { write(block, place) }
}

/// The bits that a byte inside a character has, moved to where that is.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2")]
fn inside<const RIGHT: u32, const LEFT: u32>(characters: __m512i) -> __m512i {
    let bits = _mm512_and_si512(
        _mm512_srli_epi32::<RIGHT>(characters),
        _mm512_set1_epi32(0x3F),
    );
    _mm512_slli_epi32::<LEFT>(_mm512_or_si512(bits, _mm512_set1_epi32(0x80)))
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2")]
fn write(block: &[u32; AT_ONCE], place: &mut [u8; MOST_BYTES]) -> usize {
    let all = |number: u32| _mm512_set1_epi32(number.cast_signed());
    // SAFETY: sixteen numbers of 32 bits are there.
    let characters: __m512i = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let at_least = |least: u32| _mm512_cmpge_epu32_mask(characters, all(least));
    let is_two = at_least(0x80);
    if is_two == 0 {
        // SAFETY: there is room for 64 bytes.
        unsafe {
            _mm_storeu_si128(place.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(characters));
        }
        return AT_ONCE;
    }
    let or = |one: __m512i, other: __m512i| _mm512_or_si512(one, other);
    let two = or(
        or(all(0xC0), _mm512_srli_epi32::<6>(characters)),
        inside::<0, 8>(characters),
    );
    let three = or(
        or(all(0xE0), _mm512_srli_epi32::<12>(characters)),
        or(inside::<6, 8>(characters), inside::<0, 16>(characters)),
    );
    let mut bytes = _mm512_mask_blend_epi32(is_two, characters, two);
    bytes = _mm512_mask_blend_epi32(at_least(0x800), bytes, three);
    let is_four = at_least(0x1_0000);
    if is_four != 0 {
        let first = _mm512_and_si512(_mm512_srli_epi32::<18>(characters), all(7));
        let four = or(
            or(or(all(0xF0), first), inside::<12, 8>(characters)),
            or(inside::<6, 16>(characters), inside::<0, 24>(characters)),
        );
        bytes = _mm512_mask_blend_epi32(is_four, bytes, four);
    }
    // Bytes that do not count are zeros, and of those that count only U+0000 is one, a first byte.
    let counting = _mm512_test_epi8_mask(bytes, bytes) | 0x1111_1111_1111_1111;
    // SAFETY: there is room for 64 bytes.
    unsafe {
        _mm512_storeu_si512(
            place.as_mut_ptr().cast(),
            _mm512_maskz_compress_epi8(counting, bytes),
        );
    }
    counting.count_ones() as usize
}
