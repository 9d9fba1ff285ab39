//! Packing documents by their lengths.

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_pack::{Bins, KeepGoing, PackError};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::door::{enter, quick};

/// Offsets of the bins, and the documents of each.
type FoundBins<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>);

/// Errors of packing as the core's.
fn to_core(error: PackError) -> Error {
    let hint = match error {
        PackError::Interrupted => return ErrorKind::Interrupted.into(),
        PackError::NoCapacity => "a bin holds at least one token",
        PackError::TooLong { .. } => "split, cut or drop it, or give bins more room",
        PackError::TooMany { .. } => "pack parts of the data set one by one",
        PackError::BadEdges => "bucket_edges finds edges",
        PackError::NoMemory => "pack parts of the data set one by one, or give bins more room",
    };
    Error::usage(format!("{error}\nhint: {hint}"))
}

fn bins<'py>(
    py: Python<'py>,
    lengths: &PyReadonlyArray1<'py, u32>,
    pack: impl FnOnce(&[u32], KeepGoing<'_>) -> std::result::Result<Bins, PackError> + Send,
) -> PyResult<FoundBins<'py>> {
    // A copy, since Python may change the array while other threads run.
    let lengths: Vec<u32> = lengths.as_array().to_vec();
    let (offsets, documents) = enter(py, |keep_going| {
        let found = pack(&lengths, keep_going).map_err(to_core)?;
        let offsets: Vec<i64> = found.offsets.into_iter().map(|end| end as i64).collect();
        Result::Ok((offsets, found.documents))
    })?;
    Ok((offsets.into_pyarray(py), documents.into_pyarray(py)))
}

/// Pack the longest document first, each into the bin that it fills best.
///
/// Returns offsets, int64 (n_bins + 1,), and documents, uint32 (n_documents,): bin ``b`` holds
/// ``documents[offsets[b]:offsets[b + 1]]``, ascending. ``UsageError`` if a document is longer than
/// the capacity.
#[pyfunction]
#[pyo3(signature = (lengths, *, capacity))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn pack_best_fit<'py>(
    py: Python<'py>,
    lengths: PyReadonlyArray1<'py, u32>,
    capacity: u32,
) -> PyResult<FoundBins<'py>> {
    bins(py, &lengths, |lengths, keep_going| {
        jeton_pack::best_fit(lengths, capacity, keep_going)
    })
}

/// Pack documents in their order, each into the first bin with room. Returns what
/// ``pack_best_fit`` does.
#[pyfunction]
#[pyo3(signature = (lengths, *, capacity))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn pack_first_fit<'py>(
    py: Python<'py>,
    lengths: PyReadonlyArray1<'py, u32>,
    capacity: u32,
) -> PyResult<FoundBins<'py>> {
    bins(py, &lengths, |lengths, keep_going| {
        jeton_pack::first_fit(lengths, capacity, keep_going)
    })
}

/// Group neighbours by length into batches; rows times the longest stay within the capacity.
/// Returns what ``pack_best_fit`` does.
#[pyfunction]
#[pyo3(signature = (lengths, *, capacity))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn pack_sorted_batches<'py>(
    py: Python<'py>,
    lengths: PyReadonlyArray1<'py, u32>,
    capacity: u32,
) -> PyResult<FoundBins<'py>> {
    bins(py, &lengths, |lengths, keep_going| {
        jeton_pack::sorted_batches(lengths, capacity, keep_going)
    })
}

/// Group documents of one bucket into batches; rows times the edge stay within the capacity.
/// Returns what ``pack_best_fit`` does.
#[pyfunction]
#[pyo3(signature = (lengths, *, capacity, edges))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn pack_buckets<'py>(
    py: Python<'py>,
    lengths: PyReadonlyArray1<'py, u32>,
    capacity: u32,
    edges: Vec<u32>,
) -> PyResult<FoundBins<'py>> {
    bins(py, &lengths, |lengths, keep_going| {
        jeton_pack::buckets(lengths, capacity, &edges, keep_going)
    })
}

/// At most ``most`` edges with which the rows of all documents have the fewest positions.
///
/// ``documents[i]`` documents have width ``widths[i]``; widths ascend from 1 on. The optimum is
/// exact.
#[pyfunction]
#[pyo3(signature = (widths, documents, *, most))]
#[allow(clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn bucket_edges<'py>(
    py: Python<'py>,
    widths: PyReadonlyArray1<'py, u32>,
    documents: PyReadonlyArray1<'py, u64>,
    most: usize,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let widths: Vec<u32> = widths.as_array().to_vec();
    let documents: Vec<u64> = documents.as_array().to_vec();
    let ascend = widths.first() != Some(&0) && widths.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascend || widths.len() != documents.len() {
        let reason = "widths must ascend from 1 on, each with a number of documents";
        return quick(py, Err(Error::usage(reason)));
    }
    let edges = enter(py, |_| {
        Result::Ok(jeton_pack::bucket_edges(&widths, &documents, most))
    })?;
    Ok(edges.into_pyarray(py))
}
