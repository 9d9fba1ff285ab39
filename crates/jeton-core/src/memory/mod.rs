//! How bytes lie in memory: huge pages, arenas, plain numbers, Bloom filters.

pub(crate) mod arena;
pub(crate) mod bloom;
pub mod huge_pages;
pub(crate) mod plain_numbers;
