//! The vocabulary: token bytes <-> id.
//!
//! All token bytes lie in one arena; an id is an index into a list of spans, so `id_to_bytes` is
//! two loads. Ids may have holes (p50k has one at 50256). The way back is an open-addressing table
//! of ids ([`table`]): no allocation per token, and nothing depends on a random state. Tokens of a
//! compiled file are found in a table that is only read ([`packed`]), with fewer reads of memory.

mod bulk;
mod lengths;
mod packed;
mod packing;
mod raw;
mod staged;
mod strings;
mod table;

use foldhash::fast::FixedState;

pub(crate) use self::bulk::{Bulk, Column};
pub(crate) use self::lengths::Lengths;
use self::packed::Packed;
pub(crate) use self::packed::RawPacked;
pub(crate) use self::raw::RawIndex;
pub(crate) use self::staged::Staged;
pub(crate) use self::strings::StringTable;
use self::table::{Bytes, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::arena::ArenaVec;
use crate::memory::huge_pages::Zeroed;

/// The fixed seed of every hash in the core: results and iteration never depend on a random state.
const HASH_SEED: u64 = 0x6a65_746f_6e31;

/// Length that marks an id without a token.
const HOLE: u32 = u32::MAX;

/// In a length: the token is only decoded, never found.
const OPAQUE: u32 = 1 << 31;

/// Most ids a vocabulary may have, far above any published one. Tables sized by it cannot exhaust
/// memory because of one absurd id in a hostile file.
pub const MAX_IDS: u32 = 1 << 24;

/// Most bytes of one token. Work that a file can ask for grows with the square of it; the longest
/// token of sixty published vocabularies has 512.
pub const MAX_TOKEN_BYTES: usize = 1 << 16;

/// Ids without a token that any vocabulary may have, and as many more for each token: tables have a
/// place for each.
const FREE_HOLES: usize = 1 << 20;
const HOLES_PER_TOKEN: usize = 16;

/// Most bytes of all tokens together: below it, the length of a token leaves its highest bit free.
const MAX_ARENA_BYTES: usize = (OPAQUE - 2) as usize;

/// Where a token lies in the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    start: u32,
    /// The token's bytes, with [`OPAQUE`] where `bytes_to_id` may not answer with the id; [`HOLE`].
    len: u32,
}

#[allow(unsafe_code)] // says what zeros are
// SAFETY: numbers only, and all zeros is a token without bytes.
unsafe impl Zeroed for Span {}

impl Span {
    const HOLE: Self = Self {
        start: 0,
        len: HOLE,
    };

    /// The token's bytes, where there is a token.
    #[inline]
    fn length(self) -> usize {
        (self.len & !OPAQUE) as usize
    }

    /// True if `bytes_to_id` may answer with the id; a hole has the mark, too.
    #[inline]
    fn is_findable(self) -> bool {
        self.len & OPAQUE == 0
    }

    #[inline]
    fn range(self) -> Option<std::ops::Range<usize>> {
        if self.len == HOLE {
            return None;
        }
        let start = self.start as usize;
        Some(start..start + self.length())
    }
}

/// Token bytes and their ids.
#[derive(Clone, Debug, Default)]
pub struct Vocab {
    tokens: Tokens,
    index: Index,
    n_tokens: u32,
    n_findable: u32,
    longest: u32,
}

/// The way from bytes to ids.
#[derive(Clone, Debug, Default)]
struct Index {
    /// Empty as long as there is a packed table.
    open: Table,
    /// As it was read from a compiled file.
    packed: Option<Packed>,
}

/// State of a search for a token before memory has answered.
#[derive(Clone, Copy, Debug, Default)]
pub enum Search {
    /// Nothing was asked for.
    #[default]
    NotBegun,
    /// No token has these bytes.
    InVain,
    /// The entry is on its way from memory; the value is the hash of the bytes.
    Hashed(u64),
}

impl Index {
    #[inline]
    fn find(&self, bytes: &[u8], tokens: &Tokens) -> Option<u32> {
        match &self.packed {
            Some(packed) => packed.find(bytes, tokens),
            None => self.open.find(bytes, tokens),
        }
    }

    /// How many tokens are found.
    fn len(&self) -> usize {
        self.packed.as_ref().map_or(self.open.len(), Packed::len)
    }

    /// The table that tokens can be put in.
    #[inline]
    fn open_table(&mut self, tokens: &Tokens) -> Result<&mut Table> {
        if let Some(packed) = &self.packed {
            self.open = Self::unpack(packed, tokens)?;
            self.packed = None;
        }
        Ok(&mut self.open)
    }

    #[cold]
    fn unpack(packed: &Packed, tokens: &Tokens) -> Result<Table> {
        let ids = packed.ids(tokens);
        let mut table = Table::with_capacity(ids.len());
        for id in ids {
            table.insert(id, tokens)?;
        }
        Ok(table)
    }
}

impl From<Table> for Index {
    fn from(open: Table) -> Self {
        Self { open, packed: None }
    }
}

impl From<Packed> for Index {
    fn from(packed: Packed) -> Self {
        Self {
            open: Table::default(),
            packed: Some(packed),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Tokens {
    arena: ArenaVec<u8>,
    spans: ArenaVec<Span>,
}

impl Tokens {
    #[inline]
    fn get(&self, id: u32) -> Option<&[u8]> {
        let range = self.spans.get(id as usize)?.range()?;
        self.arena.get(range)
    }
}

impl Bytes for Tokens {
    #[inline]
    fn of(&self, id: u32) -> &[u8] {
        self.get(id).unwrap_or_default()
    }
}

/// The error for a token with too many bytes.
pub(crate) fn too_long() -> Error {
    ErrorKind::TooLarge {
        what: "the length of a token in bytes",
        limit: MAX_TOKEN_BYTES as u64,
    }
    .into()
}

#[cold]
fn too_many_holes(n_tokens: u32) -> Error {
    ErrorKind::TooLarge {
        what: "the highest id of a vocabulary with so few tokens",
        limit: Vocab::most_ids(n_tokens) as u64,
    }
    .into()
}

/// The hasher of all tables: the same in every run, so that no order of results depends on chance.
pub fn hasher() -> FixedState {
    FixedState::with_seed(HASH_SEED)
}

impl Vocab {
    /// An empty vocabulary with room for `n_tokens`.
    pub fn with_capacity(n_tokens: usize) -> Self {
        Self {
            tokens: Tokens {
                arena: Vec::with_capacity(n_tokens * 8).into(),
                spans: Vec::with_capacity(n_tokens).into(),
            },
            index: Table::with_capacity(n_tokens).into(),
            ..Self::default()
        }
    }

    /// Adds a token that `bytes_to_id` finds. The first token of given bytes wins the way back.
    ///
    /// Fails if the id is taken or beyond [`MAX_IDS`].
    pub fn insert(&mut self, id: u32, bytes: &[u8]) -> Result<()> {
        self.insert_span(id, bytes, 0)?;
        self.n_findable += 1;
        self.index
            .open_table(&self.tokens)?
            .insert(id, &self.tokens)?;
        Ok(())
    }

    /// Inserts a token that must be the only one of its bytes. If another has them, its id comes
    /// back, and the vocabulary is of no use then.
    pub(crate) fn insert_new(&mut self, id: u32, bytes: &[u8]) -> Result<Option<u32>> {
        self.insert_span(id, bytes, 0)?;
        self.n_findable += 1;
        self.index
            .open_table(&self.tokens)?
            .insert(id, &self.tokens)
    }

    /// True if an id is free and may be taken.
    pub(crate) fn can_take(&self, id: u32) -> bool {
        id < MAX_IDS && self.id_to_bytes(id).is_none()
    }

    /// Adds a token that is only decoded, never found: a string in a byte-level vocabulary that
    /// does not spell bytes, or the text of a special token.
    pub fn insert_opaque(&mut self, id: u32, bytes: &[u8]) -> Result<()> {
        self.insert_span(id, bytes, OPAQUE)
    }

    fn insert_span(&mut self, id: u32, bytes: &[u8], opaque: u32) -> Result<()> {
        if id >= MAX_IDS {
            return Err(ErrorKind::TooLarge {
                what: "token id",
                limit: u64::from(MAX_IDS),
            }
            .into());
        }
        if bytes.len() > MAX_TOKEN_BYTES {
            return Err(too_long());
        }
        // Ids may come in any order, so that this is not the last word (`check_holes`).
        if id as usize > 4 * Self::most_ids(self.n_tokens) {
            return Err(too_many_holes(self.n_tokens));
        }
        let (arena, spans) = (self.tokens.arena.to_mut(), self.tokens.spans.to_mut());
        if bytes.len() > MAX_ARENA_BYTES - arena.len() {
            return Err(ErrorKind::TooLarge {
                what: "vocabulary",
                limit: MAX_ARENA_BYTES as u64,
            }
            .into());
        }
        let index = id as usize;
        if index >= spans.len() {
            spans.resize(index + 1, Span::HOLE);
        }
        if spans[index].len != HOLE {
            return Err(Error::format(
                "vocabulary",
                format!("id {id} is used twice"),
            ));
        }
        let len = bytes.len() as u32;
        spans[index] = Span {
            start: arena.len() as u32,
            len: len | opaque,
        };
        arena.extend_from_slice(bytes);
        self.n_tokens += 1;
        self.longest = self.longest.max(len);
        Ok(())
    }

    /// Most ids for `n_tokens` tokens.
    fn most_ids(n_tokens: u32) -> usize {
        (n_tokens as usize).saturating_mul(1 + HOLES_PER_TOKEN) + FREE_HOLES
    }

    /// Fails if there are far fewer tokens than ids: a short file must not ask for tables of a long
    /// one.
    pub(crate) fn check_holes(&self) -> Result<()> {
        if self.size() as usize > Self::most_ids(self.n_tokens) {
            return Err(too_many_holes(self.n_tokens));
        }
        Ok(())
    }

    /// The bytes of a token; None where the id has none.
    #[inline]
    pub fn id_to_bytes(&self, id: u32) -> Option<&[u8]> {
        self.tokens.get(id)
    }

    /// How many bytes a token has; 0 where an id has none.
    #[inline]
    pub(crate) fn token_length(&self, id: u32) -> usize {
        let span = self.tokens.spans.get(id as usize);
        span.filter(|span| span.len != HOLE)
            .map_or(0, |span| span.length())
    }

    /// The bytes of some ids, one after the other, appended to `out`. Fails with the first id that
    /// has no token, and then `out` stays as it was.
    pub(crate) fn join(&self, ids: &[u32], out: &mut Vec<u8>) -> std::result::Result<(), u32> {
        /// Bytes that are copied together, whether they belong to the token or not: one
        /// instruction, where a copy of just its length is a call. The next token overwrites bytes
        /// that do not belong to this one.
        const COPY_BYTES: usize = 16;
        let start = out.len();
        let mut n_bytes = 0;
        for &id in ids {
            match self.tokens.spans.get(id as usize) {
                Some(span) if span.len != HOLE => n_bytes += span.length(),
                _ => return Err(id),
            }
        }
        out.resize(start + n_bytes + COPY_BYTES, 0);
        let mut at = start;
        for &id in ids {
            let Some(span) = self.tokens.spans.get(id as usize) else {
                continue;
            };
            let (from, len) = (span.start as usize, span.length());
            if len <= COPY_BYTES
                && let Some(bytes) = self.tokens.arena.get(from..from + COPY_BYTES)
                && let Some(place) = out.get_mut(at..at + COPY_BYTES)
            {
                place.copy_from_slice(bytes);
            } else if let Some(bytes) = self.tokens.arena.get(from..from + len)
                && let Some(place) = out.get_mut(at..at + len)
            {
                place.copy_from_slice(bytes);
            }
            at += len;
        }
        out.truncate(at);
        Ok(())
    }

    /// The id whose token has exactly these bytes.
    #[inline]
    pub fn bytes_to_id(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest as usize {
            return None;
        }
        self.index.find(bytes, &self.tokens)
    }

    /// Asks memory for what `bytes_to_id` looks at, where that is known before.
    #[inline]
    pub(crate) fn begin_search(&self, bytes: &[u8]) -> Search {
        match &self.index.packed {
            Some(packed) => packed.begin_search(bytes),
            None => Search::NotBegun,
        }
    }

    /// As `bytes_to_id`, after a search for these bytes has begun.
    #[inline]
    pub(crate) fn end_search(&self, bytes: &[u8], search: Search) -> Option<u32> {
        match (search, &self.index.packed) {
            (Search::InVain, _) => None,
            (Search::Hashed(hash), Some(packed)) => packed.find_hashed(hash, bytes, &self.tokens),
            _ => self.bytes_to_id(bytes),
        }
    }

    /// True if `bytes_to_id` may answer with this id.
    pub fn is_findable(&self, id: u32) -> bool {
        let span = self.tokens.spans.get(id as usize);
        span.is_some_and(|span| span.is_findable())
    }

    /// True if `bytes_to_id` answers with every id that is findable: no two tokens have the same
    /// bytes.
    pub(crate) fn is_unique(&self) -> bool {
        self.n_findable as usize == self.index.len()
    }

    /// True if the vocabulary says by itself, in nearly all cases at once, what is no token.
    pub(crate) fn is_packed(&self) -> bool {
        self.index.packed.is_some()
    }

    /// One past the highest id: the rows that an embedding needs.
    pub fn size(&self) -> u32 {
        self.tokens.spans.len() as u32
    }

    /// Ids that have a token.
    pub fn n_tokens(&self) -> u32 {
        self.n_tokens
    }

    /// Length in bytes of the longest token.
    pub fn longest(&self) -> usize {
        self.longest as usize
    }

    /// All tokens by rising id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.size()).filter_map(|id| self.id_to_bytes(id).map(|bytes| (id, bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_and_duplicates() {
        let mut vocab = Vocab::default();
        vocab.insert(0, b"a").unwrap();
        vocab.insert(3, b"bc").unwrap();
        vocab.insert_opaque(2, b"a").unwrap();
        assert_eq!(vocab.size(), 4);
        assert_eq!(vocab.n_tokens(), 3);
        assert_eq!(vocab.id_to_bytes(1), None);
        assert_eq!(vocab.bytes_to_id(b"a"), Some(0));
        assert_eq!(vocab.bytes_to_id(b"bc"), Some(3));
        assert_eq!(vocab.bytes_to_id(b"b"), None);
        assert!(!vocab.is_findable(2));
        assert!(vocab.is_unique());
        assert!(vocab.insert(3, b"x").is_err());
        assert!(vocab.insert(u32::MAX, b"x").is_err());
        vocab.insert(5, b"bc").unwrap();
        assert!(!vocab.is_unique());
        assert_eq!(vocab.bytes_to_id(b"bc"), Some(3));
        assert_eq!(vocab.id_to_bytes(5), Some(&b"bc"[..]));
    }

    proptest::proptest! {
        /// The naive twin is one token after the other.
        #[test]
        fn join_is_one_token_after_the_other(
            tokens in proptest::collection::vec("[a-zé]{0,9}|[a-z]{10,40}", 1..20),
            picks in proptest::collection::vec(0u32..24, 0..40),
        ) {
            let mut vocab = Vocab::default();
            for (id, token) in (0..).zip(&tokens) {
                // Every third id is a hole.
                if id % 3 != 2 {
                    vocab.insert_opaque(id, token.as_bytes()).unwrap();
                }
            }
            let missing = picks.iter().find(|&&id| vocab.id_to_bytes(id).is_none());
            let mut joined = b"before".to_vec();
            let result = vocab.join(&picks, &mut joined);
            if let Some(&missing) = missing {
                proptest::prop_assert_eq!(result, Err(missing));
                proptest::prop_assert_eq!(joined, b"before");
            } else {
                let mut expected = b"before".to_vec();
                picks.iter().for_each(|&id| expected.extend_from_slice(vocab.id_to_bytes(id).unwrap()));
                proptest::prop_assert_eq!(result, Ok(()));
                proptest::prop_assert_eq!(joined, expected);
            }
        }
    }
}
