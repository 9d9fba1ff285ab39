//! Admission of requests to a server: who starts, with how much memory, and who is preempted.

mod books;
mod decider;
mod pages;
mod policy;
mod queue;

pub use books::{Books, Offered, ServerLimits, Started};
pub use pages::Pages;
pub use policy::{Policy, PolicyKind};

pub(crate) use decider::{Asking, Decider};
pub(crate) use queue::RequestQueue;
