//! Text to ids and counts.

use jeton_core::special::Allow;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::Tokenizer;
use crate::batch::{Texts, TokenBatch};
use crate::door::{SHORT_BYTES, enter, enter_if_long, quick, threads_at_most};
use crate::encoding::Encoding;
use crate::raw_text::{long_characters, with_text};

impl Tokenizer {
    pub(super) fn allow(&self, allow_special: Option<&Bound<'_, PyAny>>) -> PyResult<Allow> {
        let Some(given) = allow_special else {
            return Ok(Allow::None);
        };
        if let Ok(name) = given.cast::<PyString>() {
            if name.to_str()? == "all" {
                return Ok(Allow::All);
            }
            return Err(PyTypeError::new_err(
                "allow_special must be \"all\" or an iterable of special tokens; put a single one into a set",
            ));
        }
        let names = given
            .try_iter()?
            .map(|name| name?.extract::<String>())
            .collect::<PyResult<Vec<_>>>()?;
        quick(
            given.py(),
            self.core.allow(names.iter().map(String::as_str)),
        )
    }

    /// Reads `allow` into a place of the caller: nearly always nothing is given, and nothing is
    /// moved then.
    #[inline]
    fn allow_in<'a>(
        &self,
        room: &'a mut Allow,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<&'a Allow> {
        if allow_special.is_some() {
            *room = self.allow(allow_special)?;
        }
        Ok(room)
    }

    /// Encodes a text and makes something of its ids: short texts without letting other Python
    /// threads run.
    #[inline]
    fn with_ids<R>(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        num_threads: Option<isize>,
        made: Constructors<
            R,
            impl FnOnce(&[u32]) -> PyResult<R>,
            impl FnOnce(Vec<u32>) -> PyResult<R>,
        >,
    ) -> PyResult<R> {
        let py = text.py();
        let mut given = Allow::None;
        let allow = self.allow_in(&mut given, allow_special)?;
        let threads = threads_at_most(num_threads)?;
        if let Some(characters) = long_characters(text) {
            let ids = enter(py, |keep_going| {
                let core = &self.core;
                core.encode_characters(characters, allow, add_special_tokens, threads, keep_going)
            })?;
            return (made.of_owned)(ids);
        }
        with_text(text, |text| {
            if text.len() <= SHORT_BYTES {
                let made = self
                    .core
                    .with_ids(text, allow, add_special_tokens, made.of_lent);
                return quick(py, made)?;
            }
            let ids = enter(py, |keep_going| {
                self.core
                    .encode_shared(text, allow, add_special_tokens, threads, keep_going)
            })?;
            (made.of_owned)(ids)
        })
    }
}

/// Constructors of the result, from ids that are lent or from ids that are given away.
struct Constructors<R, L: FnOnce(&[u32]) -> PyResult<R>, O: FnOnce(Vec<u32>) -> PyResult<R>> {
    of_lent: L,
    of_owned: O,
}

#[pymethods]
impl Tokenizer {
    /// Returns the ids of a text as a list.
    ///
    /// Text that looks like a special token stays text unless that token is allowed. A model whose
    /// own vocabulary has it as a piece or word follows its reference and may give that id;
    /// ``encode_guarded`` never does.
    ///
    /// Args:
    ///     text: ``str``, or UTF-8 as ``bytes``.
    ///     add_special_tokens: Adds the special tokens that the file puts around texts (``[CLS]``).
    ///     allow_special: Special tokens that may come from the text, by name; ``"all"``: every
    ///         one.
    ///     num_threads: Threads that share a text of more than half a megabyte; None: all cores
    ///         that this process may use. The ids do not depend on it.
    ///
    /// The integers of the list are kept as long as the tokenizer: 32 bytes for each id met, and 8
    /// for each id of the vocabulary (``integers_used_bytes``).
    ///
    /// Raises:
    ///     EncodeError: The vocabulary has no token for a part of the text, and none for unknown
    ///         text.
    ///     UnknownSpecialTokenError: A name in ``allow_special`` is no special token.
    ///     InvalidTextError: The text has half a surrogate pair, or bytes that are not UTF-8.
    ///     LimitError: The tokenizer's file makes the text far longer (``set_growth_limit``).
    ///
    /// Examples:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.encode("Hello world")
    ///     [10631, 1423]
    ///     >>> tok.encode(b"Hello world") == tok.encode("Hello world")
    ///     True
    ///     >>> tok.decode(tok.encode("Grüße, 世界!"))
    ///     'Grüße, 世界!'
    ///     >>> len(tok.encode("<|endoftext|>"))
    ///     7
    ///     >>> tok.encode("<|endoftext|>", allow_special={"<|endoftext|>"})
    ///     [0]
    ///     >>> framed = tok.with_template("<|endoftext|> $A")
    ///     >>> framed.encode("Hello world", add_special_tokens=True)
    ///     [0, 10631, 1423]
    #[pyo3(signature = (text, *, add_special_tokens=false, allow_special=None, num_threads=None))]
    fn encode<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'py, PyAny>>,
        num_threads: Option<isize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = text.py();
        let integers = self.integers(py);
        let made = Constructors {
            of_lent: |ids: &[u32]| integers.list(py, ids),
            of_owned: |ids: Vec<u32>| integers.list(py, &ids),
        };
        self.with_ids(text, add_special_tokens, allow_special, num_threads, made)
    }

    /// Returns the ids as an array, uint32 (n_tokens,); arguments as of ``encode``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.encode_array("Hello there").dtype
    ///     dtype('uint32')
    ///     >>> tok.encode_array("Hello there").shape
    ///     (2,)
    #[pyo3(signature = (text, *, add_special_tokens=false, allow_special=None, num_threads=None))]
    fn encode_array<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'py, PyAny>>,
        num_threads: Option<isize>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let py = text.py();
        let made = Constructors {
            of_lent: |ids: &[u32]| Ok(PyArray1::from_slice(py, ids)),
            of_owned: |ids: Vec<u32>| Ok(ids.into_pyarray(py)),
        };
        self.with_ids(text, add_special_tokens, allow_special, num_threads, made)
    }

    /// Returns the ids of many texts, made by several threads; arguments as of ``encode``.
    ///
    /// Texts are read in place: a ``str``, ``bytes`` or an Arrow array is not copied. A long text
    /// is shared among the threads, too; the ids do not depend on their number.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> batch = tok.encode_batch(["Hello", "Hello there"])
    ///     >>> [len(ids) for ids in batch]
    ///     [1, 2]
    ///     >>> batch.offsets.tolist()
    ///     [0, 1, 3]
    #[pyo3(signature = (texts, *, add_special_tokens=false, allow_special=None, num_threads=None))]
    fn encode_batch(
        &self,
        texts: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        num_threads: Option<isize>,
    ) -> PyResult<TokenBatch> {
        let py = texts.py();
        let threads = threads_at_most(num_threads)?;
        let allow = self.allow(allow_special)?;
        let held = Texts::new(texts)?;
        let documents = held.get();
        let encoded = enter_if_long(py, documents, |keep_going| {
            self.core
                .encode_batch(documents, &allow, add_special_tokens, threads, keep_going)
        })?;
        Ok(TokenBatch::new(encoded, self.integers(py)))
    }

    /// Returns the ids with the range of text that each comes from.
    ///
    /// Args:
    ///     text: ``str``, or UTF-8 as ``bytes``.
    ///     add_special_tokens: Adds the special tokens that the file puts around texts.
    ///     allow_special: Special tokens that may come from the text, by name; ``"all"``: every
    ///         one.
    ///     trim_offsets: False leaves white space in the ranges where the file wants it left out.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> encoding = tok.encode_with_offsets("Hello there")
    ///     >>> encoding.starts.tolist(), encoding.ends.tolist()
    ///     ([0, 5], [5, 11])
    #[pyo3(signature = (text, *, add_special_tokens=false, allow_special=None, trim_offsets=true))]
    fn encode_with_offsets(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        trim_offsets: bool,
    ) -> PyResult<Encoding> {
        let py = text.py();
        let allow = self.allow(allow_special)?;
        with_text(text, |text| {
            let encode = || {
                let encoding = self.core.encode_with_offsets(
                    text,
                    &allow,
                    add_special_tokens,
                    trim_offsets,
                )?;
                Ok(Encoding::new(encoding, text))
            };
            if text.len() <= SHORT_BYTES {
                quick(py, encode())
            } else {
                enter(py, |_| encode())
            }
        })
    }

    /// Returns the ``Encoding`` of each text, as ``encode_with_offsets`` gives it.
    ///
    /// Args:
    ///     texts: Texts, as ``encode_batch`` takes them.
    ///     add_special_tokens: Adds the special tokens that the file puts around texts.
    ///     allow_special: Special tokens that may come from the texts, by name; ``"all"``: every
    ///         one.
    ///     trim_offsets: False leaves white space in the ranges where the file wants it left out.
    ///     num_threads: Threads; None: all cores of this process. The result does not depend on it.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> encodings = tok.encode_batch_with_offsets(["Hello there", "Hi"])
    ///     >>> [encoding.ends.tolist() for encoding in encodings]
    ///     [[5, 11], [2]]
    #[pyo3(signature = (texts, *, add_special_tokens=false, allow_special=None, trim_offsets=true, num_threads=None))]
    fn encode_batch_with_offsets(
        &self,
        texts: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        trim_offsets: bool,
        num_threads: Option<isize>,
    ) -> PyResult<Vec<Encoding>> {
        let py = texts.py();
        let threads = threads_at_most(num_threads)?;
        let allow = self.allow(allow_special)?;
        let held = Texts::new(texts)?;
        let documents = held.get();
        let how = (&allow, add_special_tokens, trim_offsets);
        enter_if_long(py, documents, |keep_going| {
            let make = &|encoding, text: &str| Encoding::new(encoding, text);
            self.core
                .encode_batch_with_offsets(documents, how, threads, keep_going, make)
        })
    }

    /// Returns the number of ids of a text, without making them; arguments as of ``encode``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.count("Hello there")
    ///     2
    ///     >>> tok.with_template("<|endoftext|> $A").count("Hello there", add_special_tokens=True)
    ///     3
    #[pyo3(signature = (text, *, add_special_tokens=false, allow_special=None, num_threads=None))]
    fn count(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        num_threads: Option<isize>,
    ) -> PyResult<u64> {
        let py = text.py();
        let mut given = Allow::None;
        let allow = self.allow_in(&mut given, allow_special)?;
        let threads = threads_at_most(num_threads)?;
        let counted = if let Some(characters) = long_characters(text) {
            enter(py, |keep_going| {
                self.core
                    .count_characters(characters, allow, threads, keep_going)
            })
        } else {
            with_text(text, |text| {
                if text.len() <= SHORT_BYTES {
                    quick(py, self.core.count(text, allow))
                } else {
                    enter(py, |keep_going| {
                        self.core.count_shared(text, allow, threads, keep_going)
                    })
                }
            })
        }?;
        if add_special_tokens {
            return Ok(self.core.template_size().with(counted));
        }
        Ok(counted)
    }

    /// Returns the number of ids of each text, int64 (n_texts,); arguments as of ``encode_batch``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.count_batch(["Hello", "Hello there"]).tolist()
    ///     [1, 2]
    #[pyo3(signature = (texts, *, add_special_tokens=false, allow_special=None, num_threads=None))]
    fn count_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        num_threads: Option<isize>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let py = texts.py();
        let threads = threads_at_most(num_threads)?;
        let allow = self.allow(allow_special)?;
        let held = Texts::new(texts)?;
        let documents = held.get();
        let mut counts = enter_if_long(py, documents, |keep_going| {
            self.core
                .count_batch(documents, &allow, threads, keep_going)
        })?;
        if add_special_tokens {
            let around = self.core.template_size();
            for count in &mut counts {
                *count = around.with(count.unsigned_abs()) as i64;
            }
        }
        Ok(counts.into_pyarray(py))
    }
}
