//! Bytes to text as they come: a character that is not complete yet is held back.

/// Rule for the bytes that are no UTF-8: which of them become U+FFFD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Marks {
    /// Each longest piece that could have begun a character, as [`String::from_utf8_lossy`] has it.
    #[default]
    EachPiece,
    /// Each byte, as SentencePiece has it.
    EachByte,
}

/// Decodes UTF-8 piece by piece; all pieces together give what the bytes give at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossyUtf8 {
    marks: Marks,
    /// The beginning of a character: three bytes at most.
    held: Vec<u8>,
}

impl LossyUtf8 {
    pub(crate) fn new(marks: Marks) -> Self {
        Self {
            marks,
            held: Vec::new(),
        }
    }

    /// True if bytes wait for the rest of their character.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.held.is_empty()
    }

    /// Appends the text that is final now.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut String) {
        if self.held.is_empty() {
            self.held = self.decode(bytes, out).to_vec();
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(bytes);
            self.held = self.decode(&joined, out).to_vec();
        }
    }

    /// Appends what the bytes that are held become if no more come, and forgets them.
    pub(crate) fn finish(&mut self, out: &mut String) {
        let n_marks = match self.marks {
            Marks::EachPiece => usize::from(self.is_waiting()),
            Marks::EachByte => self.held.len(),
        };
        out.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, n_marks));
        self.held.clear();
    }

    /// Appends what is certain, and gives the incomplete character at the end.
    fn decode<'a>(&self, mut bytes: &'a [u8], out: &mut String) -> &'a [u8] {
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => {
                    out.push_str(text);
                    return &[];
                }
                Err(error) => error,
            };
            let (good, bad) = bytes.split_at(error.valid_up_to());
            out.push_str(std::str::from_utf8(good).unwrap_or_default());
            let Some(length) = error.error_len() else {
                return bad;
            };
            out.push(char::REPLACEMENT_CHARACTER);
            bytes = match self.marks {
                Marks::EachPiece => &bad[length..],
                Marks::EachByte => &bad[1..],
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes of which many are parts of characters.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            "\\PC".prop_map(String::into_bytes),
            "\\PC".prop_map(|text| text.as_bytes()[..text.len() - 1].to_vec()),
            prop::collection::vec(any::<u8>(), 0..3),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    fn each_byte(mut bytes: &[u8]) -> String {
        let mut out = String::new();
        while !bytes.is_empty() {
            let length =
                (1..=bytes.len().min(4)).find(|&n| std::str::from_utf8(&bytes[..n]).is_ok());
            match length {
                Some(n) => out.push_str(std::str::from_utf8(&bytes[..n]).unwrap()),
                None => out.push(char::REPLACEMENT_CHARACTER),
            }
            bytes = &bytes[length.unwrap_or(1)..];
        }
        out
    }

    proptest! {
        #[test]
        fn pieces_give_the_whole(bytes in bytes(), sizes in prop::collection::vec(0..5usize, 0..20)) {
            let whole = [String::from_utf8_lossy(&bytes).into_owned(), each_byte(&bytes)];
            for (marks, whole) in [Marks::EachPiece, Marks::EachByte].into_iter().zip(whole) {
                let mut stream = LossyUtf8::new(marks);
                let mut out = String::new();
                let mut rest = bytes.as_slice();
                for size in &sizes {
                    let (piece, after) = rest.split_at((*size).min(rest.len()));
                    stream.push(piece, &mut out);
                    prop_assert!(whole.starts_with(&out));
                    rest = after;
                }
                stream.push(rest, &mut out);
                stream.finish(&mut out);
                prop_assert_eq!(&out, &whole);
                prop_assert!(!stream.is_waiting());
            }
        }
    }
}
