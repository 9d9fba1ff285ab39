//! Longer characters with AVX-512: their kinds by rows of characters, then all that is known of a block character by
//! character instead of byte by byte, so that what comes before or behind a place is one lane away, however many bytes that is.
//! Called only where `Kernel::of` found AVX-512 BW, VBMI and VBMI2 and the instructions on bits, which is all that makes the call
//! unsafe; memory is read through references to arrays.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i, _mm_cvtsi128_si32, _mm512_add_epi8, _mm512_and_si512, _mm512_castsi512_si128,
    _mm512_cmpeq_epi8_mask, _mm512_cmpge_epu8_mask, _mm512_cmplt_epi8_mask, _mm512_loadu_si512,
    _mm512_mask_cmpeq_epi8_mask, _mm512_mask_mov_epi8, _mm512_mask_permutexvar_epi8,
    _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutexvar_epi8,
    _mm512_set1_epi8, _mm512_shuffle_epi8, _pdep_u64,
};

use super::super::rows::Rows;
use super::super::tables::{BLOCK, Found, Tables};
use super::super::wide::{AHEAD, Near, code_of, next_character};
use super::avx512::{LANES, find_vectors, load_block, look_up, slice};
use crate::pretokenize::automaton::classes::Characters;

#[inline(always)]
pub(in super::super) fn call_find_wide(
    tables: &Tables,
    characters: &Characters,
    rows: &Rows,
    ahead: &[u8; AHEAD],
    before: Near,
) -> (Found, u64, [u8; 2]) {
    // SAFETY: a `Kernel::Avx512` exists only where the machine has what the function is compiled for.
    unsafe { find_wide(tables, characters, rows, ahead, before) }
}

/// The 64 bytes of a block, or those `AT` bytes further on.
#[inline]
#[target_feature(enable = "avx512bw")]
fn load<const AT: usize>(ahead: &[u8; AHEAD]) -> __m512i {
    const { assert!(AT + BLOCK <= AHEAD) };
    // SAFETY: 64 bytes from `AT` on are within the array, as was just said.
    unsafe { _mm512_loadu_si512(ahead.as_ptr().add(AT).cast()) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn all(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}

/// The kinds of the characters that begin in a block, where they begin.
#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt,avx512bw,avx512vbmi,avx512vbmi2")]
fn kinds(tables: &Tables, characters: &Characters, rows: &Rows, ahead: &[u8; AHEAD]) -> __m512i {
    let (first, second, third) = (load::<0>(ahead), load::<1>(ahead), load::<2>(ahead));
    let mut kinds = look_up(&tables.kind, first);
    let at_least = |least: u8| _mm512_cmpge_epu8_mask(first, all(least));
    let (twos, threes, fours) = (at_least(0xC0), at_least(0xE0), at_least(0xF0));
    // Two bytes: the first of them is the row. What is looked up is the lower six bits of the last byte.
    let mut left = twos & !threes;
    while left != 0 {
        let lead = ahead[left.trailing_zeros() as usize % BLOCK];
        let row = load_block(characters.row(u32::from(lead & 0x1F)));
        let same = _mm512_cmpeq_epi8_mask(first, all(lead));
        kinds = _mm512_mask_permutexvar_epi8(kinds, same, second, row);
        left &= !same;
    }
    // Three bytes: mostly the first of them says it, often the second; else the two are the row.
    let threes = threes & !fours;
    let by_lead = _mm512_shuffle_epi8(slice(&rows.leads), _mm512_and_si512(first, all(0x0F)));
    let mut left = threes & _mm512_movepi8_mask(by_lead);
    kinds = _mm512_mask_mov_epi8(kinds, threes & !left, by_lead);
    let mut mixed = 0;
    while left != 0 {
        let lead = ahead[left.trailing_zeros() as usize % BLOCK];
        let by_second = load_block(&rows.seconds[usize::from(lead & 0x0F)]);
        let by_second = _mm512_permutexvar_epi8(second, by_second);
        let same = _mm512_cmpeq_epi8_mask(first, all(lead));
        kinds = _mm512_mask_mov_epi8(kinds, same, by_second);
        mixed |= same & _mm512_movepi8_mask(by_second);
        left &= !same;
    }
    while mixed != 0 {
        let at = mixed.trailing_zeros() as usize % BLOCK;
        let [lead, next] = [ahead[at], ahead[at + 1]];
        let row = u32::from(lead & 0x0F) << 6 | u32::from(next & 0x3F);
        let same = _mm512_mask_cmpeq_epi8_mask(mixed, first, all(lead));
        let same = _mm512_mask_cmpeq_epi8_mask(same, second, all(next));
        let row = load_block(characters.row(row));
        kinds = _mm512_mask_permutexvar_epi8(kinds, same, third, row);
        mixed &= !same;
    }
    // Four bytes: few texts have many of these.
    let mut left = fours;
    while left != 0 {
        let at = left.trailing_zeros() as usize % BLOCK;
        if let Some(bytes) = ahead.get(at..).and_then(<[u8]>::first_chunk) {
            let kind = all(characters.get(code_of(*bytes)));
            kinds = _mm512_mask_mov_epi8(kinds, 1 << at, kind);
        }
        left &= left - 1;
    }
    kinds
}

#[inline]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt,avx512bw,avx512vbmi,avx512vbmi2")]
fn find_wide(
    tables: &Tables,
    characters: &Characters,
    rows: &Rows,
    ahead: &[u8; AHEAD],
    before: Near,
) -> (Found, u64, [u8; 2]) {
    // Bytes inside characters are the least as signed numbers.
    let begins = !_mm512_cmplt_epi8_mask(load::<0>(ahead), all(0xC0));
    let n = begins.count_ones();
    // From here on a lane is a character.
    let here = _mm512_maskz_compress_epi8(begins, kinds(tables, characters, rows, ahead));
    let lanes = load_block(&LANES);
    let away = |by: i8| _mm512_permutexvar_epi8(_mm512_add_epi8(lanes, _mm512_set1_epi8(by)), here);
    let [last_but_one, last] = before.kinds;
    let mut previous = _mm512_mask_mov_epi8(away(-2), 0b01, all(last_but_one));
    previous = _mm512_mask_mov_epi8(previous, 0b10, all(last));
    let mut column = _mm512_shuffle_epi8(slice(&tables.kind_column), previous);
    if before.is_start {
        // Before the second character of a text there is only one.
        column = _mm512_mask_mov_epi8(column, 0b10, all(tables.start_column));
    }
    let next = next_character(ahead);
    let next = if next < 0x80 {
        tables.kind[next as usize & 0x7F]
    } else {
        characters.get(next)
    };
    let vectors = [
        _mm512_or_si512(column, _mm512_mask_mov_epi8(away(-1), 0b01, all(last))),
        _mm512_shuffle_epi8(slice(&tables.kind_next), here),
        _mm512_mask_mov_epi8(away(1), 1u64.rotate_left(n.wrapping_sub(1)), all(next)),
    ];
    // Back to bytes.
    let found = find_vectors(tables, vectors).map(|bits| _pdep_u64(bits, begins));
    let two = _mm512_castsi512_si128(away(n as i8 - 2));
    let [last_but_one, last, ..] = _mm_cvtsi128_si32(two).to_le_bytes();
    (found, begins, [last_but_one, last])
}
