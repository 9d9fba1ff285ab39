//! Many texts: batches, threads, text of other encodings.

pub mod batch;
pub mod parallel;
pub mod texts;
pub mod token_batch;
pub mod transcode;
