//! Numbers, bytes and lists as a compiled file has them: little-endian, each list with its length in front.

use crate::error::{Error, Result};

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

/// Bytes from which values are taken. A length that the bytes cannot hold is an error, before anything is reserved.
pub(super) struct Reader<'b>(pub(super) &'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, n: usize) -> Result<&'b [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(n)
            .ok_or_else(|| bad("it breaks off"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let (eight, rest) = self
            .0
            .split_first_chunk()
            .ok_or_else(|| bad("it breaks off"))?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*eight))
    }

    /// A list of items of `width` bytes.
    fn list(&mut self, width: usize) -> Result<&'b [u8]> {
        let n = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let n_bytes = n
            .checked_mul(width)
            .ok_or_else(|| bad("it breaks off"))?;
        self.take(n_bytes)
    }

    pub(super) fn bytes(&mut self) -> Result<&'b [u8]> {
        self.list(1)
    }

    pub(super) fn u32s(&mut self) -> Result<Vec<u32>> {
        let (values, _) = self.list(4)?.as_chunks();
        Ok(values.iter().copied().map(u32::from_le_bytes).collect())
    }

    pub(super) fn u64s(&mut self) -> Result<Vec<u64>> {
        let (values, _) = self.list(8)?.as_chunks();
        Ok(values.iter().copied().map(u64::from_le_bytes).collect())
    }

    pub(super) fn finish(self) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(bad(format!("{} bytes too many", self.0.len())))
    }
}
