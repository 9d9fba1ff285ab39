//! The processor: levels of vector instructions, prefetching, one thread that makes something for
//! all.

pub mod dispatch;
pub(crate) mod once_per_process;
pub mod prefetch;
