//! Cleaning of a text by OpenAI's code before CLIP's tokenizer sees it.
//!
//! Four steps: `ftfy.fix_text`, HTML's references replaced twice, runs of white space made one
//! space and none at the ends, lower case. The last three are exact (Python 3.11's tables: Unicode
//! 14, a sigma at the end of a word becomes `ς`).
//!
//! The rules of `ftfy` 6.3.1 for single characters are applied: references, terminal colours,
//! ligatures, widths, quotes, control characters, NFC. The repair of text that was decoded with the
//! wrong encoding is not. Its guesses depend on tables of likely text, which are `ftfy` itself.

use std::borrow::Cow;

use regex_syntax::hir::ClassUnicode;

mod entities;

use self::entities::Entities;
use super::{Form, Normalizer, NormalizerConfig};
use crate::error::{Error, Result};
use crate::text::alignment::Alignment;
use crate::text::rewrite::{Sink, aligned};
use crate::text::unicode::{UnicodeVersion, assigned_in, contains};

/// Python 3.11's Unicode tables.
const PYTHON: UnicodeVersion = UnicodeVersion(14, 0);
/// Rounds of the character rules, which `ftfy` applies until nothing changes; two have been enough
/// for any text seen.
const MAX_ROUNDS: usize = 8;

/// The cleaning of CLIP's texts.
#[derive(Debug)]
pub struct Cleaner {
    entities: Entities,
    compose: Normalizer,
    widths: Normalizer,
    known: ClassUnicode,
}

impl Cleaner {
    /// Prepares the tables.
    pub fn new() -> Result<Self> {
        let form = |form| {
            Normalizer::new(&[NormalizerConfig::Form {
                form,
                unicode: PYTHON,
            }])
        };
        Ok(Self {
            entities: Entities::new(),
            compose: form(Form::Nfc)?,
            widths: form(Form::Nfkc)?,
            known: assigned_in(PYTHON).map_err(|reason| Error::format("Unicode tables", reason))?,
        })
    }

    /// Maps the words of the cleaned text to the words of the text, if there are equally many.
    /// Otherwise all of the cleaned text comes from all of the text. (References and repairs may
    /// make words or join them.)
    pub(crate) fn align(&self, text: &str) -> Result<Alignment> {
        let cleaned = self.clean(text)?;
        if text.split_whitespace().count() != cleaned.split_whitespace().count() {
            return Ok(aligned(|out| out.replace(text, &cleaned)));
        }
        Ok(aligned(|out| {
            let mut position = 0;
            for (number, (word, clean)) in text
                .split_whitespace()
                .zip(cleaned.split_whitespace())
                .enumerate()
            {
                let start = word.as_ptr() as usize - text.as_ptr() as usize;
                let gap = if number == 0 { "" } else { " " };
                if position < start || !gap.is_empty() {
                    out.replace(&text[position..start], gap);
                }
                let same = word.len() == clean.len() && word.eq_ignore_ascii_case(clean);
                if same {
                    // Letters changed their case at most: byte for byte.
                    for (at, c) in word.char_indices() {
                        let end = at + c.len_utf8();
                        out.replace(&word[at..end], &clean[at..end]);
                    }
                } else {
                    out.replace(word, clean);
                }
                position = start + word.len();
            }
            if position < text.len() {
                out.omit(&text[position..]);
            }
        }))
    }

    /// The text as the tokenizer sees it.
    pub fn clean(&self, text: &str) -> Result<String> {
        let mut fixed = String::with_capacity(text.len());
        let mut references = true;
        for line in text.split_inclusive('\n') {
            // From the first line that may hold tags on, references are taken for HTML's own.
            references &= !line.contains('<');
            self.fix_line(line, references, &mut fixed)?;
        }
        let once = self.entities.unescape(&fixed);
        let twice = self.entities.unescape(&once);
        let mut spaced = String::with_capacity(twice.len());
        for word in twice.split_whitespace() {
            if !spaced.is_empty() {
                spaced.push(' ');
            }
            spaced.push_str(word);
        }
        Ok(self.lower(&spaced))
    }

    fn fix_line(&self, line: &str, references: bool, out: &mut String) -> Result<()> {
        let mut line = Cow::Borrowed(line);
        for _ in 0..MAX_ROUNDS {
            let before = line.clone();
            let text = if references {
                self.entities.unescape_strictly(&before)
            } else {
                Cow::Borrowed(&*before)
            };
            let text = without_colours(&text);
            let text = self.map_characters(&text)?;
            let text = self.compose.normalize(&text)?.into_owned();
            let done = text == *before;
            line = Cow::Owned(text);
            if done {
                break;
            }
        }
        out.push_str(&line);
        Ok(())
    }

    fn map_characters(&self, text: &str) -> Result<String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let (this, after) = rest.split_at(c.len_utf8());
            rest = after;
            match c {
                _ if is_control(c) => {}
                '\u{02BC}' | '\u{2018}'..='\u{201B}' => out.push('\''),
                '\u{201C}'..='\u{201F}' => out.push('"'),
                '\u{3000}' => out.push(' '),
                '\r' => {
                    rest = rest.strip_prefix('\n').unwrap_or(rest);
                    out.push('\n');
                }
                '\u{0085}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
                '\u{FF01}'..='\u{FFEF}' => out.push_str(&self.widths.normalize(this)?),
                _ => match ligature(c) {
                    Some(letters) => out.push_str(letters),
                    None => out.push(c),
                },
            }
        }
        Ok(out)
    }

    /// Lower case with the tables of Python 3.11: characters that came later stay as they are.
    fn lower(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut start = 0;
        for (at, c) in text.char_indices() {
            if !c.is_ascii() && !contains(&self.known, c) {
                out.push_str(&text[start..at].to_lowercase());
                out.push(c);
                start = at + c.len_utf8();
            }
        }
        out.push_str(&text[start..].to_lowercase());
        out
    }
}

/// Control characters that `ftfy` takes for an accident (`ftfy.chardata.CONTROL_CHARS`).
fn is_control(c: char) -> bool {
    matches!(
        c,
        '\0'..='\x08' | '\x0B' | '\x0E'..='\x1F' | '\x7F' | '\u{206A}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFC}'
    )
}

/// Letters of one character that were meant as several (`ftfy.chardata.LIGATURES`). The apostrophe
/// of `ŉ` is made straight at once.
fn ligature(c: char) -> Option<&'static str> {
    Some(match c {
        'Ĳ' => "IJ",
        'ĳ' => "ij",
        'ŉ' => "'n",
        'Ǳ' => "DZ",
        'ǲ' => "Dz",
        'ǳ' => "dz",
        'Ǆ' => "DŽ",
        'ǅ' => "Dž",
        'ǆ' => "dž",
        'Ǉ' => "LJ",
        'ǈ' => "Lj",
        'ǉ' => "lj",
        'Ǌ' => "NJ",
        'ǋ' => "Nj",
        'ǌ' => "nj",
        'ﬀ' => "ff",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        'ﬃ' => "ffi",
        'ﬄ' => "ffl",
        'ﬅ' => "ſt",
        'ﬆ' => "st",
        _ => return None,
    })
}

/// The text without the sequences that colour a terminal: ESC, a bracket, numbers, a letter.
fn without_colours(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices("\u{1b}[") {
        let after = &text[at + 2..];
        let numbers = after
            .find(|c: char| !(c.is_ascii_digit() || c == ';'))
            .unwrap_or(after.len());
        if after[numbers..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            out.push_str(&text[copied..at]);
            copied = at + 2 + numbers + 1;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_cleaned_as_the_reference_does() {
        // Expected: whitespace_clean(basic_clean(text)).lower() of OpenAI's code with ftfy 6.3.1.
        let cleaner = Cleaner::new().unwrap();
        for (text, expected) in [
            ("  A  B\n\tc\u{a0}", "a b c"),
            ("ΟΔΟΣ Σ ΣΑΣ.", "οδος σ σας."),
            ("İ", "i\u{307}"),
            ("&amp;lt;b&amp;gt; &eacute", "<b> é"),
            ("&amp;amp;amp;lt;", "<"),
            ("“It’s”", "\"it's\""),
            ("&rsquo;", "'"),
            ("<b>&rsquo;\n&rsquo;", "<b>’ ’"),
            ("ＡＢＣ\u{3000}ｶﾞ", "abc ガ"),
            ("ﬁne Ǆ ŉ", "fine dž 'n"),
            ("a\u{0}b\u{feff}c\u{7f}", "abc"),
            ("\u{1b}[31mred\u{1b}[0m \u{1b}[x \u{1b}[1;?", "red [1;?"),
            ("e\u{301}", "é"),
            ("a\u{2028}b\r\nc\rd", "a b c d"),
            ("", ""),
        ] {
            assert_eq!(cleaner.clean(text).unwrap(), expected, "{text:?}");
        }
        // Unicode 16's capitals have no lower case in Python 3.11.
        assert_eq!(cleaner.clean("\u{10D50}A").unwrap(), "\u{10D50}a");
    }

    proptest! {
        #[test]
        fn any_text_is_cleaned(choices in prop::collection::vec(0usize..1000, 0..12), text in ".{0,40}") {
            let cleaner = Cleaner::new().unwrap();
            for text in [jeton_testing::hostile_text(&choices), text] {
                let clean = cleaner.clean(&text).unwrap();
                prop_assert_eq!(clean.trim(), clean.as_str());
                prop_assert!(!clean.contains("  "));
            }
        }
    }
}
