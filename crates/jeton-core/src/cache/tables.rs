//! Where the tables of caches lie: beside each other in huge pages.
//!
//! The system takes five times as long for the same memory in ordinary pages
//! (docs/log/engine-2026-11.md), and a cache that grows needs several hundred of them. Tables are
//! too small for a huge page each, until they have grown to that.

use crossbeam_utils::atomic::AtomicCell;

use crate::memory::arena::HugeArena;
use crate::memory::huge_pages::{HUGE_PAGE, HugeSlice, Zeroed, is_mapped};

/// Bytes of a new cache: a short text does not pay for memory that it will not use. A quarter of it
/// and four times as much do the same (docs/log/2026-11-28-tuning-constants.md).
pub(crate) const MIN_BYTES: usize = 64 << 10;

/// The memory of the caches of one tokenizer. A table's bytes are free again when all tables of its
/// shelf are gone.
#[derive(Default)]
pub(crate) struct CacheMemory {
    /// Not there while a thread takes a part of it: nobody waits, and nothing is locked in a child
    /// that forked meanwhile.
    shelf: AtomicCell<Option<Box<HugeArena>>>,
}

impl CacheMemory {
    /// Has tables begin on what is left of a shelf.
    pub(crate) fn begin_on(&self, shelf: HugeArena) {
        self.shelf.store(Some(Box::new(shelf)));
    }

    /// Allocates `len` zeros.
    pub(crate) fn zeroed<T: Zeroed>(&self, len: usize) -> HugeSlice<T> {
        let bytes = len.saturating_mul(size_of::<T>());
        if is_mapped(bytes) {
            return HugeSlice::zeroed(len);
        }
        // A new cache takes room in a huge page that is there, and asks for no other.
        let begins = bytes <= MIN_BYTES;
        let mut shelf = self.shelf.take();
        let mut part = shelf
            .as_deref_mut()
            .filter(|shelf| !begins || shelf.has_begun(bytes))
            .and_then(|shelf| shelf.part(len));
        if part.is_none() && !begins {
            let mut new = Box::new(HugeArena::with_room(HUGE_PAGE));
            part = new.part(len);
            shelf = Some(new);
        }
        if shelf.is_some() {
            self.shelf.store(shelf);
        }
        part.unwrap_or_else(|| HugeSlice::zeroed(len))
    }
}

impl std::fmt::Debug for CacheMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CacheMemory").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    const MIN: usize = MIN_BYTES / size_of::<u64>();

    fn address(table: &HugeSlice<u64>) -> usize {
        table.as_ptr().addr()
    }

    #[test]
    fn tables_lie_behind_what_a_shelf_has_and_last_as_long_as_they_are_used() {
        let mut shelf = HugeArena::with_room(2 * HUGE_PAGE);
        let list = shelf.part::<u64>(100).unwrap();
        let memory = CacheMemory::default();
        memory.begin_on(shelf);
        let mut first = memory.zeroed::<u64>(MIN);
        assert_eq!(address(&first), address(&list) + 832);
        let second = memory.zeroed::<u64>(4 * MIN);
        assert_eq!(address(&second), address(&first) + MIN_BYTES);
        drop((memory, list));
        first.fill(7);
        assert!(second.iter().all(|&number| number == 0));
        assert!(first.iter().all(|&number| number == 7));
    }

    #[test]
    fn what_is_little_begins_no_huge_page() {
        let memory = CacheMemory::default();
        drop(memory.zeroed::<u64>(MIN));
        assert!(memory.shelf.take().is_none());
        // A grown table begins a huge page; others, large and small, follow in it.
        let grown = memory.zeroed::<u64>(4 * MIN);
        let small = memory.zeroed::<u64>(MIN);
        assert_eq!(address(&grown) % HUGE_PAGE, 0);
        assert_eq!(address(&small), address(&grown) + 4 * MIN_BYTES);
        // Nor does it where another one would begin with it.
        let most = memory.zeroed::<u64>(HUGE_PAGE / 8 - 5 * MIN);
        assert_eq!(address(&most), address(&small) + MIN_BYTES);
        let elsewhere = memory.zeroed::<u64>(MIN);
        assert_ne!(address(&elsewhere), address(&grown) + HUGE_PAGE);
        assert_eq!(address(&memory.zeroed::<u64>(4 * MIN)) % HUGE_PAGE, 0);
    }

    #[test]
    fn large_tables_and_those_of_threads_that_come_at_once_have_their_own() {
        let memory = CacheMemory::default();
        assert_eq!(memory.zeroed::<u64>(HUGE_PAGE).len(), HUGE_PAGE);
        assert!(memory.shelf.take().is_none());
        let table = memory.zeroed::<u64>(4 * MIN);
        // While another thread takes a part.
        let shelf = memory.shelf.take();
        let other = memory.zeroed::<u64>(MIN);
        memory.shelf.store(shelf);
        assert_ne!(address(&other), address(&table) + 4 * MIN_BYTES);
        let next = memory.zeroed::<u64>(MIN);
        assert_eq!(address(&next), address(&table) + 4 * MIN_BYTES);
    }
}
