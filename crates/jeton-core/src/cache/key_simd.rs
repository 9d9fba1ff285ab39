//! Keys of eight pretokens that follow one another, and where these would be kept, by vector
//! instructions.
//!
//! One pretoken at a time ([`Key::new`], [`Hashed`](crate::cache::key::Hashed)) takes three times
//! the instructions, and known pretokens cost little else. AVX-512 only: one comparison cuts each
//! pretoken off behind its end, and narrower vectors hold too few pretokens.

use crate::cache::key::{Key, Role};
use crate::cpu::dispatch::Kernel;

/// Pretokens at once.
pub(crate) const EIGHT: usize = 8;

/// Keys and hashes of eight pretokens.
pub(crate) struct KeyBatch<'a> {
    pub(crate) keys: &'a mut [Key<1>; EIGHT],
    /// Hashes of the keys.
    pub(crate) places: &'a mut [usize; EIGHT],
    /// Numbers of the pretokens that are too long for a key, from the front.
    pub(crate) long: &'a mut [usize; EIGHT],
}

impl Kernel {
    /// Makes the keys of the pretokens that begin at `start` and end at `ends`; long ones have
    /// [`Key::NONE`]. `first`: the number of the first of them, `role`: what they are. Returns how
    /// many are long, and the hashes once more: who needs them at once does not wait for memory
    /// then. None, and nothing is made, where the text may end before sixteen bytes of the last
    /// pretoken, and where there are no instructions for it.
    #[inline(always)]
    pub(crate) fn keys_of_eight(
        self,
        text: &[u8],
        start: usize,
        ends: &[usize; EIGHT],
        first: usize,
        role: Role,
        made: &mut KeyBatch<'_>,
    ) -> Option<(usize, [usize; EIGHT])> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::call_make(text, start, ends, first, role, made),
            _ => None,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! Called only where `Kernel::of` found AVX-512. Text is read only where a comparison has shown
    //! that it goes on for sixteen bytes. Nothing else is unsafe here.
    #![allow(unsafe_code)]

    use std::arch::x86_64::{
        __m512i, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_loadu_si128, _mm512_add_epi64,
        _mm512_alignr_epi64, _mm512_castsi128_si512, _mm512_castsi512_si128,
        _mm512_cmpgt_epu8_mask, _mm512_cmpgt_epu64_mask, _mm512_extracti32x4_epi32,
        _mm512_inserti32x4, _mm512_loadu_si512, _mm512_mask_mov_epi8, _mm512_maskz_compress_epi64,
        _mm512_maskz_mov_epi8, _mm512_maskz_set1_epi8, _mm512_min_epu64, _mm512_mul_epu32,
        _mm512_or_si512, _mm512_permutex2var_epi64, _mm512_permutexvar_epi8, _mm512_set1_epi8,
        _mm512_set1_epi64, _mm512_shuffle_epi32, _mm512_srli_epi64, _mm512_storeu_si512,
        _mm512_sub_epi64, _mm512_xor_si512,
    };

    use super::{EIGHT, KeyBatch};
    use crate::cache::key::{HIGH_FACTOR, Key, LOW_FACTOR, Role};

    /// Bytes of a key, the last of which has the length.
    const KEY: usize = 16;
    const MAX_WORD: i64 = Key::<1>::MAX_PRETOKEN_BYTES as i64;
    /// The last byte of each of four keys.
    const LAST_BYTES: u64 = 0x8000_8000_8000_8000;

    /// For each byte of four keys its place in the key, and the place of the pretoken's length
    /// among eight numbers of 64 bits.
    static PLACES: [u8; 64] = {
        let mut places = [0; 64];
        let mut n = 0;
        while n < 64 {
            places[n] = (n % KEY) as u8;
            n += 1;
        }
        places
    };
    static LENGTHS: [[u8; 64]; 2] = {
        let mut lengths = [[0; 64]; 2];
        let mut n = 0;
        while n < 128 {
            lengths[n / 64][n % 64] = (n / KEY * 8) as u8;
            n += 1;
        }
        lengths
    };
    static NUMBERS: [u64; EIGHT] = [0, 1, 2, 3, 4, 5, 6, 7];
    /// The first half of each of eight keys in two vectors.
    static FIRST_HALVES: [u64; EIGHT] = [0, 2, 4, 6, 8, 10, 12, 14];

    #[inline]
    pub(super) fn call_make(
        text: &[u8],
        start: usize,
        ends: &[usize; EIGHT],
        first: usize,
        role: Role,
        made: &mut KeyBatch<'_>,
    ) -> Option<(usize, [usize; EIGHT])> {
        debug_assert!(is_x86_feature_detected!("avx512vbmi2"));
        // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW, VBMI and VBMI2.
        unsafe { make(text, start, ends, first, role, made) }
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn make(
        text: &[u8],
        start: usize,
        ends: &[usize; EIGHT],
        first: usize,
        role: Role,
        made: &mut KeyBatch<'_>,
    ) -> Option<(usize, [usize; EIGHT])> {
        let last = text.len().checked_sub(KEY)?;
        let number = |number: usize| _mm512_set1_epi64(number.cast_signed() as i64);
        // SAFETY: eight numbers of 64 bits.
        let until = unsafe { _mm512_loadu_si512(ends.as_ptr().cast()) };
        let from = _mm512_alignr_epi64::<7>(until, number(start));
        if _mm512_cmpgt_epu64_mask(from, number(last)) != 0 {
            return None;
        }
        let [b, c, d, e, f, g, h, _] = *ends;
        // SAFETY: all these are in `from`, and so are followed by sixteen bytes, as was just seen.
        let pretokens = unsafe {
            [
                load_four(text, [start, b, c, d]),
                load_four(text, [e, f, g, h]),
            ]
        };
        let lengths = _mm512_sub_epi64(until, from);
        // A length above 255 is cut to 255: long in either case.
        let in_bytes = _mm512_min_epu64(lengths, _mm512_set1_epi64(0xFF));
        // The key of a long pretoken has all bits set anyway.
        let role = _mm512_maskz_set1_epi8(LAST_BYTES, role as i8);
        let [low, high] = [0, 1].map(|half| {
            let keys = four_keys(pretokens[half], in_bytes, &LENGTHS[half]);
            _mm512_or_si512(keys, role)
        });
        let places = four_and_four_places(low, high);
        let long = _mm512_cmpgt_epu64_mask(lengths, _mm512_set1_epi64(MAX_WORD));
        let numbers = _mm512_add_epi64(number(first), load(&NUMBERS));
        let (keys, _) = made.keys.as_chunks_mut::<4>();
        let [low_keys, high_keys] = keys else {
            return None;
        };
        // SAFETY: there is room for eight numbers of 64 bits, or four keys, which are sixteen bytes
        // each and may be any.
        unsafe {
            _mm512_storeu_si512(low_keys.as_mut_ptr().cast(), low);
            _mm512_storeu_si512(high_keys.as_mut_ptr().cast(), high);
            _mm512_storeu_si512(made.places.as_mut_ptr().cast(), places);
            let long = _mm512_maskz_compress_epi64(long, numbers);
            _mm512_storeu_si512(made.long.as_mut_ptr().cast(), long);
        }
        Some((long.count_ones() as usize, numbers_of(places)))
    }

    /// A vector's numbers. They are taken from registers: a store followed by loads of the upper
    /// half waits for the cache (4 against 8.5 ns, an Intel processor of 2023, throwaway program).
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn numbers_of(vector: __m512i) -> [usize; EIGHT] {
        let quarters = [
            _mm512_castsi512_si128(vector),
            _mm512_extracti32x4_epi32::<1>(vector),
            _mm512_extracti32x4_epi32::<2>(vector),
            _mm512_extracti32x4_epi32::<3>(vector),
        ];
        let mut numbers = [0; EIGHT];
        for (numbers, two) in numbers.chunks_exact_mut(2).zip(quarters) {
            numbers[0] = _mm_cvtsi128_si64(two).cast_unsigned() as usize;
            numbers[1] = _mm_extract_epi64::<1>(two).cast_unsigned() as usize;
        }
        numbers
    }

    /// Sixteen bytes from each of four places.
    ///
    /// # Safety
    /// Sixteen bytes must be there behind each place.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    unsafe fn load_four(text: &[u8], [a, b, c, d]: [usize; 4]) -> __m512i {
        // SAFETY: the caller's.
        let [a, b, c, d] =
            unsafe { [a, b, c, d].map(|at| _mm_loadu_si128(text.as_ptr().add(at).cast())) };
        let one = _mm512_castsi128_si512(a);
        let two = _mm512_inserti32x4::<1>(one, b);
        _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(two, c), d)
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn load<T, const N: usize>(table: &[T; N]) -> __m512i {
        const { assert!(size_of::<[T; N]>() == 64) };
        // SAFETY: 64 bytes that are there.
        unsafe { _mm512_loadu_si512(table.as_ptr().cast()) }
    }

    /// The bytes of four pretokens without what follows them, their lengths in the last byte.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn four_keys(pretokens: __m512i, in_bytes: __m512i, lengths: &[u8; 64]) -> __m512i {
        let length = _mm512_permutexvar_epi8(load(lengths), in_bytes);
        let bytes = _mm512_maskz_mov_epi8(_mm512_cmpgt_epu8_mask(length, load(&PLACES)), pretokens);
        let keys = _mm512_mask_mov_epi8(bytes, LAST_BYTES, length);
        let long = _mm512_cmpgt_epu8_mask(length, _mm512_set1_epi8(MAX_WORD as i8));
        _mm512_mask_mov_epi8(keys, long, _mm512_set1_epi8(-1))
    }

    /// Returns the hash of each, as `Hashed for Key<1>` does.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn four_and_four_places(low: __m512i, high: __m512i) -> __m512i {
        let folded = |keys| {
            // The second half, its own halves the other way round, where the first half is.
            let second = _mm512_shuffle_epi32::<0b10_11_10_11>(keys);
            _mm512_xor_si512(keys, second)
        };
        let eight = _mm512_permutex2var_epi64(folded(low), load(&FIRST_HALVES), folded(high));
        let factor = |factor: u32| _mm512_set1_epi64(i64::from(factor));
        let both = _mm512_xor_si512(
            _mm512_mul_epu32(eight, factor(LOW_FACTOR)),
            _mm512_mul_epu32(_mm512_srli_epi64::<32>(eight), factor(HIGH_FACTOR)),
        );
        _mm512_xor_si512(both, _mm512_srli_epi64::<32>(both))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::key::Hashed;
    use crate::cpu::dispatch::Level;
    use proptest::prelude::*;

    proptest! {
        /// Wherever the pretokens and the text end.
        #[test]
        fn eight_words_are_as_each_alone(
            before in 0usize..9,
            lengths in prop::array::uniform8(prop_oneof![8 => 0usize..17, 1 => 17usize..600]),
            behind in 0usize..40,
            bytes in prop::collection::vec(any::<u8>(), 1..50),
            first in 0usize..200,
            role in prop::sample::select(&[Role::Pretoken, Role::Unit, Role::First][..]),
        ) {
            let Some(kernel) = Kernel::of(Level::Avx512) else {
                return Ok(());
            };
            let mut end = before;
            let ends = lengths.map(|length| {
                end += length;
                end
            });
            let text: Vec<u8> = bytes.iter().copied().cycle().take(end + behind).collect();
            let (mut keys, mut places, mut long) = ([Key::NONE; 8], [0; 8], [0; 8]);
            let mut made = KeyBatch { keys: &mut keys, places: &mut places, long: &mut long };
            let hashed = kernel.keys_of_eight(&text, before, &ends, first, role, &mut made);
            let last_begin = ends[6];
            prop_assert_eq!(hashed.is_some(), last_begin + 16 <= text.len());
            let Some((n_long, hashes)) = hashed else {
                return Ok(());
            };
            let mut begin = before;
            let mut expected_long = Vec::new();
            for (index, end) in ends.into_iter().enumerate() {
                let key = Key::<1>::new(&text, begin, end);
                if key.is_none() {
                    expected_long.push(first + index);
                }
                prop_assert_eq!(keys[index], key.map_or(Key::NONE, |key| key.of(role)));
                prop_assert_eq!(places[index], keys[index].hash());
                begin = end;
            }
            prop_assert_eq!(&long[..n_long], &expected_long[..]);
            prop_assert_eq!(hashes, places);
        }
    }
}
