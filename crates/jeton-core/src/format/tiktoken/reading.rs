//! Rank files that are plain, read in blocks of lines, with a second thread where there is one.
//!
//! A published file's digest is needed, too. A second thread makes it while the caller's thread
//! makes room for all tokens; then the second one reads blocks from the end. The caller's puts them
//! in their places, and reads from the beginning while there are none. The other thread lives as
//! long as the call.

use std::sync::Mutex;
use std::thread::Builder;

use super::lines;
use crate::documents::parallel::available_threads;
use crate::vocab::{Bulk, Column, Vocab};

/// Bytes of a block: what is made of them lies in a processor's second cache until it is put in
/// place.
const BLOCK_BYTES: usize = 64 << 10;

/// Bytes for which another thread is started: below it that takes as long as it brings. Half and
/// twice as many do the same (docs/log/2026-11-28-tuning-constants.md).
const MIN_BYTES_FOR_THREADS: usize = 256 << 10;

/// Bytes of a line, about: only how much room is asked for depends on it.
const LINE_BYTES: usize = 12;

/// Lines that nobody has read, and what was read of them for somebody else.
struct Blocks<'t> {
    rest: Mutex<&'t [u8]>,
    apart: Mutex<Apart>,
}

/// Columns of the thread that puts none in place.
#[derive(Default)]
struct Apart {
    read: Vec<Column>,
    /// Columns with memory in place: new ones would fault on each of their pages.
    spare: Vec<Column>,
}

impl<'t> Blocks<'t> {
    fn new(bytes: &'t [u8]) -> Self {
        Self {
            rest: Mutex::new(bytes),
            apart: Mutex::default(),
        }
    }

    /// The next block from the beginning, of whole lines.
    fn first(&self) -> Option<&'t [u8]> {
        self.take(|rest| {
            let behind = rest.get(BLOCK_BYTES..)?;
            let end = memchr::memchr(b'\n', behind)? + BLOCK_BYTES + 1;
            let (block, rest) = rest.split_at_checked(end)?;
            Some((block, rest))
        })
    }

    /// Takes the last part of the text.
    fn last(&self) -> Option<&'t [u8]> {
        self.take(|rest| {
            let before = rest.get(..rest.len().checked_sub(BLOCK_BYTES)?)?;
            let start = memchr::memrchr(b'\n', before)? + 1;
            let (rest, block) = rest.split_at_checked(start)?;
            Some((block, rest))
        })
    }

    /// A block and what is left, by `split`; all that is left where that is little.
    fn take(
        &self,
        split: impl FnOnce(&'t [u8]) -> Option<(&'t [u8], &'t [u8])>,
    ) -> Option<&'t [u8]> {
        let mut rest = self.rest.lock().ok()?;
        if rest.is_empty() {
            return None;
        }
        let (block, left) = split(&rest).unwrap_or((&rest, &[]));
        *rest = left;
        Some(block)
    }

    /// Nobody needs the others: what was read is of no use.
    fn stop(&self) -> Option<()> {
        *self.rest.lock().ok()? = &[];
        None
    }

    /// Reads from the beginning, and puts tokens in their places, those first that were read apart.
    fn read_to(&self, bulk: &mut Bulk) -> Option<()> {
        let mut column = column();
        let mut token = Vec::new();
        loop {
            self.place_apart(bulk).or_else(|| self.stop())?;
            let Some(block) = self.first() else {
                return Some(());
            };
            column.clear();
            let is_read = lines::read_all(block, &mut column, &mut token);
            let is_read = is_read.and_then(|()| bulk.add(&column));
            is_read.or_else(|| self.stop())?;
        }
    }

    /// Puts tokens in their places that were read apart.
    fn place_apart(&self, bulk: &mut Bulk) -> Option<()> {
        loop {
            // Not held while they are put in place.
            let column = self.apart.lock().ok()?.read.pop();
            let Some(column) = column else {
                return Some(());
            };
            bulk.add(&column)?;
            self.apart.lock().ok()?.spare.push(column);
        }
    }

    /// Reads from the end, for the other thread to put in place.
    fn read_apart(&self) -> Option<()> {
        let mut token = Vec::new();
        while let Some(block) = self.last() {
            let spare = self.apart.lock().ok()?.spare.pop();
            let mut column = spare.unwrap_or_else(column);
            column.clear();
            let is_read = lines::read_all(block, &mut column, &mut token);
            is_read.or_else(|| self.stop())?;
            self.apart.lock().ok()?.read.push(column);
        }
        Some(())
    }
}

/// Room for what is read of a block.
fn column() -> Column {
    Column::with_capacity(BLOCK_BYTES / LINE_BYTES, BLOCK_BYTES / 2)
}

/// Where all tokens have room, unless they do not fit or their ranks are fewer digits than
/// different ones have: then they are not plain.
fn room_for(bytes: &[u8]) -> Option<Bulk> {
    let n_ends = memchr::memchr_iter(b'\n', bytes).count();
    let n_lines = n_ends + usize::from(bytes.last().is_some_and(|&last| last != b'\n'));
    // Ranks, and a space and an end of each line; the last one may have none.
    let n_others = (n_lines * 2).saturating_add(digits_below(n_lines));
    let n_digits = (bytes.len() + 1).saturating_sub(n_others);
    Bulk::with_room(n_lines, n_digits.div_ceil(4).saturating_mul(3))
}

/// Digits of the numbers below `n`, together.
fn digits_below(n: usize) -> usize {
    let powers = std::iter::successors(Some(10_usize), |power| power.checked_mul(10));
    // Each has one, those from ten on another one, and so on.
    n + powers
        .map_while(|power| n.checked_sub(power))
        .sum::<usize>()
}

/// Threads that read a file of `n_bytes`.
pub(super) fn threads_for(n_bytes: usize) -> usize {
    if n_bytes < MIN_BYTES_FOR_THREADS {
        return 1;
    }
    available_threads().min(2)
}

/// The ranks of a file in which every line is plainly one, and no token comes twice; and what
/// `beside` gives, which another thread does first where there are two.
pub(super) fn read_plain<T: Send>(
    bytes: &[u8],
    threads: usize,
    beside: &(dyn Fn() -> T + Sync),
) -> (Option<Vocab>, T) {
    let blocks = Blocks::new(bytes);
    let read_here = || {
        let mut bulk = room_for(bytes)?;
        blocks.read_to(&mut bulk)?;
        Some(bulk)
    };
    if threads < 2 {
        return (read_here().map(Bulk::finish), beside());
    }
    let (bulk, result) = std::thread::scope(|scope| {
        let other = Builder::new().spawn_scoped(scope, || {
            let result = beside();
            (blocks.read_apart(), result)
        });
        let bulk = read_here().or_else(|| {
            blocks.stop();
            None
        });
        match other.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok((is_read, result))) => (is_read.and(bulk), Some(result)),
            Ok(Err(_)) => (None, None),
            // Where no thread could be started, all was read here.
            Err(_) => (bulk, None),
        }
    });
    let result = result.unwrap_or_else(beside);
    let vocab = bulk.and_then(|mut bulk| {
        blocks.place_apart(&mut bulk)?;
        Some(bulk.finish())
    });
    (vocab, result)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin: one line after the other, put in one after the other.
    fn naive(bytes: &[u8]) -> Option<Vocab> {
        let (mut vocab, mut token) = (Vocab::default(), Vec::new());
        for line in bytes.split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let rank = lines::read(line, &mut token)?;
            let is_new = vocab.can_take(rank) && vocab.insert_new(rank, &token).ok()?.is_none();
            if !is_new {
                return None;
            }
        }
        Some(vocab)
    }

    /// Lines of different tokens, some of them long; ranks with steps between them.
    fn file(n: usize, salt: u8, step: usize, end: &str) -> Vec<u8> {
        use base64::prelude::{BASE64_STANDARD, Engine};
        let line = |n: usize| {
            let mut token = n.to_string().into_bytes();
            token.extend((0..n * 7 % 13).map(|at| salt.wrapping_add(at as u8)));
            format!("{} {}{end}", BASE64_STANDARD.encode(token), n * step)
        };
        (0..n).map(line).collect::<String>().into_bytes()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_vocabulary_is_that_of_one_line_after_the_other(
            n in prop_oneof![0..20usize, 0..30_000usize],
            salt in any::<u8>(),
            step in 1..3usize,
            has_returns in any::<bool>(),
            cut in 0..3usize,
            lies in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2),
        ) {
            let mut bytes = file(n, salt, step, if has_returns { "\r\n" } else { "\n" });
            bytes.truncate(bytes.len() - cut.min(bytes.len()));
            for (at, byte) in lies {
                if !bytes.is_empty() {
                    *at.get_mut(&mut bytes) = byte;
                }
            }
            let expected = naive(&bytes);
            for threads in 1..3 {
                let (found, length) = read_plain(&bytes, threads, &|| bytes.len());
                prop_assert_eq!(length, bytes.len());
                // The slow way may still read a file that this one refuses: one with empty lines,
                // for example.
                if let Some(found) = found {
                    let expected = expected.as_ref().unwrap();
                    prop_assert!(found.iter().eq(expected.iter()));
                    prop_assert!(found.is_unique() && found.size() == expected.size());
                    for (id, token) in expected.iter() {
                        prop_assert_eq!(found.bytes_to_id(token), Some(id));
                    }
                } else if step == 1 && expected.is_some() {
                    prop_assert!(bytes.windows(2).any(|two| two == b"\n\n") || bytes.starts_with(b"\n"));
                }
            }
        }
    }

    #[test]
    fn digits_are_counted() {
        let mut all = 0;
        for n in 0..12_000 {
            assert_eq!(digits_below(n), all);
            all += n.to_string().len();
        }
    }

    #[test]
    fn blocks_are_all_lines_from_either_end() {
        let bytes = file(40_000, 1, 1, "\n");
        let blocks = Blocks::new(&bytes);
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        while let Some(block) = blocks.first() {
            assert!(block.ends_with(b"\n"));
            before.extend_from_slice(block);
            if let Some(block) = blocks.last() {
                assert!(block.ends_with(b"\n"));
                behind.push(block);
            }
        }
        assert!(behind.len() > 3);
        before.extend(behind.into_iter().rev().flatten());
        assert_eq!(before, bytes);
    }
}
