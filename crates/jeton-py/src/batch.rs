//! Batches of texts and of ids.

use std::sync::Arc;

use jeton_core::documents::batch::DocumentBatch;
use jeton_core::documents::texts::Documents;
use jeton_core::documents::token_batch::TokenBatch as CoreTokenBatch;
use numpy::PyArray1;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::error::to_python;
use crate::integers::Integers;
use crate::raw_text::GivenTexts;
use crate::text::{surrogate_error, type_error_at, without_surrogates};
use crate::{arrow, meet_numpy, view};

/// Documents as one UTF-8 buffer and int64 offsets: what files, core and Python exchange.
///
/// Document ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct TextBatch(pub(crate) DocumentBatch);

#[pymethods]
impl TextBatch {
    /// Copy texts into a batch. Bytes that are not UTF-8 are replaced by U+FFFD and counted;
    /// ``strict=True`` raises ``InvalidTextError`` instead. A string array that speaks the Arrow
    /// C data interface (``__arrow_c_array__`` / ``__arrow_c_stream__``) is accepted too.
    #[staticmethod]
    #[pyo3(signature = (texts, *, strict=false))]
    fn from_texts(texts: &Bound<'_, PyAny>, strict: bool) -> PyResult<Self> {
        meet_numpy(texts.py());
        Ok(Self(collect(texts, strict)?))
    }

    /// The bytes, uint8 (n_bytes,), read-only, zero copy.
    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u8>> {
        view::read_only(slf, slf.get().0.data())
    }

    /// int64 (n_documents + 1,), read-only, zero copy.
    #[getter]
    fn offsets<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        view::read_only(slf, slf.get().0.offsets())
    }

    /// Bytes of all texts together.
    #[getter]
    fn n_bytes(&self) -> usize {
        self.0.n_bytes()
    }

    /// Documents in which bytes that are not UTF-8 were replaced.
    #[getter]
    fn n_replaced_documents(&self) -> u64 {
        self.0.n_replaced_documents()
    }

    /// U+FFFD written in place of invalid bytes, over all documents.
    #[getter]
    fn n_replacements(&self) -> u64 {
        self.0.n_replacements()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        sequence_iterator(slf.as_any())
    }

    fn __getitem__(&self, index: isize) -> PyResult<&str> {
        self.0
            .get(position(index, self.0.len())?)
            .ok_or_else(out_of_range)
    }

    fn __repr__(&self) -> String {
        format!(
            "<jeton.TextBatch: {} documents, {} bytes>",
            self.0.len(),
            self.0.n_bytes()
        )
    }
}

/// Texts of any kind as a batch: an Arrow array of strings, or any iterable of `str` and `bytes`.
///
/// `strict`: what is not valid Unicode is an error instead of being replaced and counted.
pub(crate) fn collect(texts: &Bound<'_, PyAny>, strict: bool) -> PyResult<DocumentBatch> {
    let py = texts.py();
    refuse_one(texts)?;
    if let Some(batch) = arrow::collect(texts, strict)? {
        return Ok(batch);
    }
    let mut batch = DocumentBatch::with_capacity(texts.len().unwrap_or(0), 0);
    for text in texts.try_iter()? {
        let text = text?;
        if let Ok(string) = text.cast::<PyString>() {
            match string.to_str() {
                Ok(valid) => batch.push_str(valid),
                Err(_) if strict => return Err(surrogate_error(string)),
                Err(_) => {
                    let (text, replaced) = without_surrogates(string)?;
                    batch.push_replaced(&text, replaced);
                }
            }
        } else if let Ok(bytes) = text.cast::<PyBytes>() {
            batch
                .push(bytes.as_bytes(), strict)
                .map_err(|error| to_python(py, &error))?;
        } else {
            return Err(type_error_at(&text, batch.len()));
        }
    }
    Ok(batch)
}

/// Either a batch that Python holds, or texts that stay where they are.
pub(crate) enum Texts<'py> {
    Held(PyRef<'py, TextBatch>),
    Given(GivenTexts),
}

impl<'py> Texts<'py> {
    /// Texts to encode: what is not valid Unicode is an error, at the latest when it is read.
    pub(crate) fn new(texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        refuse_one(texts)?;
        match texts.cast::<TextBatch>() {
            Ok(batch) => Ok(Self::Held(batch.borrow())),
            Err(_) => Ok(Self::Given(GivenTexts::new(texts)?)),
        }
    }

    pub(crate) fn get(&self) -> &dyn Documents {
        match self {
            Self::Held(batch) => &batch.0,
            Self::Given(texts) => texts,
        }
    }
}

/// One text where several are expected would be taken for its characters.
fn refuse_one(texts: &Bound<'_, PyAny>) -> PyResult<()> {
    if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(
            "expected several texts, got one; put it into a list, or use the function for one text",
        ));
    }
    Ok(())
}

/// Ids of many texts: text ``i`` has ``ids[offsets[i]:offsets[i + 1]]``.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct TokenBatch {
    ids: Vec<u32>,
    offsets: Vec<i64>,
    integers: Arc<Integers>,
}

impl TokenBatch {
    /// `integers`: Python integers that the tokenizer has made.
    pub(crate) fn new(batch: CoreTokenBatch, integers: &Arc<Integers>) -> Self {
        Self {
            ids: batch.ids,
            offsets: batch.offsets,
            integers: Arc::clone(integers),
        }
    }

    /// The ids of each text.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.__len__()).map(|index| self.row(index).unwrap_or_default())
    }

    pub(crate) fn to_core(&self) -> CoreTokenBatch {
        CoreTokenBatch {
            ids: self.ids.clone(),
            offsets: self.offsets.clone(),
        }
    }

    fn row(&self, index: usize) -> Option<&[u32]> {
        let (start, end) = (*self.offsets.get(index)?, *self.offsets.get(index + 1)?);
        self.ids
            .get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

#[pymethods]
impl TokenBatch {
    /// uint32 (n_tokens,)
    #[getter]
    fn ids<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        view::read_only(slf, &slf.get().ids)
    }

    /// int64 (n_texts + 1,)
    #[getter]
    fn offsets<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        view::read_only(slf, &slf.get().offsets)
    }

    fn __len__(&self) -> usize {
        self.offsets.len() - 1
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        index: isize,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let batch = slf.get();
        let row = batch
            .row(position(index, batch.__len__())?)
            .ok_or_else(out_of_range)?;
        Ok(view::read_only(slf, row))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        sequence_iterator(slf.as_any())
    }

    /// The ids of each text as a list.
    fn to_lists<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyList>>> {
        self.rows().map(|ids| self.integers.list(py, ids)).collect()
    }

    fn __repr__(&self) -> String {
        format!(
            "<jeton.TokenBatch: {} texts, {} tokens>",
            self.__len__(),
            self.ids.len()
        )
    }
}

/// Python's own iterator over a sequence: it asks for 0, 1, 2 ... until there is an `IndexError`.
pub(crate) fn sequence_iterator<'py>(sequence: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let stop = sequence.len()?;
    let get = sequence.getattr("__getitem__")?;
    let positions = sequence
        .py()
        .import("builtins")?
        .getattr("range")?
        .call1((stop,))?;
    sequence
        .py()
        .import("builtins")?
        .getattr("map")?
        .call1((get, positions))
}

/// A Python index as a position; negative ones count from the end.
pub(crate) fn position(index: isize, length: usize) -> PyResult<usize> {
    let from_start = if index < 0 {
        index.checked_add_unsigned(length)
    } else {
        Some(index)
    };
    from_start
        .and_then(|index| usize::try_from(index).ok())
        .filter(|&index| index < length)
        .ok_or_else(out_of_range)
}

pub(crate) fn out_of_range() -> PyErr {
    PyIndexError::new_err("index out of range")
}
