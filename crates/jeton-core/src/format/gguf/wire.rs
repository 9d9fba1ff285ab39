//! The wire format of GGUF's metadata: keys and values, one after another.
//!
//! Only the header is read, so the beginning of a file is enough; where it is not, the answer is
//! how many bytes it takes to go on. Every count and length is checked before it is believed, and
//! nothing is copied. Source: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md> (version
//! 3), and for version 1 the same with counts and lengths of 32 bits.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::vocab::MAX_IDS;

pub(super) const FORMAT: &str = "GGUF";

/// First bytes of a file.
const MAGIC: &[u8; 4] = b"GGUF";
/// Most bytes of a header; the largest published ones (a vocabulary of 262,144 with merges) have 20
/// MB.
const MAX_HEADER_BYTES: u64 = 1 << 29;
/// Most pairs of key and value; published files have about forty.
const MAX_PAIRS: u64 = 1 << 16;
/// Most items of an array.
const MAX_ITEMS: u64 = MAX_IDS as u64;
/// Most bytes of a key, by the specification.
const MAX_KEY_BYTES: u64 = 65_535;
/// Deepest nesting of arrays; the specification has no limit, published files have one level.
const MAX_DEPTH: u32 = 8;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// A whole number of any size and sign.
    Integer(i128),
    /// A fraction of any size.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// Bytes that should be UTF-8.
    Text(&'a [u8]),
    /// Items of one type.
    Array(Array<'a>),
}

/// Items of one type, as they stand in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Array<'a> {
    kind: u32,
    len: u64,
    items: Reader<'a>,
}

impl<'a> Array<'a> {
    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the items are single bytes.
    pub(super) fn is_bytes(&self) -> bool {
        matches!(self.kind, 0 | 1)
    }

    /// The items. They were read once before, so none is missing.
    pub(super) fn items(self) -> impl Iterator<Item = Value<'a>> {
        let mut reader = self.items;
        (0..self.len).map_while(move |_| reader.value(self.kind, 1).ok())
    }
}

/// Why reading stopped.
#[derive(Debug)]
enum Stop {
    /// The file must have at least this many bytes.
    More(u64),
    /// It is not what it should be.
    Bad(Error),
}

type Step<T> = std::result::Result<T, Stop>;

/// How much of a file the header takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderBytes {
    /// This many bytes.
    Exactly(u64),
    /// At least this many; more than were given.
    AtLeast(u64),
}

/// The metadata of a file.
#[derive(Debug)]
pub(super) struct Metadata<'a> {
    pairs: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Metadata<'a> {
    /// Reads the metadata.
    pub(super) fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        match read(bytes) {
            Ok((metadata, _)) => Ok(metadata),
            Err(Stop::Bad(error)) => Err(error),
            Err(Stop::More(needed)) => {
                let there = bytes.len();
                let reason = format!(
                    "the metadata is cut off: it takes at least {needed} bytes and {there} are there"
                );
                Err(bad(there, reason))
            }
        }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let pair = self.pairs.iter().find(|(other, _)| *other == key);
        pair.map(|&(_, value)| value)
    }
}

/// How many bytes the header of a file takes, from the beginning of the file.
///
/// Callers that read large files ask for more until the answer is `Exactly`.
pub fn header_bytes(beginning: &[u8]) -> Result<HeaderBytes> {
    match read(beginning) {
        Ok((_, end)) => Ok(HeaderBytes::Exactly(end)),
        Err(Stop::More(needed)) => Ok(HeaderBytes::AtLeast(needed)),
        Err(Stop::Bad(error)) => Err(error),
    }
}

fn bad(offset: usize, reason: impl Into<String>) -> Error {
    let kind = ErrorKind::Format {
        format: FORMAT,
        line: None,
        offset: Some(offset as u64),
        reason: reason.into(),
    };
    kind.into()
}

fn read(bytes: &[u8]) -> Step<(Metadata<'_>, u64)> {
    let mut reader = Reader {
        bytes,
        at: 0,
        big_endian: false,
        wide: true,
    };
    if reader.take(4)? != MAGIC {
        return Err(Stop::Bad(bad(0, "it does not begin with GGUF")));
    }
    let mut version = reader.u32()?;
    // Versions are small, so a version in the other byte order has an empty lower half.
    if version != 0 && version.trailing_zeros() >= 16 {
        reader.big_endian = true;
        version = version.swap_bytes();
    }
    if !(1..=3).contains(&version) {
        let reason = format!("version {version}; those known are 1 to 3");
        return Err(Stop::Bad(bad(4, reason)));
    }
    reader.wide = version > 1;
    let _tensors = reader.size()?;
    let n_pairs = reader.count("pairs of key and value", MAX_PAIRS)?;
    let mut pairs = Vec::new();
    let mut keys = HashSet::new();
    for _ in 0..n_pairs {
        let start = reader.at;
        let key = reader.key()?;
        if !keys.insert(key) {
            let reason = format!("the key {key:?} is there twice");
            return Err(Stop::Bad(bad(start, reason)));
        }
        let kind = reader.u32()?;
        pairs.push((key, reader.value(kind, 0)?));
    }
    Ok((Metadata { pairs }, reader.at as u64))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    big_endian: bool,
    /// Counts and lengths have 64 bits.
    wide: bool,
}

fn fail_at<T>(at: usize, reason: impl Into<String>) -> Step<T> {
    Err(Stop::Bad(bad(at, reason)))
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: u64) -> Step<&'a [u8]> {
        let end = self.at as u64 + n.min(u64::MAX >> 1);
        if end > MAX_HEADER_BYTES {
            let limit = MAX_HEADER_BYTES;
            let what = "GGUF metadata in bytes";
            return Err(Stop::Bad(ErrorKind::TooLarge { what, limit }.into()));
        }
        match self.bytes.get(self.at..end as usize) {
            Some(taken) => {
                self.at = end as usize;
                Ok(taken)
            }
            None => Err(Stop::More(end)),
        }
    }

    /// A whole number of up to eight bytes, without its sign.
    fn unsigned(&mut self, n_bytes: u64) -> Step<u64> {
        let big_endian = self.big_endian;
        let bytes = self.take(n_bytes)?;
        let add = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Ok(if big_endian {
            bytes.iter().fold(0, add)
        } else {
            bytes.iter().rev().fold(0, add)
        })
    }

    fn u32(&mut self) -> Step<u32> {
        Ok(self.unsigned(4)? as u32)
    }

    fn size(&mut self) -> Step<u64> {
        self.unsigned(if self.wide { 8 } else { 4 })
    }

    fn count(&mut self, what: &str, limit: u64) -> Step<u64> {
        let start = self.at;
        let count = self.size()?;
        if count > limit {
            return fail_at(start, format!("{count} {what}; the limit is {limit}"));
        }
        Ok(count)
    }

    fn key(&mut self) -> Step<&'a str> {
        let start = self.at;
        let n = self.count("bytes in a key", MAX_KEY_BYTES)?;
        let key = self.take(n)?;
        match std::str::from_utf8(key) {
            Ok(key) if key.is_ascii() && !key.is_empty() => Ok(key),
            _ => fail_at(start, "a key is empty or not ASCII"),
        }
    }

    fn value(&mut self, kind: u32, depth: u32) -> Step<Value<'a>> {
        let start = self.at;
        Ok(match kind {
            0 => Value::Integer(self.unsigned(1)?.into()),
            1 => Value::Integer((self.unsigned(1)? as i8).into()),
            2 => Value::Integer(self.unsigned(2)?.into()),
            3 => Value::Integer((self.unsigned(2)? as i16).into()),
            4 => Value::Integer(self.u32()?.into()),
            5 => Value::Integer((self.u32()? as i32).into()),
            6 => Value::Float(f32::from_bits(self.u32()?).into()),
            7 => match self.unsigned(1)? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => return fail_at(start, format!("a truth value of {other}")),
            },
            8 => {
                let n = self.size()?;
                Value::Text(self.take(n)?)
            }
            9 => Value::Array(self.array(depth)?),
            10 => Value::Integer(self.unsigned(8)?.into()),
            11 => Value::Integer((self.unsigned(8)? as i64).into()),
            12 => Value::Float(f64::from_bits(self.unsigned(8)?)),
            _ => {
                let reason = format!("a value of type {kind}; those known are 0 to 12");
                return fail_at(start, reason);
            }
        })
    }

    fn array(&mut self, depth: u32) -> Step<Array<'a>> {
        let start = self.at;
        if depth >= MAX_DEPTH {
            let reason = format!("arrays are nested more than {MAX_DEPTH} deep");
            return fail_at(start, reason);
        }
        let kind = self.u32()?;
        let len = self.count("items in an array", MAX_ITEMS)?;
        let items = *self;
        // Numbers need not be looked at one by one.
        let width = match kind {
            0 | 1 => Some(1),
            2 | 3 => Some(2),
            4..=6 => Some(4),
            10..=12 => Some(8),
            _ => None,
        };
        match width {
            Some(width) => {
                self.take(len * width)?;
            }
            None => {
                if len == 0 && kind > 12 {
                    self.value(kind, depth + 1)?; // fails, with the reason
                }
                for _ in 0..len {
                    self.value(kind, depth + 1)?;
                }
            }
        }
        Ok(Array { kind, len, items })
    }
}
