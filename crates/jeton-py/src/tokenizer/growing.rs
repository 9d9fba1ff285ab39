//! Texts that grow, counting up to a limit, and ids of text that comes in pieces.

use std::ops::Range;
use std::sync::Arc;

use jeton_core::tokenizer::{Growing, Growth, Tokenizer as CoreTokenizer};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use super::Tokenizer;
use crate::door::{SHORT_BYTES, enter, quick};
use crate::text::utf8;

type Ids<'py> = Bound<'py, PyArray1<u32>>;

/// A text that grows, with its ids.
#[pyclass(module = "jeton._core")]
pub(crate) struct GrowingText {
    tokenizer: Py<Tokenizer>,
    growing: Growing<Arc<CoreTokenizer>>,
}

/// Characters of UTF-8: bytes that continue none.
fn chars(text: &str) -> usize {
    text.bytes().filter(|&byte| byte & 0xC0 != 0x80).count()
}

/// The byte at which a character begins; None if the text has fewer.
fn byte_of(text: &str, char: usize) -> Option<usize> {
    if char <= text.len() && text.is_ascii() {
        return Some(char);
    }
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.nth(char)
}

impl GrowingText {
    fn append_text(&mut self, text: &Bound<'_, PyAny>) -> PyResult<Growth> {
        let py = text.py();
        let text = utf8(text)?;
        if text.len() <= SHORT_BYTES {
            quick(py, self.growing.append(text))
        } else {
            enter(py, |_| self.growing.append(text))
        }
    }

    fn changed<'py>(&self, py: Python<'py>, growth: Growth) -> (usize, Ids<'py>) {
        let new = self.growing.ids().get(growth.n_kept..).unwrap_or_default();
        (growth.n_kept, PyArray1::from_slice(py, new))
    }

    /// Bytes of a range of characters.
    fn bytes(&self, start: usize, end: usize) -> PyResult<Range<usize>> {
        let text = self.growing.text();
        let place = |char: usize, what: &str| {
            byte_of(text, char).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "{what} is {char}; the text has {} characters",
                    chars(text)
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
    fn append<'py>(&mut self, text: &Bound<'py, PyAny>) -> PyResult<(usize, Ids<'py>)> {
        let growth = self.append_text(text)?;
        Ok(self.changed(text.py(), growth))
    }

    fn replace<'py>(
        &mut self,
        start: usize,
        end: usize,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<(usize, Ids<'py>)> {
        let py = text.py();
        let range = self.bytes(start, end)?;
        let text = utf8(text)?;
        let growth = enter(py, |_| self.growing.replace(range, text))?;
        Ok(self.changed(py, growth))
    }

    fn truncate<'py>(&mut self, py: Python<'py>, n_chars: usize) -> PyResult<(usize, Ids<'py>)> {
        let range = self.bytes(n_chars, n_chars)?;
        let growth = enter(py, |_| self.growing.truncate(range.start))?;
        Ok(self.changed(py, growth))
    }

    fn fork(&self, py: Python<'_>) -> Self {
        Self {
            tokenizer: self.tokenizer.clone_ref(py),
            growing: self.growing.clone(),
        }
    }

    #[getter]
    fn text(&self) -> &str {
        self.growing.text()
    }

    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> Ids<'py> {
        PyArray1::from_slice(py, self.growing.ids())
    }

    #[getter]
    fn stable_ids<'py>(&self, py: Python<'py>) -> Ids<'py> {
        let stable = self.growing.ids().get(..self.n_stable());
        PyArray1::from_slice(py, stable.unwrap_or_default())
    }

    #[getter]
    fn n_stable(&self) -> usize {
        self.growing.stable().0
    }

    #[getter]
    fn n_stable_chars(&self) -> usize {
        let stable = self.growing.text().get(..self.growing.stable().1);
        chars(stable.unwrap_or_default())
    }

    #[getter]
    fn tokenizer(&self, py: Python<'_>) -> Py<Tokenizer> {
        self.tokenizer.clone_ref(py)
    }

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
            chars(self.growing.text()),
            self.growing.ids().len(),
            self.n_stable()
        )
    }
}

/// The ids of text that an iterator gives in pieces.
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

    #[pyo3(signature = (text, limit, *, allow_special=None))]
    fn count_up_to(
        &self,
        text: &Bound<'_, PyAny>,
        limit: usize,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let allow = self.allow(allow_special)?;
        let py = text.py();
        let text = utf8(text)?;
        enter(py, |_| self.core.count_up_to(text, &allow, limit))
    }

    #[pyo3(signature = (text, limit, *, allow_special=None))]
    fn fits(
        &self,
        text: &Bound<'_, PyAny>,
        limit: usize,
        allow_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        Ok(self.count_up_to(text, limit, allow_special)? <= limit)
    }
}
