//! Work that one thread of a process does for all. Other threads go on without its result, so a
//! process may fork at any time.

use std::sync::atomic::{AtomicU32, Ordering};

/// The process in which a thread makes it, 0 for none: the child of a fork has no such thread.
#[derive(Debug, Default)]
pub(crate) struct OncePerProcess(AtomicU32);

impl OncePerProcess {
    /// True if the caller is to make it. Only one thread of a process is told so.
    pub(crate) fn claim(&self) -> bool {
        let process = std::process::id();
        let maker = self.0.load(Ordering::Relaxed);
        maker != process
            && self
                .0
                .compare_exchange(maker, process, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// As if a thread of a process made it.
    #[cfg(test)]
    pub(crate) fn set(&self, process: u32) {
        self.0.store(process, Ordering::Relaxed);
    }
}
