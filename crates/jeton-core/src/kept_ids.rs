//! Ids as the records of texts have them: four bytes each, or two where that is enough.

/// In the number that tells how many ids there are: that two of them share a number, the first in its lower half.
const TWO_BYTES: u32 = 0x8000;

/// The ids of a record, which may share numbers.
#[derive(Clone, Copy, Debug)]
pub struct KeptIds<'r> {
    numbers: &'r [u32],
    n: usize,
    two_bytes: bool,
}

/// What a record's head says of ids: how many there are (below 2^15), and whether two of them share a number, which they do if that
/// was asked for and all are small enough.
pub(crate) fn head(ids: &[u32], may_share: bool) -> u32 {
    let two_bytes = may_share && ids.iter().all(|&id| u16::try_from(id).is_ok());
    ids.len() as u32 | if two_bytes { TWO_BYTES } else { 0 }
}

/// As many numbers as the ids of a record take.
#[inline(always)]
pub(crate) fn n_numbers(head: u32) -> usize {
    if head & TWO_BYTES == 0 {
        head as usize
    } else {
        (head & !TWO_BYTES).div_ceil(2) as usize
    }
}

/// Puts ids into a record that has as many numbers as they take.
pub(crate) fn write(ids: &[u32], head: u32, numbers: &mut [u32]) {
    if head & TWO_BYTES == 0 {
        numbers.copy_from_slice(ids);
    } else {
        for (there, both) in numbers.iter_mut().zip(ids.chunks(2)) {
            *there = both[0] | both.get(1).map_or(0, |second| second << 16);
        }
    }
}

impl<'r> KeptIds<'r> {
    /// Those of a record with this head and these numbers.
    #[inline(always)]
    pub(crate) fn new(head: u32, numbers: &'r [u32]) -> Self {
        Self {
            numbers,
            n: (head & !TWO_BYTES) as usize,
            two_bytes: head & TWO_BYTES != 0,
        }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.n
    }

    /// The ids, if each has a number of its own.
    #[inline(always)]
    pub(crate) fn as_they_are(self) -> Option<&'r [u32]> {
        (!self.two_bytes).then_some(self.numbers)
    }

    /// Appends them.
    pub(crate) fn append_to(self, ids: &mut Vec<u32>) {
        if let Some(known) = self.as_they_are() {
            return ids.extend_from_slice(known);
        }
        let from = ids.len();
        ids.extend(
            self.numbers
                .iter()
                .flat_map(|both| [both & 0xFFFF, both >> 16]),
        );
        ids.truncate(from + self.n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_come_back(
            ids in prop::collection::vec(prop_oneof![20 => 0u32..0x1_0000, 1 => any::<u32>()], 0..70),
            before in prop::collection::vec(any::<u32>(), 0..3),
            may_share in any::<bool>(),
        ) {
            let head = head(&ids, may_share);
            let mut numbers = vec![7; n_numbers(head)];
            write(&ids, head, &mut numbers);
            let kept = KeptIds::new(head, &numbers);
            prop_assert_eq!(kept.len(), ids.len());
            let small = ids.iter().all(|&id| id < 0x1_0000);
            prop_assert_eq!(kept.as_they_are().is_none(), may_share && small);
            let mut all = before.clone();
            kept.append_to(&mut all);
            prop_assert_eq!(all, [before, ids].concat());
        }
    }
}
