//! From strings that lie elsewhere to their places: the table of tokens for whoever has a list of
//! strings.

use std::marker::PhantomData;

use super::table::{Bytes, Table};
use crate::error::Result;

/// Places of strings. Callers bring the strings along, as a function from a place to its string.
#[derive(Debug, Default)]
pub(crate) struct StringTable(Table);

struct Strings<'f, 's, F>(&'f F, PhantomData<&'s str>);

impl<'s, F: Fn(u32) -> &'s str> Bytes for Strings<'_, 's, F> {
    #[inline]
    fn of(&self, place: u32) -> &[u8] {
        (self.0)(place).as_bytes()
    }
}

impl StringTable {
    pub(crate) fn with_capacity(n: usize) -> Self {
        Self(Table::with_capacity(n))
    }

    /// Adds the string at a place below `MAX_IDS`, unless there is an equal one, whose place is
    /// returned.
    pub(crate) fn insert<'s>(
        &mut self,
        place: u32,
        string_at: &impl Fn(u32) -> &'s str,
    ) -> Result<Option<u32>> {
        self.0.insert(place, &Strings(string_at, PhantomData))
    }

    /// The hash of a string, whose place is on its way from memory when this returns.
    #[inline]
    pub(crate) fn prepare(&self, string: &str) -> u64 {
        self.0.prepare(string.as_bytes())
    }

    /// The place of a string that was hashed before.
    #[inline]
    pub(crate) fn find_prepared<'s>(
        &self,
        hash: u64,
        string: &str,
        string_at: &impl Fn(u32) -> &'s str,
    ) -> Option<u32> {
        self.0
            .find_prepared(hash, string.as_bytes(), &Strings(string_at, PhantomData))
    }
}
