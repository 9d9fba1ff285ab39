//! Many texts, wherever they lie: what the batch functions read.
//!
//! A batch of [`BatchRef`] lies in one buffer. Texts of Python or of an Arrow column are not copied
//! into one buffer first. The thread that works on a text reads it in place. A text that is not
//! UTF-8 is converted in that thread's own room.

use crate::documents::batch::{BatchRef, DocumentBatch};
use crate::error::{ErrorKind, Result};

/// Texts by number, to be read from several threads at once.
pub trait Documents: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// About how many bytes a text has: only how work is shared out depends on it.
    fn size(&self, index: usize) -> usize;

    /// A text; `room` is memory that it may be put into.
    ///
    /// Fails with `InvalidUtf8` for what is no text, and for an index past the end.
    fn text<'t>(&'t self, index: usize, room: &'t mut Vec<u8>) -> Result<&'t str>;

    /// True if there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Documents for BatchRef<'_> {
    fn len(&self) -> usize {
        BatchRef::len(self)
    }

    fn size(&self, index: usize) -> usize {
        self.get(index).map_or(0, <[u8]>::len)
    }

    fn text<'t>(&'t self, index: usize, _room: &'t mut Vec<u8>) -> Result<&'t str> {
        as_text(self.get(index).ok_or_else(past_the_end)?)
    }
}

impl Documents for DocumentBatch {
    fn len(&self) -> usize {
        DocumentBatch::len(self)
    }

    fn size(&self, index: usize) -> usize {
        self.as_ref().get(index).map_or(0, <[u8]>::len)
    }

    fn text<'t>(&'t self, index: usize, _room: &'t mut Vec<u8>) -> Result<&'t str> {
        self.get(index).ok_or_else(past_the_end)
    }
}

impl Documents for [&str] {
    fn len(&self) -> usize {
        <[&str]>::len(self)
    }

    fn size(&self, index: usize) -> usize {
        self.get(index).map_or(0, |text| text.len())
    }

    fn text<'t>(&'t self, index: usize, _room: &'t mut Vec<u8>) -> Result<&'t str> {
        self.get(index).copied().ok_or_else(past_the_end)
    }
}

impl<const N: usize> Documents for [&str; N] {
    fn len(&self) -> usize {
        N
    }

    fn size(&self, index: usize) -> usize {
        self.as_slice().size(index)
    }

    fn text<'t>(&'t self, index: usize, room: &'t mut Vec<u8>) -> Result<&'t str> {
        self.as_slice().text(index, room)
    }
}

/// Nobody asks for such a text: the batch functions count to `len`.
fn past_the_end() -> crate::error::Error {
    ErrorKind::InvalidUtf8 { byte_offset: 0 }.into()
}

/// Bytes as text; the error names the first byte that is none.
pub fn as_text(bytes: &[u8]) -> Result<&str> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| {
        let byte_offset =
            simdutf8::compat::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        ErrorKind::InvalidUtf8 {
            byte_offset: byte_offset as u64,
        }
        .into()
    })
}
