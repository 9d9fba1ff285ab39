//! A trie of byte strings as a double array: one step down is one exclusive or and one load.
//!
//! A node's children lie at `base ^ byte`. No two nodes share a base, so the label kept in a slot
//! is enough to tell whose child it is. Built from sorted keys in time linear in their bytes: a
//! node tries a bounded number of places and then opens a fresh block.

use crate::error::{ErrorKind, Result};

/// Base of a node without children: any step from it falls outside the array.
const NO_BASE: u32 = u32::MAX - 0xFF;
/// Value of a node at which no key ends.
const NO_VALUE: u32 = (1 << 24) - 1;
/// Slots in a block; `base ^ byte` stays in the block of `base`.
const BLOCK: usize = 256;
/// Free slots a node tries before it opens a fresh block. On published vocabularies over nine slots
/// in ten are filled, and the time a hostile one can cost is bounded.
const TRIES: usize = 48;
/// Most slots per node of the trie, beyond a few blocks: a bound on memory for hostile keys.
const MAX_SLOTS_PER_NODE: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Slot {
    base: u32,
    /// Value in the upper 24 bits, label in the lower 8.
    value_and_label: u32,
}

const EMPTY: Slot = Slot {
    base: NO_BASE,
    value_and_label: NO_VALUE << 8,
};

/// A place in the trie, reached by some prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    base: u32,
    value: u32,
}

impl Node {
    /// The value of the key that ends here.
    #[inline]
    pub fn value(self) -> Option<u32> {
        (self.value != NO_VALUE).then_some(self.value)
    }
}

/// Byte strings with a value each, below 2^24 - 1.
#[derive(Clone, Debug)]
pub struct Trie {
    slots: Vec<Slot>,
    root: Node,
}

/// A part of the sorted keys that share their first bytes, and the slot of their node.
struct Pending {
    first: usize,
    last: usize,
    depth: usize,
    slot: Option<usize>,
}

impl Trie {
    /// Builds the trie. The first of equal keys counts; the empty key is left out.
    ///
    /// Fails with `TooLarge` for values from 2^24 - 1 on.
    pub fn new(mut keys: Vec<(&[u8], u32)>) -> Result<Self> {
        keys.sort_by_key(|&(key, _)| key);
        keys.dedup_by_key(|&mut (key, _)| key);
        let mut builder = Builder::default();
        let mut root = Node {
            base: NO_BASE,
            value: NO_VALUE,
        };
        let first = keys.partition_point(|(key, _)| key.is_empty());
        let mut pending = vec![Pending {
            first,
            last: keys.len(),
            depth: 0,
            slot: None,
        }];
        let mut labels = Vec::with_capacity(BLOCK);
        let mut starts = Vec::with_capacity(BLOCK);
        while let Some(part) = pending.pop() {
            let mut first = part.first;
            if let Some(slot) = part.slot
                && let Some(&(key, value)) = keys.get(first)
                && key.len() == part.depth
            {
                if value >= NO_VALUE {
                    return Err(ErrorKind::TooLarge {
                        what: "token id",
                        limit: u64::from(NO_VALUE),
                    }
                    .into());
                }
                builder.slots[slot].value_and_label =
                    value << 8 | builder.slots[slot].value_and_label & 0xFF;
                first += 1;
            }
            labels.clear();
            starts.clear();
            for (index, &(key, _)) in keys.iter().enumerate().take(part.last).skip(first) {
                let label = key[part.depth];
                if labels.last() != Some(&label) {
                    labels.push(label);
                    starts.push(index);
                }
            }
            if labels.is_empty() {
                continue;
            }
            starts.push(part.last);
            let base = builder.place(&labels)?;
            match part.slot {
                Some(slot) => builder.slots[slot].base = base,
                None => root.base = base,
            }
            for (&label, range) in labels.iter().zip(starts.windows(2)) {
                pending.push(Pending {
                    first: range[0],
                    last: range[1],
                    depth: part.depth + 1,
                    slot: Some((base ^ u32::from(label)) as usize),
                });
            }
        }
        Ok(Self {
            slots: builder.slots,
            root,
        })
    }

    /// True if following the text ends because the text does: longer keys may begin with it.
    pub(crate) fn is_cut_off(&self, text: &[u8]) -> bool {
        let mut node = self.root;
        for &byte in text {
            match self.step(node, byte) {
                Some(next) => node = next,
                None => return false,
            }
        }
        true
    }

    /// The node of the empty prefix.
    #[inline]
    pub fn root(&self) -> Node {
        self.root
    }

    /// The node one byte further; none if no key has this prefix.
    #[inline]
    pub fn step(&self, node: Node, byte: u8) -> Option<Node> {
        let slot = self.slots.get((node.base ^ u32::from(byte)) as usize)?;
        // An empty slot has label 0, no value and no children: to arrive there is harmless.
        (slot.value_and_label as u8 == byte).then_some(Node {
            base: slot.base,
            value: slot.value_and_label >> 8,
        })
    }

    /// Keys that the text begins with, shortest first: (length in bytes, value).
    #[inline]
    pub fn prefixes<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (usize, u32)> + 't {
        let mut node = self.root;
        text.iter()
            .map_while(move |&byte| {
                node = self.step(node, byte)?;
                Some(node)
            })
            .enumerate()
            .filter_map(|(index, node)| Some((index + 1, node.value()?)))
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<u32> {
        key.iter()
            .try_fold(self.root, |node, &byte| self.step(node, byte))?
            .value()
    }
}

/// The array while it grows.
#[derive(Default)]
struct Builder {
    slots: Vec<Slot>,
    taken: Vec<bool>,
    base_used: Vec<bool>,
    /// Free slots, oldest first, some of them taken meanwhile.
    free: std::collections::VecDeque<u32>,
    n_nodes: usize,
}

impl Builder {
    /// Reserves slots for the children of a node and returns its base.
    fn place(&mut self, labels: &[u8]) -> Result<u32> {
        self.n_nodes += labels.len();
        let mut base = None;
        for _ in 0..TRIES {
            let Some(slot) = self.free.pop_front() else {
                break;
            };
            if self.taken[slot as usize] {
                continue;
            }
            let candidate = slot ^ u32::from(labels[0]);
            if !self.base_used[candidate as usize]
                && labels
                    .iter()
                    .all(|&label| !self.taken[(candidate ^ u32::from(label)) as usize])
            {
                base = Some(candidate);
                break;
            }
            self.free.push_back(slot);
        }
        let base = match base {
            Some(base) => base,
            None => self.open_block(labels[0])?,
        };
        self.base_used[base as usize] = true;
        for &label in labels {
            let slot = (base ^ u32::from(label)) as usize;
            self.taken[slot] = true;
            self.slots[slot].value_and_label = NO_VALUE << 8 | u32::from(label);
        }
        Ok(base)
    }

    /// A fresh block, and a base in it.
    fn open_block(&mut self, label: u8) -> Result<u32> {
        let start = self.slots.len();
        let end = start + BLOCK;
        if end > (self.n_nodes + 64 * BLOCK) * MAX_SLOTS_PER_NODE || end >= NO_BASE as usize {
            return Err(ErrorKind::TooLarge {
                what: "trie of the vocabulary",
                limit: start as u64,
            }
            .into());
        }
        self.slots.resize(end, EMPTY);
        self.taken.resize(end, false);
        self.base_used.resize(end, false);
        self.free.extend(start as u32..end as u32);
        Ok(start as u32 ^ u32::from(label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn finds_what_a_map_finds(
            keys in prop::collection::vec(prop::collection::vec(prop_oneof![0..4u8, any::<u8>()], 0..6), 0..300),
            text in prop::collection::vec(prop_oneof![0..4u8, any::<u8>()], 0..12),
        ) {
            let mut map = BTreeMap::new();
            for (value, key) in keys.iter().enumerate() {
                map.entry(key.as_slice()).or_insert(value as u32);
            }
            let trie = Trie::new(
                keys.iter().enumerate().map(|(value, key)| (key.as_slice(), value as u32)).collect(),
            ).unwrap();
            map.remove(&[][..]);
            for (key, value) in &map {
                prop_assert_eq!(trie.get(key), Some(*value));
            }
            let expected: Vec<_> = (1..=text.len())
                .filter_map(|n| Some((n, *map.get(&text[..n])?)))
                .collect();
            prop_assert_eq!(trie.prefixes(&text).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn values_and_sizes_are_bounded() {
        assert!(Trie::new(vec![(b"a", NO_VALUE)]).is_err());
        let empty = Trie::new(Vec::new()).unwrap();
        assert_eq!(empty.prefixes(b"\0a").count(), 0);
    }
}
