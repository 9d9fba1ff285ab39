//! Text that needs no special tokens and no normalization any more: pretokens, cache, model.
//!
//! The cache belongs to the pipeline so that no model re-invents it. Most pretokens of a text were
//! seen before, and a known pretoken takes one hash and one cache line.

pub(crate) mod lookup;
pub(crate) mod offsets;
pub(crate) mod section;
pub(crate) mod segments;

use std::sync::Arc;

use crate::cache::budget::CacheBudget;
use crate::cache::inline_ids::{IDS_PER_ENTRY, unpack};
use crate::cache::key::{Key, Role};
use crate::cache::records::MAX_RECORD_BYTES;
use crate::cache::tiers::{FEW_IDS, PretokenCache};
use crate::cpu::dispatch::Kernel;
use crate::cpu::prefetch::prefetch_beginning;
use crate::error::Result;
use crate::models::{Model, Sink};
use crate::pipeline::lookup::{BatchLookup, Ends, Miss};
use crate::pipeline::segments::{SegmentLengthStats, Segments};
use crate::pretokenize::PreTokenizer;
use crate::pretokenize::rewriting::Origin;
use crate::text::alignment::Alignment;

/// Most ids of one pretoken for which a scratch keeps room from text to text.
const MAX_KEPT_IDS: usize = 1 << 16;

/// Takes each id of a text: id, first byte, end, index of the pretoken, bytes that the model saw.
pub(crate) type EachSpan<'f> = dyn FnMut(u32, usize, usize, i64, &[u8]) + 'f;

/// Pre-tokenizer and model.
#[derive(Debug)]
pub struct Pipeline<M> {
    pretokenizer: PreTokenizer,
    model: M,
    kernel: Kernel,
}

/// State of a thread that encodes, whatever the model: its pretoken caches and room for ids.
#[derive(Debug, Default)]
pub struct WordScratch {
    caches: PretokenCache,
    ids: Vec<u32>,
    segment_lengths: SegmentLengthStats,
    /// Lent to one call at a time; made for the first.
    batch: Option<Box<BatchLookup>>,
}

impl WordScratch {
    /// Sets the budget that the cache shares with the caches of other threads.
    pub(crate) fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.caches.set_budget(budget);
    }

    /// Gives back all but the caches, whose size does not depend on any text's.
    pub(crate) fn give_back(&mut self) {
        self.ids = Vec::new();
    }

    /// Shrinks the room for ids after a text. One pretoken needs little, unless it was a whole
    /// text.
    pub(crate) fn after_text(&mut self) {
        self.ids.clear();
        self.ids.shrink_to(MAX_KEPT_IDS);
    }

    /// Keeps to a budget that was made less meanwhile.
    pub(crate) fn shrink_to_budget(&mut self) {
        self.caches.shrink_to_budget();
    }

    /// Forgets all pretokens.
    pub(crate) fn clear(&mut self) {
        self.caches.clear();
    }

    /// Returns the hash that tells the place of a short pretoken, and prefetches it.
    #[inline(always)]
    pub(crate) fn fetch(&self, key: Key<1>) -> usize {
        self.caches.few_ids.places().fetch(key)
    }

    /// Chooses the width of kept ids: see [`PretokenCache::keep_small_ids`].
    #[inline]
    pub(crate) fn keep_small_ids(&mut self, small: bool) {
        self.caches.keep_small_ids(small);
    }

    /// True if kept ids have two bytes.
    #[inline]
    pub(crate) fn has_small_ids(&self) -> bool {
        self.caches.has_small_ids()
    }

    /// Returns the ids of a short pretoken, and how many of them count. `place` comes from
    /// [`fetch`](Self::fetch), `SMALL` from [`has_small_ids`](Self::has_small_ids).
    #[inline(always)]
    pub(crate) fn find<const SMALL: bool>(
        &self,
        key: Key<1>,
        place: usize,
    ) -> Option<([u32; IDS_PER_ENTRY], usize)> {
        let payload = self.caches.few_ids.places().find(key, place)?;
        Some(unpack::<SMALL>(payload))
    }

    /// Finds a short pretoken, whatever the width of its entry's ids.
    #[inline(always)]
    pub(crate) fn find_any(
        &self,
        key: Key<1>,
        place: usize,
    ) -> Option<([u32; IDS_PER_ENTRY], usize)> {
        if self.has_small_ids() {
            self.find::<true>(key, place)
        } else {
            self.find::<false>(key, place)
        }
    }

    /// Returns the ids of a pretoken, if it is known.
    #[inline]
    pub(crate) fn get(&mut self, text: &[u8], start: usize, end: usize) -> Option<&[u32]> {
        self.get_as(Role::Pretoken, text, start, end)
    }

    /// Returns the ids of a pretoken or a unit, by `role`, if it is known.
    #[inline]
    pub(crate) fn get_as(
        &mut self,
        role: Role,
        text: &[u8],
        start: usize,
        end: usize,
    ) -> Option<&[u32]> {
        self.caches.get(role, text, start, end)
    }

    /// Remembers the ids of a pretoken.
    pub(crate) fn keep(&mut self, word: &[u8], ids: &[u32]) {
        self.keep_as(Role::Pretoken, word, ids);
    }

    /// Remembers the ids of a pretoken that a batch did not know.
    fn keep_unknown(&mut self, unknown: Miss, word: &[u8], ids: &[u32]) {
        if unknown.key == Key::NONE {
            self.keep(word, ids);
        } else {
            self.caches
                .keep_short(unknown.key, Role::Pretoken, word, ids);
        }
    }

    /// Remembers the ids of a pretoken or a unit that is no longer than a phrase.
    pub(crate) fn keep_as(&mut self, role: Role, word: &[u8], ids: &[u32]) {
        if word.len() <= MAX_RECORD_BYTES {
            self.caches.keep(role, word, ids);
        }
    }

    /// Room for ids, empty.
    pub(crate) fn take_ids(&mut self) -> Vec<u32> {
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        ids
    }

    /// Gives the room back.
    pub(crate) fn give_ids(&mut self, ids: Vec<u32>) {
        self.ids = ids;
    }
}

impl<M: Model> Pipeline<M> {
    /// Joins the two.
    pub fn new(pretokenizer: PreTokenizer, model: M) -> Self {
        Self {
            pretokenizer,
            model,
            kernel: Kernel::fastest(),
        }
    }

    /// The pre-tokenizer.
    pub fn pretokenizer(&self) -> &PreTokenizer {
        &self.pretokenizer
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Encodes text to a sink.
    pub fn encode<K: Sink>(
        &self,
        text: &str,
        origin: Origin<'_>,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<()> {
        if let Some(automaton) = self.pretokenizer.only_automaton() {
            let bytes = text.as_bytes();
            // Made where they stay: to move what was written just now waits for it, which counts in
            // a short text (docs/log/engine-2026-11.md).
            let mut pieces = automaton.pieces(bytes);
            return self.encode_pieces(bytes, &mut pieces, words, scratch, sink);
        }
        self.each_pretoken(text, origin, |bytes, start, end| {
            self.word(bytes, start, end, words, scratch, sink)
        })
    }

    /// Encodes pieces that follow one another.
    pub(crate) fn encode_pieces<K: Sink>(
        &self,
        bytes: &[u8],
        pieces: &mut impl Ends,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<()> {
        let mut batch = words.batch.take().unwrap_or_default();
        batch.begin();
        prefetch_beginning(bytes);
        let result = self.encode_batches(bytes, pieces, &mut batch, words, scratch, sink);
        words.caches.note_detours(batch.n_detours());
        words.batch = Some(batch);
        result
    }

    #[inline]
    fn encode_batches<K: Sink>(
        &self,
        bytes: &[u8],
        pieces: &mut impl Ends,
        batch: &mut BatchLookup,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<()> {
        let search = |word: &[u8]| self.model.prefetch_whole(word);
        while !batch.is_at_end(bytes) && batch.fill(bytes, pieces, &words.caches) {
            while batch.next_unknown(bytes, &words.caches, search) {
                let unknown = batch.unknown();
                sink.take(batch.known());
                if unknown.is_new {
                    self.unknown_word(bytes, unknown, words, scratch, sink)?;
                } else {
                    // It may be known, and have more ids than there was room for.
                    self.word(bytes, unknown.start, unknown.end, words, scratch, sink)?;
                }
            }
            sink.take(batch.known());
        }
        Ok(())
    }

    /// Calls `each` with a text and the range of it that is a pretoken, for each of them.
    #[inline]
    pub(crate) fn each_pretoken(
        &self,
        text: &str,
        origin: Origin<'_>,
        mut each: impl FnMut(&[u8], usize, usize) -> Result<()>,
    ) -> Result<()> {
        if self.pretokenizer.rewrites() {
            let pieces = self.pretokenizer.pieces(text, origin, false)?;
            let bytes = pieces.text.as_bytes();
            let mut ranges = pieces.ranges.iter();
            return ranges.try_for_each(|&(start, end)| each(bytes, start, end));
        }
        let bytes = text.as_bytes();
        self.pretokenizer
            .split(text, |start, end| each(bytes, start, end))
    }

    /// One pretoken, from the cache or the model.
    #[inline]
    pub(crate) fn word<K: Sink>(
        &self,
        bytes: &[u8],
        start: usize,
        end: usize,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<()> {
        if let Some(known) = words.get(bytes, start, end) {
            sink.take(known);
            return Ok(());
        }
        let unknown = Miss::new(start, end);
        self.unknown_word(bytes, unknown, words, scratch, sink)
    }

    /// One that no cache has.
    #[inline(never)]
    fn unknown_word<K: Sink>(
        &self,
        bytes: &[u8],
        unknown: Miss,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<()> {
        let pretoken = &bytes[unknown.start..unknown.end];
        if let Some(id) = self.model.lookup_whole(pretoken, unknown.search) {
            // Units have a role of their own: a whole pretoken is kept apart from an equal unit.
            words.keep_unknown(unknown, pretoken, &[id]);
            sink.take(&[id]);
            return Ok(());
        }
        let mut ids = words.take_ids();
        let result =
            if self.model.can_cut(pretoken.len()) && words.segment_lengths.is_worth(pretoken) {
                self.units(
                    &bytes[unknown.start..],
                    pretoken.len(),
                    words,
                    scratch,
                    &mut ids,
                )
            } else {
                self.model.encode_segment(pretoken, scratch, &mut ids)
            };
        if result.is_ok() {
            words.keep_unknown(unknown, pretoken, &ids);
            sink.take(&ids);
        }
        words.give_ids(ids);
        result
    }

    /// Encodes a pretoken, the first `n` bytes of a text, unit by unit. Most new pretokens have
    /// known units. Appends its ids.
    fn units(
        &self,
        text: &[u8],
        n: usize,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let pretoken = &text[..n];
        let mut units = Segments::new(self.kernel, self.role_of_units());
        let (mut start, mut n_units) = (0, 0);
        while start < pretoken.len() {
            let n = self.model.safe_cuts(pretoken, start, units.ends());
            n_units += n;
            units.make_keys(text, start, n, &words.caches);
            for (key, place, end) in units.all(n) {
                if let Some(known) = words.caches.few_ids.places().find(key, place) {
                    // The whole payload is written, then cut off behind its ids: no loop, no
                    // branch.
                    let counting = ids.len() + known[FEW_IDS] as usize;
                    ids.extend_from_slice(known);
                    ids.truncate(counting);
                } else {
                    self.rare_unit(pretoken, start, end, words, scratch, ids)?;
                }
                start = end;
            }
        }
        words.segment_lengths.note(pretoken.len(), n_units);
        Ok(())
    }

    /// Encodes a unit that was not in its first place in the cache of short pretokens.
    #[inline(never)]
    fn rare_unit(
        &self,
        pretoken: &[u8],
        start: usize,
        end: usize,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let unit = &pretoken[start..end];
        // A pretoken that is one unit: the caller has looked for it, and keeps it.
        if unit.len() == pretoken.len() {
            return self.model.encode_segment(unit, scratch, ids);
        }
        let role = self.role_of_units();
        if let Some(known) = words.get_as(role, pretoken, start, end) {
            ids.extend_from_slice(known);
            return Ok(());
        }
        let from = ids.len();
        self.model.encode_segment(unit, scratch, ids)?;
        words.keep_as(role, unit, &ids[from..]);
        Ok(())
    }

    /// Role of units for the caches: the role of pretokens unless a pretoken may be a token as a
    /// whole.
    #[inline]
    fn role_of_units(&self) -> Role {
        if self.model.has_whole() {
            Role::Unit
        } else {
            Role::Pretoken
        }
    }

    /// Encodes text without the cache: `each(id, start, end, word, surface)`, in bytes of the text,
    /// with the number of the pretoken and the bytes of it that the model saw. Returns how many
    /// pretokens there were.
    pub(crate) fn encode_spans(
        &self,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut M::Scratch,
        each: &mut EachSpan<'_>,
    ) -> Result<i64> {
        let mut words = 0;
        if self.pretokenizer.rewrites() {
            let pieces = self.pretokenizer.pieces(text, origin, true)?;
            let identity = Alignment::identity(text.len());
            let mut lookup = pieces.alignment.as_ref().unwrap_or(&identity).lookup();
            for &(start, end) in &pieces.ranges {
                let pretoken = &pieces.text.as_bytes()[start..end];
                self.model
                    .encode_spans(pretoken, scratch, &mut |id, from, to| {
                        let surface = pretoken.get(from..to).unwrap_or_default();
                        let (from, to) = lookup.source_range(start + from, start + to);
                        each(id, from, to, words, surface);
                    })?;
                words += 1;
            }
            return Ok(words);
        }
        self.pretokenizer.split(text, |start, end| {
            let pretoken = &text.as_bytes()[start..end];
            self.model
                .encode_spans(pretoken, scratch, &mut |id, from, to| {
                    let surface = pretoken.get(from..to).unwrap_or_default();
                    each(id, start + from, start + to, words, surface);
                })?;
            words += 1;
            Ok(())
        })?;
        Ok(words)
    }
}
