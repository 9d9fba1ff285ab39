//! The wire format of protocol buffers: numbered fields, one after another.
//!
//! Only what a reader needs: no schema, no copies, every length checked before it is believed.
//! Source: <https://protobuf.dev/programming-guides/encoding/>.

use crate::codec::leb128::put_varint;
use crate::error::{Error, ErrorKind, Result};
use crate::sentencepiece::piece::FORMAT;

/// Deepest nesting of groups that is skipped; the limit of Google's own parsers.
const MAX_DEPTH: u32 = 100;

/// Value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// An integer, enum or boolean.
    Varint(u64),
    /// Eight bytes, or a group: nothing that this format uses.
    Other,
    /// Bytes, text or a message.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

/// A field as it stands in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) number: u32,
    pub(super) value: Value<'a>,
    /// Where the value's bytes start in the file.
    pub(super) offset: usize,
    /// The field with its tag.
    pub(super) raw: &'a [u8],
}

/// Reads the fields of one message.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the message starts in the file.
    start: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], start: usize) -> Self {
        Self {
            bytes,
            at: 0,
            start,
        }
    }

    fn fail<T>(&self, at: usize, reason: &str) -> Result<T> {
        fail(self.start + at, reason)
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut value = 0u64;
        // Ten bytes hold 64 bits; what would lie beyond them is dropped, as the format says.
        for index in 0..10 {
            let Some(&byte) = self.bytes.get(self.at) else {
                return self.fail(start, "a number is cut off");
            };
            self.at += 1;
            value |= u64::from(byte & 0x7F).checked_shl(7 * index).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.fail(start, "a number has more than 10 bytes")
    }

    fn take(&mut self, n: u64, what: &str) -> Result<&'a [u8]> {
        let left = &self.bytes[self.at..];
        match usize::try_from(n).ok().and_then(|n| left.get(..n)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => self.fail(
                self.at,
                &format!("{what} of {n} bytes where {} are left", left.len()),
            ),
        }
    }

    /// The number and wire type of the field that follows.
    fn tag(&mut self) -> Result<(u32, u32)> {
        let start = self.at;
        let tag = self.varint()?;
        match u32::try_from(tag) {
            Ok(tag) if tag >> 3 != 0 => Ok((tag >> 3, tag & 7)),
            _ => self.fail(start, &format!("{tag} is not the tag of a field")),
        }
    }

    fn value(&mut self, number: u32, wire_type: u32) -> Result<Value<'a>> {
        match wire_type {
            0 => self.varint().map(Value::Varint),
            1 => self.take(8, "a number").map(|_| Value::Other),
            2 => {
                let n = self.varint()?;
                self.take(n, "a field").map(Value::Bytes)
            }
            3 => self.skip_group(number).map(|()| Value::Other),
            5 => {
                let bytes = self.take(4, "a number")?;
                let mut four = [0; 4];
                four.copy_from_slice(bytes);
                Ok(Value::Fixed32(u32::from_le_bytes(four)))
            }
            _ => self.fail(
                self.at,
                &format!("wire type {wire_type}; those known are 0 to 3 and 5"),
            ),
        }
    }

    /// Skips a group up to its end, with the groups in it.
    fn skip_group(&mut self, number: u32) -> Result<()> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            let start = self.at;
            match self.tag()? {
                (number, 3) if open.len() < MAX_DEPTH as usize => open.push(number),
                (_, 3) => return self.fail(start, "groups are nested more than 100 deep"),
                (number, 4) if number == innermost => {
                    open.pop();
                }
                (_, 4) => return self.fail(start, "the end of a group that was not begun"),
                (number, wire_type) => {
                    self.value(number, wire_type)?;
                }
            }
        }
        Ok(())
    }

    /// The next field; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Field<'a>>> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let start = self.at;
        let (number, wire_type) = self.tag()?;
        let value = self.value(number, wire_type)?;
        let length = match value {
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        Ok(Some(Field {
            number,
            value,
            offset: self.start + self.at - length,
            raw: &self.bytes[start..self.at],
        }))
    }
}

pub(super) fn fail<T>(offset: usize, reason: &str) -> Result<T> {
    Err(Error::from(ErrorKind::Format {
        format: FORMAT,
        line: None,
        offset: Some(offset as u64),
        reason: reason.to_owned(),
    }))
}

/// Appends a field that holds bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_are_skipped() {
        // Field 9 as a group that holds field 1 = 5 and an empty group 2; then field 1 = 7.
        let bytes = [0x4B, 0x08, 0x05, 0x13, 0x14, 0x4C, 0x08, 0x07];
        let mut reader = Reader::new(&bytes, 0);
        let group = reader.next().unwrap().unwrap();
        assert_eq!((group.number, group.value), (9, Value::Other));
        assert_eq!(group.raw, &bytes[..6]);
        assert_eq!(reader.next().unwrap().unwrap().value, Value::Varint(7));
        assert!(reader.next().unwrap().is_none());
        let deep = [0x0B; 200];
        assert!(Reader::new(&deep, 0).next().is_err());
        assert!(Reader::new(&[0x4B, 0x14], 0).next().is_err());
        assert!(Reader::new(&[0x4C], 0).next().is_err());
    }

    proptest! {
        #[test]
        fn numbers_survive(value: u64) {
            let mut bytes = vec![0x08];
            put_varint(&mut bytes, value);
            let field = Reader::new(&bytes, 0).next().unwrap().unwrap();
            prop_assert_eq!(field.value, Value::Varint(value));
        }

        #[test]
        fn any_bytes_end_in_fields_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = Reader::new(&bytes, 0);
            let mut covered = 0;
            while let Ok(Some(field)) = reader.next() {
                covered += field.raw.len();
            }
            prop_assert!(covered <= bytes.len());
        }
    }
}
