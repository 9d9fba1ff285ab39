//! Merging with all candidates in vectors, which stay in registers.
//!
//! In memory a candidate is written alone and read together with the others. The read waits until
//! the write has reached the cache. An unknown word of nine bytes takes a fifth less time with
//! vectors (docs/log/engine-2026-11.md).

use super::merge_scalar::{Find, merge_by};
use crate::cpu::dispatch::Kernel;

/// Merges the `ids` whose bits are set in `there`, as [`merge_by`] does.
#[inline]
pub(super) fn merge<const N: usize>(
    pairs: &impl Find,
    there: u64,
    candidates: &mut [i32; N],
    ids: &mut [u32; N],
) -> u64 {
    merge_with(pairs.kernel(), pairs, there, candidates, ids)
}

#[inline]
fn merge_with<const N: usize>(
    kernel: Kernel,
    pairs: &impl Find,
    there: u64,
    candidates: &mut [i32; N],
    ids: &mut [u32; N],
) -> u64 {
    match kernel {
        Kernel::Portable => merge_by(pairs, there, candidates, ids),
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2(_) => x86::call_avx2(pairs, there, candidates, ids),
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512(_) => x86::call_avx512(pairs, there, candidates, ids),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Called only where `Kernel::of` found the instructions, which is all that makes it unsafe;
    //! memory is read through references to arrays.
    #![allow(unsafe_code)]

    use std::arch::x86_64::{
        __m256i, __m512i, _mm_cvtsi128_si32, _mm_min_epi32, _mm_shuffle_epi32, _mm256_add_epi32,
        _mm256_blendv_epi8, _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_extracti128_si256,
        _mm256_loadu_si256, _mm256_min_epi32, _mm256_set1_epi32, _mm256_setr_epi32,
        _mm256_setzero_si256, _mm512_loadu_si512, _mm512_mask_set1_epi32, _mm512_min_epi32,
        _mm512_reduce_min_epi32, _mm512_setzero_si512,
    };

    use crate::models::bpe::merge_scalar::{Candidates, Find, MAX_SYMBOLS, merge_by};

    /// Candidates of a vector.
    const WIDE: usize = 16;
    const NARROW: usize = 8;
    /// Most candidates in vectors of 256 bits: with more of them there are too few registers.
    const MAX_NARROW: usize = 32;

    /// `N` candidates in vectors of 512 bits.
    struct Wide<const N: usize>([__m512i; MAX_SYMBOLS / WIDE]);

    impl<const N: usize> Candidates for Wide<N> {
        #[inline(always)]
        fn set(&mut self, place: usize, candidate: i32) {
            for (index, lanes) in self.0[..N / WIDE].iter_mut().enumerate() {
                let mask = 1u64 << (place % N) >> (index * WIDE);
                // SAFETY: there are such vectors only in functions that are compiled for AVX-512.
                *lanes = unsafe { _mm512_mask_set1_epi32(*lanes, mask as u16, candidate) };
            }
        }

        #[inline(always)]
        fn least(&self) -> i32 {
            let [first, more @ ..] = &self.0;
            let least = more[..N / WIDE - 1]
                .iter()
                // SAFETY: as above.
                .fold(*first, |least, lanes| unsafe { _mm512_min_epi32(least, *lanes) });
            // SAFETY: as above.
            unsafe { _mm512_reduce_min_epi32(least) }
        }
    }

    /// `N` candidates in vectors of 256 bits.
    struct Narrow<const N: usize>([__m256i; MAX_NARROW / NARROW]);

    impl<const N: usize> Candidates for Narrow<N> {
        #[inline(always)]
        fn set(&mut self, place: usize, candidate: i32) {
            let place = (place % N) as i32;
            for (index, lanes) in self.0[..N / NARROW].iter_mut().enumerate() {
                // SAFETY: there are such vectors only in functions that are compiled for AVX2.
                *lanes = unsafe {
                    let numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                    let numbers =
                        _mm256_add_epi32(numbers, _mm256_set1_epi32((index * NARROW) as i32));
                    let is_place = _mm256_cmpeq_epi32(numbers, _mm256_set1_epi32(place));
                    _mm256_blendv_epi8(*lanes, _mm256_set1_epi32(candidate), is_place)
                };
            }
        }

        #[inline(always)]
        fn least(&self) -> i32 {
            let [first, more @ ..] = &self.0;
            let least = more[..N / NARROW - 1]
                .iter()
                // SAFETY: as above.
                .fold(*first, |least, lanes| unsafe { _mm256_min_epi32(least, *lanes) });
            // SAFETY: as above.
            unsafe {
                let high = _mm256_extracti128_si256::<1>(least);
                let four = _mm_min_epi32(_mm256_castsi256_si128(least), high);
                let two = _mm_min_epi32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
                _mm_cvtsi128_si32(_mm_min_epi32(two, _mm_shuffle_epi32::<1>(two)))
            }
        }
    }

    #[inline]
    pub(super) fn call_avx512<const N: usize>(
        pairs: &impl Find,
        there: u64,
        candidates: &[i32; N],
        ids: &mut [u32; N],
    ) -> u64 {
        debug_assert!(is_x86_feature_detected!("avx512bw"));
        // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW, and the
        // instructions on bits that come with AVX2.
        unsafe { avx512(pairs, there, candidates, ids) }
    }

    #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt,avx512bw")]
    fn avx512<const N: usize>(
        pairs: &impl Find,
        there: u64,
        candidates: &[i32; N],
        ids: &mut [u32; N],
    ) -> u64 {
        let mut lanes = Wide::<N>([_mm512_setzero_si512(); MAX_SYMBOLS / WIDE]);
        let (vectors, _) = candidates.as_chunks::<WIDE>();
        for (lanes, vector) in lanes.0.iter_mut().zip(vectors) {
            // SAFETY: sixteen numbers of 32 bits.
            *lanes = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
        }
        merge_by(pairs, there, &mut lanes, ids)
    }

    #[inline]
    pub(super) fn call_avx2<const N: usize>(
        pairs: &impl Find,
        there: u64,
        candidates: &mut [i32; N],
        ids: &mut [u32; N],
    ) -> u64 {
        debug_assert!(is_x86_feature_detected!("avx2"));
        // SAFETY: a `Kernel::Avx2` exists only where the machine has AVX2 and instructions on bits.
        unsafe { avx2(pairs, there, candidates, ids) }
    }

    #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt,avx2")]
    fn avx2<const N: usize>(
        pairs: &impl Find,
        there: u64,
        candidates: &mut [i32; N],
        ids: &mut [u32; N],
    ) -> u64 {
        if N > MAX_NARROW {
            return merge_by(pairs, there, candidates, ids);
        }
        let mut lanes = Narrow::<N>([_mm256_setzero_si256(); MAX_NARROW / NARROW]);
        let (vectors, _) = candidates.as_chunks::<NARROW>();
        for (lanes, vector) in lanes.0.iter_mut().zip(vectors) {
            // SAFETY: eight numbers of 32 bits.
            *lanes = unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) };
        }
        merge_by(pairs, there, &mut lanes, ids)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::merge_scalar::{Candidates, NOTHING, first};
    use super::super::table::MergeTable;
    use super::*;
    use crate::cpu::dispatch::Level;
    use crate::vocab::Vocab;

    /// Ids of a word under each kernel of this machine.
    fn left<const N: usize>(table: &MergeTable, word: &[u8]) -> Vec<Vec<u32>> {
        let kernels = Level::ALL.into_iter().filter_map(Kernel::of);
        kernels
            .map(|kernel| {
                let (mut ids, mut candidates) = ([0; N], [NOTHING; N]);
                for (place, pair) in word.windows(2).enumerate() {
                    let found = table.find_bytes(pair[0], pair[1]) | place as u32;
                    candidates.set(place, found as i32);
                }
                for (id, &byte) in ids.iter_mut().zip(word) {
                    *id = table.symbol(byte);
                }
                let left = merge_with(
                    kernel,
                    &table.lookups(),
                    first(word.len()),
                    &mut candidates,
                    &mut ids,
                );
                let places = (0..N).filter(|place| left >> place & 1 != 0);
                places.map(|place| ids[place]).collect()
            })
            .collect()
    }

    proptest! {
        /// The naive twin is a scan of an array.
        #[test]
        fn all_kernels_merge_alike(
            tokens in prop::collection::vec("[abc]{2,6}", 0..60),
            word in "[abc]{1,64}",
        ) {
            let mut vocab = Vocab::default();
            for byte in 0..=255u8 {
                vocab.insert(u32::from(byte), &[byte]).unwrap();
            }
            for token in tokens {
                if vocab.bytes_to_id(token.as_bytes()).is_none() {
                    vocab.insert(vocab.size(), token.as_bytes()).unwrap();
                }
            }
            let symbols = std::array::from_fn(|byte| byte as u32);
            let table = MergeTable::from_ranks(&vocab, &symbols, false);
            let word = word.as_bytes();
            let mut all = left::<64>(&table, word);
            if word.len() <= 32 {
                all.extend(left::<32>(&table, word));
            }
            if word.len() <= 16 {
                all.extend(left::<16>(&table, word));
            }
            let expected = crate::models::bpe::naive::encode_by_rank(&vocab, word);
            for ids in all {
                prop_assert_eq!(&ids, &expected);
            }
        }
    }
}
