//! Characters to UTF-8 with AVX-512 VBMI2, which presses bytes together that a mask chooses:
//! sixteen at a time, or 64 that are ASCII. Called only where `Kernel::of` found it, which is all
//! that makes the call unsafe; memory is read and written through references to arrays.
//!
//! All of it stays in registers. Two halves written to the stack and read as a whole may wait for
//! the cache, depending on the stack's address.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm512_and_si512, _mm512_castsi512_si128, _mm512_castsi512_si256, _mm512_cmpeq_epi32_mask,
    _mm512_cmpge_epu32_mask, _mm512_cvtepi16_epi8, _mm512_cvtepi32_epi8, _mm512_cvtepu8_epi32,
    _mm512_cvtepu16_epi32, _mm512_loadu_si512, _mm512_mask_blend_epi32, _mm512_maskz_compress_epi8,
    _mm512_maskz_loadu_epi8, _mm512_maskz_loadu_epi16, _mm512_maskz_loadu_epi32,
    _mm512_movepi8_mask, _mm512_multishift_epi64_epi8, _mm512_or_si512, _mm512_set1_epi16,
    _mm512_set1_epi32, _mm512_set1_epi64, _mm512_storeu_si512, _mm512_test_epi8_mask,
    _mm512_test_epi16_mask, _mm512_test_epi32_mask,
};

use super::{BLOCK_CHARACTERS, Kept, MAX_BLOCK_BYTES, Written};

/// Characters that are looked at together for whether all of them are ASCII.
const MANY: usize = 64;

pub(super) fn call_write(characters: Kept<'_>, room: &mut [u8]) -> Written {
    // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW, VBMI and VBMI2.
    unsafe { write(characters, room) }
}

#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn write(characters: Kept<'_>, room: &mut [u8]) -> Written {
    match characters {
        Kept::One(characters) => write_all(
            characters,
            room,
            // SAFETY: sixteen bytes are there.
            |block| _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(block.as_ptr().cast()) }),
            |some| {
                // SAFETY: the slice has all numbers that are loaded.
                let bytes = unsafe { _mm512_maskz_loadu_epi8(lowest(some), some.as_ptr().cast()) };
                _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes))
            },
            |block, place| ascii_of_bytes(block, place),
        ),
        Kept::Two(characters) => write_all(
            characters,
            room,
            // SAFETY: sixteen numbers of two bytes are there.
            |block| _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }),
            |some| {
                let mask = lowest(some) as u32;
                // SAFETY: the slice has all numbers that are loaded.
                let pairs = unsafe { _mm512_maskz_loadu_epi16(mask, some.as_ptr().cast()) };
                _mm512_cvtepu16_epi32(_mm512_castsi512_si256(pairs))
            },
            |block, place| ascii_of_pairs(block, place),
        ),
        Kept::Four(characters) => write_all(
            characters,
            room,
            // SAFETY: sixteen numbers of four bytes are there.
            |block| unsafe { _mm512_loadu_si512(block.as_ptr().cast()) },
            // SAFETY: the slice has all numbers that are loaded.
            |some| unsafe { _mm512_maskz_loadu_epi32(lowest(some) as u16, some.as_ptr().cast()) },
            |block, place| ascii_of_fours(block, place),
        ),
    }
}

/// A bit for each of fewer than sixteen: what has none is not loaded.
#[inline]
fn lowest<U>(some: &[U]) -> u64 {
    (1 << some.len().min(BLOCK_CHARACTERS)) - 1
}

/// Writes all, as long as there is room.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn write_all<U>(
    characters: &[U],
    room: &mut [u8],
    load: impl Fn(&[U; BLOCK_CHARACTERS]) -> __m512i,
    load_some: impl Fn(&[U]) -> __m512i,
    write_ascii: impl Fn(&[U; MANY], &mut [u8; MANY]) -> bool,
) -> Written {
    let (mut at, mut odd) = (0, 0);
    let (blocks, rest) = characters.as_chunks::<MANY>();
    for block in blocks {
        let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else {
            break;
        };
        if write_ascii(block, place) {
            at += MANY;
            continue;
        }
        let (sixteens, _) = block.as_chunks();
        for block in sixteens {
            if let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                at += write_sixteen(load(block), place, &mut odd);
            }
        }
    }
    let (sixteens, last) = rest.as_chunks();
    for block in sixteens {
        if let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            at += write_sixteen(load(block), place, &mut odd);
        }
    }
    if !last.is_empty()
        && let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut)
    {
        // Missing numbers up to sixteen are zeros, a byte each.
        at += write_sixteen(load_some(last), place, &mut odd) - (BLOCK_CHARACTERS - last.len());
    }
    Written {
        n_bytes: at,
        is_text: odd == 0,
    }
}

/// Writes characters if all of them are ASCII, and says whether they are.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn ascii_of_bytes(block: &[u8; MANY], place: &mut [u8; MANY]) -> bool {
    // SAFETY: 64 bytes are there.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let is_ascii = _mm512_movepi8_mask(bytes) == 0;
    if is_ascii {
        *place = *block;
    }
    is_ascii
}

/// Transcodes numbers of two bytes.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn ascii_of_pairs(block: &[u16; MANY], place: &mut [u8; MANY]) -> bool {
    let (halves, _) = block.as_chunks::<32>();
    let (places, _) = place.as_chunks_mut::<32>();
    let ([low, high], [low_place, high_place]) = (halves, places) else {
        return false;
    };
    // SAFETY: 32 numbers of two bytes are there each time.
    let [low, high] = [low, high].map(|half| unsafe { _mm512_loadu_si512(half.as_ptr().cast()) });
    let others = _mm512_set1_epi16(!0x7F);
    let is_ascii = _mm512_test_epi16_mask(_mm512_or_si512(low, high), others) == 0;
    if is_ascii {
        // SAFETY: there is room for 32 bytes each time.
        unsafe {
            _mm256_storeu_si256(low_place.as_mut_ptr().cast(), _mm512_cvtepi16_epi8(low));
            _mm256_storeu_si256(high_place.as_mut_ptr().cast(), _mm512_cvtepi16_epi8(high));
        }
    }
    is_ascii
}

/// Transcodes numbers of four bytes.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn ascii_of_fours(block: &[u32; MANY], place: &mut [u8; MANY]) -> bool {
    let (quarters, _) = block.as_chunks::<BLOCK_CHARACTERS>();
    let (places, _) = place.as_chunks_mut::<BLOCK_CHARACTERS>();
    let mut all = _mm512_set1_epi32(0);
    for quarter in quarters {
        // SAFETY: sixteen numbers of four bytes are there.
        all = _mm512_or_si512(all, unsafe { _mm512_loadu_si512(quarter.as_ptr().cast()) });
    }
    let is_ascii = _mm512_test_epi32_mask(all, _mm512_set1_epi32(!0x7F)) == 0;
    if is_ascii {
        for (quarter, place) in quarters.iter().zip(places) {
            // SAFETY: as above, and there is room for sixteen bytes.
            unsafe {
                let characters = _mm512_loadu_si512(quarter.as_ptr().cast());
                let bytes = _mm512_cvtepi32_epi8(characters);
                _mm_storeu_si128(place.as_mut_ptr().cast(), bytes);
            }
        }
    }
    is_ascii
}

/// Encodes 16 numbers as characters of one width: one byte more than there are shifts other than 0.
/// Each byte is its mark and the number's bits from its shift on, under its mask. Bytes in order of
/// memory.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn spread(characters: __m512i, shifts: [u8; 4], masks: [u8; 4], marks: [u8; 4]) -> __m512i {
    let all = |bytes: [u8; 4]| _mm512_set1_epi32(i32::from_le_bytes(bytes));
    // A 64-bit lane holds two numbers; the second begins at bit 32.
    let [a, b, c, d] = shifts;
    let both = [a, b, c, d, a + 32, b + 32, c + 32, d + 32];
    let control = _mm512_set1_epi64(i64::from_le_bytes(both));
    let bits = _mm512_multishift_epi64_epi8(control, characters);
    _mm512_or_si512(_mm512_and_si512(bits, all(masks)), all(marks))
}

/// Writes sixteen numbers and returns how many bytes they are; notes in `odd` which places had
/// numbers that are no character's.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn write_sixteen(characters: __m512i, place: &mut [u8; MAX_BLOCK_BYTES], odd: &mut u16) -> usize {
    let all = |number: u32| _mm512_set1_epi32(number.cast_signed());
    let at_least = |least: u32| _mm512_cmpge_epu32_mask(characters, all(least));
    let is_two = at_least(0x80);
    if is_two == 0 {
        // SAFETY: there is room for 64 bytes.
        unsafe {
            _mm_storeu_si128(place.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(characters));
        }
        return BLOCK_CHARACTERS;
    }
    let (is_three, is_four) = (at_least(0x800), at_least(0x1_0000));
    // Most scripts have characters of one of these widths.
    let mut bytes = characters;
    for (those, shifts, masks, marks) in [
        (
            is_two & !is_three,
            [6, 0, 0, 0],
            [0x1F, 0x3F, 0, 0],
            [0xC0, 0x80, 0, 0],
        ),
        (
            is_three & !is_four,
            [12, 6, 0, 0],
            [0x0F, 0x3F, 0x3F, 0],
            [0xE0, 0x80, 0x80, 0],
        ),
        (
            is_four,
            [18, 12, 6, 0],
            [0x07, 0x3F, 0x3F, 0x3F],
            [0xF0, 0x80, 0x80, 0x80],
        ),
    ] {
        if those != 0 {
            let spread = spread(characters, shifts, masks, marks);
            bytes = _mm512_mask_blend_epi32(those, bytes, spread);
        }
    }
    let surrogate = _mm512_and_si512(characters, all(0xFFFF_F800));
    *odd |= _mm512_cmpeq_epi32_mask(surrogate, all(0xD800)) | at_least(0x11_0000);
    // Unused bytes are zero. Among used bytes only U+0000 is zero, and it is a first byte.
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
