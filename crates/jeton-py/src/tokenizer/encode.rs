//! Text to ids and counts.

use jeton_core::batch::DocumentBatch;
use jeton_core::special::Allow;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::Tokenizer;
use crate::batch::{Texts, TokenBatch};
use crate::door::{SHORT_BYTES, enter, quick, threads};
use crate::encoding::Encoding;
use crate::text::utf8;

impl Tokenizer {
    pub(super) fn allow(&self, allow_special: Option<&Bound<'_, PyAny>>) -> PyResult<Allow> {
        let Some(given) = allow_special else {
            return Ok(Allow::None);
        };
        if let Ok(name) = given.cast::<PyString>() {
            if name.to_str()? == "all" {
                return Ok(Allow::All);
            }
            return Err(PyTypeError::new_err(
                "allow_special must be \"all\" or an iterable of special tokens; put a single one into a set",
            ));
        }
        let names = given
            .try_iter()?
            .map(|name| name?.extract::<String>())
            .collect::<PyResult<Vec<_>>>()?;
        quick(
            given.py(),
            self.core.allow(names.iter().map(String::as_str)),
        )
    }

    fn ids(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<u32>> {
        let py = text.py();
        let allow = self.allow(allow_special)?;
        let text = utf8(text)?;
        let mut ids = Vec::new();
        let mut encode = || {
            self.core
                .encode_into(text, &allow, add_special_tokens, &mut ids)
        };
        if text.len() <= SHORT_BYTES {
            quick(py, encode())?;
        } else {
            enter(py, |_| encode())?;
        }
        Ok(ids)
    }
}

#[pymethods]
impl Tokenizer {
    #[pyo3(signature = (text, *, add_special_tokens=false, allow_special=None))]
    fn encode(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<u32>> {
        self.ids(text, add_special_tokens, allow_special)
    }

    #[pyo3(signature = (text, *, add_special_tokens=false, allow_special=None))]
    fn encode_array<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(self
            .ids(text, add_special_tokens, allow_special)?
            .into_pyarray(text.py()))
    }

    #[pyo3(signature = (texts, *, num_threads=None, add_special_tokens=false, allow_special=None))]
    fn encode_batch(
        &self,
        texts: &Bound<'_, PyAny>,
        num_threads: Option<isize>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<TokenBatch> {
        let threads = threads(num_threads)?;
        let allow = self.allow(allow_special)?;
        let held = Texts::new(texts)?;
        let batch: &DocumentBatch = held.get();
        let encoded = enter(texts.py(), |keep_going| {
            self.core.encode_batch(
                batch.as_ref(),
                &allow,
                add_special_tokens,
                threads,
                keep_going,
            )
        })?;
        Ok(encoded.into())
    }

    #[pyo3(signature = (text, *, add_special_tokens=false, allow_special=None, trim_offsets=true))]
    fn encode_with_offsets(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        trim_offsets: bool,
    ) -> PyResult<Encoding> {
        let py = text.py();
        let allow = self.allow(allow_special)?;
        let text = utf8(text)?;
        let encoding = enter(py, |_| {
            self.core
                .encode_with_offsets(text, &allow, add_special_tokens, trim_offsets)
        })?;
        Ok(Encoding::new(encoding, text))
    }

    #[pyo3(signature = (text, *, allow_special=None))]
    fn count(
        &self,
        text: &Bound<'_, PyAny>,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let py = text.py();
        let allow = self.allow(allow_special)?;
        let text = utf8(text)?;
        if text.len() <= SHORT_BYTES {
            quick(py, self.core.count(text, &allow))
        } else {
            enter(py, |_| self.core.count(text, &allow))
        }
    }

    #[pyo3(signature = (texts, *, num_threads=None, allow_special=None))]
    fn count_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        num_threads: Option<isize>,
        allow_special: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let py = texts.py();
        let threads = threads(num_threads)?;
        let allow = self.allow(allow_special)?;
        let held = Texts::new(texts)?;
        let batch: &DocumentBatch = held.get();
        let counts = enter(py, |keep_going| {
            self.core
                .count_batch(batch.as_ref(), &allow, threads, keep_going)
        })?;
        Ok(counts.into_pyarray(py))
    }
}
