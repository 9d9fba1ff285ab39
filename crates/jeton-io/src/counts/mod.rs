//! Counts of pretokens in bounded memory: what has no room is sorted and written to disk, and added
//! up at the end.
//!
//! - [`TextCounts`]: counts texts; spills, saves, loads, merges.
//! - [`CountsReader`], [`CountsWriter`]: files of counts, versioned, with checksums; nothing in
//!   them is believed.
//! - `blocks`: how entries are written. `runs`: what was spilled. `scratch`: what trainers write.
//!   `merge`: many sorted sequences as one.
//!
//! Everything is exact: the counts are the same in any memory. Disk: about 6 bytes for each
//! distinct pretoken of English in a run, and what is spilled is written again once for every 64
//! runs.

mod blocks;
mod files;
mod merge;
mod runs;
mod scratch;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use jeton_core::documents::batch::BatchRef;
use jeton_core::error::{Error, ErrorKind};
use jeton_train::{Drain, PretokenCounter, PretokenCounts, Splitting, Totals, Weights};

pub use self::blocks::Sums;
pub use self::files::{CountsHeader, CountsReader, CountsWriter, encoded, sealed};
use self::runs::{Run, RunWriter, add_run, each_of, interrupted, merge_runs};
pub use self::scratch::ScratchFile;
use crate::error::IoError;

/// Errors of counts: of texts and totals, or of files.
#[derive(Debug)]
pub enum CountsError {
    /// The core refused.
    Core(Error),
    /// Reading or writing failed.
    Io(IoError),
}

impl From<Error> for CountsError {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<IoError> for CountsError {
    fn from(error: IoError) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for CountsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CountsError {}

/// Result of counting.
pub type Result<T> = std::result::Result<T, CountsError>;

/// Share of the memory limit for tables: the rest is for batches of text, buffers and sorting.
const TABLES_PERCENT: usize = 85;

/// Counts of texts, in memory or on disk.
pub struct TextCounts {
    state: State,
    runs: Mutex<Vec<Run>>,
    totals: Totals,
    max_memory: usize,
    folder: PathBuf,
    n_bytes_spilled: u64,
}

enum State {
    /// In the tables of threads.
    Open(PretokenCounter),
    /// All in one table in memory, or, where there are runs, all in one run.
    Settled(PretokenCounts),
}

impl TextCounts {
    /// Counts nothing yet. `max_memory`: bytes; None: no limit. `folder`: where temporary files go,
    /// which should be a disk.
    pub fn new(max_memory: Option<usize>, folder: PathBuf) -> Self {
        Self {
            state: State::Settled(PretokenCounts::new()),
            runs: Mutex::default(),
            totals: Totals::default(),
            max_memory: max_memory.unwrap_or(usize::MAX),
            folder,
            n_bytes_spilled: 0,
        }
    }

    /// Counts that are in memory, without a limit.
    pub fn from_counts(counts: PretokenCounts) -> Self {
        let mut new = Self::new(None, PathBuf::new());
        new.totals = counts.totals();
        new.state = State::Settled(counts);
        new
    }

    /// Most bytes of memory; None: no limit.
    pub fn max_memory(&self) -> Option<usize> {
        (self.max_memory != usize::MAX).then_some(self.max_memory)
    }

    /// From now on uses at most `max_memory` bytes of memory, and temporary files in `folder`.
    pub fn limit_memory(&mut self, max_memory: usize, folder: PathBuf) -> Result<()> {
        self.settle(&mut || true)?;
        self.max_memory = max_memory;
        self.folder = folder;
        Ok(())
    }

    fn table_bytes(&self) -> usize {
        match self.max_memory {
            usize::MAX => usize::MAX,
            bytes => bytes / 100 * TABLES_PERCENT,
        }
    }

    /// Returns the totals of the text counted.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Bytes that were written to temporary files so far.
    pub fn n_bytes_spilled(&self) -> u64 {
        self.n_bytes_spilled
    }

    /// Bytes of memory that the counts take now.
    pub fn memory_bytes(&self) -> usize {
        match &self.state {
            State::Open(counter) => counter.memory_bytes(),
            State::Settled(counts) => counts.memory_bytes(),
        }
    }

    fn runs(&mut self) -> &mut Vec<Run> {
        self.runs.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if some of the counts are on disk.
    pub fn is_on_disk(&mut self) -> bool {
        !self.runs().is_empty()
    }

    /// Counts the pretokens of a batch, as [`PretokenCounter::count`]. After an error, drop the
    /// counts.
    pub fn count(
        &mut self,
        batch: BatchRef<'_>,
        weights: Weights<'_>,
        splitting: Splitting<'_>,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        self.open();
        let State::Open(counter) = &mut self.state else {
            return Ok(());
        };
        let spilling = Spilling {
            folder: &self.folder,
            runs: &self.runs,
            failed: Mutex::default(),
        };
        let counted = counter.count(batch, weights, splitting, threads, keep_going, &|drain| {
            spilling.spill(drain)
        });
        spilling.failed()?;
        counted?;
        let totals = counter.take_totals();
        self.totals = self.totals.plus(totals)?;
        self.note_runs();
        Ok(())
    }

    /// Adds to the count of one pretoken, and documents to their number.
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let more = Totals {
            n_documents: 0,
            n_pretokens: 1,
            n_bytes: pretoken.len() as u64,
        };
        if pretoken.is_empty() || count == 0 {
            return Ok(());
        }
        let totals = self.totals.plus(more.times(count)?)?;
        self.open();
        if let State::Open(counter) = &mut self.state {
            let spilling = Spilling {
                folder: &self.folder,
                runs: &self.runs,
                failed: Mutex::default(),
            };
            let added = counter.add(pretoken, count, &|drain| spilling.spill(drain));
            spilling.failed()?;
            added?;
        }
        self.totals = totals;
        self.note_runs();
        Ok(())
    }

    /// Takes note of what was spilled.
    fn note_runs(&mut self) {
        let runs = self.runs.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut n_bytes = 0;
        for run in runs {
            n_bytes += std::mem::take(&mut run.n_unnoted);
        }
        self.n_bytes_spilled += n_bytes;
    }

    fn open(&mut self) {
        let max = self.table_bytes();
        if let State::Settled(counts) = &mut self.state {
            let counts = std::mem::take(counts);
            self.state = State::Open(PretokenCounter::from_counts(counts, max));
        }
    }

    /// Adds up what the threads have; on disk, if some of it is there, into one run.
    pub fn settle(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<()> {
        if let State::Open(counter) = &mut self.state {
            if self.runs.get_mut().is_ok_and(|runs| runs.is_empty()) {
                let max = self.max_memory;
                // Tables of several threads have pretokens in common, but adding them up takes room
                // for both.
                if counter.n_tables() > 1 && counter.memory_bytes() > max / 2 {
                    self.spill_rest()?;
                } else {
                    let mut counter = std::mem::replace(counter, PretokenCounter::new(0));
                    counter.set_totals(self.totals);
                    self.state = State::Settled(counter.finish()?);
                    return Ok(());
                }
            } else {
                self.spill_rest()?;
            }
            self.state = State::Settled(PretokenCounts::new());
        }
        if self.runs().len() > 1 {
            let runs = std::mem::take(self.runs());
            let n_documents = self.totals.n_documents;
            let mut n_bytes = 0;
            let merged = merge_runs(&self.folder, runs, n_documents, keep_going, &mut n_bytes);
            self.n_bytes_spilled += n_bytes;
            let mut merged = merged.map_err(stopped)?;
            merged.n_unnoted = 0;
            self.runs().push(merged);
        }
        Ok(())
    }

    fn spill_rest(&mut self) -> Result<()> {
        if let State::Open(counter) = &mut self.state {
            let spilling = Spilling {
                folder: &self.folder,
                runs: &self.runs,
                failed: Mutex::default(),
            };
            let drained = counter.drain(&|drain| spilling.spill(drain));
            spilling.failed()?;
            drained?;
        }
        self.note_runs();
        Ok(())
    }

    /// The counts, where all of them are in memory. Settle them before.
    pub fn in_memory(&mut self) -> Option<&PretokenCounts> {
        if self.is_on_disk() {
            return None;
        }
        match &self.state {
            State::Open(_) => None,
            State::Settled(counts) => Some(counts),
        }
    }

    /// Number of distinct pretokens. Settle them before.
    pub fn n_distinct(&mut self) -> u64 {
        match self.runs().first() {
            Some(run) => run.sums.n_distinct,
            None => self.in_memory().map_or(0, |counts| counts.len() as u64),
        }
    }

    /// Bytes of the distinct pretokens, each once. Settle them before.
    pub fn n_distinct_bytes(&mut self) -> u64 {
        match self.runs().first() {
            Some(run) => run.sums.n_distinct_bytes,
            None => self.in_memory().map_or(0, |counts| {
                counts.iter().map(|(bytes, _)| bytes.len() as u64).sum()
            }),
        }
    }

    /// Calls `each` with every pretoken and its count, by rising bytes. Settle them before.
    #[allow(clippy::type_complexity)] // named nowhere else
    pub fn each<E: From<IoError>>(
        &mut self,
        each: &mut dyn FnMut(&[u8], u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if !self.runs().is_empty() {
            return each_of(self.runs(), each);
        }
        if let State::Settled(counts) = &self.state {
            for (bytes, count) in counts.iter_by_bytes() {
                each(bytes, count)?;
            }
        }
        Ok(())
    }

    /// Creates a temporary file beside the counts' own.
    pub fn scratch(&self) -> std::result::Result<ScratchFile, IoError> {
        ScratchFile::create(&self.folder)
    }

    /// Returns the counts in memory, wherever they are, without pretokens that occur fewer than
    /// `min_count` times. Returns the sums of the left-out pretokens, too. Settle them before.
    ///
    /// Exact: nothing that occurs in the counts that are left out occurs more often there than
    /// the number of bytes left out; see [`LeftOut`].
    pub fn at_least(&mut self, min_count: u64) -> Result<(PretokenCounts, LeftOut)> {
        let mut kept = PretokenCounts::new();
        let mut left_out = LeftOut::default();
        let n_documents = self.totals.n_documents;
        self.each::<CountsError>(&mut |bytes, count| {
            if count >= min_count {
                kept.add(bytes, count)?;
            } else {
                left_out.n_distinct += 1;
                left_out.n_pretokens += count;
                left_out.n_bytes += count * bytes.len() as u64;
            }
            Ok(())
        })?;
        kept.add_documents(n_documents)?;
        Ok((kept, left_out))
    }

    /// Writes a file of counts, whole or not at all. Settle them before.
    pub fn save(
        &mut self,
        path: &str,
        header: &CountsHeader,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Sums> {
        let mut writer = CountsWriter::create(path, header)?;
        let n_documents = self.totals.n_documents;
        let mut n = 0_u64;
        self.each::<IoError>(&mut |bytes, count| {
            n += 1;
            if n.is_multiple_of(1 << 16) && !keep_going() {
                return Err(interrupted());
            }
            writer.push(bytes, count)
        })
        .map_err(stopped)?;
        Ok(writer.finish(n_documents)?)
    }

    /// Adds all counts of a file, `weight` times. They pass through memory entry by entry.
    pub fn add_file<R: std::io::Read>(
        &mut self,
        reader: &mut CountsReader<R>,
        weight: u64,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Sums> {
        let mut n = 0_u64;
        while let Some((bytes, count)) = reader.next_entry()? {
            let count = count.checked_mul(weight).ok_or_else(too_large)?;
            self.add(bytes, count)?;
            n += 1;
            if n.is_multiple_of(1 << 16) && !keep_going() {
                return Err(Error::from(ErrorKind::Interrupted).into());
            }
        }
        let sums = reader.sums().unwrap_or_default();
        if weight > 0 {
            self.add_documents(sums.n_documents)?;
        }
        Ok(sums)
    }

    /// Adds to the number of documents.
    pub fn add_documents(&mut self, n_documents: u64) -> Result<()> {
        let more = Totals {
            n_documents,
            ..Totals::default()
        };
        self.totals = self.totals.plus(more)?;
        Ok(())
    }

    /// Adds all counts of another one. Settle that before.
    pub fn merge(&mut self, other: &mut Self, keep_going: &mut dyn FnMut() -> bool) -> Result<()> {
        // Checked as a whole first: a sum that does not fit changes nothing.
        self.totals.plus(other.totals)?;
        let n_documents = other.totals.n_documents;
        let mut n = 0_u64;
        other.each::<CountsError>(&mut |bytes, count| {
            n += 1;
            if n.is_multiple_of(1 << 16) && !keep_going() {
                return Err(Error::from(ErrorKind::Interrupted).into());
            }
            self.add(bytes, count)
        })?;
        self.add_documents(n_documents)
    }
}

/// Counts that were not taken into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Distinct pretokens.
    pub n_distinct: u64,
    /// Pretokens, with their counts.
    pub n_pretokens: u64,
    /// Their bytes: no string occurs more often in what was left out.
    pub n_bytes: u64,
}

fn too_large() -> Error {
    ErrorKind::TooLarge {
        what: "the number of pretokens counted",
        limit: u64::MAX,
    }
    .into()
}

/// A stop that was asked for is the core's error, whoever noticed it.
fn stopped(error: IoError) -> CountsError {
    if error.is_interrupted() {
        return Error::from(ErrorKind::Interrupted).into();
    }
    error.into()
}

/// Writes full tables to disk, from any thread.
struct Spilling<'a> {
    folder: &'a std::path::Path,
    runs: &'a Mutex<Vec<Run>>,
    /// Why that failed the first time.
    failed: Mutex<Option<IoError>>,
}

impl Spilling<'_> {
    fn spill(&self, drain: Drain<'_>) -> jeton_core::error::Result<()> {
        let note = |error: IoError| -> Error {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
            ErrorKind::Interrupted.into()
        };
        let mut writer = RunWriter::create(self.folder).map_err(note)?;
        drain.each(&mut |bytes, count| writer.push(bytes, count).map_err(note))?;
        let run = writer.finish(0).map_err(note)?;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        add_run(self.folder, &mut runs, run).map_err(note)
    }

    /// The error of the disk, if there was one.
    fn failed(self) -> std::result::Result<(), IoError> {
        let failed = self.failed.into_inner();
        failed
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }
}
