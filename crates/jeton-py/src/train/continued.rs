//! Continuing a tokenizer.

use jeton_train::{self as core};
use pyo3::prelude::*;

use super::PretokenCounts;
use super::options::BpeOptions;
use crate::door::quick;
use crate::tokenizer::Tokenizer;

/// (id, left, right, tokens saved when it was chosen, uses in the end, old tokens in one use).
type NewToken = (u32, u32, u32, u64, u64, u32);

/// Empty counts that cut text as a tokenizer does, for ``continue_bpe``.
#[pyfunction]
pub(crate) fn counts_for(py: Python<'_>, base: &Tokenizer) -> PyResult<PretokenCounts> {
    PretokenCounts::of(py, quick(py, core::cutting_of(base.core()))?)
}

/// Continue byte-level BPE. Returns the new tokenizer; of each new token (id, left, right, tokens saved
/// when it was chosen, uses in the end, old tokens in one use); tokens of the text before and after.
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
) -> PyResult<(Tokenizer, Vec<NewToken>, u64, u64)> {
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
            (
                new.id,
                new.left,
                new.right,
                new.n_saved,
                new.n_uses,
                new.n_old_tokens,
            )
        })
        .collect();
    let (before, after) = (continued.n_tokens_before, continued.n_tokens_after);
    Ok((
        Tokenizer::wrap(continued.tokenizer, name),
        new_tokens,
        before,
        after,
    ))
}
