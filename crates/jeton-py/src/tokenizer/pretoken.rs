//! One pretoken by itself.

use pyo3::prelude::*;

use super::Tokenizer;
use crate::door::{SHORT_BYTES, enter, quick};

#[pymethods]
impl Tokenizer {
    /// The ids of bytes that are taken as one pretoken: no special tokens, no normalization, no split.
    ///
    /// They need not be UTF-8 where the model works on bytes. Raises ``UsageError`` for SentencePiece models.
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
