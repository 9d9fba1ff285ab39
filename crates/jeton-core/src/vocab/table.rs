//! From token bytes to id: an open-addressing table of ids.
//!
//! A slot is one word: eight bits of the hash above an id of 24 bits. So a lookup in vain compares
//! no bytes in most cases, and a table of 100,000 tokens takes a megabyte. Nothing in it depends on
//! the machine: the hash is defined here, so that a table can be written to a file and used as it
//! is.
//!
//! Tokens of hostile files may be made to collide. A token lies at most [`MAX_PROBES`] slots behind
//! its first one. Where one would lie further, the whole table is made anew with another seed.
//! After [`MAX_SEEDS`] seeds the vocabulary is refused. So a lookup is bounded, whatever the table
//! holds.

use crate::cpu::dispatch::{Kernel, Work, run_wide};
use crate::cpu::prefetch::prefetch;
use crate::error::{ErrorKind, Result};
use crate::memory::arena::{ArenaVec, HugeArena};

/// A slot without a token. No token has it: tags stay below 0xFF.
pub(super) const EMPTY: u32 = u32::MAX;

/// Slots that a lookup looks at. In a table at most half full, the longest way of a million random
/// keys is about 70. Formula: log n / (a - 1 - log a) with a = 1/2; Knuth, volume 3, section 6.4.
const MAX_PROBES: usize = 256;

/// Seeds that are tried before a vocabulary is refused.
pub(super) const MAX_SEEDS: u32 = 8;

/// Bits of an id in a slot.
const ID_BITS: u32 = 24;

/// Slots that the widest vectors hold.
const SLOTS_OF_A_VECTOR: usize = 16;

/// Fewest slots.
const MIN_SLOTS: usize = 16;

/// Digits of the golden ratio and of pi: any odd numbers without a pattern do.
const K: [u64; 4] = [
    0x9E37_79B9_7F4A_7C15,
    0x2437_F6A8_885A_308D,
    0x1319_8A2E_0370_7345,
    0xA409_3822_299F_31D1,
];

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes
        .get(at..at + 8)
        .and_then(|eight| eight.try_into().ok())
    {
        Some(eight) => u64::from_le_bytes(eight),
        None => 0,
    }
}

#[inline]
pub(super) fn half(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 4).and_then(|four| four.try_into().ok()) {
        Some(four) => u64::from(u32::from_le_bytes(four)),
        None => 0,
    }
}

/// The hash of token bytes: the same on every machine. Folded products of two words, as in wyhash.
#[inline]
pub(super) fn hash(seed: u32, bytes: &[u8]) -> u64 {
    let n = bytes.len();
    let seed = u64::from(seed).wrapping_mul(K[0]) ^ K[1];
    let (a, b) = match n {
        0 => (0, 0),
        1..4 => {
            let ends = u64::from(bytes[0]) << 16 | u64::from(bytes[n >> 1]) << 8;
            (ends | u64::from(bytes[n - 1]), 0)
        }
        4..8 => (half(bytes, 0), half(bytes, n - 4)),
        8..=16 => (word(bytes, 0), word(bytes, n - 8)),
        _ => {
            let mut state = seed;
            let mut at = 0;
            while at + 16 < n {
                state = fold(word(bytes, at) ^ K[2], word(bytes, at + 8) ^ state);
                at += 16;
            }
            (word(bytes, n - 16) ^ state, word(bytes, n - 8))
        }
    };
    // The second product spreads what the first one leaves in few bits.
    let mixed = fold(a ^ seed, b ^ K[2]) ^ (n as u64);
    fold(mixed ^ K[3], K[0])
}

/// Where the tokens' bytes are looked up.
pub(super) trait Bytes {
    /// The bytes of an id; nothing for an id that has none.
    fn of(&self, id: u32) -> &[u8];
}

/// The table. Its slots are a power of two, at least two for each token.
#[derive(Clone, Debug)]
pub(super) struct Table {
    slots: ArenaVec<u32>,
    seed: u32,
    n_used: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

/// How many slots are used, and the largest id in one.
struct Survey<'s>(&'s [u32]);

impl Work for Survey<'_> {
    type Output = (u32, u32);

    #[inline(always)]
    fn run(self) -> (u32, u32) {
        // Without branches, since which slots are used nobody can predict, and for each place of a
        // vector by itself.
        let (blocks, rest) = self.0.as_chunks::<SLOTS_OF_A_VECTOR>();
        let mut n_used = [0; SLOTS_OF_A_VECTOR];
        let mut largest = [0; SLOTS_OF_A_VECTOR];
        let mut see = |slots: &[u32]| {
            for ((n, largest), &slot) in n_used.iter_mut().zip(&mut largest).zip(slots) {
                let is_used = slot != EMPTY;
                *n += u32::from(is_used);
                *largest = (*largest).max(if is_used { id_of(slot) } else { 0 });
            }
        };
        blocks.iter().for_each(|block| see(block));
        see(rest);
        let largest = largest.iter().copied().max();
        (n_used.iter().sum(), largest.unwrap_or(0))
    }
}

fn slot_word(hash: u64, id: u32) -> u32 {
    tag(hash) | id
}

/// The tag of a hash, in its place.
fn tag(hash: u64) -> u32 {
    let tag = (hash >> 56) as u32;
    tag.min(0xFE) << ID_BITS
}

#[inline(always)]
fn id_of(slot: u32) -> u32 {
    slot & ((1 << ID_BITS) - 1)
}

impl Table {
    pub(super) fn with_capacity(n_tokens: usize) -> Self {
        Self {
            slots: vec![EMPTY; slots_for(n_tokens)].into(),
            seed: 0,
            n_used: 0,
        }
    }

    /// Bytes of a table for `n_tokens` tokens.
    pub(super) fn bytes_for(n_tokens: usize) -> usize {
        slots_for(n_tokens) * size_of::<u32>()
    }

    /// Builds the table as [`with_capacity`](Self::with_capacity) does, in an arena.
    pub(super) fn on_shelf(n_tokens: usize, shelf: &mut HugeArena) -> Self {
        let mut slots = shelf.zeroed(slots_for(n_tokens));
        slots.fill(EMPTY);
        Self {
            slots,
            seed: 0,
            n_used: 0,
        }
    }

    /// A table as it was written, with ids below `n_ids`, unless it can be none.
    pub(super) fn from_slots(slots: ArenaVec<u32>, seed: u32, n_ids: usize) -> Option<Self> {
        let (n_used, largest) = run_wide(Kernel::fastest(), Survey(&slots));
        let n_used = n_used as usize;
        let fits = slots.len().is_power_of_two()
            && slots.len() >= slots_for(n_used)
            && (n_used == 0 || (largest as usize) < n_ids);
        fits.then_some(Self {
            slots,
            seed,
            n_used,
        })
    }

    pub(super) fn slots(&self) -> &[u32] {
        &self.slots
    }

    pub(super) fn seed(&self) -> u32 {
        self.seed
    }

    pub(super) fn len(&self) -> usize {
        self.n_used
    }

    /// Ids in slots.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        let used = self.slots.iter().filter(|&&slot| slot != EMPTY);
        used.map(|&slot| id_of(slot))
    }

    #[inline]
    pub(super) fn find(&self, bytes: &[u8], tokens: &impl Bytes) -> Option<u32> {
        self.probe(hash(self.seed, bytes), bytes, tokens).0
    }

    /// The id of the bytes, else the slot where they belong, if there is one near enough.
    #[inline]
    fn probe(&self, hash: u64, bytes: &[u8], tokens: &impl Bytes) -> (Option<u32>, Option<usize>) {
        let mask = self.slots.len() - 1;
        let tag = tag(hash);
        let mut at = hash as usize;
        for _ in 0..MAX_PROBES {
            at &= mask;
            let slot = self.slots[at];
            if slot == EMPTY {
                return (None, Some(at));
            }
            if slot & !((1 << ID_BITS) - 1) == tag && tokens.of(id_of(slot)) == bytes {
                return (Some(id_of(slot)), None);
            }
            at += 1;
        }
        (None, None)
    }

    /// Puts an id there, unless the bytes have one; returns the one that they have.
    pub(super) fn insert(&mut self, id: u32, tokens: &impl Bytes) -> Result<Option<u32>> {
        if slots_for(self.n_used + 1) > self.slots.len() {
            self.rebuild(self.slots.len() * 2, tokens)?;
        }
        loop {
            let bytes = tokens.of(id);
            let hash = hash(self.seed, bytes);
            match self.probe(hash, bytes, tokens) {
                (Some(known), _) => return Ok(Some(known)),
                (None, Some(at)) => {
                    self.slots[at] = slot_word(hash, id);
                    self.n_used += 1;
                    return Ok(None);
                }
                (None, None) => {
                    self.seed += 1;
                    self.rebuild(self.slots.len(), tokens)?;
                }
            }
        }
    }

    /// The hash of bytes, whose slot is on its way from memory when this returns: for
    /// [`insert_prepared`](Self::insert_prepared) and [`find_prepared`](Self::find_prepared).
    #[inline]
    pub(super) fn prepare(&self, bytes: &[u8]) -> u64 {
        let hash = hash(self.seed, bytes);
        self.fetch(hash);
        hash
    }

    /// Asks for the slot of a hash.
    #[inline]
    pub(super) fn fetch(&self, hash: u64) {
        if let Some(slot) = self.slots.get(hash as usize & (self.slots.len() - 1)) {
            prefetch(slot);
        }
    }

    /// As [`insert`](Self::insert), for an id whose bytes were hashed before.
    #[inline]
    pub(super) fn insert_prepared(
        &mut self,
        id: u32,
        hash: u64,
        tokens: &impl Bytes,
    ) -> Result<Option<u32>> {
        // A hash of an older seed is none.
        if self.seed == 0 && slots_for(self.n_used + 1) <= self.slots.len() {
            match self.probe(hash, tokens.of(id), tokens) {
                (Some(known), _) => return Ok(Some(known)),
                (None, Some(at)) => {
                    self.slots[at] = slot_word(hash, id);
                    self.n_used += 1;
                    return Ok(None);
                }
                (None, None) => {}
            }
        }
        self.insert(id, tokens)
    }

    /// As [`find`](Self::find), for bytes that were hashed before; nothing was inserted meanwhile.
    #[inline]
    pub(super) fn find_prepared(
        &self,
        hash: u64,
        bytes: &[u8],
        tokens: &impl Bytes,
    ) -> Option<u32> {
        self.probe(hash, bytes, tokens).0
    }

    /// Makes the table anew, with another seed where this one's ways are too long.
    fn rebuild(&mut self, n_slots: usize, tokens: &impl Bytes) -> Result<()> {
        let ids: Vec<u32> = self.ids().collect();
        while self.seed < MAX_SEEDS {
            let slots = self.slots.to_mut();
            slots.clear();
            slots.resize(n_slots, EMPTY);
            if ids.iter().all(|&id| self.place(id, tokens)) {
                return Ok(());
            }
            self.seed += 1;
        }
        Err(ErrorKind::TooLarge {
            what: "number of tokens of one hash",
            limit: MAX_PROBES as u64,
        }
        .into())
    }

    /// Puts an id there that is known to be new.
    fn place(&mut self, id: u32, tokens: &impl Bytes) -> bool {
        let mask = self.slots.len() - 1;
        let hash = hash(self.seed, tokens.of(id));
        let mut at = hash as usize;
        for _ in 0..MAX_PROBES {
            at &= mask;
            if self.slots[at] == EMPTY {
                self.slots[at] = slot_word(hash, id);
                return true;
            }
            at += 1;
        }
        false
    }
}

fn slots_for(n_tokens: usize) -> usize {
    (n_tokens * 2).next_power_of_two().max(MIN_SLOTS)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    impl Bytes for Vec<Vec<u8>> {
        fn of(&self, id: u32) -> &[u8] {
            self.get(id as usize).map_or(&[], Vec::as_slice)
        }
    }

    proptest! {
        /// The naive twin is a map of the standard library.
        #[test]
        fn finds_what_a_map_finds(
            tokens in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..200),
            others in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..50),
            seed in 0..MAX_SEEDS,
        ) {
            let mut table = Table::with_capacity(0);
            table.seed = seed;
            let mut map: HashMap<&[u8], u32> = HashMap::new();
            for (id, token) in (0..).zip(&tokens) {
                let known = map.get(token.as_slice()).copied();
                prop_assert_eq!(table.insert(id, &tokens).unwrap(), known);
                map.entry(token).or_insert(id);
            }
            prop_assert_eq!(table.len(), map.len());
            let again = Table::from_slots(table.slots.clone(), table.seed, tokens.len()).unwrap();
            for bytes in tokens.iter().chain(&others) {
                prop_assert_eq!(again.find(bytes, &tokens), map.get(bytes.as_slice()).copied());
            }
        }
    }

    /// The hash is part of the compiled format: what it gives may not change.
    #[test]
    fn the_hash_is_what_it_was() {
        let bytes: Vec<u8> = (0..40).collect();
        let digest = [0, 1, 3, 4, 7, 8, 16, 17, 32, 33, 40]
            .iter()
            .fold(0, |all: u64, &n| {
                all.rotate_left(7) ^ hash(0, &bytes[..n]) ^ hash(5, &bytes[..n])
            });
        assert_eq!(digest, 0xE196_4B4D_55BE_4340);
    }

    /// Tokens of equal hashes: the table changes its seed, and gives up where every seed is as bad.
    #[test]
    fn tokens_made_to_collide() {
        // All in one slot under seed 0: what is left after the mask is the same.
        let all = (0u32..).map(|n| n.to_le_bytes().to_vec());
        let same = |token: &Vec<u8>| hash(0, token) & 1023 == 7;
        let tokens: Vec<Vec<u8>> = all.filter(same).take(MAX_PROBES + 1).collect();
        let mut table = Table::with_capacity(512);
        assert_eq!(table.slots.len(), 1024);
        for id in 0..tokens.len() as u32 {
            assert_eq!(table.insert(id, &tokens).unwrap(), None);
        }
        assert_eq!(table.seed(), 1);
        for (id, token) in (0..).zip(&tokens) {
            assert_eq!(table.find(token, &tokens), Some(id));
        }
        table.seed = MAX_SEEDS;
        assert!(table.rebuild(1024, &tokens).is_err());
    }
}
