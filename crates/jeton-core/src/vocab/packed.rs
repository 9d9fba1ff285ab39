//! From token bytes to id, read-only: all that a lookup compares lies in one cache line.
//!
//! In the open table ([`table`](super::table)) a token that is found costs three reads of memory that wait for each other: its
//! slot, where it lies, and its bytes. Here a slot has sixteen bytes: the id, the length, and the first twelve bytes of the
//! token, which for most are all. Only longer ones are compared with the vocabulary. Four slots are a line,
//! which the hash chooses, and which is as long as what memory gives at once.
//!
//! Before that a filter is asked, an eighth of a megabyte for a hundred thousand tokens, which says of nearly all that is no token
//! that it is none. A token whose line is full lies in one of the lines behind it, with no line between that has a free slot. No
//! token lies in another than the first [`MAX_LINES`]; where one would, another seed is tried, [`MAX_SEEDS`] in all, and a
//! vocabulary for which none will do keeps its open table. So a lookup is bounded, whatever the tokens are.
//!
//! A file has the filter, and says in the order of slots which token lies where: the slots are made of the tokens themselves, and no
//! token is hashed. So whatever a file says, what is found has the bytes that were asked for. A token that its file puts where it is not
//! looked for is not found, and nothing worse.

use super::table::{Bytes, MAX_SEEDS, half, hash, word};
use super::{Span, Tokens};
use crate::filter_bits::filter_bits;
use crate::prefetch::prefetch;
use crate::shelf::{Shelf, Shelved};

/// Tokens in two lines, on average: of eight slots. With six, first passes and loads took as long.
const MEAN_OF_TWO: usize = 5;

/// Slots of a line.
const SLOTS: usize = 4;

/// Words of a line: two for each slot.
const WORDS: usize = 2 * SLOTS;

/// Lines in which a token may lie. With random hashes 8% lie in another than the first, and the furthest of a million 14 to 34 lines
/// behind it (simulated a few times).
const MAX_LINES: usize = 64;

/// Bytes of a token in its slot.
const INLINE: usize = 12;

/// Bits of the filter for each token, of which three are set: 3% of what is no token passes.
const FILTER_BITS: usize = 10;

/// Where the second word of a slot says what is there: nothing (0), or one more than the length of a token, up to
/// [`INLINE`] and two for all that are longer. The first word are its first bytes.
const KIND: u64 = 0xF;

/// Where it has the id. Behind it are four more bytes.
const ID: u32 = 8;

/// What of it is compared.
const COMPARED: u64 = 0xFFFF_FFFF << 32 | KIND;

/// Bits of an id.
const ID_BITS: u32 = 24;

const ID_MASK: u32 = (1 << ID_BITS) - 1;

/// Tokens that are on their way together when a table is made.
const AT_ONCE: usize = 32;

/// Most free slots between two tokens of a table that can be written.
const MOST_FREE: usize = 0xFF;

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    filter: Shelved<u64>,
    slots: Shelved<u64>,
    seed: u32,
    n_tokens: usize,
}

/// What a file has of a table.
pub(crate) struct RawPacked {
    /// In the order of slots: the id of a token, below how many slots are free before it.
    pub(crate) order: Vec<u32>,
    /// Three bits for each token.
    pub(crate) filter: Shelved<u64>,
    pub(crate) seed: u32,
}

fn lines_for(n_tokens: usize) -> usize {
    (2 * n_tokens).div_ceil(MEAN_OF_TWO).max(1)
}

/// Which of so many a hash belongs to, by its upper bits.
#[inline]
fn home(hash: u64, n: usize) -> usize {
    ((u128::from(hash) * n as u128) >> 64) as usize
}

/// The word of the filter that a hash belongs to, if there is one, and the bits in it.
#[inline]
fn filtered(hash: u64, n_words: usize) -> (usize, u64) {
    (home(hash, n_words), filter_bits(hash))
}

#[inline]
fn kind(len: usize) -> u64 {
    len.min(INLINE + 1) as u64 + 1
}

/// What a slot has of a token with these bytes, but for the id.
#[inline]
fn key(bytes: &[u8]) -> [u64; 2] {
    let n = bytes.len();
    let (first, behind) = match n {
        0 => (0, 0),
        1..4 => {
            // Some of them are the same.
            let at = |at: usize| u64::from(bytes[at]) << (8 * at);
            (at(0) | at(n >> 1) | at(n - 1), 0)
        }
        4..8 => (half(bytes, 0) | half(bytes, n - 4) << (8 * (n - 4)), 0),
        8..INLINE => (word(bytes, 0), half(bytes, n - 4) >> (8 * (INLINE - n))),
        _ => (word(bytes, 0), half(bytes, 8)),
    };
    [first, behind << 32 | kind(n)]
}

/// The same of a token in the arena.
#[inline]
fn key_in(arena: &[u8], span: Span) -> [u64; 2] {
    let (start, len) = (span.start as usize, span.length());
    // Sixteen bytes at once, where there are as many, without asking how many belong to the token.
    match arena.get(start..).and_then(|rest| rest.first_chunk()) {
        Some(some) => {
            let text = u128::from_le_bytes(*some) & MASKS[len.min(INLINE)];
            [text as u64, (text >> 64 << 32) as u64 | kind(len)]
        }
        None => key(arena.get(start..start + len).unwrap_or_default()),
    }
}

#[inline]
fn id_of(word: u64) -> u32 {
    (word >> ID) as u32 & ID_MASK
}

impl Packed {
    /// A table of tokens with different bytes, if there is one.
    pub(super) fn new(ids: &[u32], tokens: &Tokens) -> Option<Self> {
        let n_lines = lines_for(ids.len());
        (0..MAX_SEEDS).find_map(|seed| {
            let n_words = ids.len() * FILTER_BITS / 64 + 1;
            let mut packed = Self {
                filter: vec![0; n_words].into(),
                slots: vec![0; n_lines * WORDS].into(),
                seed,
                n_tokens: ids.len(),
            };
            let holds = ids.iter().all(|&id| packed.insert(id, tokens));
            (holds && packed.has_small_gaps()).then_some(packed)
        })
    }

    /// Whether it can be written.
    fn has_small_gaps(&self) -> bool {
        let mut next = 0;
        self.used().all(|(at, _)| {
            let n_free = at - next;
            next = at + 1;
            n_free <= MOST_FREE
        })
    }

    fn insert(&mut self, id: u32, tokens: &Tokens) -> bool {
        let bytes = tokens.of(id);
        let hash = hash(self.seed, bytes);
        let (word, bits) = filtered(hash, self.filter.len());
        if let Some(word) = self.filter.get_mut(word) {
            *word |= bits;
        }
        let (lines, _) = self.slots.as_chunks_mut::<WORDS>();
        let mut at = home(hash, lines.len());
        for _ in 0..MAX_LINES {
            let Some(line) = lines.get_mut(at) else {
                return false;
            };
            let (slots, _) = line.as_chunks_mut::<2>();
            if let Some(slot) = slots.iter_mut().find(|slot| slot[1] & KIND == 0) {
                put(slot, key(bytes), id);
                return true;
            }
            at = if at + 1 == lines.len() { 0 } else { at + 1 };
        }
        false
    }

    /// The table that a file tells of, unless there is none.
    ///
    /// Whether it has every token, and where that is looked for, is not looked at.
    pub(super) fn from_raw(raw: RawPacked, tokens: &Tokens, shelf: &mut Shelf) -> Option<Self> {
        let n_tokens = raw.order.len();
        if n_tokens > tokens.spans.len() {
            return None;
        }
        let mut slots = shelf.zeroed(lines_for(n_tokens) * WORDS);
        let (pairs, _) = slots.as_chunks_mut::<2>();
        let mut at = 0;
        for words in raw.order.chunks(AT_ONCE) {
            let mut spans = [Span::default(); AT_ONCE];
            for (place, word) in spans.iter_mut().zip(words) {
                let span = *tokens.spans.get((word & ID_MASK) as usize)?;
                if let Some(byte) = tokens.arena.get(span.start as usize) {
                    prefetch(byte);
                }
                *place = span;
            }
            for (&word, span) in words.iter().zip(spans) {
                at += (word >> ID_BITS) as usize;
                let slot = pairs.get_mut(at)?;
                at += 1;
                if !span.is_findable() {
                    return None;
                }
                put(slot, key_in(&tokens.arena, span), word & ID_MASK);
            }
        }
        Some(Self {
            filter: raw.filter,
            slots,
            seed: raw.seed,
            n_tokens,
        })
    }

    /// What [`from_raw`](Self::from_raw) takes.
    pub(super) fn raw(&self) -> RawPacked {
        let mut next = 0;
        let order = self.used().map(|(at, id)| {
            let n_free = (at - next) as u32;
            next = at + 1;
            n_free << ID_BITS | id
        });
        RawPacked {
            order: order.collect(),
            filter: self.filter.clone(),
            seed: self.seed,
        }
    }

    /// Slots and ids in them.
    fn used(&self) -> impl Iterator<Item = (usize, u32)> {
        let (slots, _) = self.slots.as_chunks::<2>();
        let used = slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot[1] & KIND != 0);
        used.map(|(at, slot)| (at, id_of(slot[1])))
    }

    /// The ids in the table, rising.
    pub(super) fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.used().map(|(_, id)| id).collect();
        ids.sort_unstable();
        ids
    }

    pub(super) fn len(&self) -> usize {
        self.n_tokens
    }

    #[inline]
    pub(super) fn find(&self, bytes: &[u8], tokens: &impl Bytes) -> Option<u32> {
        let hash = hash(self.seed, bytes);
        let (word, bits) = filtered(hash, self.filter.len());
        if self.filter.get(word)? & bits != bits {
            return None;
        }
        let (lines, _) = self.slots.as_chunks::<WORDS>();
        let mut at = home(hash, lines.len());
        let [first, second] = key(bytes);
        for _ in 0..MAX_LINES {
            let line = lines.get(at)?;
            // All four, without a branch for each: which one it is nobody can predict.
            let is_same = |slot: usize| {
                let differences = line[2 * slot] ^ first | (line[2 * slot + 1] ^ second) & COMPARED;
                u32::from(differences == 0) << slot
            };
            let mut same = is_same(0) | is_same(1) | is_same(2) | is_same(3);
            while same != 0 {
                let slot = same.trailing_zeros() as usize % SLOTS;
                let id = id_of(line[2 * slot + 1]);
                if bytes.len() <= INLINE || tokens.of(id) == bytes {
                    return Some(id);
                }
                same &= same - 1;
            }
            if line[WORDS - 1] & KIND == 0 {
                return None;
            }
            at = if at + 1 == lines.len() { 0 } else { at + 1 };
        }
        None
    }
}

/// Puts a token into an empty slot.
#[inline]
fn put(slot: &mut [u64; 2], [first, second]: [u64; 2], id: u32) {
    slot[0] = first;
    slot[1] = second | u64::from(id) << ID;
}

/// The first none, one, two ... bytes of sixteen.
const MASKS: [u128; INLINE + 1] = {
    let mut masks = [0; INLINE + 1];
    let mut n = 0;
    while n <= INLINE {
        masks[n] = (1 << (8 * n)) - 1;
        n += 1;
    }
    masks
};

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::super::{RawIndex, Vocab};
    use super::*;

    /// Tokens of any length, few of them long, often with the same beginnings; opaque ones, and holes.
    fn tokens() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
        let bytes = |n| prop::collection::vec(prop_oneof![0..3u8, any::<u8>()], n);
        let same = (0usize..300).prop_map(|n| vec![b'a'; n]);
        let token =
            prop_oneof![4 => bytes(0..9), 2 => bytes(9..20), 1 => bytes(20..300), 1 => same];
        prop::collection::vec((any::<u8>(), token), 0..200)
    }

    fn vocab(tokens: &[(u8, Vec<u8>)]) -> Vocab {
        let mut vocab = Vocab::default();
        for (id, (kind, token)) in (0..).zip(tokens) {
            match kind % 8 {
                0 => {}
                1 => vocab.insert_opaque(id, token).unwrap(),
                _ => vocab.insert(id, token).unwrap(),
            }
        }
        vocab
    }

    fn parts(vocab: &Vocab) -> RawPacked {
        match vocab.raw().index {
            RawIndex::Packed(raw) => raw,
            RawIndex::Open { .. } => panic!("it cannot be packed"),
        }
    }

    fn read(vocab: &Vocab, raw: RawPacked) -> Option<Packed> {
        Packed::from_raw(raw, &vocab.tokens, &mut Shelf::with_room(0))
    }

    /// Each token, what it begins with, and a little more.
    fn questions(tokens: &[(u8, Vec<u8>)]) -> impl Iterator<Item = Vec<u8>> {
        tokens.iter().flat_map(|(_, token)| {
            let shorter = token[..token.len().saturating_sub(1)].to_vec();
            [token.clone(), shorter, [token, &b"a"[..]].concat()]
        })
    }

    proptest! {
        /// The naive twin is a map of the standard library; the open table says the same.
        #[test]
        fn finds_what_a_map_finds(
            tokens in tokens(),
            others in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..50),
        ) {
            let vocab = vocab(&tokens);
            let mut map = HashMap::new();
            for (id, token) in vocab.iter().filter(|&(id, _)| vocab.is_findable(id)) {
                map.entry(token).or_insert(id);
            }
            let mut again = vocab.read_again();
            prop_assert!(again.is_packed());
            prop_assert_eq!(again.is_unique(), vocab.is_unique());
            for bytes in questions(&tokens).chain(others.iter().cloned()) {
                let expected = map.get(bytes.as_slice()).copied();
                prop_assert_eq!(again.bytes_to_id(&bytes), expected);
                prop_assert_eq!(vocab.bytes_to_id(&bytes), expected);
            }
            let (first, second) = (parts(&vocab), parts(&again));
            prop_assert_eq!(first.order, second.order);
            prop_assert_eq!(first.filter, second.filter);
            prop_assert_eq!(first.seed, second.seed);
            // Tokens can be put in, and there is an open table then.
            let mut grown = vocab.clone();
            for token in &others {
                let id = grown.size();
                let known = grown.insert_new(id, token).unwrap();
                prop_assert_eq!(again.insert_new(id, token).unwrap(), known);
            }
            prop_assert_eq!(again.is_packed(), others.is_empty());
            prop_assert_eq!(again.is_unique(), grown.is_unique());
            for bytes in questions(&tokens).chain(others) {
                prop_assert_eq!(again.bytes_to_id(&bytes), grown.bytes_to_id(&bytes));
            }
        }

        /// The naive twin puts one byte after the other.
        #[test]
        fn keys_are_the_first_bytes(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let mut text = [0; 16];
            for (place, &byte) in text.iter_mut().zip(&bytes).take(INLINE) {
                *place = byte;
            }
            let text = u128::from_le_bytes(text);
            let [first, second] = key(&bytes);
            prop_assert_eq!(first, text as u64);
            prop_assert_eq!(second >> 32, (text >> 64) as u64);
            prop_assert_eq!(second << 32 >> 32, bytes.len().min(13) as u64 + 1);
        }

        /// Whatever is not true in a file, an answer is.
        #[test]
        fn lies_are_refused_or_find_less(
            tokens in tokens(),
            lies in prop::collection::vec((any::<prop::sample::Index>(), 0u32..600), 0..4),
            swaps in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..4),
            fewer in 0..2usize,
            filter in prop::option::of(prop::collection::vec(any::<u64>(), 0..9)),
            seed in prop::option::of(any::<u32>()),
        ) {
            let vocab = vocab(&tokens);
            let mut raw = parts(&vocab);
            if !raw.order.is_empty() {
                let n = raw.order.len();
                for (at, place) in lies {
                    raw.order[at.index(n)] = ((place % 2) << ID_BITS) | (place / 2);
                }
                for [a, b] in swaps {
                    raw.order.swap(a.index(n), b.index(n));
                }
            }
            raw.order.truncate(raw.order.len() - fewer.min(raw.order.len()));
            raw.filter = filter.map_or(raw.filter, Shelved::from);
            raw.seed = seed.unwrap_or(raw.seed);
            if let Some(packed) = read(&vocab, raw) {
                for bytes in questions(&tokens) {
                    if let Some(id) = packed.find(&bytes, &vocab.tokens) {
                        prop_assert!(vocab.is_findable(id));
                        prop_assert_eq!(vocab.id_to_bytes(id), Some(bytes.as_slice()));
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let tokens = [
            (2, b"a".to_vec()),
            (1, b"b".to_vec()),
            (0, vec![]),
            (2, b"c".to_vec()),
        ];
        let vocab = vocab(&tokens);
        let with = |order: &[u32]| {
            let raw = RawPacked {
                order: order.to_vec(),
                ..parts(&vocab)
            };
            read(&vocab, raw)
        };
        assert_eq!(with(&[0, 1 << ID_BITS | 3]).unwrap().len(), 2);
        assert_eq!(with(&[]).unwrap().len(), 0);
        // One that is opaque, a hole, an id that there is not, slots that there are not.
        assert!(with(&[0, 1]).is_none());
        assert!(with(&[0, 2]).is_none());
        assert!(with(&[0, 4]).is_none());
        assert!(with(&[0, 4 << ID_BITS | 3]).is_none());
        assert!(with(&[0, 0xFF << ID_BITS | 3]).is_none());
        assert!(with(&[0; 5]).is_none());
        // More than can be found.
        let raw = vocab.raw();
        let index = RawIndex::Packed(RawPacked {
            order: vec![0, 3, 0, 3],
            ..parts(&vocab)
        });
        let shelf = &mut Shelf::with_room(0);
        let arena = raw.arena.into();
        assert!(
            Vocab::from_raw(arena, &raw.lengths, &raw.long, &raw.opaque, index, shelf).is_none()
        );
    }

    /// Tokens of equal hashes: another seed is taken.
    #[test]
    fn tokens_made_to_collide() {
        let n = MAX_LINES * SLOTS + 1;
        let n_lines = lines_for(n);
        let all = (0u32..).map(|n| n.to_le_bytes().to_vec());
        let same = |token: &Vec<u8>| home(hash(0, token), n_lines) == n_lines - 1;
        let tokens: Vec<_> = all.filter(same).take(n).map(|token| (2, token)).collect();
        let collided = vocab(&tokens);
        assert_eq!(parts(&collided).seed, 1);
        let again = collided.read_again();
        for (id, (_, token)) in (0..).zip(&tokens) {
            assert_eq!(again.bytes_to_id(token), Some(id));
        }
        // One less can be found under the first, on from the last line to the first ones.
        let mut packed = Packed {
            filter: vec![0; 1].into(),
            slots: vec![0; n_lines * WORDS].into(),
            seed: 0,
            n_tokens: n - 1,
        };
        let last = n as u32 - 1;
        assert!((0..last).all(|id| packed.insert(id, &collided.tokens)));
        assert!(!packed.insert(last, &collided.tokens));
        for (id, (_, token)) in (0..last).zip(&tokens) {
            assert_eq!(packed.find(token, &collided.tokens), Some(id));
        }
    }
}
