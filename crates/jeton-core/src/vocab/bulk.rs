//! A whole vocabulary at once, whose tokens a reader has put one behind the other.
//!
//! A table of 200,000 tokens takes two megabytes, so one insertion after the other would wait for
//! memory each time. Here the place of each token is on its way while earlier tokens are put in.
//! All sizes are known before, so all pages are asked for at once. Tokens and spans can grow, since
//! special tokens are added to most vocabularies.

use super::table::{Table, hash};
use super::{HOLE, MAX_ARENA_BYTES, MAX_IDS, MAX_TOKEN_BYTES, Span, Tokens, Vocab};
use crate::memory::arena::HugeArena;
use crate::memory::huge_pages::prepare_pages;

/// Tokens that are on their way together. Half and twice as many do the same
/// (docs/log/2026-11-28-tuning-constants.md).
const TOKENS_IN_FLIGHT: usize = 16;

/// The seed of a table that nobody has made to collide: tokens are hashed when they are read.
const SEED: u32 = 0;

/// A token of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Token {
    hash: u64,
    id: u32,
    len: u32,
}

/// Some tokens, one behind the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Column {
    bytes: Vec<u8>,
    tokens: Vec<Token>,
}

impl Column {
    /// Room for `n_tokens` tokens with `n_bytes` bytes in all.
    pub(crate) fn with_capacity(n_tokens: usize, n_bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(n_bytes + 16),
            tokens: Vec::with_capacity(n_tokens),
        }
    }

    /// Appends a token that is the beginning of sixteen bytes: copying all of them is one
    /// instruction.
    #[inline(always)]
    pub(crate) fn push_beginning(&mut self, id: u32, bytes: [u8; 16], len: usize) {
        let token = bytes.get(..len).unwrap_or(&bytes);
        let (hash, end) = (hash(SEED, token), self.bytes.len() + token.len());
        let len = token.len() as u32;
        self.bytes.extend_from_slice(&bytes);
        self.bytes.truncate(end);
        self.tokens.push(Token { hash, id, len });
    }

    /// Appends a token that is longer.
    pub(crate) fn push(&mut self, id: u32, token: &[u8]) {
        self.bytes.extend_from_slice(token);
        let (hash, len) = (hash(SEED, token), token.len() as u32);
        self.tokens.push(Token { hash, id, len });
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.tokens.clear();
    }
}

/// A vocabulary that is being filled, of tokens that can all be found.
#[derive(Debug)]
pub(crate) struct Bulk {
    tokens: Tokens,
    table: Table,
    /// Most bytes of all tokens.
    n_bytes: usize,
    n_tokens: u32,
    longest: u32,
}

impl Bulk {
    /// Room for at most `n_tokens` tokens and `n_bytes` bytes.
    pub(crate) fn with_room(n_tokens: usize, n_bytes: usize) -> Option<Self> {
        if n_tokens > MAX_IDS as usize || n_bytes > MAX_ARENA_BYTES {
            return None;
        }
        let mut shelf = HugeArena::with_room(Table::bytes_for(n_tokens));
        let table = Table::on_shelf(n_tokens, &mut shelf);
        let mut spans = Vec::with_capacity(n_tokens);
        prepare_pages(spans.spare_capacity_mut());
        spans.resize(n_tokens, Span::HOLE);
        let mut arena = Vec::with_capacity(n_bytes);
        prepare_pages(arena.spare_capacity_mut());
        Some(Self {
            tokens: Tokens {
                arena: arena.into(),
                spans: spans.into(),
            },
            table,
            n_bytes,
            n_tokens: 0,
            longest: 0,
        })
    }

    /// Adds the tokens of a column; None if there is no room for a token, or if its id or its bytes
    /// are taken. Then the vocabulary is of no use any more.
    pub(crate) fn add(&mut self, column: &Column) -> Option<()> {
        let arena = self.tokens.arena.to_mut();
        let mut start = arena.len() as u32;
        arena.extend_from_slice(&column.bytes);
        if arena.len() > self.n_bytes {
            return None;
        }
        let mut coming = column.tokens.chunks(TOKENS_IN_FLIGHT);
        let mut next = coming.next();
        self.fetch(next);
        while let Some(tokens) = next {
            next = coming.next();
            self.fetch(next);
            for token in tokens {
                self.place(*token, start)?;
                start += token.len;
            }
            for token in tokens {
                let known = self
                    .table
                    .insert_prepared(token.id, token.hash, &self.tokens);
                if known.ok()?.is_some() {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Asks for the places of tokens.
    #[inline]
    fn fetch(&self, tokens: Option<&[Token]>) {
        for token in tokens.unwrap_or_default() {
            self.table.fetch(token.hash);
        }
    }

    #[inline]
    fn place(&mut self, token: Token, start: u32) -> Option<()> {
        if token.id as usize >= self.tokens.spans.len() {
            self.grow(token.id)?;
        }
        let span = self.tokens.spans.get_mut(token.id as usize)?;
        if span.len != HOLE || token.len as usize > MAX_TOKEN_BYTES {
            return None;
        }
        *span = Span {
            start,
            len: token.len,
        };
        self.n_tokens += 1;
        self.longest = self.longest.max(token.len);
        Some(())
    }

    /// Room for an id that is higher than the number of tokens.
    #[cold]
    fn grow(&mut self, id: u32) -> Option<()> {
        let spans = (id < MAX_IDS).then(|| self.tokens.spans.to_mut())?;
        spans.resize(id as usize + 1, Span::HOLE);
        Some(())
    }

    /// The vocabulary.
    pub(crate) fn finish(mut self) -> Vocab {
        let is_used = |span: &Span| span.len != HOLE;
        let size = self
            .tokens
            .spans
            .iter()
            .rposition(is_used)
            .map_or(0, |last| last + 1);
        if size < self.tokens.spans.len() {
            self.tokens.spans.to_mut().truncate(size);
        }
        Vocab {
            tokens: self.tokens,
            index: self.table.into(),
            n_tokens: self.n_tokens,
            n_findable: self.n_tokens,
            longest: self.longest,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn columns(tokens: &[(u32, Vec<u8>)], size: usize) -> Vec<Column> {
        let column = |tokens: &[(u32, Vec<u8>)]| {
            let mut column = Column::with_capacity(0, 0);
            for (id, token) in tokens {
                let mut bytes = [7; 16];
                match bytes.get_mut(..token.len()) {
                    Some(beginning) if id % 2 == 0 => {
                        beginning.copy_from_slice(token);
                        column.push_beginning(*id, bytes, token.len());
                    }
                    _ => column.push(*id, token),
                }
            }
            column
        };
        tokens.chunks(size).map(column).collect()
    }

    fn bulk(tokens: &[(u32, Vec<u8>)], size: usize, less: usize) -> Option<Vocab> {
        let n_bytes: usize = tokens.iter().map(|(_, token)| token.len()).sum();
        let mut bulk = Bulk::with_room(tokens.len(), n_bytes - less.min(n_bytes)).unwrap();
        for column in columns(tokens, size) {
            bulk.add(&column)?;
        }
        Some(bulk.finish())
    }

    proptest! {
        /// The naive twin is one insertion after the other.
        #[test]
        fn the_vocabulary_is_that_of_one_after_the_other(
            tokens in prop::collection::vec((0..150u32, "[ab]{0,7}|[a-z]{5,40}"), 0..120),
            size in 1..50usize,
            less in 0..2usize,
            is_apart in any::<bool>(),
        ) {
            let mut tokens: Vec<(u32, Vec<u8>)> =
                tokens.into_iter().map(|(id, token)| (id, token.into_bytes())).collect();
            if is_apart {
                tokens.sort();
                tokens.dedup_by_key(|token| token.0);
                tokens.sort_by(|a, b| a.1.cmp(&b.1));
                tokens.dedup_by(|a, b| a.1 == b.1);
            }
            let mut vocab = Vocab::default();
            let mut is_good = true;
            for (id, token) in &tokens {
                is_good &= vocab.can_take(*id) && vocab.insert_new(*id, token).unwrap().is_none();
                if !is_good {
                    break;
                }
            }
            let n_bytes: usize = tokens.iter().map(|(_, token)| token.len()).sum();
            let found = bulk(&tokens, size, less);
            prop_assert_eq!(found.is_some(), is_good && (less == 0 || n_bytes == 0));
            if let Some(found) = found {
                prop_assert!(found.is_unique());
                prop_assert_eq!(found.size(), vocab.size());
                prop_assert_eq!(found.n_tokens(), vocab.n_tokens());
                prop_assert_eq!(found.longest(), vocab.longest());
                prop_assert!(found.iter().eq(vocab.iter()));
                for (id, token) in &tokens {
                    prop_assert_eq!(found.bytes_to_id(token), Some(*id));
                    let other = [token, &b"b"[..]].concat();
                    prop_assert_eq!(found.bytes_to_id(&other), vocab.bytes_to_id(&other));
                }
            }
        }
    }

    /// Tokens that collide change the table's seed, so that hashes made before are of no use any
    /// more.
    #[test]
    fn tokens_made_to_collide() {
        const N: usize = 300;
        let all = (0u32..).map(|n| n.to_le_bytes().to_vec());
        // All in one slot of the table under seed 0.
        let same = |token: &Vec<u8>| hash(0, token) & 1023 == 7;
        let tokens: Vec<_> = (0..).zip(all.filter(same).take(N)).collect();
        let vocab = bulk(&tokens, 40, 0).unwrap();
        for (id, token) in &tokens {
            assert_eq!(vocab.bytes_to_id(token), Some(*id));
        }
        let mut twice = tokens.clone();
        twice.push((N as u32, tokens[0].1.clone()));
        assert!(bulk(&twice, 40, 0).is_none());
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(Bulk::with_room(MAX_IDS as usize + 1, 0).is_none());
        assert!(Bulk::with_room(0, MAX_ARENA_BYTES + 1).is_none());
        let column = &columns(&[(MAX_IDS, b"a".to_vec())], 1)[0];
        assert!(Bulk::with_room(1, 1).unwrap().add(column).is_none());
    }
}
