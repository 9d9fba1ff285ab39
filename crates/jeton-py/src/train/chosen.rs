//! Training of vocabularies whose tokens are chosen after merging: without scaffolding, and for fewest tokens.

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use jeton_train::{self as core, FewestOptions, TrimmedOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::PretokenCounts;
use super::options::{BpeOptions, steps_of};
use crate::door::{enter, quick, threads};
use crate::tokenizer::Tokenizer;

/// (tokenizer, tokens taken out, tokens that only whole pretokens become, tokens of the text, the same with plain BPE).
type Trimmed<'py> = (Tokenizer, Vec<Bound<'py, PyBytes>>, usize, u64, u64);

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

/// Train BPE without tokens that only lead to others: those used less often than this share, in
/// thousandths, of what a place is worth. Also returns the tokens taken out, how many only whole
/// pretokens become, tokens of the text, and the same with plain BPE.
#[pyfunction]
#[pyo3(signature = (
    counts, *, options, least_use_per_mille, num_threads=None, on_progress=None, name=None,
))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn train_trimmed_bpe<'py>(
    py: Python<'py>,
    counts: &PretokenCounts,
    options: &BpeOptions,
    least_use_per_mille: u64,
    num_threads: Option<isize>,
    on_progress: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<Trimmed<'py>> {
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
        .map(|token| PyBytes::new(py, token))
        .collect();
    Ok((
        tokenizer,
        removed,
        trained.n_whole_only,
        trained.n_tokens,
        trained.n_plain_tokens,
    ))
}

/// Train a vocabulary with which text needs fewest tokens. In thousandths: candidates for each
/// token wanted, and the share that a round keeps. ``min_saving``: tokens that losing any has to
/// cost. Also returns how often each is used, and tokens of the text.
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
) -> PyResult<(Tokenizer, Vec<u64>, u64)> {
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
    Ok((tokenizer, trained.uses, trained.n_tokens))
}
