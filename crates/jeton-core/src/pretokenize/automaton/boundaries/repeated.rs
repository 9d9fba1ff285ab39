//! Runs of characters of one kind behind which the character before the run decides, as vectors see them: Thai has two marks on
//! many letters.
//!
//! Behind two marks the tables know too little, since the marks could stand alone; behind a letter and any number of marks they know
//! what they know behind a letter and one. So behind such a run the letter takes the place of the last but one. One kind for
//! each pattern, which no single byte has: blocks of single bytes do not look for it.

use super::tables::{BLOCK, Codes, DEPENDS, MAX_KINDS, RUN, SPOILS, Tables, UNSURE};
use super::wide::Near;

/// In place of a kind: there is none.
const NONE: u8 = 0xFF;

/// The kind whose runs are looked behind.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    pub(super) kind: u8,
    /// By the kind of the character before a run: the column of the places inside of the run and behind it, which is that of
    /// the run's kind where that character does not decide.
    pub(super) columns: [u8; MAX_KINDS],
}

impl Repeated {
    /// The kind whose runs leave least unsure by that.
    pub(super) fn new(tables: &Tables) -> Self {
        let is_single = |kind: u8| tables.kind.contains(&kind);
        let gain = |kind: usize| -> usize {
            let before = (0..MAX_KINDS).filter(|&before| decides(tables, before, kind));
            let here = n_unsure(tables, kind, kind);
            before
                .map(|before| here.saturating_sub(n_unsure(tables, before, kind)))
                .sum()
        };
        let kinds = (0..MAX_KINDS).filter(|&kind| !is_single(kind as u8));
        let best = kinds.map(|kind| (gain(kind), kind)).max();
        let Some((_, kind)) = best.filter(|&(gain, _)| gain > 0) else {
            return Self {
                kind: NONE,
                columns: tables.kind_column,
            };
        };
        let column = |before: usize| {
            tables.kind_column[if decides(tables, before, kind) {
                before
            } else {
                kind
            }]
        };
        Self {
            kind: kind as u8,
            columns: std::array::from_fn(column),
        }
    }

    /// Puts the right columns behind runs; one character after the other. `kinds`: of the characters of a block, which begin
    /// where `begins` has bits. `second`: the bit of the text's second character. Returns what is before the next block, as
    /// [`Near::kinds`].
    pub(super) fn put_columns(
        &self,
        codes: &mut Codes,
        before: Near,
        kinds: &[u8; BLOCK],
        begins: u64,
        second: u64,
    ) -> [u8; 3] {
        let is_near = before.kinds[2] == self.kind || kinds.contains(&self.kind);
        let spoils = |place: usize| codes.next[place] & SPOILS != 0 && begins >> place & 1 != 0;
        if !is_near || before.spoils || (0..BLOCK).any(spoils) {
            return last_three(kinds, begins);
        }
        let [mut decides, mut last_but_one, mut last] = before.kinds;
        let mut left = begins;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            if last_but_one == self.kind && last == self.kind {
                codes.pair[place] = self.columns[usize::from(decides) % MAX_KINDS] | last;
            } else {
                decides = last_but_one;
            }
            if second >> place & 1 != 0 {
                // There is nothing before the run.
                decides = self.kind;
            }
            (last_but_one, last) = (last, kinds[place]);
        }
        [decides, last_but_one, last]
    }
}

/// The kinds of the last three characters of a block.
fn last_three(kinds: &[u8; BLOCK], mut begins: u64) -> [u8; 3] {
    let mut last = || {
        let place = BLOCK - 1 - begins.leading_zeros() as usize % BLOCK;
        begins &= !(1 << place);
        kinds[place]
    };
    let (c, b, a) = (last(), last(), last());
    [a, b, c]
}

/// Whether a character before a run of a kind decides what one character of that kind would leave open.
fn decides(tables: &Tables, before: usize, kind: usize) -> bool {
    let spoils = |kind: usize| tables.kind_next[kind] & SPOILS != 0;
    tables.repeats[kind] >> before & 1 != 0 && before != kind && !spoils(before) && !spoils(kind)
}

/// Before how many pairs of kinds it is unsure whether a match ends behind two kinds.
fn n_unsure(tables: &Tables, last_but_one: usize, last: usize) -> usize {
    let rule = tables.pairs[usize::from(tables.kind_column[last_but_one]) | last];
    let nexts = tables.kind_next.iter().map(|next| {
        let outcome = tables.outcomes[usize::from(next & DEPENDS | rule)];
        let after = |after: usize| tables.depends[usize::from(outcome & DEPENDS) | after];
        let flags = (0..MAX_KINDS).map(|kind| outcome | after(kind));
        flags.filter(|flags| flags & (UNSURE | RUN) != 0).count()
    });
    nexts.sum()
}
