//! The tokenizer: what it is; what it does stands in files of their own.

mod cache;
mod decode;
mod encode;
mod files;
mod generation;
mod growing;
mod guarded;
mod input_options;
mod inputs;
mod pretoken;
mod ranks;
mod sample;
mod stream;

pub(crate) use generation::NoncanonicalIds;
pub(crate) use growing::{EncodeIterator, GrowingText};
pub(crate) use ranks::ReadRanks;
pub(crate) use stream::{DecodeIterator, DecodeStream};

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jeton_core::error::{Error, ErrorKind};
use jeton_core::pretokenize::StepConfig;
use jeton_core::special::{AddedFlags, AddedToken};
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::OnceLockExt;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::batch::{TextBatch, collect};
use crate::door::{enter, quick, threads};
use crate::error::{to_python, unknown_id};
use crate::integers::{Integers, numbers};
use crate::measure::TokenStats;
use crate::text::utf8;

/// An immutable tokenizer. Safe to share between threads, to fork with and to pickle.
#[pyclass(frozen, module = "jeton._core", weakref)]
pub(crate) struct Tokenizer {
    core: Arc<CoreTokenizer>,
    name: Option<String>,
    /// Ids that end a text or a turn, as the files beside the tokenizer say; rising.
    ends: Vec<u32>,
    fingerprint: OnceLock<String>,
    /// Python's integers of its ids, made when a list of ids is first asked for.
    integers: Arc<OnceLock<Arc<Integers>>>,
    /// Letters, digits and scripts of each token, found out when words are first counted.
    outlines: Arc<OnceLock<jeton_measure::Outlines>>,
}

impl Tokenizer {
    pub(crate) fn wrap(core: CoreTokenizer, name: Option<String>) -> Self {
        Self {
            name,
            ..Self::share(Arc::new(core))
        }
    }

    /// The tokenizer itself.
    pub(crate) fn core(&self) -> &CoreTokenizer {
        &self.core
    }

    /// The same tokenizer, another object.
    fn again(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            name: self.name.clone(),
            ends: self.ends.clone(),
            fingerprint: self.fingerprint.clone(),
            integers: Arc::clone(&self.integers),
            outlines: Arc::clone(&self.outlines),
        }
    }

    /// Ids that end a text or a turn: what files say, and what special tokens of usual names are.
    pub(crate) fn end_ids(&self) -> Vec<u32> {
        let mut ids = self.core.end_ids();
        ids.extend(&self.ends);
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// A tokenizer without a name that somebody else has too.
    pub(crate) fn share(core: Arc<CoreTokenizer>) -> Self {
        Self {
            core,
            name: None,
            ends: Vec::new(),
            fingerprint: OnceLock::new(),
            integers: Arc::default(),
            outlines: Arc::default(),
        }
    }

    fn integers(&self, py: Python<'_>) -> &Arc<Integers> {
        let make = || Arc::new(Integers::new(py, self.core.vocab().size()));
        self.integers.get_or_init_py_attached(py, make)
    }

    /// Ids from a list or an integer array; what is no id of any tokenizer is an error, never wrapped around.
    fn collect_ids(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        if let Ok(list) = ids.cast_exact::<PyList>() {
            if let Some(numbers) = numbers(list) {
                return Ok(numbers);
            }
        } else if let Ok(array) = ids.extract::<PyReadonlyArray1<'_, u32>>() {
            return Ok(array.as_array().to_vec());
        }
        let numbers = match ids.cast::<PyUntypedArray>() {
            Ok(array) if array.ndim() != 1 => {
                return Err(PyTypeError::new_err(format!(
                    "ids must have one dimension, not {}",
                    array.ndim()
                )));
            }
            Ok(_) => ids.call_method0("tolist")?,
            Err(_) => ids.clone(),
        };
        let vocab_size = self.core.vocab().size();
        numbers
            .try_iter()?
            .map(|id| {
                let id = id?;
                id.extract::<u32>().map_err(|_| {
                    if !id.is_instance_of::<PyInt>() {
                        return PyTypeError::new_err(format!(
                            "an id must be an integer, not {id:?}"
                        ));
                    }
                    match id.lt(0) {
                        Ok(true) => {
                            let reason = format!(
                                "id {id:?} is negative; ids are 0 or more\n\
                                 hint: -100 marks labels that a loss leaves out; leave them out here, too"
                            );
                            to_python(ids.py(), &Error::usage(reason))
                        }
                        _ => unknown_id(&id, vocab_size),
                    }
                })
            })
            .collect()
    }
}

#[pymethods]
impl Tokenizer {
    /// The text as the model sees it, after normalization.
    fn normalize(&self, text: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(quick(text.py(), self.core.normalize(utf8(text)?))?.into_owned())
    }

    /// The pretokens of the normalized text (pieces of it; a piece that cuts a character cannot occur).
    fn pretokenize(&self, text: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let normalized = quick(text.py(), self.core.normalize(utf8(text)?))?;
        let pretokens = quick(text.py(), self.core.pretokenize(&normalized))?;
        Ok(pretokens
            .iter()
            .map(|pretoken| String::from_utf8_lossy(pretoken).into_owned())
            .collect())
    }

    /// Counts of the tokens of texts; special look-alikes are text.
    ///
    /// texts: a ``TextBatch``, an iterable of ``str`` and ``bytes``, or an Arrow array.
    /// round_trip: decode every document and compare. documents: note the tokens of each document
    /// (``document_tokens``). words: lay the tokens along the text and count words kept as one token, digits
    /// and scripts.
    #[pyo3(signature = (texts, *, num_threads=None, round_trip=true, documents=false, words=false))]
    fn measure(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        num_threads: Option<isize>,
        round_trip: bool,
        documents: bool,
        words: bool,
    ) -> PyResult<TokenStats> {
        let threads = threads(num_threads)?;
        let made;
        let batch = match texts.cast::<TextBatch>() {
            Ok(held) => held.get().0.as_ref(),
            Err(_) => {
                made = collect(texts, true)?;
                made.as_ref()
            }
        };
        let stats = enter(py, |keep_going| {
            let outlines = || {
                self.outlines
                    .get_or_init(|| jeton_measure::Outlines::of(&self.core))
            };
            let counted = jeton_measure::Counted {
                round_trip,
                documents,
                words: words.then(outlines),
            };
            jeton_measure::measure(&self.core, batch, counted, threads, keep_going)
        })?;
        Ok(TokenStats(stats))
    }

    /// The bytes of a token: those that it adds to a decoded text where others stand before and behind it.
    ///
    /// They do not depend on how the file spells tokens: ``▁the``, ``Ġthe``, ``the`` of a WordPiece vocabulary are
    /// ``b" the"``, and ``<0xE2>`` is ``b"\xe2"``. A suffix that ends words (``</w>``) is a space. Special tokens, and the
    /// one for unknown text, have the bytes of what they read.
    ///
    /// Raises:
    ///     UnknownTokenIdError: The id has no token.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> [tok.id_to_bytes(id) for id in tok.encode("Hello there")]
    ///     [b'Hello', b' there']
    fn id_to_bytes<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ids = self.collect_ids(PyTuple::new(py, [id])?.as_any())?;
        // One id was given, so there is one.
        let bytes = ids.first().and_then(|&id| self.core.token_bytes(id));
        bytes
            .map(|bytes| PyBytes::new(py, bytes))
            .ok_or_else(|| unknown_id(id, self.core.vocab().size()))
    }

    /// The id whose token has exactly these bytes, as ``id_to_bytes`` gives them; None where there is none.
    ///
    /// Of several tokens of the same bytes it is the first that is no byte of last resort and no special token.
    fn bytes_to_id(&self, token_bytes: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        if let Ok(bytes) = token_bytes.cast::<PyBytes>() {
            return Ok(self.core.bytes_to_token(bytes.as_bytes()));
        }
        let Ok(bytes) = token_bytes.extract::<Vec<u8>>() else {
            return Err(PyTypeError::new_err(format!(
                "token_bytes must be bytes, not {}\n\
                 hint: text.encode() gives those of a text; token_to_id takes the string that the file has",
                token_bytes.get_type().name()?
            )));
        };
        Ok(self.core.bytes_to_token(&bytes))
    }

    /// Bytes of each id, uint32 (vocab_size,); 0 for ids without a token and for tokens that add no bytes.
    fn token_lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        let length = |id| {
            self.core
                .token_bytes(id)
                .map_or(0, |bytes| bytes.len() as u32)
        };
        let lengths: Vec<u32> = (0..self.core.vocab().size()).map(length).collect();
        lengths.into_pyarray(py)
    }

    /// True if each id has a token, bool (vocab_size,).
    fn is_token_mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let vocab = self.core.vocab();
        let is_token = |id| vocab.id_to_bytes(id).is_some();
        let mask: Vec<bool> = (0..vocab.size()).map(is_token).collect();
        mask.into_pyarray(py)
    }

    /// The string that the tokenizer's file has for an id, ``Ġthe`` or ``▁the``; None where it has no token.
    ///
    /// Its bytes are ``id_to_bytes``.
    fn id_to_token(&self, id: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let ids = self.collect_ids(PyTuple::new(id.py(), [id])?.as_any())?;
        Ok(ids.first().and_then(|&id| self.core.token_name(id)))
    }

    /// The id of such a string; None where there is none. Of several it is the first, added tokens before others.
    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.core.name_to_token(token)
    }

    /// All tokens by the strings of ``id_to_token``, with their ids.
    ///
    /// Args:
    ///     with_added_tokens: False leaves out special and other added tokens.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> jeton.load("jeton-general-32k").get_vocab()["Hello"] < 32_000
    ///     True
    #[pyo3(signature = (*, with_added_tokens=true))]
    fn get_vocab<'py>(
        &self,
        py: Python<'py>,
        with_added_tokens: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (id, name) in self.core.token_names(with_added_tokens) {
            // Of several ids of one name the first counts, as in `token_to_id`.
            if !dict.contains(&name)? {
                dict.set_item(name, id)?;
            }
        }
        Ok(dict)
    }

    /// The name it was loaded by; None where nobody gave one.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// One past the highest id: the rows that an embedding needs.
    #[getter]
    fn vocab_size(&self) -> u32 {
        self.core.vocab().size()
    }

    /// Ids that have a token (vocab_size less the holes).
    #[getter]
    fn n_tokens(&self) -> u32 {
        self.core.vocab().n_tokens()
    }

    /// The id that stands for text without a token; None where there is none.
    #[getter]
    fn unknown_id(&self) -> Option<u32> {
        self.core.unknown()
    }

    /// SHA-256 of the canonical form, 64 hexadecimal digits.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        if let Some(known) = self.fingerprint.get() {
            return Ok(known.clone());
        }
        let made = enter(py, |_| self.core.to_config().fingerprint())?;
        Ok(self.fingerprint.get_or_init(|| made).clone())
    }

    /// Special tokens with their ids: they come from text only where they are allowed.
    #[getter]
    fn special_tokens(&self) -> BTreeMap<String, u32> {
        let tokens = self.core.added_tokens().iter();
        tokens
            .filter(|token| token.special)
            .map(|token| (token.content.clone(), token.id))
            .collect()
    }

    /// Special and other added tokens by id, with their flags.
    #[getter]
    fn added_tokens(&self) -> Vec<SpecialToken> {
        let tokens = self.core.added_tokens().iter();
        tokens.map(SpecialToken::of).collect()
    }

    /// The model's algorithm: ``bpe``, ``unigram``, ``wordpiece``, ``word`` ...
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.core.algorithm()
    }

    /// The pattern that cuts text into pretokens, where that is all that does; else None.
    #[getter]
    fn split_pattern(&self) -> Option<&str> {
        match self.core.pretokenizer_steps() {
            [StepConfig::Split(only)] => Some(only.pattern.as_str()),
            _ => None,
        }
    }

    /// Whose ids these equal: ``tiktoken``, ``hf``, ``sentencepiece`` or ``jeton``.
    #[getter]
    fn reference(&self) -> &'static str {
        self.core.reference().name()
    }

    /// The same tokenizer under another name.
    fn with_name(&self, name: String) -> Self {
        Self {
            name: Some(name),
            ..self.again()
        }
    }

    /// The same tokenizer with ids that end a text or a turn, besides those of usual names: see ``end_token_ids``.
    ///
    /// They are no part of its identity: pickles carry them, files and the fingerprint do not.
    ///
    /// Raises:
    ///     UnknownTokenIdError: An id has no token.
    fn with_end_tokens(&self, ids: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut ends = self.collect_ids(ids)?;
        ends.sort_unstable();
        ends.dedup();
        let vocab = self.core.vocab();
        if let Some(&id) = ends.iter().find(|&&id| vocab.id_to_bytes(id).is_none()) {
            let error = ErrorKind::UnknownId {
                id: u64::from(id),
                vocab_size: u64::from(vocab.size()),
            };
            return quick(ids.py(), Err(error.into()));
        }
        Ok(Self {
            ends,
            ..self.again()
        })
    }

    /// A tokenizer with more added tokens; this one stays as it is.
    ///
    /// A token that the vocabulary has keeps its id, others get the next ones. One that is an added token already gets
    /// the flags.
    ///
    /// Args:
    ///     tokens: What they read.
    ///     special: Found only where it is allowed, and left out of a decoding that skips special tokens.
    ///     single_word: Found only where no word character touches it.
    ///     lstrip: Takes the white space before it along.
    ///     rstrip: Takes the white space behind it along.
    ///     normalized: Found in the normalized text instead of the raw one; None: unless it is special.
    ///
    /// Raises:
    ///     UsageError: A token has no text.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k").with_added_tokens(["<tool>"], special=True)
    ///     >>> tok.decode(tok.encode("a<tool>b", allow_special="all"), skip_special_tokens=True)
    ///     'ab'
    #[pyo3(signature = (
        tokens, *, special=false, single_word=false, lstrip=false, rstrip=false, normalized=None,
    ))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)] // keyword-only in Python
    fn with_added_tokens(
        &self,
        tokens: &Bound<'_, PyAny>,
        special: bool,
        single_word: bool,
        lstrip: bool,
        rstrip: bool,
        normalized: Option<bool>,
    ) -> PyResult<Self> {
        let py = tokens.py();
        if tokens.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "tokens must be several strings; put a single one into a list",
            ));
        }
        let contents: Vec<String> = tokens
            .try_iter()?
            .map(|token| {
                let token = token?;
                token.extract::<String>().map_err(|_| {
                    PyTypeError::new_err(format!("a token must be a string, not {token:?}"))
                })
            })
            .collect::<PyResult<_>>()?;
        let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
        let flags = AddedFlags {
            special,
            single_word,
            lstrip,
            rstrip,
            normalized: normalized.unwrap_or(!special),
        };
        let core = enter(py, |_| self.core.with_added_tokens(&contents, flags))?;
        Ok(Self {
            name: self.name.clone(),
            ends: self.ends.clone(),
            ..Self::share(Arc::new(core))
        })
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        Ok(Arc::ptr_eq(&self.core, &other.core)
            || self.fingerprint(py)? == other.fingerprint(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let fingerprint = self.fingerprint(py)?;
        Ok(u64::from_str_radix(fingerprint.get(..16).unwrap_or("0"), 16).unwrap_or(0))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fingerprint = self.fingerprint(py)?;
        let short = fingerprint.get(..12).unwrap_or_default();
        let name = self.name.as_deref().unwrap_or("unnamed");
        Ok(format!(
            "<jeton.Tokenizer {name}: {}, {} ids, {short}>",
            self.core.algorithm(),
            self.core.vocab().size()
        ))
    }
}

/// A special or added token, with how it is found.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct SpecialToken {
    /// What it reads.
    content: String,
    /// Its id.
    id: u32,
    /// False: an added token that ordinary text may contain and that is always matched.
    special: bool,
    /// Found only where no word character touches it.
    single_word: bool,
    /// Takes the white space before it along.
    lstrip: bool,
    /// Takes the white space behind it along.
    rstrip: bool,
    /// Found in the normalized text instead of the raw one.
    normalized: bool,
}

impl SpecialToken {
    fn of(token: &AddedToken) -> Self {
        Self {
            content: token.content.clone(),
            id: token.id,
            special: token.special,
            single_word: token.single_word,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            normalized: token.normalized,
        }
    }
}

#[pymethods]
impl SpecialToken {
    fn __repr__(&self) -> String {
        let kind = if self.special { "special" } else { "added" };
        format!(
            "<jeton.SpecialToken {:?}: id {}, {kind}>",
            self.content, self.id
        )
    }
}
