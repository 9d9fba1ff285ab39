//! A small pool of things that threads borrow for a call: pretoken caches above all.
//!
//! The pool has no lock, so a fork leaves nothing locked in the child. Items that were lent at that
//! moment are missing there, and the child makes new ones.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;

use crate::cache::budget::CacheBudget;

/// Most items kept when nobody uses them: memory is bounded by this, however many threads came by.
const KEPT: usize = 16;

/// Item that can be lent.
pub(crate) trait Pooled: Default {
    /// Said to a new item: what it may take for its cache of pretokens.
    fn set_budget(&mut self, budget: &Arc<CacheBudget>);

    /// Said to an item that comes back when the budget has been made less than what is used.
    fn shrink_to_budget(&mut self);

    /// Gives back all that it keeps for later.
    fn clear(&mut self);
}

/// A pool of reusable items.
pub(crate) struct Pool<T> {
    budget: Arc<CacheBudget>,
    slots: [AtomicCell<Option<Box<T>>>; KEPT],
}

impl<T> std::fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            budget: Arc::default(),
            slots: std::array::from_fn(|_| AtomicCell::new(None)),
        }
    }
}

impl<T: Pooled> Pool<T> {
    /// Budget of all items together for their caches of pretokens.
    pub(crate) fn budget(&self) -> &CacheBudget {
        &self.budget
    }

    /// Clears what nobody uses at the moment.
    pub(crate) fn clear(&self) {
        for slot in &self.slots {
            if let Some(mut item) = slot.take() {
                item.clear();
                self.lay_aside(item);
            }
        }
    }

    /// Lends an item to a closure. It is not returned if the closure panics.
    #[inline]
    pub(crate) fn with<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        run(self.lend().get())
    }

    /// Lends an item until it is dropped. It is not returned if that is because of a panic.
    #[inline]
    pub(crate) fn lend(&self) -> Lease<'_, T> {
        let item = self.slots.iter().find_map(AtomicCell::take);
        Lease {
            pool: self,
            item: Some(item.unwrap_or_else(|| self.make())),
        }
    }

    // Slots hold boxes.
    #[allow(clippy::unnecessary_box_returns)]
    #[cold]
    fn make(&self) -> Box<T> {
        let mut item: Box<T> = Box::default();
        item.set_budget(&self.budget);
        item
    }

    fn lay_aside(&self, item: Box<T>) {
        // Put it into the first free slot; whatever it displaces moves on, and the last one is
        // dropped.
        let mut item = Some(item);
        for slot in &self.slots {
            item = slot.swap(item);
            if item.is_none() {
                break;
            }
        }
    }
}

/// An item that is lent.
pub(crate) struct Lease<'p, T: Pooled> {
    pool: &'p Pool<T>,
    /// There until it goes back.
    item: Option<Box<T>>,
}

impl<T: Pooled> Lease<'_, T> {
    /// The item.
    #[inline]
    pub(crate) fn get(&mut self) -> &mut T {
        let pool = self.pool;
        self.item.get_or_insert_with(|| pool.make())
    }
}

impl<T: Pooled> Drop for Lease<'_, T> {
    fn drop(&mut self) {
        if let Some(mut item) = self.item.take()
            && !std::thread::panicking()
        {
            if self.pool.budget.is_exceeded() {
                item.shrink_to_budget();
            }
            self.pool.lay_aside(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Pooled for Vec<u8> {
        fn set_budget(&mut self, _budget: &Arc<CacheBudget>) {}

        fn shrink_to_budget(&mut self) {}

        fn clear(&mut self) {
            *self = Self::new();
        }
    }

    #[test]
    fn items_come_back() {
        let pool: Pool<Vec<u8>> = Pool::default();
        pool.with(|item| item.push(1));
        pool.with(|item| {
            assert_eq!(item, &[1]);
            pool.with(|other| assert!(other.is_empty()));
        });
        pool.clear();
        pool.with(|item| assert!(item.is_empty()));
        assert!(AtomicCell::<Option<Box<Vec<u8>>>>::is_lock_free());
    }
}
