//! Sorted counts that left memory: temporary files that have no name, so that they go with the
//! process however it ends.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom};
use std::path::Path;

use super::blocks::{BadBlock, BlockReader, BlockWriter, Sums};
use super::files::explain;
use super::merge::Merge;
use crate::error::{IoError, Result};

/// Runs that are read at a time, and most runs of a level. Each run keeps a file open, and systems
/// allow a process a thousand or less.
pub(super) const MAX_RUNS_AT_ONCE: usize = 64;
/// Bytes that are read of each at a time.
const BUFFER_BYTES: usize = 128 << 10;

/// One sorted sequence of counts on disk.
#[derive(Debug)]
pub(super) struct Run {
    file: File,
    pub(super) sums: Sums,
    pub(super) n_bytes: u64,
    /// Bytes written for it that were not added to those spilled.
    pub(super) n_unnoted: u64,
    /// How often its entries were added up.
    level: u8,
}

/// Writes a run.
pub(super) struct RunWriter<'f> {
    folder: &'f Path,
    blocks: BlockWriter<BufWriter<File>>,
}

impl<'f> RunWriter<'f> {
    pub(super) fn create(folder: &'f Path) -> Result<Self> {
        let file = temporary_file(folder)?;
        let blocks = BlockWriter::new(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(Self { folder, blocks })
    }

    pub(super) fn push(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let written = self.blocks.push(pretoken, count);
        written.map_err(|source| write_error(self.folder, source))
    }

    pub(super) fn finish(self, n_documents: u64) -> Result<Run> {
        let finish = || -> io::Result<Run> {
            let (file, sums, n_bytes) = self.blocks.finish(n_documents)?;
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            Ok(Run {
                file,
                sums,
                n_bytes,
                n_unnoted: n_bytes,
                level: 0,
            })
        };
        finish().map_err(|source| write_error(self.folder, source))
    }
}

/// A file without a name, which goes with the process however it ends.
pub(super) fn temporary_file(folder: &Path) -> Result<File> {
    // Looked at first, because then the system's own error says what is wrong with it.
    std::fs::metadata(folder)
        .and_then(|_| tempfile::tempfile_in(folder))
        .map_err(|source| write_error(folder, source))
}

pub(super) fn write_error(folder: &Path, source: io::Error) -> IoError {
    IoError::Write {
        path: format!("{} (temporary files)", folder.display()),
        source,
    }
}

/// Name of temporary files in errors: they have none of their own.
const NAME: &str = "a temporary file of counts";

impl Run {
    /// Its entries from the beginning. Only one reader at a time: they share a position.
    fn reader(&self) -> Result<BlockReader<BufReader<&File>>> {
        (&self.file)
            .seek(SeekFrom::Start(0))
            .map_err(|source| explain(NAME, BadBlock::Io(source)))?;
        let input = BufReader::with_capacity(BUFFER_BYTES, &self.file);
        Ok(BlockReader::new(input, true))
    }
}

/// Calls `each` with every pretoken of runs and the sum of its counts, by rising bytes.
#[allow(clippy::type_complexity)] // named nowhere else
pub(super) fn each_of<E>(
    runs: &[Run],
    each: &mut dyn FnMut(&[u8], u64) -> std::result::Result<(), E>,
) -> std::result::Result<(), E>
where
    E: From<IoError>,
{
    let readers = runs.iter().map(Run::reader).collect::<Result<Vec<_>>>()?;
    let mut merge = Merge::new(readers).map_err(|(_, bad)| explain(NAME, bad))?;
    while let Some((pretoken, count)) = merge.next().map_err(|(_, bad)| explain(NAME, bad))? {
        each(pretoken, count)?;
    }
    Ok(())
}

/// Adds a run to others. Where there are too many of its level they become one of the next level,
/// so that an entry is written once for each level, and the levels are few.
pub(super) fn add_run(folder: &Path, runs: &mut Vec<Run>, run: Run) -> Result<()> {
    let mut level = run.level;
    runs.push(run);
    while runs.iter().filter(|run| run.level == level).count() >= MAX_RUNS_AT_ONCE {
        let (full, rest) = std::mem::take(runs)
            .into_iter()
            .partition(|run| run.level == level);
        let full: Vec<Run> = full;
        *runs = rest;
        let mut writer = RunWriter::create(folder)?;
        each_of(&full, &mut |pretoken, count| writer.push(pretoken, count))?;
        let mut merged = writer.finish(0)?;
        level = level.saturating_add(1);
        merged.level = level;
        merged.n_unnoted += full.iter().map(|run| run.n_unnoted).sum::<u64>();
        runs.push(merged);
    }
    Ok(())
}

/// Adds runs up, a limited number at a time, until there is one.
pub(super) fn merge_runs(
    folder: &Path,
    mut runs: Vec<Run>,
    n_documents: u64,
    keep_going: &mut dyn FnMut() -> bool,
    n_bytes_written: &mut u64,
) -> Result<Run> {
    loop {
        if !keep_going() {
            return Err(interrupted());
        }
        let rest = runs.split_off(runs.len().min(MAX_RUNS_AT_ONCE));
        let is_last = rest.is_empty();
        let mut writer = RunWriter::create(folder)?;
        let mut n = 0_u64;
        each_of(&runs, &mut |pretoken, count| {
            n += 1;
            if n.is_multiple_of(1 << 16) && !keep_going() {
                return Err(interrupted());
            }
            writer.push(pretoken, count)
        })?;
        let run = writer.finish(n_documents)?;
        *n_bytes_written += run.n_bytes;
        if is_last {
            return Ok(run);
        }
        // The oldest are the largest; new ones go first, so that each is read about as often as any
        // other.
        runs = rest;
        runs.push(run);
    }
}

/// The caller asked to stop.
pub(super) fn interrupted() -> IoError {
    IoError::Io {
        path: NAME.to_owned(),
        source: io::ErrorKind::Interrupted.into(),
    }
}
