//! Merging words of letters of one alphabet of two bytes a letter, with as few branches for each
//! letter as may be.
//!
//! [`super::starts`] goes from one character to the next, and of each it asks how it begins. What
//! it mostly is in words of such letters is found here: a letter begins as its symbol, or, if that
//! is two or something may take a part of it together with the letter before, as its bytes (under
//! `cl100k_base` some behind о, а and е); and of each pair it is known how both merge and whether a
//! token straddles the boundary between them. What is not so is noted in bits and looked at once,
//! behind the last letter; then the word is left to others.
//!
//! Where no token straddles a boundary both sides are merged by themselves ([`super::cuts`]). Most
//! of what is between two such boundaries is one letter or two (of Arabic under `cl100k_base` 3.2
//! bytes, in the mean), and two that merge are one symbol, whatever else merges, so that the loop
//! that looks for the merge that comes first is only for what is longer.

use super::letter_pairs::{Left, LetterPairs, Place, is_of_one_alphabet};
use super::merge_scalar::{NOTHING, first, push_left};
use super::merge_simd;
use super::neighbours::{All, Before};
use super::scripts::ScriptSet;
use super::table::{MergeTable, NO_PAIR, PLACE_BITS};

/// A word: what it begins with, a space, a letter or both as one symbol, and the letters behind.
#[derive(Clone, Copy)]
pub(super) struct Word<'t> {
    pub(super) symbol: u32,
    pub(super) left: Left,
    pub(super) letters: &'t [u8],
    /// All others are of its alphabet.
    pub(super) first: u32,
}

/// Appends the ids of a word; false if not all are letters of one alphabet, or too many, if one
/// begins as something else, or if not all is known.
#[inline(always)]
pub(super) fn merge(
    table: &MergeTable,
    known: &LetterPairs,
    word: Word<'_>,
    out: &mut Vec<u32>,
) -> bool {
    // Fewer places take less time to look through for the next merge; there is room for some
    // letters that begin as their bytes.
    match word.letters.len() {
        ..=24 => merge_in::<16>(table, known, word, out),
        25..=56 => merge_in::<32>(table, known, word, out),
        _ => false,
    }
}

fn merge_in<const N: usize>(
    table: &MergeTable,
    known: &LetterPairs,
    word: Word<'_>,
    out: &mut Vec<u32>,
) -> bool {
    let (letters, rest) = word.letters.as_chunks();
    let (mut ids, mut candidates) = ([0; N], [NOTHING; N]);
    ids[0] = word.symbol;
    let (mut all, mut differ) = (All::NONE, 0);
    let (mut cuts, mut merging) = (0, 0);
    let (mut left, mut before, mut n) = (word.left, Before::SYMBOL, 1);
    for bytes in letters {
        let letter = number(bytes);
        differ |= letter ^ word.first;
        let start = known.get(Place::new(left, letter));
        left = Left::letter(letter);
        all.add(start, before);
        let candidate = before.candidate(start);
        cuts |= u64::from(start.is_cut()) << (n - 1);
        merging |= u64::from(candidate != NO_PAIR) << (n - 1);
        candidates[(n - 1) % N] = (candidate | (n - 1) as u32) as i32;
        before = if start.begins_as_bytes() {
            if n + 1 >= N {
                return false;
            }
            let candidate = table.find_bytes(bytes[0], bytes[1]);
            merging |= u64::from(candidate != NO_PAIR) << n;
            candidates[n % N] = (candidate | n as u32) as i32;
            ids[n % N] = table.symbol(bytes[0]);
            ids[(n + 1) % N] = table.symbol(bytes[1]);
            n += 2;
            Before::BYTES
        } else {
            ids[n % N] = start.symbol();
            n += 1;
            Before::SYMBOL
        };
    }
    let is_usual = all.are_usual() && is_of_one_alphabet(differ) && rest.is_empty();
    if !is_usual || n > N {
        return false;
    }
    // What ends with the last symbol, and what begins with the first.
    cuts |= 1 << (n - 1);
    let begins = cuts << 1 | 1;
    let mut two = begins & !cuts & cuts >> 1 & merging;
    let mut there = first(n) & !(two << 1);
    merging &= !two;
    while two != 0 {
        let place = two.trailing_zeros() as usize % N;
        ids[place] = table.merged(candidates[place].cast_unsigned() >> PLACE_BITS);
        candidates[place] = NOTHING;
        two &= two - 1;
    }
    if merging != 0 {
        // Letters merge with their neighbours less often than bytes do.
        let lookups = &table.lookups_of(ScriptSet::of(word.first)).by_filter();
        there = merge_simd::merge(lookups, there, &mut candidates, &mut ids);
    }
    push_left(there, &ids, out);
    true
}

/// A letter by its bytes.
#[inline(always)]
pub(super) fn number(letter: &[u8; 2]) -> u32 {
    u16::from_be_bytes(*letter).into()
}
