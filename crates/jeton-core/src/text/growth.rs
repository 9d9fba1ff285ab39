//! How long a text may become on its way to ids or back.
//!
//! Files say how texts are rewritten, and twelve lines of a small file can make a book of each
//! letter. Memory that cannot be had ends a process, so each step that can make text longer asks
//! here before it goes on.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// Times its length that a text may have. Unicode's own forms make 11 of 1 (U+FDFA), written in
/// GPT-2's alphabet 22.
pub const DEFAULT_MAX_GROWTH: u32 = 64;

/// Bytes that any text may become, however short it is: what is put in front of texts does not
/// depend on them.
const FREE_BYTES: usize = 1 << 16;

/// Times its length that a text may become at load, where single patterns are tried: more is of no
/// use to anybody.
const LOAD_MAX_GROWTH: u32 = 1 << 16;

/// Bytes that a file may put in the place of a match, in front of a text, or around parts of words.
pub(crate) const MAX_WRITTEN_BYTES: usize = 4096;

/// The limit of one tokenizer, which may be changed while it is in use.
#[derive(Debug)]
pub(crate) struct GrowthLimit(AtomicU32);

impl Default for GrowthLimit {
    fn default() -> Self {
        Self(AtomicU32::new(DEFAULT_MAX_GROWTH))
    }
}

impl Clone for GrowthLimit {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.times()))
    }
}

impl GrowthLimit {
    /// Limit for a file that is tried at load.
    pub(crate) fn at_load() -> Self {
        Self(AtomicU32::new(LOAD_MAX_GROWTH))
    }

    pub(crate) fn times(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, times: u32) {
        self.0.store(times, Ordering::Relaxed);
    }

    /// Room for a text of `n_bytes` bytes.
    pub(crate) fn room(&self, n_bytes: usize) -> Room {
        let times = self.times();
        Room {
            n_bytes,
            times,
            limit: n_bytes
                .saturating_mul(times as usize)
                .saturating_add(FREE_BYTES),
        }
    }
}

/// Room into which one text may grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    n_bytes: usize,
    times: u32,
    limit: usize,
}

impl Room {
    /// Room for anything, where what is made is bounded otherwise.
    pub(crate) const ENDLESS: Self = Self {
        n_bytes: 0,
        times: 0,
        limit: usize::MAX,
    };

    /// The bytes.
    pub(crate) fn limit(self) -> usize {
        self.limit
    }

    /// Fails if `n_made` bytes are too many. `stage`: the step that makes them.
    #[inline]
    pub(crate) fn check(self, stage: &'static str, n_made: usize) -> Result<()> {
        if n_made <= self.limit {
            return Ok(());
        }
        Err(self.error(stage))
    }

    #[cold]
    fn error(self, stage: &'static str) -> Error {
        ErrorKind::Growth {
            stage,
            n_bytes: self.n_bytes as u64,
            limit: self.limit as u64,
            times: self.times,
        }
        .into()
    }
}

/// Fails if a file writes too much into texts. `what`: the component, in the plural of what is
/// counted.
pub(crate) fn check_written(what: &'static str, written: &str) -> Result<()> {
    if written.len() <= MAX_WRITTEN_BYTES {
        return Ok(());
    }
    Err(ErrorKind::TooLarge {
        what,
        limit: MAX_WRITTEN_BYTES as u64,
    }
    .into())
}
