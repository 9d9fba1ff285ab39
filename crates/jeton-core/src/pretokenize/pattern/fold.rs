//! Letters that are the same but for their case, single or as sequences ("ss", "ß" and "ẞ").
//!
//! Oniguruma compares by Unicode's full case folding (CaseFolding.txt, status C and F). A character
//! matches any other with the same folding; a sequence matches a character that folds to it.

use std::collections::BTreeMap;
use std::ops::Range;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::node::Node;
use crate::text::unicode::{UnicodeVersion, assigned_in, contains};

/// Ranges with all characters that fold to something else (Unicode 17), and some others between
/// them. Looking at every character would take longer than all else that a pattern needs.
const CASED: [Range<u32>; 16] = [
    0x41..0x588,
    0x10A0..0x10CE,
    0x13A0..0x13F6,
    0x1C80..0x1CC0,
    0x1E00..0x1FFD,
    0x2126..0x2184,
    0x24B6..0x24D0,
    0x2C00..0x2CF3,
    0xA640..0xA7F6,
    0xFB00..0xFB18,
    0xFF21..0xFF3B,
    0x1_0400..0x1_0596,
    0x1_0C80..0x1_0D66,
    0x1_18A0..0x1_18C0,
    0x1_6E40..0x1_6EB9,
    0x1_E900..0x1_E922,
];
/// The longest folding, in characters.
const LONGEST: usize = 3;

/// The longest text in which all characters may join others; the ways to match it grow as
/// Fibonacci's numbers.
const MAX_STRETCH: usize = 12;

/// Characters by their folding.
pub(super) struct Folds {
    /// Foldings that more than one character shares, or that are longer than one.
    by_fold: BTreeMap<Vec<char>, Vec<char>>,
}

/// The full folding of a character, from its lower and upper case.
fn fold(c: char) -> Vec<char> {
    // The dotless i is the upper case's lower case only in Turkish.
    if c == 'ı' {
        return vec![c];
    }
    c.to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

impl Folds {
    pub(super) fn new(version: UnicodeVersion) -> Result<Self, String> {
        let known = assigned_in(version)?;
        let mut by_fold: BTreeMap<Vec<char>, Vec<char>> = BTreeMap::new();
        for c in CASED.into_iter().flatten().filter_map(char::from_u32) {
            let folded = fold(c);
            if (folded.len() > 1 || folded[0] != c) && contains(&known, c) {
                let group = by_fold.entry(folded).or_default();
                group.push(c);
            }
        }
        // A folding of one character is itself in the group.
        for (folded, group) in by_fold.iter_mut().filter(|(folded, _)| folded.len() == 1) {
            if !group.contains(&folded[0]) {
                group.push(folded[0]);
            }
        }
        Ok(Self { by_fold })
    }

    fn same(&self, folded: &[char]) -> ClassUnicode {
        let one = if folded.len() == 1 { folded } else { &[] };
        let group = self.by_fold.get(folded).map_or(one, Vec::as_slice);
        ClassUnicode::new(group.iter().map(|&c| ClassUnicodeRange::new(c, c)))
    }

    fn sequence(&self, folded: &[char]) -> Node {
        Node::concat(
            folded
                .iter()
                .map(|&c| Node::Class(self.same(&[c])))
                .collect(),
        )
    }

    /// Returns the node that matches a text when case is ignored.
    ///
    /// Alternatives at one place begin with different characters, or lead to the same end.
    pub(super) fn literal(&self, text: &[char]) -> Result<Node, String> {
        let folded: Vec<Vec<char>> = text.iter().map(|&c| fold(c)).collect();
        let joined = |from: usize, to: usize| -> Option<ClassUnicode> {
            let all = folded[from..to].concat();
            (all.len() > 1 && all.len() <= LONGEST)
                .then(|| self.same(&all))
                .filter(|class| !class.ranges().is_empty())
        };
        let mut nodes = Vec::new();
        let mut at = 0;
        while at < text.len() {
            // The stretch in which characters join, if one begins here.
            let mut end = at + 1;
            while let Some(to) = (at..end)
                .flat_map(|from| {
                    (end + 1..=(from + LONGEST).min(text.len())).map(move |to| (from, to))
                })
                .filter(|&(from, to)| joined(from, to).is_some())
                .map(|(_, to)| to)
                .max()
            {
                end = to;
                if end - at > MAX_STRETCH {
                    return Err("too many ways to match this text with case ignored".to_owned());
                }
            }
            nodes.push(self.stretch(&folded[at..end], &|from, to| joined(at + from, at + to)));
            at = end;
        }
        Ok(Node::concat(nodes))
    }

    /// All ways to match a stretch: from its end, each place as the choice of what comes next.
    fn stretch(
        &self,
        folded: &[Vec<char>],
        joined: &dyn Fn(usize, usize) -> Option<ClassUnicode>,
    ) -> Node {
        let n = folded.len();
        if n == 1 {
            return self.one(&folded[0]);
        }
        let mut branches = Vec::new();
        for to in 2..=n.min(LONGEST) {
            if let Some(class) = joined(0, to) {
                let mut nodes = vec![Node::Class(class)];
                if to < n {
                    nodes.push(self.stretch(&folded[to..], &|a, b| joined(to + a, to + b)));
                }
                branches.push(Node::concat(nodes));
            }
        }
        let rest = self.stretch(&folded[1..], &|a, b| joined(1 + a, 1 + b));
        branches.push(Node::concat(vec![self.one(&folded[0]), rest]));
        Node::alternate(branches)
    }

    /// Node of one folding: the characters that fold to it, and the sequence itself if it has
    /// several characters.
    fn one(&self, folded: &[char]) -> Node {
        let same = Node::Class(self.same(folded));
        if folded.len() == 1 {
            same
        } else {
            Node::alternate(vec![same, self.sequence(folded)])
        }
    }

    /// A class with case ignored: its members and their likes, and the sequences that members fold
    /// to.
    pub(super) fn class(&self, class: &mut ClassUnicode, with_sequences: bool) -> Vec<Node> {
        let mut likes = Vec::new();
        let mut sequences: Vec<&Vec<char>> = Vec::new();
        for (folded, group) in &self.by_fold {
            if group.iter().any(|&c| contains(class, c)) {
                likes.extend(group.iter().map(|&c| ClassUnicodeRange::new(c, c)));
                if with_sequences && folded.len() > 1 {
                    sequences.push(folded);
                }
            }
        }
        class.union(&ClassUnicode::new(likes));
        sequences.sort_by_key(|folded| folded.len()); // the reference tries shorter ones first
        sequences
            .into_iter()
            .map(|folded| self.sequence(folded))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A character outside that folds would be missing from every pattern that ignores case.
    #[test]
    fn no_character_elsewhere_folds() {
        // Characters that a later Unicode version adds are in none of the versions that patterns
        // may have.
        let known = assigned_in(UnicodeVersion::REFERENCES).unwrap();
        let elsewhere = (0..=char::MAX as u32).filter(|c| !CASED.iter().any(|r| r.contains(c)));
        for c in elsewhere.filter_map(char::from_u32) {
            assert!(fold(c) == [c] || !contains(&known, c), "{:x}", c as u32);
        }
    }
}
