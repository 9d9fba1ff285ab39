//! The priority queue of the n-best search, with its ties.
//!
//! Hypotheses of equal estimates are frequent: the same pieces in another order. Their order is not
//! specified by `sentencepiece`, but its answers follow from its heap. The heap comes from the C++
//! library it is built with (libstdc++, as in the published wheels for Linux). This is that heap. A
//! new item rises past smaller parents only. To take the top, the hole sinks to a leaf along the
//! larger children, the right one of equals, and the last item rises from there.

use std::cmp::Ordering;

/// Items with an estimate each; the largest comes first.
#[derive(Debug)]
pub(super) struct Queue<T> {
    items: Vec<(f64, T)>,
}

impl<T: Copy> Queue<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn push(&mut self, estimate: f64, item: T) {
        self.items.push((estimate, item));
        self.rise(self.items.len() - 1, (estimate, item));
    }

    pub(super) fn pop(&mut self) -> Option<(f64, T)> {
        let last = self.items.pop()?;
        let Some(&top) = self.items.first() else {
            return Some(last);
        };
        let n = self.items.len();
        let mut hole = 0;
        loop {
            let right = 2 * hole + 2;
            let child = match right.cmp(&n) {
                Ordering::Less if self.items[right].0 < self.items[right - 1].0 => right - 1,
                Ordering::Less => right,
                Ordering::Equal => right - 1,
                Ordering::Greater => break,
            };
            self.items[hole] = self.items[child];
            hole = child;
        }
        self.rise(hole, last);
        Some(top)
    }

    /// Fills a hole with an item or a smaller parent, and goes on with the parent's place.
    fn rise(&mut self, mut hole: usize, item: (f64, T)) {
        while hole > 0 {
            let parent = (hole - 1) / 2;
            // Not `>=`: of equals the older stays above.
            if self.items[parent].0 < item.0 {
                self.items[hole] = self.items[parent];
                hole = parent;
            } else {
                break;
            }
        }
        self.items[hole] = item;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_come_as_from_the_cpp_library() {
        // The order in which `std::priority_queue` gives eight equal keys pushed as 0 to 7.
        let mut queue = Queue::new();
        for item in 0..8 {
            queue.push(1.0, item);
        }
        let order: Vec<i32> = std::iter::from_fn(|| queue.pop()).map(|p| p.1).collect();
        assert_eq!(order, CPP_ORDER);
    }

    /// Printed by a program built with g++ that pushes and pops as the test does.
    const CPP_ORDER: [i32; 8] = [0, 2, 6, 5, 7, 4, 1, 3];

    proptest! {
        #[test]
        fn comes_out_sorted(keys in prop::collection::vec(0u8..20, 0..60)) {
            let mut queue = Queue::new();
            for &key in &keys {
                queue.push(f64::from(key), key);
            }
            let mut expected = keys;
            expected.sort_unstable_by(|a, b| b.cmp(a));
            let found: Vec<u8> = std::iter::from_fn(|| queue.pop()).map(|p| p.1).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
