//! Lists that stay as they were made, one behind the other in huge pages.
//!
//! Lists of a loaded tokenizer share huge pages here. Half a dozen lists of some hundred kilobytes
//! fill no huge page by themselves. In ordinary pages each of a thousand pages would fault once,
//! and miss the TLB again and again later.
#![allow(unsafe_code)] // parts of one allocation have owners of their own

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use crate::memory::huge_pages::{HUGE_PAGE, HugeSlice, Zeroed, is_mapped, prepare_pages};
use crate::memory::plain_numbers::Number;

/// Lists begin where a vector of the widest registers does.
const ALIGNMENT: usize = 64;
/// Far above the lists of any published vocabulary, and so little that it may be asked for whatever
/// a file claims.
const MAX_BYTES: usize = 64 << 20;

/// Where lists are put, as long as there is room; then each has memory of its own.
pub(crate) struct HugeArena {
    /// Nobody refers to all of it, but before the first list.
    room: Option<Arc<HugeSlice<u64>>>,
    /// Bytes of what was written before the first list, and of lists behind it.
    used: usize,
    /// Bytes of what was written that no list has yet.
    written: Range<usize>,
}

impl HugeArena {
    /// Makes room for lists of at most `bytes`; none for less than a huge page. Room that stays
    /// empty costs only the rest of a page.
    pub(crate) fn with_room(bytes: usize) -> Self {
        let whole = bytes.min(MAX_BYTES).next_multiple_of(HUGE_PAGE);
        Self {
            room: is_mapped(bytes).then(|| Arc::new(HugeSlice::zeroed(whole / size_of::<u64>()))),
            used: 0,
            written: 0..0,
        }
    }

    /// Returns an arena that begins with `n_words` words of lists from a file, which `write`
    /// writes. It has room for `bytes` bytes of lists in all. None if the memory cannot be had.
    pub(crate) fn begun_with<T>(
        n_words: usize,
        bytes: usize,
        write: impl FnOnce(&mut [u64]) -> T,
    ) -> Option<(Self, T)> {
        let n_bytes = n_words.checked_mul(size_of::<u64>())?;
        let room = Self::with_room(bytes.max(n_bytes)).room;
        let mut room = match room.filter(|room| room.len() >= n_words) {
            Some(room) => room,
            None => Arc::new(HugeSlice::try_zeroed(n_words)?),
        };
        let result = write(Arc::get_mut(&mut room)?.get_mut(..n_words)?);
        let shelf = Self {
            room: Some(room),
            used: n_bytes.next_multiple_of(ALIGNMENT),
            written: 0..n_bytes,
        };
        Some((shelf, result))
    }

    /// The next list of what was written; none where that ends before.
    pub(crate) fn next_written<T: Number>(&mut self, len: usize) -> Option<ArenaVec<T>> {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let Range { start, end } = self.written;
        let list_end = len.checked_mul(size_of::<T>())?.checked_add(start)?;
        if list_end > end {
            return None;
        }
        // SAFETY: any bytes are numbers. They were written by the owner of all the room before
        // anything was lent; every list lent since or later lies before or behind them.
        let part = unsafe { HugeSlice::part_of(self.room.as_ref()?, start, len)? };
        self.written.start = list_end.next_multiple_of(ALIGNMENT).min(end);
        Some(ArenaVec {
            part: Some(part),
            own: Vec::new(),
        })
    }

    /// True if lists have all that was written.
    pub(crate) fn is_read(&self) -> bool {
        self.written.is_empty()
    }

    /// Returns a list of `len` zeros.
    pub(crate) fn zeroed<T: Zeroed + Default>(&mut self, len: usize) -> ArenaVec<T> {
        let part = self.part(len);
        let own = part.as_ref().map_or(len, |_| 0);
        let mut list = ArenaVec {
            part,
            own: vec![T::default(); own],
        };
        prepare_pages(&mut list);
        list
    }

    /// Takes `len` zeros, if there is room for them.
    pub(crate) fn part<T: Zeroed>(&mut self, len: usize) -> Option<HugeSlice<T>> {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let begin = self.used;
        let end = len.checked_mul(size_of::<T>())?.checked_add(begin)?;
        // SAFETY: zeros at first, and what lies behind all that was lent before; whatever is lent
        // later lies behind it.
        let part = unsafe { HugeSlice::part_of(self.room.as_ref()?, begin, len)? };
        self.used = end.next_multiple_of(ALIGNMENT);
        Some(part)
    }

    /// True if `bytes` more lie in a huge page that is in use already.
    pub(crate) fn has_begun(&self, bytes: usize) -> bool {
        let used = self.used % HUGE_PAGE;
        used > 0 && used + bytes <= HUGE_PAGE
    }
}

/// A list on a shelf, which lasts as long as any of its lists, or one of its own.
pub(crate) struct ArenaVec<T: Zeroed> {
    part: Option<HugeSlice<T>>,
    /// Empty as long as there is a part.
    own: Vec<T>,
}

impl<T: Zeroed> ArenaVec<T> {
    /// The list as one that can grow: its own from now on.
    #[inline]
    pub(crate) fn to_mut(&mut self) -> &mut Vec<T> {
        if let Some(part) = self.part.take() {
            self.own = part.to_vec();
        }
        &mut self.own
    }
}

impl<T: Zeroed> Deref for ArenaVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.part {
            Some(part) => part,
            None => &self.own,
        }
    }
}

impl<T: Zeroed> DerefMut for ArenaVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.part {
            Some(part) => part,
            None => &mut self.own,
        }
    }
}

impl<T: Zeroed> Default for ArenaVec<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Zeroed> From<Vec<T>> for ArenaVec<T> {
    fn from(own: Vec<T>) -> Self {
        Self { part: None, own }
    }
}

/// A copy has memory of its own.
impl<T: Zeroed> Clone for ArenaVec<T> {
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}

impl<T: Zeroed + PartialEq> PartialEq for ArenaVec<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Zeroed + Eq> Eq for ArenaVec<T> {}

impl<T: Zeroed + fmt::Debug> fmt::Debug for ArenaVec<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lists of the given lengths, each filled with a number of its own.
    fn fill(shelf: &mut HugeArena, lengths: &[usize]) -> Vec<ArenaVec<u32>> {
        let number = |list: usize, place: usize| (list * 1_000_003 + place) as u32;
        let mut lists: Vec<ArenaVec<u32>> = lengths.iter().map(|&n| shelf.zeroed(n)).collect();
        for (index, (list, &len)) in lists.iter_mut().zip(lengths).enumerate() {
            assert_eq!(list.len(), len);
            assert!(list.iter().all(|&value| value == 0));
            for (place, value) in list.iter_mut().enumerate() {
                *value = number(index, place);
            }
        }
        for (index, list) in lists.iter().enumerate() {
            let mut places = list.iter().enumerate();
            assert!(places.all(|(place, &value)| value == number(index, place)));
        }
        lists
    }

    #[test]
    fn lists_lie_one_behind_the_other_while_there_is_room() {
        let mut shelf = HugeArena::with_room(HUGE_PAGE);
        let lists = fill(&mut shelf, &[1000, 0, 3, HUGE_PAGE / 8, HUGE_PAGE]);
        let on_shelf: Vec<bool> = lists.iter().map(|list| list.part.is_some()).collect();
        let expected = is_mapped(HUGE_PAGE);
        assert_eq!(on_shelf, [expected, expected, expected, expected, false]);
        assert!(lists.iter().all(|list| list.as_ptr().addr() % 4 == 0));
        // A shelf lasts as long as one of its lists.
        let last = lists.into_iter().nth(2).unwrap();
        drop(shelf);
        assert_eq!(*last, [2_000_006, 2_000_007, 2_000_008]);
    }

    #[test]
    fn little_has_no_shelf_and_absurd_sizes_are_no_reason_to_ask_for_memory() {
        assert!(HugeArena::with_room(HUGE_PAGE - 1).room.is_none());
        let mut shelf = HugeArena::with_room(usize::MAX);
        let room = shelf.room.as_ref().map_or(0, |room| room.len() * 8);
        assert!(room <= MAX_BYTES);
        assert!(shelf.part::<u64>(usize::MAX).is_none());
        assert!(shelf.part::<u64>(usize::MAX / 8).is_none());
    }

    #[test]
    fn what_was_written_comes_first_and_zeros_behind_it() {
        for (n_words, room) in [(40, 0), (40, HUGE_PAGE), (HUGE_PAGE / 4, 0), (0, 0)] {
            let write = |words: &mut [u64]| {
                assert_eq!(words.len(), n_words);
                words.fill(u64::MAX);
                7
            };
            let (mut shelf, result) = HugeArena::begun_with(n_words, room, write).unwrap();
            assert_eq!(result, 7);
            assert_eq!(shelf.is_read(), n_words == 0);
            let mut zeros = shelf.zeroed::<u64>(100);
            assert!(zeros.iter().all(|&value| value == 0));
            zeros.fill(1);
            if n_words == 0 {
                assert!(shelf.next_written::<u8>(1).is_none());
                continue;
            }
            let mut first = shelf.next_written::<u8>(65).unwrap();
            assert!(first.iter().all(|&value| value == u8::MAX));
            first.fill(2);
            // It begins behind the next whole vector; and more than there is is none.
            let left = n_words - 16;
            assert!(shelf.next_written::<u64>(left + 1).is_none());
            assert!(shelf.next_written::<u64>(usize::MAX).is_none());
            let second = shelf.next_written::<u64>(left).unwrap();
            assert!(second.iter().all(|&value| value == u64::MAX));
            assert!(shelf.is_read());
            assert_eq!((first[64], zeros[99]), (2, 1));
        }
    }

    #[test]
    fn more_than_there_can_be_is_not_begun() {
        for n_words in [usize::MAX, usize::MAX / 8, 1 << 55] {
            assert!(HugeArena::begun_with(n_words, 0, |_| ()).is_none());
        }
    }

    #[test]
    fn what_grows_has_its_own() {
        let mut shelf = HugeArena::with_room(HUGE_PAGE);
        let mut list = shelf.zeroed::<u8>(5);
        list.to_mut().extend([1, 2]);
        assert!(list.part.is_none());
        assert_eq!(*list, [0, 0, 0, 0, 0, 1, 2]);
        let (copy, mut other) = (list.clone(), shelf.zeroed::<u8>(7));
        other.fill(9);
        assert_eq!(copy, list);
        assert_ne!(copy, other);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn no_list_writes_to_another(
            room in 0..2 * HUGE_PAGE,
            lengths in prop::collection::vec(0usize..200_000, 0..8),
        ) {
            fill(&mut HugeArena::with_room(room), &lengths);
        }
    }
}
