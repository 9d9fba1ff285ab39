//! Rank files, which do not say what they are: read and hashed at once, made a tokenizer when that
//! is known.

use std::sync::Mutex;

use jeton_core::config::Reference;
use jeton_core::format::{self, TiktokenOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Tokenizer;
use crate::recipe::Recipe;

/// Returns the options of a rank file, from keywords.
pub(super) fn options(
    pattern: &str,
    special_tokens: Option<&Bound<'_, PyDict>>,
    normalizer: Option<&str>,
) -> PyResult<TiktokenOptions> {
    let recipe = Recipe::new(pattern, normalizer)?;
    let special_tokens = match special_tokens {
        None => Vec::new(),
        Some(tokens) => tokens
            .iter()
            .map(|(content, id)| Ok((content.extract()?, id.extract()?)))
            .collect::<PyResult<Vec<_>>>()?,
    };
    Ok(TiktokenOptions {
        pattern: recipe.pattern,
        special_tokens,
        normalizer: recipe.normalizer,
        reference: Reference::Tiktoken,
    })
}

/// The bytes of a ``.tiktoken`` rank file, read before it is known what they do not say: their
/// digest, which is made meanwhile, tells whose they are.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct ReadRanks {
    sha256: String,
    /// Until a tokenizer is made of it.
    ranks: Mutex<Option<format::RankFile>>,
}

#[pymethods]
impl ReadRanks {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> Self {
        let ranks = py.detach(|| format::RankFile::new(data));
        Self {
            sha256: ranks.sha256().to_owned(),
            ranks: Mutex::new(Some(ranks)),
        }
    }

    /// SHA-256 of the bytes, in hexadecimal.
    #[getter]
    fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the tokenizer as ``from_tiktoken`` makes it of the same bytes; once.
    #[pyo3(signature = (*, pattern, special_tokens=None, normalizer=None, name=None, path=None))]
    fn tokenizer(
        &self,
        py: Python<'_>,
        pattern: &str,
        special_tokens: Option<&Bound<'_, PyDict>>,
        normalizer: Option<&str>,
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Tokenizer> {
        let options = options(pattern, special_tokens, normalizer)?;
        let ranks = self.ranks.lock().ok().and_then(|mut ranks| ranks.take());
        let Some(ranks) = ranks else {
            return Err(PyValueError::new_err("a tokenizer was made of it before"));
        };
        Tokenizer::load(py, name, path, || ranks.into_tokenizer(options))
    }
}
