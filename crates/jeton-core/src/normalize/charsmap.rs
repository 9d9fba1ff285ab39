//! The precompiled rules of SentencePiece: which character sequences become which.
//!
//! A blob of four bytes (size of the trie), a double array in the layout of Darts-clone, and the
//! replacements, each ended by a NUL. At a position the longest sequence that the text begins with
//! is replaced. Cost: one load per byte looked at.

mod parts;

use crate::error::{Error, Result};
use crate::text::alignment::{Alignment, Mapping};
pub(crate) use parts::Part;
#[cfg(test)]
pub(crate) use parts::tests as parts_tests;

/// Name of the format in messages.
const FORMAT: &str = "SentencePiece charsmap";
/// Sequences looked at per position: SentencePiece 0.2.3 sees the shortest 32 and no more.
const MAX_PREFIXES: usize = 32;
/// Units of a Darts-clone array come in blocks of 256 units of 4 bytes.
const BLOCK_BYTES: usize = 1024;

/// A compiled set of replacements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charsmap {
    units: Vec<u32>,
    replacements: String,
    /// Bytes of the longest one.
    longest: usize,
}

/// One unit of the array, as Darts-clone packs it.
#[derive(Clone, Copy)]
struct Unit(u32);

impl Unit {
    /// The byte that leads here; above 255 for a leaf.
    fn label(self) -> u32 {
        self.0 & (1 << 31 | 0xFF)
    }

    fn has_leaf(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    fn value(self) -> usize {
        (self.0 & !(1 << 31)) as usize
    }

    fn offset(self) -> usize {
        ((self.0 >> 10) << ((self.0 & 1 << 9) >> 6)) as usize
    }
}

impl Charsmap {
    /// Reads a blob.
    ///
    /// Fails where SentencePiece 0.2.3 refuses it, and where replacements are not UTF-8.
    pub fn new(blob: &[u8]) -> Result<Self> {
        let fail = |offset: usize, reason: String| {
            Err(Error::format(FORMAT, format!("byte {offset}: {reason}")))
        };
        let Some((size, rest)) = blob.split_first_chunk::<4>() else {
            return fail(0, format!("it has {} bytes; 4 are the least", blob.len()));
        };
        let size = u32::from_le_bytes(*size) as usize;
        if size < BLOCK_BYTES || !size.is_multiple_of(BLOCK_BYTES) {
            let reason = format!("a trie of {size} bytes; expected a multiple of {BLOCK_BYTES}");
            return fail(0, reason);
        }
        let Some((trie, replacements)) = rest.split_at_checked(size) else {
            let reason = format!("a trie of {size} bytes where {} are left", rest.len());
            return fail(0, reason);
        };
        if replacements.last() != Some(&0) {
            let reason = "the replacements do not end with a NUL".to_owned();
            return fail(blob.len(), reason);
        }
        let replacements = match std::str::from_utf8(replacements) {
            Ok(text) => text.to_owned(),
            Err(error) => {
                let reason = "a replacement is not UTF-8".to_owned();
                return fail(4 + size + error.valid_up_to(), reason);
            }
        };
        let units: Vec<u32> = trie
            .chunks_exact(4)
            .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect();
        let longest = replacements.split('\0').map(str::len).max();
        let map = Self {
            units,
            longest: longest.unwrap_or(0),
            replacements,
        };
        match map.first_bad_unit() {
            Some(unit) => fail(4 + 4 * unit, "a unit points outside the trie".to_owned()),
            None => Ok(map),
        }
    }

    /// The first unit that leads out of the array or to no replacement.
    fn first_bad_unit(&self) -> Option<usize> {
        let inside = |from: usize, unit: Unit| (from ^ unit.offset()) | 0xFF < self.units.len();
        self.units.iter().enumerate().position(|(index, &bits)| {
            let unit = Unit(bits);
            if index == 0 {
                let offset = unit.offset();
                unit.label() != 0 || unit.has_leaf() || offset == 0 || !inside(0, unit)
            } else if unit.label() <= 0xFF {
                !inside(index, unit)
                    || unit.has_leaf() && Unit(self.units[index ^ unit.offset()]).label() <= 0xFF
            } else {
                unit.value() >= self.replacements.len()
            }
        })
    }

    /// The longest sequence that the text begins with: its bytes, and what replaces it.
    ///
    /// A sequence that ends inside a character, which only a damaged file has, is no match.
    #[inline]
    pub fn longest_prefix(&self, text: &str) -> Option<(usize, &str)> {
        let mut found = None;
        let mut n_found = 0;
        let mut at = Unit(*self.units.first()?).offset();
        for (index, &byte) in text.as_bytes().iter().enumerate() {
            at ^= usize::from(byte);
            let unit = Unit(*self.units.get(at)?);
            if unit.label() != u32::from(byte) {
                break;
            }
            at ^= unit.offset();
            if unit.has_leaf() {
                found = Some((index + 1, Unit(*self.units.get(at)?).value()));
                n_found += 1;
                if n_found == MAX_PREFIXES {
                    break;
                }
            }
        }
        let (length, start) = found.filter(|&(length, _)| text.is_char_boundary(length))?;
        Some((length, self.replacement(start)?))
    }

    /// True if following the text ends because the text does: longer sequences may begin with it.
    pub(crate) fn is_cut_off(&self, text: &str) -> bool {
        let Some(root) = self.units.first() else {
            return false;
        };
        let mut at = Unit(*root).offset();
        for &byte in text.as_bytes() {
            at ^= usize::from(byte);
            let Some(unit) = self.units.get(at).map(|&unit| Unit(unit)) else {
                return false;
            };
            if unit.label() != u32::from(byte) {
                return false;
            }
            at ^= unit.offset();
        }
        true
    }

    /// Returns the replacement of the shortest sequence that the text begins with.
    ///
    /// So `tokenizers` looks up: it replaces the whole text that it asks for.
    #[inline]
    pub(crate) fn shortest_prefix(&self, text: &str) -> Option<&str> {
        let mut at = Unit(*self.units.first()?).offset();
        for &byte in text.as_bytes().iter().take_while(|&&byte| byte != 0) {
            at ^= usize::from(byte);
            let unit = Unit(*self.units.get(at)?);
            if unit.label() != u32::from(byte) {
                return None;
            }
            at ^= unit.offset();
            if unit.has_leaf() {
                return self.replacement(Unit(*self.units.get(at)?).value());
            }
        }
        None
    }

    /// Most bytes that a text of `n_bytes` bytes may become.
    pub(crate) fn may_make(&self, n_bytes: usize) -> usize {
        n_bytes.saturating_mul(self.longest.max(1))
    }

    /// Bytes that a text becomes.
    pub(crate) fn length(&self, text: &str) -> usize {
        let mut n_made = 0;
        self.replace(text, |_, to| n_made += to.len());
        n_made
    }

    /// The replacement that begins at a place.
    fn replacement(&self, start: usize) -> Option<&str> {
        let text = self.replacements.get(start..)?;
        Some(&text[..memchr::memchr(0, text.as_bytes())?])
    }

    /// Replaces from left to right.
    pub fn normalize(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        self.replace(text, |_, to| out.push_str(to));
        out
    }

    /// Replaces from left to right, and says where each stretch came from.
    pub fn normalize_aligned(&self, text: &str) -> (String, Alignment) {
        let mut out = String::with_capacity(text.len());
        let mut stretches = StretchList::default();
        self.replace(text, |from, to| {
            out.push_str(to);
            stretches.push(from.len(), to.len(), from == to);
        });
        (out, stretches.finish())
    }

    fn replace(&self, text: &str, mut each: impl FnMut(&str, &str)) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let (length, to) = match self.longest_prefix(rest) {
                Some((length, to)) => (length, to),
                None => (c.len_utf8(), &rest[..c.len_utf8()]),
            };
            let (from, after) = rest.split_at(length);
            each(from, to);
            rest = after;
        }
    }
}

/// Stretches while they are found; neighbours that are the same text become one.
#[derive(Debug, Default)]
pub(crate) struct StretchList {
    stretches: Vec<Mapping>,
}

impl StretchList {
    pub(crate) fn push(&mut self, source_bytes: usize, target_bytes: usize, unchanged: bool) {
        match self.stretches.last_mut() {
            Some(last) if last.unchanged && unchanged => {
                last.source_bytes += source_bytes;
                last.target_bytes += target_bytes;
            }
            _ => self.stretches.push(Mapping {
                source_bytes,
                target_bytes,
                unchanged,
            }),
        }
    }

    /// Takes bytes off the end of the result; their source stays, as text that became nothing.
    pub(crate) fn cut(&mut self, mut target_bytes: usize) {
        let mut dropped = 0;
        while target_bytes > 0
            && let Some(last) = self.stretches.last_mut()
        {
            let cut = target_bytes.min(last.target_bytes);
            last.target_bytes -= cut;
            target_bytes -= cut;
            if last.unchanged {
                last.source_bytes -= cut;
                dropped += cut;
            }
            if last.target_bytes == 0 {
                dropped += last.source_bytes;
                self.stretches.pop();
            }
        }
        if dropped > 0 {
            self.push(dropped, 0, false);
        }
    }

    /// Appends text that comes from nowhere, before source text at the end that became nothing.
    pub(crate) fn push_from_nowhere(&mut self, target_bytes: usize) {
        let at = self.stretches.iter().rposition(|s| s.target_bytes > 0);
        let stretch = Mapping {
            source_bytes: 0,
            target_bytes,
            unchanged: false,
        };
        self.stretches
            .insert(at.map_or(0, |index| index + 1), stretch);
    }

    pub(crate) fn finish(self) -> Alignment {
        Alignment {
            stretches: self.stretches,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A map made the slow way: one block per node, so that the layout is plain to see.
    pub(crate) fn compile(rules: &[(&str, &str)]) -> Vec<u8> {
        let mut nodes = vec![String::new()];
        for (from, _) in rules {
            for end in 1..=from.len() {
                let prefix = String::from_utf8_lossy(&from.as_bytes()[..end]).into_owned();
                assert_eq!(prefix.len(), end, "tests use ASCII on the left");
                if !nodes.contains(&prefix) {
                    nodes.push(prefix);
                }
            }
        }
        // Children of node n lie at block (n + 1) ^ byte.
        let mut units = vec![0u32; (nodes.len() + 1) * 256];
        let mut replacements = Vec::new();
        let mut place = vec![0usize; nodes.len()];
        for (n, node) in nodes.iter().enumerate() {
            let block = (n + 1) * 256;
            let label = node.bytes().last().map_or(0, u32::from);
            let rule = rules.iter().find(|(from, _)| from == node);
            let offset = place[n] ^ block;
            units[place[n]] = (offset as u32) << 10 | label | u32::from(rule.is_some()) << 8;
            if let Some((_, to)) = rule {
                units[block] = 1 << 31 | replacements.len() as u32;
                replacements.extend_from_slice(to.as_bytes());
                replacements.push(0);
            }
            for (child, name) in nodes.iter().enumerate() {
                if name.len() == node.len() + 1 && name.starts_with(node) {
                    place[child] = block ^ usize::from(name.as_bytes()[node.len()]);
                }
            }
        }
        let mut blob = ((units.len() * 4) as u32).to_le_bytes().to_vec();
        blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        blob.extend(replacements);
        blob
    }

    #[test]
    fn the_longest_sequence_wins() {
        let map = Charsmap::new(&compile(&[("a", "é"), ("abc", ""), ("b", "b")])).unwrap();
        assert_eq!(map.normalize("abab abc"), "ébéb ");
        let (text, alignment) = map.normalize_aligned("abcax");
        assert_eq!(text, "éx");
        assert_eq!(alignment.lookup().source_range(0, 2), (3, 4));
        assert_eq!(alignment.lookup().source_range(2, 3), (4, 5));
    }

    #[test]
    fn damaged_maps_are_refused() {
        let good = compile(&[("a", "b")]);
        for n in 0..good.len() {
            assert!(Charsmap::new(&good[..n]).is_err(), "{n}");
        }
        let mut bad = good.clone();
        bad[5] = 0xFF; // the root points far outside
        assert!(Charsmap::new(&bad).is_err());
        let mut bad = good.clone();
        *bad.iter_mut().rev().nth(1).unwrap() = 0xFF; // not UTF-8
        assert!(Charsmap::new(&bad).is_err());
    }

    #[test]
    fn what_is_cut_off_keeps_its_source() {
        let mut list = StretchList::default();
        list.push(4, 4, true);
        list.push(1, 3, false);
        list.cut(5);
        list.push_from_nowhere(3);
        let alignment = list.finish();
        assert_eq!(alignment.lookup().source_range(0, 2), (0, 2));
        assert_eq!(alignment.lookup().source_range(2, 5), (2, 2));
        assert_eq!(
            alignment
                .stretches
                .iter()
                .map(|s| s.source_bytes)
                .sum::<usize>(),
            5
        );
    }

    proptest! {
        #[test]
        fn hostile_maps_end(
            at in prop::collection::vec((0..1600usize, any::<u8>()), 0..40), text in "[ab\u{e9}]{0,20}",
        ) {
            let mut blob = compile(&[("a", "b"), ("ab", "c")]);
            for (index, byte) in at {
                let n = blob.len();
                blob[index % n] = byte;
            }
            if let Ok(map) = Charsmap::new(&blob) {
                let (out, alignment) = map.normalize_aligned(&text);
                prop_assert_eq!(&out, &map.normalize(&text));
                let sum = |f: fn(&Mapping) -> usize| alignment.stretches.iter().map(f).sum::<usize>();
                prop_assert_eq!(sum(|s| s.source_bytes), text.len());
                prop_assert_eq!(sum(|s| s.target_bytes), out.len());
            }
        }
    }
}
