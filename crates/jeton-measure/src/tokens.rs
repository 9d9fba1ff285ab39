//! Measures of the tokens that one tokenizer makes of texts.

use std::sync::{Mutex, PoisonError};

use super::LengthHistogram;
use super::words::{Joined, NoSuchId, Outlines, WordCounts, lay_out};
use jeton_core::documents::batch::BatchRef;
use jeton_core::documents::parallel::map_documents;
use jeton_core::documents::texts::as_text;
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::special::Allow;
use jeton_core::tokenizer::{Cause, Tokenizer};

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
    /// Documents whose ids do not decode to the document itself, by [`Cause`].
    pub n_unreturned_by_cause: [u64; 5],
    /// How often each id was produced.
    pub id_counts: Vec<u64>,
    pub tokens_per_document: LengthHistogram,
    /// Tokens of each document in order, where that was asked for. A sum of batches has none,
    /// because it has no order.
    pub document_tokens: Vec<u32>,
    /// Words and scripts, where that was asked for.
    pub words: WordCounts,
}

/// Further counts beside the tokens.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    /// Decode every document and compare.
    pub round_trip: bool,
    /// Note the tokens of each document.
    pub documents: bool,
    /// Words kept as one token, digits and scripts; the outlines are the tokenizer's.
    pub words: Option<&'a Outlines>,
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
        for (mine, theirs) in self
            .n_unreturned_by_cause
            .iter_mut()
            .zip(other.n_unreturned_by_cause)
        {
            *mine += theirs;
        }
        self.id_counts
            .iter_mut()
            .zip(&other.id_counts)
            .for_each(|(mine, theirs)| *mine += theirs);
        self.tokens_per_document.merge(&other.tokens_per_document);
        self.document_tokens = Vec::new();
        self.words.merge(&other.words);
        Ok(())
    }
}

/// Counts of one thread, and the state that it needs.
struct Worker<'a> {
    tokenizer: &'a Tokenizer,
    counted: Counted<'a>,
    stats: TokenStats,
    /// Counts of documents whose tokens' bytes are their text, and of all where words are not
    /// counted.
    joined: Joined,
    /// The id that stands for text without a token.
    unknown: Option<u32>,
    /// True if ids are known to decode to their text.
    returns_text: bool,
    ids: Vec<u32>,
    bytes: Vec<u8>,
    spans: Vec<(u32, u32)>,
}

impl<'a> Worker<'a> {
    fn new(tokenizer: &'a Tokenizer, counted: Counted<'a>) -> Self {
        let vocab_size = tokenizer.vocab().size() as usize;
        Self {
            tokenizer,
            counted,
            stats: TokenStats::new(vocab_size),
            joined: Joined::new(vocab_size),
            unknown: tokenizer.unknown(),
            returns_text: tokenizer.returns_every_text(),
            ids: Vec::new(),
            bytes: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// Counts a document; says how many tokens it has.
    fn add(&mut self, text: &str) -> Result<u64> {
        self.ids.clear();
        self.tokenizer
            .encode_into(text, &Allow::None, false, &mut self.ids)?;
        let n_tokens = self.ids.len() as u64;
        self.stats.n_documents += 1;
        self.stats.n_tokens += n_tokens;
        self.stats.tokens_per_document.add(n_tokens);
        let is_text = self.is_text(text)?;
        if self.joined.is_full(self.ids.len()) {
            self.flush();
        }
        match self.counted.words {
            Some(outlines) if is_text => self.joined.add(text, &self.ids, outlines),
            Some(_) => {
                let fits = lay_out(
                    self.tokenizer,
                    self.unknown,
                    text,
                    &self.ids,
                    &mut self.spans,
                );
                if fits {
                    self.stats.words.add_document(text, &self.spans);
                }
                self.add_ids()
            }
            None => self.joined.add_ids(&self.ids),
        }
        .map_err(|NoSuchId(id)| ErrorKind::UnknownId {
            id: u64::from(id),
            vocab_size: self.stats.id_counts.len() as u64,
        })?;
        if self.counted.round_trip && !(is_text && self.tokenizer.keeps_text()) {
            let fidelity = self.tokenizer.fidelity(text, &self.ids, &self.bytes)?;
            for (n, cause) in self.stats.n_unreturned_by_cause.iter_mut().zip(Cause::ALL) {
                *n += u64::from(fidelity.cause == Some(cause));
            }
            self.stats.n_normalized_documents += u64::from(!fidelity.unchanged);
            self.stats.n_round_trip_failures += u64::from(!fidelity.round_trip);
        }
        Ok(n_tokens)
    }

    /// True if the bytes of the tokens, joined, are the text, as far as that has to be known.
    /// Decodes the ids where the round trip is looked at.
    fn is_text(&mut self, text: &str) -> Result<bool> {
        let Counted {
            round_trip, words, ..
        } = self.counted;
        let joins_bytes = self.tokenizer.joins_bytes();
        let needs_bytes = round_trip || words.is_some() && joins_bytes;
        if needs_bytes && !self.returns_text || cfg!(debug_assertions) && self.returns_text {
            self.bytes.clear();
            self.tokenizer
                .decode_into(&self.ids, false, &mut self.bytes)?;
            debug_assert!(!self.returns_text || self.bytes == text.as_bytes());
        }
        Ok(self.returns_text
            || joins_bytes && (round_trip || words.is_some()) && self.bytes == text.as_bytes())
    }

    /// Counts ids of a text whose words were looked at otherwise.
    fn add_ids(&mut self) -> std::result::Result<(), NoSuchId> {
        for &id in &self.ids {
            let count = self.stats.id_counts.get_mut(id as usize);
            *count.ok_or(NoSuchId(id))? += 1;
        }
        Ok(())
    }

    fn flush(&mut self) {
        let TokenStats {
            id_counts, words, ..
        } = &mut self.stats;
        self.joined.flush(self.counted.words, id_counts, words);
    }
}

/// Counts what a tokenizer makes of a batch; special look-alikes are text.
pub fn measure(
    tokenizer: &Tokenizer,
    batch: BatchRef<'_>,
    counted: Counted<'_>,
    threads: usize,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<TokenStats> {
    // A worker has arrays as long as the vocabulary, so there are no more than threads.
    let idle = Mutex::new(Vec::new());
    let lengths = map_documents(batch, threads, keep_going, &|range| {
        let worker = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = worker.unwrap_or_else(|| Worker::new(tokenizer, counted));
        let mut lengths = Vec::new();
        for text in batch.slice(range.start, range.end).iter() {
            let n_tokens = worker.add(as_text(text)?)?;
            if counted.documents {
                // A document of four thousand million tokens does not fit into memory.
                lengths.push(u32::try_from(n_tokens).unwrap_or(u32::MAX));
            }
        }
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(worker);
        Ok(lengths)
    })?;
    let mut whole = TokenStats::new(tokenizer.vocab().size() as usize);
    let workers = idle.into_inner().unwrap_or_else(PoisonError::into_inner);
    for mut worker in workers {
        worker.flush();
        whole.merge(&worker.stats)?;
    }
    whole.document_tokens = lengths.concat();
    Ok(whole)
}
