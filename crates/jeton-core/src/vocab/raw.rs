//! A vocabulary as flat lists, to be written and read nearly as it lies in memory.
//!
//! Tokens lie in the order of their ids, so that lengths, a byte each for nearly all of them, tell
//! where they begin.

use super::packed::{Packed, RawPacked};
use super::table::Table;
use super::{HOLE, Index, MAX_ARENA_BYTES, MAX_IDS, OPAQUE, Span, Tokens, Vocab};
use crate::memory::arena::{ArenaVec, HugeArena};

/// As a length: the id has no token.
const NONE: u8 = 0xFF;

/// As a length: it is in the list of long ones.
const LONG: u8 = 0xFE;

/// The parts of a vocabulary.
pub(crate) struct RawVocab {
    pub(crate) arena: Vec<u8>,
    /// By id: the length, [`LONG`] or [`NONE`].
    pub(crate) lengths: Vec<u8>,
    /// Lengths that are not in `lengths`, by rising id.
    pub(crate) long: Vec<u32>,
    /// Ids that are only decoded, rising.
    pub(crate) opaque: Vec<u32>,
    pub(crate) index: RawIndex,
}

/// Index of tokens: the packed table, or the open one where no packed one exists.
pub(crate) enum RawIndex {
    Packed(RawPacked),
    Open { slots: ArenaVec<u32>, seed: u32 },
}

impl Vocab {
    pub(crate) fn raw(&self) -> RawVocab {
        let mut raw = RawVocab {
            arena: Vec::with_capacity(self.tokens.arena.len()),
            lengths: Vec::with_capacity(self.size() as usize),
            long: Vec::new(),
            opaque: Vec::new(),
            index: self.raw_index(),
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

    fn raw_index(&self) -> RawIndex {
        if let Some(packed) = &self.index.packed {
            return RawIndex::Packed(packed.raw().clone());
        }
        let table = &self.index.open;
        let mut ids: Vec<u32> = table.ids().collect();
        ids.sort_unstable();
        match RawPacked::new(&ids, &self.tokens) {
            Some(raw) => RawIndex::Packed(raw),
            None => RawIndex::Open {
                slots: table.slots().to_vec().into(),
                seed: table.seed(),
            },
        }
    }

    /// A vocabulary of parts, unless they do not fit together.
    ///
    /// Does not verify that every token is found; a token that is found is one that may be found.
    pub(crate) fn from_raw(
        arena: ArenaVec<u8>,
        lengths: &[u8],
        long: &[u32],
        opaque: &[u32],
        index: RawIndex,
        shelf: &mut HugeArena,
    ) -> Option<Self> {
        if lengths.len() > MAX_IDS as usize || arena.len() > MAX_ARENA_BYTES {
            return None;
        }
        let mut long = long.iter();
        let (mut start, mut n_tokens, mut longest) = (0_usize, 0, 0);
        let mut spans = shelf.zeroed(lengths.len());
        // Nearly all eights of tokens have lengths of a byte: those need no branch. Where a token
        // ends behind the arena, the last one does.
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
        // The first id that is a hole or opaque: most files have these behind all others.
        let n_before = lengths.iter().position(|&length| length == NONE);
        let mut n_before = n_before.unwrap_or(lengths.len()) as u32;
        for &id in opaque {
            n_before = n_before.min(id);
            let span = spans.get_mut(id as usize)?;
            if span.len == HOLE || span.len & OPAQUE != 0 {
                return None;
            }
            span.len |= OPAQUE;
            n_findable -= 1;
        }
        let tokens = Tokens { arena, spans };
        let index: Index = match index {
            RawIndex::Packed(raw) => Packed::from_raw(raw, n_before)?.into(),
            RawIndex::Open { slots, seed } => {
                Table::from_slots(slots, seed, tokens.spans.len())?.into()
            }
        };
        if index.len() > n_findable as usize {
            return None;
        }
        Some(Self {
            tokens,
            index,
            n_tokens,
            n_findable,
            longest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Vocab {
        /// As a compiled file brings it back.
        pub(crate) fn read_again(&self) -> Self {
            let RawVocab {
                arena,
                lengths,
                long,
                opaque,
                index,
            } = self.raw();
            let shelf = &mut HugeArena::with_room(0);
            Self::from_raw(arena.into(), &lengths, &long, &opaque, index, shelf).unwrap()
        }
    }

    /// A vocabulary that cannot be packed comes back with its open table.
    #[test]
    fn an_open_table_comes_back() {
        let mut vocab = Vocab::default();
        vocab.insert(0, b"a").unwrap();
        vocab.insert(2, &[7; 300]).unwrap();
        vocab.insert_opaque(3, b"c").unwrap();
        let read = |slots: &[u32]| {
            let raw = vocab.raw();
            let index = RawIndex::Open {
                slots: slots.to_vec().into(),
                seed: vocab.index.open.seed(),
            };
            let shelf = &mut HugeArena::with_room(0);
            let arena = raw.arena.into();
            Vocab::from_raw(arena, &raw.lengths, &raw.long, &raw.opaque, index, shelf)
        };
        let slots = vocab.index.open.slots();
        let again = read(slots).unwrap();
        assert!(!again.is_packed() && again.is_unique());
        assert_eq!(again.bytes_to_id(b"a"), Some(0));
        assert_eq!(again.bytes_to_id(&[7; 300]), Some(2));
        assert_eq!(again.bytes_to_id(b"c"), None);
        assert!(read(&slots[1..]).is_none());
        assert!(read(&[4; 16]).is_none());
        assert!(vocab.read_again().is_packed());
    }
}
