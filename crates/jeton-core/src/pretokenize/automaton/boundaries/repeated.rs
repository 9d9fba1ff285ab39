//! Runs of characters of one kind behind which the character before the run decides, as vectors see
//! them: Thai has two marks on many letters.
//!
//! Behind two marks the tables know too little, since the marks could stand alone. Behind a letter
//! and any number of marks they know as much as behind a letter and one mark. So behind such a run
//! the letter takes the place of the last but one. One kind for each pattern, which no single byte
//! has: blocks of single bytes do not look for it.

use super::multibyte::BlockContext;
use super::tables::{BLOCK, Codes, DEPENDS, MAX_KINDS, RUN, TAINTS, Tables, UNSURE};
use crate::cpu::dispatch::gather_bits;

/// In place of a kind: there is none.
const NONE: u8 = 0x40;

/// The kind whose runs are looked behind.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    pub(super) kind: u8,
    /// By the kind of the character before a run: the column of the places inside of the run and
    /// behind it. It is the column of the run's kind where the character before does not decide.
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

    /// Puts the right columns behind runs; one character after the other. `kinds`: of the
    /// characters of a block, which begin where `begins` has bits. `second`: the bit of the text's
    /// second character. Returns what is before the next block, as [`BlockContext::kinds`].
    #[inline]
    pub(super) fn put_columns(
        &self,
        codes: &mut Codes,
        before: BlockContext,
        kinds: &[u8; BLOCK],
        begins: u64,
        second: u64,
    ) -> [u8; 3] {
        // Two of them have four bytes or more.
        let mut runs = self.bytes(kinds);
        runs &= runs >> 1;
        runs &= runs >> 2;
        let [_, last_but_one, last] = before.kinds;
        let first = kinds[begins.trailing_zeros() as usize % BLOCK];
        let goes_on = last == self.kind && (last_but_one == self.kind || first == self.kind);
        // All bytes of a character say whether it taints; what began before this block was seen
        // there.
        let taints = || codes.next.iter().fold(0, |all, next| all | next) & TAINTS != 0;
        if (runs == 0 && !goes_on) || before.taints || taints() {
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

    /// The bytes of a block that are of such characters.
    #[inline(always)]
    fn bytes(&self, kinds: &[u8; BLOCK]) -> u64 {
        const ONES: u64 = 0x0101_0101_0101_0101;
        let mut bytes = 0;
        for (index, eight) in kinds.as_chunks::<8>().0.iter().enumerate() {
            // 0 where they are; kinds are so small that a sum stays in its byte.
            let kinds = u64::from_le_bytes(*eight) & (ONES * 0x0F);
            let differs = kinds ^ (ONES * u64::from(self.kind));
            let same = !(differs + ONES * 0x7F) >> 7;
            bytes |= gather_bits(same) << (8 * index);
        }
        bytes
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

/// True if a character before a run of a kind decides what one character of that kind would leave
/// open.
fn decides(tables: &Tables, before: usize, kind: usize) -> bool {
    let taints = |kind: usize| tables.kind_next[kind] & TAINTS != 0;
    tables.repeats[kind] >> before & 1 != 0 && before != kind && !taints(before) && !taints(kind)
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
