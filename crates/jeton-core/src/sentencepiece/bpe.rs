//! SentencePiece's BPE: among the neighbours that make a piece, the pair of the highest score
//! merges first, ties from the left.
//!
//! Follows `sentencepiece` 0.2.3: user-defined pieces are found first and never merge; unused
//! pieces may form on the way and are taken apart again; characters without a piece are unknown.
//! The pairs that make each piece are worked out once, from every way to cut a piece in two. So
//! merging compares numbers and not strings. Text is merged in stretches that no piece can cross;
//! where spaces only stand at the beginning of pieces, such a stretch is a word. Time O(n log n) in
//! the longest stretch, memory 20 to 40 bytes for each of its characters.

use hashbrown::HashMap;

use super::normalizer::Matcher;
use super::piece::{Piece, PieceKind, SPACE, check};
use crate::error::{ErrorKind, Result};
use crate::models::bpe::merge::{BpeScratch, MergeObserver, merge, merge_long};
use crate::models::bpe::pairs::PairTable;
use crate::models::unigram::check_length;
use crate::models::unigram::emit::{Emit, Fuse, NO_ID, SpannedId, char_bytes};
use crate::models::unigram::random::SplitMix64;
use crate::models::unigram::trie::Trie;
use crate::vocab::Vocab;

/// Marks a user-defined piece that was found in the text: it merges with nothing.
const FROZEN: u32 = 1 << 31;
/// Symbol of a character that is in no piece.
const NOTHING: u32 = u32::MAX;
/// Most pairs of symbols that make a piece: five times the largest published vocabulary's, and a
/// bound on memory for a hostile one.
const MAX_PAIRS: usize = 1 << 24;
/// Longest piece, in bytes, whose halves are looked up. Short pieces have few halves, and hashing
/// them is quicker than making two tries of all symbols.
const LOOKED_UP: usize = 64;
/// Depth to which an unused piece is taken apart (`sentencepiece` 0.2.3); deeper pieces stay.
const MAX_DEPTH: u32 = 100;

/// A BPE model with scores.
#[derive(Debug)]
pub struct SpmBpe {
    vocab: Vocab,
    /// Symbols of single characters: the id of a piece, or a number beyond them.
    characters: Trie,
    pairs: PairTable,
    user_defined: Option<Matcher>,
    /// Length of each symbol in bytes.
    lengths: Vec<u16>,
    n_pieces: u32,
    /// True if a piece is unused, by id; empty if none is.
    unused: Vec<bool>,
    /// True if a piece has a space after another character, or another character after a space.
    crosses: [bool; 2],
    unknown: u32,
    bytes: Option<Box<[u32; 256]>>,
}

/// Memory that encoding uses again.
#[derive(Debug, Default)]
pub struct SpmBpeScratch {
    symbols: Vec<u32>,
    merge: BpeScratch,
}

/// The two symbols that an unused piece was made of, by its id.
type Origins = HashMap<u32, (u32, u32), foldhash::fast::FixedState>;

/// Random choice of merges that are left out.
struct Dropout<'a> {
    probability: f64,
    random: &'a mut SplitMix64,
}

/// Merging in SentencePiece's own order, where it shows: equal scores, unused pieces, dropout.
struct Watcher<'a, 'b> {
    unused: &'a [bool],
    dropout: Option<&'a mut Dropout<'b>>,
    /// Last parts from which each unused piece was seen to be made.
    made: Origins,
}

impl MergeObserver for Watcher<'_, '_> {
    fn noted(&mut self, merged: u32, left: u32, right: u32) {
        if self.unused.get(merged as usize) == Some(&true) {
            self.made.insert(merged, (left, right));
        }
    }

    fn dropped(&mut self) -> bool {
        self.dropout
            .as_mut()
            .is_some_and(|d| d.random.next_unit() < d.probability)
    }
}

impl SpmBpe {
    /// Builds the model. Fails where SentencePiece refuses the vocabulary.
    pub fn new(pieces: &[Piece], byte_fallback: bool) -> Result<Self> {
        let checked = check(pieces, byte_fallback, true)?;
        let vocab = checked.vocab;
        let n_pieces = pieces.len() as u32;
        let matched = || {
            pieces
                .iter()
                .zip(0u32..)
                .filter(|(piece, _)| piece.is_matched() && !piece.is_null())
        };
        let mut lengths: Vec<u16> = pieces.iter().map(|p| p.bytes.len() as u16).collect();
        // Characters of pieces that are no pieces themselves still take part in merges.
        let mut strangers: Vec<&[u8]> = matched()
            .flat_map(|(piece, _)| characters(&piece.bytes))
            .filter(|c| vocab.bytes_to_id(c).is_none())
            .collect();
        strangers.sort_unstable();
        strangers.dedup();
        lengths.extend(strangers.iter().map(|c| c.len() as u16));
        let symbols = Symbols {
            pieces,
            vocab: &vocab,
            strangers: &strangers,
        };
        let pairs = find_pairs(&symbols)?;
        let is_one = |key: &[u8]| char_bytes(key[0]) >= key.len();
        let ones = symbols.all().filter(|key| is_one(key.0));
        let characters = Trie::new(ones.collect())?;
        let user_defined = matched()
            .filter(|(piece, _)| piece.kind == PieceKind::UserDefined)
            .map(|(piece, id)| (piece.bytes.as_slice(), id))
            .collect();
        let unused: Vec<bool> = pieces
            .iter()
            .map(|piece| piece.kind == PieceKind::Unused && !piece.is_null())
            .collect();
        Ok(Self {
            characters,
            user_defined: Matcher::new(user_defined)?,
            crosses: crossings(matched().map(|(piece, _)| piece.bytes.as_slice())),
            pairs,
            lengths,
            n_pieces,
            unused: if unused.contains(&true) {
                unused
            } else {
                Vec::new()
            },
            unknown: checked.unknown.unwrap_or(NO_ID),
            bytes: checked.bytes,
            vocab,
        })
    }

    /// Pieces and ids.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// True if stretches of text are merged apart from each other.
    pub(crate) fn merges_in_stretches(&self) -> bool {
        self.unused.is_empty()
    }

    /// True if what ends in a character is no unknown text that what follows could be joined to.
    pub(crate) fn is_known(&self, c: char) -> bool {
        let symbol = self.characters.get(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.bytes.is_some() || symbol.is_some_and(|symbol| symbol < self.n_pieces)
    }

    /// The id of unknown text.
    pub fn unknown(&self) -> Option<u32> {
        (self.unknown != NO_ID).then_some(self.unknown)
    }

    /// The ids, each with the bytes of the text it stands for. A text is UTF-8.
    pub fn encode_with_pieces(
        &self,
        text: &[u8],
        scratch: &mut SpmBpeScratch,
        out: &mut Vec<SpannedId>,
    ) -> Result<()> {
        self.encode_to(text, None, scratch, out)
    }

    /// Encodes with BPE-dropout: each merge is left out with a probability when its turn comes, and
    /// for good (`sentencepiece`: `enable_sampling` with `alpha`; in `tokenizers` it may come
    /// again).
    pub fn sample(
        &self,
        text: &[u8],
        probability: f64,
        random: &mut SplitMix64,
        scratch: &mut SpmBpeScratch,
        out: &mut impl Emit,
    ) -> Result<()> {
        let dropout = Dropout {
            probability,
            random,
        };
        self.encode_to(text, Some(dropout), scratch, out)
    }

    fn encode_to(
        &self,
        text: &[u8],
        mut dropout: Option<Dropout<'_>>,
        scratch: &mut SpmBpeScratch,
        out: &mut impl Emit,
    ) -> Result<()> {
        check_length(text)?;
        let mut fuse = Fuse::new(self.unknown, self.bytes.as_deref(), out);
        // Where the stretch that is being collected started, and where the next character does.
        let (mut from, mut at) = (0, 0);
        let whole = !self.unused.is_empty();
        let mut after_space = None;
        scratch.symbols.clear();
        while let Some(&first) = text.get(at) {
            let rest = &text[at..];
            let found = self.user_defined.as_ref();
            let found = found.and_then(|matcher| matcher.longest_prefix(rest));
            let (length, symbol) = match found {
                Some((length, id)) => (length, FROZEN | id),
                None => {
                    let length = char_bytes(first).min(rest.len());
                    let symbol = self.characters.get(&rest[..length]).unwrap_or(NOTHING);
                    (length, symbol)
                }
            };
            let is_space = &rest[..length] == SPACE.as_bytes();
            let boundary = after_space
                .replace(is_space)
                .is_some_and(|was| was != is_space && !self.crosses[usize::from(was)]);
            if whole {
                scratch.symbols.push(symbol);
            } else if symbol & FROZEN != 0 {
                self.flush(text, from, &mut dropout, scratch, &mut fuse);
                self.finish(text, symbol, at, at + length, None, &mut fuse);
                from = at + length;
            } else {
                if boundary {
                    self.flush(text, from, &mut dropout, scratch, &mut fuse);
                    from = at;
                }
                scratch.symbols.push(symbol);
            }
            at += length;
        }
        self.flush(text, from, &mut dropout, scratch, &mut fuse);
        Ok(())
    }

    /// Merges and emits the symbols collected since `from`.
    fn flush(
        &self,
        text: &[u8],
        from: usize,
        dropout: &mut Option<Dropout<'_>>,
        scratch: &mut SpmBpeScratch,
        fuse: &mut Fuse<'_, impl Emit>,
    ) {
        let SpmBpeScratch {
            symbols,
            merge: memory,
        } = scratch;
        let mut origins = None;
        let left = if !self.unused.is_empty() || dropout.is_some() {
            let mut watch = Watcher {
                unused: &self.unused,
                dropout: dropout.as_mut(),
                made: HashMap::with_hasher(crate::vocab::hasher()),
            };
            let left = merge_long(&self.pairs, symbols, &mut (), &mut watch, memory);
            origins = Some(watch.made);
            left
        } else {
            merge(&self.pairs, symbols, memory)
        };
        let mut start = from;
        for &symbol in &symbols[..left] {
            let end = start + self.length(symbol, &text[start..]);
            self.finish(text, symbol, start, end, origins.as_ref(), fuse);
            start = end;
        }
        symbols.clear();
    }

    fn is_unused(&self, symbol: u32) -> bool {
        self.unused.get(symbol as usize).copied().unwrap_or(false)
    }

    fn length(&self, symbol: u32, rest: &[u8]) -> usize {
        if symbol == NOTHING {
            return char_bytes(rest[0]).min(rest.len());
        }
        let length = self.lengths.get((symbol & !FROZEN) as usize);
        usize::from(length.copied().unwrap_or_default())
    }

    /// Emits a symbol; unused ones in parts, as they were first made of.
    fn finish(
        &self,
        text: &[u8],
        symbol: u32,
        start: usize,
        end: usize,
        origins: Option<&Origins>,
        fuse: &mut Fuse<'_, impl Emit>,
    ) {
        let is_piece = |symbol: u32| symbol != NOTHING && symbol & !FROZEN < self.n_pieces;
        if !self.is_unused(symbol) {
            let id = if is_piece(symbol) {
                symbol & !FROZEN
            } else {
                self.unknown
            };
            fuse.segment(text, id, start, end);
            return;
        }
        let mut parts = vec![(symbol, start, end, 0)];
        while let Some((symbol, start, end, depth)) = parts.pop() {
            let origin = || origins.and_then(|made| made.get(&symbol)).copied();
            if !is_piece(symbol) {
                fuse.segment(text, self.unknown, start, end);
            } else if depth > MAX_DEPTH || !self.is_unused(symbol) {
                fuse.segment(text, symbol, start, end);
            } else if let Some((left, right)) = origin() {
                let middle = start + self.length(left, &text[start..]);
                parts.push((right, middle, end, depth + 1));
                parts.push((left, start, middle, depth + 1));
            } else {
                fuse.segment(text, self.unknown, start, end);
            }
        }
    }
}

impl SpmBpe {
    /// Appends the ids of a normalized text.
    pub fn encode(
        &self,
        text: &[u8],
        scratch: &mut SpmBpeScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.encode_to(text, None, scratch, out)
    }
}

/// The characters of a piece.
fn characters(piece: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = piece;
    std::iter::from_fn(move || {
        let length = char_bytes(*rest.first()?).min(rest.len());
        let (c, after) = rest.split_at(length);
        rest = after;
        Some(c)
    })
}

/// True if some piece has a space right after another character, and the other way round.
fn crossings<'p>(pieces: impl Iterator<Item = &'p [u8]>) -> [bool; 2] {
    let mut crosses = [false; 2];
    for piece in pieces {
        let mut before = None;
        for c in characters(piece) {
            let is_space = c == SPACE.as_bytes();
            if let Some(was) = before.replace(is_space)
                && was != is_space
            {
                crosses[usize::from(was)] = true;
            }
        }
    }
    crosses
}

/// The symbols that text is merged to.
struct Symbols<'p> {
    pieces: &'p [Piece],
    /// Finds pieces that text can become.
    vocab: &'p Vocab,
    /// Characters of pieces that are no pieces themselves, sorted; their symbols come after the
    /// pieces' symbols.
    strangers: &'p [&'p [u8]],
}

impl<'p> Symbols<'p> {
    /// Pieces that text can become.
    fn matched(&self) -> impl Iterator<Item = (&'p [u8], u32)> {
        let pieces = self.pieces.iter().zip(0u32..);
        let pieces = pieces.filter(|(piece, _)| piece.is_matched() && !piece.is_null());
        pieces.map(|(piece, id)| (piece.bytes.as_slice(), id))
    }

    fn all(&self) -> impl Iterator<Item = (&'p [u8], u32)> {
        let strangers = self.strangers.iter().copied();
        self.matched()
            .chain(strangers.zip(self.pieces.len() as u32..))
    }

    fn find(&self, text: &[u8]) -> Option<u32> {
        let stranger = || self.strangers.binary_search(&text).ok();
        let stranger = || stranger().map(|index| (self.pieces.len() + index) as u32);
        self.vocab.bytes_to_id(text).or_else(stranger)
    }

    /// Appends every way to make a piece of two symbols, for pieces of at most `most` bytes. Looks
    /// up each half.
    fn halves_of_short(&self, most: usize, found: &mut Vec<(u32, u32, u32)>) {
        for (piece, id) in self.matched().filter(|(piece, _)| piece.len() <= most) {
            let mut at = 0;
            for c in characters(piece) {
                at += c.len();
                let (left, right) = piece.split_at(at);
                if !right.is_empty()
                    && let Some(left) = self.find(left)
                    && let Some(right) = self.find(right)
                {
                    found.push((left, right, id));
                }
            }
        }
    }

    /// Finds the halves of longer pieces. Linear in the bytes of all pieces. One walk down a trie
    /// finds the symbols that begin a piece, one down a trie of reversed symbols finds the symbols
    /// that end it.
    fn halves_of_long(&self, least: usize, found: &mut Vec<(u32, u32, u32)>) -> Result<()> {
        if self.pieces.iter().all(|piece| piece.bytes.len() <= least) {
            return Ok(());
        }
        let keys: Vec<(&[u8], u32)> = self.all().collect();
        let reversed: Vec<Vec<u8>> = keys
            .iter()
            .map(|(key, _)| key.iter().rev().copied().collect())
            .collect();
        let backward = reversed.iter().zip(&keys);
        let backward = Trie::new(backward.map(|(key, &(_, id))| (&key[..], id)).collect())?;
        let forward = Trie::new(keys.clone())?;
        let mut ends = Vec::new();
        for ((key, id), reversed) in keys.iter().zip(&reversed) {
            // Strangers are single characters: nothing makes them.
            if *id as usize >= self.pieces.len() || key.len() <= least {
                continue;
            }
            ends.clear();
            ends.extend(
                backward
                    .prefixes(reversed)
                    .map(|(n, id)| (key.len() - n, id)),
            );
            for (cut, left) in forward.prefixes(key) {
                // Suffixes come shortest first, so their beginnings fall.
                while ends.last().is_some_and(|&(at, _)| at < cut) {
                    ends.pop();
                }
                if let Some(&(at, right)) = ends.last()
                    && at == cut
                {
                    found.push((left, right, *id));
                }
            }
            check_number(found)?;
        }
        Ok(())
    }
}

fn check_number(found: &[(u32, u32, u32)]) -> Result<()> {
    if found.len() > MAX_PAIRS {
        return Err(ErrorKind::TooLarge {
            what: "number of merges",
            limit: MAX_PAIRS as u64,
        }
        .into());
    }
    Ok(())
}

/// Every way to make a piece of two symbols, ranked by the score of the piece.
fn find_pairs(symbols: &Symbols<'_>) -> Result<PairTable> {
    let pieces = symbols.pieces;
    let mut found = Vec::with_capacity(4 * pieces.len());
    symbols.halves_of_short(LOOKED_UP, &mut found);
    check_number(&found)?;
    symbols.halves_of_long(LOOKED_UP, &mut found)?;
    // The larger score comes first. -0 is below 0, and NaN is ordered by its sign, as bits are.
    let mut order: Vec<u32> = found.iter().map(|&(_, _, id)| id).collect();
    order.sort_unstable();
    order.dedup();
    let score = |id: u32| pieces[id as usize].score;
    order.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
    let mut ranks = vec![0u32; pieces.len()];
    for (index, pair) in order.windows(2).enumerate() {
        let same = score(pair[0]).total_cmp(&score(pair[1])).is_eq();
        ranks[pair[1] as usize] = if same {
            ranks[pair[0] as usize]
        } else {
            index as u32 + 1
        };
    }
    let mut table = PairTable::with_capacity(found.len());
    for (left, right, id) in found {
        let rank = u64::from(ranks[id as usize]);
        table.insert(left, right, rank << 32 | u64::from(id));
    }
    Ok(table)
}

#[cfg(test)]
#[path = "bpe_tests.rs"]
mod tests;
