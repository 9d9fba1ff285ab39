//! Sets of kinds, and the masks that they are in a block of text.

use super::{MAX_KINDS, Masks};

/// A set of kinds, a bit each.
pub(super) type Kinds = u16;

/// Masks that are put together at most to make a set: half of all, since the others make its complement.
const MAX_PARTS: usize = MAX_KINDS / 2;

/// A set of kinds as the few masks that make it: those in it, or, if there are fewer, those that are not.
///
/// Always as many parts, so that no loop's length has to be guessed: what is not needed is the last mask, which
/// no kind has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Union {
    parts: [u8; 4],
    more: Option<[u8; MAX_PARTS - 4]>,
    /// All bits for a complement.
    others: u64,
}

/// The mask that no kind has.
const NO_KIND: u8 = MAX_KINDS as u8 - 1;

impl Union {
    pub(super) fn new(set: Kinds, n_kinds: usize) -> Self {
        let within = |wanted: bool| -> Vec<u8> {
            let kinds = 0..n_kinds as u8;
            kinds
                .filter(|kind| (set >> kind & 1 != 0) == wanted)
                .collect()
        };
        let (these, others) = (within(true), within(false));
        let is_complement = others.len() < these.len();
        let mut kinds = if is_complement { others } else { these }.into_iter();
        let parts = [(); 4].map(|()| kinds.next().unwrap_or(NO_KIND));
        let more = [(); MAX_PARTS - 4].map(|()| kinds.next().unwrap_or(NO_KIND));
        Self {
            parts,
            more: (more[0] != NO_KIND).then_some(more),
            others: 0u64.wrapping_sub(u64::from(is_complement)),
        }
    }

    #[inline]
    pub(super) fn of(&self, masks: &Masks) -> u64 {
        // Each character has one kind, so the masks have no bits in common.
        let mask = |kind: u8| masks[kind as usize % MAX_KINDS];
        let [a, b, c, d] = self.parts.map(mask);
        let mut all = self.others ^ a ^ b ^ c ^ d;
        if let Some(more) = self.more {
            all ^= more.map(mask).into_iter().fold(0, |all, mask| all ^ mask);
        }
        all
    }
}

/// Most distinct sets of kinds in one place of all rules.
pub(super) const MAX_UNIONS: usize = 16;

/// Sets that are put together for each block.
#[derive(Clone, Debug, Default)]
pub(super) struct Unions {
    unions: Vec<Union>,
    pub(super) sets: Vec<Kinds>,
}

impl Unions {
    pub(super) fn add(&mut self, set: Kinds, n_kinds: usize) -> u8 {
        let place = self.sets.iter().position(|&known| known == set);
        place.unwrap_or_else(|| {
            self.unions.push(Union::new(set, n_kinds));
            self.sets.push(set);
            self.sets.len() - 1
        }) as u8
    }

    #[inline]
    pub(super) fn of(&self, masks: &Masks) -> [u64; MAX_UNIONS] {
        let mut all = [0; MAX_UNIONS];
        for (all, union) in all.iter_mut().zip(&self.unions) {
            *all = union.of(masks);
        }
        all
    }
}
