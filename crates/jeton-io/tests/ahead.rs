//! Decompression ahead of the reader: the documents, limits and errors of reading without it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::io::{Cursor, Write};

use common::{Stored, Trickle, read_all};
use jeton_io::{AHEAD_FROM_BYTES, DocumentReader, Documents, Format, ReaderOptions};
use proptest::prelude::*;

/// Two ways to read: in one thread, and ahead from the second read on.
fn both(options: &ReaderOptions) -> [ReaderOptions; 2] {
    [None, Some(0)].map(|decompress_ahead_from| ReaderOptions {
        decompress_ahead_from,
        ..options.clone()
    })
}

/// The documents, or the message of the error.
fn told(bytes: &[u8], options: &ReaderOptions) -> Result<common::Read1, String> {
    read_all(Cursor::new(bytes.to_vec()), options).map_err(|error| error.to_string())
}

/// Lines that fill many buffers.
fn long_text() -> Vec<u8> {
    let mut text = Vec::new();
    for number in 0..400_000_u64 {
        writeln!(text, "{{\"text\": \"line {}\"}}", number * number).unwrap();
    }
    assert!(text.len() as u64 > AHEAD_FROM_BYTES);
    text
}

#[test]
fn large_files_give_the_documents_that_one_thread_reads() {
    let text = long_text();
    for stored in [Stored::Gzip, Stored::Zstd] {
        let bytes = stored.store(&text, 3);
        let options = ReaderOptions {
            format: Format::Jsonl,
            ..ReaderOptions::default()
        };
        let [here, ahead] = both(&options);
        let from_there = ReaderOptions {
            decompress_ahead_from: Some(AHEAD_FROM_BYTES),
            ..options
        };
        let wanted = told(&bytes, &here);
        assert_eq!(wanted.as_ref().unwrap().documents.len(), 400_000);
        assert!(told(&bytes, &ahead) == wanted);
        assert!(told(&bytes, &from_there) == wanted);
    }
}

#[test]
fn errors_come_in_their_place() {
    let text = long_text();
    let options = ReaderOptions {
        format: Format::Jsonl,
        ..ReaderOptions::default()
    };
    for stored in [Stored::Gzip, Stored::Zstd] {
        let bytes = stored.store(&text, 1);
        let limited = ReaderOptions {
            max_decompressed_bytes: Some(5_000_000),
            ..options.clone()
        };
        for (data, options) in [
            (&bytes[..bytes.len() - 9], &options),
            (&bytes[..bytes.len() / 2], &options),
            (&bytes[..], &limited),
        ] {
            let [here, ahead] = both(options);
            let wanted = told(data, &here);
            assert!(wanted.is_err());
            assert_eq!(told(data, &ahead), wanted);
        }
        // A bad line comes before the damage behind it.
        let bad = [&text[..], b"{bad\n", &text[..]].concat();
        let mut bytes = stored.store(&bad, 1);
        bytes.truncate(bytes.len() - 100);
        for options in both(&options) {
            let message = told(&bytes, &options).expect_err("a bad line");
            assert!(message.contains("line 400001"), "{message}");
        }
    }
}

#[test]
fn signals_lose_nothing_and_a_reader_can_be_dropped_at_any_time() {
    let text = long_text();
    let bytes = Stored::Zstd.store(&text, 2);
    let [here, ahead] = both(&ReaderOptions {
        documents: Documents::Line,
        batch_bytes: 1 << 20,
        ..ReaderOptions::default()
    });
    let trickle = Trickle::new(bytes.clone(), 1000);
    assert!(
        read_all(trickle, &ahead).unwrap() == read_all(Cursor::new(bytes.clone()), &here).unwrap()
    );
    for n_batches in 0..4 {
        let source = Cursor::new(bytes.clone());
        let mut reader = DocumentReader::from_reader("test", source, ahead.clone());
        for _ in 0..n_batches {
            assert!(reader.next_batch().unwrap().is_some());
        }
    }
}

#[test]
fn files_are_read_ahead_and_pipes_are_not_waited_for() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&Stored::Zstd.store(&long_text(), 1))
        .unwrap();
    let [here, ahead] = both(&ReaderOptions {
        format: Format::Jsonl,
        ..ReaderOptions::default()
    });
    let path = file.path().to_str().unwrap();
    let counts = [here, ahead].map(|options| {
        let mut reader = DocumentReader::open(path, options).unwrap();
        let n_bytes: usize = reader.by_ref().map(|batch| batch.unwrap().n_bytes()).sum();
        (n_bytes, reader.n_documents())
    });
    assert_eq!(counts[0], counts[1]);
    assert!(
        DocumentReader::open("/no/such/file", both(&ReaderOptions::default())[1].clone()).is_err()
    );
}

proptest! {
    #[test]
    fn short_streams_are_the_same(
        lines in prop::collection::vec("[a-c\u{e9}\r]{0,9}", 0..40),
        n_parts in 1_usize..4,
        batch_bytes in 1_usize..200,
        is_gzip: bool,
        cut in 0_usize..30,
    ) {
        let stored = if is_gzip { Stored::Gzip } else { Stored::Zstd };
        let bytes = stored.store(lines.join("\n").as_bytes(), n_parts);
        let bytes = &bytes[..bytes.len().saturating_sub(cut)];
        let [here, ahead] = both(&ReaderOptions {
            documents: Documents::Line,
            batch_bytes,
            ..ReaderOptions::default()
        });
        prop_assert_eq!(told(bytes, &here), told(bytes, &ahead));
    }
}
