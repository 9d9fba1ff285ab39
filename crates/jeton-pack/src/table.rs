//! Tables as large as the input says: an allocation that fails is an error.

use crate::PackError;

/// Returns `n` times a value.
pub(crate) fn filled<T: Clone>(value: T, n: usize) -> Result<Vec<T>, PackError> {
    let mut table = with_room(n)?;
    table.resize(n, value);
    Ok(table)
}

/// Returns an empty table with room for `n` values.
pub(crate) fn with_room<T>(n: usize) -> Result<Vec<T>, PackError> {
    let mut table = Vec::new();
    table
        .try_reserve_exact(n)
        .map_err(|_| PackError::NoMemory)?;
    Ok(table)
}
