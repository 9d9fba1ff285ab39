//! Rules to a precompiled charsmap, and back: what SentencePiece's normalizer is compiled from.
//!
//! The array is a double array in the layout of Darts-clone, which `sentencepiece` 0.2.3 reads. A
//! state is a place. The state after a byte is at `place ^ offset ^ byte`; the leaf of a sequence
//! that ends is its child for the byte 0. Cost: about linear in the bytes of the rules.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Units of an array come in blocks of this many.
const BLOCK: usize = 256;
/// Offsets from here on would have to be multiples of 256.
const MAX_OFFSET: usize = 1 << 21;
/// How many of the last blocks are searched for room; what is left free in older ones stays so.
const OPEN_BLOCKS: usize = 16;

/// A sequence of bytes that some rules have in common.
#[derive(Default)]
struct Node {
    /// By their byte.
    children: BTreeMap<u8, usize>,
    /// Where the replacement begins, if a rule ends here.
    value: Option<u32>,
}

#[derive(Default)]
struct Places {
    units: Vec<u32>,
    taken: Vec<bool>,
    /// True if children of some state are numbered from here.
    based: Vec<bool>,
}

impl Places {
    fn add_block(&mut self) {
        let size = self.units.len() + BLOCK;
        self.units.resize(size, 0);
        self.taken.resize(size, false);
        self.based.resize(size, false);
    }

    /// A base at which all these bytes have room.
    fn base(&mut self, bytes: &[u8]) -> usize {
        let first = usize::from(bytes.first().copied().unwrap_or_default());
        let fits = |places: &Self, base: usize| {
            !places.based[base]
                && bytes
                    .iter()
                    .all(|&byte| !places.taken[base ^ usize::from(byte)])
        };
        let from = self.units.len().saturating_sub(OPEN_BLOCKS * BLOCK);
        for place in from..self.units.len() {
            if !self.taken[place] && fits(self, place ^ first) {
                return place ^ first;
            }
        }
        let base = self.units.len();
        self.add_block();
        base
    }

    /// Free places get a label that no state can reach them by.
    fn close(&mut self) {
        for block in (0..self.units.len()).step_by(BLOCK) {
            let places = block..block + BLOCK;
            let Some(unused) = places.clone().find(|&place| !self.based[place]) else {
                continue;
            };
            for place in places {
                if !self.taken[place] {
                    self.units[place] = (place ^ unused) as u32 & 0xFF;
                }
            }
        }
    }
}

/// Compiles rules: which text becomes which. If two rules have one text, the last counts.
///
/// Fails with `Usage` for a rule of no text, and for text with a NUL.
pub fn compile<'r>(rules: impl IntoIterator<Item = (&'r str, &'r str)>) -> Result<Vec<u8>> {
    let mut nodes = vec![Node::default()];
    let mut replacements = String::new();
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    for (from, to) in rules {
        if from.is_empty() || from.contains('\0') || to.contains('\0') {
            let reason = format!(
                "the rule {from:?} -> {to:?} cannot be compiled; expected text to replace, and no NUL"
            );
            return Err(Error::usage(reason));
        }
        let value = *known.entry(to).or_insert_with(|| {
            let start = replacements.len() as u32;
            replacements.push_str(to);
            replacements.push('\0');
            start
        });
        let mut at = 0;
        for &byte in from.as_bytes() {
            let new = nodes.len();
            let next = *nodes[at].children.entry(byte).or_insert(new);
            if next == new {
                nodes.push(Node::default());
            }
            at = next;
        }
        nodes[at].value = Some(value);
    }
    if nodes.len() == 1 {
        return Ok(Vec::new());
    }
    let units = place(&nodes)?;
    let mut blob = Vec::with_capacity(4 + units.len() * 4 + replacements.len());
    blob.extend_from_slice(&((units.len() * 4) as u32).to_le_bytes());
    for unit in units {
        blob.extend_from_slice(&unit.to_le_bytes());
    }
    blob.extend_from_slice(replacements.as_bytes());
    Ok(blob)
}

fn place(nodes: &[Node]) -> Result<Vec<u32>> {
    let mut places = Places::default();
    places.add_block();
    places.taken[0] = true;
    // The root leads somewhere else: an offset of 0 would be no trie to a reader.
    places.based[0] = true;
    let mut waiting = vec![(0, 0)]; // (node, its place)
    let mut bytes = Vec::new();
    while let Some((node, at)) = waiting.pop() {
        let Node { children, value } = &nodes[node];
        bytes.clear();
        bytes.extend(value.map(|_| 0));
        bytes.extend(children.keys());
        let base = places.base(&bytes);
        let offset = at ^ base;
        if offset >= MAX_OFFSET {
            let reason = "the rules need an array larger than 2,097,152 units".to_owned();
            return Err(Error::usage(reason));
        }
        places.based[base] = true;
        places.units[at] |= (offset as u32) << 10 | u32::from(value.is_some()) << 8;
        if let Some(value) = value {
            places.units[base] = value | 1 << 31;
            places.taken[base] = true;
        }
        for (&byte, &child) in children {
            let next = base ^ usize::from(byte);
            places.taken[next] = true;
            places.units[next] = u32::from(byte);
            waiting.push((child, next));
        }
    }
    places.close();
    Ok(places.units)
}

#[cfg(test)]
mod tests {
    use super::super::charsmap::Charsmap;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rules_that_cannot_be() {
        assert!(compile([("", "a")]).is_err());
        assert!(compile([("a\0", "a")]).is_err());
        assert!(compile([("a", "\0")]).is_err());
        assert!(compile([]).unwrap().is_empty());
    }

    #[test]
    fn a_rule_for_the_first_character_there_is() {
        let blob = compile([("\u{1}", ""), ("a", "b")]).unwrap();
        let map = Charsmap::new(&blob).unwrap();
        assert_eq!(map.normalize("\u{1}a\u{2}"), "b\u{2}");
    }

    #[test]
    fn many_rules_fill_many_blocks() {
        let texts: Vec<String> = ('\u{4e00}'..'\u{5e00}').map(|c| c.to_string()).collect();
        let blob = compile(texts.iter().map(|text| (text.as_str(), "x"))).unwrap();
        assert!(blob.len() < 80_000, "{}", blob.len());
        let map = Charsmap::new(&blob).unwrap();
        assert_eq!(map.rules().len(), texts.len());
        assert!(texts.iter().all(|text| map.normalize(text) == "x"));
        assert_eq!(map.normalize("\u{5e00}a\0"), "\u{5e00}a\0");
    }

    proptest! {
        #[test]
        fn equals_the_longest_rule_at_each_place(
            rules in prop::collection::btree_map("[abé]{1,4}", "[xyé ]{0,3}", 0..12),
            text in "[abéc\\x00]{0,16}",
        ) {
            let pairs: Vec<(String, String)> = rules.clone().into_iter().collect();
            let blob = compile(pairs.iter().map(|(from, to)| (from.as_str(), to.as_str()))).unwrap();
            if blob.is_empty() {
                return Ok(());
            }
            let map = Charsmap::new(&blob).unwrap();
            prop_assert_eq!(map.rules(), pairs);
            let mut expected = String::new();
            let mut rest = text.as_str();
            while let Some(c) = rest.chars().next() {
                let longest = rules
                    .iter()
                    .filter(|(from, _)| rest.starts_with(from.as_str()))
                    .max_by_key(|(from, _)| from.len());
                let same = c.to_string();
                let (from, to) = longest.map_or((&same, &same), |rule| rule);
                expected.push_str(to);
                rest = &rest[from.len()..];
            }
            prop_assert_eq!(map.normalize(&text), expected);
        }
    }
}
