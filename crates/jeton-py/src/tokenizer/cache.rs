//! Memory that a tokenizer keeps: its caches of words, and the integers of lists.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Tokenizer;

#[pymethods]
impl Tokenizer {
    /// Largest size of the word caches of all threads together: 256 MiB unless changed.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.cache_limit_bytes
    ///     268435456
    #[getter]
    fn cache_limit_bytes(&self) -> usize {
        self.core.cache_limit_bytes()
    }

    /// Bytes that the word caches take at the moment, in this process.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.cache_used_bytes <= tok.cache_limit_bytes
    ///     True
    #[getter]
    fn cache_used_bytes(&self) -> usize {
        self.core.cache_used_bytes()
    }

    /// Changes the limit of the word caches; 0 turns them off. No id changes, only the speed.
    ///
    /// Caches that exceed the new limit are emptied: idle ones now, others when their calls end.
    /// Neither pickles nor files nor the fingerprint carry the limit.
    ///
    /// Raises:
    ///     ValueError: The number is negative.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.set_cache_limit(64 << 20)
    ///     >>> tok.cache_limit_bytes
    ///     67108864
    fn set_cache_limit(&self, n_bytes: isize) -> PyResult<()> {
        let limit = usize::try_from(n_bytes).map_err(|_| {
            PyValueError::new_err(format!(
                "the cache limit is {n_bytes} bytes; expected 0 or more\nhint: 0 turns the cache off"
            ))
        })?;
        self.core.set_cache_limit(limit);
        Ok(())
    }

    /// Largest growth of a text in normalizing or decoding, as a multiple of its length.
    ///
    /// 64 unless changed; 64 KiB are allowed in any case.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.growth_limit
    ///     64
    #[getter]
    fn growth_limit(&self) -> u32 {
        self.core.growth_limit()
    }

    /// Changes ``growth_limit``; growth beyond it is a ``LimitError``.
    ///
    /// A tokenizer's file can say that each letter becomes a book. Neither pickles nor files nor
    /// the fingerprint carry the limit.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.set_growth_limit(16)
    ///     >>> tok.growth_limit
    ///     16
    fn set_growth_limit(&self, times: i64) -> PyResult<()> {
        let limit = u32::try_from(times).map_err(|_| {
            PyValueError::new_err(format!(
                "the growth limit is {times} times a text's length; expected 0 to 4294967295"
            ))
        })?;
        self.core.set_growth_limit(limit);
        Ok(())
    }

    /// Empties the word caches that no thread uses at the moment, and frees working memory.
    ///
    /// The integers that lists of ids are made of are freed, too.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> _ = tok.encode("Hello")
    ///     >>> before = tok.integers_used_bytes
    ///     >>> tok.clear_cache()
    ///     >>> tok.integers_used_bytes < before
    ///     True
    fn clear_cache(&self, py: Python<'_>) {
        self.core.clear_cache();
        if let Some(integers) = self.integers.get() {
            integers.clear(py);
        }
    }

    /// Bytes of the integers that lists of ids are made of (see ``encode``); 0 before the first.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> _ = tok.encode("Hello")
    ///     >>> tok.integers_used_bytes > 0
    ///     True
    #[getter]
    fn integers_used_bytes(&self) -> usize {
        self.integers.get().map_or(0, |integers| integers.n_bytes())
    }
}
