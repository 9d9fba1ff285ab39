//! A vocabulary as flat lists, to be written and read nearly as it lies in memory.
//!
//! Tokens lie in the order of their ids, so that lengths, a byte each for nearly all of them, tell where they begin.

use super::table::Table;
use super::{HOLE, MAX_ARENA_BYTES, MAX_IDS, OPAQUE, Span, Tokens, Vocab};
use crate::shelf::{Shelf, Shelved};

/// As a length: the id has no token.
const NONE: u8 = 0xFF;

/// As a length: it is in the list of long ones.
const LONG: u8 = 0xFE;

/// The parts of a vocabulary.
pub(crate) struct RawVocab<'v> {
    pub(crate) arena: Vec<u8>,
    /// By id: the length, [`LONG`] or [`NONE`].
    pub(crate) lengths: Vec<u8>,
    /// Lengths that are not in `lengths`, by rising id.
    pub(crate) long: Vec<u32>,
    /// Ids that are only decoded, rising.
    pub(crate) opaque: Vec<u32>,
    pub(crate) slots: &'v [u32],
    pub(crate) seed: u32,
}

impl Vocab {
    pub(crate) fn raw(&self) -> RawVocab<'_> {
        let mut raw = RawVocab {
            arena: Vec::with_capacity(self.tokens.arena.len()),
            lengths: Vec::with_capacity(self.size() as usize),
            long: Vec::new(),
            opaque: Vec::new(),
            slots: self.table.slots(),
            seed: self.table.seed(),
        };
        for id in 0..self.size() {
            let Some(token) = self.id_to_bytes(id) else {
                raw.lengths.push(NONE);
                continue;
            };
            raw.arena.extend_from_slice(token);
            match u8::try_from(token.len()) {
                Ok(length) if length < LONG => raw.lengths.push(length),
                _ => {
                    raw.lengths.push(LONG);
                    raw.long.push(token.len() as u32);
                }
            }
            if !self.is_findable(id) {
                raw.opaque.push(id);
            }
        }
        raw
    }

    /// A vocabulary of parts, unless they do not fit together.
    ///
    /// Whether the table finds every token is not looked at: what it finds has the right bytes.
    pub(crate) fn from_raw(
        arena: Shelved<u8>,
        lengths: &[u8],
        long: &[u32],
        opaque: &[u32],
        slots: Shelved<u32>,
        seed: u32,
        shelf: &mut Shelf,
    ) -> Option<Self> {
        if lengths.len() > MAX_IDS as usize || arena.len() > MAX_ARENA_BYTES {
            return None;
        }
        let mut long = long.iter();
        let (mut start, mut n_tokens, mut longest) = (0_usize, 0, 0);
        let mut spans = shelf.zeroed(lengths.len());
        // Nearly all eights of tokens have lengths of a byte: those need no branch. Where a token ends behind the arena, the last
        // one does.
        for (some, places) in lengths.chunks(8).zip(spans.chunks_mut(8)) {
            if let Ok(eight) = <&[u8; 8]>::try_from(some)
                && eight.iter().all(|&length| length < LONG)
                && let Some(places) = places.first_chunk_mut()
            {
                *places = eight.map(|length| {
                    let span = Span {
                        start: start as u32,
                        len: u32::from(length),
                    };
                    start += usize::from(length);
                    longest = longest.max(u32::from(length));
                    span
                });
                n_tokens += 8;
                continue;
            }
            for (&length, place) in some.iter().zip(places) {
                let length = match length {
                    NONE => {
                        *place = Span::HOLE;
                        continue;
                    }
                    LONG => *long.next()?,
                    length => u32::from(length),
                };
                *place = Span {
                    start: start as u32,
                    len: length,
                };
                let end = start.checked_add(length as usize);
                start = end.filter(|&end| end <= arena.len())?;
                n_tokens += 1;
                longest = longest.max(length);
            }
        }
        if start != arena.len() || long.next().is_some() {
            return None;
        }
        let mut n_findable = n_tokens;
        for &id in opaque {
            let span = spans.get_mut(id as usize)?;
            if span.len == HOLE || span.len & OPAQUE != 0 {
                return None;
            }
            span.len |= OPAQUE;
            n_findable -= 1;
        }
        let table = Table::from_slots(slots, seed, spans.len())?;
        if table.len() > n_findable as usize {
            return None;
        }
        Some(Self {
            tokens: Tokens { arena, spans },
            table,
            n_tokens,
            n_findable,
            longest,
        })
    }
}
