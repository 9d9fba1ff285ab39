//! Tokenizers as the files of a format, with what the format does not hold.

use jeton_core::format::writing::{FileFormat, write};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyList};

use super::Tokenizer;
use crate::door::enter;

/// The tokenizer in a format: its ``files`` by role, the ``losses``, what makes it impossible
/// (``obstacles``; then there are no files), the ``options`` to read it with, what was
/// ``read``, and what the files say in other words (``rewordings``). For ``jeton.formats``,
/// which makes errors and warnings of it.
#[pyfunction]
pub(crate) fn write_format<'py>(
    py: Python<'py>,
    tokenizer: &Tokenizer,
    format: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let Some(wanted) = FileFormat::by_name(format) else {
        let known: Vec<&str> = FileFormat::ALL.iter().map(|format| format.name()).collect();
        return Err(PyValueError::new_err(format!(
            "unknown format {format:?}; the formats are {}",
            known.join(", ")
        )));
    };
    let written = enter(py, |_| Ok(write(&tokenizer.core, wanted)))?;
    let result = PyDict::new(py);
    let options = PyDict::new(py);
    let files = PyList::empty(py);
    let mut rewordings = Vec::new();
    let (losses, obstacles) = match written {
        Ok(written) => {
            for file in &written.files {
                files.append((file.role, PyBytes::new(py, &file.bytes)))?;
            }
            let read = written.options;
            if let Some(pattern) = read.pattern {
                options.set_item("pattern", pattern)?;
            }
            if let Some(tokens) = read.special_tokens {
                options.set_item("special_tokens", tokens.into_py_dict(py)?)?;
            }
            if let Some(lowercase) = read.lowercase {
                options.set_item("lowercase", lowercase)?;
            }
            if let Some(prefix) = read.add_prefix_space {
                options.set_item("add_prefix_space", prefix)?;
            }
            let again = Tokenizer::wrap(written.read, tokenizer.name.clone());
            result.set_item("read", Bound::new(py, again)?)?;
            rewordings = written.rewordings;
            (written.losses, Vec::new())
        }
        Err(ledger) => (ledger.losses, ledger.obstacles),
    };
    let losses: Vec<_> = losses
        .into_iter()
        .map(|loss| (loss.component, loss.what, loss.effect))
        .collect();
    result.set_item("files", files)?;
    result.set_item("options", options)?;
    result.set_item("losses", losses)?;
    result.set_item("obstacles", obstacles)?;
    let rewordings: Vec<_> = rewordings
        .into_iter()
        .map(|rewording| (rewording.component, rewording.why))
        .collect();
    result.set_item("rewordings", rewordings)?;
    Ok(result)
}

/// Names of the formats of ``write_format``.
#[pyfunction]
pub(crate) fn file_formats() -> Vec<&'static str> {
    FileFormat::ALL.iter().map(|format| format.name()).collect()
}
