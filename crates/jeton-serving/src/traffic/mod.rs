//! Traffic replayed on one serving group.

mod batch;
mod engine;
mod outcome;
mod prefixes;
mod step_times;

pub use engine::{Requests, Setup, simulate};
pub use outcome::{Outcome, Recorder};
pub use prefixes::PromptBlocks;
pub use step_times::{ExpertWeights, StepTimes};
