//! Training besides byte-level BPE. Options come as JSON, checked by the core: Python's dataclasses
//! have the same fields.

use std::ops::ControlFlow;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::normalize::NormalizerConfig;
use jeton_core::normalize::bert::BertConfig;
use jeton_core::pretokenize::components::bert_words;
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use jeton_train::{
    self as core, CharacterTrainOptions, CutConfig, PieceTrainOptions, Progress, SpmTrainOptions,
    train_on_characters,
};
use pyo3::prelude::*;

use super::PretokenCounts;
use crate::door::{enter, quick, threads};
use crate::tokenizer::Tokenizer;

#[pymethods]
impl PretokenCounts {
    /// Counts that cut text as BERT does.
    #[staticmethod]
    #[pyo3(signature = (*, lowercase, strip_accents, clean_text, handle_chinese_chars))]
    #[allow(clippy::fn_params_excessive_bools)] // keyword-only
    fn bert(
        py: Python<'_>,
        lowercase: bool,
        strip_accents: bool,
        clean_text: bool,
        handle_chinese_chars: bool,
    ) -> PyResult<Self> {
        let config = BertConfig {
            clean_text,
            handle_chinese_chars,
            strip_accents,
            lowercase,
        };
        let config = CutConfig::Steps {
            normalizer: vec![NormalizerConfig::Bert(config)],
            pretokenizer: bert_words().into(),
        };
        Self::of(py, config)
    }
}

/// Runs training, which tells a Python function how far it is and stops when that raises or Ctrl-C
/// was pressed.
fn run<T: Send>(
    py: Python<'_>,
    on_progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut failed: Option<PyErr> = None;
    let outcome = enter(py, |keep_going| {
        work(&mut |progress| {
            let told = on_progress.map_or(Ok(()), |callback| {
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
    });
    match failed {
        Some(error) => Err(error),
        None => outcome,
    }
}

/// Turns a failure to build the tokenizer into an error of training: no file is at fault.
fn of_training(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Format { reason, .. } => Error::training(reason.clone()),
        _ => error,
    }
}

/// Train a SentencePiece model; options as JSON. The threads do not change it. Ctrl-C works.
#[pyfunction]
#[pyo3(signature = (counts, options, *, num_threads=None, on_progress=None, name=None))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn train_sentencepiece(
    py: Python<'_>,
    counts: &PretokenCounts,
    options: &str,
    num_threads: Option<isize>,
    on_progress: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<Tokenizer> {
    let options = quick(py, SpmTrainOptions::from_json(options))?;
    let threads = threads(num_threads)?;
    let CutConfig::Sentences(sentences) = counts.cutter.config() else {
        return quick(
            py,
            Err(Error::usage(
                "a SentencePiece model needs counts cut by SentencePiece's lines, not by a pattern",
            )),
        );
    };
    let model = run(py, on_progress.as_ref(), |tell| {
        counts.with(|counts| core::train_sentencepiece(counts, sentences, &options, threads, tell))
    })?;
    let tokenizer = enter(py, |_| {
        CoreTokenizer::from_sentencepiece(model).map_err(of_training)
    })?;
    Ok(Tokenizer::wrap(tokenizer, name))
}

/// Train BPE on characters, WordPiece, whole words or characters; options as JSON. Ctrl-C works.
#[pyfunction]
#[pyo3(signature = (counts, options, *, on_progress=None, name=None))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn train_characters(
    py: Python<'_>,
    counts: &PretokenCounts,
    options: &str,
    on_progress: Option<Py<PyAny>>,
    name: Option<String>,
) -> PyResult<Tokenizer> {
    let options = quick(py, CharacterTrainOptions::from_json(options))?;
    let CutConfig::Steps {
        normalizer,
        pretokenizer,
    } = counts.cutter.config()
    else {
        return quick(
            py,
            Err(Error::usage(
                "this algorithm needs counts cut by a pre-tokenizer, not by SentencePiece's lines",
            )),
        );
    };
    let (trained, kind) = run(py, on_progress.as_ref(), |tell| {
        counts.with(|counts| train_on_characters(counts, &options, tell))
    })?;
    let tokenizer = enter(py, |_| {
        let (normalizer, pretokenizer) = (normalizer.clone(), pretokenizer.clone());
        let tokenizer = trained.to_tokenizer(kind, &options.around, normalizer, pretokenizer);
        tokenizer.map_err(of_training)
    })?;
    Ok(Tokenizer::wrap(tokenizer, name))
}

/// Learn the pieces of a Unigram model, with log probabilities, from counts cut in any way. Ctrl-C
/// works.
#[pyfunction]
#[pyo3(signature = (counts, options, *, num_threads=None, on_progress=None))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn train_pieces(
    py: Python<'_>,
    counts: &PretokenCounts,
    options: &str,
    num_threads: Option<isize>,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<Vec<(String, f64)>> {
    let options = quick(py, PieceTrainOptions::from_json(options))?;
    let threads = threads(num_threads)?;
    let trained = run(py, on_progress.as_ref(), |tell| {
        counts.with(|counts| core::train_pieces(counts, &options, threads, tell))
    })?;
    Ok(trained.pieces)
}
