//! Budget of the pretoken caches of a tokenizer: their common limit, and the share of each.
//!
//! A cache that may not grow forgets older pretokens, and one that may not even begin keeps none:
//! ids are the same, only slower.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::cache::tables::CacheMemory;
use crate::memory::arena::HugeArena;
use crate::memory::huge_pages::{HugeSlice, Zeroed};

/// Most bytes of one tier of one thread. A thread has four tiers; `records` also has some kilobytes
/// for pretokens that came once.
pub(crate) const MAX_BYTES: usize = 8 << 20;

/// Bytes that the pretoken caches of one tokenizer may take together unless it is told otherwise:
/// 256 MiB, that is 8 threads with full caches.
pub const DEFAULT_CACHE_LIMIT: usize = 32 * MAX_BYTES;

/// Limit and use of the caches of one tokenizer.
#[derive(Debug)]
pub(crate) struct CacheBudget {
    limit: AtomicUsize,
    used: AtomicUsize,
    /// Process whose bytes are counted. Caches that were lent out when a process forked never come
    /// back in the child, so the child counts anew, beside the inherited ones.
    process: AtomicU32,
    memory: CacheMemory,
}

impl Default for CacheBudget {
    fn default() -> Self {
        Self {
            limit: AtomicUsize::new(DEFAULT_CACHE_LIMIT),
            used: AtomicUsize::new(0),
            process: AtomicU32::new(std::process::id()),
            memory: CacheMemory::default(),
        }
    }
}

impl CacheBudget {
    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Gives caches what is left of a shelf.
    pub(crate) fn begin_on(&self, shelf: HugeArena) {
        self.memory.begin_on(shelf);
    }

    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// True if it has been made less than what is used.
    #[inline]
    pub(crate) fn is_exceeded(&self) -> bool {
        self.used() > self.limit()
    }

    /// Takes bytes from the budget, if it has them. `process`: the one that asks.
    fn reserve(&self, bytes: usize, process: u32) -> bool {
        let counted = self.process.load(Ordering::Relaxed);
        if counted != process {
            let change = self.process.compare_exchange(
                counted,
                process,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if change.is_ok() {
                self.used.store(0, Ordering::Relaxed);
            }
        }
        let more = |used: usize| {
            used.checked_add(bytes)
                .filter(|&total| total <= self.limit())
        };
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    fn release(&self, bytes: usize) {
        let less = |used: usize| Some(used.saturating_sub(bytes));
        // The function never declines.
        let _ = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Share of one cache in a budget.
#[derive(Debug, Default)]
pub(crate) struct Share {
    /// Nobody's: only the most that one cache may have counts.
    budget: Option<Arc<CacheBudget>>,
    /// The process whose budget the bytes are counted in.
    process: u32,
}

impl Share {
    /// Must be said before anything is taken.
    pub(crate) fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.budget = Some(Arc::clone(budget));
    }

    /// True if the budget has been made less than what is used.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.budget.as_deref().is_some_and(CacheBudget::is_exceeded)
    }

    /// Takes `new` bytes in place of `old` ones, which are there until their contents have moved:
    /// both must fit at once. Says whether they do.
    pub(crate) fn exchange(&mut self, old: usize, new: usize) -> bool {
        let Some(budget) = &self.budget else {
            return true;
        };
        let process = std::process::id();
        if !budget.reserve(new, process) {
            return false;
        }
        if self.process == process {
            budget.release(old);
        }
        self.process = process;
        true
    }

    /// Allocates `len` zeros, whose bytes have been taken.
    pub(crate) fn zeroed<T: Zeroed>(&self, len: usize) -> HugeSlice<T> {
        match &self.budget {
            Some(budget) => budget.memory.zeroed(len),
            None => HugeSlice::zeroed(len),
        }
    }

    /// Gives bytes back.
    pub(crate) fn give_back(&self, bytes: usize) {
        // Only counted bytes are taken from the count.
        if let Some(budget) = &self.budget
            && self.process == budget.process.load(Ordering::Relaxed)
        {
            budget.release(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_what_is_documented() {
        assert_eq!(DEFAULT_CACHE_LIMIT, 256 << 20);
    }

    #[test]
    fn a_forked_child_counts_anew() {
        let budget = Arc::new(CacheBudget::default());
        let parent = std::process::id().wrapping_add(1);
        // Lent out in the parent when it forked: nobody gives this back.
        assert!(budget.reserve(DEFAULT_CACHE_LIMIT, parent));
        let inherited = Share {
            budget: Some(Arc::clone(&budget)),
            process: parent,
        };
        let mut share = Share::default();
        share.set_budget(&budget);
        assert!(share.exchange(0, 10));
        assert_eq!(budget.used(), 10);
        inherited.give_back(10);
        assert_eq!(budget.used(), 10);
        share.give_back(10);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn old_and_new_must_fit_at_once() {
        let budget = Arc::new(CacheBudget::default());
        budget.set_limit(100);
        let mut share = Share::default();
        share.set_budget(&budget);
        assert!(share.exchange(0, 40));
        assert!(share.exchange(40, 60));
        assert!(!share.exchange(60, 41));
        assert_eq!(budget.used(), 60);
        budget.set_limit(59);
        assert!(share.is_exceeded());
    }
}
