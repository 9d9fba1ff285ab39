//! Continuing a tokenizer.

use jeton_train::{self as core};
use pyo3::prelude::*;

use super::PretokenCounts;
use super::options::BpeOptions;
use crate::door::quick;
use crate::tokenizer::Tokenizer;

/// The result of ``continue_bpe``.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct ContinuedBpe {
    /// The tokenizer with the new tokens.
    tokenizer: Py<Tokenizer>,
    /// The new tokens, by id.
    new_tokens: Vec<Py<LearnedToken>>,
    /// Tokens of the text with the old tokenizer.
    n_tokens_before: u64,
    /// Tokens of the text with the new tokenizer.
    n_tokens_after: u64,
}

/// A token that continuing made.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct LearnedToken {
    /// Its id.
    id: u32,
    /// The id of its left part.
    left: u32,
    /// The id of its right part.
    right: u32,
    /// Tokens saved when it was chosen.
    n_saved: u64,
    /// Uses in the text in the end.
    n_uses: u64,
    /// Old tokens that one use stands for.
    n_old_tokens: u32,
}

/// Empty counts that cut text as a tokenizer does, for ``continue_bpe``.
#[pyfunction]
pub(crate) fn counts_for(py: Python<'_>, base: &Tokenizer) -> PyResult<PretokenCounts> {
    PretokenCounts::of(py, quick(py, core::cutting_of(base.core()))?)
}

/// Continues byte-level BPE on counts that ``counts_for`` cut.
#[pyfunction]
#[pyo3(signature = (counts, *, base, options, on_progress=None, name=None))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn continue_bpe(
    py: Python<'_>,
    counts: &PretokenCounts,
    base: &Tokenizer,
    options: &BpeOptions,
    on_progress: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<ContinuedBpe> {
    let cutting = quick(py, core::cutting_of(base.core()))?;
    if &cutting != counts.cutter.config() {
        return Err(pyo3::exceptions::PyValueError::new_err(
            "the counts are not cut as the tokenizer to continue cuts text; take those of counts_for",
        ));
    }
    let base = base.core();
    let continued = options.run(py, on_progress.as_ref(), |tell| {
        counts.with(|counts| core::continue_bpe(counts, base, &options.core, tell))
    })?;
    let new_tokens = continued
        .new_tokens
        .iter()
        .map(|new| {
            let token = LearnedToken {
                id: new.id,
                left: new.left,
                right: new.right,
                n_saved: new.n_saved,
                n_uses: new.n_uses,
                n_old_tokens: new.n_old_tokens,
            };
            Py::new(py, token)
        })
        .collect::<PyResult<_>>()?;
    Ok(ContinuedBpe {
        new_tokens,
        n_tokens_before: continued.n_tokens_before,
        n_tokens_after: continued.n_tokens_after,
        tokenizer: Py::new(py, Tokenizer::wrap(continued.tokenizer, name))?,
    })
}
