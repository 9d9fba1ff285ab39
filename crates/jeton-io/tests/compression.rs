//! Compressed data: damaged, cut short, made to fill memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::io::{self, Cursor, Read, Write};

use common::{ALL_STORED, Stored, Trickle, read_all};
use jeton_io::compress::{RATIO_FREE_BYTES, WINDOW_LOG_MAX};
use jeton_io::{Documents, IoError, ReaderOptions, compress_zstd, decompress};
use proptest::prelude::*;

const NO_LIMIT: u64 = u64::MAX;

fn by_line() -> ReaderOptions {
    ReaderOptions {
        documents: Documents::Line,
        ..ReaderOptions::default()
    }
}

#[test]
fn data_cut_short_at_any_byte_is_refused_unless_a_part_ends_there() {
    let lines: Vec<String> = (0..300).map(|i| format!("line {}\n", i * i)).collect();
    let content = lines.concat();
    for stored in [Stored::Gzip, Stored::Zstd] {
        let (half, rest) = content.as_bytes().split_at(content.len() / 2);
        let first = stored.store(half, 1);
        let whole = [first.clone(), stored.store(rest, 1)].concat();
        assert_eq!(
            *decompress(&whole, NO_LIMIT, None).unwrap(),
            *content.as_bytes()
        );
        for end in 4..whole.len() {
            let cut = &whole[..end];
            let result = decompress(cut, NO_LIMIT, Some("cut"));
            if end == first.len() {
                assert_eq!(*result.unwrap(), *half);
                continue;
            }
            let error = result.expect_err("a truncated file");
            assert!(
                matches!(&error, IoError::BadCompression { path, .. } if path == "cut"),
                "{stored:?} {end}: {error:?}"
            );
            assert!(matches!(
                read_all(Cursor::new(cut.to_vec()), &by_line()),
                Err(IoError::BadCompression { .. })
            ));
        }
        for end in 0..4 {
            let _ = read_all(Cursor::new(whole[..end].to_vec()), &by_line()); // no magic number: just bytes
        }
    }
}

#[test]
fn a_flipped_bit_never_gives_wrong_text() {
    let content = b"some text that is worth a checksum ".repeat(20);
    for stored in [Stored::Gzip, Stored::Zstd] {
        let whole = stored.store(&content, 1);
        let mut n_harmless = 0;
        for at in 4..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            // Some bits mean nothing (gzip's header names a time and a system, deflate pads its
            // last byte).
            if let Ok(read) = decompress(&damaged, NO_LIMIT, None) {
                assert!(*read == *content, "{stored:?} byte {at}: wrong text");
                n_harmless += 1;
            }
        }
        assert!(
            n_harmless < 12,
            "{stored:?}: {n_harmless} flipped bits were not noticed"
        );
    }
}

#[test]
fn skippable_frames_are_skipped_and_trailing_garbage_is_refused() {
    let skippable = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
    let data = [skippable, compress_zstd(b"text", 1).unwrap()].concat();
    assert_eq!(*decompress(&data, NO_LIMIT, None).unwrap(), *b"text");
    for stored in [Stored::Gzip, Stored::Zstd] {
        let data = [stored.store(b"text", 1), b"garbage behind it".to_vec()].concat();
        assert!(
            matches!(
                decompress(&data, NO_LIMIT, None),
                Err(IoError::BadCompression { .. })
            ),
            "{stored:?}"
        );
    }
}

#[test]
fn the_limit_on_decompressed_bytes_is_exact() {
    for stored in [Stored::Gzip, Stored::Zstd] {
        let data = stored.store(&[b'a'; 1000], 1);
        assert_eq!(decompress(&data, 1000, None).unwrap().len(), 1000);
        let error = decompress(&data, 999, None).unwrap_err();
        assert!(
            matches!(error, IoError::Limit { limit: 999, .. }),
            "{error:?}"
        );
        let options = ReaderOptions {
            max_decompressed_bytes: Some(999),
            ..by_line()
        };
        assert!(matches!(
            read_all(Cursor::new(data), &options),
            Err(IoError::Limit { limit: 999, .. })
        ));
    }
    assert_eq!(decompress(b"not compressed", 1, None).unwrap().len(), 14);
}

#[test]
fn a_bomb_is_refused_by_its_ratio() {
    // 256 MiB of one byte in some 8 KiB of zstd; without a cap of its own.
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    io::copy(
        &mut io::repeat(b'\n').take(4 * RATIO_FREE_BYTES),
        &mut encoder,
    )
    .unwrap();
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 100_000);
    for options in [by_line(), ReaderOptions::default()] {
        let error = read_all(Cursor::new(bomb.clone()), &options).expect_err("a bomb");
        assert!(
            matches!(
                error,
                IoError::Limit {
                    limit: RATIO_FREE_BYTES..,
                    ..
                }
            ),
            "{error:?}"
        );
    }
    assert!(matches!(
        decompress(&bomb, NO_LIMIT, None),
        Err(IoError::Limit { .. })
    ));
}

#[test]
fn a_huge_window_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(WINDOW_LOG_MAX + 1).unwrap();
    encoder.write_all(b"text").unwrap(); // streamed without its size, so that the frame states the window
    let data = encoder.finish().unwrap();
    let error = decompress(&data, NO_LIMIT, None).unwrap_err();
    assert!(
        matches!(
            error,
            IoError::Limit {
                limit: 0x0800_0000,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn an_error_of_the_system_is_not_blamed_on_the_data() {
    struct Failing(Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::ErrorKind::TimedOut.into()),
                n => Ok(n),
            }
        }
    }
    for stored in ALL_STORED {
        let mut data = stored.store(&b"some text\n".repeat(100), 1);
        data.truncate(data.len() - 5);
        let error = read_all(Failing(Cursor::new(data)), &by_line()).expect_err("a failing disk");
        assert!(
            matches!(&error, IoError::Io { source, .. } if source.kind() == io::ErrorKind::TimedOut),
            "{stored:?}: {error:?}"
        );
    }
}

/// Interrupted in its header, flate2 loses its place and ends as if the file were empty, unless the
/// interruption comes to it as `WouldBlock`.
#[test]
fn an_interruption_at_any_byte_loses_nothing() {
    let content = "some text\n".repeat(50);
    for stored in ALL_STORED {
        let data = stored.store(content.as_bytes(), 3);
        let read = read_all(Trickle::new(data, 1), &ReaderOptions::default()).unwrap();
        assert_eq!(read.documents, [content.as_str()], "{stored:?}");
    }
}

#[test]
fn messages_name_the_file_and_what_to_do() {
    let error = decompress(b"\x1f\x8b\x08 broken", NO_LIMIT, Some("x.gz")).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("x.gz: the compressed data is damaged or incomplete: "),
        "{message}"
    );
    assert!(message.contains("\nhint: "), "{message}");
    let io = IoError::Io {
        path: "-".to_owned(),
        source: io::ErrorKind::NotFound.into(),
    };
    assert!(io.to_string().starts_with("cannot read standard input: "));
    assert!(std::error::Error::source(&io).is_some());
}

proptest! {
    #[test]
    fn decompress_undoes_compress(data in prop::collection::vec(any::<u8>(), 0..3000), level in -5_i32..23) {
        let stored = compress_zstd(&data, level).unwrap();
        prop_assert_eq!(&stored, &compress_zstd(&data, level).unwrap());
        prop_assert_eq!(&*decompress(&stored, NO_LIMIT, None).unwrap(), &*data);
    }
}
