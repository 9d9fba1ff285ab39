//! Parts of a text that give the same pretokens by themselves, told by few characters: they end before a space.
//!
//! Behind most longer characters a space ends any match at once, whatever the automaton was looking for: letters, marks and
//! punctuation do not go on with one. Where that is so of every state that a character may lead to, and of the text's end in
//! the space's place, then no match and no search crosses the place between the two: what is before it is cut as if
//! it were all, and so is what begins with the space.

use super::classes::{ClassMap, WIDE};
use super::{ACCEPT, Automaton, DEAD};

/// For each class of characters, whether a space behind one of them ends any match.
#[derive(Debug)]
pub(super) struct Closed(Box<[bool]>);

impl Closed {
    /// `transitions`: of an automaton that looks at nothing before a match.
    pub(super) fn new(classes: &ClassMap, transitions: &[u16], stride: usize) -> Self {
        let mut closed = vec![true; stride].into_boxed_slice();
        let space = usize::from(classes.single[usize::from(b' ')]);
        // Where bytes are seen as characters, no byte begins a longer one.
        let has_longer = classes.single[0xE0] == WIDE;
        let ends = |state: u16| {
            let row = &transitions[usize::from(state) * stride..][..stride];
            row[space] == ACCEPT | DEAD && row[stride - 1] & ACCEPT != 0
        };
        for row in transitions.chunks(stride).skip(1) {
            for (closed, &to) in closed.iter_mut().zip(row) {
                let state = to & !ACCEPT;
                *closed &= has_longer && (state == DEAD || ends(state));
            }
        }
        // A character that begins no match may be left over, together with what follows.
        for (closed, &to) in closed.iter_mut().zip(&transitions[stride..]) {
            *closed &= to & !ACCEPT != DEAD;
        }
        Self(closed)
    }
}

impl Automaton {
    /// Where the passage ends that begins at a place: before the next space behind a longer character that closes it, or where the
    /// text ends. The pretokens of a text are those of its passages, one after the other.
    pub(crate) fn passage_end(&self, text: &[u8], start: usize) -> usize {
        if self.looks_behind() {
            return text.len();
        }
        // The first character may be the space that ended the passage before.
        let mut from = start + 1;
        while let Some(rest) = text.get(from..)
            && let Some(space) = memchr::memchr(b' ', rest)
        {
            let place = from + space;
            if !text[place - 1].is_ascii() && self.is_closed(text, place) {
                return place;
            }
            from = place + 1;
        }
        text.len()
    }

    /// Whether a space at a place ends any match.
    #[inline]
    fn is_closed(&self, text: &[u8], place: usize) -> bool {
        let made = || Closed::new(&self.classes, &self.transitions, self.stride);
        let closed = self.closed.get_or_init(made);
        closed.0[usize::from(self.classes.before(text, place))]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::automaton;
    use super::*;
    use crate::pretokenize::published::PATTERNS;
    use proptest::prelude::*;

    fn passages<'t>(automaton: &Automaton, text: &'t str) -> Vec<&'t str> {
        let (mut start, mut passages) = (0, Vec::new());
        while start < text.len() {
            let end = automaton.passage_end(text.as_bytes(), start);
            passages.push(&text[start..end]);
            start = end;
        }
        passages
    }

    fn pieces<'t>(automaton: &Automaton, text: &'t str) -> Vec<&'t str> {
        let pieces = automaton.pieces(text.as_bytes());
        pieces.map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn passages_end_before_spaces_behind_longer_characters() {
        let text = "หมวด ๑ บททั่วไป  และ a b้ c\u{3000} ง\n ฉ\u{a0} จ";
        for (name, pattern, _) in PATTERNS {
            let automaton = automaton(pattern);
            let found = passages(&automaton, text);
            if ["cl100k_base", "o200k_base", "llama3"].contains(name) {
                let expected = [
                    "หมวด",
                    " ๑",
                    " บททั่วไป",
                    "  และ",
                    " a b้",
                    " c\u{3000} ง\n ฉ\u{a0} จ",
                ];
                assert_eq!(found, expected, "{name}");
            }
        }
    }

    #[test]
    fn where_a_match_may_go_on_with_a_space_there_are_none() {
        let text = "กข คง จฉ";
        for pattern in [
            ".+",
            r"\p{L}+ ?",
            // One that is in vain.
            r"\p{L}+(?: ค1)?",
            r"\p{L}+(?! )|\p{L}| ",
            // What is left over would be joined.
            r"[a-z]+",
            r"(?<=\p{L}) |\p{L}",
        ] {
            assert_eq!(passages(&automaton(pattern), text), [text], "{pattern}");
        }
        assert_eq!(passages(&automaton(r"\p{L}+| "), text).len(), 3);
    }

    proptest! {
        #[test]
        fn pretokens_are_those_of_passages(
            which in 0..PATTERNS.len() + 6,
            text in "([กขé้๑漢\u{3000}\u{a0}🦀。a-cSs1'/,.\n\r\t-]{0,3} {0,2}){0,30}",
        ) {
            let more = [
                r"\p{L}+(?: [a-c])?|.",
                r"\p{L}+(?! )|\p{L}| ?[^\p{L} ]+| ",
                r"[\p{L}\p{M}]+|\s+|[^\s\p{L}]+ ?",
                r"(?:\p{M} |\p{L})+|.",
                r"\p{L}+?(?=\s)|.",
                r"[ก-ฮ]+|[a-z ]+",
            ];
            let pattern = match PATTERNS.get(which) {
                Some((_, pattern, _)) => pattern,
                None => more[which - PATTERNS.len()],
            };
            let automaton = automaton(pattern);
            let passages = passages(&automaton, &text);
            prop_assert_eq!(passages.concat(), &text[..]);
            let by_passages: Vec<&str> =
                passages.iter().flat_map(|passage| pieces(&automaton, passage)).collect();
            prop_assert_eq!(by_passages, pieces(&automaton, &text), "{}", pattern);
        }
    }
}
