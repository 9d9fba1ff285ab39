//! Text of Unigram training: weighted strings in the alphabet, in one arena.

use hashbrown::HashSet;

use crate::alphabet::{Alphabet, text_of};
use crate::counts::PretokenCounts;
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::hasher;

/// Most bytes: places are u32.
const MAX_BYTES: usize = u32::MAX as usize;

/// Weighted strings. Pretokens are cut at characters outside the alphabet, which are no part of any
/// piece.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    bytes: Vec<u8>,
    /// Where each word ends in `bytes`.
    ends: Vec<u32>,
    weights: Vec<u64>,
    /// Characters of all words, with weights.
    pub(super) n_chars: u64,
}

impl Corpus {
    /// Errors: `Training` if a pretoken is not UTF-8; `TooLarge` for more than 4 GiB of distinct
    /// pretokens.
    pub(super) fn new(counts: &PretokenCounts, alphabet: &Alphabet) -> Result<Self> {
        let mut known: HashSet<char, _> = HashSet::with_hasher(hasher());
        known.extend(alphabet.iter().map(|&(c, _)| c));
        let mut ascii = [false; 128];
        for (byte, is_known) in (0u8..).zip(&mut ascii) {
            *is_known = known.contains(&char::from(byte));
        }
        let mut new = Self {
            bytes: Vec::with_capacity(counts.n_distinct_bytes()),
            ends: Vec::with_capacity(counts.len()),
            ..Self::default()
        };
        for (pretoken, weight) in counts.iter() {
            let text = text_of(pretoken)?;
            let mut n_chars = 0;
            for c in text.chars() {
                let is_known = match ascii.get(c as usize) {
                    Some(&is_known) => is_known,
                    None => known.contains(&c),
                };
                if is_known {
                    new.bytes
                        .extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    n_chars += 1;
                } else {
                    new.close(weight)?;
                }
            }
            new.close(weight)?;
            new.n_chars = weight
                .checked_mul(n_chars)
                .and_then(|added| new.n_chars.checked_add(added))
                .ok_or_else(|| too_large("the number of characters", u64::MAX))?;
        }
        Ok(new)
    }

    /// Closes a word: the characters put behind the last word are a word.
    fn close(&mut self, weight: u64) -> Result<()> {
        let start = self.ends.last().map_or(0, |&end| end as usize);
        if self.bytes.len() > start {
            if self.bytes.len() > MAX_BYTES {
                return Err(too_large(
                    "the text of all distinct pretokens in bytes",
                    MAX_BYTES as u64,
                ));
            }
            self.ends.push(self.bytes.len() as u32);
            self.weights.push(weight);
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Start and end of a word.
    #[inline]
    pub(super) fn range(&self, word: usize) -> (usize, usize) {
        let start = if word == 0 { 0 } else { self.ends[word - 1] };
        (start as usize, self.ends[word] as usize)
    }

    #[inline]
    pub(super) fn word(&self, word: usize) -> (&[u8], u64) {
        let (start, end) = self.range(word);
        (&self.bytes[start..end], self.weights[word])
    }

    /// Bytes of all words, with weights.
    pub(super) fn bytes_with_weights(&self) -> f64 {
        // Whole numbers: a sum of floats would depend on the order of the words.
        let words = (0..self.len()).map(|word| self.word(word));
        let sum: u128 = words
            .map(|(text, weight)| text.len() as u128 * u128::from(weight))
            .sum();
        sum as f64
    }

    #[inline]
    pub(super) fn weight(&self, word: usize) -> u64 {
        self.weights[word]
    }
}

fn too_large(what: &'static str, limit: u64) -> Error {
    ErrorKind::TooLarge { what, limit }.into()
}
