//! Helpers shared by the tests of the reader: a naive twin, ways to store bytes, a stream that
//! trickles.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part

use std::io::{self, Read, Write};

use jeton_io::{DocumentReader, Documents, Format, IoError, ReaderOptions};

/// Everything a reader says about one stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read1 {
    pub(crate) documents: Vec<String>,
    pub(crate) n_replaced_documents: u64,
    pub(crate) n_replacements: u64,
    pub(crate) n_cut_documents: u64,
}

/// Read all with the real reader. Also checks what must hold for every batch.
pub(crate) fn read_all(
    bytes: impl Read + Send + 'static,
    options: &ReaderOptions,
) -> Result<Read1, IoError> {
    let mut reader = DocumentReader::from_reader("test", bytes, options.clone());
    let mut all = Read1::default();
    loop {
        let batch = match reader.next_batch() {
            Ok(Some(batch)) => batch,
            Ok(None) => break,
            Err(error) if error.is_interrupted() => continue,
            Err(error) => {
                assert!(
                    reader.next_batch().is_ok_and(|batch| batch.is_none()),
                    "an error ends the stream"
                );
                return Err(error);
            }
        };
        assert!(!batch.is_empty());
        let last = batch.get(batch.len() - 1).unwrap();
        let without_last = batch.n_bytes() - last.len() + 8 * (batch.len() - 1);
        assert!(
            batch.len() == 1 || without_last < options.batch_bytes,
            "a batch grows past its limit"
        );
        all.documents.extend(batch.iter().map(str::to_owned));
        all.n_replaced_documents += batch.n_replaced_documents();
        all.n_replacements += batch.n_replacements();
    }
    assert_eq!(reader.n_documents(), all.documents.len() as u64);
    all.n_cut_documents = reader.n_cut_documents();
    Ok(all)
}

/// The naive twin: the whole stream in memory, lines by `split`, records by `serde_json::Value`,
/// text by `from_utf8_lossy`. It knows nothing of surrogates, limits or errors.
pub(crate) fn read_naively(bytes: &[u8], options: &ReaderOptions) -> Read1 {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut all = Read1::default();
    if options.format == Format::Text && options.documents == Documents::File {
        if !bytes.is_empty() {
            all.push_text(bytes, options.max_document_bytes);
        }
        return all;
    }
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let tail = lines.pop().unwrap(); // what follows the last line end: its `\r` is no part of a line end
    let stripped = lines
        .into_iter()
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    for line in stripped.chain([tail]) {
        match options.format {
            Format::Text if !line.is_empty() => all.push_text(line, options.max_document_bytes),
            Format::Jsonl if !line.trim_ascii().is_empty() => {
                let mut value: &serde_json::Value = &serde_json::from_slice(line).unwrap();
                for key in options.field.split('.') {
                    value = &value[key];
                }
                if !value.is_null() {
                    all.documents.push(value.as_str().unwrap().to_owned());
                }
            }
            _ => {}
        }
    }
    all
}

impl Read1 {
    fn push_text(&mut self, mut bytes: &[u8], max: usize) {
        self.n_cut_documents += u64::from(bytes.len() > max);
        while !bytes.is_empty() {
            let mut end = bytes.len().min(max);
            if bytes.len() > max {
                if let Some(at) = bytes[..max].iter().rposition(|&byte| byte == b'\n') {
                    end = at + 1;
                } else {
                    let can_start = |&at: &usize| !(0x80..0xc0).contains(&bytes[at]);
                    end = [max, max - 1, max - 2, max - 3]
                        .into_iter()
                        .find(can_start)
                        .unwrap_or(max);
                }
            }
            let n = bytes[..end]
                .utf8_chunks()
                .filter(|chunk| !chunk.invalid().is_empty())
                .count() as u64;
            self.n_replacements += n;
            self.n_replaced_documents += u64::from(n > 0);
            self.documents
                .push(String::from_utf8_lossy(&bytes[..end]).into_owned());
            bytes = &bytes[end..];
        }
    }
}

/// How test bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Plain,
    Gzip,
    Zstd,
}

pub(crate) const ALL_STORED: [Stored; 3] = [Stored::Plain, Stored::Gzip, Stored::Zstd];

impl Stored {
    /// Store as `n_parts` gzip members or zstd frames.
    pub(crate) fn store(self, bytes: &[u8], n_parts: usize) -> Vec<u8> {
        let part_bytes = bytes.len().div_ceil(n_parts).max(1);
        let parts: Vec<&[u8]> = if bytes.is_empty() {
            vec![bytes]
        } else {
            bytes.chunks(part_bytes).collect()
        };
        parts
            .into_iter()
            .flat_map(|part| self.store_part(part))
            .collect()
    }

    fn store_part(self, part: &[u8]) -> Vec<u8> {
        match self {
            Self::Plain => part.to_vec(),
            Self::Gzip => {
                let mut encoder =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(part).unwrap();
                encoder.finish().unwrap()
            }
            Self::Zstd => jeton_io::compress_zstd(part, 1).unwrap(),
        }
    }
}

/// Hands out a few bytes at a time, with a signal before each.
pub(crate) struct Trickle {
    bytes: io::Cursor<Vec<u8>>,
    step: usize,
    interrupted: bool,
}

impl Trickle {
    pub(crate) fn new(bytes: Vec<u8>, step: usize) -> Self {
        Self {
            bytes: io::Cursor::new(bytes),
            step,
            interrupted: false,
        }
    }
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = buffer.len().min(self.step);
        self.bytes.read(&mut buffer[..n])
    }
}
