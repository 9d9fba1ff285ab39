//! Steps of a pre-tokenizer that rewrite their pieces.
//!
//! Rewriting steps return a text of their own with the ends of its pieces. Further cuts work inside
//! them, and an alignment leads back.

use crate::codec::gpt2_alphabet;
use crate::text::alignment::Alignment;
use crate::text::rewrite::{Sink, aligned};

use super::metaspace::MetaspaceConfig;

/// Where a text that is to be cut stands in the text that was given: in a section of it,
/// normalized.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// True if the section begins where the given text begins.
    pub begins: bool,
    /// How normalization changed the section; None if it did not, or if nobody asks.
    pub alignment: Option<&'a Alignment>,
    /// Where the text begins in the normalized section.
    pub offset: usize,
    /// True if the text goes on with a piece of which the beginning is not there: it gets no
    /// prefix.
    pub continues: bool,
}

/// A text with the ranges of it that are pretokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The text.
    pub text: String,
    /// Byte ranges, left to right.
    pub ranges: Vec<(usize, usize)>,
    /// Where each stretch of the text comes from, if that was asked for.
    pub alignment: Option<Alignment>,
}

/// A rewriting step.
#[derive(Clone, Copy, Debug)]
pub enum Rewrite {
    /// See [`MetaspaceConfig`].
    Metaspace(MetaspaceConfig),
    /// A space in front of each piece that does not begin with one.
    PrefixSpace,
    /// Each byte as a character of GPT-2's alphabet.
    ByteLevel,
}

/// Result of a rewriting step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The new text.
    pub text: String,
    /// Where its pieces end; the first begins at 0.
    pub ends: Vec<usize>,
}

impl Rewrite {
    /// True if it treats the piece at the very beginning of the given text in its own way.
    pub fn needs_origin(self) -> bool {
        match self {
            Self::Metaspace(metaspace) => metaspace.treats_the_first_apart(),
            Self::PrefixSpace | Self::ByteLevel => false,
        }
    }

    fn rewrite_piece(self, piece: &str, at_start: bool, continues: bool, sink: &mut impl Sink) {
        match self {
            Self::Metaspace(metaspace) => {
                metaspace.rewrite_piece(piece, at_start, continues, sink);
            }
            Self::PrefixSpace => match piece.chars().next() {
                None | Some(' ') => sink.keep(piece),
                Some(_) if continues => sink.keep(piece),
                // The prefix comes from the first character, as that itself does.
                Some(first) => {
                    sink.replace(&piece[..first.len_utf8()], &format!(" {first}"));
                    sink.keep(&piece[first.len_utf8()..]);
                }
            },
            Self::ByteLevel => {
                let mut kept = 0;
                for (at, c) in piece.char_indices() {
                    if c.is_ascii_graphic() {
                        continue; // stands for itself
                    }
                    sink.keep(&piece[kept..at]);
                    kept = at + c.len_utf8();
                    let spelled: String = piece[at..kept]
                        .bytes()
                        .map(gpt2_alphabet::byte_to_char)
                        .collect();
                    sink.replace(&piece[at..kept], &spelled);
                }
                sink.keep(&piece[kept..]);
            }
        }
    }

    /// Rewrites pieces: byte ranges of a text, each with whether it is at the very beginning of the
    /// given text. `continues`: the one at the beginning of the text goes on with a piece that is
    /// not there.
    pub fn apply(self, text: &str, pieces: &[(usize, usize, bool)], continues: bool) -> Rewritten {
        let mut out = Rewritten {
            text: String::with_capacity(text.len() + text.len() / 4),
            ends: Vec::with_capacity(pieces.len()),
        };
        for &(start, end, at_start) in pieces {
            let begin = out.text.len();
            let continues = continues && start == 0;
            self.rewrite_piece(&text[start..end], at_start, continues, &mut out.text);
            if let Self::Metaspace(MetaspaceConfig {
                split: true,
                replacement,
                ..
            }) = self
            {
                let cuts = out.text[begin..]
                    .match_indices(replacement)
                    .map(|(at, _)| begin + at);
                out.ends.extend(cuts.filter(|&at| at > begin));
            }
            if out.text.len() > begin {
                out.ends.push(out.text.len());
            }
        }
        out
    }

    /// Where each stretch of the rewritten text comes from; the pieces are those given to `apply`.
    pub fn align(self, text: &str, pieces: &[(usize, usize, bool)], continues: bool) -> Alignment {
        aligned(|out| {
            let mut position = 0;
            for &(start, end, at_start) in pieces {
                if start > position {
                    out.omit(&text[position..start]);
                }
                self.rewrite_piece(&text[start..end], at_start, continues && start == 0, out);
                position = end;
            }
            if position < text.len() {
                out.omit(&text[position..]);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces with where they come from.
    fn rewritten(
        rewrite: Rewrite,
        text: &str,
        pieces: &[(usize, usize, bool)],
    ) -> Vec<(String, usize, usize)> {
        let made = rewrite.apply(text, pieces, false);
        let alignment = rewrite.align(text, pieces, false);
        let mut lookup = alignment.lookup();
        let mut start = 0;
        let mut out = Vec::new();
        for end in made.ends {
            let (from, to) = lookup.source_range(start, end);
            out.push((made.text[start..end].to_owned(), from, to));
            start = end;
        }
        out
    }

    #[test]
    fn a_prefix_space_comes_from_the_first_character() {
        let pieces = [(0, 3, true), (4, 6, false), (6, 7, false)];
        let found = rewritten(Rewrite::PrefixSpace, "\u{e9}a x yz", &pieces);
        let expected = [(" \u{e9}a", 0, 3), (" x ", 4, 6), (" y", 6, 7)];
        assert_eq!(
            found,
            expected.map(|(piece, from, to)| (piece.to_owned(), from, to))
        );
    }

    #[test]
    fn bytes_in_the_alphabet_come_from_their_character() {
        let pieces = [(0, 2, true), (2, 6, false)];
        let found = rewritten(Rewrite::ByteLevel, "a \u{20ac}b", &pieces);
        let expected = [("a\u{120}", 0, 2), ("\u{e2}\u{124}\u{ac}b", 2, 6)];
        assert_eq!(
            found,
            expected.map(|(piece, from, to)| (piece.to_owned(), from, to))
        );
    }
}
