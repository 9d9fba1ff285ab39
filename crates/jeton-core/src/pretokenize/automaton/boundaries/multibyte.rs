//! Characters of more than one byte.
//!
//! With AVX-512 a block is looked at character by character ([`super::kernels`]). Elsewhere each
//! byte of a character gets the kind of the character. The byte before a place then has the kind of
//! the character before it; the bytes in between tell how far away further characters are. These
//! steps are the same for all places, so vectors can do them. With AVX2 they also look up the kinds
//! of most characters; elsewhere the kinds are looked up one by one.

#[cfg(target_arch = "x86_64")]
use super::kernels::avx512_wide;
use super::tables::{BLOCK, BlockBounds, Codes};
use super::{Boundaries, Progress};
use crate::cpu::dispatch::{Kernel, gather_bits};
use crate::pretokenize::automaton::classes::Characters;

/// Bytes before a block that are looked at: two characters' bytes.
pub(super) const BEFORE: usize = 8;
/// Bytes of a block and around it: behind the last character that begins in it comes one more.
pub(in super::super) const AROUND: usize = BEFORE + BLOCK + 8;

/// Bytes of a block and behind it: a character that begins in it may end behind it, and one more
/// follows.
pub(super) const AHEAD: usize = BLOCK + 8;

/// Characters before a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockContext {
    /// The deciding kind before the last character before the block, then the kinds of the last two
    /// characters. The deciding kind is the last but one's, or the kind before a run of one kind:
    /// see [`super::repeated`].
    pub(super) kinds: [u8; 3],
    /// True if no character comes before the block.
    pub(super) is_start: bool,
    /// True if a character of the block before it taints what comes after it.
    pub(super) taints: bool,
}

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
    /// Gives the bytes of longer characters around a block their kinds, one character at a time.
    /// `leads`: a bit for each byte that begins one of these.
    #[inline(always)]
    pub(super) fn spread(&self, around: &[u8; AROUND], leads: u128, kinds: &mut [u8; AROUND]) {
        for (mut leads, from) in [(leads as u64, 0), ((leads >> 64) as u64, 64)] {
            while leads != 0 {
                let at = from + leads.trailing_zeros() as usize;
                leads &= leads - 1;
                let Some(bytes) = around.get(at..).and_then(<[u8]>::first_chunk::<4>) else {
                    return;
                };
                let kind = self.get(code_of(*bytes));
                match width(bytes[0]) {
                    ..=2 => kinds[at..at + 2].fill(kind),
                    3 => kinds[at..at + 3].fill(kind),
                    _ => kinds[at..at + 4].fill(kind),
                }
            }
        }
    }
}

impl Boundaries {
    /// Writes what is known of the places of a block that has longer characters, and returns where
    /// characters begin: what would be tainted only where something taints. `found`: nothing yet.
    /// Blocks are looked at one after the other.
    #[inline(always)]
    pub(super) fn find_wide(
        &self,
        progress: &mut Progress,
        text: &[u8],
        start: usize,
        found: &mut BlockBounds,
    ) -> u64 {
        let before = self.near(progress, text, start);
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(_) => {
                let mut padded = [0; AHEAD];
                let there = text.get(start..).unwrap_or_default();
                let ahead = there.first_chunk().unwrap_or_else(|| {
                    padded[..there.len()].copy_from_slice(there);
                    &padded
                });
                avx512_wide::call_find_wide(self, progress, ahead, before, found)
            }
            _ => {
                let begins;
                (*found, begins) = self.find_around(progress, text, start, before);
                begins
            }
        }
    }

    /// Characters before a block: a wide block has noted them, another has bytes that are
    /// characters.
    #[inline(always)]
    pub(super) fn near(&self, progress: &Progress, text: &[u8], start: usize) -> BlockContext {
        let kind = |back: usize| {
            let byte = start.checked_sub(back).and_then(|at| text.get(at));
            self.tables.kind[usize::from(byte.map_or(0, |byte| byte & 0x7F))]
        };
        BlockContext {
            kinds: if progress.is_wide {
                progress.last
            } else {
                [kind(3), kind(2), kind(1)]
            },
            is_start: start == 0,
            taints: progress.taints != 0,
        }
    }

    /// Finds the boundaries byte by byte.
    #[inline(always)]
    pub(super) fn find_around(
        &self,
        progress: &mut Progress,
        text: &[u8],
        start: usize,
        before: BlockContext,
    ) -> (BlockBounds, u64) {
        let mut padded = [0; AROUND];
        let inside = start.checked_sub(BEFORE).and_then(|from| text.get(from..));
        let around = inside.and_then(<[u8]>::first_chunk).unwrap_or_else(|| {
            let from = start.saturating_sub(BEFORE);
            let there = &text[from..text.len().min(start + AROUND - BEFORE)];
            padded[from + BEFORE - start..][..there.len()].copy_from_slice(there);
            &padded
        });
        let (mut kinds, leads) = self.kernel.single_kinds(&self.tables, around);
        let recent = &mut progress.recent;
        self.kernel.spread(self, recent, around, leads, &mut kinds);
        // Before the second character of a text there is only one.
        let second = match text.first() {
            Some(&first) if start == 0 => 1 << width(first),
            _ => 0,
        };
        let (kernel, tables) = (self.kernel, &self.tables);
        let mut codes = Codes::NONE;
        let begins = kernel.wide_codes(tables, around, &kinds, second, &mut codes);
        if let Some(kinds) = kinds[BEFORE..].first_chunk() {
            let repeated = &self.repeated;
            progress.last = repeated.put_columns(&mut codes, before, kinds, begins, second);
        }
        (kernel.find(tables, &codes), begins)
    }
}

/// The code point of the character that begins with the first of these bytes. Without branches: how
/// long the next one is cannot be predicted.
#[inline(always)]
pub(super) fn code_of(bytes: [u8; 4]) -> u32 {
    let [first, second, third, fourth] = bytes.map(u32::from);
    let low = |byte: u32| byte & 0x3F;
    let two = (first & 0x1F) << 6 | low(second);
    let three = (first & 0x0F) << 12 | low(second) << 6 | low(third);
    let four = (first & 0x07) << 18 | low(second) << 12 | low(third) << 6 | low(fourth);
    let code = if first < 0x80 { first } else { two };
    let code = if first < 0xE0 { code } else { three };
    if first < 0xF0 { code } else { four }
}

/// The code point of the first character that begins behind a block.
#[inline(always)]
pub(super) fn next_character(ahead: &[u8; AHEAD]) -> u32 {
    let behind = ahead
        .last_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // The lowest bit of each of the first three bytes that is inside of a character: the highest
    // bit is set, the next is not.
    let inside = behind >> 7 & !(behind >> 6) & 0x01_0101;
    let n_inside = (!inside & 0x0101_0101).trailing_zeros() / 8;
    let [first, second, third, fourth, ..] = (behind >> (n_inside * 8)).to_le_bytes();
    code_of([first, second, third, fourth])
}

/// Bytes of the character that begins with this one.
#[inline(always)]
pub(super) fn width(first: u8) -> usize {
    1 + usize::from(first >= 0xC0) + usize::from(first >= 0xE0) + usize::from(first >= 0xF0)
}
