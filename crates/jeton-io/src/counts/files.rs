//! Files of counts: what several machines exchange, what training can begin from, and what a
//! stopped run leaves.
//!
//! ```text
//! file    "JTCOUNTS", u32 version, u32 bytes of the header, header (JSON),
//!         u64 checksum of the header, blocks
//! header  {"recipe": what cut the text into pretokens, "info": whatever the writer wants to say}
//! ```
//!
//! Counts of different recipes must not be added up, so the recipe stands in the file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::blocks::{BadBlock, BlockReader, BlockWriter, Sums};
use crate::error::{IoError, Result};

const MAGIC: &[u8; 8] = b"JTCOUNTS";
const VERSION: u32 = 1;
/// Bytes of the longest header that is read: lists of some hundred thousand inputs.
const MAX_HEADER_BYTES: u32 = 64 << 20;
/// Bytes that are read or written at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// Header of a file of counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsHeader {
    /// Recipe that cut the text into pretokens: counts of different recipes cannot be added up.
    pub recipe: Value,
    /// Notes of the writer: sources, weights, progress.
    pub info: Value,
}

/// Reads a file of counts, entry by entry.
pub struct CountsReader<R> {
    path: String,
    header: CountsHeader,
    blocks: BlockReader<R>,
}

impl CountsReader<BufReader<File>> {
    /// Opens a file and reads its header.
    pub fn open(path: &str) -> Result<Self> {
        let file = File::open(path).map_err(|source| IoError::Io {
            path: path.to_owned(),
            source,
        })?;
        Self::from_reader(path, BufReader::with_capacity(BUFFER_BYTES, file))
    }
}

impl<R: Read> CountsReader<R> {
    /// Reads the header; `path` names the data in errors.
    pub fn from_reader(path: &str, mut input: R) -> Result<Self> {
        let header = read_header(&mut input).map_err(|bad| explain(path, bad))?;
        Ok(Self {
            path: path.to_owned(),
            header,
            blocks: BlockReader::new(input, false),
        })
    }

    /// Returns the header.
    pub fn header(&self) -> &CountsHeader {
        &self.header
    }

    /// The next pretoken and how often it occurs, by rising bytes; none at the end, where all that
    /// is left to be checked was checked.
    pub fn next_entry(&mut self) -> Result<Option<(&[u8], u64)>> {
        self.blocks.next().map_err(|bad| explain(&self.path, bad))
    }

    /// Returns the sums of the entries, once all were read.
    pub fn sums(&self) -> Option<Sums> {
        self.blocks.end()
    }
}

fn bad(reason: impl Into<String>) -> BadBlock {
    BadBlock::Reason(reason.into())
}

fn read_header(input: &mut impl Read) -> std::result::Result<CountsHeader, BadBlock> {
    let mut magic = [0; 8];
    let n = read_some(input, &mut magic)?;
    if n < 8 || &magic != MAGIC {
        return Err(bad("it does not begin as one"));
    }
    let mut number = || -> io::Result<u32> {
        let mut bytes = [0; 4];
        input.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    };
    let version = number()?;
    if version != VERSION {
        return Err(bad(format!("its version is {version}, expected {VERSION}")));
    }
    let size = number()?;
    if size > MAX_HEADER_BYTES {
        return Err(bad(format!(
            "its header has {size} bytes, expected at most {MAX_HEADER_BYTES}"
        )));
    }
    let mut header = Vec::new();
    if input.take(u64::from(size)).read_to_end(&mut header)? < size as usize {
        return Err(bad("it ends early"));
    }
    let mut checksum = [0; 8];
    input.read_exact(&mut checksum)?;
    if u64::from_le_bytes(checksum) != xxh3_64(&header) {
        return Err(bad("the checksum of its header is wrong"));
    }
    serde_json::from_slice(&header).map_err(|error| bad(format!("its header: {error}")))
}

/// As many bytes as there are, up to the size of the buffer.
fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match input.read(&mut buffer[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n)
}

/// An error of reading entries, with the name of the file.
pub(super) fn explain(path: &str, bad: BadBlock) -> IoError {
    match bad {
        BadBlock::Io(source) => IoError::Io {
            path: path.to_owned(),
            source,
        },
        BadBlock::Reason(reason) => IoError::Counts {
            path: path.to_owned(),
            reason,
        },
    }
}

/// Writes a file of counts, whole or not at all: it has another name in the same folder until it is
/// complete.
pub struct CountsWriter {
    path: PathBuf,
    blocks: BlockWriter<BufWriter<NamedTempFile>>,
}

impl CountsWriter {
    /// Begins a file.
    pub fn create(path: &str, header: &CountsHeader) -> Result<Self> {
        // A link keeps pointing to the file, which is replaced.
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
        let begin = || -> io::Result<BufWriter<NamedTempFile>> {
            let folder = match target.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            // Looked at first, because then the system's own error says what is wrong with it.
            std::fs::metadata(folder)?;
            let mut named = tempfile::Builder::new();
            named.prefix(".jeton-").suffix(".tmp");
            // Readable by those whom the process lets read what it makes, as any other file.
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                named.permissions(std::fs::Permissions::from_mode(0o666));
            }
            let mut file = BufWriter::with_capacity(BUFFER_BYTES, named.tempfile_in(folder)?);
            write_header(&mut file, header)?;
            Ok(file)
        };
        let file = begin().map_err(|source| IoError::Write {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: target,
            blocks: BlockWriter::new(file),
        })
    }

    /// Appends a pretoken with its count; they must rise by their bytes, and no count be 0.
    pub fn push(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let written = self.blocks.push(pretoken, count);
        written.map_err(|source| write_error(&self.path, source))
    }

    /// Completes the file, which takes its name. Returns what its entries come to.
    pub fn finish(self, n_documents: u64) -> Result<Sums> {
        let Self { path, blocks } = self;
        let finish = || -> io::Result<Sums> {
            let (file, sums, _) = blocks.finish(n_documents)?;
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            // A full disk may show only here.
            file.as_file().sync_all()?;
            if let Ok(old) = std::fs::metadata(&path) {
                file.as_file().set_permissions(old.permissions())?;
            }
            file.persist(&path).map_err(|failed| failed.error)?;
            Ok(sums)
        };
        finish().map_err(|source| write_error(&path, source))
    }
}

fn write_header(output: &mut impl Write, header: &CountsHeader) -> io::Result<()> {
    let header = serde_json::to_vec(header)?;
    let size = u32::try_from(header.len())
        .ok()
        .filter(|&size| size <= MAX_HEADER_BYTES)
        .ok_or_else(|| io::Error::other("the header is too long"))?;
    output.write_all(MAGIC)?;
    output.write_all(&VERSION.to_le_bytes())?;
    output.write_all(&size.to_le_bytes())?;
    output.write_all(&header)?;
    output.write_all(&xxh3_64(&header).to_le_bytes())
}

/// A file of counts in memory; the entries must rise by their bytes.
pub fn encoded<'e>(
    header: &CountsHeader,
    entries: impl Iterator<Item = (&'e [u8], u64)>,
    n_documents: u64,
) -> io::Result<Vec<u8>> {
    let mut output = Vec::new();
    write_header(&mut output, header)?;
    let mut blocks = BlockWriter::new(output);
    for (pretoken, count) in entries {
        blocks.push(pretoken, count)?;
    }
    Ok(blocks.finish(n_documents)?.0)
}

/// Makes a file of one block with these bytes, a stated number of entries and right checksums.
/// Tests need such files.
pub fn sealed(payload: &[u8], n_entries: u32) -> io::Result<Vec<u8>> {
    let header = CountsHeader {
        recipe: Value::Null,
        info: Value::Null,
    };
    let mut file = Vec::new();
    write_header(&mut file, &header)?;
    file.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    file.extend_from_slice(&n_entries.to_le_bytes());
    file.extend_from_slice(&xxh3_64_with_seed(payload, 0).to_le_bytes());
    file.extend_from_slice(payload);
    Ok(file)
}

fn write_error(path: &Path, source: io::Error) -> IoError {
    IoError::Write {
        path: path.display().to_string(),
        source,
    }
}
