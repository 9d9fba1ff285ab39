//! What a thread knows of words: four caches, by how long words are and how many ids they have.

use std::sync::Arc;

use crate::cache_budget::CacheBudget;
use crate::phrases::Phrases;
use crate::word_cache::{Key, LongWords, RichWords, Role, ShortWords};

/// Ids of an entry for a short word, and for a short one that has more.
pub(crate) const SHORT_IDS: usize = ShortWords::MAX_IDS;
pub(crate) const RICH_IDS: usize = RichWords::MAX_IDS;
/// The same for a longer word.
pub(crate) const LONG_IDS: usize = LongWords::MAX_IDS;

/// Of about so many long words that were kept last so many may have had too many ids, in units of which one word is [`OF_LAST`].
const OF_LAST: u32 = 64;
const MANY: u32 = OF_LAST * OF_LAST / 4;

/// What knows words.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    pub(crate) short: ShortWords,
    pub(crate) rich: RichWords,
    pub(crate) long: LongWords,
    pub(crate) phrases: Phrases,
    /// How many of the long words that were kept last had too many ids for `long`: see [`Self::are_phrases`].
    many_ids: u32,
}

impl Caches {
    /// The budget that they share. Must be said before the first word is kept.
    pub(crate) fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.short.set_budget(budget);
        self.rich.set_budget(budget);
        self.long.set_budget(budget);
        self.phrases.set_budget(budget);
    }

    /// Keep to a budget that was made less meanwhile.
    pub(crate) fn fit(&mut self) {
        self.short.fit();
        self.rich.fit();
        self.long.fit();
        self.phrases.fit();
    }

    /// Forget all words.
    pub(crate) fn clear(&mut self) {
        self.short.clear();
        self.rich.clear();
        self.long.clear();
        self.phrases.clear();
    }

    /// Whether words of 16 to 31 bytes are kept as phrases, all of them, since too many of the last ones had many ids: to look for each
    /// in both places costs more than records do. What was kept before stays where it is.
    #[inline(always)]
    pub(crate) fn are_phrases(&self) -> bool {
        self.many_ids > MANY
    }

    /// The ids of what may be a word or something else.
    #[inline]
    pub(crate) fn get(
        &mut self,
        role: Role,
        text: &[u8],
        start: usize,
        end: usize,
    ) -> Option<&[u32]> {
        if let Some(key) = Key::<1>::new(text, start, end).map(|key| key.of(role)) {
            if let Some(payload) = self.short.get(key) {
                return payload.get(..payload[SHORT_IDS] as usize);
            }
            if let Some(payload) = self.rich.get(key) {
                return payload.get(..payload[RICH_IDS] as usize);
            }
        } else if let Some(key) = Key::<2>::new(text, start, end).map(|key| key.of(role))
            && let Some(payload) = self.long.get(key)
        {
            return payload.get(..payload[LONG_IDS] as usize);
        }
        self.phrases.get(&text[start..end], role)
    }

    /// Remembers the ids of what may be a word or something else.
    pub(crate) fn keep(&mut self, role: Role, word: &[u8], ids: &[u32]) {
        let n = ids.len();
        if let Some(key) = Key::<1>::new(word, 0, word.len()).map(|key| key.of(role)) {
            if n <= SHORT_IDS {
                return self.short.put(key, ids);
            }
            if n <= RICH_IDS {
                return self.rich.put(key, ids);
            }
        } else if let Some(key) = Key::<2>::new(word, 0, word.len()).map(|key| key.of(role)) {
            self.many_ids -= self.many_ids / OF_LAST;
            if n > LONG_IDS {
                self.many_ids += OF_LAST;
            } else if !self.are_phrases() {
                return self.long.put(key, ids);
            }
        }
        self.phrases.put(word, ids, role);
    }
}
