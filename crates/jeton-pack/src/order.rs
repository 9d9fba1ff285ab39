//! Documents by length.

use crate::table::{filled, with_room};
use crate::{DENSE_CAPACITY, PackError};

/// Returns the places of the documents by length; equal lengths keep their order.
pub(crate) fn ascending(lengths: &[u32]) -> Result<Vec<u32>, PackError> {
    let largest = lengths.iter().copied().max().unwrap_or(0) as usize;
    if largest > DENSE_CAPACITY.max(lengths.len()) {
        return by_sorting(lengths);
    }
    let mut start = filled(0u32, largest + 2)?;
    for &length in lengths {
        start[length as usize + 1] += 1;
    }
    for length in 0..=largest {
        start[length + 1] += start[length];
    }
    let mut order = filled(0u32, lengths.len())?;
    for (document, &length) in lengths.iter().enumerate() {
        let slot = &mut start[length as usize];
        order[*slot as usize] = document as u32;
        *slot += 1;
    }
    Ok(order)
}

/// Sorts instead of counting: memory does not depend on the lengths.
fn by_sorting(lengths: &[u32]) -> Result<Vec<u32>, PackError> {
    let mut keys: Vec<u64> = with_room(lengths.len())?;
    let keyed = lengths.iter().enumerate();
    keys.extend(keyed.map(|(document, &length)| u64::from(length) << 32 | document as u64));
    keys.sort_unstable();
    let mut order = with_room(keys.len())?;
    order.extend(keys.into_iter().map(|key| key as u32));
    Ok(order)
}
