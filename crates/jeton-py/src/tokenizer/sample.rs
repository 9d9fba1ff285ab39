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

    #[pyo3(signature = (
        texts, *, seed, method=None, dropout=None, alpha=None, nbest=None, num_threads=None,
        add_special_tokens=false, allow_special=None
    ))]
    fn sample_batch(
        &self,
        texts: &Bound<'_, PyAny>,
        seed: &Bound<'_, PyAny>,
        method: Option<&str>,
        dropout: Option<f64>,
        alpha: Option<f64>,
        nbest: Option<&Bound<'_, PyAny>>,
        num_threads: Option<isize>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
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

    #[getter]
    fn sampling_methods(&self) -> Vec<&'static str> {
        let methods = self.core.sampling_methods().iter();
        methods.map(|method| method.name()).collect()
    }

    fn nbest(
        &self,
        text: &Bound<'_, PyAny>,
        n: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<(Vec<u32>, f64)>> {
        let n = size_of(n, "n")?;
        let py = text.py();
        let text = utf8(text)?;
        enter(py, |_| self.core.nbest(text, n))
    }
}
