//! Words of the raw text: cuts at which normalization, pre-tokenization and the model all start
//! afresh.
//!
//! With such cuts (see [`plan`]), a word needs to be normalized, cut and segmented only once. The
//! cache keeps its ids under its raw bytes, and most words of most texts were seen before. Text
//! between two cuts passes the ordinary steps, on that part alone. So only the cuts have to be
//! proved.

mod joined;
mod masks;
mod plan;
mod raw_cuts;
mod scan;
mod sentence;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::cache::budget::CacheBudget;
use crate::cache::inline_ids::{self, IDS_PER_ENTRY};
use crate::cache::key::{Key, Role};
use crate::cache::records::MAX_RECORD_BYTES;
use crate::engine::{Engine, EngineScratch};
use crate::error::Result;
use crate::models::Sink;
use crate::models::unigram::piece::SPACE;
use crate::normalize::{Normalizer, bert::is_ideograph};
use crate::pipeline::WordScratch;
use crate::pretokenize::rewriting::Origin;
use joined::Joined;
pub use raw_cuts::{EachWords, RawCuts};
use scan::{Layout, PLAIN, Scan, Scanner, WordBounds};
use sentence::SentenceScratch;

/// Longest word, in bytes, that is searched as a whole, and remembered, in sentences whose scores
/// are added up.
const MAX_WHOLE_WORD: usize = 31;
/// Words that are looked up together.
const LOOKUP_WORDS: usize = 192;
/// Parts of a word that are looked up together.
const LOOKUP_PARTS: usize = 64;
/// Ids that there is room for, for each of them; if a lookup has more, the room is used twice.
const IDS_OF_WORD: usize = 3;

/// A byte that the quick way does not know.
const NEVER: u8 = 0;
/// A byte that becomes U+2581.
const SPACED: u8 = 0x80;
/// The character that stands for a space inside tokens.
const SPACE_CHAR: char = '\u{2581}';
/// Longest word, in bytes, that gets a space in front.
const MAX_QUICK: usize = 48;

/// When a text gets a space in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    /// Each part of a text that is encoded by itself does.
    Always,
    /// The part at the beginning of the given text does.
    AtTheBeginning,
}

/// Cuts at characters of several bytes, which are looked for only where a word has many.
#[derive(Debug, Default)]
enum Inside {
    #[default]
    Nowhere,
    /// Around ideographs, and around these marks (sorted).
    Around(Vec<char>),
    /// Between characters that never stand beside each other in a token.
    Unjoined(Joined),
}

impl Inside {
    /// Puts the ends of the next parts of a word there, from where one begins; returns how many.
    fn ends(&self, word: &str, from: usize, ends: &mut [usize; LOOKUP_PARTS]) -> usize {
        let mut n = 0;
        let mut before = None;
        for (at, c) in word[from..].char_indices() {
            if let Some(before) = before.replace(c)
                && self.cuts(before, c)
            {
                ends[n] = from + at;
                n += 1;
                if n == LOOKUP_PARTS {
                    return n;
                }
            }
        }
        if from < word.len() {
            ends[n] = word.len();
            n += 1;
        }
        n
    }

    /// Where the first phrase of a word ends: what is worth to be kept, since texts repeat it.
    fn phrase(&self, word: &str) -> usize {
        let mut before = None;
        for (at, c) in word.char_indices() {
            if let Some(before) = before.replace(c)
                && ends_phrase(before)
                && self.cuts(before, c)
            {
                return at;
            }
        }
        word.len()
    }

    fn cuts(&self, before: char, after: char) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Around(marks) => {
                let alone =
                    |c: char| !c.is_ascii() && (is_ideograph(c) || marks.binary_search(&c).is_ok());
                alone(before) || alone(after)
            }
            Self::Unjoined(joined) => {
                let spelled = |c: char| if c == ' ' { SPACE_CHAR } else { c };
                !joined.has(spelled(before), spelled(after))
            }
        }
    }
}

/// True if a character stands at the end of a phrase, in scripts that have no spaces.
fn ends_phrase(c: char) -> bool {
    matches!(
        c,
        '\u{3001}' | '\u{3002}' | '\u{ff01}' | '\u{ff0c}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}'
    )
}

/// How the raw text of a tokenizer is cut, and the quick way to encode words of ASCII.
#[derive(Debug)]
pub(crate) struct RawWords {
    scanner: Scanner,
    /// Image of an ASCII byte in a word that this table covers as a whole: the word is one pretoken
    /// then.
    quick: [u8; 128],
    /// True if each pretoken begins with a space that the text does not have.
    spaced: bool,
    /// True if the first word is treated like one with a space in front, if it begins with none.
    first: Option<Prefix>,
    /// Where words too long to be remembered are cut further.
    inside: Inside,
    /// The largest score, where scores are added up over a sentence.
    largest: Option<f64>,
}

/// Cached words of one thread.
#[derive(Debug, Default)]
pub(crate) struct RawScratch {
    words: WordScratch,
    sentence: SentenceScratch,
}

impl RawScratch {
    /// Sets the budget that the caches share with other threads' caches.
    pub(crate) fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.words.set_budget(budget);
        self.sentence.near.set_budget(budget);
    }

    /// True if two bytes are enough for each id of the model.
    fn keep_small_ids(&mut self, small: bool) {
        self.words.keep_small_ids(small);
        self.sentence.near.keep_small_ids(small);
    }

    /// Keeps to a budget that was made less meanwhile.
    pub(crate) fn shrink_to_budget(&mut self) {
        self.words.shrink_to_budget();
        self.sentence.near.shrink_to_budget();
    }

    /// Forgets all words.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.sentence.near.clear();
        self.after_text();
    }

    /// Gives back what only a long text needs.
    pub(crate) fn after_text(&mut self) {
        self.words.after_text();
        self.sentence.after_text();
    }
}

/// Encoder of words that the caches do not have.
pub(crate) struct FullPath<'a> {
    pub(crate) normalizer: &'a Normalizer,
    pub(crate) engine: &'a Engine,
    /// True if the text is the beginning of the one that was given.
    pub(crate) begins: bool,
}

impl RawWords {
    /// Encodes a text in which nothing special is left, as it was given.
    pub(crate) fn encode<K: Sink>(
        &self,
        text: &str,
        full: &FullPath<'_>,
        raw: &mut RawScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        raw.keep_small_ids(inline_ids::are_small(full.engine.vocab().size()));
        if let Some(with_sums) = self.largest.zip(full.engine.unigram_of_sentences()) {
            let (largest, model) = with_sums;
            return self.encode_sentence(text, (model, largest), full, raw, scratch, sink);
        }
        let words = &mut raw.words;
        if words.has_small_ids() {
            self.encode_apart::<K, true>(text, full, words, scratch, sink)
        } else {
            self.encode_apart::<K, false>(text, full, words, scratch, sink)
        }
    }

    /// Encodes words that do not depend on those before them. `SMALL`: the width of the entries'
    /// ids.
    #[inline]
    fn encode_apart<K: Sink, const SMALL: bool>(
        &self,
        text: &str,
        full: &FullPath<'_>,
        words: &mut WordScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        let bytes = text.as_bytes();
        let mut found = WordBounds::default();
        let mut scan = Scan::new(&self.scanner, text, &mut found);
        let mut keys = [(Key::NONE, 0); LOOKUP_WORDS];
        let mut known = [0; LOOKUP_WORDS * IDS_OF_WORD + IDS_PER_ENTRY];
        let mut is_first = self.scanner.layout == Layout::Adjacent;
        loop {
            let n = scan.more(&mut found);
            if n == 0 {
                return Ok(());
            }
            let places = found.starts[..n].iter().zip(&found.ends[..n]);
            for (key, (&start, &end)) in keys.iter_mut().zip(places.clone()) {
                let word = Key::new(bytes, start, end).unwrap_or(Key::NONE);
                *key = (word, words.fetch(word));
            }
            let mut places = places;
            let mut from = 0;
            if is_first && let Some((&start, &end)) = places.next() {
                is_first = false;
                from = 1;
                self.first_word(&text[start..end], full, words, scratch, sink)?;
            }
            let mut n_known = 0;
            for (&(key, place), (&start, &end)) in keys[from..].iter().zip(places) {
                if let Some((ids, n_ids)) = words.find::<SMALL>(key, place)
                    && let Some(known) = known.get_mut(n_known..).and_then(<[u32]>::first_chunk_mut)
                {
                    *known = ids;
                    n_known += n_ids;
                } else {
                    sink.take(&known[..n_known]);
                    n_known = 0;
                    self.word(&text[start..end], full, words, scratch, sink)?;
                }
            }
            sink.take(&known[..n_known]);
        }
    }

    /// The word at the beginning, where words follow one another.
    fn first_word<K: Sink>(
        &self,
        word: &str,
        full: &FullPath<'_>,
        words: &mut WordScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        let mut room = [0; MAX_QUICK];
        if let Some(spaced) = self.with_space(word, full.begins, &mut room) {
            return self.word(spaced, full, words, scratch, sink);
        }
        if !full.begins {
            return full.give(word, scratch, sink);
        }
        // In a script without spaces this may be the whole of a short text.
        if let Some(known) = words.get_as(Role::First, word.as_bytes(), 0, word.len()) {
            sink.take(known);
            return Ok(());
        }
        let mut ids = words.take_ids();
        full.encode(word, true, scratch, &mut ids)?;
        words.keep_as(Role::First, word.as_bytes(), &ids);
        sink.take(&ids);
        words.give_ids(ids);
        Ok(())
    }

    /// A word at the beginning with a space in front, if that is what it is treated like.
    fn with_space<'r>(
        &self,
        word: &str,
        begins: bool,
        room: &'r mut [u8; MAX_QUICK],
    ) -> Option<&'r str> {
        let gets_space = match self.first? {
            Prefix::Always => true,
            Prefix::AtTheBeginning => begins,
        };
        let is_plain = |byte: &u8| self.scanner.members[usize::from(*byte)] & PLAIN != 0;
        if !gets_space || !word.as_bytes().first().is_some_and(is_plain) {
            return None;
        }
        let spaced = room.get_mut(..=word.len())?;
        let (space, rest) = spaced.split_first_mut()?;
        *space = b' ';
        rest.copy_from_slice(word.as_bytes());
        std::str::from_utf8(spaced).ok()
    }

    /// A word that the cache of short words may not have.
    #[inline(never)]
    fn word<K: Sink>(
        &self,
        word: &str,
        full: &FullPath<'_>,
        words: &mut WordScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        if let Some(known) = words.get(word.as_bytes(), 0, word.len()) {
            sink.take(known);
            return Ok(());
        }
        // Words that fit the cache of short words are rarely worth looking into.
        let has_parts = word.len() > Key::<1>::MAX_PRETOKEN_BYTES
            && !word.is_ascii()
            && !matches!(self.inside, Inside::Nowhere);
        if has_parts && word.len() > MAX_RECORD_BYTES {
            return self.phrases(word, full, words, scratch, sink);
        }
        let mut ids = words.take_ids();
        if has_parts {
            self.parts(word, full, words, scratch, &mut ids)?;
        } else {
            self.whole(word, full, scratch, &mut ids)?;
        }
        words.keep(word.as_bytes(), &ids);
        sink.take(&ids);
        words.give_ids(ids);
        Ok(())
    }

    /// A word that is too long to be kept, phrase by phrase.
    fn phrases<K: Sink>(
        &self,
        word: &str,
        full: &FullPath<'_>,
        words: &mut WordScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        let mut rest = word;
        while !rest.is_empty() {
            let (phrase, after) = rest.split_at(self.inside.phrase(rest));
            rest = after;
            if phrase.len() > MAX_RECORD_BYTES {
                self.parts(phrase, full, words, scratch, sink)?;
            } else {
                self.word(phrase, full, words, scratch, sink)?;
            }
        }
        Ok(())
    }

    /// The parts of a word, one after the other.
    fn parts<K: Sink>(
        &self,
        word: &str,
        full: &FullPath<'_>,
        words: &mut WordScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        let mut ends = [0; LOOKUP_PARTS];
        let mut keys = [(Key::NONE, 0); LOOKUP_PARTS];
        let mut known = [0; LOOKUP_PARTS * IDS_OF_WORD + IDS_PER_ENTRY];
        let mut ids = Vec::new();
        let mut from = 0;
        loop {
            let n = self.inside.ends(word, from, &mut ends);
            if n == 0 {
                return Ok(());
            }
            let mut start = from;
            for (key, &end) in keys.iter_mut().zip(&ends[..n]) {
                let part = Key::new(word.as_bytes(), start, end).unwrap_or(Key::NONE);
                *key = (part, words.fetch(part));
                start = end;
            }
            let mut n_known = 0;
            for (&(key, place), &end) in keys.iter().zip(&ends[..n]) {
                let part = &word[std::mem::replace(&mut from, end)..end];
                if let Some((ids, n_ids)) = words.find_any(key, place)
                    && let Some(known) = known.get_mut(n_known..).and_then(<[u32]>::first_chunk_mut)
                {
                    *known = ids;
                    n_known += n_ids;
                    continue;
                }
                sink.take(&known[..n_known]);
                n_known = 0;
                if let Some(known) = words.get(part.as_bytes(), 0, part.len()) {
                    sink.take(known);
                    continue;
                }
                ids.clear();
                self.whole(part, full, scratch, &mut ids)?;
                // A word that is its only part is kept by whom it was given by.
                if part.len() < word.len() {
                    words.keep(part.as_bytes(), &ids);
                }
                sink.take(&ids);
            }
            sink.take(&known[..n_known]);
        }
    }

    /// Appends the ids of a word that is not known, or of a part of one, which has no parts.
    fn whole(
        &self,
        word: &str,
        full: &FullPath<'_>,
        scratch: &mut EngineScratch,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let mut normalized = std::mem::take(scratch.text());
        if self.spell(word.as_bytes(), &mut normalized) {
            let text = normalized.as_bytes();
            full.engine.encode_normalized(text, scratch, ids)?;
        } else {
            full.encode(word, self.scanner.layout == Layout::Separated, scratch, ids)?;
        }
        *scratch.text() = normalized;
        Ok(())
    }

    /// Replaces a text by what a word becomes if the table knows all of its bytes; says whether it
    /// did.
    fn spell(&self, word: &[u8], normalized: &mut String) -> bool {
        normalized.clear();
        let mut rest = word;
        if let Some((&first, behind)) = rest.split_first()
            && self.quick.get(usize::from(first)) == Some(&SPACED)
        {
            // Spaces alone may be taken off the end of the text.
            if behind.is_empty() {
                return false;
            }
            rest = behind;
            normalized.push_str(SPACE);
        } else if self.spaced {
            normalized.push_str(SPACE);
        }
        for &byte in rest {
            match self.quick.get(usize::from(byte)) {
                Some(&image) if image != NEVER && image != SPACED => {
                    normalized.push(char::from(image));
                }
                _ => return false,
            }
        }
        true
    }
}

impl FullPath<'_> {
    /// Normalizes a part of the text as SentencePiece does.
    fn normalize_sentence(&self, part: &str, anew: bool) -> Result<String> {
        match self.engine {
            Engine::SentencePiece(engine) if anew => {
                Ok(engine.processor.normalizer().normalize(part))
            }
            Engine::SentencePiece(engine) => Ok(engine.processor.normalizer().go_on(part)),
            _ => Ok(self.normalizer.go_on(part, !anew)?.into_owned()),
        }
    }

    /// Appends the ids of a part of the text by all the steps. `anew`: it does not go on with what
    /// was before it.
    fn encode(
        &self,
        part: &str,
        anew: bool,
        scratch: &mut EngineScratch,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let origin = Origin {
            begins: self.begins && anew,
            continues: !anew,
            ..Origin::default()
        };
        let normalized = self.normalizer.go_on(part, !anew)?;
        self.engine.encode_part(&normalized, origin, scratch, ids)
    }

    /// Encodes a part into a sink; the part does not continue the one before it.
    fn give<K: Sink>(&self, part: &str, scratch: &mut EngineScratch, sink: &mut K) -> Result<()> {
        let mut ids = Vec::new();
        self.encode(part, true, scratch, &mut ids)?;
        sink.take(&ids);
        Ok(())
    }
}
