//! Asking for memory before it is needed.
#![allow(unsafe_code)] // the only reason for this module

/// Brings the cache line of a value near, where the machine has an instruction for it.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint that changes nothing, whatever the address; this one is even valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// How far ahead of where text is read it is asked for: text is read in bursts of some blocks, between which all is done for
/// their pretokens, and hardware that sees but a few reads in a row does not ask for enough.
pub(crate) const TEXT_AHEAD: usize = 1 << 10;

const CACHE_LINE: usize = 64;

/// Asks for what a text begins with: nobody has, by reading what comes [`TEXT_AHEAD`] before it.
#[inline]
pub(crate) fn prefetch_beginning(text: &[u8]) {
    let beginning = &text[..text.len().min(TEXT_AHEAD)];
    let lines = beginning.chunks(CACHE_LINE).filter_map(<[u8]>::first);
    lines.for_each(prefetch);
}
