//! Numbers, bytes and lists as a compiled file has them: little-endian, each list with its length in front.

use std::io::Read;

use xxhash_rust::xxh3::Xxh3;

use super::numbers::{Number, bytes_of};
use crate::error::{Error, Result};
use crate::huge::{Zeroed, prepare_pages};
use crate::shelf::{Shelf, Shelved};

pub(super) const FORMAT: &str = "compiled tokenizer";

pub(super) fn bad(reason: impl Into<String>) -> Error {
    Error::format(FORMAT, reason.into())
}

/// Bytes to which values are appended.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn u32s(&mut self, values: impl ExactSizeIterator<Item = u32>) {
        self.number(values.len() as u64);
        self.0.reserve(values.len() * 4);
        values.for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
    }

    pub(super) fn u64s(&mut self, values: impl ExactSizeIterator<Item = u64>) {
        self.number(values.len() as u64);
        values.for_each(|value| self.number(value));
    }
}

/// Bytes that come from somewhere, of which values are taken as they come, so that nothing lies in memory twice. A
/// length that what is left cannot hold is an error, before anything is reserved.
pub(super) struct Reader<'r> {
    source: &'r mut dyn Read,
    /// Bytes that are still to come.
    left: u64,
    checksum: Box<Xxh3>,
    /// Where lists lie that stay.
    shelf: Shelf,
}

/// Bytes of a list that are read at once.
const PART_BYTES: usize = 1 << 15;

impl<'r> Reader<'r> {
    pub(super) fn new(source: &'r mut dyn Read, left: u64, seed: u64) -> Self {
        Self {
            source,
            left,
            checksum: Box::new(Xxh3::with_seed(seed)),
            // Some of it is read and not kept, what is made of some takes more: of where tokens lie six times as much.
            shelf: Shelf::with_room(usize::try_from(left).unwrap_or(0).saturating_mul(3)),
        }
    }

    /// Where lists lie that stay, for what is made of them.
    pub(super) fn shelf(&mut self) -> &mut Shelf {
        &mut self.shelf
    }

    /// Reads bytes to the end of a list.
    fn read(source: &mut dyn Read, n: usize, out: &mut Vec<u8>) -> Result<()> {
        out.reserve_exact(n);
        prepare_pages(out.spare_capacity_mut());
        let wanted = out.len() + n;
        // What `read_to_end` reads beyond the capacity to find the end is one small try.
        let read = source.take(n as u64).read_to_end(out);
        if read.is_err() || out.len() != wanted {
            return Err(bad("it breaks off"));
        }
        Ok(())
    }

    /// The bytes of a list of `n` items, which are taken from what is left.
    fn claim(&mut self, n: u64, width: u64) -> Result<usize> {
        let n_bytes = n.checked_mul(width).filter(|&n_bytes| n_bytes <= self.left);
        let n_bytes = n_bytes.ok_or_else(|| bad("it breaks off"))?;
        self.left -= n_bytes;
        usize::try_from(n_bytes).map_err(|_| bad("it is too large for this machine"))
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        self.claim(1, 8)?;
        let mut eight = [0; 8];
        self.source
            .read_exact(&mut eight)
            .map_err(|_| bad("it breaks off"))?;
        self.checksum.update(&eight);
        Ok(u64::from_le_bytes(eight))
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>> {
        let n = self.number()?;
        let n_bytes = self.claim(n, 1)?;
        let mut bytes = Vec::new();
        Self::read(self.source, n_bytes, &mut bytes)?;
        self.checksum.update(&bytes);
        Ok(bytes)
    }

    /// How many numbers a list has.
    fn length<T>(&mut self) -> Result<usize> {
        let n = self.number()?;
        Ok(self.claim(n, size_of::<T>() as u64)? / size_of::<T>())
    }

    /// Numbers to where they stay, a part at a time, so that their checksum is taken while they are near.
    fn fill<T: Number>(&mut self, values: &mut [T]) -> Result<()> {
        for part in bytes_of(values).chunks_mut(PART_BYTES) {
            self.source
                .read_exact(part)
                .map_err(|_| bad("it breaks off"))?;
            self.checksum.update(part);
        }
        values.iter_mut().for_each(Number::take_as_little_endian);
        Ok(())
    }

    fn list<T: Number>(&mut self) -> Result<Vec<T>> {
        let mut values = vec![T::default(); self.length::<T>()?];
        prepare_pages(&mut values);
        self.fill(&mut values)?;
        Ok(values)
    }

    /// A list that the tokenizer keeps.
    pub(super) fn lasting<T: Number + Zeroed>(&mut self) -> Result<Shelved<T>> {
        let len = self.length::<T>()?;
        let mut values = self.shelf.zeroed(len);
        self.fill(&mut values)?;
        Ok(values)
    }

    pub(super) fn u32s(&mut self) -> Result<Vec<u32>> {
        self.list()
    }

    pub(super) fn u64s(&mut self) -> Result<Vec<u64>> {
        self.list()
    }

    /// Whether all was read, and is what was written. Gives what is left of the shelf.
    pub(super) fn finish(self, checksum: u128) -> Result<Shelf> {
        if self.left > 0 {
            return Err(bad(format!("{} bytes too many", self.left)));
        }
        if self.checksum.digest128() != checksum {
            return Err(bad("its checksum does not fit: it is damaged"));
        }
        Ok(self.shelf)
    }
}
