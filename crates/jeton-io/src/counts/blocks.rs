//! Pretokens and counts as blocks of bytes: sorted, so that each entry says only how it differs
//! from the one before.
//!
//! ```text
//! block   u32 bytes of the payload (not 0), u32 entries, u64 checksum, payload
//! entry   varint bytes shared with the pretoken before, varint bytes that follow, those bytes,
//!         varint count
//! end     u32 0, u32 0, u64 checksum, the five u64 of `Sums`
//! ```
//!
//! Numbers are little-endian, varints are LEB128. Checksums are XXH3 of 64 bits with the block's
//! number as the seed, so that blocks cannot trade places. The first entry of a block shares
//! nothing. Pretokens rise strictly by their bytes. English takes about 6 bytes an entry.

use std::io::{self, Read, Write};

use jeton_core::codec::leb128::{put_varint, take_varint};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes from which on a block is complete.
const BLOCK_BYTES: usize = 64 << 10;
/// Longest pretoken that is read; none of the core is longer.
const MAX_PRETOKEN_BYTES: usize = u32::MAX as usize;
/// How many times as many bytes of pretokens as of file there may be, once there are more than the
/// next constant says. Sorted English shrinks to a half; a file made to fill memory says little and
/// means much.
const MAX_RATIO: u64 = 1000;
const RATIO_FREE_BYTES: u64 = 64 << 20;

/// Sums over a sequence of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Distinct pretokens.
    pub n_distinct: u64,
    /// Bytes of the distinct pretokens, each once.
    pub n_distinct_bytes: u64,
    /// Documents that were counted.
    pub n_documents: u64,
    /// Pretokens, with their counts.
    pub n_pretokens: u64,
    /// Bytes of pretokens, with their counts.
    pub n_bytes: u64,
}

impl Sums {
    fn to_bytes(self) -> [u8; 40] {
        let mut bytes = [0; 40];
        let numbers = [
            self.n_distinct,
            self.n_distinct_bytes,
            self.n_documents,
            self.n_pretokens,
            self.n_bytes,
        ];
        for (place, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; 40]) -> Self {
        let mut numbers = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|n| u64::from_le_bytes(*n));
        let mut next = || numbers.next().unwrap_or(0);
        Self {
            n_distinct: next(),
            n_distinct_bytes: next(),
            n_documents: next(),
            n_pretokens: next(),
            n_bytes: next(),
        }
    }
}

/// Writes entries as blocks.
pub(super) struct BlockWriter<W> {
    output: W,
    payload: Vec<u8>,
    n_entries: u32,
    n_blocks: u64,
    last: Vec<u8>,
    sums: Sums,
    n_bytes_written: u64,
}

impl<W: Write> BlockWriter<W> {
    pub(super) fn new(output: W) -> Self {
        Self {
            output,
            payload: Vec::with_capacity(BLOCK_BYTES + 4096),
            n_entries: 0,
            n_blocks: 0,
            last: Vec::new(),
            sums: Sums::default(),
            n_bytes_written: 0,
        }
    }

    /// Appends an entry, which must come after the one before.
    pub(super) fn push(&mut self, pretoken: &[u8], count: u64) -> io::Result<()> {
        let shared = if self.n_entries == 0 {
            0
        } else {
            let same = self.last.iter().zip(pretoken).take_while(|(a, b)| a == b);
            same.count()
        };
        put_varint(&mut self.payload, shared as u64);
        put_varint(&mut self.payload, (pretoken.len() - shared) as u64);
        self.payload.extend_from_slice(&pretoken[shared..]);
        put_varint(&mut self.payload, count);
        self.last.truncate(shared);
        self.last.extend_from_slice(&pretoken[shared..]);
        self.n_entries += 1;
        let sums = &mut self.sums;
        sums.n_distinct += 1;
        sums.n_distinct_bytes += pretoken.len() as u64;
        // A single spilled count may be a difference modulo 2^64: only sums of all runs are true.
        sums.n_pretokens = sums.n_pretokens.wrapping_add(count);
        sums.n_bytes = sums
            .n_bytes
            .wrapping_add(count.wrapping_mul(pretoken.len() as u64));
        if self.payload.len() >= BLOCK_BYTES {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        let checksum = xxh3_64_with_seed(&self.payload, self.n_blocks);
        let size = u32::try_from(self.payload.len())
            .map_err(|_| io::Error::other("a pretoken is too long to be written"))?;
        self.output.write_all(&size.to_le_bytes())?;
        self.output.write_all(&self.n_entries.to_le_bytes())?;
        self.output.write_all(&checksum.to_le_bytes())?;
        self.output.write_all(&self.payload)?;
        self.n_bytes_written += 16 + u64::from(size);
        self.n_blocks += 1;
        self.n_entries = 0;
        self.payload.clear();
        Ok(())
    }

    /// Writes the end. Returns the output, what was written, and its bytes.
    pub(super) fn finish(mut self, n_documents: u64) -> io::Result<(W, Sums, u64)> {
        if self.n_entries > 0 {
            self.end_block()?;
        }
        self.sums.n_documents = n_documents;
        let sums = self.sums.to_bytes();
        let checksum = xxh3_64_with_seed(&sums, self.n_blocks);
        self.output.write_all(&[0; 8])?;
        self.output.write_all(&checksum.to_le_bytes())?;
        self.output.write_all(&sums)?;
        Ok((self.output, self.sums, self.n_bytes_written + 56))
    }
}

/// Why entries cannot be read.
#[derive(Debug)]
pub(super) enum BadBlock {
    Io(io::Error),
    Reason(String),
}

impl From<io::Error> for BadBlock {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return bad("it ends early");
        }
        Self::Io(error)
    }
}

fn bad(reason: impl Into<String>) -> BadBlock {
    BadBlock::Reason(reason.into())
}

/// Reads entries of blocks. Nothing is believed: not the order, not the counts, not the sums at the
/// end.
pub(super) struct BlockReader<R> {
    input: R,
    payload: Vec<u8>,
    at: usize,
    n_left: u32,
    n_blocks: u64,
    key: Vec<u8>,
    sums: Sums,
    end: Option<Sums>,
    n_bytes_read: u64,
    /// True for a spilled run, whose counts may be 0 or wrapped.
    is_run: bool,
}

impl<R: Read> BlockReader<R> {
    pub(super) fn new(input: R, is_run: bool) -> Self {
        Self {
            input,
            payload: Vec::new(),
            at: 0,
            n_left: 0,
            n_blocks: 0,
            key: Vec::new(),
            sums: Sums::default(),
            end: None,
            n_bytes_read: 0,
            is_run,
        }
    }

    /// The sums, once everything was read.
    pub(super) fn end(&self) -> Option<Sums> {
        self.end
    }

    /// The next entry; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], u64)>, BadBlock> {
        if self.n_left == 0 {
            if self.end.is_some() || !self.next_block()? {
                return Ok(None);
            }
            // The first entry of a block is written whole, and still follows the last one in order.
            let (shared, count) = self.entry()?;
            if shared != 0 {
                return Err(bad(format!(
                    "block {} does not begin anew",
                    self.n_blocks - 1
                )));
            }
            return Ok(Some((&self.key, count)));
        }
        let (_, count) = self.entry()?;
        Ok(Some((&self.key, count)))
    }

    fn next_block(&mut self) -> Result<bool, BadBlock> {
        if self.at != self.payload.len() {
            return Err(bad(format!(
                "block {} is longer than its entries",
                self.n_blocks.saturating_sub(1)
            )));
        }
        let mut head = [0; 16];
        self.input.read_exact(&mut head)?;
        let [a, b, c, d, e, f, g, h, checksum @ ..] = head;
        let size = u32::from_le_bytes([a, b, c, d]);
        let n_entries = u32::from_le_bytes([e, f, g, h]);
        let checksum = u64::from_le_bytes(checksum);
        if size == 0 || n_entries == 0 {
            let mut sums = [0; 40];
            self.input.read_exact(&mut sums)?;
            if size != 0 || n_entries != 0 || xxh3_64_with_seed(&sums, self.n_blocks) != checksum {
                return Err(bad("the checksum of its end is wrong"));
            }
            let end = Sums::from_bytes(&sums);
            self.sums.n_documents = end.n_documents;
            if end != self.sums {
                return Err(bad("the sums at its end are not those of its entries"));
            }
            if self.input.read(&mut [0])? != 0 {
                return Err(bad("something follows its end"));
            }
            self.end = Some(end);
            self.payload.clear();
            self.at = 0;
            return Ok(false);
        }
        // As much memory as there are bytes, whatever the size says.
        self.payload.clear();
        let n = (&mut self.input)
            .take(u64::from(size))
            .read_to_end(&mut self.payload)?;
        if n < size as usize {
            return Err(bad("it ends early"));
        }
        if xxh3_64_with_seed(&self.payload, self.n_blocks) != checksum {
            return Err(bad(format!(
                "the checksum of block {} is wrong",
                self.n_blocks
            )));
        }
        self.n_bytes_read += 16 + u64::from(size);
        self.n_blocks += 1;
        self.n_left = n_entries;
        self.at = 0;
        Ok(true)
    }

    /// Reads an entry into `key`; returns how many bytes it shares with the one before, and its
    /// count.
    fn entry(&mut self) -> Result<(usize, u64), BadBlock> {
        let block = self.n_blocks - 1;
        let broken = || bad(format!("block {block} does not hold entries"));
        let (Some(shared), Some(added)) = (
            take_varint(&self.payload, &mut self.at),
            take_varint(&self.payload, &mut self.at),
        ) else {
            return Err(broken());
        };
        let (Ok(shared), Ok(added)) = (usize::try_from(shared), usize::try_from(added)) else {
            return Err(broken());
        };
        let end = self.at.checked_add(added).ok_or_else(broken)?;
        let (Some(suffix), Some(old)) = (self.payload.get(self.at..end), self.key.get(shared..))
        else {
            return Err(broken());
        };
        if suffix <= old && (self.sums.n_distinct > 0 || suffix.is_empty()) {
            return Err(bad(format!("block {block} is not sorted")));
        }
        if shared + added > MAX_PRETOKEN_BYTES {
            return Err(broken());
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(suffix);
        self.at = end;
        let count = take_varint(&self.payload, &mut self.at).ok_or_else(broken)?;
        self.n_left -= 1;
        let len = self.key.len() as u64;
        let sums = &mut self.sums;
        sums.n_distinct += 1;
        sums.n_distinct_bytes += len;
        if self.is_run {
            sums.n_pretokens = sums.n_pretokens.wrapping_add(count);
            sums.n_bytes = sums.n_bytes.wrapping_add(count.wrapping_mul(len));
            return Ok((shared, count));
        }
        if count == 0 {
            return Err(bad(format!(
                "block {block} has a pretoken that never occurs"
            )));
        }
        let sum = |sum: u64, n: Option<u64>| n.and_then(|n| sum.checked_add(n));
        match (
            sum(sums.n_pretokens, Some(count)),
            sum(sums.n_bytes, count.checked_mul(len)),
        ) {
            (Some(n_pretokens), Some(n_bytes)) => {
                sums.n_pretokens = n_pretokens;
                sums.n_bytes = n_bytes;
            }
            _ => return Err(bad("its counts sum up to more than 2^64")),
        }
        let allowed = RATIO_FREE_BYTES.max(self.n_bytes_read.saturating_mul(MAX_RATIO));
        if sums.n_distinct_bytes > allowed {
            return Err(bad("its pretokens are 1000 times as long as the file"));
        }
        Ok((shared, count))
    }
}
