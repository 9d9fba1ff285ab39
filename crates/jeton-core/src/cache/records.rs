//! Long pretokens as a whole, and short ones of many ids: what the entries of
//! [`crate::cache::two_way`] have no room for.
//!
//! In scripts without spaces a pretoken is what stands between two commas, and texts repeat those.
//! A record is as long as its bytes and ids need; records lie one behind the other, and a table of
//! slots tells where. When there is no more room, all is forgotten at once. A search looks at a few
//! slots only, so that bytes which somebody has chosen for their hash do no harm.
//!
//! Most phrases come once: they are kept when they come again, so that they do not push out what is
//! worth more.

mod record;

use std::sync::Arc;

use crate::cache::budget::{CacheBudget, MAX_BYTES, Share};
use crate::cache::doorkeeper::Doorkeeper;
use crate::cache::key::{Hashed, Key, Role, mix};
use crate::cache::tables::MIN_BYTES;
use crate::cpu::prefetch::prefetch;
use crate::memory::huge_pages::HugeSlice;

pub(crate) use self::record::RecordIds;

/// Longest pretoken that is a phrase, in bytes: twenty pretokens of a script without spaces.
pub(crate) const MAX_RECORD_BYTES: usize = 255;

/// Most ids that are kept: one for each byte.
const MAX_IDS: usize = MAX_RECORD_BYTES;
/// Bytes of a cache for one slot: few records have less than 64.
const BYTES_PER_SLOT: usize = 32;
/// Slots in use at first. Half and twice as many do the same
/// (docs/log/2026-11-28-tuning-constants.md), as do probes.
const FIRST_SLOTS: usize = 256;
/// Slots that are looked at for a pretoken, from the one that its hash chooses.
const PROBES: usize = 16;

/// Pretokens and their ids.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// A power of two of them; none until the first pretoken is kept. The hash above the place
    /// where the record begins, counted from 1; 0 where there is none.
    slots: HugeSlice<u64>,
    /// Slots in use, less one. Few records use few slots, which stay in the processor's cache.
    mask: usize,
    /// How many slots are taken.
    n_kept: usize,
    /// A record: its head, the bytes and the ids (see [`record`]).
    numbers: HugeSlice<u32>,
    /// How much of it records take.
    used: usize,
    /// How often nothing could be kept since it was last asked whether there may be a cache.
    refused: usize,
    /// Pretokens that came and were not kept.
    seen: Doorkeeper,
    share: Share,
}

/// Returns the hash of a pretoken. One of 16 to 31 bytes has the hash of its key in `medium`.
#[inline(always)]
pub(crate) fn hash(pretoken: &[u8]) -> u32 {
    if pretoken.len() > Key::<1>::MAX_PRETOKEN_BYTES
        && let Some(key) = Key::<2>::new(pretoken, 0, pretoken.len())
    {
        return key.hash() as u32;
    }
    let mut hash = pretoken.len() as u64;
    let (sixteens, rest) = pretoken.as_chunks::<16>();
    for bytes in sixteens {
        hash = mix(hash, u128::from_le_bytes(*bytes));
    }
    if !rest.is_empty() {
        let last = pretoken.last_chunk::<16>().copied().unwrap_or_else(|| {
            let mut padded = [0; 16];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        });
        hash = mix(hash, u128::from_le_bytes(last));
    }
    (hash ^ hash >> 32) as u32
}

impl Records {
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
        let bytes = self.n_bytes();
        (self.slots, self.numbers) = (HugeSlice::default(), HugeSlice::default());
        self.seen = Doorkeeper::default();
        (self.mask, self.n_kept, self.used, self.refused) = (0, 0, 0, 0);
        self.share.give_back(bytes);
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes_of_records() + self.seen.n_bytes()
    }

    fn n_bytes_of_records(&self) -> usize {
        self.slots.len() * size_of::<u64>() + self.numbers.len() * size_of::<u32>()
    }

    /// Takes `new` bytes from the budget in place of `old` ones, and says whether it has them. All
    /// that is here is counted with them, as a forked child counts anew what it gives back later.
    fn exchange(&mut self, old: usize, new: usize) -> bool {
        let bytes = self.n_bytes();
        self.share.exchange(bytes, bytes - old + new)
    }

    /// Asks for the slots of a pretoken, to be there when it is looked for.
    #[inline(always)]
    pub(crate) fn fetch(&self, hash: u32) {
        if let Some(slot) = self.slots.get(self.home(hash)) {
            prefetch(slot);
        }
    }

    /// Asks for the record of a pretoken, if its slot has arrived and tells where that is.
    #[inline(always)]
    pub(crate) fn fetch_record(&self, hash: u32) {
        if let Some(&slot) = self.slots.get(self.home(hash))
            && let Some(record) = self.numbers.get(begin(slot)..)
        {
            record.first().into_iter().for_each(prefetch);
            record.get(16).into_iter().for_each(prefetch);
        }
    }

    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        hash as usize & self.mask
    }

    /// The ids of a pretoken that is no longer than a phrase; `hash`: its hash.
    #[inline(always)]
    pub(crate) fn find(&self, pretoken: &[u8], hash: u32, role: Role) -> Option<RecordIds<'_>> {
        if pretoken.len() > MAX_RECORD_BYTES {
            return None;
        }
        let (n_ids, from) = search(&self.slots, self.mask, &self.numbers, pretoken, hash, role)?;
        Some(RecordIds::new(n_ids as usize, from))
    }

    /// Returns the ids of a pretoken, if it is kept.
    pub(crate) fn get(&self, pretoken: &[u8], role: Role) -> Option<&[u32]> {
        if pretoken.len() > MAX_RECORD_BYTES {
            return None;
        }
        self.find(pretoken, hash(pretoken), role)?.ids()
    }

    /// Remembers a pretoken that is not there yet, and its ids.
    pub(crate) fn put(&mut self, pretoken: &[u8], ids: &[u32], role: Role) {
        if pretoken.is_empty() || pretoken.len() > MAX_RECORD_BYTES || ids.len() > MAX_IDS {
            return;
        }
        let len = record::len(pretoken, ids.len());
        if self.used + len > self.numbers.len() && !self.make_room(len) {
            return;
        }
        let Some(there) = self.numbers.get_mut(self.used..self.used + len) else {
            return;
        };
        record::write(there, pretoken, role, ids);
        let slot = u64::from(hash(pretoken)) << 32 | (self.used + 1) as u64;
        self.used += len;
        self.insert(slot);
    }

    /// Puts a slot where a search finds it, and uses more slots if half of them are taken.
    fn insert(&mut self, slot: u64) {
        self.n_kept += usize::from(insert(&mut self.slots, self.mask, slot));
        let more = 2 * (self.mask + 1);
        if more < 4 * self.n_kept && more <= self.slots.len() {
            self.use_slots(more);
        }
    }

    /// Uses as many slots from now on.
    fn use_slots(&mut self, n: usize) {
        let before = self.slots[..=self.mask].to_vec();
        self.slots[..=self.mask].fill(0);
        (self.mask, self.n_kept) = (n - 1, 0);
        for slot in before.into_iter().filter(|&slot| slot != 0) {
            self.n_kept += usize::from(insert(&mut self.slots, self.mask, slot));
        }
    }

    /// True if a pretoken that is not kept came before, not long ago.
    pub(crate) fn comes_again(&mut self, pretoken: &[u8]) -> bool {
        if let Some(n) = self.seen.wants() {
            let (bytes, more) = (self.seen.n_bytes(), Doorkeeper::bytes_of(n));
            if more > bytes && self.exchange(bytes, more) {
                self.seen.grow(self.share.zeroed(n));
            } else {
                self.seen.forget();
            }
        }
        self.seen.insert_seen(hash(pretoken))
    }

    /// Makes room for a record of `len` numbers: by more memory if the budget allows it, else by
    /// forgetting. False if there is none.
    #[cold]
    fn make_room(&mut self, len: usize) -> bool {
        if self.refused > 0 {
            // A cache that may not begin asks again after as many pretokens as it would have had
            // slots for at first.
            self.refused = (self.refused + 1) % FIRST_SLOTS;
            return false;
        }
        let old_bytes = self.n_bytes_of_records();
        let mut n_bytes = (old_bytes * 4).clamp(MIN_BYTES, MAX_BYTES);
        while n_bytes < MAX_BYTES && n_records(n_bytes) < self.used + len {
            n_bytes *= 2;
        }
        if n_bytes > old_bytes && self.exchange(old_bytes, n_bytes) {
            let slots = std::mem::replace(&mut self.slots, self.share.zeroed(n_slots(n_bytes)));
            let records =
                std::mem::replace(&mut self.numbers, self.share.zeroed(n_records(n_bytes)));
            if let Some(begin) = self.numbers.get_mut(..self.used) {
                begin.copy_from_slice(&records[..self.used]);
            }
            let in_use = &slots[..slots.len().min(self.mask + 1)];
            match self.slots.get_mut(..in_use.len()) {
                Some(there) if !in_use.is_empty() => there.copy_from_slice(in_use),
                _ => self.mask = FIRST_SLOTS.min(self.slots.len()) - 1,
            }
        } else if self.numbers.is_empty() {
            self.refused = 1;
            return false;
        } else if len > self.numbers.len() {
            return false;
        } else {
            self.slots[..=self.mask].fill(0);
            (self.n_kept, self.used) = (0, 0);
        }
        true
    }
}

/// How many ids a pretoken has, as its record's head says it, and where the record has them: what
/// is behind them follows.
#[inline(always)]
fn search<'r>(
    slots: &[u64],
    mask: usize,
    numbers: &'r [u32],
    pretoken: &[u8],
    hash: u32,
    role: Role,
) -> Option<(u32, &'r [u32])> {
    for step in 0..PROBES {
        let slot = *slots.get((hash as usize + step) & mask)?;
        if slot == 0 {
            return None;
        }
        if (slot >> 32) as u32 == hash
            && let Some(found) = record::read(numbers, begin(slot), pretoken, role)
        {
            return Some(found);
        }
    }
    None
}

/// Slots of a cache of `n_bytes`.
fn n_slots(n_bytes: usize) -> usize {
    n_bytes / BYTES_PER_SLOT
}

fn n_records(n_bytes: usize) -> usize {
    (n_bytes - n_slots(n_bytes) * size_of::<u64>()) / size_of::<u32>()
}

/// Where the record of a slot begins; no place that there is, for an empty one.
#[inline(always)]
fn begin(slot: u64) -> usize {
    (slot as u32 as usize).wrapping_sub(1)
}

/// Puts a slot where a search finds it; says whether none was there before.
fn insert(slots: &mut [u64], mask: usize, slot: u64) -> bool {
    let hash = (slot >> 32) as usize;
    let places = (0..PROBES).map(|step| (hash + step) & mask);
    // Where all are taken, somebody else's record is not found any more.
    let mut free = places.filter(|&place| slots.get(place) == Some(&0));
    let place = free.next().unwrap_or(hash & mask);
    let Some(there) = slots.get_mut(place) else {
        return false;
    };
    std::mem::replace(there, slot) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(phrases: &mut Records, pretoken: &[u8]) -> Option<Vec<u32>> {
        let known = phrases.get(pretoken, Role::Pretoken).map(<[u32]>::to_vec);
        let as_phrase = phrases.find(pretoken, hash(pretoken), Role::Pretoken);
        assert_eq!(
            as_phrase.and_then(RecordIds::ids),
            known
                .as_deref()
                .filter(|_| pretoken.len() <= MAX_RECORD_BYTES)
        );
        if let (Some(found), Some(ids)) = (as_phrase, &known) {
            for room in [0, 1, 20, 2 * MAX_RECORD_BYTES] {
                let mut room = vec![7; room];
                let n = found.copy_to(&mut room);
                assert_eq!(n, (ids.len() <= room.len()).then_some(ids.len()));
                assert!(n.is_none_or(|n| room[..n] == ids[..]));
            }
        }
        known
    }

    /// Returns a pretoken for each number, some of them too long to be kept, and ids that tell the
    /// pretoken.
    fn pretoken(number: u32) -> (Vec<u8>, Vec<u32>) {
        let len = 1 + number as usize * 7 % (MAX_RECORD_BYTES + 20);
        let pretoken: Vec<u8> = number
            .to_le_bytes()
            .into_iter()
            .cycle()
            .take(len.max(4))
            .collect();
        let n_ids = (number as usize * 3) % pretoken.len();
        let ids = (0..n_ids as u32)
            .map(|n| number.wrapping_mul(31) ^ n)
            .collect();
        (pretoken, ids)
    }

    proptest! {
        #[test]
        fn it_forgets_but_never_lies(
            numbers in prop::collection::vec(0u32..5000, 0..1500),
            limit in prop::option::of(0usize..8),
        ) {
            let budget = Arc::new(CacheBudget::default());
            if let Some(limit) = limit {
                budget.set_limit(limit * MIN_BYTES);
            }
            let mut phrases = Records::default();
            phrases.set_budget(&budget);
            for number in numbers {
                let (pretoken, ids) = pretoken(number);
                if let Some(known) = found(&mut phrases, &pretoken) {
                    prop_assert_eq!(known, ids);
                    continue;
                }
                phrases.put(&pretoken, &ids, Role::Pretoken);
                if let Some(known) = found(&mut phrases, &pretoken) {
                    prop_assert_eq!(&known, &ids);
                    prop_assert!(pretoken.len() <= MAX_RECORD_BYTES);
                } else {
                    let kept = pretoken.len() <= MAX_RECORD_BYTES;
                    prop_assert!(!kept || phrases.numbers.is_empty());
                }
                prop_assert_eq!(budget.used(), phrases.n_bytes());
                prop_assert!(budget.used() <= budget.limit());
            }
            drop(phrases);
        }

        #[test]
        fn other_bytes_are_another_pretoken(
            one in prop::collection::vec(any::<u8>(), 1..80),
            other in prop::collection::vec(any::<u8>(), 1..80),
        ) {
            let mut phrases = Records::default();
            phrases.put(&one, &[1, 2], Role::Pretoken);
            prop_assert_eq!(found(&mut phrases, &other).is_some(), one == other);
            // As a unit it is none, until that is kept beside it.
            prop_assert!(phrases.find(&one, hash(&one), Role::Unit).is_none());
            phrases.put(&one, &[3], Role::Unit);
            let unit = phrases.find(&one, hash(&one), Role::Unit).and_then(RecordIds::ids);
            prop_assert_eq!(unit, Some(&[3][..]));
            prop_assert_eq!(found(&mut phrases, &one), Some(vec![1, 2]));
            // Equal hashes do not make equal pretokens.
            prop_assert_eq!(phrases.find(&other, hash(&one), Role::Pretoken).is_some(), one == other);
        }
    }

    #[test]
    fn what_is_new_is_found_when_all_is_full() {
        let mut phrases = Records::default();
        let mut kept = 0;
        for number in 0..40_000 {
            let (pretoken, ids) = pretoken(number);
            phrases.put(&pretoken, &ids, Role::Pretoken);
            kept += usize::from(found(&mut phrases, &pretoken) == Some(ids));
            assert!(phrases.n_bytes_of_records() <= MAX_BYTES);
        }
        // All pretokens but the long ones.
        assert!(kept > 36_000, "{kept}");
        phrases.clear();
        assert_eq!(
            (phrases.n_bytes(), found(&mut phrases, &pretoken(7).0)),
            (0, None)
        );
    }

    #[test]
    fn nothing_longer_than_a_phrase_is_kept() {
        let budget = Arc::new(CacheBudget::default());
        let mut phrases = Records::default();
        phrases.set_budget(&budget);
        for (len, is_kept) in [
            (MAX_RECORD_BYTES, true),
            (MAX_RECORD_BYTES + 1, false),
            (1 << 14, false),
        ] {
            let pretoken = vec![b'a'; len];
            phrases.put(&pretoken, &[7], Role::First);
            let known = phrases.get(&pretoken, Role::First);
            assert_eq!(known, is_kept.then_some(&[7][..]));
            assert_eq!(found(&mut phrases, &pretoken), None);
        }
        assert_eq!(budget.used(), phrases.n_bytes());
        phrases.clear();
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_cache_without_budget_keeps_nothing_and_begins_when_it_may() {
        let budget = Arc::new(CacheBudget::default());
        budget.set_limit(0);
        let mut phrases = Records::default();
        phrases.set_budget(&budget);
        let (pretoken, ids) = pretoken(3);
        phrases.put(&pretoken, &ids, Role::Pretoken);
        assert_eq!(found(&mut phrases, &pretoken), None);
        budget.set_limit(1 << 20);
        for _ in 0..=FIRST_SLOTS {
            phrases.put(&pretoken, &ids, Role::Pretoken);
        }
        assert_eq!(found(&mut phrases, &pretoken), Some(ids));
        budget.set_limit(1);
        phrases.shrink_to_budget();
        assert_eq!(budget.used(), 0);
    }
}
