//! Texts that grow, counting up to a limit, and ids of text that comes in pieces.

use std::ops::Range;
use std::sync::Arc;

use jeton_core::tokenizer::{Growing, Growth as CoreGrowth, Tokenizer as CoreTokenizer};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use super::Tokenizer;
use crate::door::{SHORT_BYTES, enter, quick};
use crate::text::utf8;

type Ids<'py> = Bound<'py, PyArray1<u32>>;

/// A change of a ``GrowingText``.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct Growth {
    /// Ids at the beginning that are as before; later ids have been replaced.
    n_kept: usize,
    /// All ids after those, uint32 (n_ids,).
    ids: Py<PyArray1<u32>>,
}

/// A text that grows, with its ids, as ``Tokenizer.grow`` gives it.
///
/// At every moment ``ids`` equal ``encode(text)``, for every tokenizer. Growing encodes again only
/// the tokens that later text can change: a few as a rule. The page
/// ``docs/guides/growing-text.md`` says for which tokenizers it can be more. Not for use by several
/// threads at once.
#[pyclass(module = "jeton._core")]
pub(crate) struct GrowingText {
    tokenizer: Py<Tokenizer>,
    growing: Growing<Arc<CoreTokenizer>>,
}

/// Bytes whose characters are counted at once.
const BLOCK_BYTES: usize = 256;

/// Characters that begin in bytes of UTF-8: bytes that continue none.
fn chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

/// The byte at which a character begins; None if the text has fewer. Blocks before it are counted,
/// not walked.
fn byte_of(text: &str, char: usize) -> Option<usize> {
    if char <= text.len() && text.is_ascii() {
        return Some(char);
    }
    let (mut before, mut from) = (0, 0);
    for block in text.as_bytes().chunks(BLOCK_BYTES) {
        let n = chars(block);
        if before + n > char {
            break;
        }
        (before, from) = (before + n, from + block.len());
    }
    let mut starts = (from..=text.len()).filter(|&at| text.is_char_boundary(at));
    starts.nth(char - before)
}

impl GrowingText {
    fn append_text(&mut self, text: &Bound<'_, PyAny>) -> PyResult<CoreGrowth> {
        let py = text.py();
        let text = utf8(text)?;
        if text.len() <= SHORT_BYTES {
            quick(py, self.growing.append(text))
        } else {
            enter(py, |_| self.growing.append(text))
        }
    }

    fn changed(&self, py: Python<'_>, growth: CoreGrowth) -> Growth {
        let new = self.growing.ids().get(growth.n_kept..).unwrap_or_default();
        Growth {
            n_kept: growth.n_kept,
            ids: PyArray1::from_slice(py, new).unbind(),
        }
    }

    /// Bytes of a range of characters.
    fn bytes(&self, start: usize, end: usize) -> PyResult<Range<usize>> {
        let text = self.growing.text();
        let place = |char: usize, what: &str| {
            byte_of(text, char).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "{what} is {char}; the text has {} characters",
                    chars(text.as_bytes())
                ))
            })
        };
        if start > end {
            return Err(PyValueError::new_err(format!(
                "start is {start} and end is {end}; the end must not be before the start"
            )));
        }
        Ok(place(start, "start")?..place(end, "end")?)
    }
}

#[pymethods]
impl GrowingText {
    /// Puts text behind the text, and returns the change of the ids.
    ///
    /// Raises:
    ///     EncodeError: The text cannot be encoded with it; then nothing has changed.
    fn append(&mut self, text: &Bound<'_, PyAny>) -> PyResult<Growth> {
        let growth = self.append_text(text)?;
        Ok(self.changed(text.py(), growth))
    }

    /// Put text in the place of the characters ``start`` to ``end`` (code points, as in slices).
    ///
    /// Encodes again from a place shortly before ``start`` to one behind ``end`` from which on
    /// all is as it was. Returns and raises as ``append`` does. Places outside of the text are a
    /// ``ValueError``.
    fn replace(&mut self, start: usize, end: usize, text: &Bound<'_, PyAny>) -> PyResult<Growth> {
        let py = text.py();
        let range = self.bytes(start, end)?;
        let text = utf8(text)?;
        let growth = enter(py, |_| self.growing.replace(range, text))?;
        Ok(self.changed(py, growth))
    }

    /// Keep the first ``n_chars`` characters. Returns and raises as ``append`` does.
    fn truncate(&mut self, py: Python<'_>, n_chars: usize) -> PyResult<Growth> {
        let range = self.bytes(n_chars, n_chars)?;
        let growth = enter(py, |_| self.growing.truncate(range.start))?;
        Ok(self.changed(py, growth))
    }

    /// A copy that grows by itself: the branches of a conversation. Costs a copy of text and ids.
    fn fork(&self, py: Python<'_>) -> Self {
        Self {
            tokenizer: self.tokenizer.clone_ref(py),
            growing: self.growing.clone(),
        }
    }

    /// The text so far.
    #[getter]
    fn text(&self) -> &str {
        self.growing.text()
    }

    /// The ids of the text, as a new array: uint32 (n_tokens,).
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> Ids<'py> {
        PyArray1::from_slice(py, self.growing.ids())
    }

    /// The ids at the beginning that no later ``append`` can change: safe to compute with already.
    #[getter]
    fn stable_ids<'py>(&self, py: Python<'py>) -> Ids<'py> {
        let stable = self.growing.ids().get(..self.n_stable());
        PyArray1::from_slice(py, stable.unwrap_or_default())
    }

    /// How many they are. It never falls as the text grows.
    #[getter]
    fn n_stable(&self) -> usize {
        self.growing.stable().0
    }

    /// Code points of the text that they stand for.
    #[getter]
    fn n_stable_chars(&self) -> usize {
        let stable = self.growing.text().get(..self.growing.stable().1);
        chars(stable.unwrap_or_default().as_bytes())
    }

    /// The tokenizer whose ids these are.
    #[getter]
    fn tokenizer(&self, py: Python<'_>) -> Py<Tokenizer> {
        self.tokenizer.clone_ref(py)
    }

    /// The number of ids.
    fn __len__(&self) -> usize {
        self.growing.ids().len()
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.fork(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        self.fork(py)
    }

    fn __repr__(&self) -> String {
        format!(
            "<jeton.GrowingText: {} characters, {} ids, {} of them stable>",
            chars(self.growing.text().as_bytes()),
            self.growing.ids().len(),
            self.n_stable()
        )
    }
}

/// Ids of text that comes in pieces, as ``Tokenizer.encode_iter`` gives them.
#[pyclass(module = "jeton._core")]
pub(crate) struct EncodeIterator {
    text: GrowingText,
    /// None when it has ended.
    pieces: Option<Py<PyIterator>>,
}

#[pymethods]
impl EncodeIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// The next ids, of which there are some.
    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Ids<'py>>> {
        while let Some(pieces) = &self.pieces {
            let ids = match pieces.bind(py).clone().next() {
                Some(piece) => {
                    self.text.append_text(&piece?)?;
                    self.text.growing.take_stable()
                }
                None => {
                    self.pieces = None;
                    self.text.growing.ids().to_vec()
                }
            };
            if !ids.is_empty() {
                return Ok(Some(ids.into_pyarray(py)));
            }
        }
        Ok(None)
    }
}

impl Tokenizer {
    fn grow_empty(
        slf: &Bound<'_, Self>,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<GrowingText> {
        let tokenizer = slf.get();
        let allow = tokenizer.allow(allow_special)?;
        Ok(GrowingText {
            tokenizer: slf.clone().unbind(),
            growing: Growing::new(Arc::clone(&tokenizer.core), allow),
        })
    }
}

#[pymethods]
impl Tokenizer {
    /// Returns a text that grows, with its ids: a conversation, or the input of a user who types.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> text = tok.grow("Hello")
    ///     >>> growth = text.append(" there")
    ///     >>> text.ids.tolist() == tok.encode("Hello there")
    ///     True
    ///     >>> len(text) == growth.n_kept + len(growth.ids)
    ///     True
    #[pyo3(signature = (text=None, *, allow_special=None))]
    fn grow(
        slf: &Bound<'_, Self>,
        text: Option<&Bound<'_, PyAny>>,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<GrowingText> {
        let mut growing = Self::grow_empty(slf, allow_special)?;
        if let Some(text) = text {
            growing.append_text(text)?;
        }
        Ok(growing)
    }

    /// Returns the ids of the text that all pieces make together, as soon as they are certain.
    ///
    /// The ids come as arrays, none empty. Only text whose ids can still change is kept in memory.
    /// A piece may end anywhere between two characters.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> arrays = list(tok.encode_iter(["Hel", "lo th", "ere"]))
    ///     >>> [id for ids in arrays for id in ids.tolist()] == tok.encode("Hello there")
    ///     True
    #[pyo3(signature = (pieces, *, allow_special=None))]
    fn encode_iter(
        slf: &Bound<'_, Self>,
        pieces: &Bound<'_, PyAny>,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<EncodeIterator> {
        if pieces.is_instance_of::<pyo3::types::PyString>()
            || pieces.is_instance_of::<pyo3::types::PyBytes>()
        {
            return Err(pyo3::exceptions::PyTypeError::new_err(
                "pieces must be an iterable of texts, not a single text; put it into a list",
            ));
        }
        Ok(EncodeIterator {
            text: Self::grow_empty(slf, allow_special)?,
            pieces: Some(pieces.try_iter()?.unbind()),
        })
    }

    /// Returns the number of ids, or ``limit + 1`` if there are more than ``limit``.
    ///
    /// Stops as soon as the answer is certain, so that a long text costs what the limit does.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.count_up_to("Hello there", 10)
    ///     2
    ///     >>> tok.count_up_to("Hello there" * 1_000, 10)
    ///     11
    #[pyo3(signature = (text, limit, *, add_special_tokens=false, allow_special=None))]
    fn count_up_to(
        &self,
        text: &Bound<'_, PyAny>,
        limit: usize,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let allow = self.allow(allow_special)?;
        let py = text.py();
        let text = utf8(text)?;
        enter(py, |_| {
            if !add_special_tokens {
                return self.core.count_up_to(text, &allow, limit);
            }
            let around = self.core.template_size();
            let within = (limit as u64)
                .checked_sub(around.n_tokens)
                .map(|room| room / around.n_texts.max(1));
            let Some(within) = within else {
                return Ok(limit.saturating_add(1));
            };
            let counted = self.core.count_up_to(text, &allow, within as usize)?;
            Ok((around.with(counted as u64) as usize).min(limit.saturating_add(1)))
        })
    }

    /// Returns True if a text has at most ``limit`` ids; reads no more of it than that takes.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.fits("Hello there", 2)
    ///     True
    ///     >>> tok.fits("Hello there", 2_000), tok.fits("Hello there" * 1_000, 1_000)
    ///     (True, False)
    #[pyo3(signature = (text, limit, *, add_special_tokens=false, allow_special=None))]
    fn fits(
        &self,
        text: &Bound<'_, PyAny>,
        limit: usize,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        Ok(self.count_up_to(text, limit, add_special_tokens, allow_special)? <= limit)
    }
}
