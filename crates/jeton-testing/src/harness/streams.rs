//! Targets that read files of documents: compressed data, lines, JSON lines.

use std::io::Cursor;

use jeton_core::documents::batch::DocumentBatch;
use jeton_io::compress::Compression;
use jeton_io::{DocumentReader, Documents, Format, ReaderOptions, compress_zstd, decompress};

/// The cap that decompression gets: far above any input.
const MAX_BYTES: u64 = 1 << 20;

/// zstd and gzip under a cap, whole and as a stream, which must agree; and back.
pub fn compression(data: &[u8]) -> bool {
    let whole = decompress(data, MAX_BYTES, None);
    if let Ok(bytes) = &whole {
        assert!(bytes.len() as u64 <= MAX_BYTES, "the cap does not hold");
    }
    let documents = read(data, options(Format::Text, Documents::File));
    match (&whole, &documents) {
        (Ok(bytes), Ok(batches)) => {
            let text: String = batches.iter().map(DocumentBatch::text).collect();
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            assert_eq!(
                text,
                String::from_utf8_lossy(bytes),
                "a stream gives other text"
            );
        }
        (whole, documents) => {
            assert_eq!(
                whole.is_ok(),
                documents.is_ok(),
                "{whole:?} but {documents:?}"
            );
        }
    }
    let packed = compress_zstd(data, 1).expect("bytes in memory can be compressed");
    let unpacked = decompress(&packed, MAX_BYTES, None).expect("what was packed can be unpacked");
    assert!(unpacked == data, "packing changes bytes");
    whole.is_ok() && Compression::detect(data) != Compression::None
}

/// Documents of text and JSON lines. The first byte chooses how they are read.
pub fn jsonl(data: &[u8]) -> bool {
    let Some((&choice, file)) = data.split_first() else {
        return false;
    };
    let bit = |n: u8| choice >> n & 1 == 1;
    let format = if bit(0) { Format::Text } else { Format::Jsonl };
    let documents = if bit(1) {
        Documents::File
    } else {
        Documents::Line
    };
    let field = if bit(2) { "message.content" } else { "text" };
    let small = bit(3);
    let options = ReaderOptions {
        field: field.to_owned(),
        strict: bit(4),
        batch_bytes: if small { 1 } else { 1 << 16 },
        max_document_bytes: if small { 7 } else { 1 << 16 },
        max_line_bytes: if bit(5) { 64 } else { 1 << 16 },
        ..options(format, documents)
    };
    let strict = options.strict;
    let read = read(file, options);
    if let Ok(batches) = &read {
        let plain = Compression::detect(file) == Compression::None;
        let body = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        match (format, std::str::from_utf8(body)) {
            (Format::Text, Ok(text)) if plain => check_text(batches, text, documents),
            (Format::Jsonl, Ok(text)) if plain => check_json(batches, text, field),
            (_, Err(_)) if plain => assert!(!strict, "strict reading took bytes that are not text"),
            _ => {}
        }
    }
    read.is_ok()
}

fn options(format: Format, documents: Documents) -> ReaderOptions {
    ReaderOptions {
        format,
        documents,
        max_document_bytes: 2 << 20,
        max_decompressed_bytes: Some(MAX_BYTES),
        ..ReaderOptions::default()
    }
}

/// Reads everything and checks each batch's invariants.
fn read(data: &[u8], options: ReaderOptions) -> jeton_io::error::Result<Vec<DocumentBatch>> {
    let mut reader = DocumentReader::from_reader("input", Cursor::new(data.to_vec()), options);
    let mut batches = Vec::new();
    let mut n_documents = 0;
    while let Some(batch) = reader.next_batch()? {
        assert!(!batch.is_empty(), "an empty batch");
        n_documents += batch.len() as u64;
        let (bytes, offsets) = batch.clone().into_parts();
        DocumentBatch::from_parts(bytes, offsets).expect("a batch keeps its promises");
        batches.push(batch);
    }
    assert_eq!(reader.n_documents(), n_documents);
    assert!(
        reader.next_batch().is_ok_and(|batch| batch.is_none()),
        "a batch after the end"
    );
    Ok(batches)
}

/// Valid text loses nothing but line ends.
fn check_text(batches: &[DocumentBatch], text: &str, documents: Documents) {
    let read: String = batches.iter().map(DocumentBatch::text).collect();
    match documents {
        Documents::File => assert_eq!(read, text),
        Documents::Line => {
            let lines = text
                .split('\n')
                .map(|line| line.strip_suffix('\r').unwrap_or(line));
            // A carriage return may also be the last byte of the file, where no line ends.
            let expected: String = lines.collect();
            assert_eq!(read.trim_end_matches('\r'), expected.trim_end_matches('\r'));
        }
    }
}

/// Lines that `serde_json` reads have the text that it finds.
fn check_json(batches: &[DocumentBatch], text: &str, field: &str) {
    let mut read = batches.iter().flat_map(DocumentBatch::iter);
    for line in text
        .split('\n')
        .filter(|line| !line.trim_ascii().is_empty())
    {
        let value = serde_json::from_str::<serde_json::Value>(line);
        let expected = value.as_ref().ok().map(|value| {
            let below = |value, key| match value {
                &serde_json::Value::Null => Some(value),
                value => value.get(key),
            };
            field.split('.').try_fold(value, below)
        });
        match expected {
            Some(Some(serde_json::Value::Null)) => continue,
            // Half a pair of surrogates is no string there, and a null may stand behind it.
            None if line.contains("null") => return,
            _ => {}
        }
        let found = read.next().expect("a line is one document");
        if let Some(expected) = expected {
            assert_eq!(
                expected.and_then(serde_json::Value::as_str),
                Some(found),
                "{line}"
            );
        }
    }
    assert!(read.next().is_none(), "a document from nowhere");
}
