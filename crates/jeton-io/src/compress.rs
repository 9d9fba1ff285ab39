//! Compressed data: told by its first bytes, decompressed as a stream, bounded.
//!
//! zstd (RFC 8878; several frames, skippable frames) and gzip (RFC 1952; several members). Other
//! bytes pass through untouched. Three limits hold against files made to fill memory. They bound
//! the decompressed bytes (optional), the ratio of decompressed to stored bytes, and the window
//! that a zstd frame may ask for.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flate2::bufread::GzDecoder;

use crate::error::{IoError, Result};

/// How many times larger than its stored form decompressed data may be, once it is past
/// [`RATIO_FREE_BYTES`]. Plain text compresses 3 to 10 times, monotonous logs up to a few hundred;
/// gzip cannot exceed 1032.
pub const MAX_RATIO: u64 = 1000;

/// Decompressed bytes (64 MiB) up to which no ratio is asked: small files cannot do harm.
pub const RATIO_FREE_BYTES: u64 = 64 << 20;

/// Largest zstd window, as a power of two: 128 MiB, the limit of the zstd command without `--long`
/// (`ZSTD_WINDOWLOG_LIMIT_DEFAULT`, zstd 1.5, zstd.h).
pub const WINDOW_LOG_MAX: u32 = 27;

/// Hint about a compressed file that is too large: a small one can hold any number of zeros.
const TRUST: &str = "raise the limit only for a file whose origin you trust";

/// Bytes of compressed data read at a time (128 KiB: one zstd block).
const STORED_BUFFER_BYTES: usize = 128 << 10;

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The first byte of a skippable zstd frame is 0x50 to 0x5f, and these follow.
const ZSTD_SKIPPABLE_TAIL: [u8; 3] = [0x2a, 0x4d, 0x18];
/// gzip's magic number and its only method, deflate.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];
const MAGIC_BYTES: u64 = 4;

/// How data is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// zstd, RFC 8878.
    Zstd,
    /// gzip, RFC 1952.
    Gzip,
}

impl Compression {
    /// Told from the first bytes.
    ///
    /// ```
    /// use jeton_io::compress::Compression;
    /// assert_eq!(Compression::detect(b"\x1f\x8b\x08\x00"), Compression::Gzip);
    /// assert_eq!(Compression::detect(b"plain"), Compression::None);
    /// ```
    pub fn detect(head: &[u8]) -> Self {
        let skippable =
            matches!(head, [0x50..=0x5f, tail @ ..] if tail.starts_with(&ZSTD_SKIPPABLE_TAIL));
        if head.starts_with(&ZSTD_MAGIC) || skippable {
            Self::Zstd
        } else if head.starts_with(&GZIP_MAGIC) {
            Self::Gzip
        } else {
            Self::None
        }
    }
}

/// The decompressed bytes of one file as a stream that names the file in its errors.
pub(crate) struct Source {
    path: String,
    state: State,
    compression: Compression,
    stored: Stored,
    max_bytes: Option<u64>,
    n_bytes: u64,
}

/// The compression is told at the first read, not at opening, so that waiting for standard input
/// can be interrupted like any other read.
enum State {
    Undetected {
        head: Vec<u8>,
        reader: Counting,
    },
    Decoding(Box<dyn Read + Send>),
    /// A decoder could not be built.
    Broken,
}

/// Facts about the stored side of a stream.
#[derive(Clone, Default)]
struct Stored {
    n_bytes: Arc<AtomicU64>,
    /// The operating system failed, so an error that a decoder passes on is not the data's fault.
    failed: Arc<AtomicBool>,
}

/// Counts the stored bytes on their way into the decoder.
struct Counting {
    reader: Box<dyn Read + Send>,
    stored: Stored,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buffer);
        self.stored.failed.store(result.is_err(), Ordering::Relaxed);
        match result {
            Ok(n) => {
                self.stored.n_bytes.fetch_add(n as u64, Ordering::Relaxed);
                Ok(n)
            }
            // Decoders try again by themselves on `Interrupted`, and Ctrl-C would be lost;
            // `WouldBlock` is the kind on which they give up for now and keep their state.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                Err(io::Error::new(io::ErrorKind::WouldBlock, Interrupted))
            }
            Err(error) => Err(error),
        }
    }
}

#[derive(Debug)]
struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

impl Source {
    /// Open a file; `-` is standard input.
    pub(crate) fn open(path: &str, max_bytes: Option<u64>) -> Result<Self> {
        if path == "-" {
            return Ok(Self::from_reader(path, io::stdin(), max_bytes));
        }
        let file = File::open(path).map_err(|source| IoError::Io {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::from_reader(path, file, max_bytes))
    }

    /// Wrap anything that can be read. `max_bytes` bounds what compressed data may become.
    pub(crate) fn from_reader(
        path: &str,
        reader: impl Read + Send + 'static,
        max_bytes: Option<u64>,
    ) -> Self {
        let stored = Stored::default();
        let reader = Counting {
            reader: Box::new(reader),
            stored: stored.clone(),
        };
        Self {
            path: path.to_owned(),
            state: State::Undetected {
                head: Vec::new(),
                reader,
            },
            compression: Compression::None,
            stored,
            max_bytes,
            n_bytes: 0,
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// True if the first bytes told so; they are read with the first others.
    pub(crate) fn is_compressed(&self) -> bool {
        self.compression != Compression::None
    }

    /// Bytes handed out so far, decompressed.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Stored bytes taken so far; the counter lives on with the stream.
    pub(crate) fn n_bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.stored.n_bytes)
    }

    /// Read some bytes; 0 at the end. After an interruption, call again.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let result = match &mut self.state {
            State::Decoding(reader) => reader.read(buffer),
            _ => self.detect().and_then(|mut reader| {
                let result = reader.read(buffer);
                self.state = State::Decoding(reader);
                result
            }),
        };
        let n = result.map_err(|error| self.explain(error))?;
        self.n_bytes += n as u64;
        if self.compression != Compression::None {
            self.check_limits()?;
        }
        Ok(n)
    }

    /// Read the first bytes and set up the decoder that they ask for.
    fn detect(&mut self) -> io::Result<Box<dyn Read + Send>> {
        if let State::Undetected { head, reader } = &mut self.state {
            // Bytes read before an interruption stay in `head`.
            reader
                .take(MAGIC_BYTES - head.len() as u64)
                .read_to_end(head)?;
        }
        let State::Undetected { head, reader } = std::mem::replace(&mut self.state, State::Broken)
        else {
            return Err(io::Error::other("the decoder could not be set up"));
        };
        self.compression = Compression::detect(&head);
        let whole = Cursor::new(head).chain(reader);
        Ok(match self.compression {
            Compression::None => Box::new(whole),
            Compression::Gzip => {
                let buffered = BufReader::with_capacity(STORED_BUFFER_BYTES, whole);
                Box::new(Members(Some(GzDecoder::new(buffered))))
            }
            Compression::Zstd => {
                let buffered = BufReader::with_capacity(STORED_BUFFER_BYTES, whole);
                let mut decoder = zstd::Decoder::with_buffer(buffered)?;
                decoder.window_log_max(WINDOW_LOG_MAX)?;
                Box::new(decoder)
            }
        })
    }

    fn check_limits(&self) -> Result<()> {
        let too_large = |what: &str, limit| {
            Err(IoError::Limit {
                path: self.path.clone(),
                what: what.to_owned(),
                limit,
                hint: TRUST,
            })
        };
        if let Some(limit) = self.max_bytes.filter(|&limit| self.n_bytes > limit) {
            return too_large("the decompressed data", limit);
        }
        let allowed = self
            .stored
            .n_bytes
            .load(Ordering::Relaxed)
            .saturating_mul(MAX_RATIO);
        if self.n_bytes > RATIO_FREE_BYTES.max(allowed) {
            return too_large(
                "the decompressed data (1000 times its stored size)",
                RATIO_FREE_BYTES.max(allowed),
            );
        }
        Ok(())
    }

    fn explain(&self, error: io::Error) -> IoError {
        let path = self.path.clone();
        if is_interrupt(&error) {
            return IoError::Io {
                path,
                source: io::ErrorKind::Interrupted.into(),
            };
        }
        if self.compression == Compression::None || self.stored.failed.load(Ordering::Relaxed) {
            return IoError::Io {
                path,
                source: error,
            };
        }
        let reason = error.to_string();
        // zstd's name for ZSTD_error_frameParameter_windowTooLarge (zstd 1.5,
        // lib/common/error_private.c).
        if reason.contains("requires too much memory") {
            let what = "the window that a zstd frame asks for".to_owned();
            return IoError::Limit {
                path,
                what,
                limit: 1 << WINDOW_LOG_MAX,
                hint: TRUST,
            };
        }
        IoError::BadCompression { path, reason }
    }
}

/// The members of a gzip file one after another. Zeros behind a member are skipped, as gzip(1) does
/// it: tapes and block devices fill their last block.
struct Members<R: BufRead>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(decoder) = &mut self.0 {
            let n = decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            let reader = decoder.get_mut();
            let is_over = loop {
                let stored = reader.fill_buf()?;
                let n_zeros = stored.iter().take_while(|&&byte| byte == 0).count();
                if n_zeros == 0 {
                    break stored.is_empty();
                }
                reader.consume(n_zeros);
            };
            let decoder = self.0.take().filter(|_| !is_over);
            self.0 = decoder.map(|decoder| GzDecoder::new(decoder.into_inner()));
        }
        Ok(0)
    }
}

fn is_interrupt(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Interrupted>)
}

/// Decompress zstd or gzip, told by magic number; anything else is returned as it is.
///
/// `path` names the data in errors. Errors: `Limit` past `max_bytes`, past [`MAX_RATIO`] or for a
/// window above [`WINDOW_LOG_MAX`]; `BadCompression` for damaged data.
///
/// ```
/// let stored = jeton_io::compress_zstd(b"text", 3)?;
/// assert_eq!(*jeton_io::decompress(&stored, 100, None)?, *b"text");
/// assert_eq!(*jeton_io::decompress(b"plain", 100, None)?, *b"plain");
/// # Ok::<(), jeton_io::IoError>(())
/// ```
pub fn decompress<'a>(data: &'a [u8], max_bytes: u64, path: Option<&str>) -> Result<Cow<'a, [u8]>> {
    if Compression::detect(data) == Compression::None {
        return Ok(Cow::Borrowed(data));
    }
    // The decoder wants to own what it reads; the stored form is the small one.
    let stored = Cursor::new(data.to_vec());
    let mut source = Source::from_reader(path.unwrap_or("the given data"), stored, Some(max_bytes));
    let mut output = Vec::new();
    let mut buffer = vec![0; STORED_BUFFER_BYTES];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(Cow::Owned(output)),
            n => output.extend_from_slice(&buffer[..n]),
        }
    }
}

/// Compress as one zstd frame that states its size and carries a checksum. Equal data, level and
/// version of zstd give equal bytes. Levels are zstd's (1 to 22); others are brought into its
/// range.
pub fn compress_zstd(data: &[u8], level: i32) -> Result<Vec<u8>> {
    let frame = || -> io::Result<Vec<u8>> {
        let mut encoder = zstd::Encoder::new(Vec::new(), level)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(data.len() as u64))?;
        encoder.write_all(data)?;
        encoder.finish()
    };
    frame().map_err(|source| IoError::Io {
        path: "the given data".to_owned(),
        source,
    })
}
