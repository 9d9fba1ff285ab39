//! Counts of pretokens.

use std::sync::{Mutex, PoisonError};

use jeton_core::normalize::Normalizer;
use jeton_core::pretokenize::{PreTokenizer, StepConfig};
use jeton_core::train as core;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::TextBatch;
use crate::door::{enter, quick, threads};
use crate::recipe::Recipe;

/// Weighted pretokens: what every trainer starts from.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct PretokenCounts {
    pub(super) recipe: Recipe,
    normalizer: Normalizer,
    pretokenizer: PreTokenizer,
    counts: Mutex<core::PretokenCounts>,
}

impl PretokenCounts {
    pub(super) fn with<R>(&self, run: impl FnOnce(&mut core::PretokenCounts) -> R) -> R {
        run(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PretokenCounts {
    #[new]
    #[pyo3(signature = (*, pattern, normalizer=None))]
    fn new(py: Python<'_>, pattern: &str, normalizer: Option<&str>) -> PyResult<Self> {
        let recipe = Recipe::new(pattern, normalizer)?;
        let normalizer = quick(py, Normalizer::new(&recipe.normalizer))?;
        let pretokenizer = quick(py, PreTokenizer::new(&[StepConfig::Split(recipe.split())]))?;
        Ok(Self {
            recipe,
            normalizer,
            pretokenizer,
            counts: Mutex::default(),
        })
    }

    #[pyo3(signature = (batch, *, num_threads=None))]
    fn add(&self, py: Python<'_>, batch: &TextBatch, num_threads: Option<isize>) -> PyResult<()> {
        let threads = threads(num_threads)?;
        let split = |text: &str, each: &mut dyn FnMut(&[u8])| {
            let text = self.normalizer.normalize(text)?;
            self.pretokenizer.split(&text, |start, end| {
                each(&text.as_bytes()[start..end]);
                Ok(())
            })
        };
        enter(py, |_| {
            self.with(|counts| counts.count_batch(batch.0.as_ref(), &split, threads))
        })
    }

    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        if self.recipe != other.recipe {
            return Err(PyValueError::new_err(
                "counts made with different patterns or normalizers cannot be added up",
            ));
        }
        if std::ptr::eq(self, other) {
            return Err(PyValueError::new_err(
                "counts cannot be added to themselves",
            ));
        }
        let other = other.with(|counts| counts.clone());
        enter(py, |_| self.with(|counts| counts.merge(&other)))
    }

    fn __len__(&self) -> usize {
        self.with(|counts| counts.len())
    }

    #[getter]
    fn n_pretokens(&self) -> u64 {
        self.with(|counts| counts.n_pretokens())
    }

    #[getter]
    fn n_bytes(&self) -> u64 {
        self.with(|counts| counts.n_bytes())
    }

    #[getter]
    fn n_documents(&self) -> u64 {
        self.with(|counts| counts.n_documents())
    }

    fn items<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        self.with(|counts| {
            counts
                .iter_sorted()
                .map(|(bytes, count)| (PyBytes::new(py, bytes), count))
                .collect()
        })
    }
}
