//! Documents of one file as a stream of batches.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jeton_core::documents::batch::DocumentBatch;
use jeton_core::error::ErrorKind;

use crate::ahead::Feed;
use crate::compress::Source;
use crate::error::{IoError, Result};
use crate::jsonl::{BadLine, Field};
use crate::lines::{Lines, LongLine};
use crate::text::WholeFile;
use crate::window::Window;

/// The longest character in bytes: the smallest document that always can be cut.
const MIN_DOCUMENT_BYTES: usize = 4;

/// Cost of a document in a batch besides its bytes: its offset. Keeps batches of empty documents
/// finite.
const OFFSET_BYTES: usize = size_of::<i64>();

/// How a file holds documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text, as [`Documents`] says.
    Text,
    /// One JSON object a line.
    Jsonl,
}

/// Definition of a document in a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Documents {
    /// The whole file. An empty file holds none.
    File,
    /// Each line that is not empty, without its end (`\n` or `\r\n`).
    Line,
}

/// How a [`DocumentReader`] reads.
#[derive(Debug, Clone)]
pub struct ReaderOptions {
    /// How the file holds documents.
    pub format: Format,
    /// JSONL: where the text is; dots descend (`message.content`).
    pub field: String,
    /// Text: what a document is.
    pub documents: Documents,
    /// Text that is not valid Unicode is an error instead of being replaced and counted.
    pub strict: bool,
    /// A batch is handed out once it has this many bytes (its offsets included).
    pub batch_bytes: usize,
    /// Text: longer documents are cut at line ends, or between characters where a line is longer.
    /// Values below 4 count as 4.
    pub max_document_bytes: usize,
    /// JSONL: longer lines are an error.
    pub max_line_bytes: usize,
    /// JSONL: a line that is no record with a text is left out and counted instead of an error.
    pub skip_bad_records: bool,
    /// Compressed files that become larger are an error.
    pub max_decompressed_bytes: Option<u64>,
    /// A thread of its own decompresses what comes behind so many bytes; none: no thread does. An
    /// interruption is not told then, so that it is for files whose bytes come without waiting.
    pub decompress_ahead_from: Option<u64>,
}

/// Decompressed bytes (8 MiB) from which on a thread pays. Smaller files are read in some
/// milliseconds.
pub const AHEAD_FROM_BYTES: u64 = 8 << 20;

impl Default for ReaderOptions {
    /// Batches of 8 MiB (enough work for many threads, small beside any memory), documents up to 64
    /// MiB, lines up to 1 GiB.
    fn default() -> Self {
        Self {
            format: Format::Text,
            field: "text".to_owned(),
            documents: Documents::File,
            strict: false,
            batch_bytes: 8 << 20,
            max_document_bytes: 64 << 20,
            max_line_bytes: 1 << 30,
            skip_bad_records: false,
            max_decompressed_bytes: None,
            decompress_ahead_from: None,
        }
    }
}

/// Streams the documents of one file.
///
/// Memory: one batch, and the longest line or document (twice, while its buffer grows). A byte
/// order mark at the start of the file is dropped; NUL bytes are text like any other.
///
/// ```
/// use jeton_io::{DocumentReader, Format, ReaderOptions};
/// let file = &b"{\"text\": \"one\"}\n\n{\"text\": \"two\"}"[..];
/// let options = ReaderOptions { format: Format::Jsonl, ..ReaderOptions::default() };
/// let mut reader = DocumentReader::from_reader("example", file, options);
/// let batch = reader.next_batch()?.unwrap_or_default();
/// assert_eq!(batch.iter().collect::<Vec<_>>(), ["one", "two"]);
/// assert!(reader.next_batch()?.is_none());
/// # Ok::<(), jeton_io::IoError>(())
/// ```
pub struct DocumentReader {
    records: Records,
    strict: bool,
    batch_bytes: usize,
    batch: DocumentBatch,
    is_done: bool,
    n_bytes_read: Arc<AtomicU64>,
    n_documents: u64,
    n_cut_documents: u64,
    skip_bad_records: bool,
    left_out: LeftOut,
}

/// Records that are no documents.
#[derive(Debug, Clone, Default)]
pub struct LeftOut {
    /// Records whose text is null.
    pub n_nulls: u64,
    /// Lines that cannot be used, where [`ReaderOptions::skip_bad_records`] allows them.
    pub n_bad: u64,
    /// The error that the first of them would have been.
    pub first_bad: Option<String>,
}

enum Records {
    File(WholeFile),
    TextLines(Lines),
    JsonLines {
        lines: Lines,
        field: Field,
        scratch: Vec<u8>,
    },
}

impl DocumentReader {
    /// Open a file; `-` is standard input. Nothing is read before the first batch is asked for.
    /// Pipes and devices are waited for, and never decompressed ahead.
    #[allow(clippy::needless_pass_by_value)] // options are made for the call
    pub fn open(path: &str, mut options: ReaderOptions) -> Result<Self> {
        if !std::fs::metadata(path).is_ok_and(|kind| kind.is_file()) {
            options.decompress_ahead_from = None;
        }
        let source = Source::open(path, options.max_decompressed_bytes)?;
        Ok(Self::from_source(source, &options))
    }

    /// Read from anything; `path` names it in errors.
    #[allow(clippy::needless_pass_by_value)] // as in `open`
    pub fn from_reader(
        path: &str,
        reader: impl Read + Send + 'static,
        options: ReaderOptions,
    ) -> Self {
        let source = Source::from_reader(path, reader, options.max_decompressed_bytes);
        Self::from_source(source, &options)
    }

    fn from_source(source: Source, options: &ReaderOptions) -> Self {
        let n_bytes_read = source.n_bytes_read();
        let window = Window::new(Feed::new(source, options.decompress_ahead_from));
        let max_document_bytes = options.max_document_bytes.max(MIN_DOCUMENT_BYTES);
        let records = match (options.format, options.documents) {
            (Format::Text, Documents::File) => {
                Records::File(WholeFile::new(window, max_document_bytes))
            }
            (Format::Text, Documents::Line) => {
                Records::TextLines(Lines::new(window, max_document_bytes, LongLine::Cut))
            }
            (Format::Jsonl, _) => Records::JsonLines {
                lines: Lines::new(window, options.max_line_bytes, LongLine::Refuse),
                field: Field::new(&options.field),
                scratch: Vec::new(),
            },
        };
        Self {
            records,
            strict: options.strict,
            batch_bytes: options.batch_bytes,
            batch: DocumentBatch::new(),
            is_done: false,
            n_bytes_read,
            n_documents: 0,
            n_cut_documents: 0,
            skip_bad_records: options.skip_bad_records,
            left_out: LeftOut::default(),
        }
    }

    /// The next batch, which has at least one document; none at the end and after an error.
    ///
    /// An error for which [`IoError::is_interrupted`] holds loses nothing: call again to go on.
    pub fn next_batch(&mut self) -> Result<Option<DocumentBatch>> {
        while !self.is_done {
            match self.push_next() {
                Ok(true) => {
                    if self.batch.n_bytes() + self.batch.len() * OFFSET_BYTES >= self.batch_bytes {
                        break;
                    }
                }
                Ok(false) => self.is_done = true,
                Err(error) => {
                    if !error.is_interrupted() {
                        self.is_done = true;
                        self.batch = DocumentBatch::new();
                    }
                    return Err(error);
                }
            }
        }
        if self.batch.is_empty() {
            return Ok(None);
        }
        self.n_documents += self.batch.len() as u64;
        // The next batch is likely to be like this one; the first of a small file reserves nothing.
        let next = if self.is_done {
            DocumentBatch::new()
        } else {
            DocumentBatch::with_capacity(self.batch.len(), self.batch.n_bytes())
        };
        Ok(Some(std::mem::replace(&mut self.batch, next)))
    }

    /// Take one record; false at the end.
    fn push_next(&mut self) -> Result<bool> {
        match &mut self.records {
            Records::File(file) => {
                let Some(piece) = file.next_piece()? else {
                    return Ok(false);
                };
                self.n_cut_documents += u64::from(piece.starts_cut);
                let window = file.window();
                self.batch
                    .push(window.taken(piece.bytes), self.strict)
                    .map_err(|error| {
                        let byte_offset = piece.position + valid_bytes(&error);
                        IoError::InvalidText {
                            path: window.path().to_owned(),
                            line: None,
                            byte_offset,
                        }
                    })?;
            }
            Records::TextLines(lines) => {
                let Some(line) = lines.next_line()? else {
                    return Ok(false);
                };
                let window = lines.window();
                let bytes = window.taken(line.bytes);
                if bytes.is_empty() {
                    return Ok(true);
                }
                self.n_cut_documents += u64::from(line.starts_cut);
                self.batch
                    .push(bytes, self.strict)
                    .map_err(|error| IoError::InvalidText {
                        path: window.path().to_owned(),
                        line: Some(line.number),
                        byte_offset: valid_bytes(&error),
                    })?;
            }
            Records::JsonLines {
                lines,
                field,
                scratch,
            } => {
                let Some(line) = lines.next_line()? else {
                    return Ok(false);
                };
                let window = lines.window();
                let bytes = window.taken(line.bytes);
                if bytes.iter().all(u8::is_ascii_whitespace) {
                    return Ok(true);
                }
                let path = || window.path().to_owned();
                match field.push_text(bytes, self.strict, scratch, &mut self.batch) {
                    Ok(is_text) => self.left_out.n_nulls += u64::from(!is_text),
                    Err(BadLine::Reason(reason)) => {
                        let error = IoError::Record {
                            path: path(),
                            line: line.number,
                            reason,
                        };
                        if !self.skip_bad_records {
                            return Err(error);
                        }
                        self.left_out.n_bad += 1;
                        let first = &mut self.left_out.first_bad;
                        first.get_or_insert_with(|| error.to_string());
                    }
                    Err(BadLine::InvalidText(byte_offset)) => {
                        return Err(IoError::InvalidText {
                            path: path(),
                            line: Some(line.number),
                            byte_offset,
                        });
                    }
                }
            }
        }
        Ok(true)
    }

    /// Bytes taken from the file so far, as stored (compressed). The counter may be read from
    /// another thread.
    pub fn n_bytes_read(&self) -> &Arc<AtomicU64> {
        &self.n_bytes_read
    }

    /// Documents in the batches handed out so far; each piece of a cut document is one.
    pub fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// Records that were left out so far.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Documents that were cut because they were too large.
    pub fn n_cut_documents(&self) -> u64 {
        self.n_cut_documents
    }
}

impl Iterator for DocumentReader {
    type Item = Result<DocumentBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// How many bytes of a refused text are valid. Pushing to a batch has no other error.
fn valid_bytes(error: &jeton_core::error::Error) -> u64 {
    match error.kind() {
        ErrorKind::InvalidUtf8 { byte_offset } => *byte_offset,
        _ => 0,
    }
}
