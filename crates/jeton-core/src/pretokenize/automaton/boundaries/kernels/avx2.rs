//! Looking characters up with AVX2, which looks 32 bytes up in a slice of sixteen at once. Called
//! only where `Kernel::of` found it, which is all that makes the calls unsafe; memory is read and
//! written through references to arrays.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_adds_epu8, _mm256_and_si256, _mm256_blendv_epi8,
    _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256,
    _mm256_max_epu8, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_storeu_si256,
    _mm256_sub_epi8, _mm256_xor_si256,
};
use std::ops::RangeInclusive;

use super::super::multibyte::{AROUND, BEFORE};
use super::super::tables::{
    BLOCK, BlockBounds, Codes, DEPENDS, MAX_KINDS, MAX_SLICES, Table, Tables, WINDOW,
};

/// Bytes of a register.
pub(super) const HALF: usize = 32;
/// Room for the kinds of a window, a whole number of registers.
const ROOM: usize = 3 * HALF;

#[inline]
pub(super) fn call_find_ascii(
    tables: &Tables,
    window: &[u8; WINDOW],
    at_start: bool,
) -> Option<BlockBounds> {
    // SAFETY: a `Kernel::Avx2` exists only where the machine has AVX2.
    unsafe { find_ascii(tables, window, at_start) }
}

#[inline]
pub(super) fn call_single_kinds(tables: &Tables, around: &[u8; AROUND]) -> [u8; AROUND] {
    // SAFETY: as above.
    unsafe { single_kinds(tables, around) }
}

#[inline]
pub(super) fn call_wide_codes(
    tables: &Tables,
    around: &[u8; AROUND],
    kinds: &[u8; AROUND],
    second: u64,
    codes: &mut Codes,
) -> u64 {
    // SAFETY: as above.
    unsafe { wide_codes(tables, around, kinds, second, codes) }
}

#[inline]
pub(super) fn call_find(tables: &Tables, codes: &Codes) -> BlockBounds {
    // SAFETY: as above.
    unsafe { find(tables, codes) }
}

#[inline]
pub(super) fn call_bytes_within(block: &[u8; BLOCK], bytes: &RangeInclusive<u8>) -> u64 {
    // SAFETY: as above.
    unsafe { bytes_within(block, bytes) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn bytes_within(block: &[u8; BLOCK], bytes: &RangeInclusive<u8>) -> u64 {
    let [first, last] = [*bytes.start(), *bytes.end()];
    let half = |at: usize| {
        let from_first = _mm256_sub_epi8(load(block, at), all(first));
        // Not more than the last one where the lesser of both is the byte itself.
        let lesser = _mm256_min_epu8(from_first, all(last.wrapping_sub(first)));
        let within = _mm256_cmpeq_epi8(lesser, from_first);
        u64::from(_mm256_movemask_epi8(within).cast_unsigned())
    };
    half(HALF) << HALF | half(0)
}

/// Loads 32 bytes from a place on, or zeros if fewer are left.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(bytes: &[u8], at: usize) -> __m256i {
    let there: Option<&[u8; HALF]> = bytes.get(at..).and_then(<[u8]>::first_chunk);
    there.map_or(_mm256_setzero_si256(), |there| {
        // SAFETY: an unaligned load of 32 bytes that are there.
        unsafe { _mm256_loadu_si256(there.as_ptr().cast()) }
    })
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(bytes: &mut [u8], at: usize, vector: __m256i) {
    let there: Option<&mut [u8; HALF]> = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
    if let Some(there) = there {
        // SAFETY: an unaligned store to 32 bytes that are there.
        unsafe { _mm256_storeu_si256(there.as_mut_ptr().cast(), vector) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn slice(bytes: &[u8; MAX_KINDS]) -> __m256i {
    // SAFETY: an unaligned load of 16 bytes that are there.
    let bytes: __m128i = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    _mm256_broadcastsi128_si256(bytes)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn all(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

/// Looks indices below 128 up in the first slices of a table.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn look_up(table: &Table, n_slices: usize, index: __m256i) -> __m256i {
    let mut found = _mm256_setzero_si256();
    let (slices, _) = table.as_chunks::<MAX_KINDS>();
    for (high, bytes) in (0u8..).zip(slices).take(n_slices) {
        // 0x70 to 0x7F where the index is in this slice; elsewhere the top bit, which the shuffle
        // makes a zero of.
        let here = _mm256_xor_si256(index, all(high << 4));
        let here = _mm256_adds_epu8(here, all(0x70));
        found = _mm256_or_si256(found, _mm256_shuffle_epi8(slice(bytes), here));
    }
    found
}

#[inline]
#[target_feature(enable = "avx2")]
fn codes(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Codes {
    let mut padded = [0; ROOM];
    padded[..WINDOW].copy_from_slice(window);
    let mut kinds = [0; ROOM];
    for at in [0, HALF, 2 * HALF] {
        // The bytes of longer characters have any kind.
        let index = _mm256_and_si256(load(&padded, at), all(0x7F));
        store(&mut kinds, at, look_up(&tables.kind, MAX_SLICES, index));
    }
    let mut codes = Codes {
        pair: [0; BLOCK],
        next: [0; BLOCK],
        after: [0; BLOCK],
    };
    let (column, next) = (slice(&tables.kind_column), slice(&tables.kind_next));
    for at in [0, HALF] {
        let columns = _mm256_shuffle_epi8(column, load(&kinds, at));
        store(
            &mut codes.pair,
            at,
            _mm256_or_si256(columns, load(&kinds, at + 1)),
        );
        store(
            &mut codes.next,
            at,
            _mm256_shuffle_epi8(next, load(&kinds, at + 2)),
        );
        store(&mut codes.after, at, load(&kinds, at + 3));
    }
    if at_start {
        codes.pair[1] = tables.start_column | codes.pair[1] & 0x0F;
    }
    codes
}

#[target_feature(enable = "avx2")]
fn single_kinds(tables: &Tables, around: &[u8; AROUND]) -> [u8; AROUND] {
    let mut kinds = [0; AROUND];
    // The last two overlap.
    for at in [0, HALF, AROUND - HALF] {
        let index = _mm256_and_si256(load(around, at), all(0x7F));
        store(&mut kinds, at, look_up(&tables.kind, MAX_SLICES, index));
    }
    kinds
}

#[target_feature(enable = "avx2")]
fn wide_codes(
    tables: &Tables,
    around: &[u8; AROUND],
    kinds: &[u8; AROUND],
    second: u64,
    codes: &mut Codes,
) -> u64 {
    let (columns, nexts) = (slice(&tables.kind_column), slice(&tables.kind_next));
    // Bytes inside characters are the least as signed numbers.
    let inside = |at: usize| _mm256_cmpgt_epi8(all(0xC0), load(around, at));
    let mut continued = 0;
    for half in [0, HALF] {
        let at = half + BEFORE;
        let or_else = |usual, otherwise, mask| _mm256_blendv_epi8(usual, otherwise, mask);
        // The last character begins as many bytes before its own last byte as there are inside it.
        let one = inside(at - 1);
        let two = _mm256_and_si256(one, inside(at - 2));
        let three = _mm256_and_si256(two, inside(at - 3));
        let mut before = load(kinds, at - 2);
        before = or_else(before, load(kinds, at - 3), one);
        before = or_else(before, load(kinds, at - 4), two);
        before = or_else(before, load(kinds, at - 5), three);
        let column = _mm256_shuffle_epi8(columns, before);
        store(
            &mut codes.pair,
            half,
            _mm256_or_si256(column, load(kinds, at - 1)),
        );
        store(
            &mut codes.next,
            half,
            _mm256_shuffle_epi8(nexts, load(kinds, at)),
        );
        let here = load(around, at);
        let is_at_least = |least: u8| _mm256_cmpeq_epi8(_mm256_max_epu8(here, all(least)), here);
        let mut after = load(kinds, at + 1);
        after = or_else(after, load(kinds, at + 2), is_at_least(0xC0));
        after = or_else(after, load(kinds, at + 3), is_at_least(0xE0));
        after = or_else(after, load(kinds, at + 4), is_at_least(0xF0));
        store(&mut codes.after, half, after);
        let bits = _mm256_movemask_epi8(inside(at)).cast_unsigned();
        continued |= u64::from(bits) << half;
    }
    if second != 0 {
        let pair = &mut codes.pair[second.trailing_zeros() as usize % BLOCK];
        *pair = tables.start_column | *pair & 0x0F;
    }
    !continued
}

#[target_feature(enable = "avx2")]
fn find_ascii(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Option<BlockBounds> {
    let all = _mm256_or_si256(load(window, 0), load(window, HALF));
    let all = _mm256_or_si256(all, load(window, WINDOW - HALF));
    if _mm256_movemask_epi8(all) != 0 {
        return None;
    }
    Some(find(tables, &codes(tables, window, at_start)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn find(tables: &Tables, codes: &Codes) -> BlockBounds {
    let low = find_half(tables, codes, 0);
    let high = find_half(tables, codes, HALF);
    let [
        boundaries,
        unsure,
        tainted_boundaries,
        tainted_unsure,
        depends,
        runs,
        taints,
    ] = std::array::from_fn(|which| u64::from(low[which]) | u64::from(high[which]) << HALF);
    BlockBounds {
        boundaries,
        unsure,
        tainted_boundaries,
        tainted_unsure,
        depends,
        runs,
        taints,
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn find_half(tables: &Tables, codes: &Codes, at: usize) -> [u32; 7] {
    let [n_columns, n_nexts, n_depends] = tables.n_slices;
    let next = load(&codes.next, at);
    let rule = look_up(&tables.pairs, n_columns, load(&codes.pair, at));
    let next_and_rule = _mm256_or_si256(_mm256_and_si256(next, all(DEPENDS)), rule);
    let outcome = look_up(&tables.outcomes, n_nexts, next_and_rule);
    let depends = _mm256_and_si256(outcome, all(DEPENDS));
    let index = _mm256_or_si256(depends, load(&codes.after, at));
    let flags = _mm256_or_si256(outcome, look_up(&tables.depends, n_depends, index));
    let tops = |bytes: __m256i| _mm256_movemask_epi8(bytes).cast_unsigned();
    // A flag below the top comes there by shifts; what comes in from the byte beside it stays
    // below.
    let depends = _mm256_adds_epu8(depends, all(0x70));
    [
        tops(_mm256_slli_epi16::<7>(flags)),
        tops(_mm256_slli_epi16::<6>(flags)),
        tops(_mm256_slli_epi16::<5>(flags)),
        tops(_mm256_slli_epi16::<4>(flags)),
        tops(depends),
        tops(outcome),
        tops(next),
    ]
}
