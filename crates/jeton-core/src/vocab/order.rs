//! Tokens in the order of the slots of a packed table, as a compiled file has them.
//!
//! The slots take a millisecond to make, and who loads a tokenizer to encode a sentence looks up some hundred tokens. These are found
//! here: which slots a token may lie in its hash says, and two short lists tell where the tokens of these slots stand: in which block
//! of tokens a group of slots begins, and at which slot each block does.

use crate::shelf::Shelved;
use crate::simd::{Kernel, Work, run_wide};

/// Bits of an id.
pub(super) const ID_BITS: u32 = 24;

pub(super) const ID_MASK: u32 = (1 << ID_BITS) - 1;

/// Tokens of a block, which is looked through from its beginning.
const BLOCK: usize = 16;

/// Slots of a group.
const GROUP: usize = 64;

/// The order.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The id of a token, above how many slots are free before it.
    words: Shelved<u32>,
    /// For each block, and behind the last one, how many slots lie before it and what is free there.
    starts: Vec<u32>,
    /// For each group of slots the block in which its first one is, or would be.
    groups: Vec<u32>,
    largest: u32,
}

/// Where blocks begin, and the largest id.
struct Survey<'w>(&'w [u32]);

impl Work for Survey<'_> {
    type Output = (Vec<u32>, u32);

    #[inline(always)]
    fn run(self) -> (Vec<u32>, u32) {
        let mut starts = Vec::with_capacity(self.0.len() / BLOCK + 2);
        let (mut start, mut largest) = (0_u32, [0; BLOCK]);
        let mut see = |words: &[u32]| {
            starts.push(start);
            let mut n_free = 0;
            for (largest, &word) in largest.iter_mut().zip(words) {
                n_free += word >> ID_BITS;
                *largest = (*largest).max(word & ID_MASK);
            }
            // Hostile files may have more than can be counted: more than there are slots in any case.
            start = start.saturating_add(n_free + words.len() as u32);
        };
        let (blocks, rest) = self.0.as_chunks::<BLOCK>();
        blocks.iter().for_each(|block| see(block));
        see(rest);
        starts.push(start);
        (starts, largest.iter().copied().max().unwrap_or(0))
    }
}

/// The last block that begins at a slot or before it, from one that does.
#[inline]
fn last_before(starts: &[u32], mut block: usize, slot: usize) -> usize {
    while starts
        .get(block + 1)
        .is_some_and(|&start| start as usize <= slot)
    {
        block += 1;
    }
    block
}

impl Order {
    /// The order of a table of so many slots, unless it needs more.
    pub(super) fn new(words: Shelved<u32>, n_slots: usize) -> Option<Self> {
        let (starts, largest) = run_wide(Kernel::fastest(), Survey(&words));
        let end = starts.last().map_or(0, |&end| end as usize);
        if end > n_slots {
            return None;
        }
        let mut groups = Vec::with_capacity(end / GROUP + 1);
        let mut block = 0;
        for slot in (0..=end).step_by(GROUP) {
            block = last_before(&starts, block, slot);
            groups.push(block as u32);
        }
        Some(Self {
            words,
            starts,
            groups,
            largest,
        })
    }

    /// How many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The largest id; 0 of none.
    pub(super) fn largest_id(&self) -> u32 {
        self.largest
    }

    /// As a file has it.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// Slots and ids of all tokens.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u32)> {
        self.behind(0)
    }

    /// Slots and ids of the tokens from a slot on.
    #[inline]
    pub(super) fn behind(&self, slot: usize) -> impl Iterator<Item = (usize, u32)> {
        let block = self.groups.get(slot / GROUP).or(self.groups.last());
        let block = last_before(&self.starts, block.map_or(0, |&block| block as usize), slot);
        let mut next = self.starts.get(block).map_or(0, |&start| start as usize);
        let words = self.words.get(block * BLOCK..).unwrap_or_default();
        let places = words.iter().map(move |&word| {
            let at = next + (word >> ID_BITS) as usize;
            next = at + 1;
            (at, word & ID_MASK)
        });
        places.skip_while(move |&(at, _)| at < slot)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The naive twin counts from the beginning.
        #[test]
        fn tokens_stand_where_their_slots_are(
            words in prop::collection::vec((prop_oneof![9 => 0..3u32, 1 => 0..256u32], 0..1000u32), 0..300),
            slot in 0..1500usize,
        ) {
            let words: Vec<u32> = words.iter().map(|&(n_free, id)| n_free << ID_BITS | id).collect();
            let mut slots = Vec::new();
            for &word in &words {
                slots.extend((0..word >> ID_BITS).map(|_| None));
                slots.push(Some(word & ID_MASK));
            }
            let all: Vec<(usize, u32)> = (0..).zip(&slots).filter_map(|(at, id)| Some((at, (*id)?))).collect();
            if let Some(fewer) = slots.len().checked_sub(1) {
                prop_assert!(Order::new(words.clone().into(), fewer).is_none());
            }
            let order = Order::new(words.clone().into(), slots.len()).unwrap();
            prop_assert_eq!(order.len(), all.len());
            prop_assert_eq!(order.largest_id(), all.iter().map(|&(_, id)| id).max().unwrap_or(0));
            prop_assert_eq!(order.words(), &words[..]);
            let behind: Vec<_> = all.iter().copied().filter(|&(at, _)| at >= slot).collect();
            prop_assert_eq!(order.behind(slot).collect::<Vec<_>>(), behind);
            prop_assert_eq!(order.iter().collect::<Vec<_>>(), all);
        }
    }
}
