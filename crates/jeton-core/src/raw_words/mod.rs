//! Words of the raw text: cuts at which normalization, pre-tokenization and the model all start afresh.
//!
//! Where such cuts are known (see [`plan`]), a word needs to be normalized, cut and segmented once: what became of
//! it is kept under its raw bytes, and most words of most texts were seen before. What happens between two cuts is
//! done by the same steps as ever, on that part of the text alone, so that cuts are all that has to be proved.

mod plan;
mod scan;

#[cfg(test)]
mod tests;

use crate::engine::{Engine, EngineScratch};
use crate::error::Result;
use crate::normalize::Normalizer;
use crate::pipeline::{Sink, WordScratch};
use crate::pretokenize::rewriting::Origin;
use crate::spm::piece::SPACE;
use crate::word_cache::Key;
use scan::{Found, Lie, PLAIN, Scan, Scanner};

/// Words that are looked up together.
const KNOWN_AT_ONCE: usize = 192;

/// A byte that the quick way does not know.
const NEVER: u8 = 0;
/// One that becomes U+2581.
const SPACED: u8 = 0x80;
/// Longest word, in bytes, that the quick way takes.
const MAX_QUICK: usize = 48;

/// When a text gets a space in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    /// Each part of a text that is encoded by itself does.
    Always,
    /// The part at the beginning of the given text does.
    AtTheBeginning,
}

/// How the raw text of a tokenizer is cut, and the quick way to encode words of ASCII.
#[derive(Debug)]
pub(crate) struct RawWords {
    scanner: Scanner,
    /// What a byte of ASCII becomes in a word all of which this table knows: the word is one pretoken then.
    quick: [u8; 128],
    /// Whether each pretoken begins with a space that the text does not have.
    spaced: bool,
    /// Whether the first word is treated like one with a space in front, if it begins with none.
    first: Option<Prefix>,
}

/// What encodes the words that were not seen before.
pub(crate) struct Slow<'a> {
    pub(crate) normalizer: &'a Normalizer,
    pub(crate) engine: &'a Engine,
    /// Whether the text is the beginning of the one that was given.
    pub(crate) begins: bool,
}

impl RawWords {
    /// Encodes a text in which nothing special is left, as it was given.
    pub(crate) fn encode<K: Sink>(
        &self,
        text: &str,
        slow: &Slow<'_>,
        words: &mut WordScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        let bytes = text.as_bytes();
        let mut found = Found::default();
        let mut scan = Scan::new(&self.scanner, text, &mut found);
        let mut keys = [(Key::NONE, 0); KNOWN_AT_ONCE];
        let mut known = [0; KNOWN_AT_ONCE * SHORT_IDS + SHORT_IDS];
        let mut is_first = self.scanner.lie == Lie::Touching;
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
                self.first_word(&text[start..end], slow, words, scratch, sink)?;
            }
            let mut n_known = 0;
            for (&(key, place), (&start, &end)) in keys[from..].iter().zip(places) {
                if let Some((ids, n_ids)) = words.find(key, place)
                    && let Some(known) = known.get_mut(n_known..).and_then(<[u32]>::first_chunk_mut)
                {
                    *known = *ids;
                    n_known += n_ids;
                } else {
                    sink.take(&known[..n_known]);
                    n_known = 0;
                    self.word(&text[start..end], slow, words, scratch, sink)?;
                }
            }
            sink.take(&known[..n_known]);
        }
    }

    /// The word at the beginning, where words follow one another.
    fn first_word<K: Sink>(
        &self,
        word: &str,
        slow: &Slow<'_>,
        words: &mut WordScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        let gets_space = match self.first {
            None => false,
            Some(Prefix::Always) => true,
            Some(Prefix::AtTheBeginning) => slow.begins,
        };
        let is_plain = |byte: &u8| self.scanner.members[usize::from(*byte)] & PLAIN != 0;
        let mut spaced = [b' '; MAX_QUICK];
        if gets_space
            && word.as_bytes().first().is_some_and(is_plain)
            && let Some(room) = spaced.get_mut(1..=word.len())
        {
            room.copy_from_slice(word.as_bytes());
            if let Ok(spaced) = std::str::from_utf8(&spaced[..=word.len()]) {
                return self.word(spaced, slow, words, scratch, sink);
            }
        }
        let mut ids = Vec::new();
        slow.encode(word, true, scratch, &mut ids)?;
        sink.take(&ids);
        Ok(())
    }

    /// A word that the cache of short words may not have.
    #[inline(never)]
    fn word<K: Sink>(
        &self,
        word: &str,
        slow: &Slow<'_>,
        words: &mut WordScratch,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        if let Some(known) = words.get(word.as_bytes(), 0, word.len()) {
            sink.take(known);
            return Ok(());
        }
        let mut ids = words.take_ids();
        if !self.quickly(word.as_bytes(), slow.engine, scratch, &mut ids)? {
            slow.encode(word, self.scanner.lie == Lie::Apart, scratch, &mut ids)?;
        }
        words.keep(word.as_bytes(), &ids);
        sink.take(&ids);
        words.give_ids(ids);
        Ok(())
    }

    /// Appends the ids of a word if the table knows all of its bytes; says whether it did.
    fn quickly(
        &self,
        word: &[u8],
        engine: &Engine,
        scratch: &mut EngineScratch,
        ids: &mut Vec<u32>,
    ) -> Result<bool> {
        let mut room = [0; MAX_QUICK + SPACE.len()];
        let mut rest = word;
        let mut n = 0;
        if let Some((&first, behind)) = rest.split_first()
            && self.quick.get(usize::from(first)) == Some(&SPACED)
        {
            // Spaces alone may be taken off the end of the text.
            if behind.is_empty() {
                return Ok(false);
            }
            rest = behind;
            n = SPACE.len();
        } else if self.spaced {
            n = SPACE.len();
        }
        if rest.len() > MAX_QUICK {
            return Ok(false);
        }
        room[..n].copy_from_slice(&SPACE.as_bytes()[..n]);
        for &byte in rest {
            match self.quick.get(usize::from(byte)) {
                Some(&image) if image != NEVER && image != SPACED => room[n] = image,
                _ => return Ok(false),
            }
            n += 1;
        }
        engine.encode_normalized(&room[..n], scratch, ids)?;
        Ok(true)
    }
}

impl Slow<'_> {
    /// Appends the ids of a part of the text by all the steps. `anew`: it does not go on with what was before it.
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
}
