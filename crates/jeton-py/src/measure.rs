//! Mergeable counts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jeton_core::tokenizer::Cause;
use jeton_measure as core;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::TextBatch;
use crate::door::{enter, quick, threads};

type Columns<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

fn columns<'py>(py: Python<'py>, histogram: &core::LengthHistogram) -> Columns<'py> {
    let found = histogram.columns();
    (
        found.lengths.into_pyarray(py),
        found.n_documents.into_pyarray(py),
    )
}

/// As a dict from the name of a script to its count.
fn by_script<'py>(py: Python<'py>, counts: &core::ScriptCounts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in counts.named() {
        dict.set_item(name, count)?;
    }
    Ok(dict)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Measures of a text before any tokenizer sees it. Mergeable: ``a.merge(b) == b.merge(a)``.
#[pyclass(frozen, module = "jeton._core")]
#[derive(Default)]
pub(crate) struct TextStats(Mutex<core::TextStats>);

impl TextStats {
    pub(crate) fn of(stats: core::TextStats) -> Self {
        Self(Mutex::new(stats))
    }
}

#[pymethods]
impl TextStats {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Count the documents of a batch.
    #[pyo3(signature = (batch, *, num_threads=None))]
    fn add(&self, py: Python<'_>, batch: &TextBatch, num_threads: Option<isize>) -> PyResult<()> {
        let threads = threads(num_threads)?;
        let batch = &batch.0;
        let added = enter(py, |keep_going| {
            let mut added = core::TextStats {
                n_replaced_documents: batch.n_replaced_documents(),
                n_replacements: batch.n_replacements(),
                ..core::TextStats::default()
            };
            added.add(batch.as_ref(), threads, keep_going)?;
            Ok(added)
        })?;
        lock(&self.0).merge(&added);
        Ok(())
    }

    /// The sum of both counts.
    fn merge(&self, other: &Self) -> Self {
        let mut sum = lock(&self.0).clone();
        sum.merge(&lock(&other.0).clone());
        Self(Mutex::new(sum))
    }

    /// Documents.
    #[getter]
    fn n_documents(&self) -> u64 {
        lock(&self.0).n_documents
    }

    /// Bytes of text, UTF-8.
    #[getter]
    fn n_bytes(&self) -> u64 {
        lock(&self.0).n_bytes
    }

    /// Code points.
    #[getter]
    fn n_chars(&self) -> u64 {
        lock(&self.0).n_chars
    }

    /// Maximal runs of characters that are not Unicode White_Space (the splitter ``whitespace``).
    #[getter]
    fn n_words(&self) -> u64 {
        lock(&self.0).n_words
    }

    /// Documents in which bytes that are not UTF-8 were replaced.
    #[getter]
    fn n_replaced_documents(&self) -> u64 {
        lock(&self.0).n_replaced_documents
    }

    /// U+FFFD written in place of such bytes.
    #[getter]
    fn n_replacements(&self) -> u64 {
        lock(&self.0).n_replacements
    }

    /// Bytes of White_Space characters that follow another White_Space character: removable runs.
    #[getter]
    fn n_whitespace_bytes(&self) -> u64 {
        lock(&self.0).n_whitespace_bytes
    }

    /// Bytes of all White_Space characters.
    #[getter]
    fn n_space_bytes(&self) -> u64 {
        lock(&self.0).n_space_bytes
    }

    /// Decimal digits of any script (General_Category Nd).
    #[getter]
    fn n_digits(&self) -> u64 {
        lock(&self.0).n_digits
    }

    /// Combining marks (General_Category M): many in decomposed text.
    #[getter]
    fn n_marks(&self) -> u64 {
        lock(&self.0).n_marks
    }

    /// Documents that are ASCII throughout.
    #[getter]
    fn n_ascii_documents(&self) -> u64 {
        lock(&self.0).n_ascii_documents
    }

    /// Characters of each Unicode script that occurs: ``{"Common": 12, "Latin": 51}``.
    #[getter]
    fn script_chars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_script(py, &lock(&self.0).script_chars)
    }

    /// Their bytes as UTF-8.
    #[getter]
    fn script_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_script(py, &lock(&self.0).script_bytes)
    }

    /// (lengths ascending, number of documents of each length).
    #[getter]
    fn bytes_per_document<'py>(&self, py: Python<'py>) -> Columns<'py> {
        columns(py, &lock(&self.0).bytes_per_document)
    }
}

/// Measures of the tokens that one tokenizer makes of texts. Mergeable integers only.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct TokenStats(pub(crate) core::TokenStats);

#[pymethods]
impl TokenStats {
    #[new]
    fn new(vocab_size: usize) -> PyResult<Self> {
        if vocab_size > jeton_core::vocab::MAX_IDS as usize {
            let message = format!(
                "vocab_size is {vocab_size}; expected at most {}",
                jeton_core::vocab::MAX_IDS
            );
            return Err(pyo3::exceptions::PyValueError::new_err(message));
        }
        Ok(Self(core::TokenStats::new(vocab_size)))
    }

    /// The sum of both counts, of one vocabulary.
    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let mut sum = self.0.clone();
        quick(py, sum.merge(&other.0))?;
        Ok(Self(sum))
    }

    /// Documents.
    #[getter]
    fn n_documents(&self) -> u64 {
        self.0.n_documents
    }

    /// Tokens of all documents.
    #[getter]
    fn n_tokens(&self) -> u64 {
        self.0.n_tokens
    }

    /// Documents whose ids do not decode to the text after the tokenizer's own normalization, white
    /// space and U+2581 included.
    #[getter]
    fn n_round_trip_failures(&self) -> u64 {
        self.0.n_round_trip_failures
    }

    /// Documents that the tokenizer's normalization changed.
    #[getter]
    fn n_normalized_documents(&self) -> u64 {
        self.0.n_normalized_documents
    }

    /// Documents whose ids do not decode to the document, whatever the cause.
    #[getter]
    fn n_unreturned_documents(&self) -> u64 {
        self.0.n_unreturned_by_cause.iter().sum()
    }

    /// Documents that do not come back, by the worst cause of each.
    ///
    /// Causes: ``white_space`` (and nothing else is lost), ``u2581`` (it came back as a space),
    /// ``normal_form`` (the normalizer changed characters), ``unknown``, ``other``.
    #[getter]
    fn unreturned_by_cause<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (cause, n) in Cause::ALL.into_iter().zip(self.0.n_unreturned_by_cause) {
            dict.set_item(cause.name(), n)?;
        }
        Ok(dict)
    }

    /// uint64 (vocab_size,): how often each id was produced.
    #[getter]
    fn id_counts<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u64>> {
        crate::view::read_only(slf, &slf.get().0.id_counts)
    }

    /// uint32 (n_documents,): tokens of each document of the one batch that was measured with
    /// ``documents=True``; else empty, after a merge too.
    #[getter]
    fn document_tokens<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        crate::view::read_only(slf, &slf.get().0.document_tokens)
    }

    /// Documents whose tokens could be laid along their text (with ``words=True``); the counts
    /// below are of these alone. Normalization that changes letters, and text without a token,
    /// leave a document out.
    #[getter]
    fn n_laid_out_documents(&self) -> u64 {
        self.0.words.n_documents
    }

    /// Maximal runs of letters and the marks on them, of scripts that put spaces between words.
    #[getter]
    fn n_letter_words(&self) -> u64 {
        self.0.words.n_words
    }

    /// Letter words that exactly one token overlaps.
    #[getter]
    fn n_letter_words_kept(&self) -> u64 {
        self.0.words.n_words_kept
    }

    /// Tokens that overlap a letter word, summed over the words.
    #[getter]
    fn n_letter_word_tokens(&self) -> u64 {
        self.0.words.n_word_tokens
    }

    /// Decimal digits.
    #[getter]
    fn n_digits(&self) -> u64 {
        self.0.words.n_digits
    }

    /// Tokens in which a decimal digit begins.
    #[getter]
    fn n_digit_tokens(&self) -> u64 {
        self.0.words.n_digit_tokens
    }

    /// Tokens by the script of their first character that has one, else ``"Common"``.
    #[getter]
    fn script_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_script(py, &self.0.words.script_tokens)
    }

    /// Bytes of the text that those tokens cover.
    #[getter]
    fn script_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_script(py, &self.0.words.script_bytes)
    }

    /// (lengths ascending, number of documents of each length): an exact histogram.
    #[getter]
    fn tokens_per_document<'py>(&self, py: Python<'py>) -> Columns<'py> {
        columns(py, &self.0.tokens_per_document)
    }
}

/// Counts given terms in text: whole words, ASCII case ignored, longest term first.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct TermCounter(Mutex<core::TermCounter>);

#[pymethods]
impl TermCounter {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // extracted from Python
    fn new(py: Python<'_>, terms: Vec<String>) -> PyResult<Self> {
        Ok(Self(Mutex::new(enter(py, |_| {
            core::TermCounter::new(&terms)
        })?)))
    }

    /// Count the terms in the documents of a batch.
    #[pyo3(signature = (batch, *, num_threads=None))]
    fn add(&self, py: Python<'_>, batch: &TextBatch, num_threads: Option<isize>) -> PyResult<()> {
        let threads = threads(num_threads)?;
        enter(py, |keep_going| {
            lock(&self.0).add(batch.0.as_ref(), threads, keep_going)
        })
    }

    /// uint64 (n_terms,), in the order of ``terms``.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        lock(&self.0).counts().to_vec().into_pyarray(py)
    }
}

/// Counts which beginnings documents share, block by block, in bounded memory (at most 160 MB).
///
/// Documents are numbered in the order in which they are added, from 0. Ends of blocks may lie
/// inside a character. Only whole blocks count, of a document the first 4,096.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct PrefixIndex(Mutex<core::PrefixIndex>);

#[pymethods]
impl PrefixIndex {
    #[new]
    #[pyo3(signature = (block_bytes=1024))]
    fn new(py: Python<'_>, block_bytes: usize) -> PyResult<Self> {
        Ok(Self(Mutex::new(quick(
            py,
            core::PrefixIndex::new(block_bytes),
        )?)))
    }

    /// Take the documents of a batch in.
    #[pyo3(signature = (batch, *, num_threads=None))]
    fn add(&self, py: Python<'_>, batch: &TextBatch, num_threads: Option<isize>) -> PyResult<()> {
        let threads = threads(num_threads)?;
        enter(py, |keep_going| {
            lock(&self.0).add(batch.0.as_ref(), threads, keep_going)
        })
    }

    /// Beginnings that many documents share: ``(bytes, documents, first document)`` of each.
    ///
    /// A beginning is left out where a longer one is shared as often. The most repeated bytes
    /// come first: length times further documents.
    #[pyo3(signature = (min_documents=2, limit=1000))]
    fn shared_prefixes(
        &self,
        py: Python<'_>,
        min_documents: u64,
        limit: usize,
    ) -> PyResult<Vec<(u64, u64, u64)>> {
        let found = enter(py, |_| {
            Ok(lock(&self.0).shared_prefixes(min_documents, limit))
        })?;
        let triple = |prefix: core::SharedPrefix| {
            (prefix.n_bytes, prefix.n_documents, prefix.first_document)
        };
        Ok(found.into_iter().map(triple).collect())
    }

    /// Documents so far.
    #[getter]
    fn n_documents(&self) -> u64 {
        lock(&self.0).n_documents()
    }

    /// Counts may be too small by so much, because beginnings were forgotten for want of room; 0:
    /// exact.
    #[getter]
    fn max_undercount(&self) -> u64 {
        lock(&self.0).max_undercount()
    }
}
