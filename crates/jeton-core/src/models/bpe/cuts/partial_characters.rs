//! Tokens that have only a part of a character: whether they may come to be before the character
//! does.
//!
//! A token that ends in the midst of a character takes bytes from it, and merging such a character
//! may begin with its bytes only. But merges are done by rank, and most of these tokens come late.
//! Let a character's own merges end with one token. As long as no merge joins a part of it with a
//! neighbour, these merges run as if the character stood alone. The character is whole once all
//! merges up to the rank of that token are done. So a token that takes a part of it comes before
//! that, or never: only tokens of lower ranks count. The argument needs ranks that rise with ids,
//! and pairs that come after the pairs that make their sides
//! ([`super::super::table::MergeTable::is_in_order`]).
//!
//! Published vocabularies have some hundred of these tokens; what part of a script's boundaries
//! they may be at is in docs/log/engine-2026-11.md.

use std::collections::BTreeMap;

use super::joined;

/// No such token.
const NEVER: u32 = u32::MAX;

/// For what such tokens have on either side of a boundary the least id that one has.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parts {
    /// Both sides as numbers, and the id, by rising sides.
    least: Vec<(u64, u32)>,
}

/// Packs both sides into a number. The number tells whole characters, beginnings and endings apart.
/// Only whole characters and beginnings start with a first byte, and a beginning is shorter than
/// its first byte says.
fn key(left: &[u8], right: &[u8]) -> u64 {
    u64::from(joined(left)) << 32 | u64::from(joined(right))
}

/// Endings of a character that a token may have before a boundary, the longest first.
fn endings(character: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..character.len()).map(|from| &character[from..])
}

/// Beginnings of a character that a token may have behind a boundary, the longest first.
fn beginnings(character: &[u8]) -> impl Iterator<Item = &[u8]> {
    (1..=character.len()).rev().map(|to| &character[..to])
}

impl Parts {
    /// `all`: what each token has on both sides, at most four bytes each, and its id.
    pub(super) fn new<'t>(all: impl Iterator<Item = (&'t [u8], &'t [u8], u32)>) -> Self {
        let mut least = BTreeMap::new();
        for (left, right, id) in all {
            let there = least.entry(key(left, right)).or_insert(id);
            *there = id.min(*there);
        }
        Self {
            least: least.into_iter().collect(),
        }
    }

    /// The least ids of tokens that have a part of the left character and something of the right
    /// one, and the other way round.
    fn ids(&self, left: &[u8], right: &[u8]) -> [u32; 2] {
        let least = |left: &[u8], right: &[u8]| {
            let there = self
                .least
                .binary_search_by_key(&key(left, right), |&(key, _)| key);
            there.map_or(NEVER, |at| self.least[at].1)
        };
        let of_left = endings(left)
            .skip(1)
            .flat_map(|left| beginnings(right).map(move |right| (left, right)));
        let of_right = beginnings(right)
            .skip(1)
            .flat_map(|right| endings(left).map(move |left| (left, right)));
        [
            of_left
                .map(|(left, right)| least(left, right))
                .min()
                .unwrap_or(NEVER),
            of_right
                .map(|(left, right)| least(left, right))
                .min()
                .unwrap_or(NEVER),
        ]
    }

    /// True if something may take a part of one of two neighbours together with something of the
    /// other, a part of the left one, a part of the right one. `wholes`: the token that a
    /// character's own merges end with, if it is one.
    pub(super) fn come_first(
        &self,
        [left, right]: [&[u8]; 2],
        wholes: [Option<u32>; 2],
    ) -> [bool; 2] {
        let [of_left, of_right] = self.ids(left, right);
        let [left, right] = wholes.map(|whole| whole.unwrap_or(NEVER));
        [of_left < left, of_right < right]
    }

    /// As numbers.
    pub(super) fn raw(&self) -> impl Iterator<Item = u64> {
        self.least
            .iter()
            .flat_map(|&(key, id)| [key, u64::from(id)])
    }

    /// Builds the parts from [`Self::raw`]; None of anything else.
    pub(super) fn from_raw(raw: &[u64]) -> Option<Self> {
        let (pairs, []) = raw.as_chunks() else {
            return None;
        };
        let is_sorted = pairs.is_sorted_by(|[before, _], [after, _]| before < after);
        let least = pairs
            .iter()
            .map(|&[key, id]| Some((key, u32::try_from(id).ok()?)));
        is_sorted.then_some(Self {
            least: least.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_come_first_are_told() {
        let (left, right) = ("é".as_bytes(), "你".as_bytes());
        let all: [(&[u8], &[u8], u32); 5] = [
            (left, &right[..1], 300),
            (left, &right[..2], 290),
            (left, &right[..2], 280),
            (&left[1..], right, 270),
            (right, right, 260),
        ];
        let parts = Parts::new(all.into_iter());
        assert_eq!(parts.ids(left, right), [270, 280]);
        let come_first = |wholes| parts.come_first([left, right], wholes);
        assert_eq!(come_first([Some(270), Some(280)]), [false, false]);
        assert_eq!(come_first([Some(271), Some(281)]), [true, true]);
        assert_eq!(come_first([None, None]), [true, true]);
        assert_eq!(parts.ids(right, left), [NEVER; 2]);
        assert_eq!(parts.come_first([right, left], [None; 2]), [false; 2]);
        // Both of them in part.
        let parts = Parts::new([(&left[1..], &right[..1], 256)].into_iter());
        assert_eq!(parts.ids(left, right), [256, 256]);
    }

    #[test]
    fn they_are_the_same_again() {
        let parts = Parts::new([(&b"a"[..], &b"\xC3"[..], 7), (b"\xA9", b"b", 9)].into_iter());
        let raw: Vec<u64> = parts.raw().collect();
        assert_eq!(Parts::from_raw(&raw), Some(parts));
        assert_eq!(Parts::from_raw(&raw[1..]), None);
        let [first, id, ..] = raw[..] else {
            panic!("two pairs")
        };
        assert_eq!(Parts::from_raw(&[first, id, first, id]), None);
        assert_eq!(Parts::from_raw(&[first, 1 << 32]), None);
    }
}
