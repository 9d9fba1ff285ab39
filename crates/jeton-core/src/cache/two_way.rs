//! A cache of short pretokens and their ids, in sets of two.
//!
//! Each thread that encodes borrows a cache of its own, so that none waits for another; what they
//! have together never exceeds the tokenizer's budget ([`crate::cache::budget`]).

use std::sync::Arc;

use crate::cache::budget::{CacheBudget, MAX_BYTES, Share};
use crate::cache::key::{Hashed, Key};
use crate::cache::tables::MIN_BYTES;
use crate::cpu::prefetch::prefetch;
use crate::memory::huge_pages::{HugeSlice, Zeroed};

/// Pretokens up to 15 bytes with up to three ids, or seven small ones
/// ([`crate::cache::inline_ids`]), nearly all of most texts: two to a cache line.
pub(crate) type FewIdsTier = TwoWayCache<1, 4>;
/// Pretokens up to 15 bytes with up to eleven ids, in a cache line each: scripts that the
/// vocabulary knows little of.
pub(crate) type ManyIdsTier = TwoWayCache<1, 12>;
/// Pretokens of 16 to 31 bytes with up to seven ids, in a cache line each: scripts of longer
/// characters that have spaces.
pub(crate) type MediumTier = TwoWayCache<2, 8>;

/// Displaced pretokens for sixteen sets at which a cache grows. It grows early, because a lost
/// pretoken is merged again. The last step comes late: few texts need its memory. Half and twice as
/// many do the same (docs/log/2026-11-28-tuning-constants.md).
const EARLY_DISPLACED: usize = 2;
const LATE_DISPLACED: usize = 4;
/// Displaced pretokens for sixteen sets at which a large cache grows if its entries take a line
/// each. Pretokens of many ids or bytes seldom fill it. Zeroing four times as many sets takes as
/// long as some thousand pretokens (docs/log/engine-2026-11.md).
const LARGE_DISPLACED: usize = 6;
const LARGE_BYTES: usize = 1 << 20;

/// Detours for each set at which a cache grows: reading their lines has then taken about as long as
/// filling the new sets (docs/log/2026-11-28-engine-on-intel.md).
const DETOURS_PER_SET: usize = 2;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Entry<const W: usize, const P: usize> {
    pub(crate) key: Key<W>,
    pub(crate) payload: Payload<P>,
}

/// Room for ids, and in the last number how many of it they take: together they are copied at once.
pub(crate) type Payload<const P: usize> = [u32; P];

/// Ids and how many there are; none where that is too many.
pub(crate) fn payload_of<const P: usize>(ids: &[u32]) -> Option<Payload<P>> {
    let mut payload = [0; P];
    let (n_ids, room) = payload.split_last_mut()?;
    room.get_mut(..ids.len())?.copy_from_slice(ids);
    *n_ids = ids.len() as u32;
    Some(payload)
}

#[allow(unsafe_code)] // says what zeros are
// SAFETY: numbers only, and all zeros is the empty entry.
unsafe impl<const W: usize, const P: usize> Zeroed for Set<W, P> {}

/// Two entries. A set for short pretokens fills one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Set<const W: usize, const P: usize>([Entry<W, P>; 2]);

impl<const W: usize, const P: usize> Entry<W, P> {
    fn is_empty(&self) -> bool {
        self.key == Key::EMPTY
    }
}

impl<const W: usize, const P: usize> Set<W, P> {
    /// The second entry is filled last.
    #[inline(always)]
    fn is_full(&self) -> bool {
        let [_, second] = &self.0;
        !second.is_empty()
    }

    /// Where an entry may be put.
    fn free(&mut self) -> Option<&mut Entry<W, P>> {
        self.0.iter_mut().find(|entry| entry.is_empty())
    }

    /// Without a branch: which of the two it is cannot be predicted.
    #[inline(always)]
    fn find(&self, key: Key<W>) -> Option<&Payload<P>> {
        let [first, second] = &self.0;
        // Not by vectors: a key that has just been made is in registers.
        let [is_first, is_second] = [first, second].map(|entry| entry.key.differs(key) == 0);
        let entry = &self.0[usize::from(is_second)];
        (is_first | is_second).then_some(&entry.payload)
    }

    /// Finds a pretoken in half the instructions. Misses a pretoken in the second entry if the
    /// pretoken in the first begins alike.
    #[inline(always)]
    fn find_fast(&self, key: Key<W>) -> Option<&Payload<P>> {
        let entry = self.entry_fast(key);
        (entry.key == key).then_some(&entry.payload)
    }

    #[inline(always)]
    fn entry_fast(&self, key: Key<W>) -> &Entry<W, P> {
        let [_, second] = &self.0;
        let is_second = second.key.beginning() == key.beginning();
        &self.0[usize::from(is_second)]
    }
}

/// A cache of pretokens. Each pretoken has a set of two entries. If that set is full, the
/// neighbouring set in the same pair of cache lines takes it as a guest. An entry with key 0 is
/// empty: a pretoken has at least one byte, so no key is 0.
#[derive(Debug, Default)]
pub(crate) struct TwoWayCache<const W: usize, const P: usize> {
    /// A power of two of them; none until the first pretoken is kept, so that a tokenizer that is
    /// only loaded costs nothing.
    sets: HugeSlice<Set<W, P>>,
    /// Pretokens that became guests, were lost or were not kept since the cache last grew.
    displaced: usize,
    /// Detours since the cache last grew, see [`Self::note_detours`].
    n_detours: usize,
    share: Share,
}

impl<const W: usize, const P: usize> TwoWayCache<W, P> {
    /// Most ids of a pretoken.
    pub(crate) const MAX_IDS: usize = P - 1;

    const SET_BYTES: usize = size_of::<Set<W, P>>();
    const MIN_SETS: usize = MIN_BYTES / Self::SET_BYTES;
    const MAX_SETS: usize = MAX_BYTES / Self::SET_BYTES;
    /// From this size the cache grows once more only, by two.
    const MANY_SETS: usize = Self::MAX_SETS / 2;

    /// Must be said before the first pretoken is kept.
    pub(crate) fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.share.set_budget(budget);
    }

    /// Gives the memory back if the budget has been made less than what is used.
    pub(crate) fn shrink_to_budget(&mut self) {
        if self.share.is_exceeded() {
            self.clear();
        }
    }

    /// Forgets all and gives the memory back.
    pub(crate) fn clear(&mut self) {
        let bytes = self.sets.len() * Self::SET_BYTES;
        self.sets = HugeSlice::default();
        (self.displaced, self.n_detours) = (0, 0);
        self.share.give_back(bytes);
    }
}

impl<const W: usize, const P: usize> Drop for TwoWayCache<W, P> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<const W: usize, const P: usize> TwoWayCache<W, P>
where
    Key<W>: Hashed,
{
    /// Where pretokens would be.
    #[inline(always)]
    pub(crate) fn places(&self) -> Places<'_, W, P> {
        Places { sets: &self.sets }
    }

    /// Returns the payload of a pretoken, wherever it is.
    #[inline]
    pub(crate) fn get(&self, key: Key<W>) -> Option<&Payload<P>> {
        let (places, place) = (self.places(), key.hash());
        places
            .find(key, place)
            .or_else(|| places.find_beside(key, place))
    }

    /// Keeps the ids of a pretoken. Where there is no room it takes the place of another one.
    pub(crate) fn put(&mut self, key: Key<W>, payload: Payload<P>) {
        if self.make_room() {
            self.displaced += insert(&mut self.sets, Entry { key, payload });
        }
    }

    /// Keeps a pretoken if there is room. Returns false if the cache has `MANY_SETS` and both sets
    /// are full: the pretoken that it pushes out would come again in the next pass.
    pub(crate) fn put_in_room(&mut self, key: Key<W>, payload: Payload<P>) -> bool {
        if !self.make_room() {
            return false;
        }
        let entry = Entry { key, payload };
        let placed = insert_in_room(&mut self.sets, entry);
        self.displaced += placed.unwrap_or(1);
        if placed.is_none() && self.sets.len() != Self::MANY_SETS {
            push_out(&mut self.sets, entry);
            return true;
        }
        placed.is_some()
    }

    /// Notes that `n` pretokens were found outside their own set. A text that comes again makes the
    /// cache grow by these detours, a new text by `displaced`. Returns true if the cache has now
    /// become as large as it may be.
    pub(crate) fn note_detours(&mut self, n: usize) -> bool {
        self.n_detours += n;
        let n_sets = self.sets.len();
        let is_worth = n_sets > 0 && self.n_detours >= n_sets * DETOURS_PER_SET;
        if !is_worth || n_sets >= Self::MAX_SETS {
            return false;
        }
        self.grow();
        self.sets.len() == Self::MAX_SETS
    }

    /// Entries, in no particular order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry<W, P>> {
        let entries = self.sets.iter().flat_map(|Set(entries)| entries);
        entries.filter(|entry| !entry.is_empty())
    }

    /// Displaced pretokens at which a cache of `n_sets` grows.
    fn most_displaced(n_sets: usize) -> usize {
        let takes_lines = size_of::<Entry<W, P>>() == LINE_BYTES;
        let of_16 = if n_sets >= Self::MANY_SETS {
            LATE_DISPLACED
        } else if takes_lines && n_sets * Self::SET_BYTES >= LARGE_BYTES {
            LARGE_DISPLACED
        } else {
            EARLY_DISPLACED
        };
        n_sets * of_16 / 16
    }

    /// True if there is a cache; grows before that, if it is time to.
    fn make_room(&mut self) -> bool {
        let n_sets = self.sets.len();
        if self.displaced >= Self::most_displaced(n_sets) && n_sets < Self::MAX_SETS {
            self.grow();
        }
        if self.sets.is_empty() {
            // As often as a small cache would ask for more, this one asks whether it may begin.
            self.displaced = (self.displaced + 1) % Self::MIN_SETS;
            return false;
        }
        true
    }

    /// Four times the sets, with what is known moved over, if the budget allows it.
    #[cold]
    fn grow(&mut self) {
        if self.sets.is_empty() && self.displaced > 0 {
            return;
        }
        (self.displaced, self.n_detours) = (0, 0);
        let n_sets = (self.sets.len() * 4).clamp(Self::MIN_SETS, Self::MAX_SETS);
        // The old sets are there until their pretokens have moved.
        let old_bytes = self.sets.len() * Self::SET_BYTES;
        if !self.share.exchange(old_bytes, n_sets * Self::SET_BYTES) {
            return;
        }
        let known = std::mem::replace(&mut self.sets, self.share.zeroed(n_sets));
        for &entry in known
            .iter()
            .flat_map(|Set(entries)| entries)
            .filter(|entry| !entry.is_empty())
        {
            insert(&mut self.sets, entry);
        }
    }
}

/// The sets of a cache, to find the places of many pretokens in.
pub(crate) struct Places<'a, const W: usize, const P: usize> {
    sets: &'a [Set<W, P>],
}

impl<'a, const W: usize, const P: usize> Places<'a, W, P>
where
    Key<W>: Hashed,
{
    /// Returns the hash that tells the set of a pretoken, and prefetches the set.
    #[inline(always)]
    pub(crate) fn fetch(&self, key: Key<W>) -> usize {
        let place = key.hash();
        self.fetch_at(place);
        place
    }

    /// Asks for the set of such a place.
    #[inline(always)]
    pub(crate) fn fetch_at(&self, place: usize) {
        if let Some(Set([first, second])) = self.sets.get(place & self.sets.len().wrapping_sub(1)) {
            prefetch(first);
            if size_of::<Set<W, P>>() > LINE_BYTES {
                prefetch(second);
            }
        }
    }

    /// Prefetches the neighbouring set if it may have guests.
    #[inline(always)]
    pub(crate) fn fetch_beside(&self, place: usize) {
        let home = self.sets.get(place & self.sets.len().wrapping_sub(1));
        if home.is_some_and(Set::is_full) {
            self.fetch_at(place ^ 1);
        }
    }

    /// Finds a pretoken in its own set: nearly always it is there, if it is anywhere. `place`: the
    /// result of [`Self::fetch`].
    #[inline(always)]
    pub(crate) fn find(&self, key: Key<W>, place: usize) -> Option<&'a Payload<P>> {
        self.sets
            .get(place & self.sets.len().wrapping_sub(1))?
            .find(key)
    }

    /// Finds a pretoken in its own set, but for a few pretokens that it misses.
    #[inline(always)]
    pub(crate) fn find_fast(&self, key: Key<W>, place: usize) -> Option<&'a Payload<P>> {
        self.sets
            .get(place & self.sets.len().wrapping_sub(1))?
            .find_fast(key)
    }

    /// The entry that [`Self::find_fast`] looks at.
    #[inline(always)]
    pub(crate) fn entry_fast(&self, key: Key<W>, place: usize) -> Option<&'a Entry<W, P>> {
        let set = self.sets.get(place & self.sets.len().wrapping_sub(1))?;
        Some(set.entry_fast(key))
    }

    /// Finds a pretoken in the set beside its own. Only full sets have overflow there, and they
    /// remain full. So for most unknown pretokens no line is read that nobody prefetched: such
    /// reads took a tenth of first passes.
    #[inline]
    pub(crate) fn find_beside(&self, key: Key<W>, place: usize) -> Option<&'a Payload<P>> {
        let home = self.sets.get(place & self.sets.len().wrapping_sub(1))?;
        if home.is_full() {
            self.find(key, place ^ 1)
        } else {
            None
        }
    }
}

/// Puts an entry into its set, of a power of two of them, or as a guest into the set beside it.
/// Where both are full, it takes the place of the one in its set that came first. Says how many (0
/// or 1) are not where they belong or are lost.
fn insert<const W: usize, const P: usize>(sets: &mut [Set<W, P>], entry: Entry<W, P>) -> usize
where
    Key<W>: Hashed,
{
    insert_in_room(sets, entry).unwrap_or_else(|| {
        push_out(sets, entry);
        1
    })
}

/// Puts it there unless both are full; how many (0 or 1) are not where they belong.
fn insert_in_room<const W: usize, const P: usize>(
    sets: &mut [Set<W, P>],
    entry: Entry<W, P>,
) -> Option<usize>
where
    Key<W>: Hashed,
{
    let home = entry.key.hash() & sets.len().wrapping_sub(1);
    for (guest, at) in [(0, home), (1, home ^ 1)] {
        let free = sets.get_mut(at).and_then(Set::free);
        if let Some(free) = free {
            *free = entry;
            return Some(guest);
        }
    }
    None
}

/// Puts it in the place of the one in its set that came first.
fn push_out<const W: usize, const P: usize>(sets: &mut [Set<W, P>], entry: Entry<W, P>)
where
    Key<W>: Hashed,
{
    let home = entry.key.hash() & sets.len().wrapping_sub(1);
    if let Some(Set([first, second])) = sets.get_mut(home) {
        *first = std::mem::replace(second, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_cache_forgets_but_never_lies(pretokens in prop::collection::vec(any::<u16>(), 0..2000)) {
            let mut cache = FewIdsTier::default();
            for pretoken in pretokens {
                let bytes = pretoken.to_le_bytes();
                let key = Key::<1>::new(&bytes, 0, 2).unwrap();
                let expected = [u32::from(pretoken), 0, 0, 1];
                if let Some(payload) = cache.get(key) {
                    prop_assert_eq!(payload, &expected);
                }
                cache.put(key, expected);
                prop_assert_eq!(cache.get(key), Some(&expected));
            }
        }

        #[test]
        fn caches_stay_within_their_budget(
            limit in 0usize..40,
            pretokens in prop::collection::vec((0usize..4, any::<u16>()), 0..3000),
        ) {
            let budget = Arc::new(CacheBudget::default());
            let limit = limit * (FewIdsTier::MIN_SETS * FewIdsTier::SET_BYTES / 4);
            budget.set_limit(limit);
            let mut caches: Vec<FewIdsTier> = (0..4).map(|_| FewIdsTier::default()).collect();
            for cache in &mut caches {
                cache.set_budget(&budget);
            }
            for (index, pretoken) in pretokens {
                let bytes = pretoken.to_le_bytes();
                let key = Key::<1>::new(&bytes, 0, 2).unwrap();
                if let Some(payload) = caches[index].get(key) {
                    prop_assert_eq!(payload, &[u32::from(pretoken), 0, 0, 1]);
                }
                caches[index].put(key, payload_of(&[u32::from(pretoken)]).unwrap());
                let there: usize = caches.iter().map(|cache| cache.sets.len() * FewIdsTier::SET_BYTES).sum();
                prop_assert_eq!(budget.used(), there);
                prop_assert!(there <= limit);
            }
            drop(caches);
            prop_assert_eq!(budget.used(), 0);
        }
    }

    /// Puts this many pretokens that are all different.
    fn fill(cache: &mut FewIdsTier, n_words: u32) {
        for pretoken in 0..n_words {
            let bytes = pretoken.to_le_bytes();
            cache.put(
                Key::<1>::new(&bytes, 0, 4).unwrap(),
                payload_of(&[pretoken]).unwrap(),
            );
        }
    }

    fn with_budget(budget: &Arc<CacheBudget>) -> FewIdsTier {
        let mut cache = FewIdsTier::default();
        cache.set_budget(budget);
        cache
    }

    #[test]
    fn entries_lie_within_cache_lines() {
        assert_eq!(FewIdsTier::SET_BYTES, 64);
        assert_eq!(ManyIdsTier::SET_BYTES, 128);
    }

    #[test]
    fn a_cache_without_budget_keeps_nothing_and_begins_when_it_may() {
        let budget = Arc::new(CacheBudget::default());
        budget.set_limit(0);
        let mut cache = with_budget(&budget);
        fill(&mut cache, 5_000);
        assert_eq!(cache.sets.len(), 0);
        budget.set_limit(1 << 30);
        fill(&mut cache, 5_000);
        assert!(cache.sets.len() > FewIdsTier::MIN_SETS);
    }

    #[test]
    fn a_large_cache_keeps_what_it_has_and_says_what_it_does_not_keep() {
        let mut cache = with_budget(&Arc::new(CacheBudget::default()));
        let key = |pretoken: u32| Key::<1>::new(&pretoken.to_le_bytes(), 0, 4).unwrap();
        let mut kept = Vec::new();
        let mut n_not_kept = 0;
        for pretoken in 0.. {
            let was_kept = cache.put_in_room(key(pretoken), payload_of(&[pretoken]).unwrap());
            assert_eq!(cache.get(key(pretoken)).is_some(), was_kept);
            match cache.sets.len() {
                FewIdsTier::MAX_SETS => break,
                FewIdsTier::MANY_SETS if was_kept => kept.push(pretoken),
                n_sets => {
                    n_not_kept += u32::from(!was_kept);
                    assert!(was_kept || n_sets == FewIdsTier::MANY_SETS);
                }
            }
        }
        // All of them have moved, too.
        assert!(kept.len() > FewIdsTier::MANY_SETS && n_not_kept > 0);
        assert!(
            kept.iter()
                .all(|&pretoken| cache.get(key(pretoken)) == Some(&[pretoken, 0, 0, 1]))
        );
    }

    #[test]
    fn less_budget_takes_effect_when_a_cache_is_laid_aside() {
        let budget = Arc::new(CacheBudget::default());
        let mut cache = with_budget(&budget);
        fill(&mut cache, 100_000);
        cache.shrink_to_budget();
        let used = budget.used();
        assert!(used > 1 << 20);
        budget.set_limit(used - 1);
        cache.shrink_to_budget();
        assert_eq!((budget.used(), cache.sets.len()), (0, 0));
    }
}
