//! Ids to text and bytes.

use jeton_core::documents::texts::as_text;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

use super::Tokenizer;
use crate::batch::TokenBatch;
use crate::door::{SHORT_BYTES, enter, quick};
use crate::error::undecodable;

impl Tokenizer {
    fn bytes(&self, ids: &Bound<'_, PyAny>, skip_special_tokens: bool) -> PyResult<Vec<u8>> {
        let py = ids.py();
        let ids = self.collect_ids(ids)?;
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        let mut decode = || self.core.decode_into(&ids, skip_special_tokens, &mut bytes);
        // An id is about four bytes of text.
        if ids.len() <= SHORT_BYTES / 4 {
            quick(py, decode())?;
        } else {
            enter(py, |_| decode())?;
        }
        Ok(bytes)
    }
}

/// Treatment of bytes that are no text.
#[derive(Clone, Copy)]
enum Undecodable {
    Replace,
    Strict,
}

impl Undecodable {
    fn of(errors: &str) -> PyResult<Self> {
        match errors {
            "replace" => Ok(Self::Replace),
            "strict" => Ok(Self::Strict),
            other => Err(PyValueError::new_err(format!(
                "errors is {other:?}; expected \"replace\" or \"strict\""
            ))),
        }
    }

    fn text<'py>(self, py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
        match (as_text(bytes), self) {
            (Ok(text), _) => Ok(PyString::new(py, text)),
            (Err(_), Self::Replace) => Ok(PyString::new(py, &String::from_utf8_lossy(bytes))),
            (Err(_), Self::Strict) => {
                let valid = bytes
                    .utf8_chunks()
                    .next()
                    .map_or(0, |chunk| chunk.valid().len());
                Err(undecodable(py, valid))
            }
        }
    }
}

/// Ids that are decoded before their texts are made: decoding lets other Python threads run, which
/// making texts cannot.
const IDS_PER_PORTION: usize = 1 << 18;

impl Tokenizer {
    /// The texts of rows of ids.
    fn texts<'py, 'r>(
        &self,
        py: Python<'py>,
        rows: impl Iterator<Item = &'r [u32]> + Send,
        skip_special_tokens: bool,
        undecodable: Undecodable,
        texts: &mut Vec<Bound<'py, PyString>>,
    ) -> PyResult<()> {
        let mut rows = rows.peekable();
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        while rows.peek().is_some() {
            bytes.clear();
            ends.clear();
            enter(py, |_| {
                let mut n_ids = 0;
                while n_ids < IDS_PER_PORTION
                    && let Some(ids) = rows.next()
                {
                    self.core
                        .decode_into(ids, skip_special_tokens, &mut bytes)?;
                    ends.push(bytes.len());
                    n_ids += ids.len();
                }
                Ok(())
            })?;
            let mut start = 0;
            for &end in &ends {
                texts.push(undecodable.text(py, &bytes[start..end])?);
                start = end;
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Tokenizer {
    /// Returns the text of ids.
    ///
    /// Args:
    ///     ids: Ids, or an array of them.
    ///     skip_special_tokens: Leaves special tokens out.
    ///     errors: Treatment of bytes that are no text: ``"replace"`` puts U+FFFD there,
    ///         ``"strict"`` raises.
    ///
    /// Raises:
    ///     UnknownTokenIdError: An id has no token.
    ///     DecodeError: The bytes are no text, with ``errors="strict"``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.decode(tok.encode("Hello there"))
    ///     'Hello there'
    ///     >>> tok.decode([0, *tok.encode("Hello")], skip_special_tokens=True)
    ///     'Hello'
    #[pyo3(signature = (ids, *, skip_special_tokens=false, errors="replace"))]
    fn decode<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        errors: &str,
    ) -> PyResult<Bound<'py, PyString>> {
        let bytes = self.bytes(ids, skip_special_tokens)?;
        Undecodable::of(errors)?.text(ids.py(), &bytes)
    }

    /// Returns the text of each row of ids, as ``decode`` gives it.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.decode_batch(tok.encode_batch(["Hello", "there"]))
    ///     ['Hello', 'there']
    #[pyo3(signature = (ids, *, skip_special_tokens=false, errors="replace"))]
    fn decode_batch<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        errors: &str,
    ) -> PyResult<Vec<Bound<'py, PyString>>> {
        let py = ids.py();
        let undecodable = Undecodable::of(errors)?;
        let mut texts = Vec::with_capacity(ids.len().unwrap_or(0));
        if let Ok(batch) = ids.cast::<TokenBatch>() {
            let rows = batch.get().rows();
            self.texts(py, rows, skip_special_tokens, undecodable, &mut texts)?;
            return Ok(texts);
        }
        let mut rows: Vec<Vec<u32>> = Vec::new();
        let mut n_ids = 0;
        for row in ids.try_iter()? {
            let row = row?;
            if row.is_instance_of::<PyInt>() {
                return Err(PyTypeError::new_err(
                    "expected several lists of ids, got one; put it into a list, or use decode",
                ));
            }
            let ids = self.collect_ids(&row)?;
            n_ids += ids.len();
            rows.push(ids);
            if n_ids >= IDS_PER_PORTION {
                let all = rows.iter().map(Vec::as_slice);
                self.texts(py, all, skip_special_tokens, undecodable, &mut texts)?;
                rows.clear();
                n_ids = 0;
            }
        }
        let all = rows.iter().map(Vec::as_slice);
        self.texts(py, all, skip_special_tokens, undecodable, &mut texts)?;
        Ok(texts)
    }

    /// Returns True for each id of a special token, wherever it came from: bool (n_tokens,).
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.special_tokens_mask([0, *tok.encode("Hello")]).tolist()
    ///     [True, False]
    fn special_tokens_mask<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mask = self.core.special_tokens_mask(&self.collect_ids(ids)?);
        Ok(mask.into_pyarray(ids.py()))
    }

    /// Returns the bytes of ids: the decoded text as UTF-8, parts of characters as they are.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.decode_bytes(tok.encode("☃")).hex()
    ///     'e29883'
    #[pyo3(signature = (ids, *, skip_special_tokens=false))]
    fn decode_bytes<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = ids.py();
        let ids = self.collect_ids(ids)?;
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        let mut decode = || {
            self.core
                .decode_bytes_into(&ids, skip_special_tokens, &mut bytes)
        };
        if ids.len() <= SHORT_BYTES / 4 {
            quick(py, decode())?;
        } else {
            enter(py, |_| decode())?;
        }
        Ok(PyBytes::new(py, &bytes))
    }
}
