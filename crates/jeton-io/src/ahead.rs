//! Decompression in a thread of its own, some buffers ahead of the one that reads.
//!
//! Lines are cut and parsed while the next ones are decompressed, so that only decompression is
//! serial. The bytes, the limits and the errors are those of the [`Source`], in its order.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};

use crate::compress::Source;
use crate::error::{IoError, Result};

/// Bytes decompressed at a time: 1 MiB, about a millisecond of work, fits the L2 cache.
const BUFFER_BYTES: usize = 1 << 20;

/// Buffers that wait, at most.
const N_BUFFERS: usize = 4;

/// The bytes of a [`Source`], decompressed by who reads or by a thread ahead of it.
pub(crate) struct Feed {
    path: String,
    state: State,
    /// Bytes from which on a compressed source gets a thread; none: never.
    ahead_from: Option<u64>,
}

enum State {
    Here(Source),
    Ahead(Ahead),
}

impl Feed {
    pub(crate) fn new(source: Source, ahead_from: Option<u64>) -> Self {
        Self {
            path: source.path().to_owned(),
            state: State::Here(source),
            ahead_from,
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Read some bytes; 0 at the end. After an interruption, call again.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match &mut self.state {
            State::Ahead(ahead) => return ahead.read(buffer, &self.path),
            State::Here(source) => {
                let from = self.ahead_from.unwrap_or(u64::MAX);
                if !source.is_compressed() || source.n_bytes() < from {
                    return source.read(buffer);
                }
            }
        }
        // A system without room for a thread is no reason to fail.
        self.ahead_from = None;
        if let Ok(waiting) = Waiting::start() {
            let ahead = waiting.ahead;
            if let State::Here(source) = std::mem::replace(&mut self.state, State::Ahead(ahead)) {
                // The thread waits for it, so that it takes it.
                let _ = waiting.give.send(source);
            }
        }
        self.read(buffer)
    }
}

/// A thread that has not got its source yet.
struct Waiting {
    give: SyncSender<Source>,
    ahead: Ahead,
}

impl Waiting {
    fn start() -> io::Result<Self> {
        let (give, take) = sync_channel(1);
        let (send, full) = sync_channel(N_BUFFERS);
        let (used, empty) = sync_channel(N_BUFFERS + 1);
        let thread = Builder::new()
            .name("jeton-decompress".to_owned())
            .spawn(move || {
                if let Ok(source) = take.recv() {
                    decompress_all(source, &send, &empty);
                }
            })?;
        let ahead = Ahead {
            full: Some(full),
            used,
            thread: Some(thread),
            buffer: Vec::new(),
            start: 0,
        };
        Ok(Self { give, ahead })
    }
}

/// Send all buffers of a source, then an empty one or its error. Ends early if nobody takes them.
fn decompress_all(
    mut source: Source,
    full: &SyncSender<Result<Vec<u8>>>,
    empty: &Receiver<Vec<u8>>,
) {
    loop {
        let mut buffer = match empty.try_recv() {
            Ok(buffer) => buffer,
            Err(TryRecvError::Empty) => Vec::new(),
            Err(TryRecvError::Disconnected) => return,
        };
        buffer.resize(BUFFER_BYTES, 0);
        let (n, error) = fill(&mut source, &mut buffer);
        buffer.truncate(n);
        let is_end = n == 0;
        if (error.is_none() || !is_end) && full.send(Ok(buffer)).is_err() {
            return;
        }
        if let Some(error) = error {
            // Nobody may be there any more to hear of it.
            let _ = full.send(Err(error));
            return;
        }
        if is_end {
            return;
        }
    }
}

/// Bytes that were read, and the error that kept them from being more.
fn fill(source: &mut Source, buffer: &mut [u8]) -> (usize, Option<IoError>) {
    let mut n = 0;
    while n < buffer.len() {
        match source.read(&mut buffer[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(error) if error.is_interrupted() => {}
            Err(error) => return (n, Some(error)),
        }
    }
    (n, None)
}

/// The end of the thread at which buffers are taken.
struct Ahead {
    /// There until this is dropped.
    full: Option<Receiver<Result<Vec<u8>>>>,
    used: SyncSender<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were handed out.
    start: usize,
}

impl Ahead {
    fn read(&mut self, into: &mut [u8], path: &str) -> Result<usize> {
        if self.start == self.buffer.len() {
            let next = self.full.as_ref().map(Receiver::recv);
            let Some(Ok(next)) = next else {
                return Err(IoError::Io {
                    path: path.to_owned(),
                    source: io::Error::other("the thread that decompresses ended early"),
                });
            };
            let used = std::mem::replace(&mut self.buffer, next?);
            self.start = 0;
            // A thread at its end wants no buffers.
            let _ = self.used.try_send(used);
        }
        let rest = &self.buffer[self.start..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.start += n;
        Ok(n)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // A thread that waits to send gives up now, and closes the file.
        self.full = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
