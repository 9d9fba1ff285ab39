//! Words of a sentence whose scores are added up as `sentencepiece` does: see `unigram::words`.
//!
//! A cached word is certain for sums up to a limit. Most words are certain up to the largest sum
//! there is. A few are certain up to a smaller one: they have a cache of their own, and the sum is
//! checked before the lookup. The rest is searched each time, from the sum at its place. That sum
//! is worked out only when it is needed, from the ids since it was known. Until then it has an
//! upper bound: a multiple of the largest score.

use super::scan::{Scan, WordBounds};
use super::{FullPath, LOOKUP_WORDS, MAX_WHOLE_WORD, RawScratch, RawWords};
use crate::cache::key::Key;
use crate::engine::EngineScratch;
use crate::error::Result;
use crate::models::Sink;
use crate::models::unigram::{LARGEST_SUM, MAX_CERTAIN_CHARS, Sum, UnigramModel};
use crate::pipeline::WordScratch;

/// The largest sum for which words of the second cache are certain: a text of some 1,500 tokens has
/// it.
const NEAR: f64 = 16_384.0;
/// Most ids kept since the sum was known, without the ids of one lookup's words.
const MAX_PENDING: usize = 1 << 12;

/// State of a sentence beside the words that are certain.
#[derive(Debug, Default)]
pub(crate) struct SentenceScratch {
    /// Words that are certain up to [`NEAR`].
    pub(super) near: WordScratch,
    /// Ids since then.
    pending: Vec<u32>,
    normalized: String,
}

impl SentenceScratch {
    pub(super) fn after_text(&mut self) {
        self.near.after_text();
        self.pending.clear();
        self.pending.shrink_to(2 * MAX_PENDING);
        self.normalized.clear();
        self.normalized.shrink_to(2 * MAX_PENDING);
    }
}

/// The sum at some place of a sentence, and what came after it.
struct Sentence<'a, 'k, K> {
    model: &'a UnigramModel,
    /// The largest magnitude of a score.
    largest: f64,
    sum: Sum,
    pending: &'a mut Vec<u32>,
    /// How many of them the sink has taken.
    n_taken: usize,
    sink: &'k mut K,
}

impl<K: Sink> Sentence<'_, '_, K> {
    /// A sum that the true one does not exceed.
    fn at_most(&self) -> f64 {
        // Rounding adds a part in 2^24 of the sum for each id; a thousandth is more than all that
        // are pending.
        (self.sum.magnitude() + self.pending.len() as f64 * self.largest) * 1.001
    }

    /// True if the sum is at most so much here; works it out if it must.
    fn is_at_most(&mut self, most: f64) -> bool {
        if self.at_most() <= most {
            return true;
        }
        self.settle();
        self.at_most() <= most
    }

    fn flush(&mut self) {
        self.sink.take(&self.pending[self.n_taken..]);
        self.n_taken = self.pending.len();
    }

    /// Works out the sum.
    fn settle(&mut self) {
        self.flush();
        self.sum = self.model.sum_after(self.sum, self.pending);
        self.pending.clear();
        self.n_taken = 0;
    }
}

impl RawWords {
    /// Encodes a text with sums; returns how many words it had.
    #[inline(never)] // its arrays are not for other models' stacks
    pub(super) fn encode_sentence<K: Sink>(
        &self,
        text: &str,
        (model, largest): (&UnigramModel, f64),
        full: &FullPath<'_>,
        raw: &mut RawScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        let bytes = text.as_bytes();
        let RawScratch {
            words, sentence, ..
        } = raw;
        let SentenceScratch {
            near,
            pending,
            normalized,
        } = sentence;
        pending.clear();
        let mut so_far = Sentence {
            model,
            largest,
            sum: Sum::default(),
            pending,
            n_taken: 0,
            sink,
        };
        let mut found = WordBounds::default();
        let mut scan = Scan::new(&self.scanner, text, &mut found);
        // Inside of a word no sum is larger than the one before it by more.
        let certain = LARGEST_SUM - MAX_CERTAIN_CHARS * largest;
        let mut keys = [(Key::NONE, 0); LOOKUP_WORDS];
        let mut is_first = true;
        loop {
            let n = scan.more(&mut found);
            if n == 0 {
                so_far.flush();
                return Ok(());
            }
            if so_far.pending.len() > MAX_PENDING {
                so_far.settle();
            }
            let places = found.starts[..n].iter().zip(&found.ends[..n]);
            for (key, (&start, &end)) in keys.iter_mut().zip(places.clone()) {
                let word = Key::new(bytes, start, end).unwrap_or(Key::NONE);
                *key = (word, words.fetch(word));
            }
            for (&(key, place), (&start, &end)) in keys.iter().zip(places) {
                let is_known_sum = so_far.at_most() <= certain;
                if is_known_sum
                    && !is_first
                    && let Some((ids, n_ids)) = words.find_any(key, place)
                {
                    let before = so_far.pending.len();
                    so_far.pending.extend_from_slice(&ids);
                    so_far.pending.truncate(before + n_ids);
                    continue;
                }
                let mut room = [0; super::MAX_QUICK];
                let word = &text[start..end];
                let spaced = is_first.then(|| self.with_space(word, true, &mut room));
                let anew = spaced.is_some_and(|spaced| spaced.is_none());
                let word = spaced.flatten().unwrap_or(word);
                is_first = false;
                let may_know = !anew && so_far.is_at_most(certain);
                if may_know {
                    let known = words.get(word.as_bytes(), 0, word.len());
                    let known = known.or_else(|| {
                        let ids = near.get(word.as_bytes(), 0, word.len())?;
                        so_far.is_at_most(NEAR).then_some(ids)
                    });
                    if let Some(ids) = known {
                        so_far.pending.extend_from_slice(ids);
                        continue;
                    }
                }
                // The quick way is for what goes on: at the beginning spaces may go, or be added
                // to.
                if anew || !self.spell(word.as_bytes(), normalized) {
                    *normalized = full.normalize_sentence(word, anew)?;
                }
                let mut ids = words.take_ids();
                let limit = if may_know && word.len() <= MAX_WHOLE_WORD {
                    let unigram = scratch.unigram_of_sentence();
                    model.certain_word(normalized.as_bytes(), largest, unigram, &mut ids)
                } else {
                    None
                };
                let limit = limit.unwrap_or(-1.0);
                if limit >= LARGEST_SUM {
                    words.keep(word.as_bytes(), &ids);
                } else if limit >= NEAR {
                    near.keep(word.as_bytes(), &ids);
                }
                if limit >= 0.0 && so_far.is_at_most(limit.min(certain)) {
                    so_far.pending.extend_from_slice(&ids);
                } else {
                    so_far.settle();
                    ids.clear();
                    model.word_in_sentence(
                        normalized.as_bytes(),
                        &mut so_far.sum,
                        scratch.unigram_of_sentence(),
                        &mut ids,
                    )?;
                    so_far.sink.take(&ids);
                }
                words.give_ids(ids);
            }
        }
    }
}
