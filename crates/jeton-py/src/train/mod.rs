//! Training: one file for the counts, one for each family of trainers.

mod bpe;
mod counts;

pub(crate) use counts::PretokenCounts;

use pyo3::prelude::*;

/// Adds what training has to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PretokenCounts>()?;
    module.add_function(wrap_pyfunction!(bpe::train_bpe, module)?)?;
    Ok(())
}
