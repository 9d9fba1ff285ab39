//! Errors of the core and of files as Python exceptions: one exhaustive match for each.
//!
//! The classes live in Python (`jeton.errors`), because they carry fields; they are looked up when
//! needed, which is when something went wrong.

use jeton_core::error::{Error, ErrorKind};
use jeton_io::IoError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An exception of `jeton.errors` with its fields.
struct Exception<'a> {
    class: &'static str,
    fields: Vec<(&'static str, Field<'a>)>,
}

enum Field<'a> {
    Text(&'a str),
    Number(u64),
    Maybe(Option<u64>),
}

impl Exception<'_> {
    fn raise(&self, py: Python<'_>, message: &str) -> PyErr {
        let build = || -> PyResult<PyErr> {
            let fields = PyDict::new(py);
            for (name, field) in &self.fields {
                match field {
                    Field::Text(text) => fields.set_item(name, text)?,
                    Field::Number(number) => fields.set_item(name, number)?,
                    Field::Maybe(number) => fields.set_item(name, number)?,
                }
            }
            let class = py.import("jeton.errors")?.getattr(self.class)?;
            Ok(PyErr::from_value(class.call((message,), Some(&fields))?))
        };
        build().unwrap_or_else(|error| error)
    }
}

/// The Python exception for an error of the core.
pub(crate) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    raise(py, error, None, None)
}

/// Converts an error that came from a file, and says what to do about the file.
pub(crate) fn to_python_at(py: Python<'_>, error: &Error, path: Option<&str>) -> PyErr {
    raise(py, error, path, hint_for_file(error.kind()))
}

/// Returns the hint for a file of a tokenizer that cannot be used.
fn hint_for_file(kind: &ErrorKind) -> Option<&'static str> {
    const CUT: [&str; 3] = ["EOF while parsing", "cut off", "are left"];
    match kind {
        ErrorKind::Format { reason, .. } if CUT.iter().any(|words| reason.contains(words)) => {
            Some("the file ends too early or is damaged: fetch or copy it again")
        }
        ErrorKind::Format { .. } => {
            Some("correct that place if the file was edited, else fetch or copy it again")
        }
        ErrorKind::Unsupported { .. } => Some(
            "docs/guides/formats.md lists what can be loaded; the file needs a change of that part",
        ),
        ErrorKind::Pattern { .. } => Some(
            "correct the pattern in the file; docs/concepts/exactness.md says what patterns may hold",
        ),
        ErrorKind::TooLarge { .. } => {
            Some("no tokenizer needs as much: fetch or copy the file again")
        }
        _ => None,
    }
}

fn raise(py: Python<'_>, error: &Error, path: Option<&str>, hint: Option<&str>) -> PyErr {
    use Field::{Maybe, Number, Text};
    let (class, mut fields) = match error.kind() {
        ErrorKind::Interrupted => return PyKeyboardInterrupt::new_err(()),
        ErrorKind::Format {
            format,
            line,
            offset,
            ..
        } => (
            "FormatError",
            vec![
                ("format", Text(format)),
                ("line", Maybe(*line)),
                ("offset", Maybe(*offset)),
            ],
        ),
        ErrorKind::Unsupported { format, .. } | ErrorKind::Inexpressible { format, .. } => {
            ("FormatError", vec![("format", Text(format))])
        }
        ErrorKind::Pattern {
            pattern, offset, ..
        } => (
            "PatternError",
            vec![("pattern", Text(pattern)), ("offset", Maybe(*offset))],
        ),
        ErrorKind::PatternCost { byte_offset } => (
            "PatternCostError",
            vec![("byte_offset", Number(*byte_offset))],
        ),
        ErrorKind::UnknownId { id, vocab_size } => (
            "UnknownTokenIdError",
            vec![("id", Number(*id)), ("vocab_size", Number(*vocab_size))],
        ),
        ErrorKind::UnknownSpecial { token } => {
            ("UnknownSpecialTokenError", vec![("token", Text(token))])
        }
        ErrorKind::Unencodable { .. } => ("EncodeError", vec![]),
        ErrorKind::InvalidUtf8 { byte_offset } => (
            "InvalidTextError",
            vec![("byte_offset", Number(*byte_offset))],
        ),
        ErrorKind::TooLarge { what, limit } => (
            "LimitError",
            vec![("what", Text(what)), ("limit", Number(*limit))],
        ),
        ErrorKind::Growth { stage, limit, .. } => (
            "LimitError",
            vec![("what", Text(stage)), ("limit", Number(*limit))],
        ),
        ErrorKind::Training { .. } => ("TrainingError", vec![]),
        ErrorKind::Usage { .. } => ("UsageError", vec![]),
    };
    let mut message = error.to_string();
    if let Some(path) = path {
        message = format!("{path}: {message}");
        if class == "FormatError" {
            fields.push(("path", Text(path)));
        }
    }
    if let Some(hint) = hint.filter(|_| !message.contains("\nhint: ")) {
        message = format!("{message}\nhint: {hint}");
    }
    Exception { class, fields }.raise(py, &message)
}

/// The exception for an id that no tokenizer could have, shown as it was given, however large.
pub(crate) fn unknown_id(id: &Bound<'_, PyAny>, vocab_size: u32) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let py = id.py();
        let fields = PyDict::new(py);
        fields.set_item("id", id)?;
        fields.set_item("vocab_size", vocab_size)?;
        let message = format!(
            "id {} has no token; the ids of this tokenizer are below {vocab_size}",
            id.str()?
        );
        let class = py.import("jeton.errors")?.getattr("UnknownTokenIdError")?;
        Ok(PyErr::from_value(class.call((message,), Some(&fields))?))
    };
    build().unwrap_or_else(|error| error)
}

/// The exception for ids whose bytes are not the UTF-8 that was asked for.
pub(crate) fn undecodable(py: Python<'_>, byte_offset: usize) -> PyErr {
    let message = format!(
        "the ids do not decode to UTF-8: first bad byte at offset {byte_offset}\n\
         hint: errors=\"replace\" puts U+FFFD there, decode_bytes gives the bytes"
    );
    Exception {
        class: "DecodeError",
        fields: vec![],
    }
    .raise(py, &message)
}

/// The Python exception for an error of reading files.
pub(crate) fn io_to_python(py: Python<'_>, error: &IoError) -> PyErr {
    use Field::{Maybe, Number, Text};
    let (class, fields) = match error {
        IoError::Io { path, source } | IoError::Write { path, source } => {
            // With errno, Python picks FileNotFoundError, PermissionError and so on by itself. A
            // wrapped error of the system has its number in words only.
            let text = source.to_string();
            let (reason, rest) = text.split_once(" (os error ").unwrap_or((&text, ""));
            let said = rest.split(')').next().and_then(|n| n.parse().ok());
            let number: Option<i32> = source.raw_os_error().or(said);
            return PyOSError::new_err((number, reason.to_owned(), path.clone()));
        }
        IoError::Counts { path, .. } => (
            "FormatError",
            vec![("path", Text(path)), ("format", Text("pretoken counts"))],
        ),
        IoError::Record { path, line, .. } => (
            "RecordError",
            vec![("path", Text(path)), ("line", Number(*line))],
        ),
        IoError::Limit { what, limit, .. } => (
            "LimitError",
            vec![("what", Text(what)), ("limit", Number(*limit))],
        ),
        IoError::InvalidText { byte_offset, .. } => (
            "InvalidTextError",
            vec![("byte_offset", Number(*byte_offset))],
        ),
        IoError::BadCompression { path, .. } => (
            "RecordError",
            vec![("path", Text(path)), ("line", Maybe(None))],
        ),
    };
    Exception { class, fields }.raise(py, &error.to_string())
}

/// One sample of each kind of error of the core, by name. A kind without a sample does not compile
/// into `name`, and a test in Python asks for every one.
fn samples() -> Vec<Error> {
    let reason = || "a reason".to_owned();
    vec![
        ErrorKind::Format {
            format: "a format",
            line: Some(1),
            offset: None,
            reason: reason(),
        },
        ErrorKind::Unsupported {
            format: "a format",
            place: "a place",
            component: "a component".to_owned(),
        },
        ErrorKind::Pattern {
            pattern: "(".to_owned(),
            offset: Some(1),
            reason: reason(),
        },
        ErrorKind::PatternCost { byte_offset: 7 },
        ErrorKind::UnknownId {
            id: 9,
            vocab_size: 3,
        },
        ErrorKind::UnknownSpecial {
            token: "<x>".to_owned(),
        },
        ErrorKind::Unencodable {
            piece: "x".to_owned(),
        },
        ErrorKind::InvalidUtf8 { byte_offset: 7 },
        ErrorKind::TooLarge {
            what: "a thing",
            limit: 5,
        },
        ErrorKind::Growth {
            stage: "a stage",
            n_bytes: 3,
            limit: 5,
            times: 2,
        },
        ErrorKind::Training { reason: reason() },
        ErrorKind::Inexpressible {
            format: "a format",
            reason: reason(),
        },
        ErrorKind::Usage { reason: reason() },
        ErrorKind::Interrupted,
    ]
    .into_iter()
    .map(Error::from)
    .collect()
}

fn name(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Format { .. } => "Format",
        ErrorKind::Unsupported { .. } => "Unsupported",
        ErrorKind::Pattern { .. } => "Pattern",
        ErrorKind::PatternCost { .. } => "PatternCost",
        ErrorKind::UnknownId { .. } => "UnknownId",
        ErrorKind::UnknownSpecial { .. } => "UnknownSpecial",
        ErrorKind::Unencodable { .. } => "Unencodable",
        ErrorKind::InvalidUtf8 { .. } => "InvalidUtf8",
        ErrorKind::TooLarge { .. } => "TooLarge",
        ErrorKind::Growth { .. } => "Growth",
        ErrorKind::Training { .. } => "Training",
        ErrorKind::Inexpressible { .. } => "Inexpressible",
        ErrorKind::Usage { .. } => "Usage",
        ErrorKind::Interrupted => "Interrupted",
    }
}

/// Every kind of error of the core, for the test that enumerates them.
#[pyfunction]
pub(crate) fn list_error_kinds() -> Vec<&'static str> {
    samples().iter().map(|error| name(error.kind())).collect()
}

/// Raise a sample error of the kind: for the test that enumerates them.
#[pyfunction]
pub(crate) fn _raise_error_kind(py: Python<'_>, kind: &str) -> PyResult<()> {
    let sample = samples()
        .into_iter()
        .find(|error| name(error.kind()) == kind);
    match sample {
        Some(error) => Err(to_python(py, &error)),
        None => Err(pyo3::exceptions::PyValueError::new_err(format!(
            "no kind of error is called {kind:?}"
        ))),
    }
}
