//! An automaton as a compiled file keeps it: a second process neither parses the pattern nor works
//! it out again.
//!
//! A file is not trusted: every class, state and place in it is checked. A hostile file can hold
//! another pattern, but nothing worse.

use super::boundaries::Boundaries;
use super::classes::{ClassMap, RawClasses};
use super::{ACCEPT, Automaton, Later, MAX_STATES};

/// An automaton in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawAutomaton {
    pub(crate) classes: RawClasses,
    pub(crate) transitions: Vec<u32>,
    /// Boundary tables as bytes; none where they would tell too little.
    pub(crate) boundaries: Vec<u8>,
}

impl Automaton {
    /// Its columns. The boundary tables are made now, if they were not yet.
    pub(crate) fn to_raw(&self) -> RawAutomaton {
        let boundaries = self.made_boundaries();
        RawAutomaton {
            classes: self.classes.to_raw(),
            transitions: self.transitions.iter().copied().map(u32::from).collect(),
            boundaries: boundaries.map_or_else(Vec::new, |made| made.to_bytes(&self.classes)),
        }
    }

    /// Reads the automaton that [`Self::to_raw`] gave; None if it is none. `in_byte_alphabet`: as
    /// for [`Self::new`].
    pub(crate) fn from_raw(raw: &RawAutomaton, in_byte_alphabet: bool) -> Option<Self> {
        let classes = ClassMap::from_raw(&raw.classes, in_byte_alphabet)?;
        let stride = usize::from(classes.end_class()) + 1;
        let n_states = raw.transitions.len() / stride;
        // State 0 is dead, and state 1 is where matches begin.
        if !raw.transitions.len().is_multiple_of(stride) || !(2..=MAX_STATES).contains(&n_states) {
            return None;
        }
        let transition = |&raw: &u32| {
            let transition = u16::try_from(raw).ok()?;
            (usize::from(transition & !ACCEPT) < n_states).then_some(transition)
        };
        let transitions = raw
            .transitions
            .iter()
            .map(transition)
            .collect::<Option<_>>()?;
        let boundaries = if raw.boundaries.is_empty() {
            Later::never()
        } else if in_byte_alphabet {
            return None;
        } else {
            Later::made(Boundaries::from_bytes(&raw.boundaries, &classes)?)
        };
        Some(Self {
            classes,
            transitions,
            stride,
            start: 1,
            behind: None,
            boundaries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::pattern::{Dialect, parse};
    use super::*;
    use crate::pretokenize::published;
    use crate::text::unicode::UnicodeVersion;
    use proptest::prelude::*;

    fn automaton(pattern: &str, in_byte_alphabet: bool) -> Automaton {
        let ast = parse(pattern, Dialect::FancyRegex, UnicodeVersion::REFERENCES).unwrap();
        Automaton::new(&ast, in_byte_alphabet).unwrap()
    }

    fn published_patterns() -> Vec<String> {
        ["gpt2", "cl100k_base", "o200k_base", "llama3"]
            .iter()
            .map(|name| published::by_name(name).unwrap().to_owned())
            .collect()
    }

    const TEXT: &str =
        "It's 12345 o'clock:  näher an\u{3000}漢字 и слова,\n\n    indented\t'LL 🦀 end ";

    #[test]
    fn what_comes_back_cuts_as_it_did() {
        for pattern in published_patterns() {
            let made = automaton(&pattern, false);
            let raw = made.to_raw();
            assert!(!raw.boundaries.is_empty(), "{pattern}");
            let again = Automaton::from_raw(&raw, false).unwrap();
            assert_eq!(again.to_raw(), raw, "{pattern}");
            let text = TEXT.repeat(20);
            let ends =
                |automaton: &Automaton| -> Vec<_> { automaton.pieces(text.as_bytes()).collect() };
            assert_eq!(ends(&again), ends(&made), "{pattern}");
            let mut places = [0; 192];
            let n = again.pieces(text.as_bytes()).ends(&mut places);
            let expected: Vec<usize> = ends(&made).iter().map(|&(_, end)| end).collect();
            assert_eq!(places[..n], expected[..n], "{pattern}");
        }
    }

    #[test]
    fn bytes_seen_as_characters_come_back() {
        let made = automaton(r"\p{L}+|\S+|\s+", true);
        let raw = made.to_raw();
        assert!(raw.boundaries.is_empty());
        let again = Automaton::from_raw(&raw, true).unwrap();
        let ends =
            |automaton: &Automaton| -> Vec<_> { automaton.matches(TEXT.as_bytes()).collect() };
        assert_eq!(ends(&again), ends(&made));
        // In an automaton for text, these columns would cut characters.
        assert!(Automaton::from_raw(&raw, false).is_none());
    }

    #[test]
    fn what_leads_outside_is_refused() {
        let raw = automaton(&published_patterns()[1], false).to_raw();
        let refused = |change: &dyn Fn(&mut RawAutomaton)| {
            let mut raw = raw.clone();
            change(&mut raw);
            Automaton::from_raw(&raw, false).is_none()
        };
        assert!(!refused(&|_| ()));
        assert!(refused(&|raw| raw.transitions[3] = 4095));
        assert!(refused(&|raw| raw.transitions[3] = 1 << 20));
        assert!(refused(&|raw| raw.transitions.truncate(7)));
        assert!(refused(&|raw| raw.transitions.clear()));
        assert!(refused(&|raw| raw.classes.single[200] = 0));
        assert!(refused(&|raw| raw.classes.single[b'a' as usize] = 255));
        assert!(refused(&|raw| raw.classes.table[9] = 250));
        assert!(refused(&|raw| raw.classes.blocks[9] = 60_000));
        assert!(refused(&|raw| raw.classes.n_classes = 0));
        assert!(refused(&|raw| raw.boundaries.truncate(100)));
        assert!(refused(&|raw| raw.boundaries.push(0)));
        assert!(refused(&|raw| raw.boundaries[0] = 200));
    }

    proptest! {
        // Any columns that are accepted cut text into adjacent pieces, at its characters.
        #[test]
        fn false_columns_are_refused_or_cut_characters_apart(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            which in 0..4usize,
            text in "[a-z '0-9éß漢\u{3000}🦀\n]{0,200}",
        ) {
            let mut raw = automaton(&published_patterns()[which], false).to_raw();
            for (place, byte) in changes {
                // A quarter of the changes each for states, and half for the boundary tables.
                match byte % 4 {
                    0 => *place.get_mut(&mut raw.transitions) = u32::from(byte) << 8,
                    1 => *place.get_mut(&mut raw.classes.table) = byte,
                    _ => *place.get_mut(&mut raw.boundaries) = byte,
                }
            }
            if let Some(automaton) = Automaton::from_raw(&raw, false) {
                let mut pieces = automaton.pieces(text.as_bytes());
                let mut last = 0;
                let mut places = [0; 192];
                loop {
                    let n = pieces.ends(&mut places);
                    if n == 0 {
                        break;
                    }
                    for &end in &places[..n] {
                        prop_assert!(last < end && end <= text.len() && text.is_char_boundary(end));
                        last = end;
                    }
                }
            }
        }
    }
}
