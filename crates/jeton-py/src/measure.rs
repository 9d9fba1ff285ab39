//! Mergeable counts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jeton_core::measure as core;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::TextBatch;
use crate::door::{enter, quick, threads};

type Columns<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

fn columns<'py>(py: Python<'py>, histogram: &core::LengthHistogram) -> Columns<'py> {
    let (lengths, counts) = histogram.columns();
    (lengths.into_pyarray(py), counts.into_pyarray(py))
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

/// What texts are before any tokenizer sees them.
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

    fn merge(&self, other: &Self) -> Self {
        let mut sum = lock(&self.0).clone();
        sum.merge(&lock(&other.0).clone());
        Self(Mutex::new(sum))
    }

    #[getter]
    fn n_documents(&self) -> u64 {
        lock(&self.0).n_documents
    }

    #[getter]
    fn n_bytes(&self) -> u64 {
        lock(&self.0).n_bytes
    }

    #[getter]
    fn n_chars(&self) -> u64 {
        lock(&self.0).n_chars
    }

    #[getter]
    fn n_words(&self) -> u64 {
        lock(&self.0).n_words
    }

    #[getter]
    fn n_replaced_documents(&self) -> u64 {
        lock(&self.0).n_replaced_documents
    }

    #[getter]
    fn n_replacements(&self) -> u64 {
        lock(&self.0).n_replacements
    }

    #[getter]
    fn n_whitespace_bytes(&self) -> u64 {
        lock(&self.0).n_whitespace_bytes
    }

    #[getter]
    fn n_space_bytes(&self) -> u64 {
        lock(&self.0).n_space_bytes
    }

    #[getter]
    fn n_digits(&self) -> u64 {
        lock(&self.0).n_digits
    }

    #[getter]
    fn n_marks(&self) -> u64 {
        lock(&self.0).n_marks
    }

    #[getter]
    fn n_ascii_documents(&self) -> u64 {
        lock(&self.0).n_ascii_documents
    }

    #[getter]
    fn script_chars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_script(py, &lock(&self.0).script_chars)
    }

    #[getter]
    fn script_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_script(py, &lock(&self.0).script_bytes)
    }

    #[getter]
    fn bytes_per_document<'py>(&self, py: Python<'py>) -> Columns<'py> {
        columns(py, &lock(&self.0).bytes_per_document)
    }
}

/// What one tokenizer makes of texts.
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

    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let mut sum = self.0.clone();
        quick(py, sum.merge(&other.0))?;
        Ok(Self(sum))
    }

    #[getter]
    fn n_documents(&self) -> u64 {
        self.0.n_documents
    }

    #[getter]
    fn n_tokens(&self) -> u64 {
        self.0.n_tokens
    }

    #[getter]
    fn n_round_trip_failures(&self) -> u64 {
        self.0.n_round_trip_failures
    }

    #[getter]
    fn n_normalized_documents(&self) -> u64 {
        self.0.n_normalized_documents
    }

    #[getter]
    fn id_counts<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u64>> {
        crate::view::read_only(slf, &slf.get().0.id_counts)
    }

    #[getter]
    fn document_tokens<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        crate::view::read_only(slf, &slf.get().0.document_tokens)
    }

    #[getter]
    fn n_laid_out_documents(&self) -> u64 {
        self.0.words.n_documents
    }

    #[getter]
    fn n_letter_words(&self) -> u64 {
        self.0.words.n_words
    }

    #[getter]
    fn n_letter_words_kept(&self) -> u64 {
        self.0.words.n_words_kept
    }

    #[getter]
    fn n_letter_word_tokens(&self) -> u64 {
        self.0.words.n_word_tokens
    }

    #[getter]
    fn n_digits(&self) -> u64 {
        self.0.words.n_digits
    }

    #[getter]
    fn n_digit_tokens(&self) -> u64 {
        self.0.words.n_digit_tokens
    }

    #[getter]
    fn script_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_script(py, &self.0.words.script_tokens)
    }

    #[getter]
    fn script_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_script(py, &self.0.words.script_bytes)
    }

    #[getter]
    fn tokens_per_document<'py>(&self, py: Python<'py>) -> Columns<'py> {
        columns(py, &self.0.tokens_per_document)
    }
}

/// Counts given terms in text.
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

    #[pyo3(signature = (batch, *, num_threads=None))]
    fn add(&self, py: Python<'_>, batch: &TextBatch, num_threads: Option<isize>) -> PyResult<()> {
        let threads = threads(num_threads)?;
        enter(py, |keep_going| {
            lock(&self.0).add(batch.0.as_ref(), threads, keep_going)
        })
    }

    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        lock(&self.0).counts().to_vec().into_pyarray(py)
    }
}

/// Counts beginnings that documents share.
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

    #[pyo3(signature = (batch, *, num_threads=None))]
    fn add(&self, py: Python<'_>, batch: &TextBatch, num_threads: Option<isize>) -> PyResult<()> {
        let threads = threads(num_threads)?;
        enter(py, |keep_going| {
            lock(&self.0).add(batch.0.as_ref(), threads, keep_going)
        })
    }

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

    #[getter]
    fn n_documents(&self) -> u64 {
        lock(&self.0).n_documents()
    }

    #[getter]
    fn max_undercount(&self) -> u64 {
        lock(&self.0).max_undercount()
    }
}
