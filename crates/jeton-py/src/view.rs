//! Read-only `NumPy` views of memory that a Rust object owns.

#![allow(unsafe_code)] // the only reason for this module

use numpy::{Element, PyArray1, PyArrayMethods, ndarray::ArrayView1};
use pyo3::PyClass;
use pyo3::prelude::*;

/// A read-only array over a slice that belongs to `owner`, without a copy.
///
/// The caller promises that `data` belongs to `owner`, which must be immutable (a frozen class):
/// the array keeps `owner` alive.
pub(crate) fn read_only<'py, T: Element, O: PyClass>(
    owner: &Bound<'py, O>,
    data: &[T],
) -> Bound<'py, PyArray1<T>> {
    // SAFETY: `data` lives as long as `owner`, which the array holds as its base object; `owner` is
    // a frozen class whose data is never changed or moved, and the array is made read-only before
    // anybody sees it, so nobody writes through it.
    let array =
        unsafe { PyArray1::borrow_from_array(&ArrayView1::from(data), owner.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    array
}
