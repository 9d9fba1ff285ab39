//! Many tokens into a vocabulary: the place of each is on its way from memory while the next ones
//! are hashed.
//!
//! A table of 200,000 tokens takes two megabytes, so that one insertion after the other waits for
//! memory each time.

use super::Vocab;
use crate::error::Result;

/// Tokens that are on their way together. Half and twice as many do the same
/// (docs/log/2026-11-28-tuning-constants.md).
const TOKENS_IN_FLIGHT: usize = 16;

/// A vocabulary that is being filled. Inserted tokens are there after [`Staged::finish`].
#[derive(Debug)]
pub(crate) struct Staged {
    vocab: Vocab,
    ids: [u32; TOKENS_IN_FLIGHT],
    hashes: [u64; TOKENS_IN_FLIGHT],
    n: usize,
    is_unique: bool,
}

impl Staged {
    /// An empty vocabulary with room for `n_tokens` tokens.
    pub(crate) fn with_capacity(n_tokens: usize) -> Self {
        Self {
            vocab: Vocab::with_capacity(n_tokens),
            ids: [0; TOKENS_IN_FLIGHT],
            hashes: [0; TOKENS_IN_FLIGHT],
            n: 0,
            is_unique: true,
        }
    }

    /// As [`Vocab::insert`].
    #[inline]
    pub(crate) fn insert(&mut self, id: u32, bytes: &[u8]) -> Result<()> {
        self.vocab.insert_span(id, bytes, 0)?;
        self.vocab.n_findable += 1;
        self.ids[self.n] = id;
        let Vocab { tokens, index, .. } = &mut self.vocab;
        self.hashes[self.n] = index.open_table(tokens)?.prepare(bytes);
        self.n += 1;
        if self.n == TOKENS_IN_FLIGHT {
            self.settle()?;
        }
        Ok(())
    }

    /// As [`Vocab::insert_opaque`].
    pub(crate) fn insert_opaque(&mut self, id: u32, bytes: &[u8]) -> Result<()> {
        self.vocab.insert_opaque(id, bytes)
    }

    fn settle(&mut self) -> Result<()> {
        let Vocab { tokens, index, .. } = &mut self.vocab;
        let table = index.open_table(tokens)?;
        let n = std::mem::take(&mut self.n);
        for (&id, &hash) in self.ids.iter().zip(&self.hashes).take(n) {
            self.is_unique &= table.insert_prepared(id, hash, tokens)?.is_none();
        }
        Ok(())
    }

    /// The vocabulary, and whether no two tokens that can be found have the same bytes.
    pub(crate) fn finish(mut self) -> Result<(Vocab, bool)> {
        self.settle()?;
        Ok((self.vocab, self.is_unique))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::table::hash;
    use super::*;

    /// Tokens that collide change the table's seed, so that hashes made before are of no use any
    /// more.
    #[test]
    fn tokens_made_to_collide() {
        const N: u32 = 300;
        // All in one slot of the table below under seed 0.
        let all = (0u32..).map(u32::to_le_bytes);
        let tokens: Vec<[u8; 4]> = all
            .filter(|token| hash(0, token) & 1023 == 7)
            .take(N as usize)
            .collect();
        let mut staged = Staged::with_capacity(512);
        for (id, token) in (0..).zip(&tokens) {
            staged.insert(id, token).unwrap();
        }
        // Known by now, and in the last turn.
        staged.insert(N, &tokens[0]).unwrap();
        staged.insert(N + 1, &tokens[N as usize - 1]).unwrap();
        let table = staged.vocab.index.open_table(&staged.vocab.tokens).unwrap();
        assert_ne!(table.seed(), 0);
        let (vocab, is_unique) = staged.finish().unwrap();
        assert!(!is_unique);
        for (id, token) in (0..).zip(&tokens) {
            assert_eq!(vocab.bytes_to_id(token), Some(id));
        }
    }

    proptest! {
        /// The naive twin is one insertion after the other.
        #[test]
        fn the_vocabulary_is_that_of_one_after_the_other(
            tokens in prop::collection::vec((any::<bool>(), "[ab]{0,5}"), 0..120),
        ) {
            let mut staged = Staged::with_capacity(0);
            let mut vocab = Vocab::default();
            let mut is_unique = true;
            for (id, (opaque, token)) in (0..).zip(&tokens) {
                let bytes = token.as_bytes();
                if *opaque {
                    staged.insert_opaque(id, bytes).unwrap();
                    vocab.insert_opaque(id, bytes).unwrap();
                } else {
                    staged.insert(id, bytes).unwrap();
                    is_unique &= vocab.insert_new(id, bytes).unwrap().is_none();
                }
                prop_assert!(staged.insert(id, bytes).is_err());
            }
            let (found, unique) = staged.finish().unwrap();
            prop_assert_eq!(unique, is_unique);
            prop_assert_eq!(found.size(), vocab.size());
            prop_assert_eq!(found.is_unique(), vocab.is_unique());
            for (id, (_, token)) in (0..).zip(&tokens) {
                prop_assert_eq!(found.id_to_bytes(id), vocab.id_to_bytes(id));
                let bytes = token.as_bytes();
                prop_assert_eq!(found.bytes_to_id(bytes), vocab.bytes_to_id(bytes));
            }
        }
    }
}
