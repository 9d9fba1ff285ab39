//! Training: one file for the counts, one for each family of trainers.

mod bpe;
mod chosen;
mod continued;
mod counts;
mod options;
mod parity;
mod superwords;
mod trainers;

pub(crate) use counts::PretokenCounts;

use pyo3::prelude::*;

/// Adds what training has to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PretokenCounts>()?;
    module.add_class::<options::BpeOptions>()?;
    module.add_class::<chosen::FewestTokens>()?;
    module.add_class::<chosen::TrimmedBpe>()?;
    module.add_class::<continued::ContinuedBpe>()?;
    module.add_class::<continued::LearnedToken>()?;
    module.add_class::<counts::CharacterTable>()?;
    module.add_class::<counts::CountsFile>()?;
    module.add_class::<counts::FrequentPretokens>()?;
    module.add_class::<parity::ParityBpe>()?;
    module.add_class::<superwords::SuperwordBpe>()?;
    module.add_function(wrap_pyfunction!(bpe::train_bpe, module)?)?;
    module.add_function(wrap_pyfunction!(bpe::train_bpe_with, module)?)?;
    module.add_function(wrap_pyfunction!(superwords::train_superwords, module)?)?;
    module.add_function(wrap_pyfunction!(continued::counts_for, module)?)?;
    module.add_function(wrap_pyfunction!(continued::continue_bpe, module)?)?;
    module.add_function(wrap_pyfunction!(parity::train_parity_bpe, module)?)?;
    module.add_function(wrap_pyfunction!(chosen::train_trimmed_bpe, module)?)?;
    module.add_function(wrap_pyfunction!(chosen::train_fewest_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(trainers::train_characters, module)?)?;
    module.add_function(wrap_pyfunction!(trainers::train_sentencepiece, module)?)?;
    module.add_function(wrap_pyfunction!(trainers::train_pieces, module)?)?;
    Ok(())
}
