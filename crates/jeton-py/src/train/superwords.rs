//! Training of superword BPE.

use jeton_core::error::ErrorKind;
use jeton_core::pretokenize::{PreTokenizer, StepConfig};
use jeton_train::{self as core, StopReason, SuperwordOptions};
use pyo3::prelude::*;

use super::PretokenCounts;
use super::bpe::{pairs_of, tell_interrupted};
use super::options::{BpeOptions, steps_of, tokenizer_of};
use crate::door::{quick, threads};
use crate::recipe::Recipe;
use crate::tokenizer::Tokenizer;

/// The result of ``train_superwords``.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct SuperwordBpe {
    /// The tokenizer.
    tokenizer: Py<Tokenizer>,
    /// Merges within words; the others join words.
    n_word_merges: usize,
}

/// Trains superword BPE on counts of phrases.
#[pyfunction]
#[pyo3(signature = (
    counts, *, options, word_pattern, transition_size, max_words, whole_words=false, num_threads=None,
    on_progress=None, on_interrupt=None, name=None,
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // keyword-only, extracted from Python
pub(crate) fn train_superwords(
    py: Python<'_>,
    counts: &PretokenCounts,
    options: &BpeOptions,
    word_pattern: &str,
    transition_size: usize,
    max_words: usize,
    whole_words: bool,
    num_threads: Option<isize>,
    on_progress: Option<Py<PyAny>>,
    on_interrupt: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<SuperwordBpe> {
    quick(py, steps_of(counts))?;
    let threads = threads(num_threads)?;
    let split = Recipe::new(word_pattern, None)?.split();
    let words = quick(py, PreTokenizer::new(&[StepConfig::Split(split)]))?;
    let split = |text: &str, each: &mut dyn FnMut(&[u8])| {
        words.split(text, |start, end| {
            each(&text.as_bytes()[start..end]);
            Ok(())
        })
    };
    let superwords = SuperwordOptions {
        bpe: options.core.clone(),
        transition_size,
        max_words,
        whole_words,
    };
    let mut so_far = None;
    let trained = options.run(py, on_progress.as_ref(), |tell| {
        let trained = counts.with(|counts| {
            core::train_superwords_until(counts, &split, &superwords, threads, tell)
        })?;
        if trained.bpe.stop == StopReason::Interrupted {
            so_far = Some(pairs_of(&trained.bpe.merges));
            return Err(ErrorKind::Interrupted.into());
        }
        Ok(trained)
    });
    tell_interrupted(py, so_far, on_interrupt.as_ref())?;
    let trained = trained?;
    let tokenizer = tokenizer_of(py, &trained.bpe, counts, name)?;
    Ok(SuperwordBpe {
        tokenizer: Py::new(py, tokenizer)?,
        n_word_merges: trained.n_word_merges,
    })
}
