//! Long pretokens and their counts: the bytes in one arena, found by a hash table.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use jeton_core::vocab::hasher;

use super::words::Added;

/// One distinct pretoken.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: u64,
    len: u32,
    /// Upper half of the hash: spares most comparisons of unequal pretokens.
    tag: u32,
    count: u64,
}

/// Pretokens of any length below 4 GiB.
#[derive(Clone, Debug, Default)]
pub(super) struct LongWords {
    arena: Vec<u8>,
    table: HashTable<Slot>,
}

impl LongWords {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.arena.capacity() + self.table.allocation_size()
    }

    /// Most memory while it grows to fit another pretoken of `len` bytes.
    pub(super) fn growing_bytes(&self, len: usize) -> usize {
        let arena = match self.arena.len() + len {
            needed if needed <= self.arena.capacity() => 0,
            needed => needed.max(self.arena.capacity() * 2),
        };
        let table = if self.table.len() < self.table.capacity() {
            0
        } else {
            self.table.allocation_size() * 2 + 16 * size_of::<Slot>()
        };
        self.memory_bytes() + arena + table
    }

    /// Adds to the count of a pretoken, modulo 2^64. `room`: true if it may grow as far as
    /// [`growing_bytes`](Self::growing_bytes) says.
    pub(super) fn add(
        &mut self,
        pretoken: &[u8],
        count: u64,
        room: impl Fn(&Self) -> bool,
    ) -> Added {
        let hash = hasher().hash_one(pretoken);
        let (len, tag) = (pretoken.len() as u32, (hash >> 32) as u32);
        if let Some(slot) = self.table.find_mut(hash, |slot| {
            slot.tag == tag && slot.len == len && bytes_of(&self.arena, slot) == pretoken
        }) {
            slot.count = slot.count.wrapping_add(count);
            return Added::Known;
        }
        if !room(self) {
            return Added::NoRoom;
        }
        let Self { arena, table } = self;
        let entry = table.entry(
            hash,
            |_| false,
            |slot| hasher().hash_one(bytes_of(arena, slot)),
        );
        if let Entry::Vacant(vacant) = entry {
            vacant.insert(Slot {
                start: arena.len() as u64,
                len,
                tag,
                count,
            });
        }
        if arena.len() + pretoken.len() > arena.capacity() {
            arena.reserve_exact(pretoken.len().max(arena.capacity()));
        }
        arena.extend_from_slice(pretoken);
        Added::New
    }

    /// Count of a pretoken.
    pub(super) fn get(&self, pretoken: &[u8]) -> u64 {
        let hash = hasher().hash_one(pretoken);
        self.table
            .find(hash, |slot| bytes_of(&self.arena, slot) == pretoken)
            .map_or(0, |slot| slot.count)
    }

    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.table
            .iter()
            .map(|slot| (bytes_of(&self.arena, slot), slot.count))
    }

    /// All of them in the order of their bytes.
    pub(super) fn sorted(&self) -> Vec<(&[u8], u64)> {
        let mut sorted: Vec<_> = self.iter().collect();
        sorted.sort_unstable_by(|a, b| a.0.cmp(b.0));
        sorted
    }

    /// Forgets all of them and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.arena.clear();
        self.table.clear();
    }
}

fn bytes_of<'a>(arena: &'a [u8], slot: &Slot) -> &'a [u8] {
    &arena[slot.start as usize..slot.start as usize + slot.len as usize]
}
