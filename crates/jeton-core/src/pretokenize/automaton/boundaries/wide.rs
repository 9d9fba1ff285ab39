//! Characters of more than one byte: their kinds, byte by byte.
//!
//! Each byte of a character gets the kind of the character. So what comes before a place is the kind of the byte before it,
//! and further characters are as many bytes away as the bytes in between say: that is the same for all places, and vectors
//! can do it ([`super::kernels`]). Only the kinds themselves are looked up one by one.

use super::Boundaries;
use super::tables::{BLOCK, Found};
use crate::pretokenize::automaton::classes::Characters;
use crate::simd::gather_bits;

/// Bytes before a block that are looked at: those of two characters.
pub(super) const BEFORE: usize = 8;
/// Bytes of a block and around it: behind the last character that begins in it comes one more.
pub(in super::super) const AROUND: usize = BEFORE + BLOCK + 8;

/// A bit for each byte around a block that begins a longer character.
pub(super) fn leads(around: &[u8; AROUND]) -> u128 {
    let mut leads = 0;
    for (index, eight) in around.as_chunks::<8>().0.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        // The two highest bits of such a byte are set.
        leads |= u128::from(gather_bits((eight & eight << 1) >> 7)) << (8 * index);
    }
    leads
}

impl Characters {
    /// Gives the bytes of all longer characters around a block their kinds.
    #[inline(always)]
    pub(super) fn spread(&self, around: &[u8; AROUND], leads: u128, kinds: &mut [u8; AROUND]) {
        // What begins in the last bytes is not looked at, nor is it all there.
        let leads = leads & ((1 << (AROUND - 4)) - 1);
        for (mut leads, from) in [(leads as u64, 0), ((leads >> 64) as u64, 64)] {
            while leads != 0 {
                let at = from + leads.trailing_zeros() as usize;
                leads &= leads - 1;
                let Some(bytes) = around.get(at..).and_then(<[u8]>::first_chunk::<4>) else {
                    return;
                };
                let [first, second, third, fourth] = bytes.map(u32::from);
                let low = |byte: u32| byte & 0x3F;
                if first < 0xE0 {
                    let kind = self.get((first & 0x1F) << 6 | low(second));
                    kinds[at..at + 2].fill(kind);
                } else if first < 0xF0 {
                    let code = (first & 0x0F) << 12 | low(second) << 6 | low(third);
                    kinds[at..at + 3].fill(self.get(code));
                } else {
                    let code = (first & 0x07) << 18 | low(second) << 12 | low(third) << 6;
                    kinds[at..at + 4].fill(self.get(code | low(fourth)));
                }
            }
        }
    }
}

impl Boundaries {
    /// What is known of the places of a block that has longer characters, and where characters begin.
    #[inline(always)]
    pub(super) fn find_wide(&self, text: &[u8], start: usize) -> (Found, u64) {
        let mut padded = [0; AROUND];
        let inside = start.checked_sub(BEFORE).and_then(|from| text.get(from..));
        let around = inside.and_then(<[u8]>::first_chunk).unwrap_or_else(|| {
            let from = start.saturating_sub(BEFORE);
            let there = &text[from..text.len().min(start + AROUND - BEFORE)];
            padded[from + BEFORE - start..][..there.len()].copy_from_slice(there);
            &padded
        });
        let (mut kinds, leads) = self.kernel.single_kinds(&self.tables, around);
        self.kinds.spread(around, leads, &mut kinds);
        // Before the second character of a text there is only one.
        let second = match text.first() {
            Some(&first) if start == 0 => 1 << width(first),
            _ => 0,
        };
        self.kernel.find_wide(&self.tables, around, &kinds, second)
    }
}

/// Bytes of the character that begins with this one.
#[inline(always)]
pub(super) fn width(first: u8) -> usize {
    1 + usize::from(first >= 0xC0) + usize::from(first >= 0xE0) + usize::from(first >= 0xF0)
}
