//! Every document once, no bin above capacity, and best fit as the plain algorithm makes it.
#![allow(clippy::unwrap_used, missing_docs)]

use jeton_pack::sorted_batches;
use jeton_pack::{Bins, KeepGoing, PackError, best_fit, bucket_edges, buckets, first_fit};
use proptest::prelude::*;

type Method = fn(&[u32], u32, KeepGoing<'_>) -> Result<Bins, PackError>;
const METHODS: [Method; 4] = [best_fit, first_fit, sorted_batches, one_bucket];

fn one_bucket(lengths: &[u32], capacity: u32, go: KeepGoing<'_>) -> Result<Bins, PackError> {
    let edges: Vec<u32> = if capacity > 0 { vec![capacity] } else { vec![] };
    buckets(lengths, capacity, &edges, go)
}

fn pack(method: Method, lengths: &[u32], capacity: u32) -> Result<Bins, PackError> {
    method(lengths, capacity, &mut || true)
}

/// Tells the positions that rows need with these edges.
fn positions(widths: &[u32], documents: &[u64], edges: &[u32]) -> u64 {
    let pairs = widths.iter().zip(documents);
    pairs
        .map(|(width, count)| {
            let edge = *edges.iter().find(|edge| *edge >= width).unwrap();
            u64::from(edge) * count
        })
        .sum()
}

fn loads(bins: &Bins, lengths: &[u32]) -> Vec<u64> {
    (0..bins.len())
        .map(|bin| {
            bins.bin(bin)
                .iter()
                .map(|&d| u64::from(lengths[d as usize]))
                .sum()
        })
        .collect()
}

/// Scans all bins for each document, as the textbook says.
fn slow(lengths: &[u32], capacity: u32, best: bool) -> Vec<u64> {
    let mut order: Vec<u32> = lengths.to_vec();
    if best {
        order.sort_unstable_by(|a, b| b.cmp(a));
    }
    let mut rooms: Vec<u32> = Vec::new();
    for length in order {
        let mut fits = (0..rooms.len()).filter(|&bin| rooms[bin] >= length);
        let found = if best {
            fits.min_by_key(|&bin| rooms[bin])
        } else {
            fits.next()
        };
        match found {
            Some(bin) => rooms[bin] -= length,
            None => rooms.push(capacity - length),
        }
    }
    let mut filled: Vec<u64> = rooms
        .iter()
        .map(|&room| u64::from(capacity - room))
        .collect();
    filled.sort_unstable();
    filled
}

proptest! {
    #[test]
    fn packs_every_document_once_within_capacity(
        (capacity, lengths) in (1u32..5000).prop_flat_map(|capacity| {
            (Just(capacity), prop::collection::vec(0..=capacity, 0..300))
        })
    ) {
        for method in METHODS {
            let bins = pack(method, &lengths, capacity).unwrap();
            let mut seen = bins.documents.clone();
            seen.sort_unstable();
            prop_assert!(seen.iter().copied().eq(0..lengths.len() as u32));
            prop_assert!(loads(&bins, &lengths).iter().all(|&load| load <= u64::from(capacity)));
            prop_assert!((0..bins.len()).all(|bin| !bins.bin(bin).is_empty()));
            prop_assert_eq!(&bins, &pack(method, &lengths, capacity).unwrap());
        }
        for (method, best) in [(best_fit as Method, true), (first_fit, false)] {
            let mut ours = loads(&pack(method, &lengths, capacity).unwrap(), &lengths);
            ours.sort_unstable();
            prop_assert_eq!(ours, slow(&lengths, capacity, best));
        }
    }
}

proptest! {
    #[test]
    fn padded_batches_stay_within_capacity(
        lengths in prop::collection::vec(0u32..200, 0..300), capacity in 200u32..900,
        inner in prop::collection::btree_set(1u32..200, 0..4),
    ) {
        let bins = pack(sorted_batches, &lengths, capacity).unwrap();
        for bin in 0..bins.len() {
            let rows = bins.bin(bin);
            let width = rows.iter().map(|&d| lengths[d as usize]).max().unwrap();
            prop_assert!(u64::from(width) * rows.len() as u64 <= u64::from(capacity));
        }
        let edges: Vec<u32> = inner.into_iter().chain([200]).collect();
        let bins = buckets(&lengths, capacity, &edges, &mut || true).unwrap();
        let mut seen = bins.documents.clone();
        seen.sort_unstable();
        prop_assert!(seen.iter().copied().eq(0..lengths.len() as u32));
        for bin in 0..bins.len() {
            let edge = |d: u32| *edges.iter().find(|&&e| e >= lengths[d as usize]).unwrap();
            let rows = bins.bin(bin);
            prop_assert!(rows.iter().all(|&d| edge(d) == edge(rows[0])));
            prop_assert!(edge(rows[0]) * rows.len() as u32 <= capacity);
        }
    }

    #[test]
    fn edges_are_the_best_that_there_are(
        table in prop::collection::btree_map(1u32..60, 1u64..1000, 1..9), most in 1usize..6,
    ) {
        let (widths, documents): (Vec<u32>, Vec<u64>) = table.into_iter().unzip();
        let edges = bucket_edges(&widths, &documents, most);
        prop_assert!(edges.len() <= most && edges.windows(2).all(|pair| pair[0] < pair[1]));
        let n = widths.len();
        let every = (0..1u32 << (n - 1)).filter(|set| set.count_ones() < most as u32);
        let least = every
            .map(|set| {
                let inner = (0..n - 1).filter(|place| set >> place & 1 == 1);
                let chosen: Vec<u32> = inner.chain([n - 1]).map(|place| widths[place]).collect();
                positions(&widths, &documents, &chosen)
            })
            .min();
        prop_assert_eq!(Some(positions(&widths, &documents, &edges)), least);
    }

    /// A huge capacity takes the sparse tables, which must pack as the dense ones do.
    #[test]
    fn scaled_lengths_pack_alike(lengths in prop::collection::vec(0u32..=500, 0..200)) {
        let large: Vec<u32> = lengths.iter().map(|length| length << 22).collect();
        let small = pack(best_fit, &lengths, 500).unwrap();
        prop_assert_eq!(small, pack(best_fit, &large, 500 << 22).unwrap());
        let small = pack(sorted_batches, &lengths, 500).unwrap();
        prop_assert_eq!(small, pack(sorted_batches, &large, 500 << 22).unwrap());
    }
}

#[test]
fn edges_of_large_counts_do_not_overflow() {
    let widths = [1, 1 << 30, u32::MAX - 1, u32::MAX];
    let documents = [u64::from(u32::MAX), 1 << 31, 1 << 31, 3];
    assert_eq!(bucket_edges(&widths, &documents, 3), [1, 1 << 30, u32::MAX]);
}

#[test]
fn who_does_not_go_on_gets_no_bins() {
    let lengths = vec![3; 1 << 17];
    for method in METHODS {
        let stopped = method(&lengths, 7, &mut || false);
        assert_eq!(stopped, Err(PackError::Interrupted));
    }
}

#[test]
fn edges_that_do_not_ascend_are_refused() {
    for edges in [&[0, 4][..], &[4, 4], &[5, 4]] {
        assert_eq!(
            buckets(&[1], 8, edges, &mut || true),
            Err(PackError::BadEdges)
        );
    }
}

#[test]
fn a_capacity_just_above_a_power_of_two_packs() {
    for power in 0..20 {
        let capacity = (1 << power) + 1;
        let lengths = [capacity, 1, capacity - 1];
        for method in METHODS {
            assert_eq!(pack(method, &lengths, capacity).unwrap().documents.len(), 3);
        }
        assert_eq!(pack(best_fit, &lengths, capacity).unwrap().len(), 2);
    }
}

#[test]
fn nothing_makes_no_bin_and_empty_documents_share_one() {
    for method in METHODS {
        assert!(pack(method, &[], 8).unwrap().is_empty());
    }
    for method in [best_fit as Method, first_fit, sorted_batches] {
        assert_eq!(pack(method, &[0, 0, 0], 8).unwrap().bin(0), [0, 1, 2]);
    }
    // A row of a bucket is as wide as its edge, whatever it holds.
    let bins = buckets(&[0, 0, 0], 24, &[8], &mut || true).unwrap();
    assert_eq!(bins.bin(0), [0, 1, 2]);
}

#[test]
fn bad_input_is_told_with_its_place() {
    for method in METHODS {
        assert_eq!(pack(method, &[1], 0), Err(PackError::NoCapacity));
        let error = PackError::TooLong {
            document: 1,
            length: 9,
        };
        assert_eq!(pack(method, &[8, 9, 10], 8), Err(error));
    }
}
