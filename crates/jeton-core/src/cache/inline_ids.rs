//! Ids as entries for short pretokens have them: three of four bytes each, or seven of two.
//!
//! A vocabulary of at most 2^16 ids has room for seven in a small entry. Its pretokens of four to
//! seven ids stay in `few_ids`, the tier that is looked at first.

use crate::cache::two_way::{Payload, payload_of};

/// As many ids are taken from an entry at once, however many count.
pub(crate) const IDS_PER_ENTRY: usize = 8;

/// Ids of two bytes in an entry, beside their number.
const MAX_IDS: usize = IDS_PER_ENTRY - 1;

/// True if all ids of a vocabulary of `n_ids` fit into two bytes.
pub(crate) fn are_small(n_ids: u32) -> bool {
    n_ids <= 1 << 16
}

/// Packs ids into an entry, if they fit. `SMALL`: in two bytes each.
pub(crate) fn pack<const SMALL: bool>(ids: &[u32]) -> Option<Payload<4>> {
    if !SMALL {
        return payload_of(ids);
    }
    if ids.len() > MAX_IDS || ids.iter().any(|&id| u16::try_from(id).is_err()) {
        return None;
    }
    let mut all = [0; IDS_PER_ENTRY];
    all[..ids.len()].copy_from_slice(ids);
    all[MAX_IDS] = ids.len() as u32;
    // The lower halves are the first four, so that each half of all is one vector of numbers.
    Some(std::array::from_fn(|at| all[at] | all[at + 4] << 16))
}

/// The ids of an entry, and how many of them count.
#[inline(always)]
pub(crate) fn unpack<const SMALL: bool>(payload: &Payload<4>) -> ([u32; IDS_PER_ENTRY], usize) {
    let &[a, b, c, d] = payload;
    if !SMALL {
        return ([a, b, c, 0, 0, 0, 0, 0], d as usize);
    }
    let low = payload.map(|both| both & 0xFFFF);
    let high = payload.map(|both| both >> 16);
    let ids = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], 0];
    (ids, high[3] as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<const SMALL: bool>(ids: &[u32], fit: bool) {
        let packed = pack::<SMALL>(ids);
        assert_eq!(packed.is_some(), fit);
        if let Some(payload) = packed {
            let (all, n_ids) = unpack::<SMALL>(&payload);
            assert_eq!(&all[..n_ids], ids);
        }
    }

    proptest! {
        #[test]
        fn ids_come_back(
            ids in prop::collection::vec(prop_oneof![20 => 0u32..0x1_0000, 1 => any::<u32>()], 0..10),
        ) {
            let n = ids.len();
            check::<false>(&ids, n <= 3);
            check::<true>(&ids, n <= 7 && ids.iter().all(|&id| id < 0x1_0000));
        }
    }
}
