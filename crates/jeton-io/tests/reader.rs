//! The reader against its naive twin, and rule by rule.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::io::{Cursor, Write};
use std::sync::atomic::Ordering;

use common::{ALL_STORED, Read1, Stored, Trickle, read_all, read_naively};
use jeton_io::{DocumentReader, Documents, Format, IoError, ReaderOptions};
use proptest::prelude::*;

fn text(documents: Documents) -> ReaderOptions {
    ReaderOptions {
        documents,
        ..ReaderOptions::default()
    }
}

fn jsonl() -> ReaderOptions {
    ReaderOptions {
        format: Format::Jsonl,
        ..ReaderOptions::default()
    }
}

fn documents(bytes: &[u8], options: &ReaderOptions) -> Vec<String> {
    read_all(Cursor::new(bytes.to_vec()), options)
        .unwrap()
        .documents
}

fn refused(bytes: &[u8], options: &ReaderOptions) -> IoError {
    read_all(Cursor::new(bytes.to_vec()), options).expect_err("should be refused")
}

#[test]
fn a_file_is_one_document_and_an_empty_file_none() {
    assert_eq!(
        documents(b"a\r\nb\n\n", &text(Documents::File)),
        ["a\r\nb\n\n"]
    );
    assert_eq!(documents(b"", &text(Documents::File)), [""; 0]);
    assert_eq!(documents(b"\xef\xbb\xbf", &text(Documents::File)), [""; 0]);
    assert_eq!(documents(b"a\0b", &text(Documents::File)), ["a\0b"]);
}

#[test]
fn lines_lose_their_ends_and_empty_ones_are_skipped() {
    let lines = |bytes| documents(bytes, &text(Documents::Line));
    assert_eq!(lines(b"a\r\n\r\n\n b \nc"), ["a", " b ", "c"]);
    assert_eq!(lines(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n"), ["a", "\u{feff}b"]);
    assert_eq!(lines(b"a\rb\r"), ["a\rb\r"]);
    assert_eq!(lines(b"\n\n"), [""; 0]);
}

#[test]
fn json_lines_skip_blank_ones_and_keep_empty_texts() {
    let bytes = b"\xef\xbb\xbf{\"text\": \"a\"}\r\n \t\r\n\n{\"text\": \"\"}\n{\"text\": \"b\"}";
    assert_eq!(documents(bytes, &jsonl()), ["a", "", "b"]);
}

#[test]
fn a_bad_record_is_named_by_path_and_line() {
    let error = refused(b"{\"text\": \"a\"}\n\n{\"text\": 1}\n", &jsonl());
    assert!(
        matches!(&error, IoError::Record { path, line: 3, .. } if path == "test"),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .starts_with("test, line 3: invalid type: integer `1`, expected a string"),
        "{error}"
    );
}

#[test]
fn bad_records_are_left_out_where_they_may_be() {
    let file =
        b"{\"text\": \"a\"}\n{\"text\": 1}\nnull\n{\"text\": null}\n{\n{\"text\": \"b\"}\n12\n{}\n";
    let options = ReaderOptions {
        skip_bad_records: true,
        batch_bytes: 1,
        ..jsonl()
    };
    let mut reader = DocumentReader::from_reader("test", Cursor::new(file.to_vec()), options);
    let mut seen = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        seen.push((
            batch.get(0).unwrap().to_owned(),
            reader.left_out().n_nulls,
            reader.left_out().n_bad,
        ));
    }
    assert_eq!(seen, [("a".to_owned(), 0, 0), ("b".to_owned(), 1, 3)]);
    assert_eq!(reader.left_out().n_bad, 5);
    let first = reader.left_out().first_bad.clone().unwrap();
    assert!(
        first.starts_with("test, line 2: invalid type: integer `1`"),
        "{first}"
    );
}

#[test]
fn strict_reading_names_the_place() {
    let strict = |options: ReaderOptions| ReaderOptions {
        strict: true,
        max_document_bytes: 4,
        ..options
    };
    let place = |bytes, options| match refused(bytes, &strict(options)) {
        IoError::InvalidText {
            line, byte_offset, ..
        } => (line, byte_offset),
        other => panic!("{other:?}"),
    };
    assert_eq!(place(b"abc\ndef\ng\xff", text(Documents::File)), (None, 9));
    assert_eq!(
        place(b"\xef\xbb\xbfa\xff", text(Documents::File)),
        (None, 4)
    ); // counts the mark
    assert_eq!(place(b"abc\nd\xff", text(Documents::Line)), (Some(2), 1));
    assert_eq!(
        place(b"{\"text\": \"\"}\n{\"text\": \"a\\udfff\"}", jsonl()),
        (Some(2), 1)
    );
}

#[test]
fn large_documents_are_cut_at_line_ends_or_between_characters() {
    let options = |documents| ReaderOptions {
        max_document_bytes: 6,
        ..text(documents)
    };
    let read = |bytes: &str, way| {
        let all = read_all(Cursor::new(bytes.as_bytes().to_vec()), &options(way)).unwrap();
        assert_eq!(all.n_replacements, 0);
        (all.documents, all.n_cut_documents)
    };
    let cut = |pieces: &[&str], n| {
        (
            pieces
                .iter()
                .map(|&piece| piece.to_owned())
                .collect::<Vec<_>>(),
            n,
        )
    };
    assert_eq!(
        read("ab\ncd\nef", Documents::File),
        cut(&["ab\ncd\n", "ef"], 1)
    );
    assert_eq!(
        read("abcdéfg", Documents::File),
        cut(&["abcdé", "fg"], 1).clone()
    );
    assert_eq!(read("abcdeéf", Documents::File), cut(&["abcde", "éf"], 1));
    assert_eq!(read("abcdef", Documents::File), cut(&["abcdef"], 0));
    assert_eq!(
        read("abcdefg\r\nabcdef\r\nabc👩👩", Documents::Line),
        cut(&["abcdef", "g", "abcdef", "abc", "👩", "👩"], 2)
    );
}

#[test]
fn long_records_are_refused_and_short_ones_beside_them_are_not() {
    let options = ReaderOptions {
        max_line_bytes: 13,
        ..jsonl()
    };
    assert_eq!(
        documents(b"{\"text\": \"a\"}\r\n{\"text\": \"b\"}", &options),
        ["a", "b"]
    );
    for bytes in [
        &b"{\"text\": \"a\"}\n{\"text\": \"bc\"}\n"[..],
        b"\n{\"text\": \"bc\"}",
        b"\n{\"text\":\"b\"}  \r",
    ] {
        let error = refused(bytes, &options);
        assert!(
            matches!(&error, IoError::Limit { what, limit: 13, .. } if what == "line 2"),
            "{error:?}"
        );
        assert!(
            error.to_string().contains("plain text file"),
            "it says what to do: {error}"
        );
    }
}

#[test]
fn files_are_opened_by_path_and_their_stored_bytes_counted() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let stored = Stored::Zstd.store(&b"some text\n".repeat(10_000), 3);
    file.write_all(&stored).unwrap();
    let path = file.path().to_str().unwrap();
    let mut reader = DocumentReader::open(path, text(Documents::Line)).unwrap();
    let counter = std::sync::Arc::clone(reader.n_bytes_read());
    assert_eq!(counter.load(Ordering::Relaxed), 0);
    assert_eq!(
        reader
            .by_ref()
            .map(|batch| batch.unwrap().len())
            .sum::<usize>(),
        10_000
    );
    assert_eq!(counter.load(Ordering::Relaxed), stored.len() as u64);

    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let error = DocumentReader::open(missing.to_str().unwrap(), jsonl())
        .err()
        .unwrap();
    assert!(
        matches!(&error, IoError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    );
    let mut reader = DocumentReader::open(folder.path().to_str().unwrap(), jsonl()).unwrap();
    assert!(
        matches!(reader.next_batch(), Err(IoError::Io { .. })),
        "a folder is not a file"
    );
}

#[test]
fn a_reader_can_be_sent_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<DocumentReader>();
    is_send::<IoError>();
}

/// Pieces that meet badly: halves of characters, line ends, marks.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&[u8]] = &[
        b"a",
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"\xc3\xa9",
        b"\xe4\xb8\xad",
        b"\xf0\x9f\x91\xa9",
        b"\xf0\x9f",
        b"\x80",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\0",
        b"some words",
        b"{\"text\": \"a\"}",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

fn json_texts() -> impl Strategy<Value = Vec<String>> {
    let text = prop_oneof![
        any::<String>(),
        "[a-z\\\\\"\n\r\t\u{0}-\u{1f}é👩\u{fffd}]{0,40}",
        Just("x".repeat(3000))
    ];
    prop::collection::vec(text, 0..12)
}

/// One line of a file: what stands there and what it is read as.
fn broken_texts() -> impl Strategy<Value = Vec<(Vec<u8>, String, u64)>> {
    const PIECES: &[(&[u8], &str, u64)] = &[
        (b"a", "a", 0),
        (b"\\n", "\n", 0),
        (b"\\ufffd", "\u{fffd}", 0),
        (b"\xef\xbf\xbd", "\u{fffd}", 0),
        (b"\\ud83d\\ude00", "😀", 0),
        (b"\\ud800.", "\u{fffd}.", 1),
        (b"\\udc00", "\u{fffd}", 1),
        (b"\xff", "\u{fffd}", 1),
        (b"\xf0\x9f\x91.", "\u{fffd}.", 1),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}", 3),
    ];
    let text = prop::collection::vec(prop::sample::select(PIECES), 0..10).prop_map(|pieces| {
        let stored: Vec<u8> = pieces.iter().flat_map(|piece| piece.0).copied().collect();
        let read: String = pieces.iter().map(|piece| piece.1).collect();
        (stored, read, pieces.iter().map(|piece| piece.2).sum())
    });
    prop::collection::vec(text, 0..6)
}

proptest! {
    #[test]
    fn text_equals_the_naive_twin(
        bytes in hostile_bytes(), by_line: bool, max_document_bytes in 4_usize..20, batch_bytes in 1_usize..60,
        stored in prop::sample::select(&ALL_STORED), n_parts in 1_usize..4, step in 1_usize..9,
    ) {
        let way = if by_line { Documents::Line } else { Documents::File };
        let options = ReaderOptions { max_document_bytes, batch_bytes, ..text(way) };
        let expected = read_naively(&bytes, &options);
        let stored = stored.store(&bytes, n_parts);
        prop_assert_eq!(&read_all(Trickle::new(stored.clone(), step), &options).unwrap(), &expected);
        prop_assert_eq!(&read_all(Cursor::new(stored), &options).unwrap(), &expected);
    }

    #[test]
    fn json_lines_come_back_as_written(
        texts in json_texts(), crlf: bool, last_end: bool, nested: bool, nulls: [bool; 3], batch_bytes in 1_usize..5000,
        stored in prop::sample::select(&ALL_STORED), n_parts in 1_usize..4, step in 1_usize..2000,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let field = if nested { "message.content" } else { "text" };
        let record = |text: &String| if nested {
            serde_json::json!({"id": 1, "message": {"role": "user", "content": text}, "content": "no"}).to_string()
        } else {
            serde_json::json!({"a": [text, null], "text": text, "z": {"text": 1.5e3}}).to_string()
        };
        let null = if nested { r#"{"message": {"content": null}}"# } else { r#"{"text": null}"# };
        let mut lines = Vec::new();
        for (text, has_null) in texts.iter().zip(nulls.into_iter().cycle()) {
            lines.push(record(text));
            if has_null {
                lines.push(null.to_owned());
            }
        }
        let mut file = lines.join(end);
        if last_end {
            file.push_str(end);
        }
        let options = ReaderOptions { field: field.to_owned(), batch_bytes, ..jsonl() };
        let expected = Read1 { documents: texts, ..Read1::default() };
        prop_assert_eq!(&read_naively(file.as_bytes(), &options), &expected);
        let stored = stored.store(file.as_bytes(), n_parts);
        prop_assert_eq!(&read_all(Trickle::new(stored, step), &options).unwrap(), &expected);
    }

    #[test]
    fn what_is_not_unicode_is_replaced_and_counted(texts in broken_texts()) {
        let mut file = Vec::new();
        for (stored, ..) in &texts {
            file.extend_from_slice(b"{\"\xff\": \"\\ud800\", \"text\": \"");
            file.extend_from_slice(stored);
            file.extend_from_slice(b"\"}\n");
        }
        let read = read_all(Cursor::new(file.clone()), &jsonl()).unwrap();
        prop_assert_eq!(read.documents, texts.iter().map(|text| text.1.clone()).collect::<Vec<_>>());
        prop_assert_eq!(read.n_replacements, texts.iter().map(|text| text.2).sum::<u64>());
        prop_assert_eq!(read.n_replaced_documents, texts.iter().filter(|text| text.2 > 0).count() as u64);
        let strict = read_all(Cursor::new(file), &ReaderOptions { strict: true, ..jsonl() });
        match texts.iter().position(|text| text.2 > 0) {
            None => prop_assert!(strict.is_ok()),
            Some(i) => {
                let is_place = matches!(strict, Err(IoError::InvalidText { line: Some(line), .. }) if line == i as u64 + 1);
                prop_assert!(is_place);
            }
        }
    }

    /// Reading any bytes as JSON lines ends in documents or in an error, never in a panic.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in hostile_bytes(), magic in 0_usize..4) {
        let magic: &[u8] = [&b""[..], b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"\x50\x2a\x4d\x18"][magic];
        let bytes = [magic, &bytes].concat();
        for options in [jsonl(), text(Documents::File), text(Documents::Line)] {
            let _ = read_all(Cursor::new(bytes.clone()), &options);
        }
        let _ = jeton_io::decompress(&bytes, 1 << 20, None);
    }
}
