//! Looking the characters of a block up in the tables, with the widest instructions that the
//! machine has.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_wide;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512_wide;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use super::Boundaries;
use super::multibyte::{AROUND, leads};
use super::rows::Recent;
use super::tables::{BLOCK, BlockBounds, Codes, Tables, WINDOW};
use crate::cpu::dispatch::Kernel;

impl Kernel {
    /// Finds the boundaries in a block of single-byte characters; None where the block has others.
    /// `at_start`: the block is the text's first.
    #[inline]
    pub(super) fn find_ascii(
        self,
        tables: &Tables,
        window: &[u8; WINDOW],
        at_start: bool,
    ) -> Option<BlockBounds> {
        match self {
            Self::Portable => window
                .is_ascii()
                .then(|| tables.find(&tables.codes(window, at_start))),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::call_find_ascii(tables, window, at_start),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::call_find_ascii(tables, window, at_start),
        }
    }

    /// Writes where the bits of a number are, counted from `base`, lowest first; what is behind
    /// them is overwritten. `few`: most such numbers have no more than sixteen.
    #[inline(always)]
    pub(super) fn places(self, bits: u64, few: bool, base: usize, places: &mut [usize; 64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::call_places(bits, few, base, places),
            _ => places_by_eight(bits, base, places),
        }
    }

    /// A bit for each byte of a block that lies in a range.
    #[inline]
    pub(super) fn bytes_within(self, block: &[u8; BLOCK], bytes: &RangeInclusive<u8>) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::call_bytes_within(block, bytes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::call_bytes_within(block, bytes),
            Self::Portable => {
                let within = block.iter().map(|byte| u64::from(bytes.contains(byte)));
                within.rev().fold(0, |bits, bit| bits << 1 | bit)
            }
        }
    }

    /// The kinds of the single-byte characters around a block, and a bit for each byte that begins
    /// a longer one.
    #[inline]
    pub(super) fn single_kinds(
        self,
        tables: &Tables,
        around: &[u8; AROUND],
    ) -> ([u8; AROUND], u128) {
        let kinds = match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::call_single_kinds(tables, around),
            _ => tables.single_kinds(around),
        };
        (kinds, leads(around))
    }

    /// Gives the bytes of longer characters around a block their kinds. `leads`: a bit for each byte
    /// that begins one.
    #[inline]
    pub(super) fn spread(
        self,
        rules: &Boundaries,
        recent: &mut Recent,
        around: &[u8; AROUND],
        leads: u128,
        kinds: &mut [u8; AROUND],
    ) {
        // Characters that begin in the last bytes are not looked at, and are not complete.
        let leads = leads & ((1 << (AROUND - 4)) - 1);
        let left = match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2_wide::call_spread(rules, recent, around, leads, kinds),
            _ => leads,
        };
        rules.kinds.spread(around, left, kinds);
    }

    /// Writes what the characters around the places of a block are looked up by, where characters
    /// begin, and returns a bit for each of these. `kinds`: of the characters that the bytes around
    /// the block belong to. `second`: the bit of the text's second character.
    #[inline]
    pub(super) fn wide_codes(
        self,
        tables: &Tables,
        around: &[u8; AROUND],
        kinds: &[u8; AROUND],
        second: u64,
        codes: &mut Codes,
    ) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::call_wide_codes(tables, around, kinds, second, codes),
            _ => tables.wide_codes(around, kinds, second, codes),
        }
    }

    /// Finds the boundaries in a block.
    #[inline]
    pub(super) fn find(self, tables: &Tables, codes: &Codes) -> BlockBounds {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::call_find(tables, codes),
            _ => tables.find(codes),
        }
    }
}

/// Eight at a time, more than there are: a guess of how many often fails, and costs more.
#[inline(always)]
fn places_by_eight(mut bits: u64, base: usize, places: &mut [usize; 64]) {
    for eight in places.as_chunks_mut::<8>().0 {
        for place in eight {
            *place = base.wrapping_add(bits.trailing_zeros() as usize);
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            return;
        }
    }
}
