//! From segments to ids: unknown text becomes bytes or one unknown id.

/// An id and the bytes of the text that it stands for. Bytes of one character share its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpannedId {
    /// The id.
    pub id: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Where ids go.
pub trait Emit {
    /// Takes an id that stands for `start..end`.
    fn emit(&mut self, id: u32, start: usize, end: usize);
    /// Lets the last id stand for text up to `end` as well.
    fn extend_last(&mut self, end: usize);
}

impl Emit for Vec<u32> {
    #[inline]
    fn emit(&mut self, id: u32, _: usize, _: usize) {
        self.push(id);
    }
    #[inline]
    fn extend_last(&mut self, _: usize) {}
}

impl Emit for Vec<SpannedId> {
    fn emit(&mut self, id: u32, start: usize, end: usize) {
        self.push(SpannedId {
            id,
            start: start as u32,
            end: end as u32,
        });
    }
    fn extend_last(&mut self, end: usize) {
        if let Some(last) = self.last_mut() {
            last.end = end as u32;
        }
    }
}

/// Marks a segment that has no piece, in a model that has no unknown piece.
pub(crate) const NO_ID: u32 = u32::MAX;

/// Treatment of segments in SentencePiece: unknown ones become bytes if there are any, and
/// otherwise neighbours become one.
#[derive(Debug)]
pub(crate) struct Fuse<'a, E> {
    /// Id of the unknown piece, or [`NO_ID`].
    unknown: u32,
    bytes: Option<&'a [u32; 256]>,
    after_unknown: bool,
    out: &'a mut E,
}

impl<'a, E: Emit> Fuse<'a, E> {
    pub(crate) fn new(unknown: u32, bytes: Option<&'a [u32; 256]>, out: &'a mut E) -> Self {
        Self {
            unknown,
            bytes,
            after_unknown: false,
            out,
        }
    }

    /// Takes the segment `start..end` of the text.
    #[inline]
    pub(crate) fn segment(&mut self, text: &[u8], id: u32, start: usize, end: usize) {
        if id != self.unknown {
            self.after_unknown = false;
            self.out.emit(id, start, end);
            return;
        }
        match self.bytes {
            Some(ids) => {
                for &byte in &text[start..end] {
                    self.out.emit(ids[usize::from(byte)], start, end);
                }
            }
            None if self.after_unknown => self.out.extend_last(end),
            None => self.out.emit(id, start, end),
        }
        self.after_unknown = true;
    }
}

/// Bytes of the character that begins with this byte.
#[inline]
pub(crate) fn char_bytes(first: u8) -> usize {
    match first {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}
