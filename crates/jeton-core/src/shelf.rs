//! Lists that stay as they were made, one behind the other in huge pages.
//!
//! What a loaded tokenizer knows is half a dozen lists of some hundred kilobytes, none of which fills a huge page by itself. In
//! ordinary pages each of a thousand is missed once while they are made, and looked up in memory again and again later.
#![allow(unsafe_code)] // parts of one allocation have owners of their own

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::huge::{HUGE_PAGE, Huge, Zeroed, is_mapped, prepare_pages};

/// Lists begin where a vector of the widest registers does.
const ALIGNMENT: usize = 64;
/// Far above the lists of any published vocabulary, and so little that it may be asked for whatever a file claims.
const MOST_BYTES: usize = 64 << 20;

/// Where lists are put, as long as there is room; then each has memory of its own.
pub(crate) struct Shelf {
    /// Nobody refers to all of it.
    room: Option<Arc<Huge<u64>>>,
    /// Bytes that lists have.
    used: usize,
}

impl Shelf {
    /// Room for lists of so many bytes at most; none for what does not fill a huge page. What stays empty costs nothing but
    /// the rest of a page.
    pub(crate) fn with_room(bytes: usize) -> Self {
        let whole = bytes.min(MOST_BYTES).next_multiple_of(HUGE_PAGE);
        Self {
            room: is_mapped(bytes).then(|| Arc::new(Huge::zeroed(whole / size_of::<u64>()))),
            used: 0,
        }
    }

    /// A list of so many zeros.
    pub(crate) fn zeroed<T: Zeroed + Default>(&mut self, len: usize) -> Shelved<T> {
        let part = self.part(len);
        let own = part.as_ref().map_or(len, |_| 0);
        let mut list = Shelved {
            part,
            own: vec![T::default(); own],
        };
        prepare_pages(&mut list);
        list
    }

    /// So many zeros, if there is room for them.
    pub(crate) fn part<T: Zeroed>(&mut self, len: usize) -> Option<Huge<T>> {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let begin = self.used;
        let end = len.checked_mul(size_of::<T>())?.checked_add(begin)?;
        // SAFETY: zeros at first, and what lies behind all that was lent before; whatever is lent later lies behind it.
        let part = unsafe { Huge::part_of(self.room.as_ref()?, begin, len)? };
        self.used = end.next_multiple_of(ALIGNMENT);
        Some(part)
    }

    /// Whether so many bytes more lie in a huge page of which some are used already.
    pub(crate) fn has_begun(&self, bytes: usize) -> bool {
        let used = self.used % HUGE_PAGE;
        used > 0 && used + bytes <= HUGE_PAGE
    }
}

/// A list on a shelf, which lasts as long as any of its lists, or one of its own.
pub(crate) struct Shelved<T: Zeroed> {
    part: Option<Huge<T>>,
    /// Empty as long as there is a part.
    own: Vec<T>,
}

impl<T: Zeroed> Shelved<T> {
    /// The list as one that can grow: its own from now on.
    #[inline]
    pub(crate) fn to_mut(&mut self) -> &mut Vec<T> {
        if let Some(part) = self.part.take() {
            self.own = part.to_vec();
        }
        &mut self.own
    }
}

impl<T: Zeroed> Deref for Shelved<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.part {
            Some(part) => part,
            None => &self.own,
        }
    }
}

impl<T: Zeroed> DerefMut for Shelved<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.part {
            Some(part) => part,
            None => &mut self.own,
        }
    }
}

impl<T: Zeroed> Default for Shelved<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Zeroed> From<Vec<T>> for Shelved<T> {
    fn from(own: Vec<T>) -> Self {
        Self { part: None, own }
    }
}

/// A copy has memory of its own.
impl<T: Zeroed> Clone for Shelved<T> {
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}

impl<T: Zeroed + PartialEq> PartialEq for Shelved<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Zeroed + Eq> Eq for Shelved<T> {}

impl<T: Zeroed + fmt::Debug> fmt::Debug for Shelved<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lists of so many numbers, each filled with what tells it from the others.
    fn fill(shelf: &mut Shelf, lengths: &[usize]) -> Vec<Shelved<u32>> {
        let number = |list: usize, place: usize| (list * 1_000_003 + place) as u32;
        let mut lists: Vec<Shelved<u32>> = lengths.iter().map(|&n| shelf.zeroed(n)).collect();
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
        let mut shelf = Shelf::with_room(HUGE_PAGE);
        let lists = fill(&mut shelf, &[1000, 0, 3, HUGE_PAGE / 8, HUGE_PAGE]);
        let on_shelf: Vec<bool> = lists.iter().map(|list| list.part.is_some()).collect();
        let expected = is_mapped(HUGE_PAGE);
        assert_eq!(on_shelf, [expected, expected, expected, expected, false]);
        assert!(lists.iter().all(|list| list.as_ptr().addr() % 4 == 0));
        // What is left of a shelf lasts as long as a list of it.
        let last = lists.into_iter().nth(2).unwrap();
        drop(shelf);
        assert_eq!(*last, [2_000_006, 2_000_007, 2_000_008]);
    }

    #[test]
    fn little_has_no_shelf_and_absurd_sizes_are_no_reason_to_ask_for_memory() {
        assert!(Shelf::with_room(HUGE_PAGE - 1).room.is_none());
        let mut shelf = Shelf::with_room(usize::MAX);
        let room = shelf.room.as_ref().map_or(0, |room| room.len() * 8);
        assert!(room <= MOST_BYTES);
        assert!(shelf.part::<u64>(usize::MAX).is_none());
        assert!(shelf.part::<u64>(usize::MAX / 8).is_none());
    }

    #[test]
    fn what_grows_has_its_own() {
        let mut shelf = Shelf::with_room(HUGE_PAGE);
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
            fill(&mut Shelf::with_room(room), &lengths);
        }
    }
}
