//! Lower case, character by character.
//!
//! Context does not matter: a sigma at the end of a word becomes `σ` (U+03C3) like any other.
//! `tokenizers` also maps each character on its own, with the tables of its Rust compiler (Unicode
//! 17 in 0.23.3, found by asking it for every code point).

use crate::text::alignment::Alignment;
use crate::text::rewrite::{Change, Sink, aligned, each_char, rewritten};

/// Additions of Unicode 17, for compilers with older tables: first, last, first's lower case, step.
const UNICODE_17: &[(char, char, char, u32)] = &[
    ('\u{A7CE}', '\u{A7CE}', '\u{A7CF}', 1),
    ('\u{A7D2}', '\u{A7D4}', '\u{A7D3}', 2),
    ('\u{16EA0}', '\u{16EB8}', '\u{16EBB}', 1),
];

/// The lower case of a character.
pub(crate) fn lower(c: char) -> Change {
    if c.is_ascii() {
        return if c.is_ascii_uppercase() {
            Change::Char(c.to_ascii_lowercase())
        } else {
            Change::Keep
        };
    }
    let mut targets = c.to_lowercase();
    match (targets.next(), targets.next()) {
        // The only character with a lower case of two: I with a dot.
        (Some('i'), Some('\u{307}')) => Change::Text("i\u{307}"),
        (Some(target), _) if target != c => Change::Char(target),
        _ => lower_of_unicode_17(c),
    }
}

fn lower_of_unicode_17(c: char) -> Change {
    UNICODE_17
        .iter()
        .find(|(first, last, _, step)| {
            (*first..=*last).contains(&c) && (c as u32 - *first as u32).is_multiple_of(*step)
        })
        .and_then(|(first, _, target, _)| {
            char::from_u32(*target as u32 + (c as u32 - *first as u32))
        })
        .map_or(Change::Keep, Change::Char)
}

fn rewrite(text: &str, sink: &mut impl Sink) {
    each_char(text, sink, lower);
}

/// The text in lower case, or None if it already is.
pub(crate) fn normalize(text: &str) -> Option<String> {
    if text.is_ascii() {
        return text
            .bytes()
            .any(|byte| byte.is_ascii_uppercase())
            .then(|| text.to_ascii_lowercase());
    }
    rewritten(text, |out| rewrite(text, out))
}

/// Where each stretch of the lower-case text comes from.
pub(crate) fn align(text: &str) -> Alignment {
    aligned(|out| rewrite(text, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn one_character_at_a_time() {
        assert_eq!(normalize("ΟΔΟΣ").as_deref(), Some("οδοσ"));
        assert_eq!(normalize("İ").as_deref(), Some("i\u{307}"));
        assert_eq!(normalize("ẞ\u{16EA1}").as_deref(), Some("ß\u{16EBC}"));
        assert_eq!(normalize("ABC").as_deref(), Some("abc"));
        assert_eq!(normalize("já é"), None);
        let alignment = align("aİB");
        let mut lookup = alignment.lookup();
        assert_eq!(lookup.source_range(1, 2), (1, 3));
        assert_eq!(lookup.source_range(2, 4), (1, 3));
        assert_eq!(lookup.source_range(4, 5), (3, 4));
    }

    #[test]
    fn the_tables_are_those_of_the_reference() {
        // Digest of "code point, target" over all code points that change, as `tokenizers` 0.23.3
        // maps them: fails when a compiler brings tables of a newer Unicode version.
        let mut digest = Sha256::new();
        for c in '\0'..=char::MAX {
            if let Some(target) = normalize(c.encode_utf8(&mut [0; 4])) {
                digest.update(format!("{:X} {target}\n", c as u32));
            }
        }
        let digest: String = digest
            .finalize()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(
            digest,
            "88245fd04c4a0d46b22193d6f2aef763c75fa2befecbc6cf3a6ea7fcd152ad0e"
        );
    }
}
