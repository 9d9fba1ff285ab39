//! The merge loop, short and long.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::pairs::{NO_MERGE, Pairs};
use super::queue::{Buckets, Candidate, Queue};
use super::starts::Starts;
use super::windows::Windows;

/// Longest pretoken, in symbols, merged on the stack; a longer one gets the heap, whose cost does
/// not grow with the square. Where exactly the two meet has not been measured yet.
const MAX_SCANNED: usize = 64;

const END: u32 = u32::MAX;

/// Symbols from which on candidates wait by rank instead of in one heap. Below, heap and symbols
/// stay in the caches. With one heap, 16 MB of random letters took 3.3 to 3.6 times as long. One
/// repeated letter took 7 to 9 times as long (`python -m scripts.long_inputs --only cl100k --text
/// 'random letters' --text 'only a'` on either tree).
const MIN_BUCKETED: usize = 1 << 16;

/// Memory that merges reuse, and what a thread has found out of a model: for that one only.
#[derive(Debug, Default)]
pub struct BpeScratch {
    heap: BinaryHeap<Reverse<Candidate>>,
    links: Vec<Link>,
    pub(super) windows: Windows,
    pub(super) starts: Starts,
    /// Words that the thread may still merge without tables.
    pub(super) free_words: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

/// Data beside each symbol's id that follows as symbols merge.
pub(crate) trait Beside {
    /// The symbol at `at` swallows the one at `next`.
    fn join(&mut self, at: usize, next: usize);
    /// The symbols of a range move to the front, to where `to` is.
    fn shift(&mut self, from: Range<usize>, to: usize);
}

/// Nothing.
impl Beside for () {
    fn join(&mut self, _: usize, _: usize) {}
    fn shift(&mut self, _: Range<usize>, _: usize) {}
}

/// Lengths, which add up.
impl Beside for [u32] {
    fn join(&mut self, at: usize, next: usize) {
        self[at] += self[next];
    }

    fn shift(&mut self, from: Range<usize>, to: usize) {
        self.copy_within(from, to);
    }
}

/// Merges `ids` in place; returns how many are left at its front.
pub(crate) fn merge(pairs: &impl Pairs, ids: &mut [u32], scratch: &mut BpeScratch) -> usize {
    merge_beside(pairs, ids, &mut (), scratch)
}

/// Merges `ids` in place with data beside each; returns how many are left at its front.
pub(crate) fn merge_beside<B: Beside + ?Sized>(
    pairs: &impl Pairs,
    ids: &mut [u32],
    beside: &mut B,
    scratch: &mut BpeScratch,
) -> usize {
    match ids.len() {
        0 | 1 => ids.len(),
        2..=MAX_SCANNED => merge_short(pairs, ids, beside),
        _ => merge_long(pairs, ids, beside, &mut (), scratch),
    }
}

/// Scans for the lowest rank each time, of one rank from the left; no allocation, no indirection.
fn merge_short<B: Beside + ?Sized>(pairs: &impl Pairs, ids: &mut [u32], beside: &mut B) -> usize {
    let mut merges = [NO_MERGE; MAX_SCANNED];
    let mut left = ids.len();
    for i in 0..left - 1 {
        merges[i] = pairs.get(ids[i], ids[i + 1]);
    }
    loop {
        let mut best = NO_MERGE;
        let mut at = 0;
        for (i, &merge) in merges[..left - 1].iter().enumerate() {
            if merge >> 32 < best >> 32 {
                best = merge;
                at = i;
            }
        }
        if best == NO_MERGE {
            return left;
        }
        ids[at] = best as u32;
        ids.copy_within(at + 2..left, at + 1);
        beside.join(at, at + 1);
        beside.shift(at + 2..left, at + 1);
        merges.copy_within(at + 1..left - 1, at);
        left -= 1;
        merges[left - 1] = NO_MERGE;
        if at > 0 {
            merges[at - 1] = pairs.get(ids[at - 1], ids[at]);
        }
        if at + 1 < left {
            merges[at] = pairs.get(ids[at], ids[at + 1]);
        }
    }
}

/// Sees candidates and merges, and may prevent them.
pub(crate) trait MergeObserver {
    /// A pair that could merge is seen for the first time.
    fn noted(&mut self, merged: u32, left: u32, right: u32);
    /// A pair is about to merge: whether it shall not.
    fn dropped(&mut self) -> bool;
}

/// Nothing.
impl MergeObserver for () {
    fn noted(&mut self, _: u32, _: u32, _: u32) {}
    fn dropped(&mut self) -> bool {
        false
    }
}

/// Merges `ids` in place in the order of ranks, of one rank from the left; returns how many are
/// left at its front.
pub(crate) fn merge_long<B: Beside + ?Sized>(
    pairs: &impl Pairs,
    ids: &mut [u32],
    beside: &mut B,
    watch: &mut impl MergeObserver,
    scratch: &mut BpeScratch,
) -> usize {
    // The table of ranks is to take no more memory than the text's own arrays.
    if ids.len() >= MIN_BUCKETED && pairs.n_ranks() <= ids.len() {
        return merge_huge(pairs, ids, beside, watch, scratch);
    }
    // Heapify at once: O(n), where pushing one by one would be O(n log n) before the first merge.
    let mut start = std::mem::take(&mut scratch.heap).into_vec();
    start.clear();
    start.extend(candidates(pairs, ids, watch).map(Reverse));
    let mut heap = BinaryHeap::from(start);
    let left = merge_queued(pairs, ids, beside, watch, &mut heap, &mut scratch.links);
    scratch.heap = heap;
    left
}

fn merge_huge<B: Beside + ?Sized>(
    pairs: &impl Pairs,
    ids: &mut [u32],
    beside: &mut B,
    watch: &mut impl MergeObserver,
    scratch: &mut BpeScratch,
) -> usize {
    let mut buckets = Buckets::new(pairs.n_ranks());
    candidates(pairs, ids, watch).for_each(|candidate| buckets.push(candidate));
    merge_queued(pairs, ids, beside, watch, &mut buckets, &mut scratch.links)
}

/// The neighbours that can merge, from left to right.
fn candidates(
    pairs: &impl Pairs,
    ids: &[u32],
    watch: &mut impl MergeObserver,
) -> impl Iterator<Item = Candidate> {
    ids.windows(2)
        .zip(0u32..)
        .filter_map(|(pair, at)| candidate(pairs, at, (pair[0], pair[1]), watch))
}

fn candidate(
    pairs: &impl Pairs,
    at: u32,
    (left, right): (u32, u32),
    watch: &mut impl MergeObserver,
) -> Option<Candidate> {
    let merge = pairs.get(left, right);
    if merge == NO_MERGE {
        return None;
    }
    let merged = merge as u32;
    watch.noted(merged, left, right);
    let rank = (merge >> 32) as u32;
    Some(Candidate { rank, at, merged })
}

/// A queue of candidates over a linked list of symbols.
fn merge_queued<B: Beside + ?Sized>(
    pairs: &impl Pairs,
    ids: &mut [u32],
    beside: &mut B,
    watch: &mut impl MergeObserver,
    queue: &mut impl Queue,
    links: &mut Vec<Link>,
) -> usize {
    if ids.is_empty() {
        return 0;
    }
    links.clear();
    links.extend((0..ids.len() as u32).map(|i| Link {
        previous: i.wrapping_sub(1),
        next: i + 1,
    }));
    links[ids.len() - 1].next = END;

    // A dead symbol is one that its left neighbour has swallowed: its own link still points on,
    // so it is marked by pointing at itself.
    while let Some(Candidate { rank, at, merged }) = queue.pop() {
        let i = at as usize;
        let next = links[i].next;
        if next == END || next == at {
            continue;
        }
        if pairs.get(ids[i], ids[next as usize]) != u64::from(rank) << 32 | u64::from(merged) {
            continue; // the pair has changed since it was noted
        }
        if watch.dropped() {
            continue;
        }
        ids[i] = merged;
        beside.join(i, next as usize);
        let after = links[next as usize].next;
        links[next as usize].next = next;
        links[i].next = after;
        let before = links[i].previous;
        if before != END
            && let Some(found) = candidate(pairs, before, (ids[before as usize], merged), watch)
        {
            queue.push(found);
        }
        if after != END {
            links[after as usize].previous = at;
            if let Some(found) = candidate(pairs, at, (merged, ids[after as usize]), watch) {
                queue.push(found);
            }
        }
    }

    let mut left = 0;
    let mut at = 0;
    while at != END {
        ids[left] = ids[at as usize];
        beside.shift(at as usize..at as usize + 1, left);
        left += 1;
        at = links[at as usize].next;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::super::pairs::PairTable;
    use super::super::{BpeModel, Merges, Missing, naive};
    use super::*;
    use crate::models::Model;
    use crate::vocab::Vocab;
    use proptest::prelude::*;

    /// A rank vocabulary over a tiny alphabet, so that hard merges are frequent.
    fn vocab(tokens: &[String]) -> Vocab {
        let mut vocab = Vocab::default();
        let mut next = 0;
        for token in ["a", "b", "c"]
            .iter()
            .map(|s| (*s).to_owned())
            .chain(tokens.iter().cloned())
        {
            if vocab.bytes_to_id(token.as_bytes()).is_none() {
                vocab.insert(next, token.as_bytes()).unwrap();
                next += 1;
            }
        }
        vocab
    }

    proptest! {
        #[test]
        fn short_and_long_equal_the_naive_twin(
            tokens in prop::collection::vec("[abc]{2,6}", 1..40),
            text in "[abc]{0,200}",
        ) {
            let vocab = vocab(&tokens);
            let expected = naive::encode_by_rank(&vocab, text.as_bytes());
            let pairs = PairTable::from_ranks(&vocab);
            let symbols: Vec<u32> = text.bytes().map(|b| u32::from(b - b'a')).collect();
            let mut long = symbols.clone();
            if long.len() > 1 {
                let left = merge_long(&pairs, &mut long, &mut (), &mut (), &mut BpeScratch::default());
                long.truncate(left);
                prop_assert_eq!(&long, &expected);
                let mut huge = symbols.clone();
                let left = merge_huge(&pairs, &mut huge, &mut (), &mut (), &mut BpeScratch::default());
                huge.truncate(left);
                prop_assert_eq!(&huge, &expected);
            }
            let mut any = symbols;
            let left = merge(&pairs, &mut any, &mut BpeScratch::default());
            any.truncate(left);
            prop_assert_eq!(&any, &expected);
        }

        #[test]
        fn merge_lists_equal_the_naive_twin(
            choices in prop::collection::vec((any::<usize>(), any::<usize>()), 1..40),
            text in "[abc]{0,120}",
        ) {
            let mut vocab = vocab(&[]);
            let mut list = Vec::new();
            for (left, right) in choices {
                let n = vocab.size() as usize;
                let (left, right) = ((left % n) as u32, (right % n) as u32);
                let mut token = vocab.id_to_bytes(left).unwrap().to_vec();
                token.extend_from_slice(vocab.id_to_bytes(right).unwrap());
                if token.len() > 12 || list.contains(&(left, right)) {
                    continue;
                }
                if vocab.bytes_to_id(&token).is_none() {
                    vocab.insert(n as u32, &token).unwrap();
                }
                list.push((left, right));
            }
            let expected = naive::encode_by_list(&vocab, &list, text.as_bytes());
            let pairs = PairTable::from_list(&vocab, &list).unwrap();
            let mut huge: Vec<u32> = text.bytes().map(|b| u32::from(b - b'a')).collect();
            if !huge.is_empty() {
                let left = merge_huge(&pairs, &mut huge, &mut (), &mut (), &mut BpeScratch::default());
                huge.truncate(left);
                prop_assert_eq!(&huge, &expected);
            }
            let model = BpeModel::new(vocab, &Merges::List(list.clone()), false, Missing::Fail).unwrap();
            prop_assert_eq!(model.merges(), Merges::List(list));
            let mut ids = Vec::new();
            model.encode_pretoken(text.as_bytes(), &mut BpeScratch::default(), &mut ids).unwrap();
            prop_assert_eq!(ids, expected);
        }
    }

    #[test]
    fn bytes_without_a_token() {
        let make =
            |missing| BpeModel::new(vocab(&["ab".into()]), &Merges::ByRank, true, missing).unwrap();
        let encode = |model: &BpeModel, text: &str| {
            let mut ids = Vec::new();
            model
                .encode_pretoken(text.as_bytes(), &mut BpeScratch::default(), &mut ids)
                .map(|()| ids)
        };
        assert!(encode(&make(Missing::Fail), "axb").is_err());
        assert_eq!(encode(&make(Missing::Skip), "axb").unwrap(), [3]);
        assert_eq!(
            encode(&make(Missing::Unknown(2)), "axb").unwrap(),
            [0, 2, 1]
        );
        assert!(BpeModel::new(vocab(&[]), &Merges::ByRank, true, Missing::Unknown(99)).is_err());
    }
}
