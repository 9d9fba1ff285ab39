//! Ids of one text with where each comes from.

use jeton_core::code_points::code_point_ranges;
use numpy::PyArray1;
use pyo3::prelude::*;

/// Ids of one text with where each comes from.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct Encoding {
    ids: Vec<u32>,
    starts: Vec<i64>,
    ends: Vec<i64>,
    starts_bytes: Vec<i64>,
    ends_bytes: Vec<i64>,
    word_ids: Vec<i64>,
    special_tokens_mask: Vec<bool>,
    type_ids: Vec<u32>,
}

impl Encoding {
    pub(crate) fn new(encoding: jeton_core::tokenizer::Encoding, text: &str) -> Self {
        let starts_bytes: Vec<i64> = encoding.starts.iter().map(|&at| at as i64).collect();
        let ends_bytes: Vec<i64> = encoding.ends.iter().map(|&at| at as i64).collect();
        let (starts, ends) = code_point_ranges(text, &encoding.starts, &encoding.ends);
        Self {
            ids: encoding.ids,
            starts,
            ends,
            starts_bytes,
            ends_bytes,
            word_ids: encoding.word_ids,
            special_tokens_mask: encoding.special_tokens_mask,
            type_ids: encoding.type_ids,
        }
    }
}

#[pymethods]
impl Encoding {
    #[getter]
    fn ids<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        crate::view::read_only(slf, &slf.get().ids)
    }

    #[getter]
    fn starts<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().starts)
    }

    #[getter]
    fn ends<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().ends)
    }

    #[getter]
    fn starts_bytes<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().starts_bytes)
    }

    #[getter]
    fn ends_bytes<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().ends_bytes)
    }

    #[getter]
    fn word_ids<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().word_ids)
    }

    #[getter]
    fn special_tokens_mask<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<bool>> {
        crate::view::read_only(slf, &slf.get().special_tokens_mask)
    }

    #[getter]
    fn type_ids<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        crate::view::read_only(slf, &slf.get().type_ids)
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }
}
