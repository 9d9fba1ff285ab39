//! Tokens that a vocabulary must have, whatever the text says.
//!
//! They are watched while others are learned and completed at the end, so they change nothing that
//! the text teaches. For each, the missing merges are made from left to right. The places that they
//! need in the vocabulary are kept free.

use hashbrown::HashMap;

use jeton_core::vocab::hasher;

type Pair = (u32, u32);

/// The tokens of each forced token, as the merges so far cut it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForcedTokens {
    rows: Vec<Vec<u32>>,
    /// Rows in which a pair stood when it came into being; perhaps no longer.
    rows_of: HashMap<Pair, Vec<u32>, foldhash::fast::FixedState>,
    /// Tokens that completing would make, if that is known.
    n_missing: Option<usize>,
}

impl ForcedTokens {
    /// The symbols of each.
    pub(crate) fn new(rows: Vec<Vec<u32>>) -> Self {
        let mut new = Self {
            rows: Vec::new(),
            rows_of: HashMap::with_hasher(hasher()),
            n_missing: None,
        };
        for row in rows {
            let index = new.rows.len() as u32;
            new.rows.push(row);
            new.note_pairs(index);
        }
        new
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn note_pairs(&mut self, index: u32) {
        for pair in self.rows[index as usize].windows(2) {
            let rows = self.rows_of.entry((pair[0], pair[1])).or_default();
            if rows.last() != Some(&index) {
                rows.push(index);
            }
        }
    }

    /// A pair became a token.
    pub(crate) fn merge(&mut self, pair: Pair, new: u32) {
        let Some(rows) = self.rows_of.remove(&pair) else {
            return;
        };
        self.n_missing = None;
        for index in rows {
            join(&mut self.rows[index as usize], pair, new);
            self.note_pairs(index);
        }
    }

    /// True if all room that is left is needed to complete them.
    pub(crate) fn fill(&mut self, room: usize) -> bool {
        if self.rows.is_empty() {
            return false;
        }
        let at_most: usize = self.rows.iter().map(|row| row.len() - 1).sum();
        if at_most < room {
            return false;
        }
        let n_missing = match self.n_missing {
            Some(known) => known,
            None => {
                let n = self.clone().complete(u32::MAX).len();
                self.n_missing = Some(n);
                n
            }
        };
        n_missing >= room
    }

    /// The merges that are missing, in order. The new tokens get ids from `next_id`; for counting
    /// only, any id that is free will do.
    pub(crate) fn complete(mut self, next_id: u32) -> Vec<(u32, u32, u32)> {
        let counting = next_id == u32::MAX;
        let mut id = if counting { 1 << 31 } else { next_id };
        let mut merges = Vec::new();
        for index in 0..self.rows.len() {
            while let [left, right, ..] = self.rows[index][..] {
                self.merge((left, right), id);
                merges.push((left, right, id));
                id += 1;
            }
        }
        merges
    }
}

/// Join `pair` from left to right.
fn join(row: &mut Vec<u32>, pair: Pair, new: u32) {
    let mut at = 0;
    while at + 1 < row.len() {
        if (row[at], row[at + 1]) == pair {
            row[at] = new;
            row.remove(at + 1);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_made_from_left_to_right_and_shared() {
        let mut forced = ForcedTokens::new(vec![vec![1, 2, 3, 4], vec![1, 2, 5]]);
        // (1, 2), (12, 3), (123, 4), (12, 5): both need (1, 2), which is made once.
        assert!(!forced.fill(5));
        assert!(forced.fill(4));
        forced.merge((3, 4), 9);
        assert!(!forced.fill(4));
        assert!(forced.fill(3));
        assert_eq!(forced.complete(10), [(1, 2, 10), (10, 9, 11), (10, 5, 12)]);
    }
}
