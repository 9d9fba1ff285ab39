//! Training of byte-level BPE.

use jeton_core::error::ErrorKind;
use jeton_train::{self as core, BpeTrainOptions, StopReason};
use pyo3::prelude::*;

use super::PretokenCounts;
use super::options::{BpeOptions, parse_tie_rule, steps_of, tokenizer_of};
use crate::door::quick;
use crate::tokenizer::Tokenizer;

/// Train byte-level BPE. ``on_progress(done, total)`` is called now and then; Ctrl-C works.
#[pyfunction]
#[pyo3(signature = (
    counts, *, vocab_size, min_frequency=1, special_tokens=None, max_token_bytes=None, tie_rule="hf",
    on_progress=None, name=None,
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // keyword-only, extracted from Python
pub(crate) fn train_bpe(
    py: Python<'_>,
    counts: &PretokenCounts,
    vocab_size: usize,
    min_frequency: u64,
    special_tokens: Option<Vec<String>>,
    max_token_bytes: Option<usize>,
    tie_rule: &str,
    on_progress: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<Tokenizer> {
    let options = BpeOptions::plain(BpeTrainOptions {
        vocab_size,
        min_frequency,
        special_tokens: special_tokens.unwrap_or_default(),
        max_token_bytes,
        tie_rule: parse_tie_rule(tie_rule)?,
        ..BpeTrainOptions::default()
    });
    train_bpe_with(py, counts, &options, on_progress, None, name)
}

/// Train byte-level BPE with all its options. A run that Ctrl-C or ``on_progress`` ends tells
/// ``on_interrupt`` its merges so far before it raises: ``resume`` of the next.
#[pyfunction]
#[pyo3(signature = (counts, *, options, on_progress=None, on_interrupt=None, name=None))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn train_bpe_with(
    py: Python<'_>,
    counts: &PretokenCounts,
    options: &BpeOptions,
    on_progress: Option<Py<PyAny>>,
    on_interrupt: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<Tokenizer> {
    quick(py, steps_of(counts))?;
    let mut so_far = None;
    let trained = options.run(py, on_progress.as_ref(), |tell| {
        if let Some(max_memory) = counts.memory_to_stream_in()? {
            // Merges of a run that had more memory: the same come again.
            let bounded = BpeTrainOptions {
                resume: Vec::new(),
                ..options.core.clone()
            };
            return counts.stream(|source| {
                let learned = core::train_bpe_bounded(source, &bounded, max_memory, tell)?;
                Ok(learned.0)
            });
        }
        let trained = counts.with(|counts| core::train_bpe_until(counts, &options.core, tell))?;
        if trained.stop == StopReason::Interrupted {
            so_far = Some(pairs_of(&trained.merges));
            return Err(ErrorKind::Interrupted.into());
        }
        Ok(trained)
    });
    tell_interrupted(py, so_far, on_interrupt.as_ref())?;
    tokenizer_of(py, &trained?, counts, name)
}

/// Merges without the ids that they make, which follow one another.
pub(super) fn pairs_of(merges: &[(u32, u32, u32)]) -> Vec<(u32, u32)> {
    merges
        .iter()
        .map(|&(left, right, _)| (left, right))
        .collect()
}

/// Hands out the merges of a run that was interrupted.
pub(super) fn tell_interrupted(
    py: Python<'_>,
    merges: Option<Vec<(u32, u32)>>,
    on_interrupt: Option<&Py<PyAny>>,
) -> PyResult<()> {
    if let (Some(merges), Some(function)) = (merges, on_interrupt) {
        function.call1(py, (merges,))?;
    }
    Ok(())
}
