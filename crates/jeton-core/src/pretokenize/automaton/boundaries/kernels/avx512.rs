//! Looking characters up with AVX-512 BW and VBMI, which look 64 bytes up in a table of 128 at
//! once. Called only where `Kernel::of` found them, which is all that makes the calls unsafe;
//! memory is read and written through references to arrays.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_unpackhi_epi64, _mm512_add_epi64, _mm512_and_si512,
    _mm512_broadcast_i32x4, _mm512_castsi512_si128, _mm512_cmple_epu8_mask, _mm512_cvtepu8_epi64,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_mask_blend_epi8,
    _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutex2var_epi8,
    _mm512_set1_epi8, _mm512_set1_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
    _mm512_test_epi8_mask,
};
use std::ops::RangeInclusive;

use super::super::tables::{
    BLOCK, BOUNDARY, BlockBounds, DEPENDS, MAX_KINDS, TAINTED_BOUNDARY, TAINTED_UNSURE, Table,
    Tables, UNSURE, WINDOW,
};

/// The number of each lane.
pub(super) const LANES: [u8; BLOCK] = {
    let mut lanes = [0; BLOCK];
    let mut n = 0;
    while n < BLOCK {
        lanes[n] = n as u8;
        n += 1;
    }
    lanes
};

#[inline]
pub(super) fn call_find_ascii(
    tables: &Tables,
    window: &[u8; WINDOW],
    at_start: bool,
) -> Option<BlockBounds> {
    // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW and VBMI.
    unsafe { find_ascii(tables, window, at_start) }
}

#[inline]
pub(super) fn call_places(bits: u64, few: bool, base: usize, places: &mut [usize; 64]) {
    // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW, VBMI and VBMI2.
    unsafe { find_places(bits, few, base, places) }
}

#[inline]
pub(super) fn call_bytes_within(block: &[u8; BLOCK], bytes: &RangeInclusive<u8>) -> u64 {
    // SAFETY: as above.
    unsafe { bytes_within(block, bytes) }
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
fn bytes_within(block: &[u8; BLOCK], bytes: &RangeInclusive<u8>) -> u64 {
    let [first, last] = [bytes.start(), bytes.end()];
    let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let from_first = _mm512_sub_epi8(load_block(block), all(*first));
    _mm512_cmple_epu8_mask(from_first, all(last.wrapping_sub(*first)))
}

/// The numbers of the bits that are set are pressed together, then widened, eight at a time.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2")]
fn find_places(bits: u64, few: bool, base: usize, places: &mut [usize; 64]) {
    let numbers = _mm512_maskz_compress_epi8(bits, load_block(&LANES));
    let base = _mm512_set1_epi64(base as i64);
    let store = |to: &mut [usize; 8], numbers: __m128i| {
        let places = _mm512_add_epi64(base, _mm512_cvtepu8_epi64(numbers));
        // SAFETY: there is room for eight numbers of 64 bits.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), places) }
    };
    let (eights, _) = places.as_chunks_mut::<8>();
    let [a, b, c, d, e, f, g, h] = eights else {
        return;
    };
    let quarter = _mm512_castsi512_si128(numbers);
    store(a, quarter);
    store(b, _mm_unpackhi_epi64(quarter, quarter));
    // The third and fourth eight are written even if they are empty, unless `few` is set. A block
    // of text has a dozen or two places, so nobody can guess if it has more than 16.
    if few && bits.count_ones() <= 16 {
        return;
    }
    let quarter = _mm512_extracti32x4_epi32::<1>(numbers);
    store(c, quarter);
    store(d, _mm_unpackhi_epi64(quarter, quarter));
    if bits.count_ones() > 32 {
        for (quarter, [low, high]) in [
            (_mm512_extracti32x4_epi32::<2>(numbers), [e, f]),
            (_mm512_extracti32x4_epi32::<3>(numbers), [g, h]),
        ] {
            store(low, quarter);
            store(high, _mm_unpackhi_epi64(quarter, quarter));
        }
    }
}

/// The 64 bytes of a window from `AT` on.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
fn load<const AT: usize>(window: &[u8; WINDOW]) -> __m512i {
    const { assert!(AT + BLOCK <= WINDOW) };
    // SAFETY: 64 bytes from `AT` on are within the window, as was just said.
    unsafe { _mm512_loadu_si512(window.as_ptr().add(AT).cast()) }
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
pub(super) fn load_block(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: 64 bytes that are there.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

/// Sixteen bytes, four times.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
pub(super) fn slice(bytes: &[u8; MAX_KINDS]) -> __m512i {
    // SAFETY: an unaligned load of 16 bytes that are there.
    let bytes: __m128i = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    _mm512_broadcast_i32x4(bytes)
}

/// The top bit of an index is not looked at.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
pub(super) fn look_up(table: &Table, index: __m512i) -> __m512i {
    let (halves, _) = table.as_chunks::<BLOCK>();
    _mm512_permutex2var_epi8(load_block(&halves[0]), index, load_block(&halves[1]))
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
fn vectors(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> [__m512i; 3] {
    let last = look_up(&tables.kind, load::<1>(window));
    let mut column = look_up(&tables.column, load::<0>(window));
    if at_start {
        let start = _mm512_set1_epi8(tables.start_column.cast_signed());
        column = _mm512_mask_blend_epi8(0b10, column, start);
    }
    [
        _mm512_or_si512(column, last),
        look_up(&tables.next, load::<2>(window)),
        look_up(&tables.kind, load::<3>(window)),
    ]
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
fn find_ascii(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Option<BlockBounds> {
    let all = _mm512_or_si512(load::<0>(window), load::<3>(window));
    if _mm512_movepi8_mask(all) != 0 {
        return None;
    }
    Some(find_vectors(tables, vectors(tables, window, at_start)))
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi")]
pub(super) fn find_vectors(tables: &Tables, [pair, next, after]: [__m512i; 3]) -> BlockBounds {
    let all = |flag: u8| _mm512_set1_epi8(flag.cast_signed());
    let rule = look_up(&tables.pairs, pair);
    let outcome = look_up(&tables.outcomes, _mm512_or_si512(next, rule));
    let depends = _mm512_and_si512(outcome, all(DEPENDS));
    let more = look_up(&tables.depends, _mm512_or_si512(depends, after));
    let flags = _mm512_or_si512(outcome, more);
    BlockBounds {
        boundaries: _mm512_test_epi8_mask(flags, all(BOUNDARY)),
        unsure: _mm512_test_epi8_mask(flags, all(UNSURE)),
        tainted_boundaries: _mm512_test_epi8_mask(flags, all(TAINTED_BOUNDARY)),
        tainted_unsure: _mm512_test_epi8_mask(flags, all(TAINTED_UNSURE)),
        depends: _mm512_test_epi8_mask(depends, depends),
        runs: _mm512_movepi8_mask(outcome),
        taints: _mm512_movepi8_mask(next),
    }
}
