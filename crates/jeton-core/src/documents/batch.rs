//! Documents as one UTF-8 buffer and offsets: the exchange unit between files, core and Python.
//!
//! Document `i` is `data[offsets[i]..offsets[i + 1]]`, the layout of an Arrow large-string array,
//! so that both arrays reach Python without a copy.
//!
//! Invariants of a [`DocumentBatch`]: the bytes are valid UTF-8; `offsets` is never empty, starts
//! at 0, never falls, ends at the number of bytes, and cuts no character. Bytes that are not UTF-8
//! are counted and replaced by U+FFFD on the way in, one for each maximal subpart. The Unicode
//! Standard defines this in chapter 3.9, "U+FFFD Substitution of Maximal Subparts";
//! [`String::from_utf8_lossy`] does the same.

use crate::error::{Error, ErrorKind, Result};

/// Replacement of bytes that are not UTF-8.
pub const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Documents in one buffer. Always valid UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentBatch {
    // A `String`, so that `get` needs neither a second validation nor unsafe code.
    data: String,
    offsets: Vec<i64>,
    n_replaced_documents: u64,
    n_replacements: u64,
}

/// A borrowed view of documents: what the core's batch functions take.
///
/// `offsets` has one entry more than there are documents. A view of a [`DocumentBatch`] keeps its
/// invariants; one built by hand has to.
#[derive(Debug, Clone, Copy)]
pub struct BatchRef<'a> {
    /// The bytes of all documents, one after the other.
    pub data: &'a [u8],
    /// Where each document starts; the last entry is where the last one ends.
    pub offsets: &'a [i64],
}

impl Default for DocumentBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl DocumentBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::with_capacity(0, 0)
    }

    /// Makes an empty batch with room for documents and bytes.
    pub fn with_capacity(n_documents: usize, n_bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(n_documents.saturating_add(1));
        offsets.push(0);
        Self {
            data: String::with_capacity(n_bytes),
            offsets,
            n_replaced_documents: 0,
            n_replacements: 0,
        }
    }

    /// A batch of texts that are already valid.
    ///
    /// ```
    /// use jeton_core::documents::batch::DocumentBatch;
    /// let batch = DocumentBatch::from_texts(["one", "", "drei"]);
    /// assert_eq!(batch.offsets(), [0, 3, 3, 7]);
    /// assert_eq!(batch.get(2), Some("drei"));
    /// ```
    pub fn from_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut batch = Self::new();
        for text in texts {
            batch.push_str(text.as_ref());
        }
        batch
    }

    /// A batch from its two arrays, after checking every invariant.
    ///
    /// Errors: `InvalidUtf8` for the bytes, `Format` for offsets that do not fit them.
    pub fn from_parts(data: Vec<u8>, offsets: Vec<i64>) -> Result<Self> {
        if let Err(error) = simdutf8::compat::from_utf8(&data) {
            return Err(invalid_utf8(error.valid_up_to()));
        }
        let data = String::from_utf8(data)
            .map_err(|error| invalid_utf8(error.utf8_error().valid_up_to()))?;
        if offsets.first() != Some(&0) {
            return Err(Error::format(FORMAT, "the first offset should be 0"));
        }
        if offsets.last().copied() != i64::try_from(data.len()).ok() {
            return Err(Error::format(
                FORMAT,
                "the last offset should be the number of bytes",
            ));
        }
        if let Some(i) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Error::format(
                FORMAT,
                format!("the offsets fall after document {i}"),
            ));
        }
        if let Some(i) = offsets
            .iter()
            .position(|&offset| !data.is_char_boundary(to_usize(offset)))
        {
            return Err(Error::format(
                FORMAT,
                format!("offset {i} is inside a character"),
            ));
        }
        Ok(Self {
            data,
            offsets,
            n_replaced_documents: 0,
            n_replacements: 0,
        })
    }

    /// Append one document. Bytes that are not UTF-8 are replaced and counted. Under `strict` they
    /// are the error `InvalidUtf8`, and the batch stays as it was. The error's offset counts from
    /// the start of `bytes`.
    pub fn push(&mut self, bytes: &[u8], strict: bool) -> Result<()> {
        if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
            self.push_str(text);
            return Ok(());
        }
        if strict {
            let valid = simdutf8::compat::from_utf8(bytes)
                .map_or_else(|error| error.valid_up_to(), str::len);
            return Err(invalid_utf8(valid));
        }
        let mut n_replacements = 0;
        for chunk in bytes.utf8_chunks() {
            self.data.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                self.data.push(REPLACEMENT);
                n_replacements += 1;
            }
        }
        self.close_document(n_replacements);
        Ok(())
    }

    /// Append one document that is valid already.
    pub fn push_str(&mut self, text: &str) {
        self.push_replaced(text, 0);
    }

    /// Append one document in which the caller has already replaced `n_replacements` parts that
    /// were not Unicode (lone surrogates of JSON or Python).
    pub fn push_replaced(&mut self, text: &str, n_replacements: u64) {
        self.data.push_str(text);
        self.close_document(n_replacements);
    }

    fn close_document(&mut self, n_replacements: u64) {
        // A `String` is at most isize::MAX bytes long, so this never wraps.
        self.offsets.push(self.data.len() as i64);
        self.n_replacements += n_replacements;
        self.n_replaced_documents += u64::from(n_replacements > 0);
    }

    /// Append every document of another batch, with its counts.
    pub fn append(&mut self, other: &Self) {
        let start = self.data.len() as i64;
        self.data.push_str(&other.data);
        self.offsets
            .extend(other.offsets.iter().skip(1).map(|offset| offset + start));
        self.n_replaced_documents += other.n_replaced_documents;
        self.n_replacements += other.n_replacements;
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True if there is no document (not: no byte).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all documents.
    pub fn n_bytes(&self) -> usize {
        self.data.len()
    }

    /// Document `i`; none past the end.
    pub fn get(&self, i: usize) -> Option<&str> {
        let (&start, &end) = (self.offsets.get(i)?, self.offsets.get(i + 1)?);
        self.data.get(to_usize(start)..to_usize(end))
    }

    /// The documents in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.offsets
            .windows(2)
            .map(|pair| &self.data[to_usize(pair[0])..to_usize(pair[1])])
    }

    /// All documents as one string.
    pub fn text(&self) -> &str {
        &self.data
    }

    /// The bytes, valid UTF-8.
    pub fn data(&self) -> &[u8] {
        self.data.as_bytes()
    }

    /// The offsets, one more than there are documents.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// Documents in which something was replaced.
    pub fn n_replaced_documents(&self) -> u64 {
        self.n_replaced_documents
    }

    /// U+FFFD written in place of something that is not Unicode, over all documents.
    pub fn n_replacements(&self) -> u64 {
        self.n_replacements
    }

    /// The borrowed view.
    #[allow(clippy::should_implement_trait)] // AsRef returns a reference; this returns a pair of them
    pub fn as_ref(&self) -> BatchRef<'_> {
        BatchRef {
            data: self.data.as_bytes(),
            offsets: &self.offsets,
        }
    }

    /// The two arrays, without a copy.
    pub fn into_parts(self) -> (Vec<u8>, Vec<i64>) {
        (self.data.into_bytes(), self.offsets)
    }
}

impl<'a> BatchRef<'a> {
    /// Number of documents.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// True if there is no document (not: no byte).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of document `i`; none past the end.
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        let (&start, &end) = (self.offsets.get(i)?, self.offsets.get(i + 1)?);
        self.data.get(to_usize(start)..to_usize(end))
    }

    /// The documents in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let data = self.data;
        self.offsets
            .windows(2)
            .map(move |pair| &data[to_usize(pair[0])..to_usize(pair[1])])
    }

    /// The documents `start..end` as a view of the same buffers: how threads share one batch.
    /// Ends past the last document are brought back to it.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let end = end.min(self.len());
        let start = start.min(end);
        Self {
            data: self.data,
            offsets: self.offsets.get(start..=end).unwrap_or(&[]),
        }
    }
}

/// How errors of [`DocumentBatch::from_parts`] name what was given.
const FORMAT: &str = "text batch";

fn invalid_utf8(byte_offset: usize) -> Error {
    ErrorKind::InvalidUtf8 {
        byte_offset: byte_offset as u64,
    }
    .into()
}

/// Offsets are never negative (an invariant); a negative one becomes an index past every end.
fn to_usize(offset: i64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(result: Result<DocumentBatch>) -> ErrorKind {
        result.expect_err("should be refused").kind().clone()
    }

    #[test]
    fn an_empty_batch_has_one_offset() {
        let batch = DocumentBatch::new();
        assert_eq!(
            (batch.len(), batch.n_bytes(), batch.offsets()),
            (0, 0, &[0][..])
        );
        assert!(batch.is_empty() && batch.get(0).is_none() && batch.as_ref().is_empty());
    }

    #[test]
    fn invalid_bytes_are_replaced_by_maximal_subparts_and_counted() {
        let mut batch = DocumentBatch::new();
        batch.push(b"a\xf0\x9f\x98b", false).unwrap(); // one truncated sequence: one replacement
        batch.push(b"fine", false).unwrap();
        batch.push(b"\xed\xa0\x80", false).unwrap(); // a surrogate as bytes: three
        assert_eq!(
            batch.iter().collect::<Vec<_>>(),
            ["a\u{fffd}b", "fine", "\u{fffd}\u{fffd}\u{fffd}"]
        );
        assert_eq!(
            (batch.n_replaced_documents(), batch.n_replacements()),
            (2, 4)
        );
    }

    #[test]
    fn strict_names_the_first_bad_byte_and_leaves_the_batch_alone() {
        let mut batch = DocumentBatch::from_texts(["before"]);
        let error = batch.push(b"ok \xff", true).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidUtf8 { byte_offset: 3 });
        assert_eq!(batch, DocumentBatch::from_texts(["before"]));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let parts = |data: &[u8], offsets: &[i64]| {
            DocumentBatch::from_parts(data.to_vec(), offsets.to_vec())
        };
        assert_eq!(
            kind(parts(b"a\xff", &[0, 2])),
            ErrorKind::InvalidUtf8 { byte_offset: 1 }
        );
        for offsets in [
            &[][..],
            &[1, 2],
            &[0, 1],
            &[0, 3],
            &[0, -1, 2],
            &[0, 2, 1, 2],
            &[0, 1, 2],
        ] {
            assert!(
                matches!(
                    kind(parts("é".as_bytes(), offsets)),
                    ErrorKind::Format { .. }
                ),
                "{offsets:?}"
            );
        }
        assert_eq!(parts("é".as_bytes(), &[0, 0, 2]).unwrap().get(1), Some("é"));
    }

    #[test]
    fn slices_share_the_buffers() {
        let batch = DocumentBatch::from_texts(["a", "bb", "", "ccc"]);
        let view = batch.as_ref().slice(1, 3);
        assert_eq!(view.iter().collect::<Vec<_>>(), [&b"bb"[..], b""]);
        assert_eq!((view.get(0), view.get(2)), (Some(&b"bb"[..]), None));
        assert_eq!(batch.as_ref().slice(3, 99).len(), 1);
        assert_eq!(batch.as_ref().slice(9, 99).len(), 0);
    }

    proptest! {
        /// The naive twin is the standard library's own lossy reading.
        #[test]
        fn push_equals_from_utf8_lossy(documents in prop::collection::vec(hostile_bytes(), 0..8)) {
            let mut batch = DocumentBatch::new();
            let mut n_replacements = 0;
            for bytes in &documents {
                let before = batch.clone();
                let strict = batch.push(bytes, true);
                match std::str::from_utf8(bytes) {
                    Ok(_) => prop_assert!(strict.is_ok()),
                    Err(error) => {
                        let expected = ErrorKind::InvalidUtf8 { byte_offset: error.valid_up_to() as u64 };
                        prop_assert_eq!(strict.unwrap_err().kind().clone(), expected);
                        prop_assert_eq!(&batch, &before);
                    }
                }
                batch = before;
                batch.push(bytes, false).unwrap();
                n_replacements += bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() as u64;
            }
            prop_assert_eq!(batch.len(), documents.len());
            prop_assert_eq!(batch.n_replacements(), n_replacements);
            for (i, bytes) in documents.iter().enumerate() {
                let lossy = String::from_utf8_lossy(bytes);
                prop_assert_eq!(batch.get(i), Some(&*lossy));
                prop_assert_eq!(batch.as_ref().get(i), Some(lossy.as_bytes()));
            }
            let (data, offsets) = batch.clone().into_parts();
            let again = DocumentBatch::from_parts(data, offsets).unwrap();
            prop_assert_eq!(again.as_ref().iter().collect::<Vec<_>>(), batch.as_ref().iter().collect::<Vec<_>>());
        }

        #[test]
        fn append_equals_pushing_all(
            first in prop::collection::vec(hostile_bytes(), 0..5), second in prop::collection::vec(hostile_bytes(), 0..5),
        ) {
            let batch_of = |documents: &[Vec<u8>]| {
                let mut batch = DocumentBatch::new();
                for bytes in documents {
                    batch.push(bytes, false).unwrap();
                }
                batch
            };
            let mut joined = batch_of(&first);
            joined.append(&batch_of(&second));
            prop_assert_eq!(joined, batch_of(&[first, second].concat()));
        }
    }

    /// Bytes in which lead and continuation bytes, surrogates and plain text meet often.
    fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
        const PIECES: &[&[u8]] = &[
            b"a",
            b"\xc3\xa9",
            b"\xe4\xb8\xad",
            b"\xf0\x9f\x91\xa9",
            b"\xf0\x9f",
            b"\x80",
            b"\xed\xa0\x80",
            b"\xc0\xaf",
            b"\xff",
            b"\0",
            b"\xe2\x82",
        ];
        prop::collection::vec(prop::sample::select(PIECES), 0..12)
            .prop_map(|pieces| pieces.concat())
    }
}
