//! Ids to text as they come.

use std::sync::Arc;

use jeton_core::tokenizer::{DecodeStream as CoreStream, Tokenizer as CoreTokenizer};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyIterator, PyTuple};

use super::Tokenizer;
use crate::door::quick;

/// Decodes ids as they come.
#[pyclass(module = "jeton._core")]
pub(crate) struct DecodeStream {
    tokenizer: Py<Tokenizer>,
    stream: CoreStream<Arc<CoreTokenizer>>,
}

impl DecodeStream {
    fn new(tokenizer: &Bound<'_, Tokenizer>, skip_special_tokens: bool) -> Self {
        let core = Arc::clone(&tokenizer.get().core);
        Self {
            tokenizer: tokenizer.clone().unbind(),
            stream: CoreStream::new(core, skip_special_tokens),
        }
    }
}

#[pymethods]
impl DecodeStream {
    fn push(&mut self, ids: &Bound<'_, PyAny>) -> PyResult<String> {
        let py = ids.py();
        let tokenizer = self.tokenizer.get();
        let ids = if let Ok(id) = ids.extract::<u32>() {
            vec![id]
        } else if ids.is_instance_of::<PyInt>() {
            tokenizer.collect_ids(PyTuple::new(py, [ids])?.as_any())?
        } else {
            tokenizer.collect_ids(ids)?
        };
        let mut text = String::new();
        quick(py, self.stream.push(&ids, &mut text))?;
        Ok(text)
    }

    fn flush(&mut self, py: Python<'_>) -> PyResult<String> {
        let mut text = String::new();
        quick(py, self.stream.finish(&mut text))?;
        Ok(text)
    }
}

/// The pieces of text of ids that an iterator gives.
#[pyclass(module = "jeton._core")]
pub(crate) struct DecodeIterator {
    stream: DecodeStream,
    /// None when it has ended.
    ids: Option<Py<PyIterator>>,
}

#[pymethods]
impl DecodeIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// The next text that is not empty.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        while let Some(ids) = &self.ids {
            let text = match ids.bind(py).clone().next() {
                Some(id) => self.stream.push(&id?)?,
                None => {
                    self.ids = None;
                    self.stream.flush(py)?
                }
            };
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

#[pymethods]
impl Tokenizer {
    #[pyo3(signature = (*, skip_special_tokens=false))]
    fn decode_stream(slf: &Bound<'_, Self>, skip_special_tokens: bool) -> DecodeStream {
        DecodeStream::new(slf, skip_special_tokens)
    }

    #[pyo3(signature = (ids, *, skip_special_tokens=false))]
    fn decode_iter(
        slf: &Bound<'_, Self>,
        ids: &Bound<'_, PyAny>,
        skip_special_tokens: bool,
    ) -> PyResult<DecodeIterator> {
        Ok(DecodeIterator {
            stream: DecodeStream::new(slf, skip_special_tokens),
            ids: Some(ids.try_iter()?.unbind()),
        })
    }
}
