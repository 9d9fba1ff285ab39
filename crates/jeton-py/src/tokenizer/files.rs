//! Tokenizers to bytes and files, and pickling.

use jeton_core::compiled;
use jeton_core::format;
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use super::Tokenizer;
use crate::door::enter;
use crate::error::to_python_at;
use crate::meet_numpy;

impl Tokenizer {
    /// Loads through the door, with the file's path in errors.
    pub(super) fn load(
        py: Python<'_>,
        name: Option<String>,
        path: Option<&str>,
        parse: impl FnOnce() -> jeton_core::error::Result<CoreTokenizer> + Send,
    ) -> PyResult<Self> {
        meet_numpy(py);
        let core = py
            .detach(parse)
            .map_err(|error| to_python_at(py, &error, path))?;
        Ok(Self::wrap(core, name))
    }
}

#[pymethods]
impl Tokenizer {
    /// Returns the tokenizer as it lies in memory, with its name: the quickest form to load.
    ///
    /// It is for this release only. A SentencePiece model has no such form (``VocabularyError``).
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> data = tok.to_compiled()
    ///     >>> data[:5]
    ///     b'\x93JETO'
    fn to_compiled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let name = self.name.as_deref();
        let bytes = enter(py, |_| compiled::to_bytes(self.written(), name))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes ``to_compiled`` to a file, whole or not at all; ``jeton.load`` reads it.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> import tempfile, pathlib
    ///     >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.jeton"
    ///     >>> tok.save_compiled(path)
    ///     >>> jeton.load(path) == tok
    ///     True
    fn save_compiled<'py>(slf: &Bound<'py, Self>, path: &Bound<'py, PyAny>) -> PyResult<()> {
        let module = slf.py().import("jeton.formats.compiled")?;
        module
            .getattr("save_compiled")?
            .call1((slf, path))
            .map(|_| ())
    }

    /// Returns the canonical form: complete JSON, the same bytes for equal tokenizers.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> import json
    ///     >>> json.loads(tok.to_canonical())["model"]["type"]
    ///     'bpe'
    fn to_canonical<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &enter(py, |_| format::to_canonical(self.written()))?,
        ))
    }

    /// Returns a ``.tiktoken`` rank file.
    ///
    /// Raises:
    ///     FormatError: The format cannot hold the tokenizer.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> len(tok.to_tiktoken().splitlines())
    ///     31999
    fn to_tiktoken<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &enter(py, |_| format::to_tiktoken(&self.core))?,
        ))
    }

    /// Returns a ``tokenizer.json``.
    ///
    /// Raises:
    ///     FormatError: The format cannot hold the tokenizer.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> import json
    ///     >>> json.loads(tok.to_hf_json())["model"]["type"]
    ///     'BPE'
    fn to_hf_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &enter(py, |_| format::to_hf_json(&self.core))?,
        ))
    }

    /// Returns the bytes of the one file that holds the tokenizer in a format.
    ///
    /// Args:
    ///     format: One of ``jeton.formats.FORMATS``.
    ///     lossy: Warns about parts that the format cannot hold, instead of raising an error.
    ///
    /// Raises:
    ///     LossyConversionError: The format does not hold everything; the error lists what it
    ///         leaves out.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> len(tok.to_bytes("tiktoken", lossy=True)) > 100_000
    ///     True
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

    /// Writes a file or a folder; the suffix, or ``format``, chooses the format.
    ///
    /// Args:
    ///     path: The file or folder.
    ///     format: One of ``jeton.formats.FORMATS``.
    ///     lossy: Warns about parts that the format cannot hold, instead of raising an error.
    ///     samples: Texts whose ids are verified at every load (see ``jeton.formats.save_file``).
    ///     training_card: The card to write beside it.
    ///
    /// Raises:
    ///     LossyConversionError: The format does not hold everything; the error lists what it
    ///         leaves out.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> import tempfile, pathlib
    ///     >>> path = pathlib.Path(tempfile.mkdtemp()) / "tokenizer.json"
    ///     >>> tok.save(path)
    ///     >>> jeton.load(path).encode("Hello") == tok.encode("Hello")
    ///     True
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
        let core = slf.get().written();
        let compressed = enter(py, |_| {
            let canonical = format::to_canonical(core)?;
            // Level 3 is zstd's default: what is sent between processes should be made quickly.
            jeton_io::compress_zstd(&canonical, 3)
                .map_err(|error| jeton_core::error::Error::format("pickle", error.to_string()))
        })?;
        let Self {
            name,
            ends,
            unguarded,
            ..
        } = slf.get();
        let control = unguarded.as_ref().map(|plain| plain.control.clone());
        let compressed = PyBytes::new(py, &compressed);
        let arguments = (compressed, name.clone(), ends.clone(), control).into_pyobject(py)?;
        (rebuild, arguments).into_pyobject(py)
    }

    #[staticmethod]
    #[pyo3(signature = (compressed, name, ends=Vec::new(), control=None))]
    fn _from_pickle(
        py: Python<'_>,
        compressed: &[u8],
        name: Option<String>,
        ends: Vec<u32>,
        control: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let loaded = Self::load(py, name, None, || {
            let canonical = jeton_io::decompress(compressed, 1 << 32, None)
                .map_err(|error| jeton_core::error::Error::format("pickle", error.to_string()))?;
            format::from_canonical(&canonical)
        })?;
        let loaded = Self { ends, ..loaded };
        match control {
            None => Ok(loaded),
            Some(control) => loaded.guard(py, control),
        }
    }
}
