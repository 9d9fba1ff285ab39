//! Byte-pair encoding on characters: the vocabulary holds strings, not bytes (Llama 2, CLIP,
//! Marian).
//!
//! A pretoken starts as its characters, each looked up as a string. All but the first one get a
//! prefix, and the last one gets a suffix. A character without a token is spelled in tokens of
//! bytes (`<0xE4>`), becomes an unknown token, or is left out. Then neighbours merge as in any BPE.
//!
//! Ids and lengths agree with `tokenizers` 0.23.3, as found by running it:
//!
//! - An unknown token waits until the next character with a token of its own. If unknown tokens are
//!   not fused, it waits until the next unknown one at most. Bytes of characters spelled meanwhile
//!   come *before* it.
//! - Unknown tokens are fused across such bytes.
//! - Prefix and suffix are spelled in bytes with their character, and all of these bytes must have
//!   tokens.
//! - Neighbours of a dropped character merge. Lengths are counted in order, so tokens after such a
//!   character cover bytes too far left.
//! - The prefix's length is cut off the right token of a merge, whatever it begins with.
//!
//! Cost: two loads for each character; merging as in `merge`, O(n log n) for any text.

mod table;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

use super::merge::{BpeScratch, merge, merge_beside};
use super::pairs::PairTable;
use super::{Missing, NONE};
use crate::error::{Error, ErrorKind, Result};
use crate::models::unigram::check_length;
use crate::models::{Model, spans_of_lengths};
use crate::vocab::Vocab;
use table::{Place, Tables};

/// Longest prefix or suffix, in bytes. Published ones have four at most (`</w>`); the limit bounds
/// the symbols that a hostile file can make of one character when it spells it in bytes.
pub const MAX_AFFIX_BYTES: usize = 64;

/// How characters become symbols, and which pretokens are never cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharacterBpeOptions {
    /// Treatment of a character that has neither a token nor tokens for its bytes. `Fail` is the
    /// way of `tokenizers` where an unknown token is named that the vocabulary lacks.
    pub missing: Missing,
    /// True if unknown characters in a row become one token.
    pub fuse_unknown: bool,
    /// True if a character without a token is spelled in tokens of bytes, where all of these exist.
    pub byte_fallback: bool,
    /// Prefix of each character but the first; may be empty.
    pub continuing_prefix: String,
    /// Suffix of the last character; may be empty.
    pub end_of_word_suffix: String,
    /// True if a pretoken that is a token is never cut (`ignore_merges`).
    pub whole_pretokens: bool,
}

impl Default for CharacterBpeOptions {
    fn default() -> Self {
        Self {
            missing: Missing::Skip,
            fuse_unknown: false,
            byte_fallback: false,
            continuing_prefix: String::new(),
            end_of_word_suffix: String::new(),
            whole_pretokens: false,
        }
    }
}

/// A BPE model on characters.
#[derive(Debug)]
pub struct CharacterBpeModel {
    vocab: Vocab,
    pub(super) pairs: PairTable,
    options: CharacterBpeOptions,
    tables: Tables,
    fallback: Option<Fallback>,
}

/// Memory reused between pretokens.
#[derive(Debug, Default)]
pub struct CharacterBpeScratch {
    ids: Vec<u32>,
    lengths: Vec<u32>,
    merge: BpeScratch,
}

/// Tokens of bytes.
#[derive(Debug)]
struct Fallback {
    bytes: Box<[u32; 256]>,
    /// Tokens of the prefix's bytes, unless one is missing.
    prefix: Option<Vec<u32>>,
    suffix: Option<Vec<u32>>,
}

impl Fallback {
    fn new(vocab: &Vocab, options: &CharacterBpeOptions) -> Self {
        let mut bytes = Box::new([NONE; 256]);
        for (byte, id) in bytes.iter_mut().enumerate() {
            let token = format!("<0x{byte:02X}>");
            *id = vocab.bytes_to_id(token.as_bytes()).unwrap_or(NONE);
        }
        let spell = |affix: &str| {
            affix
                .bytes()
                .map(|byte| Some(bytes[byte as usize]).filter(|&id| id != NONE))
                .collect()
        };
        Self {
            prefix: spell(&options.continuing_prefix),
            suffix: spell(&options.end_of_word_suffix),
            bytes,
        }
    }

    /// Adds the bytes of a character at its place, if all have tokens; says whether they do.
    fn spell(&self, character: &[u8], place: Place, add: &mut impl FnMut(u32, u32)) -> bool {
        let before = if place.is_first() {
            Some(&[][..])
        } else {
            self.prefix.as_deref()
        };
        let after = if place.is_last() {
            self.suffix.as_deref()
        } else {
            Some(&[][..])
        };
        let (Some(before), Some(after)) = (before, after) else {
            return false;
        };
        let id = |byte: &u8| self.bytes[*byte as usize];
        if character.iter().any(|byte| id(byte) == NONE) {
            return false;
        }
        before.iter().for_each(|&id| add(id, 1));
        character.iter().for_each(|byte| add(id(byte), 1));
        after.iter().for_each(|&id| add(id, 1));
        true
    }
}

impl CharacterBpeModel {
    /// Builds the model from tokens as they are written (UTF-8) and the pairs of ids that may
    /// merge, in order.
    pub fn new(vocab: Vocab, merges: &[(u32, u32)], options: CharacterBpeOptions) -> Result<Self> {
        let (prefix, suffix) = (&options.continuing_prefix, &options.end_of_word_suffix);
        if prefix.len().max(suffix.len()) > MAX_AFFIX_BYTES {
            return Err(ErrorKind::TooLarge {
                what: "prefix or suffix in bytes",
                limit: MAX_AFFIX_BYTES as u64,
            }
            .into());
        }
        if let Missing::Unknown(id) = options.missing
            && vocab.id_to_bytes(id).is_none()
        {
            return Err(Error::format(
                "BPE model",
                format!("the unknown token's id {id} has no token"),
            ));
        }
        Ok(Self {
            pairs: PairTable::from_prefixed_list(&vocab, merges, prefix.len())?,
            tables: Tables::new(&vocab, prefix.as_bytes(), suffix.as_bytes()),
            fallback: options
                .byte_fallback
                .then(|| Fallback::new(&vocab, &options)),
            vocab,
            options,
        })
    }

    /// The merges in order; of a pair given twice the last place, which is the one that counts.
    pub fn merges(&self) -> Vec<(u32, u32)> {
        self.pairs.by_rank()
    }

    /// The options as they were given.
    pub fn options(&self) -> &CharacterBpeOptions {
        &self.options
    }

    /// Calls `each` with the id of each token and the bytes of the pretoken that it covers.
    ///
    /// Tokens cover the pretoken from the left. A token of a byte covers one byte, an unknown token
    /// the bytes of its characters, a dropped character none. With dropped characters the lengths
    /// add up to less than the pretoken. They never add up to more: bytes of a prefix or suffix
    /// that are spelled beyond the pretoken's end cover none (`tokenizers` counts on). Bytes that
    /// are not UTF-8 are unknown characters of one byte each.
    pub fn encode_with_pieces(
        &self,
        pretoken: &[u8],
        scratch: &mut CharacterBpeScratch,
        each: impl FnMut(u32, usize),
    ) -> Result<()> {
        let CharacterBpeScratch {
            ids,
            lengths,
            merge,
        } = scratch;
        if let Some(id) = self.whole(pretoken) {
            emit(&[id], &[pretoken.len() as u32], pretoken.len(), each);
            return Ok(());
        }
        self.symbols(pretoken, ids, lengths)?;
        let left = merge_beside(&self.pairs, ids, lengths.as_mut_slice(), merge);
        emit(&ids[..left], &lengths[..left], pretoken.len(), each);
        Ok(())
    }

    /// The token that a pretoken is, if such pretokens are not cut.
    pub(super) fn whole(&self, pretoken: &[u8]) -> Option<u32> {
        if !self.options.whole_pretokens || pretoken.is_empty() {
            return None;
        }
        self.vocab.bytes_to_id(pretoken)
    }

    /// Replaces the lists by the pretoken's symbols before any merge.
    pub(super) fn symbols(
        &self,
        pretoken: &[u8],
        ids: &mut Vec<u32>,
        lengths: &mut Vec<u32>,
    ) -> Result<()> {
        ids.clear();
        lengths.clear();
        self.for_each_symbol(pretoken, |id, bytes| {
            ids.push(id);
            lengths.push(bytes);
        })?;
        check_symbols(ids)
    }

    /// Calls `add` with the symbols before any merge, and the bytes that each stands for.
    fn for_each_symbol(&self, pretoken: &[u8], mut add: impl FnMut(u32, u32)) -> Result<()> {
        check_length(pretoken)?;
        let n = pretoken.len();
        let mut waiting = None;
        let mut at = 0;
        for chunk in pretoken.utf8_chunks() {
            for c in chunk.valid().chars() {
                let end = at + c.len_utf8();
                let place = Place::new(at == 0, end == n);
                let id = self.tables.get(place, c);
                if id == NONE {
                    self.miss(&pretoken[at..end], place, &mut waiting, &mut add)?;
                } else {
                    self.flush(&mut waiting, &mut add);
                    add(id, (end - at) as u32);
                }
                at = end;
            }
            for byte in chunk.invalid() {
                let place = Place::new(at == 0, at + 1 == n);
                self.miss(&[*byte], place, &mut waiting, &mut add)?;
                at += 1;
            }
        }
        self.flush(&mut waiting, &mut add);
        Ok(())
    }

    /// A character without a token. `waiting`: bytes of an unknown token that was not added yet.
    #[cold]
    fn miss(
        &self,
        character: &[u8],
        place: Place,
        waiting: &mut Option<u32>,
        add: &mut impl FnMut(u32, u32),
    ) -> Result<()> {
        if let Some(fallback) = &self.fallback
            && fallback.spell(character, place, add)
        {
            return Ok(());
        }
        match self.options.missing {
            Missing::Skip => {}
            Missing::Unknown(_) => {
                if !self.options.fuse_unknown {
                    self.flush(waiting, add);
                }
                *waiting = Some(waiting.unwrap_or(0) + character.len() as u32);
            }
            Missing::Fail => {
                let piece = String::from_utf8_lossy(character).into_owned();
                return Err(ErrorKind::Unencodable { piece }.into());
            }
        }
        Ok(())
    }

    #[inline]
    fn flush(&self, waiting: &mut Option<u32>, add: &mut impl FnMut(u32, u32)) {
        if let Some(bytes) = waiting.take()
            && let Missing::Unknown(id) = self.options.missing
        {
            add(id, bytes);
        }
    }
}

/// Symbols are counted in 32 bits; spelled affixes can make more of them than there are bytes.
fn check_symbols(ids: &[u32]) -> Result<()> {
    if ids.len() >= u32::MAX as usize {
        return Err(ErrorKind::TooLarge {
            what: "number of symbols of a text",
            limit: u64::from(u32::MAX) - 1,
        }
        .into());
    }
    Ok(())
}

/// Hands out ids with lengths that add up to `bytes` at most.
pub(super) fn emit(ids: &[u32], lengths: &[u32], bytes: usize, mut each: impl FnMut(u32, usize)) {
    let mut left = bytes;
    for (&id, &length) in ids.iter().zip(lengths) {
        let covered = left.min(length as usize);
        left -= covered;
        each(id, covered);
    }
}

impl Model for CharacterBpeModel {
    type Scratch = CharacterBpeScratch;

    /// Prefixes and suffixes included.
    fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    fn encode_spans(
        &self,
        pretoken: &[u8],
        scratch: &mut CharacterBpeScratch,
        each: &mut dyn FnMut(u32, usize, usize),
    ) -> Result<()> {
        self.encode_with_pieces(pretoken, scratch, spans_of_lengths(each))
    }

    fn encode_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut CharacterBpeScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(id) = self.whole(pretoken) {
            out.push(id);
            return Ok(());
        }
        let start = out.len();
        self.for_each_symbol(pretoken, |id, _| out.push(id))?;
        check_symbols(&out[start..])?;
        let left = merge(&self.pairs, &mut out[start..], &mut scratch.merge);
        out.truncate(start + left);
        Ok(())
    }
}
