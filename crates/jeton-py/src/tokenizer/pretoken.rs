//! One pretoken by itself.

use pyo3::prelude::*;

use super::Tokenizer;
use crate::door::{SHORT_BYTES, enter, quick};

#[pymethods]
impl Tokenizer {
    /// Returns the ids of bytes that are taken as one pretoken.
    ///
    /// No special tokens, normalization or split apply. The bytes need not be UTF-8 where the model
    /// works on bytes.
    ///
    /// Raises:
    ///     UsageError: The tokenizer is a SentencePiece model.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.encode_pretoken(b" there") == [tok.bytes_to_id(b" there")]
    ///     True
    fn encode_pretoken(&self, py: Python<'_>, pretoken: &[u8]) -> PyResult<Vec<u32>> {
        let mut ids = Vec::new();
        if pretoken.len() <= SHORT_BYTES {
            quick(py, self.core.encode_pretoken(pretoken, &mut ids))?;
        } else {
            enter(py, |_| self.core.encode_pretoken(pretoken, &mut ids))?;
        }
        Ok(ids)
    }
}
