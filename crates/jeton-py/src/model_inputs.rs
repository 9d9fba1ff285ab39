//! Model inputs as `NumPy` arrays.
//!
//! The ids are written when the texts are encoded; every other array follows from the layout, and
//! is made when it is asked for, once.

use jeton_core::error::{Error, Result};
use jeton_core::inputs::{Layout, Number};
use numpy::{Element, IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PySlice, PyTuple};

use crate::batch::{out_of_range, position, sequence_iterator};
use crate::door::enter;
use crate::error::to_python;

/// The type of the ids and of what is added up with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdType {
    Int32,
    Int64,
}

impl IdType {
    fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
        }
    }
}

/// Where tokens come from, in the layout of the ids.
pub(crate) struct Places {
    pub(crate) starts: Py<PyAny>,
    pub(crate) ends: Py<PyAny>,
    pub(crate) word_ids: Py<PyAny>,
}

/// Ids of a batch with all that a model takes beside them, as ``Tokenizer.model_inputs`` gives
/// them.
///
/// Arrays of tokens have the shape (n_rows, n_columns) if rows are padded, and else (n_ids,), rows
/// one behind the other: row ``i`` is then ``[row_offsets[i]:row_offsets[i + 1]]``. They are NumPy
/// arrays of the dtype that was asked for (int64 or int32) unless it is named, writable, made when
/// they are first asked for and the same object each time. Any library that speaks DLPack takes
/// them without a copy: ``torch.from_dlpack(inputs.input_ids)``, and ``torch.from_dlpack(inputs)``
/// is the same.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct ModelInputs {
    pub(crate) layout: Layout,
    pub(crate) id_type: IdType,
    pub(crate) threads: usize,
    pub(crate) pads_left: bool,
    pub(crate) input_ids: Py<PyAny>,
    pub(crate) places: Option<Places>,
    pub(crate) made: LazyArrays,
}

/// Arrays that have been asked for.
pub(crate) struct LazyArrays {
    attention_mask: PyOnceLock<Py<PyAny>>,
    token_type_ids: PyOnceLock<Py<PyAny>>,
    position_ids: PyOnceLock<Py<PyAny>>,
    sequence_ids: PyOnceLock<Py<PyAny>>,
    special_tokens_mask: PyOnceLock<Py<PyAny>>,
}

impl LazyArrays {
    /// None yet.
    pub(crate) const fn nothing() -> Self {
        Self {
            attention_mask: PyOnceLock::new(),
            token_type_ids: PyOnceLock::new(),
            position_ids: PyOnceLock::new(),
            sequence_ids: PyOnceLock::new(),
            special_tokens_mask: PyOnceLock::new(),
        }
    }
}

/// Names that `to_dict` gives if none is asked for: every text model takes them.
const USUAL_NAMES: [&str; 2] = ["input_ids", "attention_mask"];

/// Names that it can give.
const NAMES: [&str; 16] = [
    "input_ids",
    "attention_mask",
    "token_type_ids",
    "position_ids",
    "special_tokens_mask",
    "sequence_ids",
    "overflow_to_sample",
    "n_tokens",
    "n_truncated_tokens",
    "lengths",
    "row_offsets",
    "cu_seqlens",
    "starts",
    "ends",
    "word_ids",
    "max_seqlen",
];

/// An array in the shape of the layout: (rows, columns), or flat.
pub(crate) fn shaped<T: Element>(
    py: Python<'_>,
    layout: &Layout,
    values: Vec<T>,
) -> PyResult<Py<PyAny>> {
    let flat = values.into_pyarray(py);
    Ok(match layout.columns() {
        Some(columns) => flat
            .reshape([layout.n_rows(), columns])?
            .into_any()
            .unbind(),
        None => flat.into_any().unbind(),
    })
}

impl ModelInputs {
    fn make<'py, T: Element + Send>(
        &self,
        py: Python<'py>,
        place: &PyOnceLock<Py<PyAny>>,
        values: impl FnOnce(&Layout, usize) -> Result<Vec<T>> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(made) = place.get(py) {
            return Ok(made.bind(py).clone());
        }
        let values = enter(py, |_| values(&self.layout, self.threads))?;
        let array = shaped(py, &self.layout, values)?;
        Ok(place.get_or_init(py, || array).bind(py).clone())
    }

    fn places(&self, py: Python<'_>) -> PyResult<&Places> {
        self.places.as_ref().ok_or_else(|| {
            let reason = "these inputs were made without places of tokens\n\
                          hint: model_inputs(texts, offsets=True)";
            to_python(py, &Error::usage(reason))
        })
    }

    fn vector<'py, T: Element + Clone>(py: Python<'py>, values: &[T]) -> Bound<'py, PyAny> {
        values.to_vec().into_pyarray(py).into_any()
    }
}

/// An array of whole numbers, of the type that was asked for.
macro_rules! numbers {
    ($inputs:expr, $py:expr, $name:ident, $method:ident) => {
        match $inputs.id_type {
            IdType::Int64 => $inputs.make($py, &$inputs.made.$name, |layout, threads| {
                layout.$method::<i64>(threads)
            }),
            IdType::Int32 => $inputs.make($py, &$inputs.made.$name, |layout, threads| {
                layout.$method::<i32>(threads)
            }),
        }
    };
}

#[pymethods]
impl ModelInputs {
    /// The ids.
    #[getter]
    fn input_ids<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.input_ids.bind(py).clone()
    }

    /// 1 for every id, 0 for padding.
    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numbers!(self, py, attention_mask, attention_mask)
    }

    /// Token types, as the template has them in every row; ``pad_type_id`` for padding.
    #[getter]
    fn token_type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numbers!(self, py, token_type_ids, type_ids)
    }

    /// 0, 1, 2 ... for the ids of each row, on whatever side it is padded; 0 for padding.
    #[getter]
    fn position_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numbers!(self, py, position_ids, position_ids)
    }

    /// 0 and 1 for ids of the first and the second text; -1 for the template and padding.
    #[getter]
    fn sequence_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.make(py, &self.made.sequence_ids, Layout::sequence_ids)
    }

    /// True if an id is the template's or padding. A special token that stood in the text is not
    /// marked.
    #[getter]
    fn special_tokens_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.make(
            py,
            &self.made.special_tokens_mask,
            Layout::special_tokens_mask,
        )
    }

    /// First code point of each token in its own text; 0 for the template's and padding.
    ///
    /// Raises ``UsageError`` if the inputs were made without ``offsets=True``; so do the next two.
    #[getter]
    fn starts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.places(py)?.starts.bind(py).clone())
    }

    /// One past the last code point of each token in its own text; 0 for the template's and
    /// padding.
    #[getter]
    fn ends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.places(py)?.ends.bind(py).clone())
    }

    /// Index of the pretoken in its own text; -1 for special tokens, the template's and padding.
    #[getter]
    fn word_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.places(py)?.word_ids.bind(py).clone())
    }

    /// Text or pair that each row is from, int64 (n_rows,).
    #[getter]
    fn overflow_to_sample<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        Self::vector(py, self.layout.samples())
    }

    /// Tokens of each text or pair before truncation, without the template's, int64 (n_texts,).
    #[getter]
    fn n_tokens<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        Self::vector(py, self.layout.n_tokens())
    }

    /// Tokens of each text or pair that stand in no row, int64 (n_texts,).
    #[getter]
    fn n_truncated_tokens<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        Self::vector(py, self.layout.n_truncated())
    }

    /// Ids of each row without padding, int64 (n_rows,).
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let lengths: Vec<i64> = (0..self.layout.n_rows())
            .map(|row| self.layout.row_length(row) as i64)
            .collect();
        lengths.into_pyarray(py).into_any()
    }

    /// Where each row begins if they lie one behind the other, int64 (n_rows + 1,).
    #[getter]
    fn row_offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        Self::vector(py, self.layout.row_offsets())
    }

    /// ``row_offsets`` as int32, the way attention kernels for rows of unequal length take them.
    #[getter]
    fn cu_seqlens<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let offsets = self.layout.row_offsets().iter();
        let offsets: Vec<i32> = offsets.map(|&offset| offset as i32).collect();
        offsets.into_pyarray(py).into_any()
    }

    /// Ids of the longest row without padding.
    #[getter]
    fn max_seqlen(&self) -> usize {
        self.layout.longest()
    }

    /// True if rows are filled up to the same length.
    #[getter]
    fn is_padded(&self) -> bool {
        self.layout.columns().is_some()
    }

    /// Arrays by name, ``input_ids`` and ``attention_mask`` unless others are named.
    ///
    /// ``convert`` is called with each array:
    /// ``model(**inputs.to_dict(convert=torch.from_dlpack))``.
    #[pyo3(signature = (names=None, *, convert=None))]
    fn to_dict<'py>(
        slf: &Bound<'py, Self>,
        names: Option<Vec<String>>,
        convert: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let names = names.unwrap_or_else(|| USUAL_NAMES.map(str::to_owned).to_vec());
        let made = PyDict::new(slf.py());
        for name in names {
            if !NAMES.contains(&name.as_str()) {
                let reason = format!(
                    "{name:?} is no array of model inputs; expected {}",
                    NAMES.join(", ")
                );
                return Err(to_python(slf.py(), &Error::usage(reason)));
            }
            let array = slf.getattr(name.as_str())?;
            let value = match convert {
                Some(convert) if name != "max_seqlen" => convert.call1((array,))?,
                _ => array,
            };
            made.set_item(name, value)?;
        }
        Ok(made)
    }

    /// ``input_ids`` as a DLPack capsule.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.input_ids
            .bind(py)
            .call_method("__dlpack__", (), options)
    }

    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.input_ids.bind(py).call_method0("__dlpack_device__")
    }

    /// Rows.
    fn __len__(&self) -> usize {
        self.layout.n_rows()
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        sequence_iterator(slf.as_any())
    }

    /// The ids of a row without padding, as a view.
    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let row = position(index, self.layout.n_rows())?;
        let length = self.layout.row_length(row);
        let slice = |start: usize| PySlice::new(py, start as isize, (start + length) as isize, 1);
        let ids = self.input_ids.bind(py);
        let Some(columns) = self.layout.columns() else {
            let start = self.layout.row_offsets().get(row);
            let start = start.and_then(|&start| usize::try_from(start).ok());
            return ids.get_item(slice(start.ok_or_else(out_of_range)?));
        };
        let start = if self.pads_left { columns - length } else { 0 };
        let row = row.into_pyobject(py)?.into_any();
        ids.get_item(PyTuple::new(py, [row, slice(start).into_any()])?)
    }

    fn __repr__(&self) -> String {
        let rows = self.layout.n_rows();
        let shape = match self.layout.columns() {
            Some(columns) => {
                let side = if self.pads_left { "left" } else { "right" };
                format!("{rows} rows of {columns} columns, padded on the {side}")
            }
            None => format!("{rows} rows, {} ids, not padded", self.layout.n_ids()),
        };
        format!("<jeton.ModelInputs: {shape}, {}>", self.id_type.name())
    }
}

/// Returns the ids of a layout in the type that was asked for.
pub(crate) fn ids_array<T: Number + Element>(
    py: Python<'_>,
    layout: &Layout,
    first: &jeton_core::documents::token_batch::TokenBatch,
    second: Option<&jeton_core::documents::token_batch::TokenBatch>,
    threads: usize,
) -> PyResult<Py<PyAny>> {
    let ids = enter(py, |_| layout.ids::<T>(first, second, threads))?;
    shaped(py, layout, ids)
}
