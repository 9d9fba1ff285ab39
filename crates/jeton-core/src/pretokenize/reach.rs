//! Reach of a pattern from a place: work that a backtracking engine does not count.
//!
//! `fancy-regex` counts its own steps. Parts of a pattern that need no backtracking go to an
//! automaton, which may read to the end of the text for one step. Only a repetition without an end
//! reads that far, and only over the characters that it repeats.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use crate::text::unicode::contains;

/// The characters over which the repetitions of a pattern read on, one class for each alternative.
#[derive(Debug)]
pub(super) struct Reach(Vec<ClassUnicode>);

impl Reach {
    /// Reads a pattern in the words of `fancy-regex`. A pattern that is not understood may read
    /// everything.
    pub(super) fn new(pattern: &str) -> Self {
        let parsed = regex_syntax::Parser::new().parse(&without_looks(pattern));
        let mut classes = Vec::new();
        match parsed {
            Ok(hir) => collect(&hir, &mut classes),
            Err(_) => classes.push(everything()),
        }
        Self(classes)
    }

    /// True if no part of the pattern reads on and on.
    pub(super) fn is_short(&self) -> bool {
        self.0.is_empty()
    }

    /// The runs of its characters in a text.
    pub(super) fn runs<'r, 't>(&'r self, text: &'t str) -> Runs<'r, 't> {
        Runs {
            classes: &self.0,
            text,
            last: vec![0..0; self.0.len()],
        }
    }
}

/// The last run of each class that was looked at.
pub(super) struct Runs<'r, 't> {
    classes: &'r [ClassUnicode],
    text: &'t str,
    last: Vec<std::ops::Range<usize>>,
}

impl Runs<'_, '_> {
    /// Bytes of the longest run that touches a range. Ranges rise, so a text is read once.
    pub(super) fn longest(&mut self, from: usize, to: usize) -> usize {
        let mut longest = 0;
        for (class, last) in self.classes.iter().zip(&mut self.last) {
            let mut at = from;
            loop {
                if !last.contains(&at) {
                    let rest = &self.text[at..];
                    let end = rest.find(|c| !contains(class, c)).unwrap_or(rest.len());
                    // A run that goes on from the last one is one with it.
                    let start = if last.end == at { last.start } else { at };
                    *last = start..at + end;
                }
                longest = longest.max(last.len());
                at = last.end.max(at);
                if at > to || at >= self.text.len() {
                    break;
                }
                // The character that ended the run belongs to none.
                at += self.text[at..].chars().next().map_or(1, char::len_utf8);
                if at > to {
                    break;
                }
            }
        }
        longest
    }
}

fn everything() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}

/// The pattern with looks and atomic groups as plain groups, and possessive repetitions as greedy
/// ones. What remains beyond `regex-syntax` fails there.
fn without_looks(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut depth = 0usize;
    let mut rest = pattern;
    let mut repeats = false;
    while let Some(c) = rest.chars().next() {
        let look = ["(?<=", "(?<!", "(?=", "(?!", "(?>"];
        if c == '\\' {
            let end = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
            plain.push_str(&rest[..end]);
            rest = &rest[end..];
            repeats = false;
            continue;
        }
        if depth == 0
            && let Some(look) = look.into_iter().find(|look| rest.starts_with(look))
        {
            plain.push_str("(?:");
            rest = &rest[look.len()..];
            repeats = false;
            continue;
        }
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let possessive = depth == 0 && repeats && c == '+';
        if !possessive {
            plain.push(c);
        }
        repeats = depth == 0 && !possessive && matches!(c, '*' | '+' | '?' | '}');
        rest = &rest[c.len_utf8()..];
    }
    plain
}

fn collect(hir: &Hir, classes: &mut Vec<ClassUnicode>) {
    match hir.kind() {
        HirKind::Alternation(nodes) => nodes.iter().for_each(|node| collect(node, classes)),
        HirKind::Capture(group) => collect(&group.sub, classes),
        _ => {
            let mut repeated = ClassUnicode::empty();
            add_repeated(hir, false, &mut repeated);
            if !repeated.ranges().is_empty() {
                classes.push(repeated);
            }
        }
    }
}

/// Adds the characters of repetitions without an end.
fn add_repeated(hir: &Hir, inside: bool, repeated: &mut ClassUnicode) {
    match hir.kind() {
        HirKind::Literal(text) if inside => {
            for c in String::from_utf8_lossy(&text.0).chars() {
                repeated.push(ClassUnicodeRange::new(c, c));
            }
        }
        HirKind::Class(Class::Unicode(class)) if inside => repeated.union(class),
        HirKind::Class(Class::Bytes(_)) if inside => *repeated = everything(),
        HirKind::Repetition(repetition) => {
            add_repeated(
                &repetition.sub,
                inside || repetition.max.is_none(),
                repeated,
            );
        }
        HirKind::Capture(group) => add_repeated(&group.sub, inside, repeated),
        HirKind::Concat(nodes) | HirKind::Alternation(nodes) => {
            nodes
                .iter()
                .for_each(|node| add_repeated(node, inside, repeated));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_what_is_repeated() {
        for (pattern, text, longest) in [
            (r"(?=(a+)+b)x|a", "aaaa bb aa", 4),
            (r"\d{1,3}(?=(?:\d{3})*\b)", "12345 abcdefgh", 5),
            (r"(?>\w++)\s", "ab  cd", 2),
            (r"(a)\1", "aaaa", 4),
            (r"ab|(?<=c)d", "abababab", 0),
            (r"[^x]*(?<=x)", "abxcdef", 4),
        ] {
            let reach = Reach::new(pattern);
            assert_eq!(reach.is_short(), longest == 0, "{pattern}");
            assert_eq!(
                reach.runs(text).longest(0, text.len()),
                longest,
                "{pattern}"
            );
            let mut runs = reach.runs(text);
            let singly = (0..text.len()).map(|at| runs.longest(at, at)).max();
            assert_eq!(singly, Some(longest), "{pattern}");
        }
    }
}
