//! Texts of few words, kept whole.
//!
//! Where a script has no spaces and a model no pre-tokenization, a word may be a line, or all of a text. Then to find the words takes
//! longer than to find the text. It is asked for first, if one of the last texts was of few words too, and kept when it comes
//! again. Such texts have a cache of their own: they do not push the lines out by which others are known.

use std::sync::Arc;

use crate::cache_budget::CacheBudget;
use crate::phrases::{MAX_KEPT, Phrases};
use crate::pipeline::Sink;
use crate::word_key::Role;

/// Bytes of a text for each of its words, at least, if these are few: thrice what they are in scripts that have spaces.
const BYTES_PER_WORD: usize = 24;
/// So many texts in a row may have many words before none is asked for any more.
const PATIENCE: u8 = 16;

/// What one thread remembers of texts of few words.
#[derive(Debug, Default)]
pub(super) struct FewWords {
    texts: Phrases,
    /// How many texts with many words may still come. What only has such texts pays for no more than to see that this is 0.
    patience: u8,
}

impl FewWords {
    pub(super) fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.texts.set_budget(budget);
    }

    pub(super) fn fit(&mut self) {
        self.texts.fit();
    }

    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.patience = 0;
    }

    /// Whether it is worth to ask for a text.
    #[inline]
    pub(super) fn may_have(&self, text: &str) -> bool {
        self.patience > 0 && text.len() <= MAX_KEPT
    }

    /// Gives the ids of a text to a sink, if it is kept; says whether it is.
    pub(super) fn give<K: Sink>(&self, text: &str, sink: &mut K) -> bool {
        let kept = self.texts.kept(text.as_bytes(), Role::First);
        kept.map(|ids| sink.take_kept(ids)).is_some()
    }

    /// Whether a text came before that is not kept.
    pub(super) fn came_before(&mut self, text: &str) -> bool {
        self.texts.is_worth(text.as_bytes())
    }

    /// Keeps one, if it has so few words.
    pub(super) fn keep(&mut self, text: &str, n_words: usize, ids: &[u32]) {
        if are_few(n_words, text) {
            self.texts.put(text.as_bytes(), ids, Role::First);
        }
    }

    /// Must be said of each text whose words were found.
    #[inline]
    pub(super) fn had(&mut self, text: &str, n_words: usize) {
        self.patience = if are_few(n_words, text) {
            PATIENCE
        } else {
            self.patience.saturating_sub(1)
        };
    }
}

#[inline]
fn are_few(n_words: usize, text: &str) -> bool {
    n_words * BYTES_PER_WORD <= text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_asked_for_where_some_have_few_words() {
        let mut few = FewWords::default();
        let text = "中文，".repeat(100);
        assert!(!few.may_have(&text));
        few.had(&text, 1);
        assert!(few.may_have(&text));
        assert!(!few.may_have(&"中".repeat(MAX_KEPT)));
        let mut ids = Vec::new();
        assert!(!few.give(&text, &mut ids) && !few.came_before(&text));
        assert!(!few.give(&text, &mut ids) && few.came_before(&text));
        few.keep(&text, text.len(), &[3]);
        assert!(!few.give(&text, &mut ids));
        few.keep(&text, 1, &[1, 2, 3]);
        assert!(few.give(&text, &mut ids));
        assert_eq!(ids, [1, 2, 3]);
        for left in (0..PATIENCE).rev() {
            few.had("a b c", 3);
            assert_eq!(few.may_have(&text), left > 0);
        }
        few.had(&text, 1);
        few.clear();
        assert!(!few.may_have(&text) && !few.give(&text, &mut ids));
    }
}
