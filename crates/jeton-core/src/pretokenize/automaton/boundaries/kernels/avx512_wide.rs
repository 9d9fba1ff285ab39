//! Longer characters with AVX-512: their kinds by rows of characters, then all facts about a block
//! character by character, not byte by byte. So the characters before and behind a place are one
//! lane away, however many bytes they have. Called only where `Kernel::of` found AVX-512 BW, VBMI
//! and VBMI2 and the instructions on bits, which is all that makes the call unsafe; memory is read
//! through references to arrays.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, __m512i, _mm_cvtsi128_si32, _mm512_add_epi8, _mm512_and_si512, _mm512_castsi512_si128,
    _mm512_cmpeq_epi8_mask, _mm512_cmpge_epu8_mask, _mm512_cmplt_epi8_mask, _mm512_loadu_si512,
    _mm512_mask_cmpeq_epi8_mask, _mm512_mask_mov_epi8, _mm512_maskz_compress_epi8,
    _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_set1_epi8,
    _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_slli_epi16, _pdep_u64,
};
use std::hint::select_unpredictable;

use super::super::multibyte::{AHEAD, BlockContext, code_of, next_character};
use super::super::rows::{Leaf, MIXED, Recent};
use super::super::tables::{BLOCK, BlockBounds};
use super::super::{Boundaries, Progress};
use super::avx512::{LANES, find_vectors, load_block, look_up, slice};

#[inline(always)]
pub(in super::super) fn call_find_wide(
    rules: &Boundaries,
    progress: &mut Progress,
    ahead: &[u8; AHEAD],
    before: BlockContext,
    found: &mut BlockBounds,
) -> u64 {
    // SAFETY: a `Kernel::Avx512` exists only where the machine has what the function is compiled
    // for.
    unsafe { find_wide(rules, progress, ahead, before, found) }
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
fn kinds(rules: &Boundaries, recent: &mut Recent, ahead: &[u8; AHEAD]) -> __m512i {
    let (characters, rows) = (&rules.kinds, &rules.rows);
    let (first, second, third) = (load::<0>(ahead), load::<1>(ahead), load::<2>(ahead));
    let mut kinds = look_up(&rules.tables.kind, first);
    let at_least = |least: u8| _mm512_cmpge_epu8_mask(first, all(least));
    let (twos, threes, fours) = (at_least(0xC0), at_least(0xE0), at_least(0xF0));
    let (twos, threes) = (twos & !threes, threes & !fours);
    // Three bytes: mostly the first of them says it.
    let by_lead = _mm512_shuffle_epi8(slice(&rows.leads), _mm512_and_si512(first, all(0x0F)));
    kinds = _mm512_mask_mov_epi8(kinds, threes, by_lead);
    let mut left = twos | threes & _mm512_movepi8_mask(by_lead);
    // Else all but the last byte are the row, of which there are two in a leaf, and the lower six
    // bits of that are looked up.
    let long = twos | threes;
    let lead = _mm512_mask_mov_epi8(first, twos, _mm512_setzero_si512());
    let middle = _mm512_mask_mov_epi8(second, twos, first);
    let last = _mm512_mask_mov_epi8(third, twos, second);
    let row = _mm512_and_si512(_mm512_slli_epi16::<6>(middle), all(0x40));
    let place = _mm512_or_si512(last, row);
    let middle = _mm512_or_si512(middle, all(1));
    let look_at_leaf = |leaf: Leaf, kinds: &mut __m512i| {
        let same = _mm512_mask_cmpeq_epi8_mask(long, lead, all(leaf.lead));
        let same = _mm512_mask_cmpeq_epi8_mask(same, middle, all(leaf.middle));
        let leaf = look_up(characters.leaf_at(leaf.place), place);
        *kinds = _mm512_mask_mov_epi8(*kinds, same, leaf);
        same
    };
    let (common, others) = recent.leaves();
    if let Some(&leaf) = common {
        left &= !look_at_leaf(leaf, &mut kinds);
    }
    // Or the first two bytes say it.
    let look_at_second = |lead: u8, left: u64, kinds: &mut __m512i| {
        let same = _mm512_mask_cmpeq_epi8_mask(left, first, all(lead));
        let by_second = load_block(&rows.seconds[usize::from(lead & 0x0F)]);
        let by_second = _mm512_permutexvar_epi8(second, by_second);
        let told = same & !_mm512_movepi8_mask(by_second);
        *kinds = _mm512_mask_mov_epi8(*kinds, told, by_second);
        told
    };
    for &lead in recent.leads() {
        left &= !look_at_second(lead, left, &mut kinds);
    }
    // The leaf that came first decides all of a one-leaf alphabet mostly; other alphabets mostly
    // leave characters.
    if left != 0 {
        for &leaf in others {
            left &= !look_at_leaf(leaf, &mut kinds);
        }
    }
    while left != 0 {
        let at = left.trailing_zeros() as usize % BLOCK;
        let (lead, next) = (ahead[at], ahead[at + 1]);
        let is_two = lead < 0xE0;
        if !is_two && rows.seconds[usize::from(lead & 0x0F)][usize::from(next & 0x3F)] != MIXED {
            left &= !look_at_second(lead, left, &mut kinds);
            recent.take_lead(lead);
            continue;
        }
        let leaf = Leaf::of(lead, next, characters);
        left &= !look_at_leaf(leaf, &mut kinds);
        recent.take_leaf(leaf);
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

#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt,avx512bw,avx512vbmi,avx512vbmi2")]
fn find_wide(
    rules: &Boundaries,
    progress: &mut Progress,
    ahead: &[u8; AHEAD],
    before: BlockContext,
    found: &mut BlockBounds,
) -> u64 {
    let (tables, repeated) = (&rules.tables, &rules.repeated);
    // Bytes inside characters are the least as signed numbers.
    let begins = !_mm512_cmplt_epi8_mask(load::<0>(ahead), all(0xC0));
    let n = begins.count_ones();
    // From here on a lane is a character.
    let here = kinds(rules, &mut progress.recent, ahead);
    let here = _mm512_maskz_compress_epi8(begins, here);
    let lanes = load_block(&LANES);
    let away = |by: i8, vector| {
        let from = _mm512_add_epi8(lanes, _mm512_set1_epi8(by));
        _mm512_permutexvar_epi8(from, vector)
    };
    let [decides, last_but_one, last] = before.kinds;
    let mut previous = _mm512_mask_mov_epi8(away(-2, here), 0b01, all(last_but_one));
    previous = _mm512_mask_mov_epi8(previous, 0b10, all(last));
    let mut column = _mm512_shuffle_epi8(slice(&tables.kind_column), previous);
    let last = _mm512_mask_mov_epi8(away(-1, here), 0b01, all(last));
    let next = _mm512_shuffle_epi8(slice(&tables.kind_next), here);
    // Behind two of the repeated kind, what is before the run decides, unless something taints.
    let is_here = |vector| _mm512_cmpeq_epi8_mask(vector, all(repeated.kind));
    let inside = u64::MAX >> (u64::BITS - n).min(63);
    let mut behind = is_here(previous) & is_here(last) & inside;
    let three = _mm512_castsi512_si128(away(n as i8 - 3, here));
    progress.last = first_three(three);
    if behind != 0 && !before.taints && _mm512_movepi8_mask(next) & inside == 0 {
        let all_behind = behind;
        if before.is_start {
            // There is nothing before the run.
            previous = _mm512_mask_mov_epi8(previous, 0b10, all(repeated.kind));
        }
        while behind != 0 {
            let further = _mm512_mask_mov_epi8(away(-1, previous), 0b01, all(decides));
            previous = _mm512_mask_mov_epi8(previous, behind, further);
            behind &= behind << 1;
        }
        let columns = _mm512_shuffle_epi8(slice(&repeated.columns), previous);
        column = _mm512_mask_mov_epi8(column, all_behind, columns);
        let end = _mm512_castsi512_si128(away(n as i8 - 1, previous));
        progress.last[0] = first_three(end)[0];
    }
    if before.is_start {
        // Before the second character of a text there is only one.
        column = _mm512_mask_mov_epi8(column, 0b10, all(tables.start_column));
    }
    let behind = next_character(ahead);
    // Without a branch: whether words end with a block cannot be guessed.
    let behind = select_unpredictable(
        behind < 0x80,
        tables.kind[behind as usize & 0x7F],
        rules.kinds.get(behind),
    );
    let end = 1u64.rotate_left(n.wrapping_sub(1));
    let vectors = [
        _mm512_or_si512(column, last),
        next,
        _mm512_mask_mov_epi8(away(1, here), end, all(behind)),
    ];
    // Back to bytes.
    let bytes = |bits: u64| _pdep_u64(bits, begins);
    let lanes = find_vectors(tables, vectors);
    found.boundaries = bytes(lanes.boundaries);
    found.unsure = bytes(lanes.unsure);
    found.depends = bytes(lanes.depends);
    // Few blocks have any, and nothing is tainted where nothing taints.
    if lanes.runs | lanes.taints != 0 || before.taints {
        found.runs = bytes(lanes.runs);
        found.taints = bytes(lanes.taints);
        found.tainted_boundaries = bytes(lanes.tainted_boundaries);
        found.tainted_unsure = bytes(lanes.tainted_unsure);
    }
    begins
}

/// The first bytes of a vector.
#[inline]
#[target_feature(enable = "avx512bw")]
fn first_three(vector: __m128i) -> [u8; 3] {
    let [first, second, third, _] = _mm_cvtsi128_si32(vector).to_le_bytes();
    [first, second, third]
}
