//! Merging a few symbols without moving any of them.
//!
//! Symbols stay where they began; a bit for each place says whether it still has one, so that
//! neighbours are found by counting zeros. A candidate is one number, its rank above its place: the
//! least of all is the merge that comes first, of equals the leftmost.

use super::merge_simd;
use super::scripts::ScriptSet;
use super::segment_merger::{ByBytes, SegmentMerger};
use super::slots::{NO_PAIR, PLACE_BITS};
use super::table::{Lookups, MergeTable};
use crate::cpu::dispatch::Kernel;

/// Most bytes that are merged this way: the bits of a word.
pub(super) const MAX_SYMBOLS: usize = 64;

/// Two neighbours: their ids, and where they begin and end.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Answers whether pairs merge.
pub(super) trait Find {
    /// Returns the symbol that a byte begins as.
    fn symbol(&self, byte: u8) -> u32;
    /// Finds how the symbols of two bytes merge, as [`Self::find`] does.
    fn find_bytes(&self, first: u8, second: u8) -> u32;
    /// The index of a pair's merge, shifted by [`PLACE_BITS`]; [`NO_PAIR`] if it does not merge.
    /// The one with the least index comes first.
    fn find(&self, pair: Pair) -> u32;
    /// Finds two pairs. A pair with a false `is_there` may have any ids, and is not found.
    #[inline(always)]
    fn find_both(&self, pairs: [Pair; 2], is_there: [bool; 2]) -> [u32; 2] {
        let mut found = [NO_PAIR; 2];
        if is_there[0] {
            found[0] = self.find(pairs[0]);
        }
        if is_there[1] {
            found[1] = self.find(pairs[1]);
        }
        found
    }
    /// The token that a merge makes.
    fn merged(&self, index: u32) -> u32;
    /// The level of vector instructions.
    fn kernel(&self) -> Kernel;
}

impl Find for Lookups<'_> {
    #[inline]
    fn symbol(&self, byte: u8) -> u32 {
        self.table().symbol(byte)
    }

    #[inline]
    fn find_bytes(&self, first: u8, second: u8) -> u32 {
        self.table().find_bytes(first, second)
    }

    #[inline(always)]
    fn find(&self, pair: Pair) -> u32 {
        self.find(pair.left, pair.right)
    }

    #[inline(always)]
    fn find_both(&self, [first, second]: [Pair; 2], is_there: [bool; 2]) -> [u32; 2] {
        let pairs = [(first.left, first.right), (second.left, second.right)];
        self.find_both(pairs, is_there)
    }

    #[inline]
    fn merged(&self, index: u32) -> u32 {
        self.table().merged(index)
    }

    #[inline]
    fn kernel(&self) -> Kernel {
        self.table().kernel()
    }
}

impl SegmentMerger for ByBytes {
    #[inline]
    fn merge_segment(&mut self, table: &MergeTable, segment: &[u8], out: &mut Vec<u32>) -> bool {
        merge(table, segment, out)
    }
}

/// Appends the ids of a pretoken; false if it is too long. Every byte must have a symbol.
#[inline]
pub(super) fn merge(table: &MergeTable, pretoken: &[u8], out: &mut Vec<u32>) -> bool {
    let is_short = pretoken.len() <= MAX_SYMBOLS;
    if is_short {
        merge_bytes(&table.lookups(), pretoken, out);
    }
    is_short
}

/// Merges at most [`MAX_SYMBOLS`] bytes by anything that finds pairs.
#[inline]
pub(super) fn merge_bytes(pairs: &impl Find, pretoken: &[u8], out: &mut Vec<u32>) {
    // Fewer places take less time to look through for the next merge.
    match pretoken.len() {
        0 => {}
        1 => out.push(pairs.symbol(pretoken[0])),
        2..=16 => push::<16>(pairs, pretoken, out),
        17..=32 => push::<32>(pairs, pretoken, out),
        _ => push::<MAX_SYMBOLS>(pairs, pretoken, out),
    }
}

/// Symbols, and how they merge: what merging begins with, one after the other.
pub(super) struct MergeSeed {
    ids: [u32; MAX_SYMBOLS],
    /// How each symbol merges with the one that follows it.
    candidates: [i32; MAX_SYMBOLS],
    n: usize,
    /// Scripts of the text without a space before it.
    scripts: ScriptSet,
}

impl Default for MergeSeed {
    #[inline(always)]
    fn default() -> Self {
        Self {
            ids: [0; MAX_SYMBOLS],
            candidates: [NOTHING; MAX_SYMBOLS],
            n: 0,
            scripts: ScriptSet::default(),
        }
    }
}

impl MergeSeed {
    /// The symbols pushed so far.
    #[inline(always)]
    pub(super) fn symbols(&self) -> &[u32] {
        &self.ids[..self.n.min(MAX_SYMBOLS)]
    }

    /// Says that a character, by its bytes as a number, is in the text.
    #[inline(always)]
    pub(super) fn meets(&mut self, character: u32) {
        self.scripts.add(character);
    }

    /// The scripts of what it has met.
    #[inline(always)]
    pub(super) fn scripts(&self) -> ScriptSet {
        self.scripts
    }

    /// Adds a symbol. `candidate`: how the one before merges with it, as [`Find::find`] says it;
    /// [`NO_PAIR`] of the first one. False if there is no room.
    #[inline(always)]
    pub(super) fn push(&mut self, symbol: u32, candidate: u32) -> bool {
        let Some(id) = self.ids.get_mut(self.n) else {
            return false;
        };
        *id = symbol;
        // The first symbol has no predecessor: its candidate goes to the last place, which nothing
        // follows.
        let before = self.n.wrapping_sub(1) % MAX_SYMBOLS;
        self.candidates[before] = (candidate | before as u32) as i32;
        self.n += 1;
        true
    }

    /// Appends what merging ends with. The numbers are merged where they are: to move what was
    /// written just now would wait for it.
    #[inline]
    pub(super) fn merge(&mut self, table: &MergeTable, out: &mut Vec<u32>) {
        match self.n {
            0 | 1 => out.extend_from_slice(&self.ids[..self.n]),
            2..=16 => self.merge_first::<16>(table, out),
            17..=32 => self.merge_first::<32>(table, out),
            _ => self.merge_first::<MAX_SYMBOLS>(table, out),
        }
    }

    fn merge_first<const N: usize>(&mut self, table: &MergeTable, out: &mut Vec<u32>) {
        let ids = self.ids.first_chunk_mut::<N>();
        let candidates = self.candidates.first_chunk_mut::<N>();
        if let (Some(ids), Some(candidates)) = (ids, candidates) {
            // Characters merge with their neighbours less often than bytes do.
            let lookups = &table.lookups_of(self.scripts).by_filter();
            let left = merge_simd::merge(lookups, first(self.n), candidates, ids);
            push_left(left, ids, out);
        }
    }
}

fn push<const N: usize>(pairs: &impl Find, pretoken: &[u8], out: &mut Vec<u32>) {
    let mut ids = [0; N];
    let left = merge_in_place(pairs, pretoken, &mut ids);
    push_left(left, &ids, out);
}

#[inline]
pub(super) fn push_left<const N: usize>(mut left: u64, ids: &[u32; N], out: &mut Vec<u32>) {
    while left != 0 {
        out.push(ids[left.trailing_zeros() as usize % N]);
        left &= left - 1;
    }
}

/// No candidate: all bits of a place are set in what stands for no pair.
pub(super) const NOTHING: i32 = NO_PAIR as i32;

/// For each place how what is there merges with what follows, if it does.
pub(super) trait Candidates {
    fn set(&mut self, place: usize, candidate: i32);
    fn least(&self) -> i32;
}

impl<const N: usize> Candidates for [i32; N] {
    #[inline(always)]
    fn set(&mut self, place: usize, candidate: i32) {
        self[place % N] = candidate;
    }

    #[inline(always)]
    fn least(&self) -> i32 {
        self.iter().copied().fold(NOTHING, i32::min)
    }
}

/// Merges `pretoken`, at least one and at most `N` bytes. Says at which places of `ids` a symbol is
/// left.
#[inline]
pub(super) fn merge_in_place<const N: usize>(
    pairs: &impl Find,
    pretoken: &[u8],
    ids: &mut [u32; N],
) -> u64 {
    let mut candidates = [NOTHING; N];
    for (place, (pair, candidate)) in pretoken.windows(2).zip(&mut candidates).enumerate() {
        *candidate = (pairs.find_bytes(pair[0], pair[1]) | place as u32) as i32;
    }
    for (id, &byte) in ids.iter_mut().zip(pretoken) {
        *id = pairs.symbol(byte);
    }
    merge_simd::merge(pairs, first(pretoken.len()), &mut candidates, ids)
}

/// The first `n` places, at least one and at most [`MAX_SYMBOLS`].
#[inline(always)]
pub(super) fn first(n: usize) -> u64 {
    u64::MAX >> (MAX_SYMBOLS - n)
}

/// Merges the `ids` whose bits are set in `there` (at least one, none from `N` on) and returns the
/// bits that are left; `candidates`: how each merges with the next. Inlined into what is compiled
/// for wider vectors ([`lanes`]).
#[inline(always)]
pub(super) fn merge_by<const N: usize>(
    pairs: &impl Find,
    mut there: u64,
    candidates: &mut impl Candidates,
    ids: &mut [u32; N],
) -> u64 {
    let n = MAX_SYMBOLS - there.leading_zeros() as usize;
    // Where the next one begins what is before it ends.
    let end = |after: u64| (after.trailing_zeros() as usize).min(n);
    let mut best = candidates.least();
    while best != NOTHING {
        let at = best.cast_unsigned() as usize % N;
        let id = pairs.merged(best.cast_unsigned() >> PLACE_BITS);
        let after = there & !1 << at;
        let removed = after & after.wrapping_neg();
        there &= !removed;
        let after = after & !removed;
        let before = there & ((1 << at) - 1);
        // Where there is no neighbour, any place.
        let next = after.trailing_zeros() as usize % N;
        let previous = (before | 1).ilog2() as usize % N;
        let with_next = Pair {
            left: id,
            right: ids[next],
            start: at,
            end: end(after & after.wrapping_sub(1)),
        };
        let with_previous = Pair {
            left: ids[previous],
            right: id,
            start: previous,
            end: end(after),
        };
        ids[at] = id;
        // The least of all others is found out while what is read for the pairs is on its way.
        for place in [removed.trailing_zeros() as usize, previous, at] {
            candidates.set(place % N, NOTHING);
        }
        let others = candidates.least();
        let is_there = [after != 0, before != 0];
        let [found, found_before] = pairs.find_both([with_next, with_previous], is_there);
        let candidate = (found | at as u32) as i32;
        let candidate_before = (found_before | previous as u32) as i32;
        // The first place is its own neighbour here, with which nothing is found: its candidate is
        // set afterwards.
        candidates.set(previous, candidate_before);
        candidates.set(at, candidate);
        best = others.min(candidate).min(candidate_before);
    }
    there
}
