//! HTML's character references, replaced as Python's `html.unescape` replaces them.
//!
//! The names are HTML 5's (<https://html.spec.whatwg.org/entities.json>, as Python 3.11 has them in
//! `html.entities.html5`, read in November 2026). Anything may follow a name without a semicolon;
//! the longest name that fits counts.

use std::borrow::Cow;

/// Name and code points in hexadecimal, one name a line, sorted.
const TABLE: &str = include_str!("entities.txt");
/// Longest name that is looked up, in characters, without the semicolon (the pattern's limit).
const MAX_NAME_CHARS: usize = 32;
/// Longest name that the stricter form looks up, in characters.
const MAX_STRICT_CHARS: usize = 24;

/// Characters for the numbers 128 to 159, from Windows-1252 where it has some.
const WINDOWS_1252: [u32; 32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
    0x0152, 0x8D, 0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
];

/// The names, ready to be looked up.
#[derive(Debug)]
pub(super) struct Entities {
    names: Vec<(&'static str, String)>,
}

impl Entities {
    pub(super) fn new() -> Self {
        let character = |hex: &str| u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
        let entry = |line: &'static str| {
            let (name, codes) = line.split_once(' ')?;
            Some((name, codes.split(' ').filter_map(character).collect()))
        };
        Self {
            names: TABLE.lines().filter_map(entry).collect(),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.names.binary_search_by(|(other, _)| (*other).cmp(name));
        found.ok().map(|at| self.names[at].1.as_str())
    }

    /// Replaces every reference, as `html.unescape` does.
    pub(super) fn unescape<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replace(text, |after| {
            if let Some(number) = after.strip_prefix('#') {
                return numeric(number).map(|(c, used)| (c, used + 1));
            }
            let stops = |c: char| matches!(c, '\t' | '\n' | '\x0c' | ' ' | '<' | '&' | '#' | ';');
            let end = after
                .char_indices()
                .take(MAX_NAME_CHARS)
                .take_while(|&(_, c)| !stops(c))
                .last()
                .map(|(at, c)| at + c.len_utf8())?;
            let whole = if after[end..].starts_with(';') {
                end + 1
            } else {
                end
            };
            if let Some(text) = self.get(&after[..whole]) {
                return Some((text.to_owned(), whole));
            }
            // The longest beginning of two characters or more that is a name.
            let mut ends = after[..whole].char_indices().map(|(at, _)| at).skip(2);
            ends.by_ref()
                .collect::<Vec<usize>>()
                .into_iter()
                .rev()
                .find_map(|at| Some((self.get(&after[..at])?.to_owned(), at)))
        })
    }

    /// Replaces only what ends in a semicolon, and names in capitals too where that is clear, as
    /// `ftfy` does.
    pub(super) fn unescape_strictly<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replace(text, |after| {
            let mark = usize::from(after.starts_with('#'));
            let rest = &after[mark..];
            let end = rest
                .bytes()
                .take(MAX_STRICT_CHARS)
                .take_while(u8::is_ascii_alphanumeric)
                .count();
            if end == 0 || !rest[end..].starts_with(';') {
                return None;
            }
            let whole = mark + end + 1;
            if mark == 1 {
                return numeric(rest)
                    .filter(|(c, used)| *used == end + 1 && !c.contains(';'))
                    .map(|(c, _)| (c, whole));
            }
            let name = &after[..whole];
            if let Some(text) = self.get(name) {
                return Some((text.to_owned(), whole));
            }
            let lower = name.to_ascii_lowercase();
            let is_capital = name.to_ascii_uppercase() == name;
            let written = format!("&{name}");
            match self.get(&lower) {
                Some(text) if is_capital && self.unescape(&written) == written => {
                    Some((text.to_uppercase(), whole))
                }
                _ => None,
            }
        })
    }
}

/// Replaces references: `find` gets what follows an `&`, and says what replaces how many of its
/// bytes.
fn replace(text: &str, find: impl Fn(&str) -> Option<(String, usize)>) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(mark) = memchr::memchr(b'&', &text.as_bytes()[at..]) {
        let after = at + mark + 1;
        at = after;
        if let Some((replacement, used)) = find(&text[after..]) {
            out.push_str(&text[copied..after - 1]);
            out.push_str(&replacement);
            at = after + used;
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The character of a number that follows `#`, and how many bytes the number takes with its
/// semicolon.
fn numeric(text: &str) -> Option<(String, usize)> {
    let is_hex = text.starts_with(['x', 'X']);
    let (start, radix) = if is_hex { (1, 16) } else { (0, 10) };
    let digits = text[start..]
        .chars()
        .take_while(|c| c.is_digit(radix))
        .count();
    if digits == 0 {
        return None;
    }
    let end = start + digits;
    let used = end + usize::from(text[end..].starts_with(';'));
    // A number too large to be read is too large to be a character.
    let number = u32::from_str_radix(&text[start..end], radix).unwrap_or(u32::MAX);
    let character = match number {
        0 => Some('\u{FFFD}'),
        0x0D => Some('\r'),
        0x80..=0x9F => char::from_u32(WINDOWS_1252[number as usize - 0x80]),
        0x01..=0x08 | 0x0B | 0x0E..=0x1F | 0x7F | 0xFDD0..=0xFDEF => None,
        number if number <= 0x10_FFFF && number & 0xFFFE == 0xFFFE => None,
        number => Some(char::from_u32(number).unwrap_or('\u{FFFD}')),
    };
    Some((character.map(String::from).unwrap_or_default(), used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_in_order() {
        let entities = Entities::new();
        assert_eq!(entities.names.len(), 2231);
        assert!(entities.names.is_sorted_by(|a, b| a.0 < b.0));
        assert!(entities.names.iter().all(|(_, text)| !text.is_empty()));
    }

    #[test]
    fn references_are_replaced_as_python_does() {
        // Expected: html.unescape of Python 3.11.
        let entities = Entities::new();
        for (text, expected) in [
            ("&amp;&lt", "&<"),
            ("&notit; &notin; &not", "¬it; ∉ ¬"),
            ("&ampamp; &am; &;", "&amp; &am; &;"),
            ("&#65;&#x42;&#X43&#067", "ABCC"),
            ("&#128;&#x9f;&#0;&#13;&#1;x", "€Ÿ\u{FFFD}\rx"),
            (
                "&#xD800;&#x110000;&#99999999999;",
                "\u{FFFD}\u{FFFD}\u{FFFD}",
            ),
            ("&#xFFFE;&#x1FFFF;&#xFDD0;&#11;", ""),
            ("&#;&#x;&#xg;&", "&#;&#x;&#xg;&"),
            ("&NotEqualTilde;&acE;", "≂\u{338}∾\u{333}"),
            ("&é;&copyé", "&é;©é"),
            ("no reference", "no reference"),
        ] {
            assert_eq!(entities.unescape(text), expected, "{text}");
        }
    }

    #[test]
    fn the_stricter_form_wants_a_semicolon() {
        // Expected: ftfy.fixes.unescape_html of ftfy 6.3.1.
        let entities = Entities::new();
        for (text, expected) in [
            ("&lt;tag&gt;", "<tag>"),
            ("&lt &not it", "&lt &not it"),
            ("P&EACUTE;REZ &nTILDE; &NTILDE;", "PÉREZ &nTILDE; Ñ"),
            ("BUNDESSTRA&SZLIG;E", "BUNDESSTRASSE"),
            ("&#8217;&#x2019;&#12a;", "\u{2019}\u{2019}&#12a;"),
        ] {
            assert_eq!(entities.unescape_strictly(text), expected, "{text}");
        }
    }
}
