//! Training of vocabularies whose tokens are chosen after merging: without scaffolding, and for
//! fewest tokens.

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use jeton_train::{self as core, FewestOptions, TrimmedOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::PretokenCounts;
use super::options::{BpeOptions, steps_of};
use crate::door::{enter, quick, threads};
use crate::tokenizer::Tokenizer;

/// The result of ``train_trimmed_bpe``.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct TrimmedBpe {
    /// The tokenizer.
    tokenizer: Py<Tokenizer>,
    /// Bytes of the tokens taken out.
    removed: Vec<Py<PyBytes>>,
    /// Tokens that only whole pretokens become.
    n_whole_only: usize,
    /// Tokens of the text.
    n_tokens: u64,
    /// Tokens of the text with plain BPE.
    n_plain_tokens: u64,
}

/// The result of ``train_fewest_tokens``.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct FewestTokens {
    /// The tokenizer.
    tokenizer: Py<Tokenizer>,
    /// Uses of each token in the text.
    uses: Vec<u64>,
    /// Tokens of the text.
    n_tokens: u64,
}

fn of_training(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Format { reason, .. } => Error::training(reason.clone()),
        _ => error,
    }
}

fn wrapped(
    py: Python<'_>,
    name: Option<String>,
    make: impl FnOnce() -> Result<CoreTokenizer> + Send,
) -> PyResult<Tokenizer> {
    let tokenizer = enter(py, |_| make().map_err(of_training))?;
    Ok(Tokenizer::wrap(tokenizer, name))
}

/// Trains BPE without tokens that only lead to others.
///
/// ``least_use_per_mille``: a token used less often than this share, in thousandths, of the worth
/// of a place is taken out.
#[pyfunction]
#[pyo3(signature = (
    counts, *, options, least_use_per_mille, num_threads=None, on_progress=None, name=None,
))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn train_trimmed_bpe(
    py: Python<'_>,
    counts: &PretokenCounts,
    options: &BpeOptions,
    least_use_per_mille: u64,
    num_threads: Option<isize>,
    on_progress: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<TrimmedBpe> {
    let (normalizer, pretokenizer) = quick(py, steps_of(counts))?;
    let threads = threads(num_threads)?;
    let trimmed = TrimmedOptions {
        bpe: options.core.clone(),
        least_use_per_mille,
    };
    let trained = options.run(py, on_progress.as_ref(), |tell| {
        counts.with(|counts| core::train_trimmed(counts, &trimmed, threads, tell))
    })?;
    let tokenizer = wrapped(py, name, || trained.to_tokenizer(normalizer, pretokenizer))?;
    let removed = trained
        .removed
        .iter()
        .map(|token| PyBytes::new(py, token).unbind())
        .collect();
    Ok(TrimmedBpe {
        tokenizer: Py::new(py, tokenizer)?,
        removed,
        n_whole_only: trained.n_whole_only,
        n_tokens: trained.n_tokens,
        n_plain_tokens: trained.n_plain_tokens,
    })
}

/// Trains a vocabulary with which text needs fewest tokens.
///
/// ``seed_per_mille``: candidates for each token wanted; ``shrinking_per_mille``: the share that a
/// round keeps; both in thousandths. ``min_saving``: tokens that losing any token has to cost.
#[pyfunction]
#[pyo3(signature = (
    counts, *, options, seed_per_mille, shrinking_per_mille, min_saving=0, num_threads=None,
    on_progress=None, name=None,
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // keyword-only, extracted from Python
pub(crate) fn train_fewest_tokens(
    py: Python<'_>,
    counts: &PretokenCounts,
    options: &BpeOptions,
    seed_per_mille: u64,
    shrinking_per_mille: u64,
    min_saving: u64,
    num_threads: Option<isize>,
    on_progress: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<FewestTokens> {
    let (normalizer, pretokenizer) = quick(py, steps_of(counts))?;
    let threads = threads(num_threads)?;
    let fewest = FewestOptions {
        bpe: options.core.clone(),
        seed_per_mille,
        shrinking_per_mille,
        min_saving,
    };
    let trained = options.run(py, on_progress.as_ref(), |tell| {
        counts.with(|counts| core::train_fewest(counts, &fewest, threads, tell))
    })?;
    let tokenizer = wrapped(py, name, || trained.to_tokenizer(normalizer, pretokenizer))?;
    Ok(FewestTokens {
        tokenizer: Py::new(py, tokenizer)?,
        uses: trained.uses,
        n_tokens: trained.n_tokens,
    })
}
