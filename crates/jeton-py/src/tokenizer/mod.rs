//! The tokenizer: what it is; what it does stands in files of their own.

mod cache;
mod decode;
mod encode;
mod files;
mod generation;
mod growing;
mod guarded;
mod input_options;
mod inputs;
mod pretoken;
mod ranks;
mod sample;
mod stream;

pub(crate) use generation::NoncanonicalIds;
pub(crate) use growing::{EncodeIterator, GrowingText};
pub(crate) use ranks::ReadRanks;
pub(crate) use stream::{DecodeIterator, DecodeStream};

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jeton_core::error::Error;
use jeton_core::measure;
use jeton_core::pretokenize::StepConfig;
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::OnceLockExt;
use pyo3::types::{PyBytes, PyInt, PyList, PyTuple};

use crate::batch::TextBatch;
use crate::door::{enter, quick, threads};
use crate::error::{to_python, unknown_id};
use crate::integers::{Integers, numbers};
use crate::measure::TokenStats;
use crate::sheets::Sheets;
use crate::text::utf8;

/// An immutable tokenizer.
#[pyclass(frozen, module = "jeton._core", weakref)]
pub(crate) struct Tokenizer {
    core: Arc<CoreTokenizer>,
    name: Option<String>,
    fingerprint: OnceLock<String>,
    /// Python's integers of its ids, made when a list of ids is first asked for.
    integers: Arc<OnceLock<Arc<Integers>>>,
    /// Memory of arrays.
    sheets: Arc<Sheets>,
}

impl Tokenizer {
    pub(crate) fn wrap(core: CoreTokenizer, name: Option<String>) -> Self {
        Self {
            name,
            ..Self::share(Arc::new(core))
        }
    }

    /// The tokenizer itself.
    pub(crate) fn core(&self) -> &CoreTokenizer {
        &self.core
    }

    /// A tokenizer without a name that somebody else has too.
    pub(crate) fn share(core: Arc<CoreTokenizer>) -> Self {
        Self {
            core,
            name: None,
            fingerprint: OnceLock::new(),
            integers: Arc::default(),
            sheets: Arc::default(),
        }
    }

    fn integers(&self, py: Python<'_>) -> &Arc<Integers> {
        let make = || Arc::new(Integers::new(py, self.core.vocab().size()));
        self.integers.get_or_init_py_attached(py, make)
    }

    /// Ids from a list or an integer array; what is no id of any tokenizer is an error, never wrapped around.
    fn collect_ids(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        if let Ok(list) = ids.cast_exact::<PyList>() {
            if let Some(numbers) = numbers(list) {
                return Ok(numbers);
            }
        } else if let Ok(array) = ids.extract::<PyReadonlyArray1<'_, u32>>() {
            return Ok(array.as_array().to_vec());
        }
        let numbers = match ids.cast::<PyUntypedArray>() {
            Ok(array) if array.ndim() != 1 => {
                return Err(PyTypeError::new_err(format!(
                    "ids must have one dimension, not {}",
                    array.ndim()
                )));
            }
            Ok(_) => ids.call_method0("tolist")?,
            Err(_) => ids.clone(),
        };
        let vocab_size = self.core.vocab().size();
        numbers
            .try_iter()?
            .map(|id| {
                let id = id?;
                id.extract::<u32>().map_err(|_| {
                    if !id.is_instance_of::<PyInt>() {
                        return PyTypeError::new_err(format!(
                            "an id must be an integer, not {id:?}"
                        ));
                    }
                    match id.lt(0) {
                        Ok(true) => {
                            let reason = format!(
                                "id {id:?} is negative; ids are 0 or more\n\
                                 hint: -100 marks labels that a loss leaves out; leave them out here, too"
                            );
                            to_python(ids.py(), &Error::usage(reason))
                        }
                        _ => unknown_id(&id, vocab_size),
                    }
                })
            })
            .collect()
    }
}

#[pymethods]
impl Tokenizer {
    fn normalize(&self, text: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(quick(text.py(), self.core.normalize(utf8(text)?))?.into_owned())
    }

    fn pretokenize(&self, text: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let normalized = quick(text.py(), self.core.normalize(utf8(text)?))?;
        let pretokens = quick(text.py(), self.core.pretokenize(&normalized))?;
        Ok(pretokens
            .iter()
            .map(|pretoken| String::from_utf8_lossy(pretoken).into_owned())
            .collect())
    }

    #[pyo3(signature = (batch, *, num_threads=None, round_trip=true, documents=false, words=false))]
    fn measure(
        &self,
        py: Python<'_>,
        batch: &TextBatch,
        num_threads: Option<isize>,
        round_trip: bool,
        documents: bool,
        words: bool,
    ) -> PyResult<TokenStats> {
        let threads = threads(num_threads)?;
        let counted = measure::Counted {
            round_trip,
            documents,
            words,
        };
        let stats = enter(py, |keep_going| {
            measure::measure(&self.core, batch.0.as_ref(), counted, threads, keep_going)
        })?;
        Ok(TokenStats(stats))
    }

    fn id_to_bytes<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ids = self.collect_ids(PyTuple::new(py, [id])?.as_any())?;
        let vocab = self.core.vocab();
        // One id was given, so there is one.
        let bytes = ids.first().and_then(|&id| vocab.id_to_bytes(id));
        bytes
            .map(|bytes| PyBytes::new(py, bytes))
            .ok_or_else(|| unknown_id(id, vocab.size()))
    }

    fn bytes_to_id(&self, token_bytes: &[u8]) -> Option<u32> {
        self.core.vocab().bytes_to_id(token_bytes)
    }

    fn token_lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        let vocab = self.core.vocab();
        let lengths: Vec<u32> = (0..vocab.size())
            .map(|id| vocab.id_to_bytes(id).map_or(0, |bytes| bytes.len() as u32))
            .collect();
        lengths.into_pyarray(py)
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    #[getter]
    fn vocab_size(&self) -> u32 {
        self.core.vocab().size()
    }

    #[getter]
    fn n_tokens(&self) -> u32 {
        self.core.vocab().n_tokens()
    }

    #[getter]
    fn unknown_id(&self) -> Option<u32> {
        self.core.unknown()
    }

    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        if let Some(known) = self.fingerprint.get() {
            return Ok(known.clone());
        }
        let made = enter(py, |_| self.core.to_config().fingerprint())?;
        Ok(self.fingerprint.get_or_init(|| made).clone())
    }

    #[getter]
    fn special_tokens(&self) -> BTreeMap<String, u32> {
        let tokens = self.core.added_tokens().iter();
        tokens
            .filter(|token| token.special)
            .map(|token| (token.content.clone(), token.id))
            .collect()
    }

    #[getter]
    fn added_tokens(&self) -> Vec<SpecialToken> {
        let tokens = self.core.added_tokens().iter();
        tokens
            .map(|token| SpecialToken {
                content: token.content.clone(),
                id: token.id,
                special: token.special,
            })
            .collect()
    }

    #[getter]
    fn algorithm(&self) -> &'static str {
        self.core.algorithm()
    }

    #[getter]
    fn split_pattern(&self) -> Option<&str> {
        match self.core.pretokenizer_steps() {
            [StepConfig::Split(only)] => Some(only.pattern.as_str()),
            _ => None,
        }
    }

    #[getter]
    fn reference(&self) -> &'static str {
        self.core.reference().name()
    }

    fn with_name(&self, name: String) -> Self {
        Self {
            core: Arc::clone(&self.core),
            name: Some(name),
            fingerprint: self.fingerprint.clone(),
            integers: Arc::clone(&self.integers),
            sheets: Arc::clone(&self.sheets),
        }
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        Ok(Arc::ptr_eq(&self.core, &other.core)
            || self.fingerprint(py)? == other.fingerprint(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let fingerprint = self.fingerprint(py)?;
        Ok(u64::from_str_radix(fingerprint.get(..16).unwrap_or("0"), 16).unwrap_or(0))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fingerprint = self.fingerprint(py)?;
        let short = fingerprint.get(..12).unwrap_or_default();
        let name = self.name.as_deref().unwrap_or("unnamed");
        Ok(format!(
            "<jeton.Tokenizer {name}: {}, {} ids, {short}>",
            self.core.algorithm(),
            self.core.vocab().size()
        ))
    }
}

/// A special or added token.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct SpecialToken {
    content: String,
    id: u32,
    special: bool,
}

#[pymethods]
impl SpecialToken {
    fn __repr__(&self) -> String {
        let kind = if self.special { "special" } else { "added" };
        format!(
            "<jeton.SpecialToken {:?}: id {}, {kind}>",
            self.content, self.id
        )
    }
}
