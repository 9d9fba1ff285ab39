//! Work on many documents with several threads.
//!
//! Threads are scoped: they live as long as one call. There is no pool, so nothing survives a fork
//! to be confused by it, and the core keeps no global state. Starting a thread is not free, so
//! small batches stay on the caller's thread.
//!
//! Results come back in the order of the documents, whatever thread made them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::documents::batch::BatchRef;
use crate::documents::texts::Documents;
use crate::error::{Error, ErrorKind, Result};

/// Bytes below which a second thread costs more than it brings. With half of it short batches take
/// longer, with twice as much none does (docs/log/2026-11-28-tuning-constants.md).
const MIN_BYTES_FOR_THREADS: usize = 64 << 10;
/// Smallest and largest piece of work handed to a thread, in bytes. Half and twice as many do the
/// same (docs/log/2026-11-28-tuning-constants.md), as do pieces per thread.
const CHUNK_BYTES: Range<usize> = 16 << 10..1 << 20;
/// Pieces of work per thread: enough to even out documents of different cost.
const CHUNKS_PER_THREAD: usize = 8;

/// Number of threads that this process may use.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Runs `work` on ranges of documents that together cover the batch, on up to `threads` threads.
///
/// `keep_going` is asked now and then, on the caller's thread; when it says no, the work ends with
/// `Interrupted`. The first error ends the work too; of several errors the one of the earliest
/// documents is returned, so that it does not depend on the threads.
pub fn map_documents<T: Send>(
    batch: BatchRef<'_>,
    threads: usize,
    keep_going: &mut dyn FnMut() -> bool,
    work: &(dyn Fn(Range<usize>) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    map_texts(&batch, threads, keep_going, work)
}

/// Maps documents that lie anywhere in memory.
pub(crate) fn map_texts<T: Send>(
    documents: &dyn Documents,
    threads: usize,
    keep_going: &mut dyn FnMut() -> bool,
    work: &(dyn Fn(Range<usize>) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let size = |index| documents.size(index);
    let n_bytes = (0..documents.len()).map(size).sum();
    let threads = useful_threads(n_bytes, threads);
    let chunks = chunks(0..documents.len(), &size, chunk_bytes(n_bytes, threads));
    let threads = threads.min(chunks.len().max(1));
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let results: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(chunks.len()));
    let one = || -> bool {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(range) = chunks.get(index) else {
            return false;
        };
        let result = work(range.clone());
        if result.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        if let Ok(mut results) = results.lock() {
            results.push((index, result));
        }
        true
    };
    let mut interrupted = false;
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| while one() {});
        }
        while one() {
            if !keep_going() {
                interrupted = true;
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    if interrupted {
        return Err(ErrorKind::Interrupted.into());
    }
    let mut results = results
        .into_inner()
        .map_err(|_| Error::from(ErrorKind::Interrupted))?;
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// As many threads as this process may use. How many those are is found out only where more than
/// one is of use: asking the system takes longer than a short text.
pub const ALL_THREADS: usize = usize::MAX;

/// Returns the number of threads that pays for `bytes`.
pub(crate) fn useful_threads(n_bytes: usize, threads: usize) -> usize {
    match threads {
        _ if n_bytes < MIN_BYTES_FOR_THREADS => 1,
        ALL_THREADS => available_threads(),
        _ => threads.max(1),
    }
}

/// Bytes of a task, if `bytes` are shared by `threads`.
pub(crate) fn chunk_bytes(n_bytes: usize, threads: usize) -> usize {
    let share = threads.max(1).saturating_mul(CHUNKS_PER_THREAD);
    (n_bytes / share).clamp(CHUNK_BYTES.start, CHUNK_BYTES.end)
}

/// Ranges of documents of about equal bytes.
pub(crate) fn chunks(
    documents: Range<usize>,
    size: &dyn Fn(usize) -> usize,
    target: usize,
) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let mut start = documents.start;
    while start < documents.end {
        let mut end = start;
        let mut bytes = 0;
        while end < documents.end && (bytes < target || end == start) {
            bytes += size(end);
            end += 1;
        }
        chunks.push(start..end);
        start = end;
    }
    chunks
}

/// Work of a thread: it prepares itself once, then does one task after another.
pub(crate) struct Work<'w, W, P> {
    /// Prepares the state that a thread keeps as long as it works.
    pub(crate) worker: &'w (dyn Fn() -> W + Sync),
    /// Does the task of a number. Its result goes into the last argument, which may hold an older
    /// one.
    pub(crate) task: &'w (dyn Fn(&mut W, usize, &mut P) -> Result<()> + Sync),
}

/// Does `n_tasks` tasks on up to `threads` threads and gives what each made to `take`, in the order
/// of the tasks; while one result is taken, no other is. As [`map_documents`], but the results need
/// not all be there at once: a thread makes its next one where the one that was taken lay.
/// [`ALL_THREADS`] means all threads that this process may use.
pub(crate) fn in_order<W, P: Default + Send>(
    n_tasks: usize,
    threads: usize,
    keep_going: &mut dyn FnMut() -> bool,
    work: &Work<'_, W, P>,
    take: &mut (dyn FnMut(usize, &mut P) + Send),
) -> Result<()> {
    let threads = useful_threads(usize::MAX, threads);
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let line = Mutex::new(Line {
        next: 0,
        waiting: BTreeMap::new(),
        take,
        failed: None,
    });
    let run = |keep_going: &mut dyn FnMut() -> bool| {
        let mut worker = (work.worker)();
        let mut made = P::default();
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= n_tasks {
                break;
            }
            let result = (work.task)(&mut worker, index, &mut made);
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            if let Ok(mut line) = line.lock() {
                match result {
                    Ok(()) => line.hand_in(index, &mut made),
                    Err(error) => line.fail(index, error),
                }
            }
            if !keep_going() {
                stop.store(true, Ordering::Relaxed);
                return true;
            }
        }
        false
    };
    let interrupted = std::thread::scope(|scope| {
        for _ in 1..threads.min(n_tasks) {
            let other = std::thread::Builder::new().spawn_scoped(scope, || run(&mut || true));
            // If the system gives no more threads, the existing ones do all the work.
            if other.is_err() {
                break;
            }
        }
        run(keep_going)
    });
    if interrupted {
        return Err(ErrorKind::Interrupted.into());
    }
    match line.into_inner() {
        Ok(Line { failed: None, .. }) => Ok(()),
        Ok(Line {
            failed: Some((_, error)),
            ..
        }) => Err(error),
        // A thread that held the lock has panicked; the scope has passed that on.
        Err(_) => Err(ErrorKind::Interrupted.into()),
    }
}

/// Results that come in any order and leave in theirs.
struct Line<'t, P> {
    /// The task whose result is taken next.
    next: usize,
    waiting: BTreeMap<usize, P>,
    take: &'t mut (dyn FnMut(usize, &mut P) + Send),
    /// The first task that failed, and how.
    failed: Option<(usize, Error)>,
}

impl<P: Default> Line<'_, P> {
    fn hand_in(&mut self, index: usize, made: &mut P) {
        if index != self.next {
            self.waiting.insert(index, std::mem::take(made));
            return;
        }
        (self.take)(index, made);
        self.next += 1;
        while let Some(mut made) = self.waiting.remove(&self.next) {
            (self.take)(self.next, &mut made);
            self.next += 1;
        }
    }

    fn fail(&mut self, index: usize, error: Error) {
        if self.failed.as_ref().is_none_or(|(first, _)| index < *first) {
            self.failed = Some((index, error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::batch::DocumentBatch;

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        let batch = DocumentBatch::from_texts((0..5000).map(|i| format!("{i}").repeat(i % 50)));
        let batch = batch.as_ref();
        let expected: Vec<usize> = batch.iter().map(<[u8]>::len).collect();
        for threads in [1, 2, 8] {
            let result = map_documents(batch, threads, &mut || true, &|range| {
                Ok(range
                    .map(|i| batch.get(i).unwrap().len())
                    .collect::<Vec<_>>())
            });
            assert_eq!(result.unwrap().concat(), expected);
        }
    }

    #[test]
    fn all_threads_are_those_of_the_machine() {
        let n_workers = AtomicUsize::new(0);
        let work = Work {
            worker: &|| {
                n_workers.fetch_add(1, Ordering::Relaxed);
            },
            task: &|(): &mut (), _, (): &mut ()| Ok(()),
        };
        let n_tasks = available_threads() + 50;
        in_order(n_tasks, ALL_THREADS, &mut || true, &work, &mut |_, ()| ()).unwrap();
        assert!(n_workers.into_inner() <= available_threads());
    }

    #[test]
    fn stops_when_told_to() {
        let batch = DocumentBatch::from_texts(vec!["x".repeat(100_000); 20]);
        let result = map_documents(batch.as_ref(), 1, &mut || false, &|range| Ok(range.len()));
        assert_eq!(result.unwrap_err().kind(), &ErrorKind::Interrupted);
    }

    #[test]
    fn the_earliest_error_is_returned() {
        let batch = DocumentBatch::from_texts(vec!["x".repeat(100_000); 20]);
        let result = map_documents(batch.as_ref(), 2, &mut || true, &|range| -> Result<()> {
            Err(ErrorKind::InvalidUtf8 {
                byte_offset: range.start as u64,
            }
            .into())
        });
        assert_eq!(
            result.unwrap_err().kind(),
            &ErrorKind::InvalidUtf8 { byte_offset: 0 }
        );
    }

    #[test]
    fn results_are_taken_in_order_one_at_a_time() {
        for threads in [1, 2, 7] {
            let mut taken = Vec::new();
            let work = Work {
                worker: &|| 0usize,
                task: &|done: &mut usize, index, made: &mut Vec<usize>| {
                    *done += 1;
                    made.clear();
                    made.extend([index, index * index]);
                    Ok(())
                },
            };
            let mut take = |index, made: &mut Vec<usize>| {
                assert_eq!(made, &[index, index * index]);
                taken.push(index);
            };
            in_order(1000, threads, &mut || true, &work, &mut take).unwrap();
            assert_eq!(taken, (0..1000).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_task_that_fails_is_told() {
        for threads in [1, 3] {
            let work = Work {
                worker: &|| (),
                task: &|(), index, (): &mut ()| match index {
                    0..5 => Ok(()),
                    _ => Err(ErrorKind::InvalidUtf8 {
                        byte_offset: index as u64,
                    }
                    .into()),
                },
            };
            let mut taken = 0;
            let mut take = |_, (): &mut ()| taken += 1;
            let error = in_order(100, threads, &mut || true, &work, &mut take).unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::InvalidUtf8 { byte_offset: 5 });
            assert_eq!(taken, 5);
            // The other threads wait until the caller's has been asked.
            let (asked, caller) = (AtomicBool::new(false), std::thread::current().id());
            let work = Work {
                worker: &|| std::thread::current().id() != caller,
                task: &|&mut waits, _, (): &mut ()| {
                    while waits && !asked.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    Ok(())
                },
            };
            let mut ask = || {
                asked.store(true, Ordering::Relaxed);
                false
            };
            let interrupted = in_order(100, threads, &mut ask, &work, &mut |_, ()| {});
            assert_eq!(interrupted.unwrap_err().kind(), &ErrorKind::Interrupted);
        }
    }
}
