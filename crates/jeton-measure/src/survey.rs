//! Everything that is found out about texts without a tokenizer, in one pass.
//!
//! Each document is looked at for all of it while it is in the cache.

use super::digests::{digest, push_block_keys};
use super::markers::{MarkerCounts, Markers};
use super::text::{TextStats, WideCounts};
use jeton_core::documents::batch::BatchRef;
use jeton_core::documents::parallel::map_documents;
use jeton_core::documents::texts::as_text;
use jeton_core::error::{Error, Result};

/// Searches of a survey.
#[derive(Debug)]
pub struct Surveyor {
    markers: Markers,
    block_bytes: usize,
    max_blocks: usize,
}

/// Findings of one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Sizes, words, scripts.
    pub stats: TextStats,
    /// The digest of each document.
    pub digests: Vec<u128>,
    /// Characters of each document.
    pub n_chars: Vec<i64>,
    /// Markers found.
    pub markers: MarkerCounts,
    /// A key of each document's beginning up to the end of each of its blocks, document after
    /// document.
    pub block_keys: Vec<u64>,
    /// Blocks up to there, from 1.
    pub block_depths: Vec<i64>,
}

impl Surveyor {
    /// Looks for these markers, and at beginnings in steps of `block_bytes`, at most `max_blocks`
    /// of a document.
    pub fn new<T: AsRef<str>>(
        markers: &[T],
        block_bytes: usize,
        max_blocks: usize,
    ) -> Result<Self> {
        if block_bytes == 0 {
            return Err(Error::usage("block_bytes is 0; expected at least 1"));
        }
        Ok(Self {
            markers: Markers::new(markers)?,
            block_bytes,
            max_blocks,
        })
    }

    /// Looks at a batch. The result does not depend on the number of threads.
    pub fn survey(
        &self,
        batch: BatchRef<'_>,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Survey> {
        let nothing = || Survey {
            markers: self.markers.no_counts(),
            ..Survey::default()
        };
        let parts = map_documents(batch, threads, keep_going, &|range| {
            let (mut part, mut wide) = (nothing(), WideCounts::default());
            for text in batch.slice(range.start, range.end).iter() {
                self.add_document(as_text(text)?, &mut part, &mut wide);
            }
            part.stats.add_wide(&wide);
            Ok(part)
        })?;
        let mut whole = nothing();
        for part in parts {
            whole.stats.merge(&part.stats);
            whole.markers.merge(&part.markers);
            whole.digests.extend(part.digests);
            whole.n_chars.extend(part.n_chars);
            whole.block_keys.extend(part.block_keys);
            whole.block_depths.extend(part.block_depths);
        }
        Ok(whole)
    }

    fn add_document(&self, text: &str, part: &mut Survey, wide: &mut WideCounts) {
        let bytes = text.as_bytes();
        part.digests.push(digest(bytes));
        part.n_chars
            .push(part.stats.add_document(text, wide) as i64);
        self.markers.count(bytes, &mut part.markers);
        let before = part.block_keys.len();
        push_block_keys(
            bytes,
            self.block_bytes,
            self.max_blocks,
            &mut part.block_keys,
        );
        let n_blocks = part.block_keys.len() - before;
        part.block_depths.extend(1..=n_blocks as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digests::digests;
    use jeton_core::documents::batch::DocumentBatch;
    use proptest::prelude::*;

    proptest! {
        /// The naive twin looks for one thing after the other.
        #[test]
        fn equals_the_parts_by_themselves(
            documents in prop::collection::vec("([a-zé中 <|]|<\\|a\\|>){0,60}", 0..9), threads in 1usize..4,
        ) {
            let surveyor = Surveyor::new(&["<|a|>", "<|a"], 8, 3).unwrap();
            let batch = DocumentBatch::from_texts(&documents);
            let found = surveyor.survey(batch.as_ref(), threads, &mut || true).unwrap();
            let mut stats = TextStats::default();
            stats.add(batch.as_ref(), 1, &mut || true).unwrap();
            prop_assert_eq!(&found.stats, &stats);
            prop_assert_eq!(&found.digests, &digests(batch.as_ref(), 1, &mut || true).unwrap());
            let n_chars: Vec<i64> = documents.iter().map(|d| d.chars().count() as i64).collect();
            prop_assert_eq!(&found.n_chars, &n_chars);
            let depths: Vec<i64> = documents.iter().flat_map(|d| 1..=(d.len() / 8).min(3) as i64).collect();
            prop_assert_eq!(&found.block_depths, &depths);
            prop_assert_eq!(found.block_keys.len(), depths.len());
            let whole: usize = documents.iter().map(|d| d.matches("<|a|>").count()).sum();
            prop_assert_eq!(found.markers.counts[0], whole as u64);
        }
    }

    #[test]
    fn a_batch_on_many_threads() {
        let surveyor = Surveyor::new(&["[INST]"], 2048, 4).unwrap();
        let texts: Vec<String> = (0..200)
            .map(|i| format!("{i} [INST] é中 ").repeat(i))
            .collect();
        let batch = DocumentBatch::from_texts(&texts);
        let on = |threads| {
            surveyor
                .survey(batch.as_ref(), threads, &mut || true)
                .unwrap()
        };
        assert_eq!(on(1), on(3));
        assert_eq!(on(1).markers.n_documents, 199);
        assert!(Surveyor::new(&[] as &[&str], 0, 1).is_err());
    }
}
