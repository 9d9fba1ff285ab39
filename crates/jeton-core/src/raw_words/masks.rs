//! Blocks of 64 bytes as masks: for each set of classes, a bit for each byte that is a character of
//! it.
//!
//! A byte's sets are looked up in a table of 128 (ASCII), which vector registers hold: AVX-512 VBMI
//! looks 64 bytes up at once, AVX2 does it in eight slices of the table. The portable twin loads
//! one byte of the table for each byte of text, and gathers bits by multiplication.

use crate::cpu::dispatch::{Kernel, gather_bits};

/// Bytes of a block: the bits of a mask.
pub(super) const BLOCK: usize = 64;
/// Kinds that the masks of a block are made for at once: the bits of a byte.
pub(super) const KINDS_PER_PASS: usize = 8;

/// A mask for each kind.
type Masks = [u64; KINDS_PER_PASS];

impl Kernel {
    /// Makes the masks of the single-byte characters of the block at `start`; returns the mask of
    /// the other bytes.
    #[inline]
    pub(super) fn single_bytes(
        self,
        members: &[u8; 256],
        n_kinds: usize,
        text: &[u8],
        start: usize,
        masks: &mut Masks,
    ) -> u64 {
        if let Some(block) = text
            .get(start..start + BLOCK)
            .and_then(|block| <&[u8; BLOCK]>::try_from(block).ok())
        {
            return self.block(members, n_kinds, block, masks);
        }
        let rest = text.get(start..).unwrap_or_default();
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        let wide = self.block(members, n_kinds, &block, masks);
        // Zeros behind the text are no characters.
        let there = (1u64 << rest.len()) - 1;
        masks.iter_mut().for_each(|mask| *mask &= there);
        wide
    }

    #[inline]
    fn block(
        self,
        members: &[u8; 256],
        n_kinds: usize,
        block: &[u8; BLOCK],
        masks: &mut Masks,
    ) -> u64 {
        match self {
            Self::Portable => portable(members, n_kinds, block, masks),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => x86::call_avx2(members, n_kinds, block, masks),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => x86::call_avx512(members, n_kinds, block, masks),
        }
    }
}

fn portable(members: &[u8; 256], n_kinds: usize, block: &[u8; BLOCK], masks: &mut Masks) -> u64 {
    let mut wide = 0;
    *masks = [0; KINDS_PER_PASS];
    for (index, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let sets = u64::from_le_bytes(eight.map(|byte| members[byte as usize]));
        for (set, mask) in masks.iter_mut().enumerate().take(n_kinds) {
            *mask |= gather_bits(sets >> set) << (8 * index);
        }
        wide |= gather_bits(u64::from_le_bytes(*eight) >> 7) << (8 * index);
    }
    wide
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Masks with vector instructions. They are called only where `Kernel::of` found them, and
    //! nothing else makes the calls unsafe. Memory is read and written through references to
    //! arrays.
    #![allow(unsafe_code)]

    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_add_epi8, _mm256_adds_epu8, _mm256_loadu_si256,
        _mm256_movemask_epi8, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi8,
        _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_xor_si256, _mm512_loadu_si512,
        _mm512_movepi8_mask, _mm512_permutex2var_epi8, _mm512_set1_epi8, _mm512_test_epi8_mask,
    };

    use super::{BLOCK, KINDS_PER_PASS, Masks};

    #[inline]
    pub(super) fn call_avx2(
        members: &[u8; 256],
        n_kinds: usize,
        block: &[u8; BLOCK],
        masks: &mut Masks,
    ) -> u64 {
        debug_assert!(is_x86_feature_detected!("avx2"));
        // SAFETY: a `Kernel::Avx2` exists only where the machine has AVX2.
        unsafe { avx2(members, n_kinds, block, masks) }
    }

    #[inline]
    pub(super) fn call_avx512(
        members: &[u8; 256],
        n_kinds: usize,
        block: &[u8; BLOCK],
        masks: &mut Masks,
    ) -> u64 {
        debug_assert!(is_x86_feature_detected!("avx512vbmi"));
        // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW and VBMI.
        unsafe { avx512(members, n_kinds, block, masks) }
    }

    #[target_feature(enable = "avx2")]
    fn avx2(members: &[u8; 256], n_kinds: usize, block: &[u8; BLOCK], masks: &mut Masks) -> u64 {
        let load = |bytes: &[u8], at: usize| -> __m256i {
            let half: &[u8; 32] = bytes[at..at + 32].first_chunk().unwrap_or(&[0; 32]);
            // SAFETY: an unaligned load of 32 bytes that are there.
            unsafe { _mm256_loadu_si256(half.as_ptr().cast()) }
        };
        let halves = [load(block, 0), load(block, 32)];
        let mut sets = [_mm256_setzero_si256(); 2];
        for high in 0..8u8 {
            let pair = load(members, (high as usize / 2) * 32);
            let table = if high % 2 == 0 {
                _mm256_permute2x128_si256::<0x00>(pair, pair)
            } else {
                _mm256_permute2x128_si256::<0x11>(pair, pair)
            };
            for (sets, &half) in sets.iter_mut().zip(&halves) {
                // Zero to 15 where the high half of the byte is `high`; elsewhere the top bit,
                // which the shuffle makes a zero of.
                let low = _mm256_xor_si256(half, _mm256_set1_epi8((high << 4).cast_signed()));
                let index = _mm256_adds_epu8(low, _mm256_set1_epi8(0x70));
                *sets = _mm256_or_si256(*sets, _mm256_shuffle_epi8(table, index));
            }
        }
        let bits = |halves: [__m256i; 2]| -> u64 {
            let [low, high] =
                halves.map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
            low | high << 32
        };
        // Set 7 is the top bit already; each turn brings the next lower set there.
        for set in (0..KINDS_PER_PASS).rev() {
            if set < n_kinds {
                masks[set] = bits(sets);
            }
            sets = sets.map(|sets| _mm256_add_epi8(sets, sets));
        }
        bits(halves)
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn avx512(members: &[u8; 256], n_kinds: usize, block: &[u8; BLOCK], masks: &mut Masks) -> u64 {
        let load = |bytes: &[u8; 64]| -> __m512i {
            // SAFETY: an unaligned load of 64 bytes that are there.
            unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
        };
        let text = load(block);
        let (tables, _) = members.as_chunks::<64>();
        let wide = _mm512_movepi8_mask(text);
        // The top bit of an index is not looked at.
        let sets = _mm512_permutex2var_epi8(load(&tables[0]), text, load(&tables[1]));
        for (set, mask) in masks.iter_mut().enumerate().take(n_kinds) {
            *mask =
                _mm512_test_epi8_mask(sets, _mm512_set1_epi8((1u8 << set).cast_signed())) & !wide;
        }
        wide
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::dispatch::Level;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_kernels_equal_a_loop_over_bytes(
            sets in prop::collection::vec(any::<u8>(), 128),
            text in prop::collection::vec(any::<u8>(), 1..200),
            start in 0usize..3,
            n_kinds in 1..=KINDS_PER_PASS,
        ) {
            let start = start * BLOCK;
            prop_assume!(start < text.len());
            let mut members = [0; 256];
            for (member, set) in members.iter_mut().zip(sets) {
                *member = set & (((1u16 << n_kinds) - 1) as u8);
            }
            let block = &text[start..text.len().min(start + BLOCK)];
            let bits = |is: &dyn Fn(u8) -> bool| -> u64 {
                block.iter().enumerate().map(|(i, &byte)| u64::from(is(byte)) << i).sum()
            };
            for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
                let mut masks = [0; KINDS_PER_PASS];
                let wide = kernel.single_bytes(&members, n_kinds, &text, start, &mut masks);
                prop_assert_eq!(wide, bits(&|byte| byte >= 0x80), "{:?}", kernel);
                for (set, &mask) in masks.iter().enumerate() {
                    let expected = bits(&|byte| members[byte as usize] >> set & 1 != 0);
                    prop_assert_eq!(mask, expected, "{:?} {}", kernel, set);
                }
            }
        }
    }
}
