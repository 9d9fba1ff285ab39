//! Answers foreseen, memory handed out, traffic replayed.
//!
//! Lengths of answers are learned from those that finished (`output_lengths`, `forecasts`).
//! Policies decide who starts on a server, with how much memory, and who makes room (`decider`). A
//! server asks them request by request (`books`), and its simulation asks the same (`engine`).
//!
//! Lengths and times go in; no text, no clock, no file. Every result is a function of its input
//! alone, so a run can be repeated to the bit.

#![allow(clippy::cast_sign_loss)] // numbers of tokens and bytes are checked at the door

mod batch;
mod books;
mod decider;
mod engine;
mod forecasts;
mod length_bins;
mod length_history;
mod outcome;
mod output_lengths;
mod pages;
mod policy;
mod prefixes;
mod queue;
mod step_times;

pub use books::{Books, Offered, ServerLimits, Started};
pub use engine::{Requests, Setup, simulate};
pub use length_history::{Drift, Interval};
pub use outcome::{Outcome, Recorder};
pub use output_lengths::{Fields, Foreseen, MAX_GROUPS, OutputLengths};
pub use pages::Pages;
pub use policy::{Policy, PolicyKind};
pub use prefixes::PromptBlocks;
pub use step_times::{ContextTerm, ExpertWeights, StepTimes};

/// A function that is asked now and then whether the work shall go on.
pub type KeepGoing<'a> = &'a mut dyn FnMut() -> bool;
