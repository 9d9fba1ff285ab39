//! Ids to text and bytes.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Tokenizer;
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

#[pymethods]
impl Tokenizer {
    #[pyo3(signature = (ids, *, skip_special_tokens=false, errors="replace"))]
    fn decode(
        &self,
        ids: &Bound<'_, PyAny>,
        skip_special_tokens: bool,
        errors: &str,
    ) -> PyResult<String> {
        let bytes = self.bytes(ids, skip_special_tokens)?;
        match errors {
            "replace" => Ok(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
            "strict" => String::from_utf8(bytes)
                .map_err(|error| undecodable(ids.py(), error.utf8_error().valid_up_to())),
            other => Err(PyValueError::new_err(format!(
                "errors is {other:?}; expected \"replace\" or \"strict\""
            ))),
        }
    }

    /// By id, whoever put it there: what `Encoding` marks are the tokens that were put around a text.
    fn special_tokens_mask<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mask = self.core.special_tokens_mask(&self.collect_ids(ids)?);
        Ok(mask.into_pyarray(ids.py()))
    }

    #[pyo3(signature = (ids, *, skip_special_tokens=false))]
    fn decode_bytes<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            ids.py(),
            &self.bytes(ids, skip_special_tokens)?,
        ))
    }
}
