//! Tokenizers from bytes and to bytes: one pair of methods a format, and pickling.

use jeton_core::compiled;
use jeton_core::format::gguf::HeaderBytes;
use jeton_core::format::writing::{FileFormat, write};
use jeton_core::format::{self, BertOptions, Gpt2Options};
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use jeton_io::Places;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyList, PyTuple};

use super::{Tokenizer, ranks};
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
    /// From the bytes of a ``.tiktoken`` rank file. ``pattern``: a published name
    /// (see ``published_patterns()``) or a regular expression.
    #[staticmethod]
    #[pyo3(signature = (data, *, pattern, special_tokens=None, normalizer=None, name=None, path=None))]
    fn from_tiktoken(
        py: Python<'_>,
        data: &[u8],
        pattern: &str,
        special_tokens: Option<&Bound<'_, PyDict>>,
        normalizer: Option<&str>,
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        let options = ranks::options(pattern, special_tokens, normalizer)?;
        Self::load(py, name, path, || format::from_tiktoken(data, options))
    }

    /// From the bytes of a ``tokenizer.json``.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_hf_json(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        Self::load(py, name, path, || format::from_hf_json(data))
    }

    /// From the bytes of a SentencePiece ``.model``.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_sentencepiece(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        Self::load(py, name, path, || format::from_sentencepiece(data))
    }

    /// From the bytes of BERT's ``vocab.txt``; the keywords are what the file does not say.
    ///
    /// ``strip_accents`` is as ``lowercase`` unless it is given.
    #[staticmethod]
    #[pyo3(signature = (data, *, lowercase=true, strip_accents=None, handle_chinese_chars=true, clean_text=true, unk_token=None, name=None, path=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn from_vocab_txt(
        py: Python<'_>,
        data: &[u8],
        lowercase: bool,
        strip_accents: Option<bool>,
        handle_chinese_chars: bool,
        clean_text: bool,
        unk_token: Option<String>,
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        let mut options = BertOptions {
            lowercase,
            strip_accents,
            tokenize_chinese_chars: handle_chinese_chars,
            clean_text,
            ..BertOptions::default()
        };
        if let Some(unk_token) = unk_token {
            options.unk_token = unk_token;
        }
        Self::load(py, name, path, || format::from_vocab_txt(data, &options))
    }

    /// From the bytes of RWKV's list of tokens.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_rwkv(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        Self::load(py, name, path, || format::from_rwkv(data))
    }

    /// From the bytes of Mistral's ``tekken.json``.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_tekken(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        Self::load(py, name, path, || format::from_tekken(data))
    }

    /// From the bytes of the JSON of Anthropic's old public tokenizer.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_claude(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        Self::load(py, name, path, || format::from_claude(data))
    }

    /// From the bytes of CLIP's merges, decompressed.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_clip(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        Self::load(py, name, path, || format::from_clip(data))
    }

    /// From the bytes of a GGUF file, or as much of its beginning as its header takes.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_gguf(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        Self::load(py, name, path, || format::from_gguf(data))
    }

    /// Bytes that a GGUF file's header takes, and whether that is all.
    ///
    /// Of a beginning that is too short: the least that more of it takes, and False.
    #[staticmethod]
    #[pyo3(signature = (data, *, path=None))]
    fn gguf_header_bytes(py: Python<'_>, data: &[u8], path: Option<&str>) -> PyResult<(u64, bool)> {
        match format::gguf::header_bytes(data) {
            Ok(HeaderBytes::Exactly(bytes)) => Ok((bytes, true)),
            Ok(HeaderBytes::AtLeast(bytes)) => Ok((bytes, false)),
            Err(error) => Err(to_python_at(py, &error, path)),
        }
    }

    /// From GPT-2's ``vocab.json`` and ``merges.txt``.
    ///
    /// ``before`` and ``after`` are special tokens that ``add_special_tokens`` puts around a text.
    #[staticmethod]
    #[pyo3(signature = (vocab, merges, *, add_prefix_space=false, special_tokens=None, unk_token=None, before=None, after=None, name=None, path=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn from_gpt2_files(
        py: Python<'_>,
        vocab: &[u8],
        merges: &[u8],
        add_prefix_space: bool,
        special_tokens: Option<Vec<String>>,
        unk_token: Option<String>,
        before: Option<Vec<String>>,
        after: Option<Vec<String>>,
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        let options = Gpt2Options {
            add_prefix_space,
            special_tokens: special_tokens.unwrap_or_default(),
            unk_token,
            before: before.unwrap_or_default(),
            after: after.unwrap_or_default(),
        };
        Self::load(py, name, path, || {
            format::from_gpt2_files(vocab, merges, &options)
        })
    }

    /// From the canonical written form, as ``to_canonical`` gives it.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_canonical(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        Self::load(py, name, path, || format::from_canonical(data))
    }

    /// From what ``to_compiled`` of the same release gave; by default with the name in it.
    ///
    /// Damage, and what another release wrote, is a ``FormatError``.
    #[staticmethod]
    #[pyo3(signature = (data, *, name=None, path=None))]
    fn from_compiled(
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        path: Option<&str>,
    ) -> PyResult<Self> {
        let (core, own_name) = py
            .detach(|| compiled::from_bytes(data))
            .map_err(|error| to_python_at(py, &error, path))?;
        Ok(Self::wrap(core, name.or(own_name)))
    }

    /// The same from a file, which does not lie in memory as a whole meanwhile.
    ///
    /// A file that cannot be opened is an ``OSError``.
    #[staticmethod]
    #[pyo3(signature = (path, *, name=None))]
    fn from_compiled_file(py: Python<'_>, path: &str, name: Option<String>) -> PyResult<Self> {
        let file = Places::open(path.as_ref())?;
        let (core, own_name) = py
            .detach(|| compiled::read(&file, file.n_bytes()))
            .map_err(|error| to_python_at(py, &error, Some(path)))?;
        Ok(Self::wrap(core, name.or(own_name)))
    }

    /// The tokenizer as it lies in memory, with its name: the quickest to load.
    ///
    /// It is for this release only. A SentencePiece model has no such form (``VocabularyError``).
    fn to_compiled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let name = self.name.as_deref();
        let bytes = enter(py, |_| compiled::to_bytes(&self.core, name))?;
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

    /// The tokenizer in a format: its ``files`` by role, the ``losses``, what makes it impossible
    /// (``obstacles``; then there are no files), the ``options`` to read it with, what was
    /// ``read``, and what the files say in other words (``rewordings``). For ``jeton.formats``,
    /// which makes errors and warnings of it.
    fn write_format<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyDict>> {
        let Some(wanted) = FileFormat::by_name(format) else {
            let known: Vec<&str> = FileFormat::ALL.iter().map(|format| format.name()).collect();
            return Err(PyValueError::new_err(format!(
                "unknown format {format:?}; the formats are {}",
                known.join(", ")
            )));
        };
        let written = enter(py, |_| Ok(write(&self.core, wanted)))?;
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
                let again = Self::wrap(written.read, self.name.clone());
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
    #[staticmethod]
    fn file_formats() -> Vec<&'static str> {
        FileFormat::ALL.iter().map(|format| format.name()).collect()
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
