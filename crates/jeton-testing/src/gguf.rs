//! A writer of GGUF headers, for tests: keys and values as the format has them, whatever they say.

/// A value to write.
#[derive(Clone, Debug)]
pub enum Value {
    /// Type 0.
    U8(u8),
    /// Type 4.
    U32(u32),
    /// Type 5.
    I32(i32),
    /// Type 6.
    F32(f32),
    /// Type 7.
    Bool(bool),
    /// Type 8.
    Text(Vec<u8>),
    /// Type 9: items of one type, by its number.
    Array(u32, Vec<Value>),
    /// Type 10.
    U64(u64),
    /// Type 12.
    F64(f64),
}

impl Value {
    /// A string.
    pub fn text(text: &str) -> Self {
        Self::Text(text.as_bytes().to_vec())
    }

    /// An array of strings.
    pub fn texts<S: AsRef<str>>(texts: &[S]) -> Self {
        let items = texts.iter().map(|text| Self::text(text.as_ref()));
        Self::Array(8, items.collect())
    }

    /// An array of 32-bit numbers.
    pub fn i32s(numbers: &[i32]) -> Self {
        Self::Array(5, numbers.iter().map(|&number| Self::I32(number)).collect())
    }

    /// An array of fractions.
    pub fn f32s(numbers: &[f32]) -> Self {
        Self::Array(6, numbers.iter().map(|&number| Self::F32(number)).collect())
    }

    /// An array of bytes.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Array(0, bytes.iter().map(|&byte| Self::U8(byte)).collect())
    }

    fn kind(&self) -> u32 {
        match self {
            Self::U8(_) => 0,
            Self::U32(_) => 4,
            Self::I32(_) => 5,
            Self::F32(_) => 6,
            Self::Bool(_) => 7,
            Self::Text(_) => 8,
            Self::Array(..) => 9,
            Self::U64(_) => 10,
            Self::F64(_) => 12,
        }
    }
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The version of the format; version 1 has counts and lengths of 32 bits.
    pub version: u32,
    /// The byte order.
    pub big_endian: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            version: 3,
            big_endian: false,
        }
    }
}

impl Layout {
    /// A header with these keys, and no tensors.
    pub fn write(self, pairs: &[(&str, Value)]) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        self.number(&mut out, u64::from(self.version), 4);
        self.size(&mut out, 0);
        self.size(&mut out, pairs.len());
        for (key, value) in pairs {
            self.text(&mut out, key.as_bytes());
            self.number(&mut out, u64::from(value.kind()), 4);
            self.value(&mut out, value);
        }
        out
    }

    fn number(self, out: &mut Vec<u8>, number: u64, n_bytes: usize) {
        if self.big_endian {
            out.extend_from_slice(&number.to_be_bytes()[8 - n_bytes..]);
        } else {
            out.extend_from_slice(&number.to_le_bytes()[..n_bytes]);
        }
    }

    fn size(self, out: &mut Vec<u8>, size: usize) {
        self.number(out, size as u64, if self.version == 1 { 4 } else { 8 });
    }

    fn text(self, out: &mut Vec<u8>, text: &[u8]) {
        self.size(out, text.len());
        out.extend_from_slice(text);
    }

    fn value(self, out: &mut Vec<u8>, value: &Value) {
        match value {
            Value::U8(number) => self.number(out, u64::from(*number), 1),
            Value::U32(number) => self.number(out, u64::from(*number), 4),
            Value::I32(number) => self.number(out, u64::from(number.cast_unsigned()), 4),
            Value::F32(number) => self.number(out, u64::from(number.to_bits()), 4),
            Value::Bool(flag) => self.number(out, u64::from(*flag), 1),
            Value::Text(text) => self.text(out, text),
            Value::Array(kind, items) => {
                self.number(out, u64::from(*kind), 4);
                self.size(out, items.len());
                items.iter().for_each(|item| self.value(out, item));
            }
            Value::U64(number) => self.number(out, *number, 8),
            Value::F64(number) => self.number(out, number.to_bits(), 8),
        }
    }
}
