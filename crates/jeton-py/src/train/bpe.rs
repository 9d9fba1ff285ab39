//! Training of byte-level BPE.

use std::ops::ControlFlow;

use jeton_core::error::{Error, ErrorKind};
use jeton_core::train::{self as core, BpeTrainOptions, CutConfig, TieRule};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::PretokenCounts;
use crate::door::{enter, quick};
use crate::tokenizer::Tokenizer;

/// Trains byte-level BPE.
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
    let tie_rule = match tie_rule {
        "hf" => TieRule::Hf,
        "bytes" => TieRule::Bytes,
        other => {
            return Err(PyValueError::new_err(format!(
                "tie_rule is {other:?}; expected \"hf\" or \"bytes\""
            )));
        }
    };
    let options = BpeTrainOptions {
        vocab_size,
        min_frequency,
        special_tokens: special_tokens.unwrap_or_default(),
        max_token_bytes,
        tie_rule,
    };
    let mut failed: Option<PyErr> = None;
    let trained = enter(py, |keep_going| {
        counts.with(|counts| {
            core::train_bpe(counts, &options, &mut |progress| {
                let told = on_progress.as_ref().map_or(Ok(()), |callback| {
                    Python::attach(|py| {
                        callback
                            .call1(py, (progress.n_tokens, progress.vocab_size))
                            .map(|_| ())
                    })
                });
                match told {
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                    Ok(()) if keep_going() => ControlFlow::Continue(()),
                    Ok(()) => ControlFlow::Break(()),
                }
            })
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let trained = trained?;
    let CutConfig::Steps {
        normalizer,
        pretokenizer,
    } = counts.cutter.config()
    else {
        return quick(
            py,
            Err(Error::usage(
                "byte-level BPE needs counts cut by a pattern, not by SentencePiece's lines",
            )),
        );
    };
    let tokenizer = enter(py, |_| {
        jeton_core::format::from_trained(&trained, normalizer.clone(), pretokenizer.clone())
            .map_err(|error| match error.kind() {
                ErrorKind::Format { reason, .. } => ErrorKind::Training {
                    reason: reason.clone(),
                }
                .into(),
                _ => error,
            })
    })?;
    Ok(Tokenizer::wrap(tokenizer, name))
}
