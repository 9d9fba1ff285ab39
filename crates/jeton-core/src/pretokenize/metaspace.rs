//! `Metaspace`: spaces become a visible character, which also begins pieces that have none.
//!
//! Where nothing splits before it, it is the same as a normalization (spaces replaced, a prefix
//! unless the text begins with the replacement) and a split before each replacement.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::rewrite::Sink;

/// Pieces that get a prefix (the names are `tokenizer.json`'s).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrependScheme {
    /// The one at the very beginning of the text.
    First,
    /// None.
    Never,
    /// Every one.
    Always,
}

/// How the step is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetaspaceConfig {
    /// Character that stands for a space; U+2581 in all published files.
    pub replacement: char,
    /// Pieces that get a prefix.
    pub prepend_scheme: PrependScheme,
    /// True if each replacement begins a piece of its own.
    pub split: bool,
}

impl MetaspaceConfig {
    /// True if the piece at the very beginning differs from the others.
    pub(super) fn treats_the_first_apart(self) -> bool {
        self.prepend_scheme == PrependScheme::First
    }

    /// True if a piece gets a prefix. `at_start`: the piece is at the very beginning of the text
    /// that was given: of the section, if nothing was split before; else where its first character
    /// came from.
    fn prepends(self, piece: &str, at_start: bool) -> bool {
        let wanted = match self.prepend_scheme {
            PrependScheme::Always => true,
            PrependScheme::Never => false,
            PrependScheme::First => at_start,
        };
        wanted && !piece.is_empty() && !piece.starts_with([self.replacement, ' '])
    }

    pub(super) fn rewrite_piece(
        self,
        piece: &str,
        at_start: bool,
        continues: bool,
        sink: &mut impl Sink,
    ) {
        let mut kept = 0;
        if !continues && self.prepends(piece, at_start) {
            // The prefix comes from the first character, as that itself does.
            kept = piece.chars().next().map_or(0, char::len_utf8);
            sink.replace(
                &piece[..kept],
                &format!("{}{}", self.replacement, &piece[..kept]),
            );
        }
        for space in memchr::memchr_iter(b' ', piece.as_bytes()) {
            sink.keep(&piece[kept..space]);
            sink.replace_char(&piece[space..=space], self.replacement);
            kept = space + 1;
        }
        sink.keep(&piece[kept..]);
    }

    /// Reads the fields of `tokenizer.json`; `add_prefix_space` is how old files say it.
    pub fn from_fields(
        replacement: &str,
        prepend_scheme: Option<&str>,
        add_prefix_space: Option<bool>,
        split: Option<bool>,
    ) -> Result<Self> {
        let bad = |reason: String| Error::format("tokenizer.json", reason);
        let mut characters = replacement.chars();
        let (Some(replacement), None) = (characters.next(), characters.next()) else {
            return Err(bad(format!(
                "Metaspace has the replacement {replacement:?}, which is not one character"
            )));
        };
        let prepend_scheme = match (prepend_scheme, add_prefix_space) {
            (Some("first" | "always"), Some(false)) => {
                return Err(bad(
                    "Metaspace has a prepend_scheme that add_prefix_space contradicts".to_owned(),
                ));
            }
            (Some("first"), _) => PrependScheme::First,
            (Some("always"), _) | (None, None | Some(true)) => PrependScheme::Always,
            // Without a scheme, the reference refuses `false` since it has schemes; before, it
            // meant this.
            (Some("never"), _) | (None, Some(false)) => PrependScheme::Never,
            (Some(other), _) => {
                return Err(bad(format!(
                    "Metaspace has the prepend_scheme {other:?}; it must be first, never or always"
                )));
            }
        };
        Ok(Self {
            replacement,
            prepend_scheme,
            split: split.unwrap_or(true),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::rewriting::Rewrite;
    use super::*;

    const fn metaspace(prepend_scheme: PrependScheme, split: bool) -> MetaspaceConfig {
        MetaspaceConfig {
            replacement: '▁',
            prepend_scheme,
            split,
        }
    }

    /// Pieces with where they come from, after a split into words.
    fn of_words(config: MetaspaceConfig, text: &str) -> Vec<(String, usize, usize)> {
        let mut words = Vec::new();
        for word in text.split_whitespace() {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            words.push((start, start + word.len(), start == 0));
        }
        of(config, text, &words)
    }

    fn of(
        config: MetaspaceConfig,
        text: &str,
        pieces: &[(usize, usize, bool)],
    ) -> Vec<(String, usize, usize)> {
        let rewrite = Rewrite::Metaspace(config);
        let rewritten = rewrite.apply(text, pieces, false);
        let alignment = rewrite.align(text, pieces, false);
        let mut lookup = alignment.lookup();
        let mut start = 0;
        let mut out = Vec::new();
        for end in rewritten.ends {
            let (from, to) = lookup.source_range(start, end);
            out.push((rewritten.text[start..end].to_owned(), from, to));
            start = end;
        }
        out
    }

    fn whole(config: MetaspaceConfig, text: &str) -> Vec<String> {
        let pieces = of(config, text, &[(0, text.len(), true)]);
        pieces.into_iter().map(|(piece, ..)| piece).collect()
    }

    #[test]
    fn pieces_are_those_of_the_reference() {
        use PrependScheme::{Always, First, Never};
        for scheme in [Always, First] {
            assert_eq!(whole(metaspace(scheme, true), " a  b"), ["▁a", "▁", "▁b"]);
            assert_eq!(whole(metaspace(scheme, true), "ab"), ["▁ab"]);
            assert_eq!(whole(metaspace(scheme, true), "▁a"), ["▁a"]);
            assert_eq!(whole(metaspace(scheme, true), "  "), ["▁", "▁"]);
            assert_eq!(whole(metaspace(scheme, false), " a  b"), ["▁a▁▁b"]);
        }
        assert_eq!(whole(metaspace(Never, true), "a "), ["a", "▁"]);
        assert!(whole(metaspace(Always, true), "").is_empty());
        let first = of_words(metaspace(First, true), "ab cd▁e");
        let expected = [("▁ab", 0, 2), ("cd", 3, 5), ("▁e", 5, 9)];
        assert_eq!(
            first,
            expected.map(|(piece, a, b)| (piece.to_owned(), a, b))
        );
        let always = of_words(metaspace(Always, true), " ab cd");
        let expected = [("▁ab", 1, 3), ("▁cd", 4, 6)];
        assert_eq!(
            always,
            expected.map(|(piece, a, b)| (piece.to_owned(), a, b))
        );
    }

    #[test]
    fn fields_are_read_as_the_reference_does() {
        let read = MetaspaceConfig::from_fields;
        assert_eq!(
            read("▁", None, Some(true), None).unwrap(),
            metaspace(PrependScheme::Always, true)
        );
        assert_eq!(
            read("▁", Some("first"), None, Some(false)).unwrap(),
            metaspace(PrependScheme::First, false)
        );
        assert_eq!(
            read("▁", None, Some(false), None).unwrap(),
            metaspace(PrependScheme::Never, true)
        );
        assert!(read("▁▁", None, None, None).is_err());
        assert!(read("▁", Some("last"), None, None).is_err());
    }
}
