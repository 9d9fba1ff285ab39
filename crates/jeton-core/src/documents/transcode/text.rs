//! Characters as text, not looked at again where all of them were some.
#![allow(unsafe_code)] // the only reason for this module

use std::ops::Range;

use super::{Kept, Unit, Written, to_utf8};
use crate::cpu::prefetch::ReadLater;
use crate::documents::texts::as_text;
use crate::error::Result;

/// The text that characters are, written into `room`, which grows and is not emptied, so that one
/// which is used again need not be filled with zeros again. Half a surrogate pair, or a number that
/// is no character's, is `InvalidUtf8` at the byte where it would be.
pub fn to_text<'r, U: Unit>(characters: &[U], room: &'r mut Vec<u8>) -> Result<&'r str> {
    let Written { n_bytes, is_text } = to_utf8(characters, room);
    let written = room.get(..n_bytes).unwrap_or_default();
    if is_text {
        // SAFETY: every number is a character's, and its UTF-8 is written. There is nothing else in
        // these bytes.
        return Ok(unsafe { std::str::from_utf8_unchecked(written) });
    }
    as_text(written)
}

impl Kept<'_> {
    /// How many characters there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::One(characters) => characters.len(),
            Self::Two(characters) => characters.len(),
            Self::Four(characters) => characters.len(),
        }
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Some of them; none where the range is not within them.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        match self {
            Self::One(characters) => Self::One(characters.get(range).unwrap_or_default()),
            Self::Two(characters) => Self::Two(characters.get(range).unwrap_or_default()),
            Self::Four(characters) => Self::Four(characters.get(range).unwrap_or_default()),
        }
    }

    /// They, as what is to be read later.
    pub(crate) fn later(self) -> ReadLater {
        match self {
            Self::One(characters) => ReadLater::new(characters),
            Self::Two(characters) => ReadLater::new(characters),
            Self::Four(characters) => ReadLater::new(characters),
        }
    }

    /// The text that they are; see [`to_text`].
    pub fn text(self, room: &mut Vec<u8>) -> Result<&str> {
        match self {
            Self::One(characters) => to_text(characters, room),
            Self::Two(characters) => to_text(characters, room),
            Self::Four(characters) => to_text(characters, room),
        }
    }
}
