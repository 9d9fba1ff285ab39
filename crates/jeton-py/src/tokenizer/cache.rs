//! What a tokenizer keeps for later: its caches of words, and the integers of lists.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Tokenizer;

#[pymethods]
impl Tokenizer {
    #[getter]
    fn cache_limit_bytes(&self) -> usize {
        self.core.cache_limit_bytes()
    }

    #[getter]
    fn cache_used_bytes(&self) -> usize {
        self.core.cache_used_bytes()
    }

    fn set_cache_limit(&self, n_bytes: isize) -> PyResult<()> {
        let limit = usize::try_from(n_bytes).map_err(|_| {
            PyValueError::new_err(format!(
                "the cache limit is {n_bytes} bytes; expected 0 or more\nhint: 0 turns the cache off"
            ))
        })?;
        self.core.set_cache_limit(limit);
        Ok(())
    }

    #[getter]
    fn growth_limit(&self) -> u32 {
        self.core.growth_limit()
    }

    fn set_growth_limit(&self, times: i64) -> PyResult<()> {
        let limit = u32::try_from(times).map_err(|_| {
            PyValueError::new_err(format!(
                "the growth limit is {times} times a text's length; expected 0 to 4294967295"
            ))
        })?;
        self.core.set_growth_limit(limit);
        Ok(())
    }

    fn clear_cache(&self, py: Python<'_>) {
        self.core.clear_cache();
        self.sheets.clear();
        if let Some(integers) = self.integers.get() {
            integers.clear(py);
        }
    }

    #[getter]
    fn integers_used_bytes(&self) -> usize {
        self.integers.get().map_or(0, |integers| integers.n_bytes())
    }
}
