//! The memory that a thread has of pretokens: keys, tiers, records, budget.

pub(crate) mod budget;
pub(crate) mod doorkeeper;
pub(crate) mod inline_ids;
pub mod key;
pub(crate) mod key_simd;
pub(crate) mod pool;
pub(crate) mod records;
pub(crate) mod tables;
pub(crate) mod tiers;
pub(crate) mod two_way;
