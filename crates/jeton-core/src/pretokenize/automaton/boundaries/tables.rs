//! Boundary tables of at most 128 bytes: vector registers look 64 bytes up in one at once.
//!
//! An index is a number below eight in its upper half (a *slice* of the table) and one below
//! sixteen in its lower half: AVX-512 takes all 128 bytes for one table, AVX2 takes each slice for
//! one.

use super::multibyte::{AROUND, BEFORE, width};

/// Characters that a table tells apart: what four bits hold.
pub(super) const MAX_KINDS: usize = 16;
/// Rules that a table tells apart.
pub(super) const MAX_RULES: usize = 16;
/// Slices of sixteen that a table has.
pub(super) const MAX_SLICES: usize = 8;

/// Lookup table, read as `table[slice << 4 | low]`.
pub(in super::super) type Table = [u8; MAX_SLICES * 16];

/// A match ends here.
pub(super) const BOUNDARY: u8 = 1;
/// The automaton must walk.
pub(super) const UNSURE: u8 = 1 << 1;
/// Boundary flag where one of the last three characters taints.
pub(super) const TAINTED_BOUNDARY: u8 = 1 << 2;
pub(super) const TAINTED_UNSURE: u8 = 1 << 3;
/// The slice of [`Tables::depends`] that knows more; none is 0.
pub(super) const DEPENDS: u8 = 0x70;
/// The character that ends this run decides more: see [`Tables::after_run`].
pub(super) const RUN: u8 = 1 << 7;
/// In [`Tables::next`]: the character taints what comes after it.
pub(super) const TAINTS: u8 = 1 << 7;

/// The tables of an automaton. Characters around a place are, from the left: the last but one, the
/// last (what may end with it is the match), the next and the one after that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Tables {
    /// The kind of each ASCII character.
    pub(super) kind: Table,
    /// Slice of `pairs` for the character as the last but one.
    pub(super) column: Table,
    /// Slice of `outcomes` for the character as the next, and the flag [`TAINTS`](TAINTS).
    pub(super) next: Table,
    /// By column and kind of the last: its rule.
    pub(super) pairs: Table,
    /// By the next and the rule: what comes of it.
    pub(super) outcomes: Table,
    /// By [`DEPENDS`] and the kind of the one after the next: what comes of it.
    pub(super) depends: Table,
    /// The column and the next of each kind, for longer characters.
    pub(super) kind_column: [u8; MAX_KINDS],
    pub(super) kind_next: [u8; MAX_KINDS],
    /// The column where only one character comes before.
    pub(super) start_column: u8,
    /// The kinds whose runs are looked through, a bit each.
    pub(super) run_kinds: u16,
    /// By rule and the kind of what ends the run: what comes of it.
    pub(super) after_run: [u8; 256],
    /// For each kind, the kinds before a run of it behind which any number of them tells the same
    /// as one; a bit each.
    pub(super) repeats: [u16; MAX_KINDS],
    /// Slices of `pairs`, `outcomes` and `depends` that are used.
    pub(super) n_slices: [usize; 3],
}

/// Boundaries of 64 places, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct BlockBounds {
    pub(super) boundaries: u64,
    pub(super) unsure: u64,
    pub(super) tainted_boundaries: u64,
    pub(super) tainted_unsure: u64,
    pub(super) depends: u64,
    pub(super) runs: u64,
    pub(super) taints: u64,
}

/// Places of a block.
pub(in super::super) const BLOCK: usize = 64;
/// Bytes around a block that are looked at: two before it and one behind.
pub(in super::super) const WINDOW: usize = BLOCK + 3;

/// Codes of the characters around each place of a block, the keys of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(in super::super) struct Codes {
    /// Column of the last but one and kind of the last.
    pub(super) pair: [u8; BLOCK],
    pub(super) next: [u8; BLOCK],
    /// Kind of the one after the next.
    pub(super) after: [u8; BLOCK],
}

impl Codes {
    pub(super) const NONE: Self = Self {
        pair: [0; BLOCK],
        next: [0; BLOCK],
        after: [0; BLOCK],
    };
}

impl Tables {
    /// The codes of single-byte characters. The codes of other bytes, and near them, mean nothing.
    /// `at_start`: the block is the text's first.
    pub(super) fn codes(&self, window: &[u8; WINDOW], at_start: bool) -> Codes {
        let mut codes = Codes::NONE;
        let ascii = |at: usize| usize::from(window[at] & 0x7F);
        for place in 0..BLOCK {
            codes.pair[place] = self.column[ascii(place)] | self.kind[ascii(place + 1)];
            codes.next[place] = self.next[ascii(place + 2)];
            codes.after[place] = self.kind[ascii(place + 3)];
        }
        if at_start {
            codes.pair[1] = self.start_column | codes.pair[1] & 0x0F;
        }
        codes
    }

    /// Finds the boundaries at each place.
    pub(super) fn find(&self, codes: &Codes) -> BlockBounds {
        let mut found = BlockBounds::default();
        for place in 0..BLOCK {
            let rule = self.pairs[usize::from(codes.pair[place] & 0x7F)];
            let outcome = self.outcomes[usize::from(codes.next[place] & 0x70 | rule)];
            let more = self.depends[usize::from(outcome & DEPENDS | codes.after[place])];
            let flags = outcome | more;
            let bit = |byte: u8, flag: u8| u64::from(byte & flag != 0) << place;
            found.boundaries |= bit(flags, BOUNDARY);
            found.unsure |= bit(flags, UNSURE);
            found.tainted_boundaries |= bit(flags, TAINTED_BOUNDARY);
            found.tainted_unsure |= bit(flags, TAINTED_UNSURE);
            found.depends |= bit(outcome, DEPENDS);
            found.runs |= bit(outcome, RUN);
            found.taints |= bit(codes.next[place], TAINTS);
        }
        found
    }

    /// The kinds of single-byte characters around a block; the kinds of other bytes mean nothing.
    pub(super) fn single_kinds(&self, around: &[u8; AROUND]) -> [u8; AROUND] {
        around.map(|byte| self.kind[usize::from(byte & 0x7F)])
    }

    /// Writes the codes of the places of a block where characters begin, and returns a bit for each
    /// of these; the others mean nothing. `kinds`: of the characters that the bytes belong to.
    /// `second`: the bit of the text's second character.
    pub(super) fn wide_codes(
        &self,
        around: &[u8; AROUND],
        kinds: &[u8; AROUND],
        second: u64,
        codes: &mut Codes,
    ) -> u64 {
        let mut begins = 0;
        let continues = |at: usize| around[at] & 0xC0 == 0x80;
        let kind = |at: usize| usize::from(kinds[at] & 0x0F);
        for place in 0..BLOCK {
            let at = place + BEFORE;
            begins |= u64::from(!continues(at)) << place;
            // Bytes from the last character's first byte to its own last byte.
            let depth = (1..=3).take_while(|&back| continues(at - back)).count();
            let column = if second >> place & 1 != 0 {
                self.start_column
            } else {
                self.kind_column[kind(at - 2 - depth)]
            };
            codes.pair[place] = column | kinds[at - 1];
            codes.next[place] = self.kind_next[kind(at)];
            codes.after[place] = kinds[at + width(around[at])];
        }
        begins
    }
}
