//! `FixedLength`: pieces of a fixed number of characters; the last piece may be shorter.

use crate::error::{Error, Result};

/// A split into pieces of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedLength {
    chars: usize,
}

impl FixedLength {
    /// `chars`: characters of a piece, at least one.
    pub fn new(chars: usize) -> Result<Self> {
        if chars == 0 {
            return Err(Error::format(
                "tokenizer.json",
                "FixedLength has the length 0; it must be at least 1",
            ));
        }
        Ok(Self { chars })
    }

    /// Characters of a piece.
    pub(super) fn chars(self) -> usize {
        self.chars
    }

    /// Calls `emit` with the byte range of each piece, left to right.
    pub fn split(self, text: &str, emit: &mut dyn FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut start = 0;
        let cuts = text
            .char_indices()
            .map(|(at, _)| at)
            .step_by(self.chars)
            .skip(1);
        for end in cuts.chain([text.len()]).filter(|&end| end > 0) {
            emit(start, end)?;
            start = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_those_of_the_reference() {
        let split = |chars: usize, text: &str| {
            let mut pieces = Vec::new();
            FixedLength::new(chars)
                .unwrap()
                .split(text, &mut |start, end| {
                    pieces.push(text[start..end].to_owned());
                    Ok(())
                })
                .unwrap();
            pieces
        };
        assert_eq!(
            split(3, "Hello 👋 world"),
            ["Hel", "lo ", "👋 w", "orl", "d"]
        );
        assert_eq!(split(3, "abcdef"), ["abc", "def"]);
        assert_eq!(split(usize::MAX, "ab"), ["ab"]);
        assert!(split(5, "").is_empty());
        assert!(FixedLength::new(0).is_err());
    }
}
