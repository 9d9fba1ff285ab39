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
//!
//! Slots are made after some lookups only: the first ones find their tokens in the order itself ([`order`](super::order)), which takes
//! a few times as long. No thread waits for another one that makes the slots, so that a process may fork at any time.

use std::sync::atomic::{AtomicU32, Ordering};

use once_cell::race::OnceBox;

use super::lengths::Lengths;
use super::order::{ID_BITS, ID_MASK, Order};
use super::table::{Bytes, half, hash, word};
use super::{Search, Span, Tokens};
use crate::filter_bits::filter_bits;
use crate::maker::Maker;
use crate::prefetch::prefetch;
use crate::shelf::{Shelf, Shelved};

/// Tokens in two lines, on average: of eight slots. With six, first passes and loads took as long.
const MEAN_OF_TWO: usize = 5;

/// Slots of a line.
pub(super) const SLOTS: usize = 4;

/// Words of a line: two for each slot.
const WORDS: usize = 2 * SLOTS;

/// Lines in which a token may lie. With random hashes 8% lie in another than the first, and the furthest of a million 14 to 34 lines
/// behind it (simulated a few times).
pub(super) const MAX_LINES: usize = 64;

/// Bytes of a token in its slot.
const INLINE: usize = 12;

/// Bits of the filter for each token, of which three are set: 3% of what is no token passes.
pub(super) const FILTER_BITS: usize = 10;

/// Where the second word of a slot says what is there: nothing (0), or one more than the length of a token, up to
/// [`INLINE`] and two for all that are longer. The first word are its first bytes.
const KIND: u64 = 0xF;

/// Where it has the id. Behind it are four more bytes.
const ID: u32 = 8;

/// What of it is compared.
const COMPARED: u64 = 0xFFFF_FFFF << 32 | KIND;

/// Tokens that are on their way together when a table is made.
const AT_ONCE: usize = 32;

/// Lookups before slots are made, of which loading takes a few hundred for the bytes. Each takes about 160 ns longer than with slots
/// (first passes over English with 16,384 of them), so that this many take nearly as long as making the slots of 100,000 tokens.
const LOOKUPS_WITHOUT: u32 = 4096;

/// The table.
#[derive(Debug)]
pub(super) struct Packed {
    lengths: Lengths,
    filter: Shelved<u64>,
    order: Order,
    seed: u32,
    n_lines: usize,
    slots: OnceBox<Shelved<u64>>,
    /// Lookups that are left before they are made.
    free: AtomicU32,
    /// Who makes them.
    maker: Maker,
}

/// What a file has of a table.
pub(crate) struct RawPacked {
    /// In the order of slots: the id of a token, below how many slots are free before it.
    pub(crate) order: Shelved<u32>,
    /// Three bits for each token.
    pub(crate) filter: Shelved<u64>,
    pub(crate) lengths: Lengths,
    pub(crate) seed: u32,
}

pub(super) fn lines_for(n_tokens: usize) -> usize {
    (2 * n_tokens).div_ceil(MEAN_OF_TWO).max(1)
}

/// Which of so many a hash belongs to, by its upper bits.
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
    /// The table that a file tells of, unless there is none. All ids below `n_findable` can be found.
    ///
    /// Whether it has every token, and where that is looked for, is not looked at.
    pub(super) fn from_raw(raw: RawPacked, tokens: &Tokens, n_findable: u32) -> Option<Self> {
        if raw.order.len() > tokens.spans.len() {
            return None;
        }
        let n_lines = lines_for(raw.order.len());
        let order = Order::new(raw.order, n_lines * SLOTS)?;
        let is_findable = |id: u32| {
            let span = tokens.spans.get(id as usize);
            span.is_some_and(|span| span.is_findable())
        };
        let is_any = order.len() > 0 && order.largest_id() >= n_findable;
        if is_any && !order.iter().all(|(_, id)| is_findable(id)) {
            return None;
        }
        Some(Self {
            lengths: raw.lengths,
            filter: raw.filter,
            order,
            seed: raw.seed,
            n_lines,
            slots: OnceBox::new(),
            free: AtomicU32::new(LOOKUPS_WITHOUT),
            maker: Maker::default(),
        })
    }

    /// The slots, each of which is within the table, as was looked at.
    fn make_slots(&self, tokens: &Tokens) -> Shelved<u64> {
        let n_words = self.n_lines * WORDS;
        let mut slots: Shelved<u64> = Shelf::with_room(n_words * size_of::<u64>()).zeroed(n_words);
        let (pairs, _) = slots.as_chunks_mut::<2>();
        let mut at = 0;
        for words in self.order.words().chunks(AT_ONCE) {
            let mut spans = [Span::default(); AT_ONCE];
            for (place, word) in spans.iter_mut().zip(words) {
                let span = tokens.spans.get((word & ID_MASK) as usize);
                let span = span.copied().unwrap_or_default();
                if let Some(byte) = tokens.arena.get(span.start as usize) {
                    prefetch(byte);
                }
                *place = span;
            }
            for (&word, span) in words.iter().zip(spans) {
                at += (word >> ID_BITS) as usize;
                if let Some(slot) = pairs.get_mut(at) {
                    put(slot, key_in(&tokens.arena, span), word & ID_MASK);
                }
                at += 1;
            }
        }
        slots
    }

    /// What [`from_raw`](Self::from_raw) takes.
    pub(super) fn raw(&self) -> RawPacked {
        RawPacked {
            order: self.order.words().to_vec().into(),
            filter: self.filter.clone(),
            lengths: self.lengths.clone(),
            seed: self.seed,
        }
    }

    /// The ids in the table, rising.
    pub(super) fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.order.iter().map(|(_, id)| id).collect();
        ids.sort_unstable();
        ids
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    #[inline]
    pub(super) fn find(&self, bytes: &[u8], tokens: &Tokens) -> Option<u32> {
        if !self.lengths.may_have(bytes) {
            return None;
        }
        self.find_hashed(hash(self.seed, bytes), bytes, tokens)
    }

    /// The same of what may be one by its length, and has this hash.
    #[inline]
    pub(super) fn find_hashed(&self, hash: u64, bytes: &[u8], tokens: &Tokens) -> Option<u32> {
        let (word, bits) = filtered(hash, self.filter.len());
        if self.filter.get(word)? & bits != bits {
            return None;
        }
        match self.slots.get() {
            Some(slots) => find_in(slots, hash, bytes, tokens),
            None => self.find_first(hash, bytes, tokens),
        }
    }

    /// Asks memory for what [`Self::find`] looks at.
    #[inline]
    pub(super) fn begin_search(&self, bytes: &[u8]) -> Search {
        if !self.lengths.may_have(bytes) {
            return Search::InVain;
        }
        let hash = hash(self.seed, bytes);
        if let Some(word) = self.filter.get(home(hash, self.filter.len())) {
            prefetch(word);
        }
        if let Some(slots) = self.slots.get() {
            let (lines, _) = slots.as_chunks::<WORDS>();
            if let Some([first, ..]) = lines.get(home(hash, lines.len())) {
                prefetch(first);
            }
        }
        Search::Hashed(hash)
    }

    /// The same as long as there are no slots.
    #[cold]
    fn find_first(&self, hash: u64, bytes: &[u8], tokens: &Tokens) -> Option<u32> {
        if self.are_wanted() {
            let slots = self.slots.get_or_init(|| Box::new(self.make_slots(tokens)));
            return find_in(slots, hash, bytes, tokens);
        }
        let mut line = home(hash, self.n_lines);
        for _ in 0..MAX_LINES {
            let (first, behind) = (line * SLOTS, (line + 1) * SLOTS);
            let mut is_full = false;
            for (at, id) in self.order.behind(first) {
                if at >= behind {
                    break;
                }
                if tokens.of(id) == bytes {
                    return Some(id);
                }
                is_full |= at + 1 == behind;
            }
            if !is_full {
                return None;
            }
            line = if line + 1 == self.n_lines {
                0
            } else {
                line + 1
            };
        }
        None
    }

    /// Whether a thread that has no slots is to make them.
    fn are_wanted(&self) -> bool {
        let left = self.free.load(Ordering::Relaxed);
        if left > 0 {
            // Threads that count at once lose some: it need not be exact.
            self.free.store(left - 1, Ordering::Relaxed);
            return false;
        }
        self.maker.is_caller()
    }
}

/// A copy makes its own slots.
impl Clone for Packed {
    fn clone(&self) -> Self {
        Self {
            lengths: self.lengths.clone(),
            filter: self.filter.clone(),
            order: self.order.clone(),
            seed: self.seed,
            n_lines: self.n_lines,
            slots: OnceBox::new(),
            free: AtomicU32::new(LOOKUPS_WITHOUT),
            maker: Maker::default(),
        }
    }
}

#[inline]
fn find_in(slots: &[u64], hash: u64, bytes: &[u8], tokens: &Tokens) -> Option<u32> {
    let (lines, _) = slots.as_chunks::<WORDS>();
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

    /// What the slots say.
    fn found_in_slots(packed: &Packed, bytes: &[u8], tokens: &Tokens) -> Option<u32> {
        let (hash, n_words) = (hash(packed.seed, bytes), packed.filter.len());
        let (word, bits) = filtered(hash, n_words);
        let passes = packed.filter.get(word)? & bits == bits;
        let slots = packed.make_slots(tokens);
        passes
            .then(|| find_in(&slots, hash, bytes, tokens))
            .flatten()
    }

    fn parts(vocab: &Vocab) -> RawPacked {
        match vocab.raw().index {
            RawIndex::Packed(raw) => raw,
            RawIndex::Open { .. } => panic!("it cannot be packed"),
        }
    }

    /// With so many ids that can be found for certain.
    fn read_with(vocab: &Vocab, raw: RawPacked, n_findable: u32) -> Option<Packed> {
        Packed::from_raw(raw, &vocab.tokens, n_findable)
    }

    fn read(vocab: &Vocab, raw: RawPacked) -> Option<Packed> {
        let first = (0..vocab.size()).find(|&id| !vocab.is_findable(id));
        read_with(vocab, raw, first.unwrap_or(vocab.size()))
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
                let packed = again.index.packed.as_ref().unwrap();
                prop_assert_eq!(found_in_slots(packed, &bytes, &again.tokens), expected);
                prop_assert_eq!(vocab.bytes_to_id(&bytes), expected);
            }
            let (first, second) = (parts(&vocab), parts(&again));
            prop_assert_eq!(&*first.order, &*second.order);
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
                let order = raw.order.to_mut();
                for (at, place) in lies {
                    order[at.index(n)] = ((place % 2) << ID_BITS) | (place / 2);
                }
                for [a, b] in swaps {
                    order.swap(a.index(n), b.index(n));
                }
            }
            let n = raw.order.len();
            raw.order.to_mut().truncate(n - fewer.min(n));
            raw.filter = filter.map_or(raw.filter, Shelved::from);
            raw.seed = seed.unwrap_or(raw.seed);
            if let Some(packed) = read(&vocab, raw) {
                for bytes in questions(&tokens) {
                    let found = packed.find(&bytes, &vocab.tokens);
                    prop_assert_eq!(found, found_in_slots(&packed, &bytes, &vocab.tokens));
                    if let Some(id) = found {
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
                order: order.to_vec().into(),
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
            order: vec![0, 3, 0, 3].into(),
            ..parts(&vocab)
        });
        let shelf = &mut Shelf::with_room(0);
        let arena = raw.arena.into();
        assert!(
            Vocab::from_raw(arena, &raw.lengths, &raw.long, &raw.opaque, index, shelf).is_none()
        );
    }

    #[test]
    fn slots_are_made_after_some_lookups() {
        let vocab = vocab(&[(2, b"a".to_vec()), (2, b"b".to_vec())]).read_again();
        let packed = vocab.index.packed.as_ref().unwrap();
        for _ in 0..LOOKUPS_WITHOUT {
            assert_eq!(vocab.bytes_to_id(b"b"), Some(1));
            assert_eq!(vocab.bytes_to_id(b"c"), None);
        }
        assert!(packed.slots.get().is_none());
        // A thread of a process that was forked away makes them no more.
        let other = std::process::id().wrapping_add(1);
        packed.maker.set(other);
        assert_eq!(vocab.bytes_to_id(b"b"), Some(1));
        assert!(packed.slots.get().is_some());
        assert_eq!(vocab.bytes_to_id(b"a"), Some(0));
        // One of this process makes them still: nobody waits.
        let copy = packed.clone();
        copy.free.store(0, Ordering::Relaxed);
        copy.maker.set(std::process::id());
        assert_eq!(copy.find(b"b", &vocab.tokens), Some(1));
        assert!(copy.slots.get().is_none());
    }
}
