//! Survey of texts without a tokenizer.

use jeton_measure as core;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::batch::TextBatch;
use crate::door::{enter, quick, threads};
use crate::measure::TextStats;
use crate::view::read_only;

/// Digests as the two halves of each, the higher first.
type Halves<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

fn halves<'py>(py: Python<'py>, digests: &[u128]) -> Halves<'py> {
    let high: Vec<u64> = digests.iter().map(|digest| (digest >> 64) as u64).collect();
    let low: Vec<u64> = digests.iter().map(|digest| *digest as u64).collect();
    (high.into_pyarray(py), low.into_pyarray(py))
}

/// Looks at texts in one pass for all that needs no tokenizer.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct Surveyor(core::Surveyor);

#[pymethods]
impl Surveyor {
    /// Look for ``markers`` (texts of at least 3 bytes), and at the beginnings of documents in
    /// steps of ``block_bytes``, at most ``max_blocks`` of each.
    #[new]
    #[pyo3(signature = (markers, *, block_bytes, max_blocks))]
    #[allow(clippy::needless_pass_by_value)] // extracted from Python
    fn new(
        py: Python<'_>,
        markers: Vec<String>,
        block_bytes: usize,
        max_blocks: usize,
    ) -> PyResult<Self> {
        Ok(Self(quick(
            py,
            core::Surveyor::new(&markers, block_bytes, max_blocks),
        )?))
    }

    /// Look at one batch.
    #[pyo3(signature = (batch, *, num_threads=None))]
    fn survey(
        &self,
        py: Python<'_>,
        batch: &TextBatch,
        num_threads: Option<isize>,
    ) -> PyResult<Survey> {
        let threads = threads(num_threads)?;
        let batch = &batch.0;
        let mut found = enter(py, |keep_going| {
            self.0.survey(batch.as_ref(), threads, keep_going)
        })?;
        found.stats.n_replaced_documents = batch.n_replaced_documents();
        found.stats.n_replacements = batch.n_replacements();
        Ok(Survey(found))
    }
}

/// Findings of a `Surveyor` in one batch.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct Survey(core::Survey);

#[pymethods]
impl Survey {
    /// Measures of the texts.
    #[getter]
    fn stats(&self) -> TextStats {
        TextStats::of(self.0.stats.clone())
    }

    /// The digest of each document, as ``text_digests`` gives it.
    #[getter]
    fn digests<'py>(&self, py: Python<'py>) -> Halves<'py> {
        halves(py, &self.0.digests)
    }

    /// int64 (n_documents,): code points of each document.
    #[getter]
    fn n_chars<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        read_only(slf, &slf.get().0.n_chars)
    }

    /// uint64 (n_markers,): occurrences, in the order in which the markers were given. Markers
    /// that begin with the same three bytes do not overlap; of two at one place the longer counts.
    #[getter]
    fn marker_counts<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u64>> {
        read_only(slf, &slf.get().0.markers.counts)
    }

    /// Documents with any marker.
    #[getter]
    fn n_marked_documents(&self) -> u64 {
        self.0.markers.n_documents
    }

    /// uint64 (n_blocks,): a key of each document's text up to the end of each of its whole
    /// blocks, document after document. XXH3 of 64 bits of the block, seeded with the key before.
    #[getter]
    fn block_keys<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u64>> {
        read_only(slf, &slf.get().0.block_keys)
    }

    /// int64 (n_blocks,): blocks of the document up to there, from 1.
    #[getter]
    fn block_depths<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        read_only(slf, &slf.get().0.block_depths)
    }
}

/// The higher and the lower half of each document's digest, uint64 (n_documents,) each: XXH3 of 128
/// bits without a seed. No cryptographic hash.
#[pyfunction]
#[pyo3(signature = (batch, *, num_threads=None))]
pub(crate) fn text_digests<'py>(
    py: Python<'py>,
    batch: &TextBatch,
    num_threads: Option<isize>,
) -> PyResult<Halves<'py>> {
    let threads = threads(num_threads)?;
    let batch = &batch.0;
    let digests = enter(py, |keep_going| {
        core::digests(batch.as_ref(), threads, keep_going)
    })?;
    Ok(halves(py, &digests))
}

/// The digest of each document together with its companion, from the halves of its own.
#[pyfunction]
#[pyo3(signature = (high, low, companions, *, num_threads=None))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn pair_digests<'py>(
    py: Python<'py>,
    high: PyReadonlyArray1<'py, u64>,
    low: PyReadonlyArray1<'py, u64>,
    companions: &TextBatch,
    num_threads: Option<isize>,
) -> PyResult<Halves<'py>> {
    let threads = threads(num_threads)?;
    let (high, low) = (high.as_array(), low.as_array());
    let first = high.iter().zip(low);
    let first: Vec<u128> = first
        .map(|(&high, &low)| u128::from(high) << 64 | u128::from(low))
        .collect();
    let batch = &companions.0;
    let pairs = enter(py, |keep_going| {
        let second = core::digests(batch.as_ref(), threads, keep_going)?;
        core::pair_digests(&first, &second)
    })?;
    Ok(halves(py, &pairs))
}
