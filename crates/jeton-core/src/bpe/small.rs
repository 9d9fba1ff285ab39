//! Merging a few symbols without moving any of them.
//!
//! Symbols stay where they began; a bit for each place says whether it still has one, so that neighbours are
//! found by counting zeros. A candidate is one number, its rank above its place: the least of all is the
//! merge that comes first, of equals the leftmost.

use super::table::{MergeTable, NO_PAIR, PLACE_BITS};

/// Most bytes that are merged this way: the bits of a word.
pub(super) const MOST: usize = 64;

/// Appends the ids of a pretoken; false if it is too long. Every byte must have a symbol.
#[inline]
pub(super) fn merge(table: &MergeTable, pretoken: &[u8], out: &mut Vec<u32>) -> bool {
    // Fewer places take less time to look through for the next merge.
    match pretoken.len() {
        0 => {}
        1 => out.push(table.symbol(pretoken[0])),
        2..=16 => push::<16>(table, pretoken, out),
        17..=32 => push::<32>(table, pretoken, out),
        33..=MOST => push::<MOST>(table, pretoken, out),
        _ => return false,
    }
    true
}

fn push<const N: usize>(table: &MergeTable, pretoken: &[u8], out: &mut Vec<u32>) {
    let mut ids = [0; N];
    let mut left = merge_in_place(table, pretoken, &mut ids);
    while left != 0 {
        out.push(ids[left.trailing_zeros() as usize % N]);
        left &= left - 1;
    }
}

/// Merges `pretoken`, at least one and at most `N` bytes. Says at which places of `ids` a symbol is left.
#[inline]
pub(super) fn merge_in_place<const N: usize>(
    table: &MergeTable,
    pretoken: &[u8],
    ids: &mut [u32; N],
) -> u64 {
    const NOTHING: i32 = NO_PAIR as i32;
    let last = pretoken.len() - 1;
    let mut candidates = [NOTHING; N];
    for (place, (pair, candidate)) in pretoken.windows(2).zip(&mut candidates).enumerate() {
        // All bits of a place are set in what stands for no pair.
        *candidate = (table.find_bytes(pair[0], pair[1]) | place as u32) as i32;
    }
    for (id, &byte) in ids.iter_mut().zip(pretoken) {
        *id = table.symbol(byte);
    }
    let mut there = u64::MAX >> (MOST - 1 - last);
    loop {
        let best = candidates.iter().copied().fold(NOTHING, i32::min);
        if best == NOTHING {
            return there;
        }
        let best = best.cast_unsigned();
        let at = best as usize % N;
        let id = table.merged(best >> PLACE_BITS);
        let after = there & !1 << at;
        there &= !(after & after.wrapping_neg());
        candidates[after.trailing_zeros() as usize % N] = NOTHING;
        ids[at] = id;
        candidates[at] = NOTHING;
        let after = after & after.wrapping_sub(1);
        if after != 0 {
            let next = ids[after.trailing_zeros() as usize % N];
            candidates[at] = (table.find(id, next) | at as u32) as i32;
        }
        let before = there & ((1 << at) - 1);
        if before != 0 {
            let previous = before.ilog2() as usize % N;
            candidates[previous] = (table.find(ids[previous], id) | previous as u32) as i32;
        }
    }
}
