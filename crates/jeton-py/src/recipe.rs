//! Steps before the model of a tokenizer that is made here: a split pattern and a normalization.

use std::collections::BTreeMap;

use jeton_core::normalize::{Form, NormalizerConfig};
use jeton_core::pretokenize::{Behavior, Dialect, SplitConfig, published};
use jeton_core::text::unicode::UnicodeVersion;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Unicode version that Qwen's NFC follows: the tables of Python 3.11, with which its published
/// ids were checked.
const PYTHON_NORMALIZATION: UnicodeVersion = UnicodeVersion(14, 0);

/// The split pattern and normalization of a tokenizer that is made here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recipe {
    pub(crate) pattern: String,
    pub(crate) normalizer: Vec<NormalizerConfig>,
}

impl Recipe {
    /// From a published name or a pattern, and the name of a normalization form.
    pub(crate) fn new(pattern: &str, normalizer: Option<&str>) -> PyResult<Self> {
        let normalizer = match normalizer {
            None => Vec::new(),
            Some(name) => match Form::parse(name) {
                Some(form) => vec![NormalizerConfig::Form {
                    form,
                    unicode: PYTHON_NORMALIZATION,
                }],
                None => {
                    let message = format!(
                        "normalizer is {name:?}; expected \"nfc\", \"nfd\", \"nfkc\" or \"nfkd\""
                    );
                    return Err(PyValueError::new_err(message));
                }
            },
        };
        Ok(Self {
            pattern: published::by_name(pattern).unwrap_or(pattern).to_owned(),
            normalizer,
        })
    }

    pub(crate) fn split(&self) -> SplitConfig {
        SplitConfig {
            pattern: self.pattern.clone(),
            dialect: Dialect::FancyRegex,
            unicode: UnicodeVersion::REFERENCES,
            behavior: Behavior::Isolated,
            invert: false,
            in_byte_alphabet: false,
        }
    }
}

/// Names of the published split patterns and the patterns themselves.
#[pyfunction]
pub(crate) fn published_patterns() -> BTreeMap<&'static str, &'static str> {
    published::PATTERNS
        .iter()
        .map(|(name, pattern, _)| (*name, *pattern))
        .collect()
}
