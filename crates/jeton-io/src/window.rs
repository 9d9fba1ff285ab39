//! The unread stretch of a stream: the one place where bytes are buffered.
//!
//! Cost: every byte is read once. Moving unread bytes to the front is O(1) for each byte read,
//! because it is done only when at least half of the buffer is free.

use memchr::{memchr, memrchr};

use crate::ahead::Feed;
use crate::error::Result;

/// Bytes asked of the source at a time, and the smallest buffer (256 KiB: fits the L2 cache, few
/// system calls).
const READ_BYTES: usize = 256 << 10;

/// The UTF-8 byte order mark, which some editors write at the start of a file. It is no part of the
/// text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Window {
    feed: Feed,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    mark_checked: bool,
    /// Bytes of the stream before `start`.
    position: u64,
}

impl Window {
    pub(crate) fn new(feed: Feed) -> Self {
        Self {
            feed,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            at_end: false,
            mark_checked: false,
            position: 0,
        }
    }

    /// The file, as errors name it.
    pub(crate) fn path(&self) -> &str {
        self.feed.path()
    }

    /// Bytes read from the source and not taken yet.
    pub(crate) fn unread(&self) -> &[u8] {
        // Before it is known whether a byte order mark leads, nobody sees its bytes.
        if self.mark_checked {
            &self.buffer[self.start..self.end]
        } else {
            &[]
        }
    }

    /// Offset of the first unread byte from the start of the (decompressed) stream.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// True if `unread` is all that is left.
    pub(crate) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Take the first `n` unread bytes (at most all of them) out of the window; they stay readable
    /// through [`Window::taken`] until the next `fill`.
    pub(crate) fn take(&mut self, n: usize) -> Taken {
        let start = self.start;
        self.start = self.end.min(start + n);
        self.position += (self.start - start) as u64;
        Taken {
            start,
            end: self.start,
        }
    }

    pub(crate) fn taken(&self, taken: Taken) -> &[u8] {
        &self.buffer[taken.start..taken.end]
    }

    /// Read more, once; at the end of the stream this sets `at_end`.
    pub(crate) fn fill(&mut self) -> Result<()> {
        self.make_room();
        let n = self.feed.read(&mut self.buffer[self.end..])?;
        self.end += n;
        self.at_end = n == 0;
        if !self.mark_checked && (self.at_end || self.end >= BYTE_ORDER_MARK.len()) {
            self.mark_checked = true;
            if self.unread().starts_with(BYTE_ORDER_MARK) {
                self.take(BYTE_ORDER_MARK.len());
            }
        }
        Ok(())
    }

    fn make_room(&mut self) {
        let unread = self.end - self.start;
        if self.buffer.len() - self.end >= READ_BYTES {
            return;
        }
        if unread > self.buffer.len() / 2 || self.buffer.len() < 2 * READ_BYTES {
            let size = (self.buffer.len() * 2).max(2 * READ_BYTES);
            let mut larger = vec![0; size];
            larger[..unread].copy_from_slice(&self.buffer[self.start..self.end]);
            self.buffer = larger;
        } else {
            self.buffer.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, unread);
    }
}

/// A stretch that was taken out of a [`Window`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    start: usize,
    end: usize,
}

impl Taken {
    /// Returns the stretch without its last `n` bytes.
    pub(crate) fn without_last(self, n: usize) -> Self {
        Self {
            start: self.start,
            end: self.end - n,
        }
    }
}

/// Where to cut `bytes`, which are more than `max` long, so that no character is cut: the last
/// place at or before `max` where a character can start. Bytes that are no UTF-8 at all are cut at
/// `max`. Needs `max >= 4`.
pub(crate) fn character_cut(bytes: &[u8], max: usize) -> usize {
    let is_continuation = |&at: &usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (max.saturating_sub(3)..=max)
        .rev()
        .find(|at| !is_continuation(at))
        .unwrap_or(max)
}

/// Where to cut text that is more than `max` long: after the last line end at or before `max`, else
/// between two characters.
pub(crate) fn line_cut(bytes: &[u8], max: usize) -> usize {
    memrchr(b'\n', &bytes[..max]).map_or_else(|| character_cut(bytes, max), |at| at + 1)
}

/// The first line end of `bytes` at or after `from`.
pub(crate) fn find_line_end(bytes: &[u8], from: usize) -> Option<usize> {
    memchr(b'\n', &bytes[from..]).map(|at| from + at)
}
