//! Ids of one text with where each comes from.

use jeton_core::text::code_points::{CodePointRanges, code_point_ranges};
use numpy::PyArray1;
use pyo3::prelude::*;

/// Ids of one text with where each comes from. All arrays have shape (n_tokens,).
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
        let CodePointRanges { starts, ends } =
            code_point_ranges(text, &encoding.starts, &encoding.ends);
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
    /// uint32 (n_tokens,)
    #[getter]
    fn ids<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        crate::view::read_only(slf, &slf.get().ids)
    }

    /// First code point of each token in the original text.
    #[getter]
    fn starts<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().starts)
    }

    /// One past the last code point of each token in the original text.
    #[getter]
    fn ends<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().ends)
    }

    /// First byte of each token in the original text, as UTF-8.
    #[getter]
    fn starts_bytes<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().starts_bytes)
    }

    /// One past the last byte of each token in the original text.
    #[getter]
    fn ends_bytes<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().ends_bytes)
    }

    /// Index of the pretoken that a token belongs to; -1 for special tokens.
    #[getter]
    fn word_ids<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        crate::view::read_only(slf, &slf.get().word_ids)
    }

    /// True if a token was put around the text (``add_special_tokens``). As in ``tokenizers``, a
    /// special token that stood in the text is not marked; ``Tokenizer.special_tokens_mask`` goes
    /// by id.
    #[getter]
    fn special_tokens_mask<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<bool>> {
        crate::view::read_only(slf, &slf.get().special_tokens_mask)
    }

    /// Token-type ids, as the file's template has them.
    #[getter]
    fn type_ids<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        crate::view::read_only(slf, &slf.get().type_ids)
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }
}
