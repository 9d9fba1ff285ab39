//! Large tables that are read here and there: in huge pages where the system has them.
//!
//! A table of some megabytes lies in thousands of ordinary pages, more than a core's TLB has room
//! for. Each read then looks the page up in memory first, in a virtual machine twice. Linux gives
//! pages of 2 MiB to those who ask before they touch the memory.
#![allow(unsafe_code)] // the only reason for this module

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Bytes of a huge page, and the least bytes for which one is asked for.
pub const HUGE_PAGE: usize = 2 << 20;
/// Bytes of an ordinary page. Where pages are larger, the system refuses the request.
const PAGE: usize = 4 << 10;
/// Least bytes for which pages are asked for. A smaller piece of memory most probably has its
/// pages, since it was written to before.
const MANY_PAGES: usize = 64 << 10;

/// Types for which all zero bytes are a value.
///
/// # Safety
/// Zeros in all bytes must be a value of the type, and it must not need to be dropped.
pub unsafe trait Zeroed: Copy {}

// SAFETY: any bytes are a number.
unsafe impl Zeroed for u64 {}
// SAFETY: as above.
unsafe impl Zeroed for u8 {}
// SAFETY: as above.
unsafe impl Zeroed for u32 {}

/// A slice of fixed length that begins as zeros.
pub struct HugeSlice<T: Zeroed> {
    start: NonNull<T>,
    len: usize,
    /// Owner of the memory, if this slice only borrows it.
    lender: Option<Arc<HugeSlice<u64>>>,
}

// SAFETY: it owns its memory, as a `Vec` does.
unsafe impl<T: Zeroed + Send> Send for HugeSlice<T> {}
// SAFETY: shared references give shared references to the elements only.
unsafe impl<T: Zeroed + Sync> Sync for HugeSlice<T> {}

impl<T: Zeroed> HugeSlice<T> {
    /// Allocates `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let Some(layout) = Self::layout(len) else {
            return Self::default();
        };
        Self::try_zeroed(len).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// Allocates `len` zeros; None where there is no such memory.
    pub(crate) fn try_zeroed(len: usize) -> Option<Self> {
        let layout = Layout::array::<T>(len).ok()?;
        let start = match layout.size() {
            0 => return Some(Self::default()),
            size if is_mapped(size) => map(size)?,
            // SAFETY: the size of the layout is not zero.
            _ => NonNull::new(unsafe { alloc_zeroed(layout) })?,
        };
        Some(Self {
            start: start.cast(),
            len,
            lender: None,
        })
    }

    /// Takes elements in memory that `lender` owns, from one of its bytes on; None where they do
    /// not fit or are not aligned.
    ///
    /// # Safety
    /// These bytes must be values of the type, as zeros are, that nobody else refers to, now or
    /// later.
    pub(crate) unsafe fn part_of(
        lender: &Arc<HugeSlice<u64>>,
        begin: usize,
        len: usize,
    ) -> Option<Self> {
        let end = begin.checked_add(Layout::array::<T>(len).ok()?.size())?;
        if end > size_of_val::<[u64]>(lender) {
            return None;
        }
        // SAFETY: not behind the end of the memory.
        let start = unsafe { lender.start().cast::<u8>().add(begin) }.cast();
        start.is_aligned().then(|| Self {
            start,
            len,
            lender: Some(Arc::clone(lender)),
        })
    }

    /// Where the elements begin, for somebody who lends parts of them.
    pub fn start(&self) -> NonNull<T> {
        self.start
    }

    /// None for no bytes at all.
    fn layout(len: usize) -> Option<Layout> {
        let layout = Layout::array::<T>(len).ok()?;
        (layout.size() > 0).then_some(layout)
    }
}

/// True if `bytes` have pages of their own. The system hands such pages out as zeros.
pub(crate) fn is_mapped(bytes: usize) -> bool {
    cfg!(target_os = "linux") && bytes >= HUGE_PAGE
}

/// Maps pages for `bytes`, aligned so that a huge page may begin at the first.
#[cfg(target_os = "linux")]
fn map(bytes: usize) -> Option<NonNull<u8>> {
    let whole = bytes.checked_next_multiple_of(HUGE_PAGE)?;
    let room = whole.checked_add(HUGE_PAGE)?;
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: new memory, wherever the system likes.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), room, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start: *mut u8 = start.cast();
    let before = start.align_offset(HUGE_PAGE);
    // SAFETY: all of it lies in what was mapped, begins and ends at pages, and nobody knows of what
    // is given back.
    let used = unsafe {
        let used = start.add(before);
        unmap(start, before);
        unmap(used.add(whole), room - before - whole);
        used
    };
    ask_for_huge_pages(used, bytes);
    NonNull::new(used)
}

/// Gives pages back.
///
/// # Safety
/// They must have been mapped here, and nothing may refer to them any more.
#[cfg(target_os = "linux")]
unsafe fn unmap(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: as above. It fails for what is not at a page only.
        let _ = unsafe { libc::munmap(start.cast(), bytes) };
    }
}

#[cfg(not(target_os = "linux"))]
fn map(_: usize) -> Option<NonNull<u8>> {
    None
}

#[cfg(not(target_os = "linux"))]
unsafe fn unmap(_: *mut u8, _: usize) {}

/// Asks for huge pages for what a vector has room for and was not written to. A hint.
pub(crate) fn prefer_huge_pages<T: Zeroed>(room: &mut Vec<T>) {
    // Memory that was written to has its pages already.
    if let Some((start, bytes)) = whole_pages(room.spare_capacity_mut(), HUGE_PAGE) {
        ask_for_huge_pages(start, bytes);
    }
}

/// The whole pages in which values lie, if there are any: where they begin, and their bytes. A page
/// shared with other allocations is left alone.
fn whole_pages<T>(values: &mut [T], page: usize) -> Option<(*mut u8, usize)> {
    let start = values.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(page);
    let whole = size_of_val(values).saturating_sub(before) / page * page;
    (whole > 0).then(|| (start.wrapping_add(before), whole))
}

/// Asks for all pages at once of room, such as a vector has to spare, that was not written to and
/// will be now. Each page that the system finds missing by itself interrupts whoever writes to it.
/// A hint.
pub(crate) fn prepare_pages<T>(room: &mut [T]) {
    if let Some((start, bytes)) = whole_pages(room, PAGE)
        && bytes >= MANY_PAGES
    {
        ask_for_pages(start, bytes);
    }
}

/// Since Linux 5.14; older ones refuse.
#[cfg(target_os = "linux")]
fn ask_for_pages(start: *mut u8, bytes: usize) {
    // SAFETY: the range is allocated, ours alone, and begins at a page; no contents change by it.
    let _ = unsafe { libc::madvise(start.cast(), bytes, libc::MADV_POPULATE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_pages(_: *mut u8, _: usize) {}

/// A hint: whether it is followed does not matter.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(start: *mut u8, bytes: usize) {
    // SAFETY: the range is allocated, ours alone, and begins at a page; the advice changes no
    // contents.
    let _ = unsafe { libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: *mut u8, _: usize) {}

impl<T: Zeroed> Default for HugeSlice<T> {
    fn default() -> Self {
        Self {
            start: NonNull::dangling(),
            len: 0,
            lender: None,
        }
    }
}

impl<T: Zeroed> Drop for HugeSlice<T> {
    fn drop(&mut self) {
        let Some(layout) = Self::layout(self.len).filter(|_| self.lender.is_none()) else {
            return;
        };
        let start = self.start.as_ptr().cast();
        if is_mapped(layout.size()) {
            // SAFETY: mapped with this length; the elements need not be dropped.
            unsafe { unmap(start, layout.size().next_multiple_of(HUGE_PAGE)) };
        } else {
            // SAFETY: allocated with this very layout; the elements need not be dropped.
            unsafe { dealloc(start, layout) };
        }
    }
}

impl<T: Zeroed> Deref for HugeSlice<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements are there, zeros at first, which are values of the type.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Zeroed> DerefMut for HugeSlice<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and this is the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Zeroed + std::fmt::Debug> std::fmt::Debug for HugeSlice<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("HugeSlice").field(&self.len).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_as_zeros_and_keeps_what_is_written() {
        for len in [0, 1, 1000, HUGE_PAGE / 8, HUGE_PAGE / 8 + 1, HUGE_PAGE] {
            let mut table = HugeSlice::<u64>::zeroed(len);
            assert_eq!(table.len(), len);
            assert!(table.iter().all(|&number| number == 0));
            for (number, place) in (1..).zip(table.iter_mut()) {
                *place = number;
            }
            assert!(
                table
                    .iter()
                    .zip(1..)
                    .all(|(&number, expected)| number == expected)
            );
        }
    }

    /// Asking for pages leaves a vector's contents as they are.
    #[test]
    fn prepared_pages_change_nothing() {
        for room in [0, 1, MANY_PAGES - 1, MANY_PAGES, 5 * MANY_PAGES + 3] {
            let mut bytes: Vec<u8> = Vec::with_capacity(room + 100);
            bytes.extend(0..100);
            prepare_pages(bytes.spare_capacity_mut());
            assert!(bytes.iter().copied().eq(0..100) && bytes.capacity() >= room + 100);
            let whole = bytes.len() + room;
            bytes.resize(whole, 7);
            prepare_pages(&mut bytes);
            assert!(bytes[..100].iter().copied().eq(0..100));
            assert!(bytes[100..].iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn a_part_lies_within_what_is_lent() {
        let lender = Arc::new(HugeSlice::<u64>::zeroed(10));
        // SAFETY: no two slices that exist at the same time have a byte in common.
        let part = |begin, len| unsafe { HugeSlice::<u32>::part_of(&lender, begin, len) };
        let mut last = part(72, 2).unwrap();
        last.fill(5);
        assert_eq!(*last, [5, 5]);
        assert!(part(0, 18).unwrap().iter().all(|&number| number == 0));
        assert!(part(72, 3).is_none() && part(80, 1).is_none());
        assert!(part(2, 1).is_none() && part(usize::MAX - 3, 1).is_none());
        assert!(part(0, usize::MAX / 4).is_none() && part(0, usize::MAX).is_none());
        drop(lender);
        assert_eq!(*last, [5, 5]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn large_ones_begin_at_a_huge_page() {
        for len in [HUGE_PAGE / 8, HUGE_PAGE / 8 + 1, HUGE_PAGE] {
            let table = HugeSlice::<u64>::zeroed(len);
            assert_eq!(table.as_ptr().addr() % HUGE_PAGE, 0);
        }
    }
}
