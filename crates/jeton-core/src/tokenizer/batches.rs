//! Many texts to ids and counts, with several threads.
//!
//! The threads share texts out among themselves; a text that is much longer than its share is
//! itself cut into stretches (see [`super::shared_texts`]). Their results are put together in order
//! while they go on.

use std::ops::Range;

use super::shared_texts::{MAX_TASK_BYTES, MIN_LONG_BYTES, has_long};
use super::{Scratch, Tokenizer};
use crate::cache::pool::Lease;
use crate::documents::parallel::{Work, chunk_bytes, chunks, in_order, useful_threads};
use crate::documents::texts::Documents;
use crate::documents::token_batch::TokenBatch;
use crate::error::Result;
use crate::memory::huge_pages::prefer_huge_pages;
use crate::models::Counter;
use crate::special::Allow;

impl Tokenizer {
    /// Encodes many texts.
    pub fn encode_batch(
        &self,
        documents: &dyn Documents,
        allow: &Allow,
        add_special_tokens: bool,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<TokenBatch> {
        let mut whole = TokenBatch {
            ids: Vec::new(),
            offsets: Vec::with_capacity(documents.len() + 1),
        };
        whole.offsets.push(0);
        let n_bytes = n_bytes(documents);
        // Four bytes a token is a usual ratio: one growth at most for most text.
        whole.ids.reserve(n_bytes / 4);
        prefer_huge_pages(&mut whole.ids);
        let threads = useful_threads(n_bytes, threads);
        if threads > 1 && self.cuts_texts() {
            let mut take = |ids: &[u32], ends: &[i64]| whole.append(ids, ends);
            let all_met = self.encode_cut(
                (documents, n_bytes),
                (allow, add_special_tokens),
                threads,
                keep_going,
                &mut take,
            )?;
            if all_met {
                return Ok(whole);
            }
            whole.ids.clear();
            whole.offsets.truncate(1);
        }
        self.encode_whole(
            (documents, n_bytes),
            (allow, add_special_tokens),
            threads,
            keep_going,
            &mut whole,
        )?;
        Ok(whole)
    }

    /// Counts the ids of many texts.
    pub fn count_batch(
        &self,
        documents: &dyn Documents,
        allow: &Allow,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<i64>> {
        let n_bytes = n_bytes(documents);
        let threads = useful_threads(n_bytes, threads);
        let mut counts = Vec::with_capacity(documents.len());
        if threads > 1 && self.cuts_texts() && has_long(documents, n_bytes, threads) {
            // Ids so far of a text that is not whole yet.
            let mut begun = 0;
            let mut take = |ids: &[u32], ends: &[i64]| {
                let mut counted = 0;
                for &end in ends {
                    counts.push(begun + end - counted);
                    (begun, counted) = (0, end);
                }
                begun += ids.len() as i64 - counted;
            };
            let options = (allow, false);
            if self.encode_cut(
                (documents, n_bytes),
                options,
                threads,
                keep_going,
                &mut take,
            )? {
                return Ok(counts);
            }
            counts.clear();
        }
        let ranges = chunks(
            0..documents.len(),
            &|i| documents.size(i),
            chunk_bytes(n_bytes, threads),
        );
        let work = Work {
            worker: &|| (self.pool.lend(), Vec::new()),
            task: &|(scratch, room): &mut (Lease<'_, Scratch>, Vec<u8>),
                    index,
                    made: &mut Vec<i64>| {
                made.clear();
                for document in ranges.get(index).cloned().into_iter().flatten() {
                    let mut counter = Counter::default();
                    let text = documents.text(document, room)?;
                    self.encode_sections(text, allow, scratch.get(), &mut counter)?;
                    made.push(counter.0 as i64);
                }
                Ok(())
            },
        };
        let mut take = |_, made: &mut Vec<i64>| counts.extend_from_slice(made);
        in_order(ranges.len(), threads, keep_going, &work, &mut take)?;
        Ok(counts)
    }

    /// Encodes one text with several threads; the ids equal one thread's.
    pub fn encode_shared(
        &self,
        text: &str,
        allow: &Allow,
        add_special_tokens: bool,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u32>> {
        if threads > 1 && text.len() >= MIN_LONG_BYTES {
            let batch = self.encode_batch(&[text], allow, add_special_tokens, threads, keep_going);
            return Ok(batch?.ids);
        }
        let mut ids = Vec::with_capacity(text.len() / 4);
        prefer_huge_pages(&mut ids);
        self.encode_into(text, allow, add_special_tokens, &mut ids)?;
        Ok(ids)
    }

    /// Counts the ids of one text with several threads.
    pub fn count_shared(
        &self,
        text: &str,
        allow: &Allow,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<u64> {
        if threads > 1 && text.len() >= MIN_LONG_BYTES {
            let counts = self.count_batch(&[text], allow, threads, keep_going)?;
            return Ok(counts.iter().sum::<i64>().unsigned_abs());
        }
        self.count(text, allow)
    }

    /// Encodes texts each of which is one thread's.
    fn encode_whole(
        &self,
        (documents, n_bytes): (&dyn Documents, usize),
        (allow, add_special_tokens): (&Allow, bool),
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
        whole: &mut TokenBatch,
    ) -> Result<()> {
        let encode = |scratch: &mut Scratch,
                      range: Range<usize>,
                      room: &mut Vec<u8>,
                      out: &mut TokenBatch| {
            for index in range {
                let text = documents.text(index, room)?;
                self.encode_with(text, allow, add_special_tokens, scratch, &mut out.ids)?;
                out.offsets.push(out.ids.len() as i64);
            }
            Ok(())
        };
        let target = chunk_bytes(n_bytes, threads).min(MAX_TASK_BYTES);
        let ranges = chunks(0..documents.len(), &|i| documents.size(i), target);
        if threads == 1 {
            let mut scratch = self.pool.lend();
            let mut room = Vec::new();
            for range in ranges {
                encode(scratch.get(), range, &mut room, whole)?;
                if !keep_going() {
                    return Err(crate::error::ErrorKind::Interrupted.into());
                }
            }
            return Ok(());
        }
        let work = Work {
            worker: &|| (self.pool.lend(), Vec::new()),
            task: &|(scratch, room): &mut (Lease<'_, Scratch>, Vec<u8>),
                    index,
                    made: &mut TokenBatch| {
                made.ids.clear();
                made.offsets.clear();
                let range = ranges.get(index).cloned().unwrap_or_default();
                encode(scratch.get(), range, room, made)
            },
        };
        let mut take = |_, made: &mut TokenBatch| whole.append(&made.ids, &made.offsets);
        in_order(ranges.len(), threads, keep_going, &work, &mut take)
    }
}

fn n_bytes(documents: &dyn Documents) -> usize {
    (0..documents.len())
        .map(|index| documents.size(index))
        .sum()
}
