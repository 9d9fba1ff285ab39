//! Memory that a tokenizer keeps: its caches of words, and the integers of lists.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Tokenizer;

#[pymethods]
impl Tokenizer {
    /// Most bytes that the word caches of all threads take together: 256 MiB unless changed.
    #[getter]
    fn cache_limit_bytes(&self) -> usize {
        self.core.cache_limit_bytes()
    }

    /// Bytes that the word caches take at the moment, in this process.
    #[getter]
    fn cache_used_bytes(&self) -> usize {
        self.core.cache_used_bytes()
    }

    /// Change the limit of the word caches; 0 turns them off. No id changes, only the speed.
    ///
    /// Caches that exceed the new limit are emptied: idle ones now, others when their calls end. Not part of the
    /// tokenizer's identity: neither pickles nor files nor the fingerprint carry it. Raises ``ValueError`` for a
    /// negative number.
    fn set_cache_limit(&self, n_bytes: isize) -> PyResult<()> {
        let limit = usize::try_from(n_bytes).map_err(|_| {
            PyValueError::new_err(format!(
                "the cache limit is {n_bytes} bytes; expected 0 or more\nhint: 0 turns the cache off"
            ))
        })?;
        self.core.set_cache_limit(limit);
        Ok(())
    }

    /// Times its length that a text may become when it is normalized or decoded, beside 64 KiB: 64 unless changed.
    #[getter]
    fn growth_limit(&self) -> u32 {
        self.core.growth_limit()
    }

    /// Change that. A tokenizer's file can say that each letter becomes a book; what is beyond the limit is a
    /// ``LimitError``. Not part of the tokenizer's identity, as the cache's limit.
    fn set_growth_limit(&self, times: i64) -> PyResult<()> {
        let limit = u32::try_from(times).map_err(|_| {
            PyValueError::new_err(format!(
                "the growth limit is {times} times a text's length; expected 0 to 4294967295"
            ))
        })?;
        self.core.set_growth_limit(limit);
        Ok(())
    }

    /// Empty the word caches that no thread uses at the moment, and give back the working memory beside them and the
    /// integers that lists of ids are made of.
    fn clear_cache(&self, py: Python<'_>) {
        self.core.clear_cache();
        if let Some(integers) = self.integers.get() {
            integers.clear(py);
        }
    }

    /// Bytes of the integers that lists of ids are made of (see ``encode``); 0 before the first.
    #[getter]
    fn integers_used_bytes(&self) -> usize {
        self.integers.get().map_or(0, |integers| integers.n_bytes())
    }
}
