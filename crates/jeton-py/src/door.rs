//! The one door between Python and the core.

use std::time::{Duration, Instant};

use jeton_core::documents::parallel::ALL_THREADS;
use jeton_core::documents::texts::Documents;
use jeton_core::error::Result;
use pyo3::prelude::*;

use crate::error::to_python;

/// How often long work looks for Ctrl-C. Looking needs Python's lock, which other threads may hold.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Texts up to this many bytes are encoded without letting other Python threads run: giving the
/// lock up and taking it back costs more than a short text. Half and twice as many do the same,
/// none makes short texts slower (docs/log/2026-11-28-tuning-constants.md).
pub(crate) const SHORT_BYTES: usize = 16 << 10;

/// Runs work of the core that may take long: other Python threads run meanwhile, Ctrl-C ends it (if
/// it asks `keep_going` now and then), and errors become Python's.
pub(crate) fn enter<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T> + Send,
) -> PyResult<T> {
    let (result, signal) = py.detach(|| {
        let mut signal = None;
        let mut last = Instant::now();
        let result = work(&mut || {
            if last.elapsed() < SIGNAL_INTERVAL {
                return true;
            }
            last = Instant::now();
            #[allow(clippy::redundant_closure_for_method_calls)] // the method is not general enough
            match Python::attach(|py| py.check_signals()) {
                Ok(()) => true,
                Err(error) => {
                    signal = Some(error);
                    false
                }
            }
        });
        (result, signal)
    });
    match (result, signal) {
        (Ok(value), None) => Ok(value),
        (_, Some(signal)) => Err(signal),
        (Err(error), None) => Err(to_python(py, &error)),
    }
}

/// Runs short work of the core without giving up Python's lock.
pub(crate) fn quick<T>(py: Python<'_>, result: Result<T>) -> PyResult<T> {
    result.map_err(|error| to_python(py, &error))
}

/// Goes through [`enter`] if texts are long together; for a few short ones, it would cost more than
/// they do.
pub(crate) fn enter_if_long<T: Send>(
    py: Python<'_>,
    texts: &dyn Documents,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T> + Send,
) -> PyResult<T> {
    // A batch of this many texts counts as long work.
    let few = texts.len() <= SHORT_BYTES / 8;
    if few
        && (0..texts.len())
            .map(|index| texts.size(index))
            .sum::<usize>()
            <= SHORT_BYTES
    {
        return quick(py, work(&mut || true));
    }
    enter(py, work)
}

/// Number of threads to use: as asked, or all cores that this process may use.
pub(crate) fn threads(asked: Option<isize>) -> PyResult<usize> {
    let Some(asked) = asked else {
        return Ok(jeton_core::documents::parallel::available_threads());
    };
    usize::try_from(asked).ok().filter(|&threads| threads > 0).ok_or_else(|| {
        pyo3::exceptions::PyValueError::new_err(format!(
            "num_threads is {asked}; expected at least 1, or None for as many as this process may use"
        ))
    })
}

/// Returns a bound on the threads without a look at how many this process may use: for texts that
/// may turn out short.
pub(crate) fn threads_at_most(asked: Option<isize>) -> PyResult<usize> {
    asked.map_or(Ok(ALL_THREADS), |asked| threads(Some(asked)))
}

/// Threads that this process may use.
#[pyfunction]
pub(crate) fn available_threads() -> usize {
    jeton_core::documents::parallel::available_threads()
}
