//! Care for a corpus: near-duplicates and figures of quality.

use std::sync::{Mutex, PoisonError};

use jeton_measure::{self as core, NearDuplicateOptions, QUALITY_FIGURES};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::batch::TextBatch;
use crate::door::{enter, quick, threads};

/// Documents met so far, for finding those that are nearly alike (MinHash in bands).
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct NearDuplicates(Mutex<core::NearDuplicates>);

#[pymethods]
impl NearDuplicates {
    #[new]
    #[pyo3(signature = (*, shingle_words, n_bands, n_rows, seed))]
    fn new(
        py: Python<'_>,
        shingle_words: usize,
        n_bands: usize,
        n_rows: usize,
        seed: u64,
    ) -> PyResult<Self> {
        let options = NearDuplicateOptions {
            shingle_words,
            n_bands,
            n_rows,
            seed,
        };
        let made = quick(py, core::NearDuplicates::new(options))?;
        Ok(Self(Mutex::new(made)))
    }

    /// The number of the earliest document that each document resembles (-1: none), and sides.
    ///
    /// A document takes the side of the document that it resembles, else the side given; 255
    /// where it resembles several sides. With ``keep_all`` documents that resemble others are
    /// remembered, too.
    #[pyo3(signature = (batch, *, sides=None, keep_all=false, num_threads=None))]
    #[allow(clippy::needless_pass_by_value, clippy::type_complexity)] // extracted from Python
    fn place<'py>(
        &self,
        py: Python<'py>,
        batch: &TextBatch,
        sides: Option<PyReadonlyArray1<'py, u8>>,
        keep_all: bool,
        num_threads: Option<isize>,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>)> {
        let threads = threads(num_threads)?;
        let sides: Option<Vec<u8>> = sides.map(|sides| sides.as_array().to_vec());
        let placed = enter(py, |keep_going| {
            let mut index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            index.place(
                batch.0.as_ref(),
                sides.as_deref(),
                keep_all,
                threads,
                keep_going,
            )
        })?;
        let resembles: Vec<i64> = placed
            .iter()
            .map(|placed| placed.resembles.map_or(-1, i64::from))
            .collect();
        let sides: Vec<u8> = placed.iter().map(|placed| placed.side).collect();
        Ok((resembles.into_pyarray(py), sides.into_pyarray(py)))
    }

    /// Bytes that it takes.
    #[getter]
    fn memory_bytes(&self) -> usize {
        let index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        index.memory_bytes()
    }

    fn __len__(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Names of the columns of ``text_quality``.
#[pyfunction]
pub(crate) fn quality_figures() -> Vec<&'static str> {
    QUALITY_FIGURES.to_vec()
}

/// float64 (n_documents, n_figures): what published filters of web text look at.
#[pyfunction]
#[pyo3(signature = (batch, *, num_threads=None))]
pub(crate) fn text_quality<'py>(
    py: Python<'py>,
    batch: &TextBatch,
    num_threads: Option<isize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let threads = threads(num_threads)?;
    let rows = enter(py, |keep_going| {
        core::quality(batch.0.as_ref(), threads, keep_going)
    })?;
    let n = rows.len();
    rows.concat()
        .into_pyarray(py)
        .reshape([n, QUALITY_FIGURES.len()])
}

/// Adds this to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NearDuplicates>()?;
    module.add_function(wrap_pyfunction!(quality_figures, module)?)?;
    module.add_function(wrap_pyfunction!(text_quality, module)?)?;
    Ok(())
}
