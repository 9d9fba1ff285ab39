//! BERT's normalization: clean text, spaces around ideographs, no accents, lower case.
//!
//! The four steps run as one pass over the characters, in that order, and say what each character
//! came from. Control characters, ideographs and accents are the ones of `tokenizers` 0.23.3, found
//! by asking it for every code point. Its tables are Unicode 8's (categories) and Unicode 9's
//! (decompositions); its list of ideographs lacks U+2B820..U+2B91F.

use regex_syntax::hir::ClassUnicode;
use serde::{Deserialize, Serialize};
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use super::case::lower;
use crate::error::{Error, Result};
use crate::text::alignment::Alignment;
use crate::text::rewrite::{Change, Sink, aligned, rewritten};
use crate::text::unicode::{UnicodeVersion, assigned_in, contains, parse_class};

/// The categories that `tokenizers` knows: Unicode 8.
const CATEGORIES: UnicodeVersion = UnicodeVersion(8, 0);
/// Accents that later versions of Unicode count as marks that take space.
const FORMER_ACCENTS: &[(char, char)] = &[
    ('\u{1734}', '\u{1734}'),   // since Unicode 14
    ('\u{1171E}', '\u{1171E}'), // since Unicode 15
];
/// Characters that later versions count as accents, and Unicode 8 as something else.
const LATER_ACCENTS: &[(char, char)] = &[
    ('\u{1885}', '\u{1886}'),   // letters until Unicode 9
    ('\u{A9BD}', '\u{A9BD}'),   // a mark that takes space until Unicode 11
    ('\u{111C9}', '\u{111C9}'), // punctuation until Unicode 11
];

/// Characters that cleaning removes: controls other than tab and line ends, formats, private use,
/// U+0000 and U+FFFD. Found by asking the reference for every code point.
const REMOVED: &[(char, char)] = &[
    ('\0', '\u{8}'),
    ('\u{B}', '\u{C}'),
    ('\u{E}', '\u{1F}'),
    ('\u{7F}', '\u{9F}'),
    ('\u{AD}', '\u{AD}'),
    ('\u{600}', '\u{605}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{6DD}', '\u{6DD}'),
    ('\u{70F}', '\u{70F}'),
    ('\u{180E}', '\u{180E}'),
    ('\u{200B}', '\u{200F}'),
    ('\u{202A}', '\u{202E}'),
    ('\u{2060}', '\u{2064}'),
    ('\u{2066}', '\u{206F}'),
    ('\u{E000}', '\u{F8FF}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFF9}', '\u{FFFB}'),
    ('\u{FFFD}', '\u{FFFD}'),
    ('\u{110BD}', '\u{110BD}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0001}', '\u{E0001}'),
    ('\u{E0020}', '\u{E007F}'),
    ('\u{F0000}', '\u{FFFFD}'),
    ('\u{100000}', '\u{10FFFD}'),
];

/// Characters that get a space on either side.
const IDEOGRAPHS: &[(char, char)] = &[
    ('\u{3400}', '\u{4DBF}'),
    ('\u{4E00}', '\u{9FFF}'),
    ('\u{F900}', '\u{FAFF}'),
    ('\u{20000}', '\u{2A6DF}'),
    ('\u{2A700}', '\u{2B81F}'),
    ('\u{2B920}', '\u{2CEAF}'),
    ('\u{2F800}', '\u{2FA1F}'),
];

/// How BERT's normalization is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BertConfig {
    /// Removes control characters and makes every white space a space.
    pub clean_text: bool,
    /// Puts spaces around ideographs.
    pub handle_chinese_chars: bool,
    /// Takes accents off (files may leave it to `lowercase`; here it is decided).
    pub strip_accents: bool,
    /// Maps to lower case.
    pub lowercase: bool,
}

/// BERT's normalization.
#[derive(Debug)]
pub struct BertNormalizer {
    config: BertConfig,
    accents: ClassUnicode,
    /// Characters that the decompositions know.
    known: ClassUnicode,
    /// ASCII bytes that never change.
    plain: [bool; 128],
}

impl BertNormalizer {
    /// Prepares the tables.
    pub fn new(config: BertConfig) -> Result<Self> {
        let accents = accents().map_err(|reason| Error::format("Unicode tables", reason))?;
        let mut plain = [false; 128];
        for (byte, plain) in (0u8..).zip(&mut plain) {
            let c = char::from(byte);
            *plain = !(config.clean_text && clean(c) != Change::Keep
                || config.lowercase && c.is_ascii_uppercase());
        }
        Ok(Self {
            config,
            accents,
            known: assigned_in(UnicodeVersion::HF_NORMALIZATION)
                .map_err(|reason| Error::format("Unicode tables", reason))?,
            plain,
        })
    }

    /// The settings.
    pub fn config(&self) -> BertConfig {
        self.config
    }

    /// The normalized text, or None if it already is.
    pub fn normalize(&self, text: &str) -> Option<String> {
        if self.plain_prefix(text) == text.len() {
            return None;
        }
        rewritten(text, |out| self.rewrite(text, out))
    }

    /// Where each stretch of the normalized text comes from.
    pub fn align(&self, text: &str) -> Alignment {
        aligned(|out| self.rewrite(text, out))
    }

    fn plain_prefix(&self, text: &str) -> usize {
        text.bytes()
            .position(|byte| !self.plain.get(byte as usize).is_some_and(|&plain| plain))
            .unwrap_or(text.len())
    }

    fn rewrite(&self, text: &str, sink: &mut impl Sink) {
        let mut pass = Pass {
            normalizer: self,
            sink,
            sources: Vec::new(),
            waiting: Vec::new(),
            target: String::new(),
        };
        let mut position = 0;
        while position < text.len() {
            let plain = self.plain_prefix(&text[position..]);
            if plain > 0 {
                pass.flush();
                pass.sink.keep(&text[position..position + plain]);
                position += plain;
                continue;
            }
            let c = text[position..].chars().next().unwrap_or_default();
            let end = position + c.len_utf8();
            pass.character(c, &text[position..end]);
            position = end;
        }
        pass.flush();
    }

    /// True if nothing before a character joins or changes places with it.
    pub(super) fn stands_apart(&self, c: char) -> bool {
        if !self.config.strip_accents {
            return true; // each character by itself
        }
        if self.config.clean_text && clean(c) == Change::Remove {
            return false; // marks change places across it
        }
        self.starts(c)
    }

    /// True if what a character becomes begins with a starter. (U+0F73 is one and becomes two
    /// marks.)
    fn starts(&self, c: char) -> bool {
        if c < '\u{300}' || !self.config.strip_accents || !self.knows(c) {
            return true;
        }
        let mut class = None;
        decompose_canonical(c, |part| {
            class.get_or_insert(canonical_combining_class(part));
        });
        class == Some(0)
    }

    fn strips(&self, c: char) -> bool {
        self.config.strip_accents && c >= '\u{300}' && contains(&self.accents, c)
    }

    /// True if the decompositions know a character; the others stand for themselves.
    fn knows(&self, c: char) -> bool {
        c < '\u{300}' || contains(&self.known, c)
    }
}

/// One pass over a text. Decomposed marks wait until they can be put in their canonical order.
///
/// A character may become several; the first of them *opens* its source, the others share it. In
/// the canonical order the marks of two characters may mix. Then, as in the reference, each opening
/// takes the next source in the order of the text. A character that does not open shares the source
/// of the one before it.
struct Pass<'n, 't, S> {
    normalizer: &'n BertNormalizer,
    sink: &'n mut S,
    /// Sources whose results wait, and true for each that is removed.
    sources: Vec<(&'t str, bool)>,
    /// Characters in waiting: combining class, character, true if it opens a source.
    waiting: Vec<(u8, char, bool)>,
    /// Characters that one source became.
    target: String,
}

impl<'t, S: Sink> Pass<'_, 't, S> {
    fn character(&mut self, c: char, source: &'t str) {
        let config = self.normalizer.config;
        let mut c = c;
        if config.clean_text {
            match clean(c) {
                Change::Remove => return self.sources.push((source, true)),
                Change::Char(target) => c = target,
                Change::Keep | Change::Text(_) => {}
            }
        }
        if config.handle_chinese_chars && c >= '\u{3400}' && is_in(IDEOGRAPHS, c) {
            self.flush();
            self.sources.push((source, false));
            self.waiting.push((0, ' ', true));
            self.decomposed(c, false);
            self.waiting.push((0, ' ', false));
            return;
        }
        if self.normalizer.starts(c) {
            self.flush(); // nothing that follows goes before a starter
        }
        self.sources.push((source, false));
        self.decomposed(c, true);
    }

    fn decomposed(&mut self, c: char, opens: bool) {
        if !self.normalizer.config.strip_accents || !self.normalizer.knows(c) {
            self.waiting.push((0, c, opens));
            return;
        }
        let mut opens = opens;
        let waiting = &mut self.waiting;
        decompose_canonical(c, |part| {
            waiting.push((canonical_combining_class(part), part, opens));
            opens = false;
        });
    }

    /// Hands over everything that waits.
    fn flush(&mut self) {
        // Marks between two starters, by class; equal ones stay in order.
        for run in self.waiting.chunk_by_mut(|a, b| a.0 != 0 && b.0 != 0) {
            run.sort_by_key(|(class, ..)| *class);
        }
        let mut sources = std::mem::take(&mut self.sources);
        let waiting = std::mem::take(&mut self.waiting);
        let mut open: Option<&str> = None;
        let mut next = sources.drain(..);
        for &(_, c, opens) in &waiting {
            if opens {
                self.close(open.take());
                for (source, removed) in next.by_ref() {
                    if !removed {
                        open = Some(source);
                        break;
                    }
                    self.sink.omit(source);
                }
            }
            if self.normalizer.strips(c) {
                continue;
            }
            let change = if self.normalizer.config.lowercase {
                lower(c)
            } else {
                Change::Keep
            };
            match change {
                Change::Char(target) => self.target.push(target),
                Change::Text(target) => self.target.push_str(target),
                Change::Keep | Change::Remove => self.target.push(c),
            }
        }
        self.close(open);
        for (source, _) in next.by_ref() {
            self.sink.omit(source);
        }
        drop(next);
        (self.sources, self.waiting) = (sources, waiting);
        self.waiting.clear();
    }

    fn close(&mut self, open: Option<&str>) {
        if let Some(source) = open {
            self.sink.replace(source, &self.target);
            self.target.clear();
        }
    }
}

/// Cleaning, of one character.
fn clean(c: char) -> Change {
    if is_in(REMOVED, c) {
        Change::Remove
    } else if c.is_whitespace() && c != ' ' {
        Change::Char(' ')
    } else {
        Change::Keep
    }
}

/// True if a character gets a space on either side.
pub(crate) fn is_ideograph(c: char) -> bool {
    is_in(IDEOGRAPHS, c)
}

fn is_in(ranges: &[(char, char)], c: char) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= c);
    after > 0 && c <= ranges[after - 1].1
}

/// Marks that take no space, as of the reference's tables.
fn accents() -> std::result::Result<ClassUnicode, String> {
    let class = |ranges: &[(char, char)]| {
        ClassUnicode::new(
            ranges
                .iter()
                .map(|&(first, last)| regex_syntax::hir::ClassUnicodeRange::new(first, last)),
        )
    };
    let mut accents = parse_class(r"\p{Mn}", false, CATEGORIES)?;
    accents.union(&class(FORMER_ACCENTS));
    accents.difference(&class(LATER_ACCENTS));
    Ok(accents)
}

#[cfg(test)]
mod tests;
