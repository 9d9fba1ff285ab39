//! From token bytes to id, read-only: all that a lookup compares lies in one cache line.
//!
//! In the open table ([`table`](super::table)) a token that is found costs three reads of memory
//! that wait for each other: its slot, where it lies, and its bytes. Here a slot has sixteen bytes:
//! the id, the length, and the first twelve bytes of the token, which for most are all. Only longer
//! ones are compared with the vocabulary. Four slots are a line, which the hash chooses, and which
//! is as long as what memory gives at once.
//!
//! Before that a filter is asked, an eighth of a megabyte for a hundred thousand tokens, which
//! rejects nearly all keys that are no tokens. A token whose line is full lies in one of the lines
//! behind it, with no line between that has a free slot. Every token lies in its own line or the
//! next ones, [`MAX_LINES`] in all. Where one would lie further, another seed is tried,
//! [`MAX_SEEDS`](super::table::MAX_SEEDS) in all. A vocabulary for which none will do keeps its
//! open table. So a lookup is bounded, whatever the tokens are.
//!
//! A file has filter and slots as they lie in memory. Tokens are not hashed, and slots not looked
//! at, before a lookup needs them. So a hostile file may find another token than the one with the
//! given bytes, as any vocabulary may have other tokens. Every token found is a token that may be
//! found.

use super::lengths::Lengths;
use super::table::{Bytes, half, hash, word};
use super::{Search, Tokens};
use crate::cpu::prefetch::prefetch;
use crate::memory::arena::ArenaVec;
use crate::memory::bloom::filter_bits;

/// Tokens in two lines, on average: of eight slots. With five, first passes and loads took as long
/// when slots were made of tokens; a file that has them is smaller with six.
const MEAN_OF_TWO: usize = 6;

/// Slots of a line.
pub(super) const SLOTS: usize = 4;

/// Words of a line: two for each slot.
pub(super) const WORDS: usize = 2 * SLOTS;

/// Lines in which a token may lie. With random hashes 13% lie in another than the first, and the
/// furthest of a million 37 to 45 lines behind it (simulated a few times).
pub(super) const MAX_LINES: usize = 64;

/// Bytes of a token in its slot.
const INLINE: usize = 12;

/// Bits of the filter for each token, of which three are set: 3% of the keys that are no tokens
/// pass.
pub(super) const FILTER_BITS: usize = 10;

/// Kind of a slot, in its second word: 0 if empty, else the length of a token plus one, up to
/// [`INLINE`]. All longer tokens have [`INLINE`] plus two. The first word holds the token's first
/// bytes.
pub(super) const KIND: u64 = 0xF;

/// Shift of the id in the second word. Four more bytes of the token are behind it.
const ID: u32 = 8;

/// Mask of the compared bits.
const COMPARED: u64 = 0xFFFF_FFFF << 32 | KIND;

const ID_MASK: u32 = (1 << 24) - 1;

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    raw: RawPacked,
    /// All ids below it can be found.
    n_findable: u32,
}

/// Table as a file holds it.
#[derive(Clone, Debug)]
pub(crate) struct RawPacked {
    /// Two words for each slot.
    pub(crate) slots: ArenaVec<u64>,
    /// Three bits for each token.
    pub(crate) filter: ArenaVec<u64>,
    pub(crate) lengths: Lengths,
    pub(crate) n_tokens: usize,
    pub(crate) seed: u32,
}

pub(super) fn lines_for(n_tokens: usize) -> usize {
    (2 * n_tokens).div_ceil(MEAN_OF_TWO).max(1)
}

/// Maps a hash to one of `n` places, by its upper bits.
#[inline]
pub(super) fn home(hash: u64, n: usize) -> usize {
    ((u128::from(hash) * n as u128) >> 64) as usize
}

/// The word of the filter that a hash belongs to, if there is one, and the bits in it.
#[inline]
pub(super) fn filtered(hash: u64, n_words: usize) -> (usize, u64) {
    (home(hash, n_words), filter_bits(hash))
}

#[inline]
fn kind(len: usize) -> u64 {
    len.min(INLINE + 1) as u64 + 1
}

/// Returns the slot of a token with these bytes, without the id.
#[inline]
pub(super) fn key(bytes: &[u8]) -> [u64; 2] {
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

#[inline]
fn id_of(word: u64) -> u32 {
    (word >> ID) as u32 & ID_MASK
}

impl Packed {
    /// The table that a file describes, unless its slots are too few for `n_tokens`. All ids below
    /// `n_findable` can be found.
    ///
    /// Does not verify that every token is found, nor where.
    pub(super) fn from_raw(raw: RawPacked, n_findable: u32) -> Option<Self> {
        let (_, rest) = raw.slots.as_chunks::<WORDS>();
        let has_room = rest.is_empty() && raw.n_tokens <= raw.slots.len() / 2;
        has_room.then_some(Self { raw, n_findable })
    }

    /// Returns the value that [`from_raw`](Self::from_raw) takes.
    pub(super) fn raw(&self) -> &RawPacked {
        &self.raw
    }

    /// The ids in the table, rising.
    pub(super) fn ids(&self, tokens: &Tokens) -> Vec<u32> {
        let (slots, _) = self.raw.slots.as_chunks::<2>();
        let used = slots.iter().filter(|[_, second]| second & KIND != 0);
        let ids = used.map(|&[_, second]| id_of(second));
        let mut ids: Vec<u32> = ids.filter(|&id| self.is_findable(id, tokens)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub(super) fn len(&self) -> usize {
        self.raw.n_tokens
    }

    #[inline]
    fn is_findable(&self, id: u32, tokens: &Tokens) -> bool {
        let of_span = || tokens.spans.get(id as usize);
        id < self.n_findable || of_span().is_some_and(|span| span.is_findable())
    }

    #[inline]
    pub(super) fn find(&self, bytes: &[u8], tokens: &Tokens) -> Option<u32> {
        if !self.raw.lengths.may_have(bytes) {
            return None;
        }
        self.find_hashed(hash(self.raw.seed, bytes), bytes, tokens)
    }

    /// Finds a token that may be one by its length, and has this hash.
    #[inline]
    pub(super) fn find_hashed(&self, hash: u64, bytes: &[u8], tokens: &Tokens) -> Option<u32> {
        let (word, bits) = filtered(hash, self.raw.filter.len());
        if self.raw.filter.get(word)? & bits != bits {
            return None;
        }
        let (lines, _) = self.raw.slots.as_chunks::<WORDS>();
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
                    return self.is_findable(id, tokens).then_some(id);
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

    /// Asks memory for what [`Self::find`] looks at.
    #[inline]
    pub(super) fn begin_search(&self, bytes: &[u8]) -> Search {
        if !self.raw.lengths.may_have(bytes) {
            return Search::InVain;
        }
        let hash = hash(self.raw.seed, bytes);
        if let Some(word) = self.raw.filter.get(home(hash, self.raw.filter.len())) {
            prefetch(word);
        }
        let (lines, _) = self.raw.slots.as_chunks::<WORDS>();
        if let Some([first, ..]) = lines.get(home(hash, lines.len())) {
            prefetch(first);
        }
        Search::Hashed(hash)
    }
}

/// Puts a token into an empty slot.
#[inline]
pub(super) fn put(slot: &mut [u64; 2], [first, second]: [u64; 2], id: u32) {
    slot[0] = first;
    slot[1] = second | u64::from(id) << ID;
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::super::{RawIndex, Vocab};
    use super::*;
    use crate::memory::arena::HugeArena;

    /// Tokens of any length, few of them long, often with the same beginnings; opaque ones, and
    /// holes.
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
        let first = (0..vocab.size()).find(|&id| !vocab.is_findable(id));
        Packed::from_raw(raw, first.unwrap_or(vocab.size()))
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
            prop_assert_eq!(first.slots, second.slots);
            prop_assert_eq!(first.n_tokens, second.n_tokens);
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

        /// For any file, a token that is found is one that may be found.
        #[test]
        fn lies_are_refused_or_find_other_tokens(
            tokens in tokens(),
            lies in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..4),
            ids in prop::collection::vec((any::<prop::sample::Index>(), 0u64..600), 0..4),
            swaps in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..4),
            fewer in 0..20usize,
            filter in prop::option::of(prop::collection::vec(any::<u64>(), 0..9)),
            seed in prop::option::of(any::<u32>()),
            n_tokens in prop::option::of(any::<usize>()),
        ) {
            let vocab = vocab(&tokens);
            let mut raw = parts(&vocab);
            let n = raw.slots.len();
            let slots = raw.slots.to_mut();
            for (at, word) in lies {
                slots[at.index(n)] = word;
            }
            for (at, id) in ids {
                let second = &mut slots[at.index(n) | 1];
                *second = *second & COMPARED | id << ID;
            }
            for [a, b] in swaps {
                slots.swap(a.index(n), b.index(n));
            }
            slots.truncate(n - fewer.min(n));
            raw.filter = filter.map_or(raw.filter, ArenaVec::from);
            raw.seed = seed.unwrap_or(raw.seed);
            raw.n_tokens = n_tokens.unwrap_or(raw.n_tokens);
            if let Some(packed) = read(&vocab, raw) {
                let found = questions(&tokens).filter_map(|bytes| packed.find(&bytes, &vocab.tokens));
                for id in found.chain(packed.ids(&vocab.tokens)) {
                    prop_assert!(vocab.is_findable(id));
                }
                let ids = packed.ids(&vocab.tokens);
                prop_assert!(ids.is_sorted_by(|a, b| a < b));
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
        let with = |n_words: usize, n_tokens: usize| {
            let mut raw = parts(&vocab);
            raw.slots.to_mut().truncate(n_words);
            read(&vocab, RawPacked { n_tokens, ..raw })
        };
        assert_eq!(with(WORDS, 2).unwrap().len(), 2);
        assert_eq!(with(WORDS, 2).unwrap().ids(&vocab.tokens), [0, 3]);
        // Slots of which there is no line, and more tokens than slots.
        assert!(with(WORDS - 1, 2).is_none());
        assert!(with(WORDS, SLOTS + 1).is_none());
        assert!(with(0, 1).is_none());
        // Nothing is found where there is nothing.
        let packed = with(0, 0).unwrap();
        assert_eq!(packed.find(b"a", &vocab.tokens), None);
        // More than can be found.
        let raw = vocab.raw();
        let index = RawIndex::Packed(RawPacked {
            n_tokens: 3,
            ..parts(&vocab)
        });
        let shelf = &mut HugeArena::with_room(0);
        let arena = raw.arena.into();
        assert!(
            Vocab::from_raw(arena, &raw.lengths, &raw.long, &raw.opaque, index, shelf).is_none()
        );
    }

    /// One that is opaque, a hole, and an id that there is not.
    #[test]
    fn ids_that_may_not_be_found_are_not() {
        let tokens = [(2, b"a".to_vec()), (1, b"b".to_vec()), (0, vec![])];
        let vocab = vocab(&tokens);
        for (id, expected) in [(0, Some(0)), (1, None), (2, None), (3, None)] {
            let mut raw = parts(&vocab);
            let (slots, _) = raw.slots.to_mut().as_chunks_mut::<2>();
            put(&mut slots[0], key(b"a"), id);
            let packed = read(&vocab, raw).unwrap();
            assert_eq!(packed.find(b"a", &vocab.tokens), expected);
            assert_eq!(
                packed.ids(&vocab.tokens),
                expected.map_or(vec![], |id| vec![id])
            );
        }
    }
}
