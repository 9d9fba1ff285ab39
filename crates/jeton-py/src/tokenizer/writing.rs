//! Tokenizers as the files of a format, with what the format does not hold.

use jeton_core::format::writing::{FileFormat, write};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyList};

use super::Tokenizer;
use crate::door::enter;

/// Returns a tokenizer in a format, for ``jeton.formats``, which makes errors and warnings of it.
///
/// The keys: ``files`` by role; ``losses``; ``obstacles`` (where there are any, there are no
/// files); ``options`` to read it with; the tokenizer that was ``read`` back; ``rewordings``, parts
/// that the files say in other words.
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
    let written = enter(py, |_| Ok(write(tokenizer.written(), wanted)))?;
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

/// Returns the names of the formats of ``write_format``.
#[pyfunction]
pub(crate) fn file_formats() -> Vec<&'static str> {
    FileFormat::ALL.iter().map(|format| format.name()).collect()
}
