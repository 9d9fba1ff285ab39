//! The pretokens of a batch that are too long for a short key: where they would be, and what is known of them.

use super::WordBatch;
use crate::caches::{Caches, LONG_IDS};
use crate::phrases::{MAX_PHRASE, hash};
use crate::vocab::Search;
use crate::word_key::{Hashed, Key, Role};

impl WordBatch {
    /// Where they would be, and what is there on its way.
    #[inline(never)]
    pub(super) fn fill_long(&mut self, text: &[u8], n_long: usize, caches: &Caches) {
        let (words, phrases) = (caches.long.places(), &caches.phrases);
        let mut n_phrases = 0;
        for long in 0..n_long {
            let index = self.long[long];
            let (begin, end) = (self.end_before(index), self.ends[index]);
            if let Some(key) = Key::<2>::new(text, begin, end) {
                self.places[index] = key.hash();
                if !caches.are_phrases() {
                    words.fetch_at(self.places[index]);
                    continue;
                }
            } else if end - begin <= MAX_PHRASE {
                self.places[index] = hash(&text[begin..end]) as usize;
            } else {
                continue;
            }
            phrases.fetch(self.places[index] as u32);
            self.long[n_phrases] = index;
            n_phrases += 1;
        }
        // By now the slots have arrived that say where the records are.
        for &index in &self.long[..n_phrases] {
            phrases.fetch_record(self.places[index] as u32);
        }
    }

    /// Looks for one of them, and puts its ids behind those that are known so far; how many they are.
    #[inline(never)]
    pub(super) fn known_long(
        &mut self,
        index: usize,
        n_known: usize,
        text: &[u8],
        caches: &Caches,
    ) -> Option<usize> {
        (self.is_new, self.search) = (false, Search::NotBegun);
        let (place, are_phrases) = (self.places[index], caches.are_phrases());
        let (begin, end) = (self.end_before(index), self.ends[index]);
        let has_key = end - begin <= Key::<2>::MAX_WORD_BYTES;
        let phrase = || {
            let word = &text[begin..end];
            caches.phrases.find(word, place as u32, Role::Pretoken)
        };
        let mut found = None;
        if are_phrases || !has_key {
            found = phrase();
        }
        if found.is_none()
            && let Some(key) = Key::<2>::new(text, begin, end)
        {
            let words = caches.long.places();
            let long = words.find(key, place);
            if let Some(payload) = long.or_else(|| words.find_beside(key, place)) {
                *self.known.get_mut(n_known..)?.first_chunk_mut()? = *payload;
                return Some(payload[LONG_IDS] as usize);
            }
            if !are_phrases {
                found = phrase();
            }
        }
        let Some(found) = found else {
            self.is_new = end - begin <= MAX_PHRASE;
            return None;
        };
        found.copy_to(self.known.get_mut(n_known..)?)
    }
}
