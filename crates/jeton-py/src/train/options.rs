//! Parts that the trainers of merges share: options, and progress.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_train::{BpeTrainOptions, CutConfig, MergePredicate, Progress, TieRule, TrainedBpe};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::PretokenCounts;
use crate::door::enter;
use crate::tokenizer::Tokenizer;

/// The first error of a function of the user's, which the core cannot carry.
type Failed = Arc<Mutex<Option<PyErr>>>;

/// Options of training byte-level BPE and what is made of it. ``forced_tokens`` are completed at
/// the end; ``forbidden_tokens`` are never made; ``may_merge(left, right)`` is asked once for each
/// pair that is the best; ``max_alphabet``: most characters learned from; ``resume``: merges, in
/// order, of a run with the same counts and options that was interrupted.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct BpeOptions {
    pub(super) core: BpeTrainOptions,
    failed: Failed,
}

#[pymethods]
impl BpeOptions {
    #[new]
    #[pyo3(signature = (
        *, vocab_size, min_frequency=1, special_tokens=None, max_token_bytes=None, tie_rule="hf",
        forced_tokens=None, forbidden_tokens=None, may_merge=None, max_alphabet=None, resume=None,
    ))]
    #[allow(clippy::too_many_arguments)] // keyword-only
    fn new(
        vocab_size: usize,
        min_frequency: u64,
        special_tokens: Option<Vec<String>>,
        max_token_bytes: Option<usize>,
        tie_rule: &str,
        forced_tokens: Option<Vec<Vec<u8>>>,
        forbidden_tokens: Option<Vec<Vec<u8>>>,
        may_merge: Option<Py<PyAny>>,
        max_alphabet: Option<usize>,
        resume: Option<Vec<(u32, u32)>>,
    ) -> PyResult<Self> {
        let failed = Failed::default();
        Ok(Self {
            core: BpeTrainOptions {
                vocab_size,
                min_frequency,
                special_tokens: special_tokens.unwrap_or_default(),
                max_token_bytes,
                tie_rule: parse_tie_rule(tie_rule)?,
                forced_tokens: forced_tokens.unwrap_or_default(),
                forbidden_tokens: forbidden_tokens.unwrap_or_default(),
                may_merge: may_merge.map(|function| predicate(function, Arc::clone(&failed))),
                max_alphabet,
                resume: resume.unwrap_or_default(),
            },
            failed,
        })
    }
}

pub(super) fn parse_tie_rule(name: &str) -> PyResult<TieRule> {
    match name {
        "hf" => Ok(TieRule::Hf),
        "bytes" => Ok(TieRule::Bytes),
        "sentencepiece" => Ok(TieRule::SentencePiece),
        other => Err(PyValueError::new_err(format!(
            "tie_rule is {other:?}; expected \"hf\", \"bytes\" or \"sentencepiece\""
        ))),
    }
}

fn predicate(function: Py<PyAny>, failed: Failed) -> MergePredicate {
    MergePredicate(Arc::new(move |left, right| {
        let answer = Python::attach(|py| {
            let pair = (PyBytes::new(py, left), PyBytes::new(py, right));
            function.call1(py, pair)?.bind(py).is_truthy()
        });
        answer.unwrap_or_else(|error| {
            keep(&failed, error);
            false
        })
    }))
}

fn keep(failed: &Failed, error: PyErr) {
    failed
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert(error);
}

impl BpeOptions {
    /// Options without what only their own class takes.
    pub(super) fn plain(core: BpeTrainOptions) -> Self {
        Self {
            core,
            failed: Failed::default(),
        }
    }

    /// Runs training: `on_progress` is told (done, total), Ctrl-C ends it, and so does an error of
    /// one of the user's functions, which is raised then.
    pub(super) fn run<T: Send>(
        &self,
        py: Python<'_>,
        on_progress: Option<&Py<PyAny>>,
        train: impl FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let failed = &self.failed;
        let has_failed = || {
            let failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.is_some()
        };
        let result = enter(py, |keep_going| {
            train(&mut |progress| {
                if let Some(function) = on_progress {
                    let told = Python::attach(|py| {
                        function.call1(py, (progress.n_tokens, progress.vocab_size))
                    });
                    if let Err(error) = told {
                        keep(failed, error);
                    }
                }
                if has_failed() || !keep_going() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
        });
        let error = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(result, Err)
    }
}

/// A tokenizer from what was learned from these counts.
pub(super) fn tokenizer_of(
    py: Python<'_>,
    trained: &TrainedBpe,
    counts: &PretokenCounts,
    name: Option<String>,
) -> PyResult<Tokenizer> {
    let tokenizer = enter(py, |_| {
        let (normalizer, pretokenizer) = steps_of(counts)?;
        let tokenizer = trained.to_tokenizer(normalizer, pretokenizer);
        tokenizer.map_err(|error| match error.kind() {
            ErrorKind::Format { reason, .. } => ErrorKind::Training {
                reason: reason.clone(),
            }
            .into(),
            _ => error,
        })
    })?;
    Ok(Tokenizer::wrap(tokenizer, name))
}

type Steps = (
    Vec<jeton_core::normalize::NormalizerConfig>,
    Vec<jeton_core::pretokenize::StepConfig>,
);

/// Returns the steps before the model of a tokenizer that learns from these counts.
pub(super) fn steps_of(counts: &PretokenCounts) -> Result<Steps> {
    match counts.cutter.config() {
        CutConfig::Steps {
            normalizer,
            pretokenizer,
        } => Ok((normalizer.clone(), pretokenizer.clone())),
        CutConfig::Sentences(_) => Err(Error::usage(
            "byte-level BPE needs counts cut by a pattern, not by SentencePiece's lines",
        )),
    }
}
