//! Where a pretoken may be cut without changing its tokens: scripts without spaces, above all.
//!
//! *A boundary between two characters that no token straddles is a cut: both sides can be merged
//! alone.* Merging only ever makes tokens. A merge crosses a boundary only if some token has,
//! around a place inside it, the bytes around the boundary. Without such a token no merge crosses,
//! and neither side depends on the other. Each side's merges run in the order of ranks, from the
//! left, as if it stood alone. That holds for rank files and for merge lists. It holds for merges
//! only. A pretoken that is a token as a whole, although merges do not make it, is looked up first
//! (`BpeModel::whole`). Where bytes without a token are left out, their neighbours meet, so such a
//! model has no cuts. Dropout only leaves merges out, which would do no harm, but its random draws
//! are counted from left to right over the whole pretoken: there are no cuts either.
//!
//! Construction visits all places inside all tokens where a character begins. Left of such a place
//! a token has a whole character, or begins in its midst; right of it a token has a whole
//! character, or ends in its midst. That makes four sets of pairs. In cl100k 5,992 pairs are whole
//! characters, 198 have a beginning of the right one, 42 an end of the left one, 3 both; in o200k
//! 24,878, 483, 129, 7. A beginning is kept as its first byte, an end as its last. A set is a Bloom
//! filter with one bit for each pair. The answer "straddled" may be wrong, at the price of a longer
//! unit; "a cut" is always right. Two characters of one alphabet have a bit of their own instead
//! ([`alphabets`]).

mod partial_characters;
mod script_bitmaps;
mod three_byte_simd;

use self::partial_characters::Parts;
use self::script_bitmaps::{Alphabets, N_WORDS};
use self::three_byte_simd::BLOCK_CHARACTERS;
use crate::cpu::dispatch::Kernel;
use crate::vocab::Vocab;

/// Bits for each token of the vocabulary. The number of pairs is not known before all tokens have
/// been seen. The vocabulary o200k has one pair for eight tokens, so the filter misses 3% of its
/// cuts. Other vocabularies lose fewer.
const BITS_PER_TOKEN: usize = 4;
/// The sets of pairs of which one side is not whole have a few hundred.
const BITS_OF_PARTS: usize = 1 << 14;

/// Boundaries that tokens straddle.
#[derive(Debug, PartialEq)]
pub(super) struct Cuts {
    /// Both characters whole.
    whole: Filter,
    /// Pairs of ASCII characters: a bit for the right one in the word of the left one.
    ascii: [u128; 128],
    /// The left one whole, and the first byte of the right one.
    begins: Filter,
    /// The last byte of the left one, and the right one whole.
    ends: Filter,
    /// The last byte of the left one: a bit for the first byte of the right one, both without their
    /// two highest bits.
    both: [u64; 64],
    /// Rows of `both` for first bytes of three: a bit for each of their last four bits.
    both_of_triples: [u16; 64],
    /// All of these, of two characters of one alphabet.
    alphabets: Alphabets,
    /// Parts of characters that `begins`, `ends` and `both` were made of.
    parts: Parts,
    kernel: Kernel,
}

/// Factor for the keys of filters, whose upper bits are folded into the lower ones before.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const FOLD: u32 = 29;

/// A set of numbers that may claim to have more than it has.
#[derive(Debug, PartialEq)]
struct Filter {
    bits: Vec<u64>,
    shift: u32,
}

impl Filter {
    fn with_bits(n: usize) -> Self {
        let words = (n / 64).next_power_of_two().max(16);
        Self {
            bits: vec![0; words],
            shift: 64 - 6 - words.trailing_zeros(),
        }
    }

    /// Builds a filter from its bits.
    fn from_bits(bits: &[u64]) -> Option<Self> {
        let is_one = bits.len().is_power_of_two() && (16..1 << 40).contains(&bits.len());
        is_one.then(|| Self {
            bits: bits.to_vec(),
            shift: 64 - 6 - bits.len().trailing_zeros(),
        })
    }

    #[inline(always)]
    fn place(&self, left: u32, right: u32) -> (usize, u64) {
        let key = u64::from(left) << 32 | u64::from(right);
        let hash = (key ^ key >> FOLD).wrapping_mul(FACTOR) >> self.shift;
        ((hash >> 6) as usize, 1 << (hash & 63))
    }

    fn insert(&mut self, left: u32, right: u32) {
        let (word, bit) = self.place(left, right);
        self.bits[word] |= bit;
    }

    #[inline(always)]
    fn has(&self, left: u32, right: u32) -> bool {
        let (word, bit) = self.place(left, right);
        self.bits[word] & bit != 0
    }
}

/// Bytes of the character that this byte begins; 0 if it begins none.
#[inline(always)]
fn length(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xC0 => 0,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    }
}

#[inline(always)]
fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The character that begins at `from`, as a number, and where it ends; none if there is none.
#[inline(always)]
pub(super) fn character(bytes: &[u8], from: usize) -> Option<(u32, usize)> {
    // By branches, which scripts make easy to guess: what is behind need not wait for how many
    // bytes there are here.
    let rest = bytes.get(from..)?;
    let first = *rest.first()?;
    match length(first) {
        1 => Some((u32::from(first), from + 1)),
        2 => number::<2>(rest).map(|number| (number, from + 2)),
        3 => number::<3>(rest).map(|number| (number, from + 3)),
        4 => number::<4>(rest).map(|number| (number, from + 4)),
        _ => None,
    }
}

/// True if a character has three bytes.
#[inline(always)]
fn is_triple(character: u32) -> bool {
    (0xE0_0000..0xF0_0000).contains(&character)
}

/// Returns the `N` bytes of a character as a number. None: the bytes end sooner, or one behind the
/// first does not continue a character.
#[inline(always)]
fn number<const N: usize>(bytes: &[u8]) -> Option<u32> {
    let character = bytes.first_chunk::<N>()?;
    let is_one = character[1..].iter().all(|&byte| continues(byte));
    is_one.then(|| joined(character))
}

/// The bytes of a character as a number.
#[inline(always)]
fn joined(character: &[u8]) -> u32 {
    let number = |number, &byte| number << 8 | u32::from(byte);
    character.iter().fold(0, number)
}

/// Bytes of a character that a token has on one side of a place inside it.
#[derive(Clone, Copy)]
enum Side<'t> {
    Whole(&'t [u8]),
    Part(&'t [u8]),
}

impl<'t> Side<'t> {
    fn bytes(self) -> &'t [u8] {
        match self {
            Self::Whole(bytes) | Self::Part(bytes) => bytes,
        }
    }
}

/// Most bytes of a part of a character.
const MAX_PART_BYTES: usize = 3;

/// Returns the bits of first bytes of three in a row of first bytes.
fn of_triples(row: u64) -> u16 {
    (row >> (0xE0 & 63)) as u16
}

/// Calls `each` with both sides of every place inside a token where a character begins, or seems
/// to. Skips places where a side is neither a character nor a part of one: no text of whole
/// characters has such a token.
fn boundaries<'t>(token: &'t [u8], mut each: impl FnMut(Side<'t>, Side<'t>)) {
    let mut place = token.iter().take_while(|&&byte| continues(byte)).count();
    let part = &token[place.saturating_sub(MAX_PART_BYTES)..place];
    let mut before = (place > 0).then_some(Side::Part(part));
    while place < token.len() {
        let rest = &token[place..];
        let tail = rest[1..]
            .iter()
            .take_while(|&&byte| continues(byte))
            .count();
        let (after, end) = match character(token, place) {
            Some((_, end)) => (Some(Side::Whole(&token[place..end])), end),
            None if tail + 1 == rest.len() && rest.len() < length(rest[0]) => {
                (Some(Side::Part(rest)), token.len())
            }
            None => (None, place),
        };
        if let (Some(before), Some(after)) = (before, after) {
            each(before, after);
        }
        place += 1 + tail;
        before = after.filter(|_| end == place);
    }
}

impl Cuts {
    /// Builds the cuts of all tokens. Tokens that no merges make only make segments longer.
    pub(super) fn new(vocab: &Vocab) -> Self {
        // A byte for each pair: nothing is read before it is written.
        let mut ascii = vec![[false; 128]; 128];
        let mut both = [0u64; 64];
        let mut whole = Filter::with_bits(vocab.n_tokens() as usize * BITS_PER_TOKEN);
        let mut begins = Filter::with_bits(BITS_OF_PARTS);
        let mut ends = Filter::with_bits(BITS_OF_PARTS);
        let mut alphabets = Alphabets::new();
        let mut parts: Vec<(&[u8], &[u8], u32)> = Vec::new();
        for (id, token) in vocab.iter().filter(|(_, token)| token.len() > 1) {
            if !vocab.is_findable(id) {
                continue;
            }
            if token.is_ascii() {
                for pair in token.windows(2) {
                    ascii[usize::from(pair[0] & 127)][usize::from(pair[1] & 127)] = true;
                }
                continue;
            }
            boundaries(token, |before, after| {
                let (left, right) = (before.bytes(), after.bytes());
                match (before, after) {
                    (Side::Whole(&[left]), Side::Whole(&[right])) => {
                        ascii[usize::from(left & 127)][usize::from(right & 127)] = true;
                        return;
                    }
                    (Side::Whole(_), Side::Whole(_)) => {
                        whole.insert(joined(left), joined(right));
                        alphabets.insert(joined(left), joined(right));
                        return;
                    }
                    (Side::Whole(_), Side::Part(_)) => {
                        begins.insert(joined(left), u32::from(right[0]));
                    }
                    (Side::Part(_), Side::Whole(_)) => {
                        ends.insert(u32::from(left[left.len() - 1]), joined(right));
                    }
                    (Side::Part(_), Side::Part(_)) => {
                        both[usize::from(left[left.len() - 1] & 63)] |= 1 << (right[0] & 63);
                    }
                }
                alphabets.insert_parts(before, after);
                parts.push((left, right, id));
            });
        }
        let bits = |row: &[bool; 128]| {
            let set = row.iter().zip(0..).filter(|&(&is_set, _)| is_set);
            set.map(|(_, bit)| 1u128 << bit).sum()
        };
        let ascii = std::array::from_fn(|left| ascii.get(left).map_or(0, bits));
        Self {
            whole,
            ascii,
            begins,
            ends,
            both,
            both_of_triples: both.map(of_triples),
            alphabets,
            parts: Parts::new(parts.into_iter()),
            kernel: Kernel::fastest(),
        }
    }

    /// All sets as numbers: those whose sizes depend on the vocabulary are the last, with how many
    /// numbers the first of them has.
    pub(super) fn raw(&self) -> Vec<u64> {
        let halves = |word: u128| [word as u64, (word >> 64) as u64];
        let mut raw: Vec<u64> = self.ascii.into_iter().flat_map(halves).collect();
        raw.extend(self.both);
        raw.extend(self.alphabets.bits());
        raw.extend(&self.begins.bits);
        raw.extend(&self.ends.bits);
        let parts: Vec<u64> = self.parts.raw().collect();
        raw.push(parts.len() as u64);
        raw.extend(parts);
        raw.extend(&self.whole.bits);
        raw
    }

    /// Builds the cuts from the numbers of [`Self::raw`]; None of anything else.
    pub(super) fn from_raw(raw: &[u64]) -> Option<Self> {
        const WORDS_OF_PARTS: usize = BITS_OF_PARTS / 64;
        let (ascii, rest) = raw.split_at_checked(256)?;
        let (both, rest) = rest.split_first_chunk::<64>()?;
        let (alphabets, rest) = rest.split_at_checked(N_WORDS)?;
        let (begins, rest) = rest.split_at_checked(WORDS_OF_PARTS)?;
        let (ends, rest) = rest.split_at_checked(WORDS_OF_PARTS)?;
        let (&n_of_parts, rest) = rest.split_first()?;
        let (parts, whole) = rest.split_at_checked(usize::try_from(n_of_parts).ok()?)?;
        let (pairs, _) = ascii.as_chunks::<2>();
        let of_left = |left: usize| {
            let [low, high] = pairs.get(left).copied().unwrap_or_default();
            u128::from(high) << 64 | u128::from(low)
        };
        Some(Self {
            whole: Filter::from_bits(whole)?,
            ascii: std::array::from_fn(of_left),
            begins: Filter::from_bits(begins)?,
            ends: Filter::from_bits(ends)?,
            both: *both,
            both_of_triples: both.map(of_triples),
            alphabets: Alphabets::from_bits(alphabets)?,
            parts: Parts::from_raw(parts)?,
            kernel: Kernel::fastest(),
        })
    }

    /// True if some token may be on both sides of the boundary between two characters. `last`: the
    /// last byte of the left one, `first`: the first byte of the right one.
    #[inline]
    fn straddled(&self, left: u32, right: u32, last: u8, first: u8) -> bool {
        if left < 0x80 && right < 0x80 {
            return self.ascii[left as usize] >> right & 1 != 0;
        }
        if let Some(straddled) = self.alphabets.straddled(left, right) {
            return straddled;
        }
        let parts = || self.parts(left, right, last, first);
        if right < 0xE0_0000 {
            // Nearly all of an alphabet's pairs are straddled.
            return self.whole.has(left, right) || parts() != [false; 2];
        }
        // Elsewhere branches would be mispredicted, so all sets are read.
        let [of_left, of_right] = parts();
        self.whole.has(left, right) | of_left | of_right
    }

    /// True if some token may have a part of one character and something of the other: a part of
    /// the left one, a part of the right one.
    #[inline]
    fn parts(&self, left: u32, right: u32, last: u8, first: u8) -> [bool; 2] {
        let are_longer = u64::from((last & first) >> 7);
        let both = self.both[usize::from(last & 63)] >> (first & 63) & are_longer != 0;
        [
            both | self.ends.has(u32::from(last), right),
            both | self.begins.has(left, u32::from(first)),
        ]
    }

    /// True if some token may have a part of one character together with something of the other, as
    /// far as filters tell. The answers are for a part of the left one and of the right one.
    pub(super) fn may_have_parts(&self, [left, right]: [&[u8]; 2]) -> [bool; 2] {
        let (&[.., last], &[first, ..]) = (left, right) else {
            return [false; 2];
        };
        self.parts(joined(left), joined(right), last, first)
    }

    /// True if some merge may do so before that character is made. `wholes`: the tokens that their
    /// own merges end with, where it is one. Only for merges that are [in
    /// order](super::table::MergeTable::is_in_order).
    pub(super) fn come_apart(&self, both: [&[u8]; 2], wholes: [Option<u32>; 2]) -> [bool; 2] {
        self.parts.come_first(both, wholes)
    }

    /// Puts the next cuts after `from`, the beginning of a character, into `ends`. The end of the
    /// pretoken follows the last cut. Returns the number of ends: at least one, and sometimes fewer
    /// than there is room for. Behind bytes that are no character there are no cuts any more.
    pub(super) fn ends(&self, pretoken: &[u8], from: usize, ends: &mut [usize]) -> usize {
        let (mut n, mut at) = (0, from);
        loop {
            if let Some(rest) = pretoken.get(at..)
                && let Some(room) = ends.get_mut(n..).and_then(<[usize]>::first_chunk_mut)
            {
                let decided = self.of_triples(rest, at, room);
                n += decided.n_cuts;
                at += 3 * decided.n_boundaries;
                if decided.n_boundaries == BLOCK_CHARACTERS {
                    continue;
                }
            } else if ends.len() >= BLOCK_CHARACTERS {
                // With more room the next ones are found sooner.
                return n;
            }
            match self.ends_to_triple(pretoken, at, ends, &mut n) {
                Some(triple) => at = triple,
                None => return n,
            }
        }
    }

    /// Puts cuts behind the first `n` of `ends`, one character after the other from `at` on.
    /// Returns where a character of three bytes begins behind one of another length, if any.
    fn ends_to_triple(
        &self,
        pretoken: &[u8],
        at: usize,
        ends: &mut [usize],
        n: &mut usize,
    ) -> Option<usize> {
        let mut here = character(pretoken, at);
        while *n < ends.len() {
            let Some((left, place)) = here else {
                break;
            };
            here = character(pretoken, place);
            let Some((right, _)) = here else {
                break;
            };
            // Written in any case, counted if it is one.
            ends[*n] = place;
            let cut = !self.straddled(left, right, pretoken[place - 1], pretoken[place]);
            *n += usize::from(cut);
            if is_triple(right) && !is_triple(left) {
                return Some(place);
            }
        }
        if let Some(end) = ends.get_mut(*n) {
            *end = pretoken.len();
            *n += 1;
        }
        None
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{BpeModel, BpeScratch, Merges, Missing, naive};
    use super::*;
    use crate::models::Model;
    use crate::pipeline::{Pipeline, WordScratch};
    use crate::pretokenize::PreTokenizer;
    use proptest::prelude::*;

    /// Letters whose bytes coincide in part: the same first bytes, the same last ones, one and four
    /// bytes.
    pub(in crate::models::bpe) const LETTERS: [&str; 9] =
        ["a", "b", "é", "è", "你", "佀", "侠", "😀", "😁"];

    /// All bytes, and tokens made of others as merges make them: of any bytes, also of halves of
    /// characters.
    fn model(choices: &[(usize, usize)], by_rank: bool, whole: bool) -> BpeModel {
        let mut vocab = Vocab::default();
        let used: Vec<u8> = {
            let mut used: Vec<u8> = LETTERS.concat().into_bytes();
            used.sort_unstable();
            used.dedup();
            used
        };
        for byte in 0..=255u8 {
            vocab.insert(u32::from(byte), &[byte]).unwrap();
        }
        let list = naive::drawn_merges(&mut vocab, &used, choices, 16);
        // A token that nothing makes.
        vocab.insert(vocab.size(), "a你你b".as_bytes()).ok();
        let merges = if by_rank {
            Merges::ByRank
        } else {
            Merges::List(list)
        };
        BpeModel::new(vocab, &merges, whole, Missing::Fail).unwrap()
    }

    fn encode(model: &BpeModel, pretoken: &[u8]) -> Vec<u32> {
        let mut ids = Vec::new();
        model
            .encode_pretoken(pretoken, &mut BpeScratch::default(), &mut ids)
            .unwrap();
        ids
    }

    /// The naive twin: whether any token stands on both sides of a place of this text.
    fn naively_straddled(vocab: &Vocab, text: &[u8], place: usize) -> bool {
        vocab.iter().any(|(_, token)| {
            (1..token.len())
                .any(|inside| place >= inside && text[place - inside..].starts_with(token))
        })
    }

    proptest! {
        #[test]
        fn units_encode_as_the_whole(
            choices in prop::collection::vec((any::<usize>(), any::<usize>()), 0..60),
            text in prop::collection::vec(prop::sample::select(&LETTERS[..]), 1..60),
            by_rank in any::<bool>(),
            at_once in 1usize..9,
        ) {
            let model = model(&choices, by_rank, false);
            let cuts = Cuts::new(&model.vocab);
            let raw = cuts.raw();
            prop_assert!(Cuts::from_raw(&raw).is_some_and(|again| again == cuts));
            prop_assert!(Cuts::from_raw(&raw[1..]).is_none());
            let text = text.concat().into_bytes();
            let mut units = Vec::new();
            let mut from = 0;
            let mut ends = vec![0; at_once];
            while from < text.len() {
                let n = cuts.ends(&text, from, &mut ends);
                for &to in &ends[..n] {
                    units.extend(encode(&model, &text[from..to]));
                    if to < text.len() {
                        prop_assert!(!naively_straddled(&model.vocab, &text, to));
                    }
                    from = to;
                }
            }
            prop_assert_eq!(units, encode(&model, &text));
        }
    }

    proptest! {
        /// A thread's past changes nothing: a token that merging does not make is itself as a
        /// pretoken, and not as a part of a longer one. `known`: pretokens before there are tables.
        #[test]
        fn caches_tell_units_from_pretokens(
            choices in prop::collection::vec((any::<usize>(), any::<usize>()), 0..40),
            texts in prop::collection::vec((prop::sample::select(&LETTERS[..]), any::<u8>()), 1..300),
            by_rank in any::<bool>(),
            known in 0usize..60,
        ) {
            // Nothing straddles its ends in these texts.
            const WHOLE: &str = "a你你b";
            let pretokens: Vec<String> = texts
                .chunk_by(|_, other| other.1 % 4 > 0)
                .map(|letters| letters.iter().map(|&(letter, at)| if at % 3 > 0 { letter } else { WHOLE }).collect())
                .collect();
            let pipeline = Pipeline::new(PreTokenizer::new(&[]).unwrap(), model(&choices, by_rank, true));
            let (mut words, mut scratch) = (WordScratch::default(), BpeScratch::default());
            for (index, pretoken) in pretokens.iter().enumerate() {
                if index == known {
                    let _ = pipeline.model().tables.get(pipeline.model().vocab());
                }
                let bytes = pretoken.as_bytes();
                let mut ids = Vec::new();
                pipeline.word(bytes, 0, bytes.len(), &mut words, &mut scratch, &mut ids).unwrap();
                prop_assert_eq!(ids, encode(pipeline.model(), bytes), "{}", pretoken);
            }
        }
    }

    #[test]
    fn cuts_are_found() {
        let model = model(&[], true, false);
        let cuts = Cuts::new(&model.vocab);
        // Only the token that nothing makes is there.
        let text = "你好ab你你ba".as_bytes();
        let mut ends = [0; 9];
        assert_eq!(cuts.ends(text, 0, &mut ends), 6);
        assert_eq!(ends[..6], [3, 6, 7, 8, 15, 16]);
        assert_eq!(cuts.ends(text, 7, &mut ends[..2]), 2);
        assert_eq!(ends[..2], [8, 15]);
        assert_eq!(cuts.ends(b"\x80ab", 0, &mut ends), 1);
        assert_eq!(ends[0], 3);
    }
}
