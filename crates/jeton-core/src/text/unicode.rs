//! Character classes, and the Unicode version they follow.
//!
//! References disagree about characters that newer Unicode versions added: each was built with the
//! tables of its day. The tables here are `regex-syntax`'s. It also knows the version in which each
//! character was assigned, so a class can be evaluated as an older version saw it. A character
//! added later then counts as unassigned.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};
use serde::{Deserialize, Serialize};

/// A code point that will never be assigned (a noncharacter): stands for "unassigned".
const NEVER_ASSIGNED: char = '\u{FDD0}';

/// A version of the Unicode standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct UnicodeVersion(pub u8, pub u8);

impl UnicodeVersion {
    /// The version of the tables of `regex-syntax` 0.8.11: no character they know is newer.
    const TABLES: Self = Self(16, 0);

    /// The version of both Oniguruma in `tokenizers` 0.23 and of the tables in `tiktoken` 0.14, as
    /// found by asking both which code points of each version are letters.
    pub const REFERENCES: Self = Self(16, 0);

    /// The normalization tables of `tokenizers` 0.23, as found by asking which combining marks of
    /// each version it reorders.
    pub const HF_NORMALIZATION: Self = Self(9, 0);

    /// As `16.0`.
    pub fn name(self) -> String {
        format!("{}.{}", self.0, self.1)
    }

    /// Reads `16.0`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self(major.parse().ok()?, minor.parse().ok()?))
    }
}

impl From<UnicodeVersion> for String {
    fn from(version: UnicodeVersion) -> Self {
        version.name()
    }
}

impl TryFrom<String> for UnicodeVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not a Unicode version such as 16.0"))
    }
}

/// Parses a single-character expression (`[^\s\p{L}]`, `\p{Han}`, `é`, `.`) to a class.
///
/// Returns a plain reason when it is not one, for the caller to put a position to.
pub fn parse_class(
    expression: &str,
    ignore_case: bool,
    version: UnicodeVersion,
) -> Result<ClassUnicode, String> {
    let hir = ParserBuilder::new()
        .unicode(true)
        .utf8(true)
        .case_insensitive(ignore_case)
        .nest_limit(32)
        .build()
        .parse(expression)
        .map_err(|error| match error {
            regex_syntax::Error::Parse(error) => error.kind().to_string(),
            regex_syntax::Error::Translate(error) => error.kind().to_string(),
            _ => "not a character class".to_owned(),
        })?;
    let class = match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => class.clone(),
        HirKind::Class(Class::Bytes(class)) => class
            .to_unicode_class()
            .ok_or_else(|| "a class of bytes instead of characters".to_owned())?,
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0)
                .map_err(|_| "bytes instead of characters".to_owned())?;
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (Some(c), None) => ClassUnicode::new([ClassUnicodeRange::new(c, c)]),
                _ => return Err("more than one character where one was expected".to_owned()),
            }
        }
        HirKind::Empty => ClassUnicode::empty(),
        _ => return Err("not a character class".to_owned()),
    };
    Ok(as_of(class, version))
}

/// The class as a given Unicode version would have it.
///
/// Characters that were assigned later get the membership of an unassigned code point.
fn as_of(mut class: ClassUnicode, version: UnicodeVersion) -> ClassUnicode {
    let Some(newer) = assigned_after(version) else {
        return class;
    };
    if contains(&class, NEVER_ASSIGNED) {
        class.union(&newer);
    } else {
        class.difference(&newer);
    }
    class
}

/// Characters that the tables at hand know and the given version did not; None if there are none.
pub fn assigned_after(version: UnicodeVersion) -> Option<ClassUnicode> {
    // Finding that there are none takes 0.18 ms (regex-syntax 0.8.11, one core of a 2-core x86-64
    // virtual machine, 2026-11-21), and every class of a pattern asks, each literal among them.
    if version >= UnicodeVersion::TABLES {
        return None;
    }
    newer_than(version)
}

fn newer_than(version: UnicodeVersion) -> Option<ClassUnicode> {
    let newer = format!("[\\P{{Cn}}--\\p{{age={}}}]", version.name());
    let hir = regex_syntax::parse(&newer).ok()?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) if !class.ranges().is_empty() => Some(class.clone()),
        _ => None,
    }
}

/// Characters that a version knows.
pub fn assigned_in(version: UnicodeVersion) -> Result<ClassUnicode, String> {
    let age = format!("\\p{{age={}}}", version.name());
    let hir = regex_syntax::parse(&age).map_err(|error| error.to_string())?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Ok(class),
        _ => Err(format!("{age} is not a class of characters")),
    }
}

/// True if a class has a character.
pub fn contains(class: &ClassUnicode, c: char) -> bool {
    class
        .ranges()
        .binary_search_by(|range| {
            if range.end() < c {
                std::cmp::Ordering::Less
            } else if range.start() > c {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(version: UnicodeVersion) -> ClassUnicode {
        parse_class(r"\p{L}", false, version).unwrap()
    }

    #[test]
    fn newer_letters_are_unassigned_before_their_time() {
        // U+10D4A GARAY CAPITAL LETTER A came with Unicode 16; U+31350 with 15.
        let garay = '\u{10D4A}';
        assert!(contains(&letter(UnicodeVersion(16, 0)), garay));
        assert!(!contains(&letter(UnicodeVersion(15, 0)), garay));
        assert!(contains(&letter(UnicodeVersion(15, 0)), '\u{31350}'));
        let other = parse_class(r"[^\p{L}]", false, UnicodeVersion(15, 0)).unwrap();
        assert!(contains(&other, garay));
    }

    #[test]
    fn the_tables_have_the_version_that_is_written_here() {
        let UnicodeVersion(major, minor) = UnicodeVersion::TABLES;
        assert!(newer_than(UnicodeVersion::TABLES).is_none());
        assert!(assigned_in(UnicodeVersion::TABLES).is_ok());
        assert!(assigned_in(UnicodeVersion(major, minor + 1)).is_err());
        assert!(assigned_in(UnicodeVersion(major + 1, 0)).is_err());
        assert!(newer_than(UnicodeVersion(major - 1, 0)).is_some());
    }

    #[test]
    fn case_is_folded_as_unicode_says() {
        let s = parse_class("s", true, UnicodeVersion::REFERENCES).unwrap();
        assert!(contains(&s, 'S') && contains(&s, '\u{17f}') && !contains(&s, 't'));
    }

    #[test]
    fn only_single_characters() {
        assert!(parse_class("ab", false, UnicodeVersion::REFERENCES).is_err());
        assert!(parse_class(r"\p{Nonsense}", false, UnicodeVersion::REFERENCES).is_err());
    }
}
