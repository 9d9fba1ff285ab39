//! The processor: levels of vector instructions, prefetching, values made once for all threads.

pub mod dispatch;
pub(crate) mod once_per_process;
pub mod prefetch;
