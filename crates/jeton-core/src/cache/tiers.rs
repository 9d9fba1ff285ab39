//! Cached pretokens of a thread: four caches, by length and number of ids.
//!
//! `many_ids` also has the few pretokens with few ids that found no room in `few_ids`.

use std::sync::Arc;

use crate::cache::budget::CacheBudget;
use crate::cache::inline_ids::{self, IDS_PER_ENTRY};
use crate::cache::key::{Key, Role};
use crate::cache::records::Records;
use crate::cache::two_way::{FewIdsTier, ManyIdsTier, MediumTier, Payload, payload_of};

/// Ids of an entry for a short pretoken, and for a short one that has more.
pub(crate) const FEW_IDS: usize = FewIdsTier::MAX_IDS;
pub(crate) const MANY_IDS: usize = ManyIdsTier::MAX_IDS;
/// Ids of an entry for a longer pretoken.
pub(crate) const MEDIUM_IDS: usize = MediumTier::MAX_IDS;

/// Caches of pretokens.
#[derive(Debug, Default)]
pub(crate) struct PretokenCache {
    pub(crate) few_ids: FewIdsTier,
    pub(crate) many_ids: ManyIdsTier,
    pub(crate) medium: MediumTier,
    pub(crate) records: Records,
    /// True if entries for short pretokens have ids of two bytes each: see [`entry_ids`].
    small_ids: bool,
    /// The ids of such an entry.
    unpacked: [u32; IDS_PER_ENTRY],
    /// True if a short pretoken had too many ids for `many_ids`.
    are_crowded: bool,
}

impl PretokenCache {
    /// The budget that they share. Must be said before the first pretoken is kept.
    pub(crate) fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.few_ids.set_budget(budget);
        self.many_ids.set_budget(budget);
        self.medium.set_budget(budget);
        self.records.set_budget(budget);
    }

    /// Has entries for short pretokens keep ids of two bytes each, or of four. A change forgets all
    /// entries. Callers ask [`Self::has_small_ids`] before they look into entries.
    #[inline]
    pub(crate) fn keep_small_ids(&mut self, small: bool) {
        if self.small_ids != small {
            self.clear();
            self.small_ids = small;
        }
    }

    /// True if they do.
    #[inline(always)]
    pub(crate) fn has_small_ids(&self) -> bool {
        self.small_ids
    }

    /// Keep to a budget that was made less meanwhile.
    pub(crate) fn shrink_to_budget(&mut self) {
        self.few_ids.shrink_to_budget();
        self.many_ids.shrink_to_budget();
        self.medium.shrink_to_budget();
        self.records.shrink_to_budget();
    }

    /// Forget all pretokens.
    pub(crate) fn clear(&mut self) {
        self.few_ids.clear();
        self.many_ids.clear();
        self.medium.clear();
        self.records.clear();
        self.are_crowded = false;
    }

    /// True if there may be short pretokens among phrases: those with very many ids, which few
    /// texts have.
    #[inline(always)]
    pub(crate) fn are_crowded(&self) -> bool {
        self.are_crowded
    }

    /// Returns the ids of bytes in a role.
    #[inline]
    pub(crate) fn get(
        &mut self,
        role: Role,
        text: &[u8],
        start: usize,
        end: usize,
    ) -> Option<&[u32]> {
        if let Some(key) = Key::<1>::new(text, start, end).map(|key| key.of(role)) {
            if let Some(payload) = self.few_ids.get(key) {
                if !self.small_ids {
                    return payload.get(..payload[FEW_IDS] as usize);
                }
                let n_ids;
                (self.unpacked, n_ids) = inline_ids::unpack::<true>(payload);
                return self.unpacked.get(..n_ids);
            }
            if let Some(payload) = self.many_ids.get(key) {
                return payload.get(..payload[MANY_IDS] as usize);
            }
        } else if let Some(key) = Key::<2>::new(text, start, end).map(|key| key.of(role))
            && let Some(payload) = self.medium.get(key)
        {
            return payload.get(..payload[MEDIUM_IDS] as usize);
        }
        self.records.get(&text[start..end], role)
    }

    /// Notes that `n` short pretokens with few ids were found outside their own set of `few_ids`.
    pub(crate) fn note_detours(&mut self, n: usize) {
        if !self.few_ids.note_detours(n) {
            return;
        }
        // Now `few_ids` has room for the pretokens that `many_ids` took in.
        for entry in self.many_ids.entries() {
            let ids = entry.payload.get(..entry.payload[MANY_IDS] as usize);
            if let Some(payload) = ids.and_then(|ids| pack_short(self.small_ids, ids)) {
                self.few_ids.put(entry.key, payload);
            }
        }
    }

    /// Keeps the ids of bytes in a role.
    pub(crate) fn keep(&mut self, role: Role, pretoken: &[u8], ids: &[u32]) {
        if let Some(key) = Key::<1>::new(pretoken, 0, pretoken.len()) {
            return self.keep_short(key.of(role), role, pretoken, ids);
        }
        let Some(key) = Key::<2>::new(pretoken, 0, pretoken.len()).map(|key| key.of(role)) else {
            self.keep_record(role, pretoken, ids);
            return;
        };
        match payload_of(ids) {
            Some(payload) => self.medium.put(key, payload),
            None => self.keep_record(role, pretoken, ids),
        }
    }

    /// Keeps a short pretoken whose key in that role is known already.
    pub(crate) fn keep_short(&mut self, key: Key<1>, role: Role, pretoken: &[u8], ids: &[u32]) {
        if let Some(payload) = pack_short(self.small_ids, ids)
            && self.few_ids.put_in_room(key, payload)
        {
            return;
        }
        // Pretokens with more ids, and a few for which `few_ids` has no room.
        if let Some(payload) = payload_of(ids) {
            return self.many_ids.put(key, payload);
        }
        self.are_crowded = true;
        self.keep_record(role, pretoken, ids);
    }

    /// Keeps a pretoken that no other tier has room for, when it comes again: most come once.
    fn keep_record(&mut self, role: Role, pretoken: &[u8], ids: &[u32]) {
        if self.records.comes_again(pretoken) {
            self.records.put(pretoken, ids, role);
        }
    }
}

/// Packs ids into an entry for a short pretoken, if they fit.
fn pack_short(small: bool, ids: &[u32]) -> Option<Payload<4>> {
    if small {
        inline_ids::pack::<true>(ids)
    } else {
        inline_ids::pack::<false>(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pretokens(numbers: std::ops::Range<u32>) -> impl Iterator<Item = ([u8; 4], u32)> {
        numbers.map(|number| (number.to_le_bytes(), number))
    }

    fn knows(caches: &mut PretokenCache, pretoken: [u8; 4], number: u32) -> bool {
        caches.get(Role::Pretoken, &pretoken, 0, 4) == Some(&[number])
    }

    #[test]
    fn pretokens_without_room_stay_in_the_next_tier_until_few_ids_grows() {
        let mut caches = PretokenCache::default();
        // Enough pretokens that `few_ids` grows for the last time but one.
        for (pretoken, number) in pretokens(0..80_000) {
            caches.keep(Role::Pretoken, &pretoken, &[number]);
        }
        // Caches may forget; in one alone every twentieth of the last ones would push out another.
        let n_known = |caches: &mut PretokenCache| {
            let last = pretokens(50_000..80_000);
            last.filter(|&(pretoken, n)| knows(caches, pretoken, n))
                .count()
        };
        assert!(n_known(&mut caches) > 29_700);
        let elsewhere: Vec<_> = caches.many_ids.entries().copied().collect();
        assert!(!elsewhere.is_empty());
        assert!(
            elsewhere
                .iter()
                .all(|entry| caches.few_ids.get(entry.key).is_none())
        );
        // A few detours do not make it grow.
        caches.note_detours(1000);
        assert!(caches.few_ids.get(elsewhere[0].key).is_none());
        caches.note_detours(1 << 20);
        assert!(n_known(&mut caches) > 29_700);
        let back = elsewhere
            .iter()
            .filter(|entry| caches.few_ids.get(entry.key).is_some());
        assert!(back.count() * 20 > elsewhere.len() * 19);
    }

    #[test]
    fn detours_begin_no_cache() {
        let mut caches = PretokenCache::default();
        caches.note_detours(0);
        caches.note_detours(1 << 20);
        assert_eq!(caches.few_ids.entries().count(), 0);
        assert!(!caches.few_ids.note_detours(1 << 20));
    }

    proptest! {
        /// A pretoken that is kept twice is kept in one way.
        #[test]
        fn ids_come_back_whether_they_are_small_or_not(
            pretokens in prop::collection::btree_map(
                "[a-c]{1,3}|[a-z]{14,17}",
                prop::collection::vec(prop_oneof![9 => 0..0x1_0000u32, 1 => any::<u32>()], 0..14),
                1..60,
            ),
            modes in prop::collection::vec(any::<bool>(), 1..4),
        ) {
            let mut caches = PretokenCache::default();
            for small in modes {
                caches.keep_small_ids(small);
                for (pretoken, ids) in &pretokens {
                    let bytes = pretoken.as_bytes();
                    if let Some(known) = caches.get(Role::Pretoken, bytes, 0, bytes.len()) {
                        prop_assert_eq!(known, &ids[..]);
                        continue;
                    }
                    caches.keep(Role::Pretoken, bytes, ids);
                    let key = Key::<1>::new(bytes, 0, bytes.len());
                    let kept = key.and_then(|key| caches.few_ids.get(key));
                    let most = if small { 7 } else { 3 };
                    let fit = ids.len() <= most && (!small || ids.iter().all(|&id| id < 0x1_0000));
                    prop_assert_eq!(kept.is_some(), fit && key.is_some());
                }
            }
        }
    }
}
