//! Counts of pretokens.

use std::sync::{Mutex, PoisonError};

use jeton_core::pretokenize::StepConfig;
use jeton_core::train::{self as core, CutConfig, Cutter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::TextBatch;
use crate::door::{enter, quick, threads};
use crate::recipe::Recipe;

/// Weighted pretokens: what every trainer starts from.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct PretokenCounts {
    pub(super) cutter: Cutter,
    counts: Mutex<core::PretokenCounts>,
}

impl PretokenCounts {
    fn of(py: Python<'_>, config: CutConfig) -> PyResult<Self> {
        Ok(Self {
            cutter: quick(py, Cutter::new(config))?,
            counts: Mutex::default(),
        })
    }

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
        let split = recipe.split();
        let config = CutConfig::Steps {
            normalizer: recipe.normalizer,
            pretokenizer: vec![StepConfig::Split(split)],
        };
        Self::of(py, config)
    }

    #[staticmethod]
    fn cut_by(py: Python<'_>, config: &str) -> PyResult<Self> {
        Self::of(py, quick(py, CutConfig::from_json(config))?)
    }

    #[getter]
    fn cutting(&self, py: Python<'_>) -> PyResult<String> {
        quick(py, self.cutter.config().to_json())
    }

    #[pyo3(signature = (batch, *, num_threads=None))]
    fn add(&self, py: Python<'_>, batch: &TextBatch, num_threads: Option<isize>) -> PyResult<()> {
        let threads = threads(num_threads)?;
        let split = |text: &str, each: &mut dyn FnMut(&[u8])| self.cutter.cut(text, each);
        enter(py, |_| {
            self.with(|counts| counts.count_batch(batch.0.as_ref(), &split, threads))
        })
    }

    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        if self.cutter.config() != other.cutter.config() {
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
