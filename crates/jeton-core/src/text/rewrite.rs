//! Product of a normalization step: text, or a map back to the text before it.
//!
//! A step is written once, as calls on a [`Sink`]; the same calls make either the new text (fast)
//! or the alignment (exact), so the two cannot disagree.

use crate::text::alignment::{Alignment, Mapping, Ranges};

/// Takes a rewritten text, piece by piece, left to right.
pub trait Sink {
    /// A piece that stays as it is.
    fn keep(&mut self, source: &str);
    /// A piece that becomes another: every byte of `target` comes from all of `source`.
    fn replace(&mut self, source: &str, target: &str);
    /// Replaces the source with one character.
    fn replace_char(&mut self, source: &str, target: char) {
        self.replace(source, target.encode_utf8(&mut [0; 4]));
    }
    /// A piece that goes; neighbours do not come from it.
    fn omit(&mut self, source: &str) {
        self.replace(source, "");
    }
}

/// The new text.
impl Sink for String {
    #[inline]
    fn keep(&mut self, source: &str) {
        self.push_str(source);
    }

    #[inline]
    fn replace(&mut self, _: &str, target: &str) {
        self.push_str(target);
    }

    #[inline]
    fn replace_char(&mut self, _: &str, target: char) {
        self.push(target);
    }
}

/// The map back.
impl Sink for Vec<Mapping> {
    fn keep(&mut self, source: &str) {
        if source.is_empty() {
            return;
        }
        match self.last_mut() {
            Some(last) if last.unchanged => {
                last.source_bytes += source.len();
                last.target_bytes += source.len();
            }
            _ => self.push(Mapping {
                source_bytes: source.len(),
                target_bytes: source.len(),
                unchanged: true,
            }),
        }
    }

    fn replace(&mut self, source: &str, target: &str) {
        if source == target {
            return self.keep(source);
        }
        match self.last_mut() {
            Some(last) if target.is_empty() && last.target_bytes == 0 => {
                last.source_bytes += source.len();
            }
            _ => self.push(Mapping {
                source_bytes: source.len(),
                target_bytes: target.len(),
                unchanged: false,
            }),
        }
    }
}

/// The new text, or None where it is the old one.
pub fn rewritten(text: &str, step: impl FnOnce(&mut String)) -> Option<String> {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    step(&mut out);
    (out != text).then_some(out)
}

/// The map back.
pub fn aligned(step: impl FnOnce(&mut Vec<Mapping>)) -> Alignment {
    let mut stretches = Vec::new();
    step(&mut stretches);
    Alignment { stretches }
}

/// Change of one character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// It becomes another.
    Char(char),
    /// It becomes a text.
    Text(&'static str),
}

/// Rewrites each character on its own.
pub fn each_char(text: &str, sink: &mut impl Sink, change: impl Fn(char) -> Change) {
    let mut kept = 0;
    for (at, c) in text.char_indices() {
        let change = change(c);
        if change == Change::Keep {
            continue;
        }
        sink.keep(&text[kept..at]);
        kept = at + c.len_utf8();
        let source = &text[at..kept];
        match change {
            Change::Remove => sink.omit(source),
            Change::Char(target) => sink.replace_char(source, target),
            Change::Text(target) => sink.replace(source, target),
            Change::Keep => {}
        }
    }
    sink.keep(&text[kept..]);
}

/// The map back of a rewriting that is told as characters of the new text and how many of the old
/// text each takes.
///
/// This is how `tokenizers` tells it. A character comes from one character of the old text. Usually
/// that is the next one, which it takes along with the given number of further ones. A character
/// that takes none comes from the one before. Further characters that are taken, and characters
/// that are not taken, belong to no character.
pub(crate) struct Takes<'t> {
    text: &'t str,
    /// Where the characters that were taken end, and where the last of them begins.
    taken: usize,
    last: usize,
    out: Ranges,
}

impl<'t> Takes<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            taken: 0,
            last: 0,
            out: Ranges::default(),
        }
    }

    /// Takes the next character of the text and nothing for it.
    pub(crate) fn skip(&mut self) {
        self.last = self.taken;
        self.taken += self.text[self.taken..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
    }

    /// A character of the new text. `change` is 1 for one that takes nothing, 0 for one that takes
    /// the next character of the old text, -n for one that takes n more.
    pub(crate) fn push(&mut self, target: char, change: isize) {
        if change > 0 {
            self.out
                .push(self.last, self.taken, target.len_utf8(), false);
            return;
        }
        self.skip();
        let same = self.text[self.last..].starts_with(target);
        self.out
            .push(self.last, self.taken, target.len_utf8(), same);
        for _ in 0..change.unsigned_abs() {
            self.skip();
        }
    }

    pub(crate) fn finish(self) -> Alignment {
        self.out.finish(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::alignment::compose;
    use proptest::prelude::*;

    const fn stretch(source_bytes: usize, target_bytes: usize, unchanged: bool) -> Mapping {
        Mapping {
            source_bytes,
            target_bytes,
            unchanged,
        }
    }

    fn alignment(stretches: &[Mapping]) -> Alignment {
        Alignment {
            stretches: stretches.to_vec(),
        }
    }

    #[test]
    fn a_step_that_changes_little_keeps_what_the_one_before_knew() {
        // "A中b" -> "a 中 b" (lower case, spaces) -> "a_中 b" -> the same without its first byte.
        let first = alignment(&[
            stretch(1, 1, false),
            stretch(3, 5, false),
            stretch(1, 1, true),
        ]);
        let next = alignment(&[
            stretch(1, 1, true),
            stretch(1, 1, false),
            stretch(5, 5, true),
        ]);
        let both = compose(&first, &next);
        assert_eq!(both, first);
        let cut = alignment(&[stretch(1, 0, false), stretch(6, 6, true)]);
        let expected = [
            stretch(1, 0, false),
            stretch(3, 5, false),
            stretch(1, 1, true),
        ];
        assert_eq!(compose(&both, &cut), alignment(&expected));
    }

    #[test]
    fn removals_belong_to_no_neighbour() {
        let first = alignment(&[
            stretch(1, 1, true),
            stretch(3, 0, false),
            stretch(1, 1, true),
        ]);
        let next = alignment(&[stretch(1, 1, true), stretch(1, 1, false)]);
        let expected = [
            stretch(1, 1, true),
            stretch(3, 0, false),
            stretch(1, 1, false),
        ];
        assert_eq!(compose(&first, &next), alignment(&expected));
    }

    /// Ranges of the source for each byte of the target, without an alignment's cleverness.
    fn ranges(alignment: &Alignment) -> Vec<(usize, usize)> {
        let (mut out, mut source) = (Vec::new(), 0);
        for s in &alignment.stretches {
            for at in 0..s.target_bytes {
                out.push(if s.unchanged {
                    (source + at, source + at + 1)
                } else {
                    (source, source + s.source_bytes)
                });
            }
            source += s.source_bytes;
        }
        out
    }

    fn arbitrary(source_bytes: usize, choices: &[(usize, usize, bool)]) -> Alignment {
        let mut stretches = Vec::new();
        let mut left = source_bytes;
        for &(source, target, unchanged) in choices {
            let source = source.min(left);
            let target = if unchanged { source } else { target };
            if source + target > 0 {
                stretches.push(stretch(source, target, unchanged));
            }
            left -= source;
        }
        if left > 0 {
            stretches.push(stretch(left, left, true));
        }
        Alignment { stretches }
    }

    proptest! {
        #[test]
        fn composition_covers_both_texts_and_each_byte_keeps_its_source(
            one in prop::collection::vec((0usize..4, 0usize..4, any::<bool>()), 0..8),
            two in prop::collection::vec((0usize..4, 0usize..4, any::<bool>()), 0..8),
        ) {
            let first = arbitrary(12, &one);
            let middle: usize = first.stretches.iter().map(|s| s.target_bytes).sum();
            let next = arbitrary(middle, &two);
            let both = compose(&first, &next);
            let total = |a: &Alignment| a.stretches.iter().map(|s| s.target_bytes).sum::<usize>();
            prop_assert_eq!(total(&both), total(&next));
            prop_assert_eq!(both.stretches.iter().map(|s| s.source_bytes).sum::<usize>(), 12);
            let (to_source, to_middle) = (ranges(&first), ranges(&next));
            for (byte, (from, to)) in ranges(&both).into_iter().enumerate() {
                let (start, end) = to_middle[byte];
                for &(s, e) in &to_source[start..end] {
                    prop_assert!(from <= s && e <= to);
                }
            }
        }
    }
}
