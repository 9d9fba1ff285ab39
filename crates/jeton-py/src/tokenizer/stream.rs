//! Ids to text as they come.

use std::sync::Arc;

use jeton_core::tokenizer::{DecodeStream as CoreStream, Tokenizer as CoreTokenizer};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyIterator, PyTuple};

use super::Tokenizer;
use crate::door::quick;

/// Ids to text as they come, as ``Tokenizer.decode_stream`` gives it.
///
/// All pushes and the flush together equal ``decode`` of all ids, and no push breaks a character.
/// Text that later ids can change is held back. As a rule that is little: the bytes of a character,
/// an end-of-word suffix, white space that is stripped at the end.
///
/// Two kinds of text are held back longer. A run of byte tokens of a ``tokenizer.json`` is text or
/// U+FFFD as a whole, and comes when the run ends or breaks. Steps that need the whole text come
/// with the flush: a regular expression or ``ByteLevel`` behind ``Fuse``, and a SentencePiece
/// model's charsmap for decoding. Not for use by several threads at once.
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
    /// The text that is final with this id or these, possibly none.
    ///
    /// Raises ``UnknownTokenIdError`` for an id without a token; no id of that call is taken then.
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

    /// The rest, as it is if no more ids come. The next push begins a new text.
    fn flush(&mut self, py: Python<'_>) -> PyResult<String> {
        let mut text = String::new();
        quick(py, self.stream.finish(&mut text))?;
        Ok(text)
    }
}

/// Pieces of text, as ``Tokenizer.decode_iter`` gives them.
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
    /// Returns a decoder for ids that come one by one.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> stream = tok.decode_stream()
    ///     >>> "".join(stream.push(id) for id in tok.encode("Hello ☃")) + stream.flush()
    ///     'Hello ☃'
    #[pyo3(signature = (*, skip_special_tokens=false))]
    fn decode_stream(slf: &Bound<'_, Self>, skip_special_tokens: bool) -> DecodeStream {
        DecodeStream::new(slf, skip_special_tokens)
    }

    /// Returns the pieces of text of ids that an iterator gives, each as soon as it is certain.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> list(tok.decode_iter(iter(tok.encode("Hello there"))))
    ///     ['Hello', ' there']
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
