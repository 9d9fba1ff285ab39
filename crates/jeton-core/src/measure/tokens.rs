//! What one tokenizer makes of texts.

use super::LengthHistogram;
use super::words::{WordCounts, lay_out};
use crate::batch::BatchRef;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::map_documents;
use crate::special::Allow;
use crate::tokenizer::{Tokenizer, as_text};

/// Counts of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct TokenStats {
    pub n_documents: u64,
    pub n_tokens: u64,
    /// Documents whose ids do not decode to the text that the model saw.
    pub n_round_trip_failures: u64,
    /// Documents that normalization changed.
    pub n_normalized_documents: u64,
    /// How often each id was produced.
    pub id_counts: Vec<u64>,
    pub tokens_per_document: LengthHistogram,
    /// Tokens of each document in order, where that was asked for. Of one batch only: a sum of batches has
    /// none, because it has no order.
    pub document_tokens: Vec<u32>,
    /// Words and scripts, where that was asked for.
    pub words: WordCounts,
}

/// What is counted beside the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Decode every document and compare.
    pub round_trip: bool,
    /// Note the tokens of each document.
    pub documents: bool,
    /// Words kept as one token, digits and scripts.
    pub words: bool,
}

impl TokenStats {
    /// Nothing counted yet, for a vocabulary of this size.
    pub fn new(vocab_size: usize) -> Self {
        Self {
            id_counts: vec![0; vocab_size],
            ..Self::default()
        }
    }

    /// Adds another count, of the same vocabulary.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.id_counts.len() != other.id_counts.len() {
            let reason = format!(
                "counts of vocabularies of {} and {} ids cannot be added up",
                self.id_counts.len(),
                other.id_counts.len()
            );
            return Err(Error::format("token statistics", reason));
        }
        self.n_documents += other.n_documents;
        self.n_tokens += other.n_tokens;
        self.n_round_trip_failures += other.n_round_trip_failures;
        self.n_normalized_documents += other.n_normalized_documents;
        self.id_counts
            .iter_mut()
            .zip(&other.id_counts)
            .for_each(|(mine, theirs)| *mine += theirs);
        self.tokens_per_document.merge(&other.tokens_per_document);
        self.document_tokens = Vec::new();
        self.words.merge(&other.words);
        Ok(())
    }

    fn add_document(
        &mut self,
        tokenizer: &Tokenizer,
        text: &str,
        room: &mut Room,
        counted: Counted,
    ) -> Result<()> {
        let Room {
            unknown,
            returns_text,
            ids,
            bytes,
            spans,
        } = room;
        self.n_documents += 1;
        self.n_tokens += ids.len() as u64;
        self.tokens_per_document.add(ids.len() as u64);
        if counted.documents {
            // A document of four thousand million tokens does not fit into memory.
            let n = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            self.document_tokens.push(n);
        }
        for &id in &*ids {
            match self.id_counts.get_mut(id as usize) {
                Some(count) => *count += 1,
                None => {
                    let vocab_size = self.id_counts.len() as u64;
                    return Err(ErrorKind::UnknownId {
                        id: u64::from(id),
                        vocab_size,
                    }
                    .into());
                }
            }
        }
        let joins_bytes = tokenizer.joins_bytes();
        if !*returns_text && (counted.round_trip || counted.words && joins_bytes) {
            bytes.clear();
            tokenizer.decode_into(ids, false, bytes)?;
        }
        #[cfg(debug_assertions)]
        if *returns_text {
            bytes.clear();
            tokenizer.decode_into(ids, false, bytes)?;
            debug_assert_eq!(*bytes, text.as_bytes());
        }
        let is_text = *returns_text
            || joins_bytes && (counted.round_trip || counted.words) && *bytes == text.as_bytes();
        if counted.words {
            if is_text {
                self.words.add_joined(text, ids, tokenizer.outlines());
            } else if lay_out(tokenizer, *unknown, text, ids, spans) {
                self.words.add_document(text, spans);
            }
        }
        if counted.round_trip && !(is_text && tokenizer.keeps_text()) {
            let fidelity = tokenizer.fidelity(text, bytes)?;
            self.n_normalized_documents += u64::from(!fidelity.unchanged);
            self.n_round_trip_failures += u64::from(!fidelity.round_trip);
        }
        Ok(())
    }
}

/// What one thread needs for a document.
#[derive(Default)]
struct Room {
    /// The id that stands for text without a token.
    unknown: Option<u32>,
    /// Whether ids are known to decode to their text.
    returns_text: bool,
    ids: Vec<u32>,
    bytes: Vec<u8>,
    spans: Vec<(u32, u32)>,
}

/// Counts what a tokenizer makes of a batch; special look-alikes are text.
pub fn measure(
    tokenizer: &Tokenizer,
    batch: BatchRef<'_>,
    counted: Counted,
    threads: usize,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<TokenStats> {
    let vocab_size = tokenizer.vocab().size() as usize;
    let parts = map_documents(batch, threads, keep_going, &|range| {
        let mut part = TokenStats::new(vocab_size);
        let mut room = Room {
            unknown: tokenizer.unknown(),
            returns_text: tokenizer.returns_every_text(),
            ..Room::default()
        };
        for text in batch.slice(range.start, range.end).iter() {
            let text = as_text(text)?;
            room.ids.clear();
            tokenizer.encode_into(text, &Allow::None, false, &mut room.ids)?;
            part.add_document(tokenizer, text, &mut room, counted)?;
        }
        Ok(part)
    })?;
    let mut whole = TokenStats::new(vocab_size);
    let mut document_tokens = Vec::new();
    for part in parts {
        whole.merge(&part)?;
        document_tokens.extend(part.document_tokens);
    }
    whole.document_tokens = document_tokens;
    Ok(whole)
}
