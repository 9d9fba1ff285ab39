//! Counts of pretokens.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jeton_core::error::{Error, ErrorKind};
use jeton_core::pretokenize::StepConfig;
use jeton_io::counts::{CountsError, CountsHeader, CountsReader, LeftOut, Result, TextCounts};
use jeton_measure::{CharacterCounts, script_names};
use jeton_train::{self as core, CountSource, CutConfig, Cutter, Scratch, Splitting, Weights};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::batch::TextBatch;
use crate::door::{enter, quick, threads};
use crate::error::io_to_python;
use crate::meet_numpy;
use crate::recipe::Recipe;

/// Approximate memory of a pretoken besides its bytes: for the message where counts do not fit.
const ENTRY_BYTES: u64 = 32;

/// Approximate memory of the BPE trainer for each byte of each distinct pretoken: two cells of four
/// bytes, and three entries of lists of places.
const BYTES_PER_WORD_BYTE: u64 = 20;

/// Weighted pretokens: what every trainer starts from. Mergeable.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct PretokenCounts {
    pub(super) cutter: Cutter,
    counts: Mutex<TextCounts>,
}

/// The characters of counted text, by falling count.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct CharacterTable {
    /// Code points, uint32 (n_characters,).
    code_points: Py<PyArray1<u32>>,
    /// Their counts, uint64 (n_characters,).
    counts: Py<PyArray1<u64>>,
    /// Places of their scripts in ``script_names``, uint8 (n_characters,).
    scripts: Py<PyArray1<u8>>,
    /// Names of all Unicode scripts.
    script_names: Vec<&'static str>,
    /// Bytes that are no text.
    n_bad_bytes: u64,
}

/// The header of a file of counts.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct CountsFile {
    /// The way in which text was cut, as JSON: see ``PretokenCounts.cutting``.
    cutting: String,
    /// The description given by its writer, as JSON.
    info: String,
}

/// Counts without rare pretokens.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct FrequentPretokens {
    /// The pretokens that are frequent enough.
    counts: Py<PretokenCounts>,
    /// Distinct pretokens left out.
    n_distinct_left_out: u64,
    /// Pretokens left out.
    n_pretokens_left_out: u64,
    /// Bytes of the pretokens left out.
    n_bytes_left_out: u64,
}

/// Goes through the door with work on files.
fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T> + Send,
) -> PyResult<T> {
    let mut failed = None;
    let result = enter(py, |keep_going| {
        work(keep_going).map_err(|error| match error {
            CountsError::Core(error) => error,
            CountsError::Io(error) => {
                failed = Some(error);
                ErrorKind::Interrupted.into()
            }
        })
    });
    match failed {
        Some(error) => Err(io_to_python(py, &error)),
        None => result,
    }
}

/// Words and counts, again and again, from wherever they are.
struct Stream<'a>(&'a mut TextCounts);

impl CountSource for Stream<'_> {
    fn each(
        &mut self,
        visit: &mut dyn FnMut(&[u8], u64) -> jeton_core::error::Result<()>,
    ) -> jeton_core::error::Result<()> {
        let visited = self
            .0
            .each::<CountsError>(&mut |word, count| Ok(visit(word, count)?));
        visited.map_err(of_training)
    }

    fn scratch(&mut self) -> jeton_core::error::Result<Box<dyn Scratch>> {
        let file = self
            .0
            .scratch()
            .map_err(|error| of_training(error.into()))?;
        Ok(Box::new(file))
    }
}

/// Errors of files while training are errors of training.
fn of_training(error: CountsError) -> Error {
    match error {
        CountsError::Core(error) => error,
        CountsError::Io(error) => Error::training(error.to_string()),
    }
}

impl PretokenCounts {
    pub(super) fn of(py: Python<'_>, config: CutConfig) -> PyResult<Self> {
        Ok(Self {
            cutter: quick(py, Cutter::new(config))?,
            counts: Mutex::new(TextCounts::new(None, std::env::temp_dir())),
        })
    }

    fn lock(&self) -> MutexGuard<'_, TextCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts for a trainer that needs all of them in memory.
    pub(super) fn with<R>(
        &self,
        work: impl FnOnce(&core::PretokenCounts) -> jeton_core::error::Result<R>,
    ) -> jeton_core::error::Result<R> {
        let mut counts = self.lock();
        counts.settle(&mut || true).map_err(of_training)?;
        if counts.is_on_disk() {
            let needed = counts.n_distinct_bytes() + counts.n_distinct() * ENTRY_BYTES;
            return Err(Error::training(format!(
                "the {} distinct pretokens need about {needed} bytes of memory, and max_memory is {}\n\
                 hint: give more memory, or leave rare pretokens out with min_count",
                counts.n_distinct(),
                counts.max_memory().unwrap_or(usize::MAX),
            )));
        }
        match counts.in_memory() {
            Some(counts) => work(counts),
            None => work(&core::PretokenCounts::new()),
        }
    }

    /// How much memory a trainer has that can stream the counts, where it should: they, or what it
    /// would make of them, do not fit in memory.
    pub(super) fn memory_to_stream_in(&self) -> jeton_core::error::Result<Option<usize>> {
        let mut counts = self.lock();
        let Some(max_memory) = counts.max_memory() else {
            return Ok(None);
        };
        counts.settle(&mut || true).map_err(of_training)?;
        let words = counts.n_distinct_bytes() * BYTES_PER_WORD_BYTE;
        let needed = words + counts.memory_bytes() as u64;
        let fits = !counts.is_on_disk() && needed <= max_memory as u64;
        Ok((!fits).then_some(max_memory))
    }

    /// The counts for a trainer that streams them.
    pub(super) fn stream<R>(
        &self,
        work: impl FnOnce(&mut dyn CountSource) -> jeton_core::error::Result<R>,
    ) -> jeton_core::error::Result<R> {
        let mut counts = self.lock();
        counts.settle(&mut || true).map_err(of_training)?;
        work(&mut Stream(&mut counts))
    }

    /// Returns the recipe of the cut text as files hold it.
    fn recipe(&self, py: Python<'_>) -> PyResult<Value> {
        let text = quick(py, self.cutter.config().to_json())?;
        serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

#[pymethods]
impl PretokenCounts {
    #[new]
    #[pyo3(signature = (*, pattern, normalizer=None))]
    fn new(py: Python<'_>, pattern: &str, normalizer: Option<&str>) -> PyResult<Self> {
        meet_numpy(py);
        let recipe = Recipe::new(pattern, normalizer)?;
        let split = recipe.split();
        let config = CutConfig::Steps {
            normalizer: recipe.normalizer,
            pretokenizer: vec![StepConfig::Split(split)],
        };
        Self::of(py, config)
    }

    /// Counts that cut text as a description (JSON) says: see ``cutting``.
    #[staticmethod]
    fn cut_by(py: Python<'_>, config: &str) -> PyResult<Self> {
        Self::of(py, quick(py, CutConfig::from_json(config))?)
    }

    /// Returns the header of a file of counts.
    #[staticmethod]
    fn describe_file(py: Python<'_>, path: &str) -> PyResult<CountsFile> {
        let reader = run(py, |_| Ok(CountsReader::open(path)?))?;
        let CountsHeader { recipe, info } = reader.header();
        Ok(CountsFile {
            cutting: recipe.to_string(),
            info: info.to_string(),
        })
    }

    /// How text is cut, as JSON: equal descriptions mean counts that can be added up.
    #[getter]
    fn cutting(&self, py: Python<'_>) -> PyResult<String> {
        quick(py, self.cutter.config().to_json())
    }

    /// Take at most ``max_memory`` bytes from now on; the rest goes to temporary files.
    #[pyo3(signature = (max_memory, *, temp_dir=None))]
    fn limit_memory(
        &self,
        py: Python<'_>,
        max_memory: usize,
        temp_dir: Option<PathBuf>,
    ) -> PyResult<()> {
        let folder = temp_dir.unwrap_or_else(std::env::temp_dir);
        run(py, |_| self.lock().limit_memory(max_memory, folder))
    }

    /// Count documents: all of them ``weight`` times, or each as often as ``weights`` says,
    /// uint64 (n_documents,), where 0 leaves it out. ``whole``: each document is a pretoken as it
    /// is, neither normalized nor cut. After an error, drop the counts.
    #[pyo3(signature = (batch, *, weight=1, weights=None, whole=false, num_threads=None))]
    #[allow(clippy::needless_pass_by_value)] // extracted from Python
    fn add(
        &self,
        py: Python<'_>,
        batch: &TextBatch,
        weight: u64,
        weights: Option<PyReadonlyArray1<'_, u64>>,
        whole: bool,
        num_threads: Option<isize>,
    ) -> PyResult<()> {
        let threads = threads(num_threads)?;
        let split = |text: &str, each: &mut dyn FnMut(&[u8])| {
            if whole {
                each(text.as_bytes());
                return Ok(());
            }
            self.cutter.cut(text, each)
        };
        let splitting = match self.cutter.steps() {
            Some(steps) if !whole => Splitting::Steps(steps),
            _ => Splitting::Function(&split),
        };
        let each: Option<Vec<u64>> = weights.map(|weights| weights.as_array().to_vec());
        run(py, |keep_going| {
            let weights = match &each {
                Some(each) => Weights::Each(each),
                None => Weights::All(weight),
            };
            self.lock()
                .count(batch.0.as_ref(), weights, splitting, threads, keep_going)
        })
    }

    /// Add the counts of another one.
    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        if self.cutter.config() != other.cutter.config() {
            return Err(PyValueError::new_err(
                "counts made with different patterns or normalizers cannot be added up",
            ));
        }
        if std::ptr::eq(self, other) {
            return Err(PyValueError::new_err(
                "counts cannot be added to themselves",
            ));
        }
        run(py, |keep_going| {
            // In the order of their places in memory, so that two threads that merge both ways do
            // not wait forever.
            let (mut mine, mut theirs) = if std::ptr::from_ref(self) < std::ptr::from_ref(other) {
                let mine = self.lock();
                (mine, other.lock())
            } else {
                let theirs = other.lock();
                (self.lock(), theirs)
            };
            theirs.settle(keep_going)?;
            mine.merge(&mut theirs, keep_going)
        })
    }

    /// Add the counts of a file ``weight`` times; returns the description in the file (JSON).
    #[pyo3(signature = (path, *, weight=1))]
    fn add_file(&self, py: Python<'_>, path: &str, weight: u64) -> PyResult<String> {
        let mut reader = run(py, |_| Ok(CountsReader::open(path)?))?;
        if self.recipe(py)? != reader.header().recipe {
            let message = format!(
                "{path}: these counts were cut in another way than the others: by {}\n\
                 hint: count again with the same pattern and normalizer",
                reader.header().recipe
            );
            return quick(py, Err(Error::usage(message)));
        }
        run(py, |keep_going| {
            self.lock()
                .add_file(&mut reader, weight, keep_going)
                .map(|_| ())
        })?;
        Ok(reader.header().info.to_string())
    }

    /// Write a file of counts, whole or not at all; ``info`` (JSON) is what it says of itself.
    #[pyo3(signature = (path, *, info="{}"))]
    fn save(&self, py: Python<'_>, path: &str, info: &str) -> PyResult<()> {
        let info = serde_json::from_str(info)
            .map_err(|error| PyValueError::new_err(format!("info is not JSON: {error}")))?;
        let recipe = self.recipe(py)?;
        let header = CountsHeader { recipe, info };
        run(py, |keep_going| {
            let mut counts = self.lock();
            counts.settle(keep_going)?;
            counts.save(path, &header, keep_going).map(|_| ())
        })
    }

    /// Returns the pretokens that occur at least so often, in memory.
    ///
    /// No string occurs more often in the rest than the rest has bytes.
    fn at_least(&self, py: Python<'_>, min_count: u64) -> PyResult<FrequentPretokens> {
        let made = Self::of(py, self.cutter.config().clone())?;
        let left_out: LeftOut = run(py, |keep_going| {
            let mut counts = self.lock();
            counts.settle(keep_going)?;
            let (kept, left_out) = counts.at_least(min_count)?;
            *made.lock() = TextCounts::from_counts(kept);
            Ok(left_out)
        })?;
        Ok(FrequentPretokens {
            counts: Py::new(py, made)?,
            n_distinct_left_out: left_out.n_distinct,
            n_pretokens_left_out: left_out.n_pretokens,
            n_bytes_left_out: left_out.n_bytes,
        })
    }

    /// Counts the pretokens of more than ``n_bytes`` bytes: distinct ones, and all.
    fn longer_than(&self, py: Python<'_>, n_bytes: usize) -> PyResult<(u64, u64)> {
        let (mut n_distinct, mut n) = (0, 0);
        run(py, |keep_going| {
            let mut counts = self.lock();
            counts.settle(keep_going)?;
            counts.each::<CountsError>(&mut |bytes, count| {
                if bytes.len() > n_bytes {
                    (n_distinct, n) = (n_distinct + 1, n + count);
                }
                Ok(())
            })
        })?;
        Ok((n_distinct, n))
    }

    /// Returns the characters of the counted text.
    fn characters(&self, py: Python<'_>) -> PyResult<CharacterTable> {
        let mut characters = CharacterCounts::default();
        run(py, |keep_going| {
            let mut counts = self.lock();
            counts.settle(keep_going)?;
            counts.each::<CountsError>(&mut |bytes, count| {
                characters.add(bytes, count);
                Ok(())
            })
        })?;
        let sorted = characters.sorted();
        let points: Vec<u32> = sorted.iter().map(|one| u32::from(one.character)).collect();
        let counts: Vec<u64> = sorted.iter().map(|one| one.count).collect();
        let scripts: Vec<u8> = sorted.iter().map(|one| one.script).collect();
        Ok(CharacterTable {
            code_points: points.into_pyarray(py).unbind(),
            counts: counts.into_pyarray(py).unbind(),
            scripts: scripts.into_pyarray(py).unbind(),
            script_names: script_names().to_vec(),
            n_bad_bytes: characters.n_bad_bytes(),
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        run(py, |keep_going| {
            let mut counts = self.lock();
            counts.settle(keep_going)?;
            Ok(counts.n_distinct() as usize)
        })
    }

    /// Different pretokens.
    #[getter]
    fn n_pretokens(&self) -> u64 {
        self.lock().totals().n_pretokens
    }

    /// Bytes of all text that was counted.
    #[getter]
    fn n_bytes(&self) -> u64 {
        self.lock().totals().n_bytes
    }

    /// Documents that were counted.
    #[getter]
    fn n_documents(&self) -> u64 {
        self.lock().totals().n_documents
    }

    /// Bytes written to temporary files so far.
    #[getter]
    fn n_bytes_spilled(&self) -> u64 {
        self.lock().n_bytes_spilled()
    }

    /// Bytes of memory that the counts take now.
    #[getter]
    fn memory_bytes(&self) -> usize {
        self.lock().memory_bytes()
    }

    /// Bytes of memory that the counts may take; None: no limit.
    #[getter]
    fn max_memory(&self) -> Option<usize> {
        self.lock().max_memory()
    }

    /// True if some of them are in temporary files.
    #[getter]
    fn is_on_disk(&self) -> bool {
        self.lock().is_on_disk()
    }

    /// All pretokens with their counts, by falling count, then by bytes.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyBytes>, u64)>> {
        let mut items: Vec<(Vec<u8>, u64)> = Vec::new();
        run(py, |keep_going| {
            let mut counts = self.lock();
            counts.settle(keep_going)?;
            counts.each::<CountsError>(&mut |bytes, count| {
                items.push((bytes.to_vec(), count));
                Ok(())
            })?;
            // They come by rising bytes, and stay so among equals.
            items.sort_by_key(|item| std::cmp::Reverse(item.1));
            Ok(())
        })?;
        Ok(items
            .iter()
            .map(|(bytes, count)| (PyBytes::new(py, bytes), *count))
            .collect())
    }
}
