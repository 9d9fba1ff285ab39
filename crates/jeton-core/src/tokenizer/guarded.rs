//! Texts in which only some parts may hold control tokens: a chat, made of a template and of
//! people's texts.
//!
//! The whole text is encoded at once. If nobody's text looks like a special token, its ids equal an
//! encoding that allows every special token. Why this is safe:
//!
//! - A control token is found only where all of it lies in trusted ranges. At one place the longest
//!   such token is found. A match that may not stand hides no other. (So text cannot swallow a
//!   token of the template by reaching into it.)
//! - In normalized text, the sources of each character count; for a composed character, all of its
//!   parts.
//! - Ids that the *model* makes are looked at, too. A control token that it makes of untrusted text
//!   is undone: an engine without these tokens encodes that part. The name of a byte token
//!   (`<0x0A>`) is no byte.
//! - Added tokens that are no control tokens (runs of spaces, words) are found everywhere.
//! - White space that a control token takes along (`lstrip`, `rstrip`) may be anybody's, as in the
//!   reference.
//! - The unknown token stands for text without a token, whoever wrote it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use super::offsets::{Each, Gate};
use super::{Encoding, Tokenizer};
use crate::engine::{Engine, EngineScratch};
use crate::error::{ErrorKind, Result};
use crate::pretokenize::rewriting::Origin;
use crate::sentencepiece::PieceKind;
use crate::sentencepiece::piece::{SPACE, byte_of};
use crate::special::{AddedToken, AddedTokens, FoundToken};
use crate::text::alignment::Alignment;

/// Ranges of a text, in bytes, that may hold control tokens: rising, with gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted {
    pub(super) ranges: Vec<(usize, usize)>,
}

impl Trusted {
    /// Ranges of `text` in any order. Ranges that touch or overlap become one; empty ranges go.
    pub fn new(text: &str, ranges: impl IntoIterator<Item = (usize, usize)>) -> Result<Self> {
        let mut given: Vec<(usize, usize)> = ranges.into_iter().collect();
        let fits = |&(start, end): &(usize, usize)| {
            start <= end && text.is_char_boundary(start) && text.is_char_boundary(end)
        };
        if let Some((start, end)) = given.iter().find(|range| !fits(range)) {
            let reason = format!(
                "trusted range {start}..{end} does not fit a text of {} bytes; expected ranges of whole characters",
                text.len()
            );
            return Err(ErrorKind::Usage { reason }.into());
        }
        given.sort_unstable();
        let mut joined: Vec<(usize, usize)> = Vec::with_capacity(given.len());
        for (start, end) in given {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ if start < end => joined.push((start, end)),
                _ => {}
            }
        }
        Ok(Self { ranges: joined })
    }

    /// True if all of a range is trusted.
    pub(super) fn covers(&self, start: usize, end: usize) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= start);
        after > 0 && end <= self.ranges[after - 1].1
    }
}

/// A guarded encoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardedEncoding {
    /// Ids and where they come from.
    pub encoding: Encoding,
    /// Control tokens that the text spells where it may not: they stayed text. In bytes of the
    /// text, rising.
    pub refused: Vec<FoundToken>,
}

/// Engines without certain tokens, by these tokens. A tokenizer meets few sets: its special tokens,
/// with a template's control tokens.
#[derive(Debug, Default)]
pub(crate) struct Twins(Mutex<Vec<Arc<Twin>>>);

/// Most engines kept; the least recently built one goes.
const MAX_TWINS: usize = 4;

#[derive(Debug)]
struct Twin {
    /// Tokens that the engine does not make of text, rising.
    unmatched: Vec<u32>,
    inside: bool,
    engine: Engine,
}

impl Twins {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().map_or(0, |all| all.len())
    }

    /// The list, unless it is locked. Nobody waits for it, and nothing is built while it is locked:
    /// a process that forks at that moment leaves its child a list that stays locked.
    fn list(&self) -> Option<MutexGuard<'_, Vec<Arc<Twin>>>> {
        match self.0.try_lock() {
            Ok(all) => Some(all),
            Err(TryLockError::Poisoned(all)) => Some(all.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn get(&self, tokenizer: &Tokenizer, unmatched: &[u32], inside: bool) -> Result<Arc<Twin>> {
        let is_it = |twin: &&Arc<Twin>| twin.inside == inside && twin.unmatched == unmatched;
        if let Some(known) = self.list().and_then(|all| all.iter().find(is_it).cloned()) {
            return Ok(known);
        }
        let (steps, added) = (&tokenizer.steps, tokenizer.added.tokens());
        let made = Arc::new(Twin {
            unmatched: unmatched.to_vec(),
            inside,
            engine: tokenizer.engine.without(unmatched, inside, steps, added)?,
        });
        if let Some(mut all) = self.list() {
            if all.len() >= MAX_TWINS {
                all.remove(0);
            }
            all.push(Arc::clone(&made));
        }
        Ok(made)
    }
}

impl Tokenizer {
    /// Encodes a text whose control tokens may stand in trusted ranges only. Control tokens are the
    /// special tokens and the ids of `control`.
    pub fn encode_guarded(
        &self,
        text: &str,
        trusted: &Trusted,
        control: &[u32],
    ) -> Result<GuardedEncoding> {
        let mut ids: Vec<u32> = self.special_ids.iter().chain(control).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let mut guard = Guard {
            trusted,
            control: &ids,
            unknown: self.engine.unknown(),
            names_bytes: self.names_bytes(),
            refused: Vec::new(),
        };
        let mut encoding = Encoding::default();
        self.pool
            .with(|scratch| self.align_text(text, &mut guard, None, scratch, &mut encoding))?;
        encoding.mark(false, 0);
        let mut refused = guard.refused;
        refused.sort_unstable_by_key(|found| (found.start, found.end, found.id));
        refused.dedup();
        Ok(GuardedEncoding { encoding, refused })
    }

    /// Tokens that are one wherever a text has them, with what they read: the added ones, and a
    /// SentencePiece model's user-defined pieces.
    pub fn fixed_tokens(&self) -> Vec<AddedToken> {
        let mut fixed = self.added.tokens().to_vec();
        if let Engine::SentencePiece(engine) = &self.engine {
            let known: BTreeSet<u32> = fixed.iter().map(|token| token.id).collect();
            for (id, piece) in (0..).zip(&engine.model.pieces) {
                if piece.kind == PieceKind::UserDefined
                    && !known.contains(&id)
                    && let Ok(content) = std::str::from_utf8(&piece.bytes)
                {
                    fixed.push(AddedToken {
                        special: false,
                        ..AddedToken::special(id, content)
                    });
                }
            }
            fixed.sort_by_key(|token| token.id);
        }
        fixed
    }

    /// The id of one of them by what it reads.
    pub fn fixed_token(&self, content: &str) -> Option<u32> {
        let mut added = self.added.tokens().iter();
        if let Some(token) = added.find(|token| token.content == content) {
            return Some(token.id);
        }
        let Engine::SentencePiece(engine) = &self.engine else {
            return None;
        };
        let id = engine
            .processor
            .encoder()
            .vocab()
            .bytes_to_id(content.as_bytes())?;
        let piece = engine.model.pieces.get(id as usize)?;
        (piece.kind == PieceKind::UserDefined).then_some(id)
    }

    /// True if tokens with names (`<0x0A>`) stand for bytes.
    fn names_bytes(&self) -> bool {
        match &self.engine {
            Engine::Unigram(pipeline) => pipeline.model().byte_fallback(),
            Engine::CharacterBpe(pipeline) => pipeline.model().options().byte_fallback,
            _ => false,
        }
    }

    /// The tokens that do.
    pub(crate) fn byte_names(&self) -> Vec<u32> {
        let names = self.vocab().iter().filter(|_| self.names_bytes());
        let bytes = names.filter(|(_, name)| byte_of(name).is_some());
        bytes.map(|(id, _)| id).collect()
    }
}

struct Guard<'g> {
    trusted: &'g Trusted,
    /// Rising ids.
    control: &'g [u32],
    unknown: Option<u32>,
    names_bytes: bool,
    refused: Vec<FoundToken>,
}

/// A token that the model made: its place in the part, and its word.
struct ModelToken {
    id: u32,
    start: usize,
    end: usize,
    word: i64,
    /// True if it is one that only trusted text may become.
    needs_trust: bool,
}

impl Guard<'_> {
    fn is_control(&self, id: u32) -> bool {
        self.control.binary_search(&id).is_ok()
    }

    /// True if the model took what it saw for a control token, or the name of a byte for the byte.
    fn took_the_name(&self, tokenizer: &Tokenizer, id: u32, seen: &[u8]) -> bool {
        let name = || tokenizer.vocab().id_to_bytes(id).unwrap_or_default();
        if self.unknown == Some(id) {
            // Text without a token is this one whatever it reads, unless it reads so.
            let bare = seen.strip_prefix(SPACE.as_bytes()).unwrap_or(seen);
            return self.is_control(id) && bare.trim_ascii() == name();
        }
        self.is_control(id) || self.names_bytes && byte_of(name()).is_some() && seen == name()
    }
}

impl Gate for &mut Guard<'_> {
    fn find_raw(&mut self, added: &AddedTokens, text: &str, out: &mut Vec<FoundToken>) {
        let Guard {
            trusted,
            control,
            refused,
            ..
        } = &mut **self;
        let mut permits = |id: u32, start, end| {
            let may = control.binary_search(&id).is_err() || trusted.covers(start, end);
            if !may {
                refused.push(FoundToken { start, end, id });
            }
            may
        };
        added.find_where(text, false, &mut permits, out);
    }

    fn find_normalized(
        &mut self,
        added: &AddedTokens,
        normalized: &str,
        base: usize,
        alignment: &Alignment,
        out: &mut Vec<FoundToken>,
    ) {
        let Guard {
            trusted,
            control,
            refused,
            ..
        } = &mut **self;
        let mut lookup = alignment.lookup();
        let mut permits = |id: u32, start, end| {
            if control.binary_search(&id).is_err() {
                return true;
            }
            let (start, end) = lookup.covering_range(start, end);
            let (start, end) = (base + start, base + end);
            let may = trusted.covers(start, end);
            if !may {
                refused.push(FoundToken { start, end, id });
            }
            may
        };
        added.find_where(normalized, true, &mut permits, out);
    }

    fn encode(
        &mut self,
        tokenizer: &Tokenizer,
        text: &str,
        base: usize,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
        each: &mut Each<'_>,
    ) -> Result<i64> {
        let mut all: Vec<ModelToken> = Vec::new();
        let mut note = |id, start, end, word, seen: &[u8]| {
            all.push(ModelToken {
                id,
                start,
                end,
                word,
                needs_trust: self.took_the_name(tokenizer, id, seen),
            });
        };
        let words = tokenizer
            .engine
            .encode_spans(text, origin, scratch, &mut note)?;
        let identity;
        let alignment = match origin.alignment {
            Some(alignment) => alignment,
            None => {
                identity = Alignment::identity(origin.offset + text.len());
                &identity
            }
        };
        let mut lookup = alignment.lookup();
        // Control tokens that the model made of trusted text stay.
        let mut kept = Vec::new();
        let mut refused = false;
        for (index, made) in all.iter().enumerate() {
            if !made.needs_trust {
                continue;
            }
            let (start, end) = (origin.offset + made.start, origin.offset + made.end);
            let (start, end) = lookup.covering_range(start, end);
            let (start, end) = (base + start, base + end);
            if self.trusted.covers(start, end) {
                // A token of a byte of a character cannot be left out of the text around it.
                if text.is_char_boundary(made.start) && text.is_char_boundary(made.end) {
                    kept.push(index);
                }
            } else {
                refused = true;
                let id = made.id;
                self.refused.push(FoundToken { start, end, id });
            }
        }
        if !refused {
            for made in all {
                each(made.id, made.start, made.end, made.word, &[]);
            }
            return Ok(words);
        }
        let mut unmatched = self.control.to_vec();
        unmatched.extend(tokenizer.byte_names());
        unmatched.sort_unstable();
        unmatched.dedup();
        let mut position = 0;
        let mut words = 0;
        for made in kept.iter().map(|&index| Some(&all[index])).chain([None]) {
            let end = made.map_or(text.len(), |made| made.start);
            if position < end {
                let twin = tokenizer.twins.get(tokenizer, &unmatched, position > 0)?;
                let part = Origin {
                    begins: origin.begins && position == 0,
                    offset: origin.offset + position,
                    ..origin
                };
                let so_far = words;
                words += twin.engine.encode_spans(
                    &text[position..end],
                    part,
                    scratch,
                    &mut |id, start, end, word, seen| {
                        each(id, position + start, position + end, so_far + word, seen);
                    },
                )?;
            }
            if let Some(made) = made {
                each(made.id, made.start, made.end, words, &[]);
                words += 1;
                position = made.end;
            }
        }
        Ok(words)
    }
}
