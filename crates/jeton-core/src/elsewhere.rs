//! Threads that begin on another processor than the one that starts them.
//!
//! Some systems pack threads: what a thread starts waits on its own processor, though others are idle, until the load of some
//! milliseconds shows that it should not (schedulers of small virtual machines, to spare the host's processors). That is as long as
//! encoding a few megabytes takes. So a new thread moves away itself, and who starts it lets it run for as long as that takes.
#![allow(unsafe_code)] // the system's calls that say and choose where a thread runs

/// The processor of a thread that starts others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here(#[cfg(target_os = "linux")] Option<usize>);

#[cfg(target_os = "linux")]
impl Here {
    /// That of the caller, as it is now.
    pub(crate) fn now() -> Self {
        // SAFETY: it takes nothing, and says -1 where it does not know.
        Self(usize::try_from(unsafe { libc::sched_getcpu() }).ok())
    }

    /// Moves the calling thread to another processor, if it is on this one and may use others. Where it may run is the same as before
    /// when this returns. A hint: where the system refuses, nothing happens.
    pub(crate) fn leave(self) {
        let Some(here) = self.0.filter(|_| Self::now().0 == self.0) else {
            return;
        };
        let size = size_of::<libc::cpu_set_t>();
        if here >= 8 * size {
            return;
        }
        // SAFETY: a set of bits, for which zeros are the empty one, and of which as many bytes are written and read as it has; the bit
        // is within it. 0 is the calling thread.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size, &raw mut allowed) != 0 {
                return;
            }
            let mut others = allowed;
            libc::CPU_CLR(here, &mut others);
            if libc::CPU_COUNT(&others) > 0
                && libc::sched_setaffinity(0, size, &raw const others) == 0
            {
                libc::sched_setaffinity(0, size, &raw const allowed);
            }
        }
    }

    /// Lets a thread that was just started here run, so that it can leave.
    pub(crate) fn give_way() {
        std::thread::yield_now();
    }
}

#[cfg(not(target_os = "linux"))]
impl Here {
    pub(crate) fn now() -> Self {
        Self()
    }

    pub(crate) fn leave(self) {}

    pub(crate) fn give_way() {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn allowed() -> Vec<usize> {
        // SAFETY: as above.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            assert_eq!(libc::sched_getaffinity(0, size, &raw mut set), 0);
            (0..8 * size)
                .filter(|&cpu| libc::CPU_ISSET(cpu, &set))
                .collect()
        }
    }

    #[test]
    fn who_leaves_may_run_where_it_might_before() {
        let before = allowed();
        for _ in 0..20 {
            let here = Here::now();
            here.leave();
            assert_eq!(allowed(), before);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    here.leave();
                    assert_eq!(allowed(), before);
                });
                Here::give_way();
            });
        }
        // A processor that there is not is nobody's.
        Here(Some(usize::MAX)).leave();
        Here(None).leave();
        assert_eq!(allowed(), before);
    }
}
