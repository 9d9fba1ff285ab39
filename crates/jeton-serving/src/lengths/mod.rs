//! Lengths of answers, foreseen from those that finished.

mod bins;
mod forecasts;
mod history;
mod output_lengths;

pub use bins::{bin_of, longest_of, shortest_of};
pub use history::{Drift, Interval};
pub use output_lengths::{Fields, Foreseen, MAX_GROUPS, OutputLengths};

pub(crate) use forecasts::{Forecast, Quantile, QuantileByPrompt, Sample};
