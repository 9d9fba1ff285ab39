//! The Python module `jeton._core`: conversion and one door, nothing else.
//!
//! Every function here has the same shape. It turns Python values into the core's, goes through
//! [`door::enter`], and turns the result back. The door lets other threads run, watches for Ctrl-C
//! and maps errors. `python/jeton/_core.pyi` is the interface that Python sees.

// The docstrings of what Python sees are written in Python's notation (scripts/core_docs.py).
#![allow(
    clippy::doc_markdown,
    clippy::doc_lazy_continuation,
    clippy::doc_link_with_quotes,
    clippy::too_long_first_doc_paragraph
)]

mod arrow;
mod batch;
mod corpus;
mod digest;
mod door;
mod encoding;
mod error;
mod integers;
mod measure;
mod model_inputs;
mod packing;
mod raw_text;
mod reader;
mod recipe;
mod scan;
mod sentencepiece;
mod serving;
mod survey;
mod text;
mod tokenizer;
mod train;
mod view;

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

use jeton_core::cpu::dispatch::{Level, set_limit};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

/// Uses no wider vector instructions than `$JETON_SIMD` names: for measurements, and where a
/// machine has faulty ones.
fn limit_vectors(py: Python<'_>) -> PyResult<()> {
    let Some(given) = std::env::var_os("JETON_SIMD") else {
        return Ok(());
    };
    if let Some(level) = Level::ALL.into_iter().find(|level| given == level.name()) {
        set_limit(level);
        return Ok(());
    }
    let names = Level::ALL.map(Level::name).join(", ");
    let given = given.to_string_lossy();
    let message = format!("JETON_SIMD is {given:?} and has no effect; expected one of {names}");
    let message = CString::new(message)?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1)
}

/// Imports `NumPy` and looks up all that arrays need of it, once.
///
/// Everything that can make arrays calls it when it is made. So no thread imports `NumPy` inside
/// the binding's locks, which a fork at that moment would leave locked in the child. Where it fails
/// the first array says why.
pub(crate) fn meet_numpy(py: Python<'_>) {
    static IS_MET: AtomicBool = AtomicBool::new(false);
    if IS_MET.load(Ordering::Relaxed) || numpy::get_array_module(py).is_err() {
        return;
    }
    // A module that only has the name of NumPy has no arrays.
    if py
        .import("numpy")
        .and_then(|numpy| numpy.getattr("ndarray"))
        .is_ok()
    {
        let _ = PyArray1::<u32>::zeros(py, 0, false).readonly();
        IS_MET.store(true, Ordering::Relaxed);
    }
}

/// Meets it at once if the program has imported it.
fn meet_imported_numpy(py: Python<'_>) -> PyResult<()> {
    if py.import("sys")?.getattr("modules")?.contains("numpy")? {
        meet_numpy(py);
    }
    Ok(())
}

/// The compiled core of jeton.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    limit_vectors(module.py())?;
    meet_imported_numpy(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<batch::TextBatch>()?;
    module.add_class::<batch::TokenBatch>()?;
    module.add_class::<measure::PrefixIndex>()?;
    module.add_class::<measure::TermCounter>()?;
    module.add_class::<measure::TextStats>()?;
    module.add_class::<survey::Survey>()?;
    module.add_class::<survey::Surveyor>()?;
    module.add_class::<measure::TokenStats>()?;
    module.add_class::<model_inputs::ModelInputs>()?;
    module.add_class::<reader::DocumentReader>()?;
    module.add_class::<encoding::Encoding>()?;
    module.add_class::<scan::TextScanner>()?;
    module.add_class::<sentencepiece::SentencePieceModel>()?;
    module.add_class::<sentencepiece::SentencePieceRules>()?;
    module.add_class::<serving::AdmissionBooks>()?;
    module.add_class::<serving::OutputHistory>()?;
    module.add_class::<tokenizer::DecodeIterator>()?;
    module.add_class::<tokenizer::DecodeStream>()?;
    module.add_class::<tokenizer::EncodeIterator>()?;
    module.add_class::<tokenizer::GrowingText>()?;
    module.add_class::<tokenizer::Growth>()?;
    module.add_class::<tokenizer::GuardedEncoding>()?;
    module.add_class::<tokenizer::NoncanonicalIds>()?;
    module.add_class::<tokenizer::ReadRanks>()?;
    module.add_class::<tokenizer::RefusedToken>()?;
    module.add_class::<tokenizer::Segmentation>()?;
    module.add_class::<tokenizer::SpecialToken>()?;
    module.add_class::<tokenizer::Tokenizer>()?;
    corpus::register(module)?;
    tokenizer::register(module)?;
    train::register(module)?;
    module.add_function(wrap_pyfunction!(digest::sha256, module)?)?;
    module.add_function(wrap_pyfunction!(door::available_threads, module)?)?;
    module.add_function(wrap_pyfunction!(error::list_error_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(error::_raise_error_kind, module)?)?;
    module.add_function(wrap_pyfunction!(packing::bucket_edges, module)?)?;
    module.add_function(wrap_pyfunction!(packing::pack_best_fit, module)?)?;
    module.add_function(wrap_pyfunction!(packing::pack_buckets, module)?)?;
    module.add_function(wrap_pyfunction!(packing::pack_first_fit, module)?)?;
    module.add_function(wrap_pyfunction!(packing::pack_sorted_batches, module)?)?;
    module.add_function(wrap_pyfunction!(reader::compress_zstd, module)?)?;
    module.add_function(wrap_pyfunction!(reader::decompress, module)?)?;
    module.add_function(wrap_pyfunction!(recipe::published_patterns, module)?)?;
    module.add_function(wrap_pyfunction!(sentencepiece::compile_charsmap, module)?)?;
    module.add_function(wrap_pyfunction!(serving::simulate_traffic, module)?)?;
    module.add_function(wrap_pyfunction!(survey::pair_digests, module)?)?;
    module.add_function(wrap_pyfunction!(survey::text_digests, module)?)?;
    Ok(())
}
