//! Byte-level BPE with the offsets of each id, from the cache of pretokens.

use crate::error::Result;
use crate::models::Model;
use crate::models::bpe::{BpeModel, BpeScratch};
use crate::pipeline::lookup::BATCH_PRETOKENS;
use crate::pipeline::{EachSpan, Pipeline, WordScratch};

impl Pipeline<BpeModel> {
    /// As [`Self::encode_spans`], with the cache, where no step rewrites and every byte has a
    /// token. A token covers its own bytes, and the last token of a pretoken ends where the
    /// pretoken ends.
    pub(crate) fn encode_known_spans(
        &self,
        text: &str,
        words: &mut WordScratch,
        scratch: &mut BpeScratch,
        each: &mut EachSpan<'_>,
    ) -> Result<i64> {
        let bytes = text.as_bytes();
        let vocab = self.model().vocab();
        let mut n_words = 0;
        let mut ids = Vec::new();
        let mut word = |start: usize, end: usize| -> Result<()> {
            ids.clear();
            self.word(bytes, start, end, words, scratch, &mut ids)?;
            let mut from = start;
            if let Some((&last, before)) = ids.split_last() {
                for &id in before {
                    let to = (from + vocab.token_length(id)).min(end);
                    each(id, from, to, n_words, &bytes[from..to]);
                    from = to;
                }
                each(last, from, end, n_words, &bytes[from..end]);
            }
            n_words += 1;
            Ok(())
        };
        let Some(mut pieces) = self.pretokenizer().pieces_of_text(text) else {
            self.pretokenizer().split(text, word)?;
            return Ok(n_words);
        };
        let mut ends = [0; BATCH_PRETOKENS];
        let mut start = 0;
        loop {
            let n = pieces.ends(&mut ends);
            if n == 0 {
                return Ok(n_words);
            }
            for &end in &ends[..n] {
                word(start, end)?;
                start = end;
            }
        }
    }
}
