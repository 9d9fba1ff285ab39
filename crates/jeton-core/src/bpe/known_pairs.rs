//! What was found out once about a model's merges: a compiled file keeps it, so that its tables are made without merging each
//! token's bytes again.

use super::table::{MAX_ID, MAX_INDEX};

/// The pairs that merge in a rank file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownPairs {
    /// Left, right and index of each.
    pub(super) pairs: Vec<[u32; 3]>,
}

impl KnownPairs {
    /// Lefts, rights and indexes, and the exceptions, as they were written; None where they are of no vocabulary of so many
    /// ids. That they are those of *this* vocabulary is not looked at.
    pub(crate) fn from_raw(columns: [Vec<u32>; 3], n_ids: u32) -> Option<Self> {
        let [left, right, index] = columns;
        let n_ids = n_ids.min(MAX_ID);
        let alike = left.len() == right.len() && left.len() == index.len();
        let few = index.len() < MAX_INDEX;
        let known = [&left, &right, &index];
        let there = known.into_iter().flatten().all(|&id| id < n_ids);
        let pairs = left.into_iter().zip(right).zip(index);
        (alike && few && there).then(|| Self {
            pairs: pairs
                .map(|((left, right), index)| [left, right, index])
                .collect(),
        })
    }

    /// Lefts, rights or indexes, to be written.
    pub(crate) fn column(&self, number: usize) -> impl ExactSizeIterator<Item = u32> {
        self.pairs.iter().map(move |pair| pair[number % 3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_vocabulary_has_is_refused() {
        let read =
            |columns: [&[u32]; 3]| KnownPairs::from_raw(columns.map(<[u32]>::to_vec), 10).is_some();
        assert!(read([&[1, 2], &[3, 4], &[8, 9]]));
        assert!(!read([&[1, 2], &[3], &[8, 9]]));
        assert!(!read([&[1, 2], &[3, 4], &[8]]));
        assert!(!read([&[10], &[3], &[8]]));
        assert!(!read([&[1], &[10], &[8]]));
        assert!(!read([&[1], &[3], &[10]]));
    }
}
