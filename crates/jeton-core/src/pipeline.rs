//! Text that needs no special tokens and no normalization any more: pretokens, cache, model.
//!
//! The cache belongs to the pipeline so that no model re-invents it: most pretokens of a text were seen
//! before, and for those the work is one hash and one cache line.

use crate::error::Result;
use crate::normalize::Alignment;
use crate::pretokenize::PreTokenizer;
use crate::pretokenize::rewriting::Origin;
use crate::vocab::Vocab;

/// A tokenization model: turns one pretoken into ids, and knows nothing of other models.
pub trait Model: Send + Sync {
    /// Memory it reuses between pretokens.
    type Scratch: Default + Send;

    /// Token bytes and ids.
    fn vocab(&self) -> &Vocab;

    /// Appends the ids of one pretoken.
    fn encode_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut Self::Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()>;

    /// The same with the bytes of the pretoken that each id stands for: `each(id, start, end)`.
    fn encode_spans(
        &self,
        pretoken: &[u8],
        scratch: &mut Self::Scratch,
        each: &mut dyn FnMut(u32, usize, usize),
    ) -> Result<()>;
}

/// Spans from the lengths of pieces that follow one another without gaps: what most models have.
pub(crate) fn spans_of_lengths(
    each: &mut dyn FnMut(u32, usize, usize),
) -> impl FnMut(u32, usize) + '_ {
    let mut start = 0;
    move |id, bytes| {
        each(id, start, start + bytes);
        start += bytes;
    }
}

/// Where ids go: a vector, or a mere count.
pub trait Sink {
    /// Takes the ids of one pretoken.
    fn take(&mut self, ids: &[u32]);
}

impl Sink for Vec<u32> {
    #[inline]
    fn take(&mut self, ids: &[u32]) {
        self.extend_from_slice(ids);
    }
}

/// A sink that only counts.
#[derive(Debug, Default)]
pub struct Counter(pub u64);

impl Sink for Counter {
    #[inline]
    fn take(&mut self, ids: &[u32]) {
        self.0 += ids.len() as u64;
    }
}

/// Pre-tokenizer and model.
#[derive(Debug)]
pub struct Pipeline<M> {
    pretokenizer: PreTokenizer,
    model: M,
}

/// What a thread needs to encode, whatever the model: its word cache and room for ids.
#[derive(Debug, Default)]
pub struct WordScratch {
    cache: WordCache,
    ids: Vec<u32>,
}

impl<M: Model> Pipeline<M> {
    /// Joins the two.
    pub fn new(pretokenizer: PreTokenizer, model: M) -> Self {
        Self {
            pretokenizer,
            model,
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
        if self.pretokenizer.rewrites() {
            let pieces = self.pretokenizer.pieces(text, origin, false)?;
            let bytes = pieces.text.as_bytes();
            return pieces
                .ranges
                .iter()
                .try_for_each(|&(start, end)| self.word(bytes, start, end, words, scratch, sink));
        }
        let bytes = text.as_bytes();
        self.pretokenizer.split(text, |start, end| {
            self.word(bytes, start, end, words, scratch, sink)
        })
    }

    /// One pretoken, from the cache or the model.
    #[inline]
    fn word<K: Sink>(
        &self,
        bytes: &[u8],
        start: usize,
        end: usize,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<()> {
        let WordScratch { cache, ids } = words;
        let Some(key) = Key::new(bytes, start, end) else {
            ids.clear();
            self.model
                .encode_pretoken(&bytes[start..end], scratch, ids)?;
            sink.take(ids);
            return Ok(());
        };
        if let Some(known) = cache.get(key) {
            sink.take(known);
            return Ok(());
        }
        ids.clear();
        self.model
            .encode_pretoken(&bytes[start..end], scratch, ids)?;
        cache.put(key, ids);
        sink.take(ids);
        Ok(())
    }

    /// Encodes text without the cache: `each(id, start, end, word, surface)`, in bytes of the text, with the number
    /// of the pretoken and the bytes of it that the model saw. Returns how many pretokens there were.
    pub fn encode_spans(
        &self,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut M::Scratch,
        each: &mut dyn FnMut(u32, usize, usize, i64, &[u8]),
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

/// Longest pretoken, in bytes, that the cache keeps: the length fits the key's top byte.
const MAX_CACHED_BYTES: usize = 15;
/// Most ids that an entry holds; nearly all pretokens of ordinary text have one or two.
const MAX_CACHED_IDS: usize = 3;
/// Sets of two entries (one cache line each) at first: 64 KB, so that a short text does not pay for
/// memory it will not use ...
const MIN_SETS: usize = 1 << 10;
/// ... and at most: 8 MB. Memory is bounded by construction, however many words a text has.
const MAX_SETS: usize = 1 << 17;

/// A short pretoken as a number: its bytes, zeros, its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(u128);

impl Key {
    #[inline]
    fn new(text: &[u8], start: usize, end: usize) -> Option<Self> {
        let length = end - start;
        if length > MAX_CACHED_BYTES {
            return None;
        }
        // One 16-byte load and a mask where the text goes on for 16 bytes; a copy at its end.
        let word = if let Some(bytes) = text
            .get(start..start + 16)
            .and_then(|b| <[u8; 16]>::try_from(b).ok())
        {
            u128::from_le_bytes(bytes) & ((1u128 << (length * 8)) - 1)
        } else {
            let mut bytes = [0; 16];
            bytes[..length].copy_from_slice(&text[start..end]);
            u128::from_le_bytes(bytes)
        };
        Some(Self(word | (length as u128) << 120))
    }

    /// A hash whose low bits are well mixed.
    #[inline]
    fn hash(self) -> usize {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let product =
            u128::from(low ^ 0x9E37_79B9_7F4A_7C15) * u128::from(high ^ 0xD6E8_FEB8_6659_FD93);
        let folded = (product >> 64) as u64 ^ product as u64;
        (folded ^ (folded >> 32)) as usize
    }
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Entry {
    key: u128,
    ids: [u32; MAX_CACHED_IDS],
    n: u32,
}

/// A two-way set-associative cache of words. An entry with key 0 is empty: no word has that key, since
/// the length of a word is at least 1.
#[derive(Debug, Default)]
struct WordCache {
    /// A power of two of them; none until the first word is kept, so that a tokenizer that is only
    /// loaded costs nothing.
    sets: Vec<[Entry; 2]>,
    /// Entries lost since the cache last grew: when as many as there are sets, it is too small.
    displaced: usize,
}

impl WordCache {
    #[inline]
    fn get(&self, key: Key) -> Option<&[u32]> {
        let mask = self.sets.len().wrapping_sub(1);
        let set = self.sets.get(key.hash() & mask)?;
        let entry = if set[0].key == key.0 {
            &set[0]
        } else if set[1].key == key.0 {
            &set[1]
        } else {
            return None;
        };
        entry.ids.get(..entry.n as usize)
    }

    fn put(&mut self, key: Key, ids: &[u32]) {
        if ids.len() > MAX_CACHED_IDS {
            return;
        }
        if self.displaced >= self.sets.len() && self.sets.len() < MAX_SETS {
            self.grow();
        }
        let mut entry = Entry {
            key: key.0,
            n: ids.len() as u32,
            ..Entry::default()
        };
        entry.ids[..ids.len()].copy_from_slice(ids);
        let mask = self.sets.len() - 1;
        self.displaced += insert(&mut self.sets[key.hash() & mask], entry);
    }

    /// Four times the sets, with what is known moved over.
    #[cold]
    fn grow(&mut self) {
        let n_sets = (self.sets.len() * 4).clamp(MIN_SETS, MAX_SETS);
        let known = std::mem::replace(&mut self.sets, vec![[Entry::default(); 2]; n_sets]);
        // The older entry first, so that the younger one ends up in front again.
        for entry in known
            .iter()
            .flat_map(|set| [set[1], set[0]])
            .filter(|entry| entry.key != 0)
        {
            insert(&mut self.sets[Key(entry.key).hash() & (n_sets - 1)], entry);
        }
        self.displaced = 0;
    }
}

/// Puts an entry in front of a set; says how many (0 or 1) fell out at its end. Least recently added goes.
fn insert(set: &mut [Entry; 2], entry: Entry) -> usize {
    let displaced = usize::from(set[1].key != 0);
    set[1] = set[0];
    set[0] = entry;
    displaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_one_to_one(text in "\\PC{0,12}", other in "\\PC{0,12}") {
            let key = |text: &str| Key::new(text.as_bytes(), 0, text.len());
            // The same word inside a longer text has the same key.
            let inside = format!("{text}{other}");
            prop_assert_eq!(key(&text), Key::new(inside.as_bytes(), 0, text.len()));
            prop_assert_eq!(key(&text) == key(&other) && key(&text).is_some(), text == other && text.len() <= 15);
        }

        #[test]
        fn the_cache_forgets_but_never_lies(words in prop::collection::vec(any::<u16>(), 0..2000)) {
            let mut cache = WordCache::default();
            for word in words {
                let bytes = word.to_le_bytes();
                let key = Key::new(&bytes, 0, 2).unwrap();
                if let Some(ids) = cache.get(key) {
                    prop_assert_eq!(ids, &[u32::from(word)]);
                }
                cache.put(key, &[u32::from(word)]);
                prop_assert_eq!(cache.get(key), Some(&[u32::from(word)][..]));
            }
        }
    }
}
