//! Text to ids by chance, and the best segmentations.

use jeton_core::error::Error;
use jeton_core::tokenizer::{Sampling, SamplingMethod, SamplingOptions};
use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::Tokenizer;
use crate::batch::{Texts, TokenBatch};
use crate::door::{SHORT_BYTES, enter, quick, threads};
use crate::error::to_python;
use crate::text::utf8;

/// One of the best segmentations of a text.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct Segmentation {
    /// Its ids.
    ids: Vec<u32>,
    /// Its score, a natural logarithm.
    score: f64,
}

/// A seed; one that no stream has is an error, never wrapped around.
fn seed_of(seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    seed.extract().map_err(|error| {
        if !seed.is_instance_of::<PyInt>() {
            return error;
        }
        let reason = format!("seed is {seed}; expected 0 to 2**64 - 1");
        to_python(seed.py(), &Error::usage(reason))
    })
}

/// How many are asked for; a number that is none is left to the core to refuse.
fn size_of(n: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    n.extract().map_err(|error| {
        if !n.is_instance_of::<PyInt>() {
            return error;
        }
        let reason = format!("{name} is {n}; expected 1 or more");
        to_python(n.py(), &Error::usage(reason))
    })
}

impl Tokenizer {
    fn how(
        &self,
        py: Python<'_>,
        method: Option<&str>,
        dropout: Option<f64>,
        alpha: Option<f64>,
        nbest: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Sampling> {
        let method = method
            .map(|name| {
                let all = SamplingMethod::ALL;
                let known = all.iter().find(|method| method.name() == name);
                known.copied().ok_or_else(|| {
                    let names = all.map(|method| format!("{:?}", method.name()));
                    let reason = format!("method is {name:?}; expected {}", names.join(", "));
                    to_python(py, &Error::usage(reason))
                })
            })
            .transpose()?;
        let nbest = nbest.map(|nbest| size_of(nbest, "nbest")).transpose()?;
        let options = SamplingOptions {
            method,
            dropout,
            alpha,
            nbest,
        };
        quick(py, self.core.sampling(options))
    }
}

#[pymethods]
#[allow(clippy::too_many_arguments)] // keywords in Python
impl Tokenizer {
    /// Returns the ids of a drawn segmentation, the same for the same seed (0 to 2**64 - 1).
    ///
    /// ``sampling_methods`` lists the methods of the tokenizer; the first is used unless a
    /// parameter belongs to another.
    ///
    /// ``"dropout"``: BPE leaves merges out with the probability ``dropout`` (0 to 1; the file's
    /// own, or else 0.1), for good in SentencePiece models, with another chance in all others.
    /// ``"uniform"``: all segmentations of a pretoken into tokens alike; a pretoken that has none
    /// is encoded. ``"unigram"``: by probability to the power of ``alpha`` (0 or more; else 1).
    /// ``"nbest"``: the same among the ``nbest`` best (1 to 1024) of each pretoken, or of the text
    /// in a SentencePiece model.
    ///
    /// Raises:
    ///     UsageError: The tokenizer does not have the method, or a parameter is out of range.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> ids = tok.sample("Hello there", seed=1, dropout=0.5)
    ///     >>> tok.decode(ids)
    ///     'Hello there'
    ///     >>> tok.sample("Hello there", seed=1, dropout=0.5) == ids
    ///     True
    #[pyo3(signature = (
        text, *, seed, method=None, dropout=None, alpha=None, nbest=None, add_special_tokens=false,
        allow_special=None
    ))]
    fn sample(
        &self,
        text: &Bound<'_, PyAny>,
        seed: &Bound<'_, PyAny>,
        method: Option<&str>,
        dropout: Option<f64>,
        alpha: Option<f64>,
        nbest: Option<&Bound<'_, PyAny>>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<u32>> {
        let py = text.py();
        let draw = (seed_of(seed)?, 0);
        let how = self.how(py, method, dropout, alpha, nbest)?;
        let allow = self.allow(allow_special)?;
        let text = utf8(text)?;
        let mut ids = Vec::new();
        let mut sample = || {
            self.core
                .sample_into(text, draw, how, &allow, add_special_tokens, &mut ids)
        };
        if text.len() <= SHORT_BYTES && how != Sampling::Uniform {
            quick(py, sample())?;
        } else {
            enter(py, |_| sample())?;
        }
        Ok(ids)
    }

    /// Returns a drawn segmentation of each text; arguments as of ``sample``.
    ///
    /// The draw of a text depends on the seed, its place in the batch and the text alone. The first
    /// text gets the draw of ``sample``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> batch = tok.sample_batch(["Hello there", "Hello there"], seed=1, dropout=0.5)
    ///     >>> batch[0].tolist() == tok.sample("Hello there", seed=1, dropout=0.5)
    ///     True
    #[pyo3(signature = (
        texts, *, seed, method=None, dropout=None, alpha=None, nbest=None,
        add_special_tokens=false, allow_special=None, num_threads=None
    ))]
    fn sample_batch(
        &self,
        texts: &Bound<'_, PyAny>,
        seed: &Bound<'_, PyAny>,
        method: Option<&str>,
        dropout: Option<f64>,
        alpha: Option<f64>,
        nbest: Option<&Bound<'_, PyAny>>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        num_threads: Option<isize>,
    ) -> PyResult<TokenBatch> {
        let py = texts.py();
        let seed = seed_of(seed)?;
        let how = self.how(py, method, dropout, alpha, nbest)?;
        let threads = threads(num_threads)?;
        let allow = self.allow(allow_special)?;
        let held = Texts::new(texts)?;
        let documents = held.get();
        let drawn = enter(py, |keep_going| {
            self.core.sample_batch(
                documents,
                seed,
                how,
                &allow,
                add_special_tokens,
                threads,
                keep_going,
            )
        })?;
        Ok(TokenBatch::new(drawn, self.integers(py)))
    }

    /// Values of ``method`` that ``sample`` takes, the usual one first.
    ///
    /// Empty where every text has one segmentation.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.sampling_methods
    ///     ['dropout', 'uniform']
    #[getter]
    fn sampling_methods(&self) -> Vec<&'static str> {
        let methods = self.core.sampling_methods().iter();
        methods.map(|method| method.name()).collect()
    }

    /// Returns the ``n`` best segmentations (1 to 1024) of a text, best first.
    ///
    /// The whole text counts: where a pre-tokenizer cuts it, all combinations of the pretokens'
    /// segmentations are compared, and scores are sums. A SentencePiece model's list equals
    /// that of ``sentencepiece``.
    ///
    /// Raises:
    ///     UsageError: The model is no Unigram model.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> texts = ["low lower lowest", "new newer newest"] * 20
    ///     >>> small = jeton.train(iter(texts), algorithm="unigram", vocab_size=18)
    ///     >>> best = small.nbest("lower", 2)
    ///     >>> best[0].ids == small.encode("lower"), best[0].score >= best[1].score
    ///     (True, True)
    fn nbest(&self, text: &Bound<'_, PyAny>, n: &Bound<'_, PyAny>) -> PyResult<Vec<Segmentation>> {
        let n = size_of(n, "n")?;
        let py = text.py();
        let text = utf8(text)?;
        let best = enter(py, |_| self.core.nbest(text, n))?;
        let named = best
            .into_iter()
            .map(|(ids, score)| Segmentation { ids, score });
        Ok(named.collect())
    }
}
