//! Documents from files.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jeton_io::{Documents, Format, ReaderOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::TextBatch;
use crate::error::io_to_python;
use crate::meet_numpy;

/// Most bytes that a vocabulary file may decompress to unless the caller says otherwise.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Streams one file (``"-"``: standard input) as batches of documents; compressed or not.
///
/// Compression (zstd, gzip, none) is detected from the first bytes. ``format="text"``: the file is
/// one document (``documents="file"``) or one document a line (``documents="line"``; empty lines
/// are skipped). ``format="jsonl"``: one JSON object a line, the text under ``field`` (dots
/// descend: ``"message.content"``); blank lines are skipped, and so are texts that are null
/// (counted in ``n_null_documents``). ``skip_bad_records`` leaves out lines that do not parse or
/// have no text (``n_bad_records``). A text document above ``max_document_bytes`` is cut at line
/// ends (counted in ``n_cut_documents``). ``decompress_ahead``: a thread of its own decompresses a
/// large file.
///
/// Raises ``RecordError`` (path, line) for a line that does not parse, ``LimitError`` for a file
/// that decompresses to more than ``max_decompressed_bytes`` or beyond 1000 times its size,
/// ``InvalidTextError`` under ``strict``, ``OSError`` and its subclasses for the file itself.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct DocumentReader {
    reader: Mutex<jeton_io::DocumentReader>,
    /// Shared with the reader, so that a progress bar can look while another thread reads.
    n_bytes_read: Arc<AtomicU64>,
}

impl DocumentReader {
    fn with<R>(&self, run: impl FnOnce(&mut jeton_io::DocumentReader) -> R) -> R {
        run(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl DocumentReader {
    #[new]
    #[pyo3(signature = (
        path, *, format, field="text", documents="file", strict=false, batch_bytes=8_388_608,
        max_document_bytes=67_108_864, max_decompressed_bytes=None, skip_bad_records=false,
        decompress_ahead=false,
    ))]
    #[allow(clippy::too_many_arguments)] // keyword-only in Python
    fn new(
        py: Python<'_>,
        path: &str,
        format: &str,
        field: &str,
        documents: &str,
        strict: bool,
        batch_bytes: usize,
        max_document_bytes: usize,
        max_decompressed_bytes: Option<u64>,
        skip_bad_records: bool,
        decompress_ahead: bool,
    ) -> PyResult<Self> {
        meet_numpy(py);
        let format = match format {
            "text" => Format::Text,
            "jsonl" => Format::Jsonl,
            other => {
                return Err(PyValueError::new_err(format!(
                    "format is {other:?}; expected \"text\" or \"jsonl\""
                )));
            }
        };
        let documents = match documents {
            "file" => Documents::File,
            "line" => Documents::Line,
            other => {
                return Err(PyValueError::new_err(format!(
                    "documents is {other:?}; expected \"file\" or \"line\""
                )));
            }
        };
        let options = ReaderOptions {
            format,
            field: field.to_owned(),
            documents,
            strict,
            batch_bytes,
            max_document_bytes,
            max_decompressed_bytes,
            skip_bad_records,
            decompress_ahead_from: decompress_ahead.then_some(jeton_io::AHEAD_FROM_BYTES),
            ..ReaderOptions::default()
        };
        let reader = open(py, path, options)?;
        Ok(Self {
            n_bytes_read: reader.n_bytes_read().clone(),
            reader: Mutex::new(reader),
        })
    }

    /// Bytes taken from the file so far, as stored (compressed): for a progress bar.
    #[getter]
    fn n_bytes_read(&self) -> u64 {
        self.n_bytes_read.load(Ordering::Relaxed)
    }

    /// Documents handed out so far.
    #[getter]
    fn n_documents(&self) -> u64 {
        self.with(|reader| reader.n_documents())
    }

    /// Documents above ``max_document_bytes``, which came in pieces.
    #[getter]
    fn n_cut_documents(&self) -> u64 {
        self.with(|reader| reader.n_cut_documents())
    }

    /// Records whose text is null, left out so far.
    #[getter]
    fn n_null_documents(&self) -> u64 {
        self.with(|reader| reader.left_out().n_nulls)
    }

    /// Lines left out so far because they cannot be used.
    #[getter]
    fn n_bad_records(&self) -> u64 {
        self.with(|reader| reader.left_out().n_bad)
    }

    /// The error that the first of them would have been; ``None`` without one.
    #[getter]
    fn first_bad_record(&self) -> Option<String> {
        self.with(|reader| reader.left_out().first_bad.clone())
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<TextBatch>> {
        loop {
            match py.detach(|| self.with(jeton_io::DocumentReader::next_batch)) {
                Ok(batch) => return Ok(batch.map(TextBatch)),
                // A signal arrived while waiting; unless it was Ctrl-C, go on where it stopped.
                Err(error) if error.is_interrupted() => py.check_signals()?,
                Err(error) => return Err(io_to_python(py, &error)),
            }
        }
    }
}

/// How often waiting looks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Opens a file. A pipe that nobody writes to is waited for where Ctrl-C is seen: what is left of
/// the wait then is a thread that ends with the process.
fn open(py: Python<'_>, path: &str, options: ReaderOptions) -> PyResult<jeton_io::DocumentReader> {
    let to_error = |error| io_to_python(py, &error);
    let may_wait = |kind: std::fs::Metadata| !kind.is_file() && !kind.is_dir();
    if !std::fs::metadata(path).is_ok_and(may_wait) {
        return jeton_io::DocumentReader::open(path, options).map_err(to_error);
    }
    let (send, opened) = std::sync::mpsc::channel();
    let opened = Mutex::new(opened);
    let name = path.to_owned();
    std::thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = send.send(jeton_io::DocumentReader::open(&name, options));
    });
    loop {
        let answer = py.detach(|| {
            let opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
            opened.recv_timeout(SIGNAL_INTERVAL)
        });
        match answer {
            Ok(reader) => return reader.map_err(to_error),
            Err(_) => py.check_signals()?,
        }
    }
}

/// zstd or gzip by magic number; anything else is returned as it is. ``LimitError`` above
/// max_bytes.
#[pyfunction]
#[pyo3(signature = (data, *, max_bytes=MAX_FILE_BYTES, path=None))]
pub(crate) fn decompress<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
    max_bytes: u64,
    path: Option<&str>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = data.as_bytes();
    let plain = py.detach(|| jeton_io::decompress(bytes, max_bytes, path));
    match plain.map_err(|error| io_to_python(py, &error))? {
        std::borrow::Cow::Borrowed(_) => Ok(data.clone()),
        std::borrow::Cow::Owned(plain) => Ok(PyBytes::new(py, &plain)),
    }
}

/// One zstd frame with a checksum.
#[pyfunction]
#[pyo3(signature = (data, *, level=19))]
pub(crate) fn compress_zstd<'py>(
    py: Python<'py>,
    data: &[u8],
    level: i32,
) -> PyResult<Bound<'py, PyBytes>> {
    let compressed = py.detach(|| jeton_io::compress_zstd(data, level));
    Ok(PyBytes::new(
        py,
        &compressed.map_err(|error| io_to_python(py, &error))?,
    ))
}
