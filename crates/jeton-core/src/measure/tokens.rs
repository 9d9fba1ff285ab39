//! What one tokenizer makes of texts.

use super::LengthHistogram;
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
        Ok(())
    }

    fn add_document(
        &mut self,
        tokenizer: &Tokenizer,
        text: &str,
        ids: &[u32],
        bytes: Option<&mut Vec<u8>>,
    ) -> Result<()> {
        self.n_documents += 1;
        self.n_tokens += ids.len() as u64;
        self.tokens_per_document.add(ids.len() as u64);
        for &id in ids {
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
        if let Some(bytes) = bytes {
            bytes.clear();
            tokenizer.decode_into(ids, false, bytes)?;
            let fidelity = tokenizer.fidelity(text, bytes)?;
            self.n_normalized_documents += u64::from(!fidelity.unchanged);
            self.n_round_trip_failures += u64::from(!fidelity.round_trip);
        }
        Ok(())
    }
}

/// Counts what a tokenizer makes of a batch; special look-alikes are text. `round_trip`: also decode
/// every document and compare.
pub fn measure(
    tokenizer: &Tokenizer,
    batch: BatchRef<'_>,
    round_trip: bool,
    threads: usize,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<TokenStats> {
    let vocab_size = tokenizer.vocab().size() as usize;
    let parts = map_documents(batch, threads, keep_going, &|range| {
        let mut part = TokenStats::new(vocab_size);
        let (mut ids, mut bytes) = (Vec::new(), Vec::new());
        for text in batch.slice(range.start, range.end).iter() {
            let text = as_text(text)?;
            ids.clear();
            tokenizer.encode_into(text, &Allow::None, false, &mut ids)?;
            part.add_document(tokenizer, text, &ids, round_trip.then_some(&mut bytes))?;
        }
        Ok(part)
    })?;
    let mut whole = TokenStats::new(vocab_size);
    parts.iter().try_for_each(|part| whole.merge(part))?;
    Ok(whole)
}
