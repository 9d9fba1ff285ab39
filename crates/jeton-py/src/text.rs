//! Python values as text.

use jeton_core::error::ErrorKind;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::error::to_python;

/// The UTF-8 of a `str` or of `bytes`; anything else, and what is not valid Unicode, is an error.
pub(crate) fn utf8<'a>(text: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    let py = text.py();
    if let Ok(string) = text.cast::<PyString>() {
        return string.to_str().map_err(|_| surrogate_error(string));
    }
    if let Ok(bytes) = text.cast::<PyBytes>() {
        return std::str::from_utf8(bytes.as_bytes()).map_err(|error| {
            let kind = ErrorKind::InvalidUtf8 {
                byte_offset: error.valid_up_to() as u64,
            };
            to_python(py, &kind.into())
        });
    }
    Err(type_error(text))
}

/// Returns the error for a value that is neither `str` nor `bytes`.
pub(crate) fn type_error(value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("a text must be str or bytes, not {}", kind(value)))
}

/// Reads one of several texts; an error names its place among them.
pub(crate) fn type_error_at(value: &Bound<'_, PyAny>, index: usize) -> PyErr {
    PyTypeError::new_err(format!(
        "text {index} (counted from 0) is {}; a text must be str or bytes\nhint: leave it out, or \
         put \"\" in its place",
        kind(value)
    ))
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// The error for a `str` that holds half a surrogate pair.
pub(crate) fn surrogate_error(string: &Bound<'_, PyString>) -> PyErr {
    let before = lossless_bytes(string).map_or(0, |bytes| {
        std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len)
    });
    to_python(
        string.py(),
        &ErrorKind::InvalidUtf8 {
            byte_offset: before as u64,
        }
        .into(),
    )
}

/// UTF-8 in which lone surrogates are written as three bytes each, as Python's `surrogatepass`
/// does.
fn lossless_bytes(string: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
    string
        .call_method1("encode", ("utf-8", "surrogatepass"))?
        .extract()
}

/// The text with each lone surrogate replaced by U+FFFD, and how many there were.
pub(crate) fn without_surrogates(string: &Bound<'_, PyString>) -> PyResult<(String, u64)> {
    let bytes = lossless_bytes(string)?;
    let mut text = String::with_capacity(bytes.len());
    let mut replaced = 0;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let valid = match std::str::from_utf8(rest) {
            Ok(all) => all.len(),
            Err(error) => error.valid_up_to(),
        };
        text.push_str(&String::from_utf8_lossy(&rest[..valid]));
        if valid < rest.len() {
            text.push(char::REPLACEMENT_CHARACTER);
            replaced += 1;
        }
        rest = rest.get(valid + 3..).unwrap_or_default(); // a surrogate is three bytes
    }
    Ok((text, replaced))
}
