//! Digests, for whoever keys a cache before anything heavy is imported.

use jeton_core::config::sha256_hex;
use pyo3::prelude::*;

/// SHA-256 in hexadecimal, 64 digits.
#[pyfunction]
pub(crate) fn sha256(py: Python<'_>, data: &[u8]) -> String {
    py.detach(|| sha256_hex(data))
}
