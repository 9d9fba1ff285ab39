//! The pretokens of a batch that are too long for a short key: their places and their lookup.

use super::BatchLookup;
use crate::cache::key::{Key, Role};
use crate::cache::records::{MAX_RECORD_BYTES, hash};
use crate::cache::tiers::{MEDIUM_IDS, PretokenCache};
use crate::vocab::Search;

impl BatchLookup {
    /// Computes the places of the long pretokens, and prefetches them.
    #[inline(never)]
    pub(super) fn fill_long(&mut self, text: &[u8], n_long: usize, caches: &PretokenCache) {
        let (pretokens, records) = (caches.medium.places(), &caches.records);
        let mut n_records = 0;
        for long in 0..n_long {
            let index = self.long[long];
            let (begin, end) = (self.end_before(index), self.ends[index]);
            if let Some(key) = Key::<2>::new(text, begin, end) {
                self.long_places[index] = pretokens.fetch(key);
                continue;
            }
            if end - begin <= MAX_RECORD_BYTES {
                self.long_places[index] = hash(&text[begin..end]) as usize;
                records.fetch(self.long_places[index] as u32);
                self.long[n_records] = index;
                n_records += 1;
            }
        }
        // By now the slots have arrived that say where the records are.
        for &index in &self.long[..n_records] {
            records.fetch_record(self.long_places[index] as u32);
        }
    }

    /// Looks for a long pretoken, appends its ids to the known ones and returns their number.
    #[inline(never)]
    pub(super) fn known_long(
        &mut self,
        index: usize,
        n_known: usize,
        text: &[u8],
        caches: &PretokenCache,
    ) -> Option<usize> {
        (self.is_new, self.search) = (false, Search::NotBegun);
        let place = self.long_places[index];
        let (begin, end) = (self.end_before(index), self.ends[index]);
        let found = Key::<2>::new(text, begin, end).and_then(|key| {
            let pretokens = caches.medium.places();
            pretokens
                .find(key, place)
                .or_else(|| pretokens.find_beside(key, place))
        });
        let Some(payload) = found else {
            let pretoken = &text[begin..end];
            if let Some(record) = caches.records.find(pretoken, place as u32, Role::Pretoken) {
                return record.copy_to(self.known.get_mut(n_known..)?);
            }
            self.is_new = end - begin <= MAX_RECORD_BYTES;
            return None;
        };
        *self.known.get_mut(n_known..)?.first_chunk_mut()? = *payload;
        Some(payload[MEDIUM_IDS] as usize)
    }
}
