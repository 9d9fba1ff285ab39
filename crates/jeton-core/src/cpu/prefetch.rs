//! Asking for memory before it is needed.
#![allow(unsafe_code)] // the only reason for this module

/// Brings the cache line of a value near, where the machine has an instruction for it.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint that changes nothing, whatever the address; this one is even valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Prefetches into a larger cache, and leaves the smallest one to data in constant use.
#[inline(always)]
fn prefetch_far(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::without_provenance(address)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Bytes between the place that is read and the place that is prefetched. Text is read in bursts of
/// a few blocks with other work between them. The hardware's own prefetching sees too few reads in
/// a row, on Intel's processors (docs/log/engine-2026-11.md). On AMD's, it brings little
/// (docs/log/2026-11-28-tuning-constants.md).
pub(crate) const TEXT_AHEAD: usize = 1 << 10;

const CACHE_LINE: usize = 64;

/// Asks for what a text begins with: nobody has, by reading what comes [`TEXT_AHEAD`] before it.
#[inline]
pub(crate) fn prefetch_beginning(text: &[u8]) {
    let beginning = &text[..text.len().min(TEXT_AHEAD)];
    let lines = beginning.chunks(CACHE_LINE).filter_map(<[u8]>::first);
    lines.for_each(prefetch);
}

/// Items that [`ReadLater`] fetches at a time: as many characters as a block of a text has bytes.
/// The caller asks once after each block.
const ITEMS_PER_FETCH: usize = 64;

/// Memory that is read when something else is done, asked for bit by bit meanwhile: read at once,
/// it comes no faster than a core may have reads under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadLater {
    /// From where to where it is not asked for yet: addresses and no references, because nothing is
    /// read there.
    from: usize,
    to: usize,
    /// Bytes that are asked for at a time.
    bytes: usize,
}

impl ReadLater {
    /// To be asked for [`ITEMS_PER_FETCH`] at a time.
    pub(crate) fn new<T>(memory: &[T]) -> Self {
        let from = memory.as_ptr().addr();
        Self {
            from,
            to: from + size_of_val(memory),
            bytes: ITEMS_PER_FETCH * size_of::<T>(),
        }
    }

    /// Asks for what is next.
    #[inline(always)]
    pub(crate) fn ask(&mut self) {
        if self.from < self.to {
            let to = self.from + self.bytes;
            for line in (self.from..to).step_by(CACHE_LINE) {
                prefetch_far(line);
            }
            self.from = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_asked_for_in_turn() {
        for n in [0, 1, ITEMS_PER_FETCH, 3 * ITEMS_PER_FETCH + 1] {
            let characters = vec![0u32; n];
            let mut later = ReadLater::new(&characters);
            let begin = later.from;
            for turn in 0..n.div_ceil(ITEMS_PER_FETCH) {
                assert_eq!(later.from, begin + turn * ITEMS_PER_FETCH * 4);
                assert!(later.from < later.to);
                later.ask();
            }
            assert!(later.from >= later.to);
            let end = later.from;
            later.ask();
            assert_eq!(later.from, end, "there is no more of it");
        }
    }
}
