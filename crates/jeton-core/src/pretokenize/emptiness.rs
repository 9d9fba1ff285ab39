//! True if a pattern can match nothing at all.
//!
//! Splitting ignores empty matches, so automata do not report them; replacing does not ignore them.

use super::Dialect;
use super::pattern::{ParseError, parse};
use crate::error::{Error, Result};
use crate::text::unicode::UnicodeVersion;

/// Facts about a pattern before it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParsedPattern {
    /// Every match has at least one character.
    NeverEmpty,
    /// Some match may have none.
    MayBeEmpty,
    /// Only a backtracking engine can tell.
    Beyond,
}

impl ParsedPattern {
    /// Parses a pattern; an error if it is not one.
    pub(crate) fn of(pattern: &str, dialect: Dialect, unicode: UnicodeVersion) -> Result<Self> {
        match parse(pattern, dialect, unicode) {
            Ok(ast) if ast.may_be_empty() => Ok(Self::MayBeEmpty),
            Ok(_) => Ok(Self::NeverEmpty),
            Err(ParseError::Beyond(_)) => Ok(Self::Beyond),
            Err(ParseError::Bad { offset, reason }) => {
                Err(Error::pattern(pattern, Some(offset), reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_patterns_that_must_take_a_character_are_never_empty() {
        let of = |pattern| ParsedPattern::of(pattern, Dialect::Oniguruma, UnicodeVersion(16, 0));
        for pattern in [
            "a",
            " +",
            "a?b",
            "[^a]{2,}",
            "(?:a|bc)+",
            r"\s+(?!\S)",
            r"\bb",
        ] {
            assert_eq!(of(pattern).unwrap(), ParsedPattern::NeverEmpty, "{pattern}");
        }
        for pattern in [
            "",
            "a*",
            "a?",
            "a|",
            "$",
            "(?=b)",
            "(?:a*){2}",
            "a{0,3}",
            r"\b",
            "(?<!a)",
        ] {
            assert_eq!(of(pattern).unwrap(), ParsedPattern::MayBeEmpty, "{pattern}");
        }
        assert_eq!(of("(?<=ab)c").unwrap(), ParsedPattern::Beyond);
        assert!(of("a)(b").is_err());
    }
}
