//! Every document once, no bin above capacity, and best fit as the plain algorithm makes it.
#![allow(clippy::unwrap_used, missing_docs)]

use jeton_pack::{Bins, PackError, best_fit, first_fit, sorted_batches};
use proptest::prelude::*;

type Method = fn(&[u32], u32) -> Result<Bins, PackError>;
const METHODS: [Method; 3] = [best_fit, first_fit, sorted_batches];

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
            let bins = method(&lengths, capacity).unwrap();
            let mut seen = bins.documents.clone();
            seen.sort_unstable();
            prop_assert!(seen.iter().copied().eq(0..lengths.len() as u32));
            prop_assert!(loads(&bins, &lengths).iter().all(|&load| load <= u64::from(capacity)));
            prop_assert!((0..bins.len()).all(|bin| !bins.bin(bin).is_empty()));
            prop_assert_eq!(&bins, &method(&lengths, capacity).unwrap());
        }
        for (method, best) in [(best_fit as Method, true), (first_fit, false)] {
            let mut ours = loads(&method(&lengths, capacity).unwrap(), &lengths);
            ours.sort_unstable();
            prop_assert_eq!(ours, slow(&lengths, capacity, best));
        }
    }
}

#[test]
fn a_capacity_just_above_a_power_of_two_packs() {
    for power in 0..20 {
        let capacity = (1 << power) + 1;
        let lengths = [capacity, 1, capacity - 1];
        for method in METHODS {
            assert_eq!(method(&lengths, capacity).unwrap().documents.len(), 3);
        }
        assert_eq!(best_fit(&lengths, capacity).unwrap().len(), 2);
    }
}

#[test]
fn nothing_makes_no_bin_and_empty_documents_share_one() {
    for method in METHODS {
        assert!(method(&[], 8).unwrap().is_empty());
        assert_eq!(method(&[0, 0, 0], 8).unwrap().bin(0), [0, 1, 2]);
    }
}

#[test]
fn bad_input_is_told_with_its_place() {
    for method in METHODS {
        assert_eq!(method(&[1], 0), Err(PackError::NoCapacity));
        let error = PackError::TooLong {
            document: 1,
            length: 9,
        };
        assert_eq!(method(&[8, 9, 10], 8), Err(error));
    }
}
