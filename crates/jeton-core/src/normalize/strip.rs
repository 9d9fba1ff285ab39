//! Small steps: white space at the ends, marks, NMT's cleaning, a prefix, bytes as characters.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::codec::gpt2_alphabet;
use crate::error::{Error, Result};
use crate::text::alignment::Alignment;
use crate::text::rewrite::{Change, Sink, aligned, each_char, rewritten};
use crate::text::unicode::{UnicodeVersion, contains, parse_class};

/// White space taken off the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strip {
    pub(crate) left: bool,
    pub(crate) right: bool,
}

impl Strip {
    fn kept(self, text: &str) -> &str {
        let text = if self.left { text.trim_start() } else { text };
        if self.right { text.trim_end() } else { text }
    }

    pub(crate) fn normalize(self, text: &str) -> Option<String> {
        let kept = self.kept(text);
        (kept.len() < text.len()).then(|| kept.to_owned())
    }

    pub(crate) fn align(self, text: &str) -> Alignment {
        let kept = self.kept(text);
        // A text of white space alone goes at the left (or at the right) as a whole.
        let start = if self.left {
            text.len() - text.trim_start().len()
        } else {
            0
        };
        aligned(|out| {
            if start > 0 {
                out.omit(&text[..start]);
            }
            out.keep(kept);
            if start + kept.len() < text.len() {
                out.omit(&text[start + kept.len()..]);
            }
        })
    }
}

/// All marks removed (`StripAccents`), as Unicode 9 has them; compatibility and canonical
/// compositions stay unless a form was applied before.
#[derive(Debug)]
pub(crate) struct StripMarks {
    marks: ClassUnicode,
}

impl StripMarks {
    pub(crate) fn new() -> Result<Self> {
        let mut marks = parse_class(r"\p{M}", false, UnicodeVersion::HF_NORMALIZATION)
            .map_err(|reason| Error::format("Unicode tables", reason))?;
        // Punctuation until Unicode 11.
        let later = ClassUnicode::new([ClassUnicodeRange::new('\u{111C9}', '\u{111C9}')]);
        marks.difference(&later);
        // Letters since Unicode 12.
        let former = ClassUnicode::new([ClassUnicodeRange::new('\u{1CF2}', '\u{1CF3}')]);
        marks.union(&former);
        Ok(Self { marks })
    }

    fn rewrite(&self, text: &str, sink: &mut impl Sink) {
        each_char(text, sink, |c| {
            if c >= '\u{300}' && contains(&self.marks, c) {
                Change::Remove
            } else {
                Change::Keep
            }
        });
    }

    pub(crate) fn normalize(&self, text: &str) -> Option<String> {
        if text.is_ascii() {
            return None;
        }
        rewritten(text, |out| self.rewrite(text, out))
    }

    pub(crate) fn align(&self, text: &str) -> Alignment {
        aligned(|out| self.rewrite(text, out))
    }
}

/// `Nmt`: what `SentencePiece`'s "nmt" rules do to single characters, as `tokenizers` lists them.
pub(crate) mod nmt {
    use super::{Alignment, Change, aligned, each_char, rewritten};

    fn change(c: char) -> Change {
        match c {
            '\u{1}'..='\u{8}' | '\u{B}' | '\u{E}'..='\u{1F}' | '\u{7F}' | '\u{8F}' | '\u{9F}' => {
                Change::Remove
            }
            '\t'
            | '\n'
            | '\u{C}'
            | '\r'
            | '\u{1680}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2581}'
            | '\u{FEFF}'
            | '\u{FFFD}' => Change::Char(' '),
            _ => Change::Keep,
        }
    }

    pub(crate) fn normalize(text: &str) -> Option<String> {
        rewritten(text, |out| each_char(text, out, change))
    }

    pub(crate) fn align(text: &str) -> Alignment {
        aligned(|out| each_char(text, out, change))
    }
}

/// `Prepend`: a prefix in front of any text but the empty one.
///
/// The prefix comes from the text's first character, as does that character itself.
pub(crate) mod prepend {
    use super::{Alignment, Sink, aligned};

    pub(crate) fn normalize(text: &str, prefix: &str) -> Option<String> {
        (!text.is_empty() && !prefix.is_empty()).then(|| format!("{prefix}{text}"))
    }

    pub(crate) fn align(text: &str, prefix: &str) -> Alignment {
        let Some(first) = text.chars().next() else {
            return Alignment::identity(0);
        };
        let (first, rest) = text.split_at(first.len_utf8());
        aligned(|out| {
            out.replace(first, &format!("{prefix}{first}"));
            out.keep(rest);
        })
    }
}

/// `ByteLevel` as a normalizer: each byte becomes a character of GPT-2's alphabet.
pub(crate) mod byte_level {
    use super::{Alignment, Sink, aligned, gpt2_alphabet, rewritten};

    fn rewrite(text: &str, sink: &mut impl Sink) {
        let mut target = String::new();
        for (at, c) in text.char_indices() {
            let source = &text[at..at + c.len_utf8()];
            target.clear();
            target.extend(source.bytes().map(gpt2_alphabet::byte_to_char));
            sink.replace(source, &target);
        }
    }

    pub(crate) fn normalize(text: &str) -> Option<String> {
        rewritten(text, |out| rewrite(text, out))
    }

    pub(crate) fn align(text: &str) -> Alignment {
        aligned(|out| rewrite(text, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_the_reference() {
        let both = Strip {
            left: true,
            right: true,
        };
        let left = Strip {
            left: true,
            right: false,
        };
        assert_eq!(both.normalize("  a b\u{3000}").as_deref(), Some("a b"));
        assert_eq!(both.normalize(" \n").as_deref(), Some(""));
        assert_eq!(left.normalize(" a ").as_deref(), Some("a "));
        assert_eq!(left.normalize("a "), None);
        // Marks alone go: a composed letter keeps its own.
        let marks = StripMarks::new().unwrap();
        assert_eq!(marks.normalize("e\u{301}é\u{903}").as_deref(), Some("eé"));
        assert_eq!(marks.normalize("é\u{111C9}\u{1AC0}"), None);
        assert_eq!(
            nmt::normalize("\u{1}a\u{200b}b▁\0").as_deref(),
            Some("a b \0")
        );
        assert_eq!(prepend::normalize("▁a", "▁").as_deref(), Some("▁▁a"));
        assert_eq!(prepend::normalize("", "▁"), None);
        assert_eq!(byte_level::normalize("aé b").as_deref(), Some("aÃ©Ġb"));
        assert_eq!(byte_level::normalize("ab"), None);
    }

    #[test]
    fn places_are_those_of_the_reference() {
        let strip = Strip {
            left: true,
            right: true,
        };
        let ranges = |alignment: &Alignment, target: &str| -> Vec<(usize, usize)> {
            let mut lookup = alignment.lookup();
            target
                .char_indices()
                .map(|(at, c)| lookup.source_range(at, at + c.len_utf8()))
                .collect()
        };
        assert_eq!(
            ranges(&strip.align("  a b "), "a b"),
            [(2, 3), (3, 4), (4, 5)]
        );
        assert_eq!(
            ranges(&prepend::align("ab", "▁▁"), "▁▁ab"),
            [(0, 1), (0, 1), (0, 1), (1, 2)]
        );
        assert_eq!(
            ranges(&byte_level::align("aé"), "aÃ©"),
            [(0, 1), (1, 3), (1, 3)]
        );
        assert_eq!(
            ranges(&nmt::align("\u{1}a\u{200b}b"), "a b"),
            [(1, 2), (2, 5), (5, 6)]
        );
    }
}
