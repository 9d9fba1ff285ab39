//! Kinds of longer characters with AVX2, by rows of characters: the first bytes tell most kinds,
//! a leaf of 128 characters the others. Called only where `Kernel::of` found AVX2, which is all
//! that makes the call unsafe; memory is read and written through references to arrays.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_setzero_si128, _mm_srli_si128, _mm_storeu_si128,
    _mm256_alignr_epi8, _mm256_and_si256, _mm256_andnot_si256, _mm256_blendv_epi8,
    _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_max_epu8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi16, _mm256_zextsi128_si256,
};

use super::super::Boundaries;
use super::super::multibyte::AROUND;
use super::super::rows::{Leaf, MIXED, Recent};
use super::super::tables::MAX_SLICES;
use super::avx2::{HALF, all, load, look_up, slice, store};

/// Registers that the bytes around a block take. The last one is half empty.
const N_PARTS: usize = 3;
/// Bytes in the last register.
const REST: usize = AROUND - 2 * HALF;
/// New leaves of a block. The characters of further ones are looked up one by one.
const MAX_NEW_LEAVES: usize = 2;

#[inline]
pub(super) fn call_spread(
    rules: &Boundaries,
    recent: &mut Recent,
    around: &[u8; AROUND],
    leads: u128,
    kinds: &mut [u8; AROUND],
) -> u128 {
    // SAFETY: a `Kernel::Avx2` exists only where the machine has AVX2.
    unsafe { spread(rules, recent, around, leads, kinds) }
}

/// Bytes around a block: three registers of each.
struct Bytes {
    first: [__m256i; N_PARTS],
    second: [__m256i; N_PARTS],
    third: [__m256i; N_PARTS],
    /// Kinds where characters begin that are known by now; zeros elsewhere.
    kinds: [__m256i; N_PARTS],
}

impl Bytes {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(around: &[u8; AROUND]) -> Self {
        let rest = around
            .last_chunk()
            .map_or(_mm_setzero_si128(), |rest| load_half(rest));
        let (two, three) = (_mm_srli_si128::<1>(rest), _mm_srli_si128::<2>(rest));
        let from = |ahead: usize, rest: __m128i| {
            let rest = _mm256_zextsi128_si256(rest);
            [load(around, ahead), load(around, HALF + ahead), rest]
        };
        Self {
            first: from(0, rest),
            second: from(1, two),
            third: from(2, three),
            kinds: [_mm256_setzero_si256(); N_PARTS],
        }
    }

    /// Notes the kinds of characters of three bytes whose first byte tells them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn look_at_firsts(&mut self, rules: &Boundaries) -> u128 {
        let by_lead = slice(&rules.rows.leads);
        let mut told = 0;
        for part in 0..N_PARTS {
            let first = self.first[part];
            let kinds = _mm256_shuffle_epi8(by_lead, _mm256_and_si256(first, all(0x0F)));
            // 0xE0 to 0xEF.
            let is_three = _mm256_cmpeq_epi8(_mm256_and_si256(first, all(0xF0)), all(0xE0));
            let here = _mm256_andnot_si256(is_mixed(kinds), is_three);
            told |= self.note(part, kinds, here);
        }
        told
    }

    /// Notes the kinds of characters that begin with `lead` and whose second byte tells them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn look_at_seconds(&mut self, rules: &Boundaries, lead: u8) -> u128 {
        let mut table = [0; 128];
        table[..64].copy_from_slice(&rules.rows.seconds[usize::from(lead & 0x0F)]);
        let mut told = 0;
        for part in 0..N_PARTS {
            let second = _mm256_and_si256(self.second[part], all(0x3F));
            let kinds = look_up(&table, MAX_SLICES / 2, second);
            let same = _mm256_cmpeq_epi8(self.first[part], all(lead));
            let here = _mm256_andnot_si256(is_mixed(kinds), same);
            told |= self.note(part, kinds, here);
        }
        told
    }

    /// Notes the kinds of the characters of a leaf.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn look_at_leaf(&mut self, rules: &Boundaries, leaf: Leaf) -> u128 {
        let table = rules.kinds.leaf_at(leaf.place);
        let mut told = 0;
        for part in 0..N_PARTS {
            let (first, second) = (self.first[part], self.second[part]);
            let is_two = leaf.lead == 0;
            let (middle, last) = if is_two {
                (first, second)
            } else {
                (second, self.third[part])
            };
            let mut here = _mm256_cmpeq_epi8(_mm256_or_si256(middle, all(1)), all(leaf.middle));
            if !is_two {
                here = _mm256_and_si256(here, _mm256_cmpeq_epi8(first, all(leaf.lead)));
            }
            // The lowest bit of the last byte but one tells the row, six bits of the last the place.
            let row = _mm256_and_si256(_mm256_slli_epi16::<6>(middle), all(0x40));
            let place = _mm256_or_si256(_mm256_and_si256(last, all(0x3F)), row);
            told |= self.note(part, look_up(table, MAX_SLICES, place), here);
        }
        told
    }

    /// Notes kinds where `here` has all bits set; returns a bit for each of these bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn note(&mut self, part: usize, kinds: __m256i, here: __m256i) -> u128 {
        self.kinds[part] = _mm256_blendv_epi8(self.kinds[part], kinds, here);
        u128::from(_mm256_movemask_epi8(here).cast_unsigned()) << (part * HALF)
    }

    /// Gives all bytes of the characters whose kinds are noted these kinds.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn write(&self, kinds: &mut [u8; AROUND]) {
        let rest = kinds
            .last_chunk()
            .map_or(_mm_setzero_si128(), |rest| load_half(rest));
        let single = [
            load(kinds, 0),
            load(kinds, HALF),
            _mm256_zextsi128_si256(rest),
        ];
        let (mut twos_before, mut threes_before) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        let spread: [__m256i; N_PARTS] = std::array::from_fn(|part| {
            let (first, twos) = (self.first[part], self.kinds[part]);
            let threes = _mm256_and_si256(twos, is_at_least(first, 0xE0));
            // One of the three is no zero, if any: a byte belongs to one character.
            let one_back = shifted::<15>(twos_before, twos);
            let two_back = shifted::<14>(threes_before, threes);
            (twos_before, threes_before) = (twos, threes);
            let spread = _mm256_or_si256(_mm256_or_si256(twos, one_back), two_back);
            // The top bit of a byte is set in longer characters only.
            _mm256_blendv_epi8(single[part], spread, first)
        });
        store(kinds, 0, spread[0]);
        store(kinds, HALF, spread[1]);
        if let Some(place) = kinds.last_chunk_mut() {
            store_half(place, _mm256_castsi256_si128(spread[2]));
        }
    }
}

/// The bytes of `here` moved up, behind the last bytes of `before`. `FROM`: 16 less the distance.
#[inline]
#[target_feature(enable = "avx2")]
fn shifted<const FROM: i32>(before: __m256i, here: __m256i) -> __m256i {
    let lower = _mm256_permute2x128_si256::<0x21>(before, here);
    _mm256_alignr_epi8::<FROM>(here, lower)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_half(bytes: &[u8; REST]) -> __m128i {
    // SAFETY: an unaligned load of 16 bytes that are there.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_half(bytes: &mut [u8; REST], vector: __m128i) {
    // SAFETY: an unaligned store to 16 bytes that are there.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), vector) }
}

/// All bits of each byte that is [`MIXED`].
#[inline]
#[target_feature(enable = "avx2")]
fn is_mixed(kinds: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_and_si256(kinds, all(MIXED)), all(MIXED))
}

/// All bits of each byte that is as large as `least` or larger.
#[inline]
#[target_feature(enable = "avx2")]
fn is_at_least(bytes: __m256i, least: u8) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, all(least)), bytes)
}

/// Gives the bytes of longer characters around a block their kinds. Returns a bit for the beginning
/// of each character that is left: rows do not tell its kind, or it has four bytes.
#[target_feature(enable = "avx2")]
fn spread(
    rules: &Boundaries,
    recent: &mut Recent,
    around: &[u8; AROUND],
    leads: u128,
    kinds: &mut [u8; AROUND],
) -> u128 {
    let mut bytes = Bytes::new(around);
    let mut left = leads;
    left &= !bytes.look_at_firsts(rules);
    let (common, others) = recent.leaves();
    if left != 0 {
        for &leaf in common.into_iter().chain(others) {
            left &= !bytes.look_at_leaf(rules, leaf);
        }
        for &lead in recent.leads() {
            left &= !bytes.look_at_seconds(rules, lead);
        }
    }
    for _ in 0..MAX_NEW_LEAVES {
        let at = left.trailing_zeros() as usize;
        let Some(&[lead, next, ..]) = around.get(at..).and_then(<[u8]>::first_chunk::<4>) else {
            break;
        };
        if lead >= 0xF0 {
            break;
        }
        let second = rules.rows.seconds[usize::from(lead & 0x0F)][usize::from(next & 0x3F)];
        if lead >= 0xE0 && second != MIXED {
            left &= !bytes.look_at_seconds(rules, lead);
            recent.take_lead(lead);
        } else {
            let leaf = Leaf::of(lead, next, &rules.kinds);
            left &= !bytes.look_at_leaf(rules, leaf);
            recent.take_leaf(leaf);
        }
    }
    bytes.write(kinds);
    left
}
