//! Tokenizers from the bytes of files: one function of the module for each format.

use jeton_core::compiled;
use jeton_core::format::gguf::HeaderBytes;
use jeton_core::format::{self, BertOptions, Gpt2Options};
use jeton_io::Places;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Tokenizer, ranks};
use crate::error::to_python_at;

/// The length of a GGUF file's header.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct GgufHeader {
    /// Bytes of the header; if the beginning is too short, the least that it takes.
    n_bytes: u64,
    /// True if the given bytes told the whole length.
    is_whole: bool,
}

/// Returns the tokenizer of a ``.tiktoken`` rank file.
///
/// ``pattern``: a published name (see ``published_patterns()``) or a regular expression.
#[pyfunction]
#[pyo3(signature = (data, *, pattern, special_tokens=None, normalizer=None, name=None, path=None))]
pub(crate) fn from_tiktoken(
    py: Python<'_>,
    data: &[u8],
    pattern: &str,
    special_tokens: Option<&Bound<'_, PyDict>>,
    normalizer: Option<&str>,
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    let options = ranks::options(pattern, special_tokens, normalizer)?;
    Tokenizer::load(py, name, path, || format::from_tiktoken(data, options))
}

/// Returns the tokenizer of a ``tokenizer.json``.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_hf_json(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    Tokenizer::load(py, name, path, || format::from_hf_json(data))
}

/// Returns the tokenizer of a SentencePiece ``.model``.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_sentencepiece(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    Tokenizer::load(py, name, path, || format::from_sentencepiece(data))
}

/// Returns the tokenizer of BERT's ``vocab.txt``; the keywords say the rest of it.
///
/// ``strip_accents`` is as ``lowercase`` unless it is given.
#[pyfunction]
#[pyo3(signature = (data, *, lowercase=true, strip_accents=None, handle_chinese_chars=true, clean_text=true, unk_token=None, name=None, path=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn from_vocab_txt(
    py: Python<'_>,
    data: &[u8],
    lowercase: bool,
    strip_accents: Option<bool>,
    handle_chinese_chars: bool,
    clean_text: bool,
    unk_token: Option<String>,
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
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
    Tokenizer::load(py, name, path, || format::from_vocab_txt(data, &options))
}

/// Returns the tokenizer of RWKV's list of tokens.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_rwkv(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    Tokenizer::load(py, name, path, || format::from_rwkv(data))
}

/// Returns the tokenizer of Mistral's ``tekken.json``.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_tekken(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    Tokenizer::load(py, name, path, || format::from_tekken(data))
}

/// Returns the tokenizer of the JSON of Anthropic's old public tokenizer.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_claude(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    Tokenizer::load(py, name, path, || format::from_claude(data))
}

/// Returns the tokenizer of CLIP's merges, decompressed.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_clip(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    Tokenizer::load(py, name, path, || format::from_clip(data))
}

/// Returns the tokenizer of a GGUF file, or of its beginning with the whole header.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_gguf(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    Tokenizer::load(py, name, path, || format::from_gguf(data))
}

/// Returns the length of a GGUF file's header, from the file or its beginning.
#[pyfunction]
#[pyo3(signature = (data, *, path=None))]
pub(crate) fn gguf_header_bytes(
    py: Python<'_>,
    data: &[u8],
    path: Option<&str>,
) -> PyResult<GgufHeader> {
    match format::gguf::header_bytes(data) {
        Ok(HeaderBytes::Exactly(n_bytes)) => Ok(GgufHeader {
            n_bytes,
            is_whole: true,
        }),
        Ok(HeaderBytes::AtLeast(n_bytes)) => Ok(GgufHeader {
            n_bytes,
            is_whole: false,
        }),
        Err(error) => Err(to_python_at(py, &error, path)),
    }
}

/// Returns the tokenizer of GPT-2's ``vocab.json`` and ``merges.txt``.
///
/// ``before`` and ``after`` are special tokens that ``add_special_tokens`` puts around a text.
#[pyfunction]
#[pyo3(signature = (vocab, merges, *, add_prefix_space=false, special_tokens=None, unk_token=None, before=None, after=None, name=None, path=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn from_gpt2_files(
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
) -> PyResult<Tokenizer> {
    let options = Gpt2Options {
        add_prefix_space,
        special_tokens: special_tokens.unwrap_or_default(),
        unk_token,
        before: before.unwrap_or_default(),
        after: after.unwrap_or_default(),
    };
    Tokenizer::load(py, name, path, || {
        format::from_gpt2_files(vocab, merges, &options)
    })
}

/// Returns the tokenizer of a canonical form, as ``Tokenizer.to_canonical`` gives it.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_canonical(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    Tokenizer::load(py, name, path, || format::from_canonical(data))
}

/// Returns the tokenizer of ``Tokenizer.to_compiled``; by default with the name in it.
///
/// Damage, and the form of another release, are a ``FormatError``.
#[pyfunction]
#[pyo3(signature = (data, *, name=None, path=None))]
pub(crate) fn from_compiled(
    py: Python<'_>,
    data: &[u8],
    name: Option<String>,
    path: Option<&str>,
) -> PyResult<Tokenizer> {
    let (core, own_name) = py
        .detach(|| compiled::from_bytes(data))
        .map_err(|error| to_python_at(py, &error, path))?;
    Ok(Tokenizer::wrap(core, name.or(own_name)))
}

/// Returns the tokenizer of a compiled file, without the whole file in memory.
///
/// A file that cannot be opened is an ``OSError``.
#[pyfunction]
#[pyo3(signature = (path, *, name=None))]
pub(crate) fn from_compiled_file(
    py: Python<'_>,
    path: &str,
    name: Option<String>,
) -> PyResult<Tokenizer> {
    let file = Places::open(path.as_ref())?;
    let (core, own_name) = py
        .detach(|| compiled::read(&file, file.n_bytes()))
        .map_err(|error| to_python_at(py, &error, Some(path)))?;
    Ok(Tokenizer::wrap(core, name.or(own_name)))
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<GgufHeader>()?;
    module.add_function(wrap_pyfunction!(from_tiktoken, module)?)?;
    module.add_function(wrap_pyfunction!(from_hf_json, module)?)?;
    module.add_function(wrap_pyfunction!(from_sentencepiece, module)?)?;
    module.add_function(wrap_pyfunction!(from_vocab_txt, module)?)?;
    module.add_function(wrap_pyfunction!(from_rwkv, module)?)?;
    module.add_function(wrap_pyfunction!(from_tekken, module)?)?;
    module.add_function(wrap_pyfunction!(from_claude, module)?)?;
    module.add_function(wrap_pyfunction!(from_clip, module)?)?;
    module.add_function(wrap_pyfunction!(from_gguf, module)?)?;
    module.add_function(wrap_pyfunction!(gguf_header_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(from_gpt2_files, module)?)?;
    module.add_function(wrap_pyfunction!(from_canonical, module)?)?;
    module.add_function(wrap_pyfunction!(from_compiled, module)?)?;
    module.add_function(wrap_pyfunction!(from_compiled_file, module)?)?;
    Ok(())
}
