//! Arrays of strings from any library that speaks Arrow's C data interface (pyarrow, polars ...).
//!
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

#![allow(unsafe_code)] // the C interface hands over raw pointers; each use says why it is sound

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::DataType;
use jeton_core::documents::batch::DocumentBatch;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::error::to_python;

/// The texts of an Arrow array or stream of arrays; None for objects that are neither.
pub(crate) fn collect(texts: &Bound<'_, PyAny>, strict: bool) -> PyResult<Option<DocumentBatch>> {
    let Some(arrays) = arrays(texts)? else {
        return Ok(None);
    };
    let mut batch = DocumentBatch::new();
    for array in arrays {
        each(&of_bytes(array)?, &mut |bytes| {
            batch
                .push(bytes, strict)
                .map_err(|error| to_python(texts.py(), &error))
        })?;
    }
    Ok(Some(batch))
}

/// The arrays of an Arrow array or stream of arrays; None for objects that are neither.
pub(crate) fn arrays(texts: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    if texts.hasattr("__arrow_c_array__")? {
        Ok(Some(vec![array(texts)?]))
    } else if texts.hasattr("__arrow_c_stream__")? {
        stream(texts).map(Some)
    } else {
        Ok(None)
    }
}

/// The pointer in a capsule of the expected name.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &'static std::ffi::CStr) -> PyResult<NonNull<T>> {
    Ok(capsule
        .cast::<PyCapsule>()?
        .pointer_checked(Some(name))?
        .cast())
}

fn array(source: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let capsules = source.call_method0("__arrow_c_array__")?;
    let capsules = capsules.cast::<PyTuple>()?;
    let schema = pointer::<FFI_ArrowSchema>(&capsules.get_item(0)?, c"arrow_schema")?;
    let array = pointer::<FFI_ArrowArray>(&capsules.get_item(1)?, c"arrow_array")?;
    // SAFETY: the capsules have the names that the interface prescribes for these two structures
    // and are alive in `capsules`. Moving the array out leaves a released one behind, as the
    // interface asks.
    let (array, schema) = unsafe { (FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    // SAFETY: the producer promises that the array fits its schema. Bytes are checked for UTF-8
    // below.
    let data = unsafe { from_ffi(array, schema) };
    Ok(make_array(data.map_err(|error| {
        PyValueError::new_err(error.to_string())
    })?))
}

fn stream(source: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let capsule = source.call_method0("__arrow_c_stream__")?;
    let stream = pointer::<FFI_ArrowArrayStream>(&capsule, c"arrow_array_stream")?;
    // SAFETY: as above; the stream is moved out of the capsule and released when dropped.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let failed =
        |code: i32| PyValueError::new_err(format!("the Arrow stream failed with error {code}"));
    let (Some(get_schema), Some(get_next)) = (stream.get_schema(), stream.get_next()) else {
        return Err(PyValueError::new_err(
            "the Arrow stream is already released",
        ));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: a live stream's callbacks take the stream and a place for their result.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    if code != 0 {
        return Err(failed(code));
    }
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as for the schema.
        let code = unsafe { get_next(&raw mut stream, &raw mut array) };
        if code != 0 {
            return Err(failed(code));
        }
        if array.is_released() {
            return Ok(chunks); // the end of the stream
        }
        // SAFETY: the producer promises that the array fits the stream's schema.
        let data = unsafe { from_ffi(array, &schema) };
        chunks.push(make_array(
            data.map_err(|error| PyValueError::new_err(error.to_string()))?,
        ));
    }
}

/// The array, with strings as bytes where only that makes them readable without a check: a producer
/// may put bytes that are not UTF-8 into them. Buffers are shared.
pub(crate) fn of_bytes(array: ArrayRef) -> PyResult<ArrayRef> {
    if array.null_count() > 0 {
        let first = (0..array.len()).find(|&i| array.is_null(i)).unwrap_or(0);
        return Err(PyTypeError::new_err(format!(
            "the Arrow array has a null at position {first}; drop nulls first"
        )));
    }
    match array.data_type() {
        DataType::Utf8View => Ok(Arc::new(array.as_string_view().clone().to_binary_view())),
        _ => Ok(array),
    }
}

/// Calls `add` with the bytes of each string of an array that [`of_bytes`] gave; they lie in the
/// array's buffers.
pub(crate) fn each<'a>(
    array: &'a ArrayRef,
    add: &mut dyn FnMut(&'a [u8]) -> PyResult<()>,
) -> PyResult<()> {
    macro_rules! from_offsets {
        ($strings:expr) => {{
            let strings = $strings;
            let (data, offsets) = (strings.value_data(), strings.value_offsets());
            offsets.windows(2).try_for_each(|pair| {
                let range = usize::try_from(pair[0])
                    .ok()
                    .zip(usize::try_from(pair[1]).ok());
                let bytes = range.and_then(|(start, end)| data.get(start..end));
                add(bytes.ok_or_else(|| {
                    PyValueError::new_err("the Arrow array's offsets do not fit its data")
                })?)
            })
        }};
    }
    match array.data_type() {
        DataType::Utf8 => from_offsets!(array.as_string::<i32>()),
        DataType::LargeUtf8 => from_offsets!(array.as_string::<i64>()),
        DataType::Binary => from_offsets!(array.as_binary::<i32>()),
        DataType::LargeBinary => from_offsets!(array.as_binary::<i64>()),
        DataType::BinaryView => array.as_binary_view().iter().flatten().try_for_each(add),
        other => Err(PyTypeError::new_err(format!(
            "expected an Arrow array of strings, got one of {other}"
        ))),
    }
}
