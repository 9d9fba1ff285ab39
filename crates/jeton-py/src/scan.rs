//! The guard's scanner.

use jeton_scan as core;
use pyo3::prelude::*;

use crate::door::{SHORT_BYTES, enter};

/// First code point, class, script, joining type, flags, script bit.
type Range = (u32, u8, u8, u8, u8, u8);

/// Finds the places of a text at which the guard has to look.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct TextScanner(core::Scanner);

#[pymethods]
impl TextScanner {
    /// Make a scanner from properties of characters: for each range of code points its first one,
    /// class, script, joining type, flags and script bit, ascending. ``folds`` has characters with
    /// the ASCII character that they pass for, ``markers`` the texts of special tokens, ``phrases``
    /// words that are found as they are.
    #[new]
    #[pyo3(signature = (ranges, folds, markers, phrases))]
    #[allow(clippy::needless_pass_by_value)] // extracted from Python
    fn new(
        ranges: Vec<Range>,
        folds: Vec<(char, u8)>,
        markers: Vec<String>,
        phrases: Vec<String>,
    ) -> Self {
        let rows: Vec<(u32, core::Row)> = ranges
            .into_iter()
            .map(|(start, kind, script, joining, flags, script_bit)| {
                let row = core::Row {
                    kind,
                    script,
                    joining,
                    flags,
                    script_bit,
                    ..core::Row::default()
                };
                (start, row)
            })
            .collect();
        let table = core::Table::new(&rows, &folds);
        Self(core::Scanner::new(table, &markers, &phrases))
    }

    /// The candidates of a text: start and end in code points, and the code, by place and code.
    fn candidates(&self, py: Python<'_>, text: &str) -> PyResult<Vec<(usize, usize, u8)>> {
        let found = if text.len() <= SHORT_BYTES {
            self.0.scan(text)
        } else {
            enter(py, |_| Ok(self.0.scan(text)))?
        };
        let plain = |one: core::Candidate| (one.start, one.end, one.code as u8);
        Ok(found.into_iter().map(plain).collect())
    }
}
