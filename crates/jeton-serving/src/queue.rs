//! Queue of waiting requests: as they come, or the shortest predicted first.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// A request in its place: equal places go in the order of arrival.
#[derive(Clone, Copy, Debug)]
struct Placed {
    place: f64,
    number: u64,
    request: usize,
}

impl Ord for Placed {
    fn cmp(&self, other: &Self) -> Ordering {
        let places = self.place.total_cmp(&other.place);
        places.then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Placed {}

/// Waiting requests.
///
/// First come, first served: all stand in `front`. Shortest first: `front` has those that were put
/// back at the head, which go before all others.
#[derive(Clone, Debug)]
pub(crate) struct RequestQueue {
    front: VecDeque<usize>,
    places: BinaryHeap<Reverse<Placed>>,
    is_shortest_first: bool,
    n_pushed: u64,
}

impl RequestQueue {
    pub(crate) fn new(is_shortest_first: bool) -> Self {
        Self {
            front: VecDeque::new(),
            places: BinaryHeap::new(),
            is_shortest_first,
            n_pushed: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.front.len() + self.places.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn head(&self) -> Option<usize> {
        let placed = || self.places.peek().map(|Reverse(one)| one.request);
        self.front.front().copied().or_else(placed)
    }

    /// Puts a request that came into its place.
    pub(crate) fn push(&mut self, request: usize, place: f64) {
        if !self.is_shortest_first {
            self.front.push_back(request);
            return;
        }
        self.n_pushed += 1;
        self.places.push(Reverse(Placed {
            place,
            number: self.n_pushed,
            request,
        }));
    }

    /// Puts a request before all others.
    pub(crate) fn put_back(&mut self, request: usize) {
        self.front.push_front(request);
    }

    /// Takes the head.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let placed = |places: &mut BinaryHeap<Reverse<Placed>>| Some(places.pop()?.0.request);
        let first = self.front.pop_front();
        first.or_else(|| placed(&mut self.places))
    }

    /// Takes a request out wherever it is: O(n).
    pub(crate) fn remove(&mut self, request: usize) {
        self.front.retain(|&one| one != request);
        self.places.retain(|Reverse(one)| one.request != request);
    }
}
