//! How often given terms occur.

use aho_corasick::{AhoCorasick, MatchKind};

use jeton_core::documents::batch::BatchRef;
use jeton_core::documents::parallel::map_documents;
use jeton_core::documents::texts::as_text;
use jeton_core::error::{Error, Result};

/// Counts terms in text: whole words (no alphanumeric character on either side), ASCII case
/// ignored, of overlapping occurrences the leftmost, of those the longest.
#[derive(Debug)]
pub struct TermCounter {
    automaton: AhoCorasick,
    counts: Vec<u64>,
}

impl TermCounter {
    /// A counter for these terms; an empty term is an error.
    pub fn new(terms: &[String]) -> Result<Self> {
        if let Some(at) = terms.iter().position(String::is_empty) {
            return Err(Error::format(
                "list of terms",
                format!("term {at} is empty"),
            ));
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(terms)
            .map_err(|error| Error::format("list of terms", error.to_string()))?;
        Ok(Self {
            automaton,
            counts: vec![0; terms.len()],
        })
    }

    /// Counts a batch.
    pub fn add(
        &mut self,
        batch: BatchRef<'_>,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let parts = map_documents(batch, threads, keep_going, &|range| {
            let mut counts = vec![0; self.counts.len()];
            let mut found = Vec::new();
            for text in batch.slice(range.start, range.end).iter() {
                self.count_document(as_text(text)?, &mut found, &mut counts);
            }
            Ok(counts)
        })?;
        for part in parts {
            self.counts
                .iter_mut()
                .zip(part)
                .for_each(|(count, more)| *count += more);
        }
        Ok(())
    }

    fn count_document(
        &self,
        text: &str,
        found: &mut Vec<(usize, usize, usize)>,
        counts: &mut [u64],
    ) {
        found.clear();
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        for occurrence in self.automaton.find_overlapping_iter(text) {
            let (start, end) = (occurrence.start(), occurrence.end());
            let free =
                !is_word(text[..start].chars().next_back()) && !is_word(text[end..].chars().next());
            if free {
                found.push((start, usize::MAX - end, occurrence.pattern().as_usize()));
            }
        }
        found.sort_unstable();
        let mut position = 0;
        for &(start, length_order, term) in found.iter() {
            if start >= position {
                counts[term] += 1;
                position = usize::MAX - length_order;
            }
        }
    }

    /// Occurrences of each term, in the order in which the terms were given.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::documents::batch::DocumentBatch;

    #[test]
    fn whole_words_longest_first() {
        let terms = [
            "lis pendens",
            "lis",
            "atrial fibrillation",
            "fibrillation",
            "é",
        ]
        .map(str::to_owned);
        let mut counter = TermCounter::new(&terms).unwrap();
        let batch = DocumentBatch::from_texts([
            "Lis pendens, lis; lisp. Atrial Fibrillation and fibrillation",
            "é caféé",
        ]);
        counter.add(batch.as_ref(), 1, &mut || true).unwrap();
        assert_eq!(counter.counts(), [1, 1, 1, 1, 1]);
        assert!(TermCounter::new(&[String::new()]).is_err());
    }
}
