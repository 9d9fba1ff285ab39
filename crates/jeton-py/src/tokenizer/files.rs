//! Tokenizers to bytes and files, and pickling.

use jeton_core::format;
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use super::Tokenizer;
use crate::door::enter;
use crate::error::to_python_at;

impl Tokenizer {
    /// Loads through the door, with the file's path in errors.
    pub(super) fn load(
        py: Python<'_>,
        name: Option<String>,
        path: Option<&str>,
        parse: impl FnOnce() -> jeton_core::error::Result<CoreTokenizer> + Send,
    ) -> PyResult<Self> {
        let core = py
            .detach(parse)
            .map_err(|error| to_python_at(py, &error, path))?;
        Ok(Self::wrap(core, name))
    }
}

#[pymethods]
impl Tokenizer {
    /// The tokenizer as it lies in memory, with its name: the quickest to load.
    ///
    /// It is for this release only. A SentencePiece model has no such form (``VocabularyError``).
    fn to_compiled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let name = self.name.as_deref();
        let bytes = enter(py, |_| format::to_compiled(&self.core, name))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Write ``to_compiled`` to a file, whole or not at all; ``jeton.load`` reads it.
    fn save_compiled<'py>(slf: &Bound<'py, Self>, path: &Bound<'py, PyAny>) -> PyResult<()> {
        let module = slf.py().import("jeton.formats.compiled")?;
        module
            .getattr("save_compiled")?
            .call1((slf, path))
            .map(|_| ())
    }

    /// The canonical form: JSON that says all of it, the same bytes for equal tokenizers.
    fn to_canonical<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &enter(py, |_| format::to_canonical(&self.core))?,
        ))
    }

    /// A ``.tiktoken`` rank file. Raises ``FormatError`` where it cannot hold the tokenizer.
    fn to_tiktoken<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &enter(py, |_| format::to_tiktoken(&self.core))?,
        ))
    }

    /// A ``tokenizer.json``. Raises ``FormatError`` where it cannot hold the tokenizer.
    fn to_hf_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &enter(py, |_| format::to_hf_json(&self.core))?,
        ))
    }

    /// The one file that the tokenizer is in a format, one of ``jeton.formats.FORMATS``.
    ///
    /// What the format does not hold is an error that lists it all, or with ``lossy`` a warning.
    #[pyo3(signature = (format, *, lossy=false))]
    fn to_bytes<'py>(
        slf: &Bound<'py, Self>,
        format: &Bound<'py, PyAny>,
        lossy: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("jeton.formats.writing")?;
        let keywords = PyDict::new(slf.py());
        keywords.set_item("lossy", lossy)?;
        module
            .getattr("to_bytes")?
            .call((slf, format), Some(&keywords))
    }

    /// Write a file or a folder; the suffix, or ``format``, chooses the format.
    ///
    /// What the format does not hold is an error that lists it all, or with ``lossy`` a warning.
    /// ``samples`` are texts whose ids are verified at every load (see
    /// ``jeton.formats.save_file``).
    #[pyo3(signature = (path, *, format=None, lossy=false, samples=None, training_card=None))]
    fn save<'py>(
        slf: &Bound<'py, Self>,
        path: &Bound<'py, PyAny>,
        format: Option<&Bound<'py, PyAny>>,
        lossy: bool,
        samples: Option<&Bound<'py, PyAny>>,
        training_card: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let save_file = slf.py().import("jeton.formats")?.getattr("save_file")?;
        let keywords = PyDict::new(slf.py());
        if let Some(format) = format {
            keywords.set_item("format", format)?;
        }
        keywords.set_item("lossy", lossy)?;
        if let Some(samples) = samples {
            keywords.set_item("samples", samples)?;
        }
        if let Some(card) = training_card {
            keywords.set_item("training_card", card)?;
        }
        save_file.call((slf, path), Some(&keywords)).map(|_| ())
    }

    /// Pickled by content: the canonical form, compressed, and the name.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let rebuild = slf.get_type().getattr("_from_pickle")?;
        let core = &slf.get().core;
        let compressed = enter(py, |_| {
            let canonical = format::to_canonical(core)?;
            // Level 3 is zstd's default: what is sent between processes should be made quickly.
            jeton_io::compress_zstd(&canonical, 3)
                .map_err(|error| jeton_core::error::Error::format("pickle", error.to_string()))
        })?;
        let Self { name, ends, .. } = slf.get();
        let arguments =
            (PyBytes::new(py, &compressed), name.clone(), ends.clone()).into_pyobject(py)?;
        (rebuild, arguments).into_pyobject(py)
    }

    #[staticmethod]
    #[pyo3(signature = (compressed, name, ends=Vec::new()))]
    fn _from_pickle(
        py: Python<'_>,
        compressed: &[u8],
        name: Option<String>,
        ends: Vec<u32>,
    ) -> PyResult<Self> {
        let loaded = Self::load(py, name, None, || {
            let canonical = jeton_io::decompress(compressed, 1 << 32, None)
                .map_err(|error| jeton_core::error::Error::format("pickle", error.to_string()))?;
            format::from_canonical(&canonical)
        })?;
        Ok(Self { ends, ..loaded })
    }
}
