//! The pretokens of a batch that are too long for a short key: where they would be, and what is
//! known of them.

use super::BatchLookup;
use crate::cache::key::{Hashed, Key, Role};
use crate::cache::records::{MAX_RECORD_BYTES, hash};
use crate::cache::tiers::{LONG_IDS, PretokenCache};
use crate::cache::two_way::Payload;
use crate::vocab::Search;

impl BatchLookup {
    /// Where they would be, and what is there on its way.
    #[inline(never)]
    pub(super) fn fill_long(&mut self, text: &[u8], n_long: usize, caches: &PretokenCache) {
        let (words, phrases) = (caches.medium.places(), &caches.records);
        let mut n_phrases = 0;
        for long in 0..n_long {
            let index = self.long[long];
            let (begin, end) = (self.end_before(index), self.ends[index]);
            if let Some(key) = Key::<2>::new(text, begin, end) {
                self.long_places[index] = key.hash();
                if !caches.are_phrases() {
                    words.fetch_at(self.long_places[index]);
                    continue;
                }
            } else if end - begin <= MAX_RECORD_BYTES {
                self.long_places[index] = hash(&text[begin..end]) as usize;
            } else {
                continue;
            }
            phrases.fetch(self.long_places[index] as u32);
            self.long[n_phrases] = index;
            n_phrases += 1;
        }
        // By now the slots have arrived that say where the records are.
        for &index in &self.long[..n_phrases] {
            phrases.fetch_record(self.long_places[index] as u32);
        }
    }

    /// Looks for one of them, and puts its ids behind those that are known so far; how many they
    /// are.
    #[inline(never)]
    pub(super) fn known_long(
        &mut self,
        index: usize,
        n_known: usize,
        text: &[u8],
        caches: &PretokenCache,
    ) -> Option<usize> {
        (self.is_new, self.search) = (false, Search::NotBegun);
        let (place, are_phrases) = (self.long_places[index], caches.are_phrases());
        let (begin, end) = (self.end_before(index), self.ends[index]);
        let has_key = end - begin <= Key::<2>::MAX_WORD_BYTES;
        let word = Long {
            text,
            begin,
            end,
            place,
        };
        // Each of the caches in one place of the code, or it would be called there.
        let mut found = None;
        if !are_phrases && has_key {
            found = word.as_word(caches);
        }
        if found.is_none() {
            let word = &text[begin..end];
            if let Some(phrase) = caches.records.find(word, place as u32, Role::Pretoken) {
                return phrase.copy_to(self.known.get_mut(n_known..)?);
            }
        }
        if are_phrases && has_key {
            found = word.as_word_after_all(caches);
        }
        let Some(payload) = found else {
            self.is_new = end - begin <= MAX_RECORD_BYTES;
            return None;
        };
        *self.known.get_mut(n_known..)?.first_chunk_mut()? = *payload;
        Some(payload[LONG_IDS] as usize)
    }
}

/// A long pretoken that has a key, and what tells its place in a cache.
#[derive(Clone, Copy)]
struct Long<'t> {
    text: &'t [u8],
    begin: usize,
    end: usize,
    place: usize,
}

impl Long<'_> {
    /// Returns its payload among words.
    #[inline(always)]
    fn as_word(self, caches: &PretokenCache) -> Option<&Payload<{ LONG_IDS + 1 }>> {
        let key = Key::<2>::new(self.text, self.begin, self.end)?;
        let words = caches.medium.places();
        let found = words.find(key, self.place);
        found.or_else(|| words.find_beside(key, self.place))
    }

    /// Returns its payload where few of them are kept as words.
    #[inline(never)]
    fn as_word_after_all(self, caches: &PretokenCache) -> Option<&Payload<{ LONG_IDS + 1 }>> {
        self.as_word(caches)
    }
}
