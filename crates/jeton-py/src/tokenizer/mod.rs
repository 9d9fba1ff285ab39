//! The tokenizer: what it is; what it does stands in files of their own.

mod cache;
mod chunk;
mod decode;
mod encode;
mod files;
mod generation;
mod growing;
mod guarded;
mod input_options;
mod inputs;
mod parsing;
mod pretoken;
mod ranks;
mod sample;
mod stream;
mod vocabulary;
mod writing;

pub(crate) use generation::NoncanonicalIds;
pub(crate) use growing::{EncodeIterator, GrowingText, Growth};
pub(crate) use guarded::{GuardedEncoding, RefusedToken};
pub(crate) use ranks::ReadRanks;
pub(crate) use sample::Segmentation;
pub(crate) use stream::{DecodeIterator, DecodeStream};

use std::collections::BTreeMap;
use std::sync::Arc;

use jeton_core::error::{Error, ErrorKind};
use jeton_core::pretokenize::StepConfig;
use jeton_core::special::{AddedFlags, AddedToken};
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use numpy::{PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use once_cell::race::OnceBox;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString};

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
    /// The tokenizer behind a guarded one; None for any other.
    unguarded: Option<Unguarded>,
    fingerprint: Arc<OnceBox<String>>,
    /// Python's integers of its ids, made when a list of ids is first asked for.
    integers: Arc<OnceBox<Arc<Integers>>>,
    /// Letters, digits and scripts of each token, found out when words are first counted.
    outlines: Arc<OnceBox<jeton_measure::Outlines>>,
    /// Bytes of each token, found out when a long text is first divided.
    token_bytes: Arc<OnceBox<chunk::TokenBytes>>,
}

/// The tokenizer that a guarded one is written as, and derived from.
#[derive(Clone)]
struct Unguarded {
    core: Arc<CoreTokenizer>,
    /// Control tokens besides the special ones.
    control: Vec<u32>,
}

/// Adds the functions to the module that read and write files of other libraries.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    parsing::register(module)?;
    module.add_function(wrap_pyfunction!(chunk::chunk_spans, module)?)?;
    module.add_function(wrap_pyfunction!(chunk::chunk_texts, module)?)?;
    module.add_function(wrap_pyfunction!(chunk::scan_boundaries, module)?)?;
    module.add_function(wrap_pyfunction!(chunk::scan_markdown, module)?)?;
    module.add_function(wrap_pyfunction!(writing::file_formats, module)?)?;
    module.add_function(wrap_pyfunction!(writing::write_format, module)?)
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

    /// Copies the handle: another object of one tokenizer.
    fn again(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            name: self.name.clone(),
            ends: self.ends.clone(),
            unguarded: self.unguarded.clone(),
            fingerprint: Arc::clone(&self.fingerprint),
            integers: Arc::clone(&self.integers),
            outlines: Arc::clone(&self.outlines),
            token_bytes: Arc::clone(&self.token_bytes),
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
            unguarded: None,
            fingerprint: Arc::default(),
            integers: Arc::default(),
            outlines: Arc::default(),
            token_bytes: Arc::default(),
        }
    }

    fn integers(&self, py: Python<'_>) -> &Arc<Integers> {
        let make = || Box::new(Arc::new(Integers::new(py, self.core.vocab().size())));
        self.integers.get_or_init(make)
    }

    /// Ids from a list or an integer array; what is no id of any tokenizer is an error, never
    /// wrapped around.
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
    /// Returns the text after normalization, as the model sees it.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.normalize("Hello there")
    ///     'Hello there'
    fn normalize(&self, text: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(quick(text.py(), self.core.normalize(utf8(text)?))?.into_owned())
    }

    /// Returns the pretokens of the normalized text.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.pretokenize("Hello there, 2024")
    ///     ['Hello', ' there', ',', ' ', '202', '4']
    fn pretokenize(&self, text: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let normalized = quick(text.py(), self.core.normalize(utf8(text)?))?;
        let pretokens = quick(text.py(), self.core.pretokenize(&normalized))?;
        Ok(pretokens
            .iter()
            .map(|pretoken| String::from_utf8_lossy(pretoken).into_owned())
            .collect())
    }

    /// Returns counts of the tokens of texts; special look-alikes are text.
    ///
    /// Args:
    ///     texts: A ``TextBatch``, an iterable of ``str`` and ``bytes``, or an Arrow array.
    ///     round_trip: Decodes every document and compares.
    ///     documents: Notes the tokens of each document (``document_tokens``).
    ///     words: Lays the tokens along the text and counts words kept as one token, digits and
    ///         scripts.
    ///     num_threads: Threads; None: all cores of this process. The counts do not depend on it.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> stats = tok.measure(["Hello there", "Hello"], documents=True)
    ///     >>> stats.n_tokens, stats.document_tokens.tolist()
    ///     (3, [2, 1])
    #[pyo3(signature = (texts, *, round_trip=true, documents=false, words=false, num_threads=None))]
    fn measure(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        round_trip: bool,
        documents: bool,
        words: bool,
        num_threads: Option<isize>,
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
                    .get_or_init(|| Box::new(jeton_measure::Outlines::of(&self.core)))
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

    /// The name that the tokenizer was loaded by; None where it has none.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.with_name("mine").name
    ///     'mine'
    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// One past the highest id: the rows that an embedding needs.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.vocab_size
    ///     32000
    #[getter]
    fn vocab_size(&self) -> u32 {
        self.core.vocab().size()
    }

    /// Ids that have a token: ``vocab_size`` less the holes.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.n_tokens
    ///     32000
    #[getter]
    fn n_tokens(&self) -> u32 {
        self.core.vocab().n_tokens()
    }

    /// The id that stands for text without a token; None where there is none.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.unknown_id is None
    ///     True
    #[getter]
    fn unknown_id(&self) -> Option<u32> {
        self.core.unknown()
    }

    /// SHA-256 of the canonical form, 64 hexadecimal digits.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> len(tok.fingerprint)
    ///     64
    ///     >>> tok.with_name("other").fingerprint == tok.fingerprint
    ///     True
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        if let Some(known) = self.fingerprint.get() {
            return Ok(known.clone());
        }
        let made = enter(py, |_| self.written().to_config().fingerprint())?;
        Ok(self.fingerprint.get_or_init(|| Box::new(made)).clone())
    }

    /// Special tokens with their ids: they come from text only where they are allowed.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.special_tokens
    ///     {'<|endoftext|>': 0}
    #[getter]
    fn special_tokens(&self) -> BTreeMap<String, u32> {
        let tokens = self.core.added_tokens().iter();
        tokens
            .filter(|token| token.special)
            .map(|token| (token.content.clone(), token.id))
            .collect()
    }

    /// Special and other added tokens by id, with their flags.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> [(token.content, token.special) for token in tok.added_tokens]
    ///     [('<|endoftext|>', True)]
    #[getter]
    fn added_tokens(&self) -> Vec<SpecialToken> {
        let tokens = self.core.added_tokens().iter();
        tokens.map(SpecialToken::of).collect()
    }

    /// The model's algorithm: ``bpe``, ``unigram``, ``wordpiece``, ``word`` ...
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.algorithm
    ///     'bpe'
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.core.algorithm()
    }

    /// The pattern that cuts text into pretokens, if nothing else cuts it; else None.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> "+" in tok.split_pattern
    ///     True
    #[getter]
    fn split_pattern(&self) -> Option<&str> {
        match self.core.pretokenizer_steps() {
            [StepConfig::Split(only)] => Some(only.pattern.as_str()),
            _ => None,
        }
    }

    /// The library whose ids these equal: ``tiktoken``, ``hf``, ``sentencepiece`` or ``jeton``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.reference
    ///     'jeton'
    #[getter]
    fn reference(&self) -> &'static str {
        self.core.reference().name()
    }

    /// Returns the tokenizer under another name.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.with_name("mine").name
    ///     'mine'
    fn with_name(&self, name: String) -> Self {
        Self {
            name: Some(name),
            ..self.again()
        }
    }

    /// Returns the tokenizer with ids that end a text or a turn, besides the tokens of usual names.
    ///
    /// They are no part of its identity: pickles carry them, files and the fingerprint do not.
    /// ``end_token_ids`` lists all of them.
    ///
    /// Raises:
    ///     UnknownTokenIdError: An id has no token.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.with_end_tokens([300]).end_token_ids
    ///     [0, 300]
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

    /// Returns a tokenizer with more added tokens; this one stays as it is.
    ///
    /// A token of the vocabulary keeps its id, others get the next ones. A token that is added
    /// already gets the flags.
    ///
    /// Args:
    ///     tokens: Texts of the tokens.
    ///     special: Found only where it is allowed, and left out of a decoding that skips special
    ///         tokens.
    ///     single_word: Found only where no word character touches it.
    ///     lstrip: Takes the white space before it along.
    ///     rstrip: Takes the white space behind it along.
    ///     normalized: Found in the normalized text instead of the raw one; None: unless it is
    ///         special.
    ///
    /// Raises:
    ///     UsageError: A token has no text.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> more = tok.with_added_tokens(["<tool>"], special=True)
    ///     >>> more.decode(more.encode("a<tool>b", allow_special="all"), skip_special_tokens=True)
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
        let core = enter(py, |_| self.written().with_added_tokens(&contents, flags))?;
        Ok(Self {
            name: self.name.clone(),
            ends: self.ends.clone(),
            ..self.derived(py, core)?
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
    /// Text of the token.
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
