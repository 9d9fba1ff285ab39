//! Training of parity-aware BPE.

use jeton_train::{self as core, Language, ParityOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::PretokenCounts;
use super::options::{BpeOptions, tokenizer_of};
use crate::door::quick;
use crate::tokenizer::Tokenizer;

/// The result of ``train_parity_bpe``.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct ParityBpe {
    /// The tokenizer.
    tokenizer: Py<Tokenizer>,
    /// Merges that went to each language.
    n_merges_of: Vec<usize>,
    /// Tokens of the measured text of each language.
    n_tokens_of: Vec<u64>,
}

/// (counts to learn from, counts to measure, units of content in the latter).
type Text<'py> = (
    PyRef<'py, PretokenCounts>,
    Option<PyRef<'py, PretokenCounts>>,
    u64,
);

/// Trains parity-aware BPE.
///
/// ``languages``: counts to learn from, counts to measure (None: the same), and units of content in
/// the measured ones.
#[pyfunction]
#[pyo3(signature = (
    languages, *, options, n_global_merges=0, window=0, max_in_window=1, on_progress=None, name=None,
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // keyword-only, extracted from Python
pub(crate) fn train_parity_bpe<'py>(
    py: Python<'py>,
    languages: Vec<Text<'py>>,
    options: &BpeOptions,
    n_global_merges: usize,
    window: usize,
    max_in_window: usize,
    on_progress: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<ParityBpe> {
    let Some((first, ..)) = languages.first() else {
        return Err(PyValueError::new_err("there is no language to train on"));
    };
    let all = languages
        .iter()
        .flat_map(|(train, measure, _)| std::iter::once(&**train).chain(measure.as_deref()));
    for counts in all {
        if counts.cutter.config() != first.cutter.config() {
            return Err(PyValueError::new_err(
                "the counts of all languages should be cut in the same way",
            ));
        }
    }
    let parity = ParityOptions {
        bpe: options.core.clone(),
        n_global_merges,
        window,
        max_in_window,
    };
    // Copies, so that no lock is held while Python runs: one object may be both trained on and
    // measured.
    let copy = |counts: &PretokenCounts| quick(py, counts.with(|counts| Ok(counts.clone())));
    let texts = languages
        .iter()
        .map(|(train, measure, n_units)| {
            let measure = measure.as_deref().map(copy).transpose()?;
            Ok((copy(train)?, measure, *n_units))
        })
        .collect::<PyResult<Vec<_>>>()?;
    let trained = options.run(py, on_progress.as_ref(), |tell| {
        let languages: Vec<_> = texts
            .iter()
            .map(|(train, measure, n_units)| Language {
                train,
                measure: measure.as_ref(),
                n_units: *n_units,
            })
            .collect();
        core::train_parity(&languages, &parity, tell)
    })?;
    let tokenizer = tokenizer_of(py, &trained.bpe, first, name)?;
    Ok(ParityBpe {
        tokenizer: Py::new(py, tokenizer)?,
        n_merges_of: trained.n_merges_of,
        n_tokens_of: trained.n_tokens_of,
    })
}
