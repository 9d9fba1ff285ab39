//! Beginnings that many documents share, block by block, in bounded memory.
//!
//! A document's first `k` whole blocks are known by one chained hash, so that documents with the
//! same hash begin alike. The index keeps a count for each beginning that occurred. When it is
//! full, the rarest are forgotten, as in lossy counting (Manku and Motwani, "Approximate frequency
//! counts over data streams", VLDB 2002). A count is then too small by at most
//! [`PrefixIndex::max_undercount`], never too large.
//!
//! Hashes have 64 bits: among four million beginnings, the chance that any two differ and have the
//! same is below one in a million.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};

use hashbrown::HashMap;

use jeton_core::documents::batch::BatchRef;
use jeton_core::documents::parallel::map_documents;
use jeton_core::error::{Error, Result};
use jeton_core::vocab::hasher;

/// Beginnings kept: 40 bytes each, 160 MB when the index is full.
const MAX_PREFIXES: usize = 4_000_000;

/// Blocks of a document that are looked at. At 1,024 bytes a block: the first 4 MiB.
const MAX_BLOCKS: usize = 4096;

/// The smallest block: smaller ones would make hashes longer than text.
const MIN_BLOCK_BYTES: usize = 16;

/// A beginning that several documents share, and that no longer one shares as often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPrefix {
    /// Length of the beginning, a multiple of the block.
    pub n_bytes: u64,
    /// Documents that begin with it.
    pub n_documents: u64,
    /// The first of them, counted from the first document added.
    pub first_document: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    parent: u64,
    first_document: u64,
    n_documents: u64,
    n_blocks: u32,
}

/// Counts shared beginnings.
#[derive(Debug)]
pub struct PrefixIndex {
    block_bytes: usize,
    max_prefixes: usize,
    entries: HashMap<u64, Entry, foldhash::fast::FixedState>,
    n_documents: u64,
    max_undercount: u64,
}

impl PrefixIndex {
    /// An empty index. `block_bytes`: beginnings are told apart in steps of this length, at least
    /// 16.
    pub fn new(block_bytes: usize) -> Result<Self> {
        Self::with_limit(block_bytes, MAX_PREFIXES)
    }

    fn with_limit(block_bytes: usize, max_prefixes: usize) -> Result<Self> {
        if block_bytes < MIN_BLOCK_BYTES {
            return Err(Error::usage(format!(
                "block_bytes is {block_bytes}; expected at least {MIN_BLOCK_BYTES}"
            )));
        }
        Ok(Self {
            block_bytes,
            max_prefixes,
            entries: HashMap::with_hasher(hasher()),
            n_documents: 0,
            max_undercount: 0,
        })
    }

    /// Counts a batch. The result does not depend on the number of threads.
    pub fn add(
        &mut self,
        batch: BatchRef<'_>,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let block_bytes = self.block_bytes;
        let parts = map_documents(batch, threads, keep_going, &|range| {
            let documents = batch.slice(range.start, range.end);
            Ok(documents
                .iter()
                .map(|text| chain(text, block_bytes))
                .collect::<Vec<_>>())
        })?;
        for hashes in parts.iter().flatten() {
            self.add_document(hashes);
        }
        Ok(())
    }

    fn add_document(&mut self, hashes: &[u64]) {
        let mut parent = 0;
        for (n_blocks, &hash) in (1..).zip(hashes) {
            let entry = self.entries.entry(hash).or_insert(Entry {
                parent,
                first_document: self.n_documents,
                n_documents: 0,
                n_blocks,
            });
            entry.n_documents += 1;
            parent = hash;
        }
        self.n_documents += 1;
        if self.entries.len() > self.max_prefixes {
            self.forget();
        }
    }

    /// Forgets the rarest beginnings until half the room is free.
    fn forget(&mut self) {
        let mut counts = BTreeMap::<u64, usize>::new();
        for n in self.entries.values().map(|entry| entry.n_documents) {
            *counts.entry(n).or_default() += 1;
        }
        let mut left = self.entries.len();
        let mut threshold = 0;
        for (&n, &entries) in &counts {
            if left <= self.max_prefixes / 2 {
                break;
            }
            left -= entries;
            threshold = n;
        }
        self.entries
            .retain(|_, entry| entry.n_documents > threshold);
        self.max_undercount += threshold;
    }

    /// Documents added.
    pub fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// Counts may be too small by so much, because beginnings were forgotten for want of room; 0:
    /// exact.
    pub fn max_undercount(&self) -> u64 {
        self.max_undercount
    }

    /// Beginnings that at least `min_documents` documents share and no longer beginning as often,
    /// by the bytes that repeat: length times further documents. Equal ones by length, the longest
    /// first, then by the order of adding.
    pub fn shared_prefixes(&self, min_documents: u64, limit: usize) -> Vec<SharedPrefix> {
        let min_documents = min_documents.max(2);
        let mut longest = HashMap::<u64, u64, _>::with_hasher(hasher());
        let shared = || {
            self.entries
                .values()
                .filter(|entry| entry.n_documents >= min_documents)
        };
        for entry in shared() {
            let best = longest.entry(entry.parent).or_default();
            *best = (*best).max(entry.n_documents);
        }
        let mut found: Vec<SharedPrefix> = self
            .entries
            .iter()
            .filter(|(hash, entry)| {
                entry.n_documents >= min_documents
                    && longest.get(*hash).is_none_or(|&n| n < entry.n_documents)
            })
            .map(|(_, entry)| SharedPrefix {
                n_bytes: u64::from(entry.n_blocks) * self.block_bytes as u64,
                n_documents: entry.n_documents,
                first_document: entry.first_document,
            })
            .collect();
        let repeated = |prefix: &SharedPrefix| prefix.n_bytes * (prefix.n_documents - 1);
        found.sort_unstable_by(|a, b| {
            let order = repeated(b)
                .cmp(&repeated(a))
                .then(b.n_bytes.cmp(&a.n_bytes));
            order.then(a.first_document.cmp(&b.first_document))
        });
        found.truncate(limit);
        found
    }
}

/// A hash of each beginning of whole blocks, shortest first.
fn chain(text: &[u8], block_bytes: usize) -> Vec<u64> {
    let mut before = 0;
    let blocks = text.chunks_exact(block_bytes).take(MAX_BLOCKS);
    blocks
        .map(|block| {
            let mut state = hasher().build_hasher();
            state.write_u64(before);
            state.write(block);
            // Zero is the parent of the first blocks.
            before = state.finish().max(1);
            before
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::documents::batch::DocumentBatch;
    use proptest::prelude::*;

    fn index(documents: &[String], limit: usize) -> PrefixIndex {
        let mut index = PrefixIndex::with_limit(16, limit).unwrap();
        for part in documents.chunks(3) {
            let batch = DocumentBatch::from_texts(part);
            index.add(batch.as_ref(), 2, &mut || true).unwrap();
        }
        index
    }

    /// Compares every beginning of every document with every document.
    fn naive(documents: &[String]) -> Vec<SharedPrefix> {
        let mut found = Vec::new();
        for (i, text) in documents.iter().enumerate() {
            let count = |n: usize| {
                let same = |other: &&String| {
                    n <= text.len() && other.as_bytes().get(..n) == text.as_bytes().get(..n)
                };
                documents.iter().filter(same).count() as u64
            };
            for n in (16..=text.len()).step_by(16) {
                let n_documents = count(n);
                let is_first = !documents[..i]
                    .iter()
                    .any(|other| other.as_bytes().get(..n) == text.as_bytes().get(..n));
                let is_longest = !documents.iter().any(|other| {
                    let longer = other.as_bytes().get(..n + 16);
                    longer.is_some_and(|longer| {
                        let same = |d: &&String| d.as_bytes().get(..n + 16) == Some(longer);
                        longer[..n] == text.as_bytes()[..n]
                            && documents.iter().filter(same).count() as u64 == n_documents
                    })
                });
                if n_documents >= 2 && is_first && is_longest {
                    found.push(SharedPrefix {
                        n_bytes: n as u64,
                        n_documents,
                        first_document: i as u64,
                    });
                }
            }
        }
        let repeated = |prefix: &SharedPrefix| prefix.n_bytes * (prefix.n_documents - 1);
        found.sort_by_key(|p| {
            (
                u64::MAX - repeated(p),
                u64::MAX - p.n_bytes,
                p.first_document,
            )
        });
        found
    }

    fn documents() -> impl Strategy<Value = Vec<String>> {
        let blocks = prop::sample::select(vec!["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "c"]);
        let document = prop::collection::vec(blocks, 0..5).prop_map(|blocks| blocks.concat());
        prop::collection::vec(document, 0..12)
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin(documents in documents()) {
            let index = index(&documents, 1000);
            prop_assert_eq!(index.max_undercount(), 0);
            prop_assert_eq!(index.shared_prefixes(2, usize::MAX), naive(&documents));
        }

        #[test]
        fn a_full_index_is_wrong_by_no_more_than_it_says(documents in documents(), limit in 1usize..8) {
            let small = index(&documents, limit);
            prop_assert!(small.entries.len() <= limit);
            let whole = index(&documents, 1000);
            for (hash, entry) in &whole.entries {
                let seen = small.entries.get(hash).map_or(0, |entry| entry.n_documents);
                prop_assert!(seen <= entry.n_documents);
                prop_assert!(seen + small.max_undercount() >= entry.n_documents);
            }
        }
    }

    #[test]
    fn small_blocks_are_refused() {
        assert!(PrefixIndex::new(15).is_err());
    }
}
