//! Ends of sentences, by language.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memchr3;
use memchr::memmem::find_iter;

use crate::abbreviations::{has_ordinals, of_language};
use crate::boundary::{Boundary, Kind};
use crate::characters::{closes, has_no_stops, opens};
use crate::cohesion::{announces, leans};
use crate::lines::Lines;

/// Continuation behind an abbreviation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Abbreviation {
    /// The sentence goes on.
    Inner,
    /// The sentence goes on if a digit follows.
    BeforeDigit,
    /// The sentence goes on unless a capital follows.
    Last,
}

/// Rules of a language, and whether the text writes capitals at all.
pub struct Language {
    abbreviations: HashMap<&'static str, Abbreviation>,
    ordinals: bool,
    greek: bool,
    english: bool,
    cased: bool,
}

/// Words that begin English and German sentences so often that an initial or a number before them
/// ends one.
const STARTERS: [&str; 30] = [
    "The", "This", "That", "These", "It", "He", "She", "They", "We", "In", "But", "However", "If",
    "When", "There", "A", "Der", "Die", "Das", "Es", "Er", "Sie", "Wir", "Ich", "Danach", "Dann",
    "Im", "Am", "Und", "Aber",
];

/// Bytes of text that tell whether it writes capitals.
const SAMPLE_BYTES: usize = 1 << 16;

impl Language {
    /// Returns the rules for a language (ISO 639-1), applied to a text.
    #[must_use]
    pub fn new(code: &str, text: &str) -> Self {
        let abbreviations = of_language(code)
            .iter()
            .map(|entry| match entry.as_bytes().last() {
                Some(b'*') => (&entry[..entry.len() - 1], Abbreviation::BeforeDigit),
                Some(b'+') => (&entry[..entry.len() - 1], Abbreviation::Last),
                _ => (*entry, Abbreviation::Inner),
            })
            .collect();
        Self {
            abbreviations,
            ordinals: has_ordinals(code),
            greek: code == "el",
            english: matches!(code, "en" | ""),
            cased: writes_capitals(text),
        }
    }

    /// Returns the end of the sentence that a stop at `stop..after` ends, white space included.
    fn sentence_end(&self, text: &str, stop: usize, after: usize, end: usize) -> Option<usize> {
        let mark = text[stop..].chars().next()?;
        let mut at = after;
        // Further stops and what closes a quotation belong to the sentence.
        let mut many = false;
        let mut closed = false;
        while let Some(c) = text[at..end].chars().next() {
            let after = at + c.len_utf8();
            if is_stop(c, self.greek) {
                many = true;
            } else if closes(c) && !(opens(c) && opens_next(mark, c, &text[after..end])) {
                closed = true;
            } else {
                break;
            }
            at = after;
        }
        at += spaced_guillemet(&text[at..end]);
        let wide = !mark.is_ascii() && !matches!(mark, '\u{2026}' | '\u{203C}'..='\u{2049}');
        let rest = &text[at..end];
        let spaces = rest.len() - rest.trim_start().len();
        if rest.len() == spaces {
            return Some(end);
        }
        if spaces == 0 {
            return wide.then_some(at);
        }
        let next = &rest[spaces..];
        if wide || self.ends_before(text, stop, mark, many, closed, next) {
            return Some(at + spaces);
        }
        None
    }

    /// True if a sentence ends at an ASCII stop or an ellipsis before `next`.
    fn ends_before(
        &self,
        text: &str,
        stop: usize,
        mark: char,
        many: bool,
        closed: bool,
        next: &str,
    ) -> bool {
        let first = next.chars().find(|&c| !opens(c)).unwrap_or(' ');
        if self.cased && first.is_lowercase() {
            return false;
        }
        if mark != '.' || many || closed {
            return true;
        }
        let before = &text[..stop];
        let word = last_word(before);
        if word.is_empty() {
            // ") . Next", or a lone full stop.
            return true;
        }
        let start = stop - word.len();
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            let line_start = before[..start].trim_end_matches([' ', '\t']);
            let opens_line = line_start.is_empty() || line_start.ends_with(['\n', '\r']);
            let ordinal = self.ordinals && word.len() <= 2 && !starts_sentence(next);
            return !(opens_line || ordinal);
        }
        let mut room = [0; LOWER_BYTES];
        let lower = lowered(word, &mut room);
        if let Some(kind) = self.abbreviations.get(lower.as_ref()) {
            return match kind {
                Abbreviation::Inner => false,
                Abbreviation::BeforeDigit => !first.is_numeric() && !is_roman(next),
                // "the U.S. Army", "at 5 p.m. He left".
                Abbreviation::Last if self.english && lower.contains('.') => starts_sentence(next),
                Abbreviation::Last => self.cased && first.is_uppercase(),
            };
        }
        // Initials: "J. Smith", "U.S. Army".
        let letter = word.rsplit('.').next().unwrap_or(word);
        let mut letters = letter.chars();
        let single = letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none();
        if single {
            let dotted = word.contains('.');
            if self.english && (starts_sentence(next) || (!dotted && word == "I")) {
                return true;
            }
            return !letter.chars().all(|c| c.is_uppercase() || dotted) && self.cased;
        }
        true
    }
}

/// Adds the boundaries of sentences within `range` of a text: the paragraph that `range` is.
pub(crate) fn sentences_in(
    text: &str,
    range: std::ops::Range<usize>,
    language: &Language,
    mut add: impl FnMut(usize),
) {
    let bytes = text.as_bytes();
    let plain = bytes[range.clone()].is_ascii() && !language.greek;
    let mut at = range.start;
    while at < range.end {
        let rest = &bytes[at..range.end];
        let step = if plain {
            memchr3(b'.', b'!', b'?', rest)
        } else {
            rest.iter().position(|&byte| MAY_STOP[usize::from(byte)])
        };
        let Some(step) = step else {
            return;
        };
        at += step;
        if !text.is_char_boundary(at) {
            at += 1;
            continue;
        }
        let Some(c) = text[at..].chars().next() else {
            return;
        };
        let after = at + c.len_utf8();
        if is_stop(c, language.greek) {
            if let Some(end) = language.sentence_end(text, at, after, range.end) {
                if end < range.end {
                    add(end);
                }
                at = end;
                continue;
            }
        } else if has_no_stops(c) {
            at = phrase_end(text, at, range.end, &mut add);
            continue;
        }
        at = after;
    }
}

/// Walks over letters of a script without stops; a space among them ends a phrase.
fn phrase_end(text: &str, at: usize, end: usize, add: &mut impl FnMut(usize)) -> usize {
    let letters: usize = text[at..end]
        .chars()
        .take_while(|&c| has_no_stops(c))
        .map(char::len_utf8)
        .sum();
    let after = at + letters;
    let rest = &text[after..end];
    let spaces = rest.len() - rest.trim_start().len();
    if spaces > 0 && rest[spaces..].starts_with(has_no_stops) {
        add(after + spaces);
    }
    after + spaces
}

/// Returns the places at which sentences, paragraphs and lines begin in plain text.
#[must_use]
pub fn scan_sentences(text: &str, language: &Language) -> Vec<Boundary> {
    let mut found = Vec::new();
    let mut paragraph = 0;
    let mut empty = false;
    let mut inner = Vec::new();
    for line in Lines::new(text) {
        let is_empty = text[line.clone()].trim().is_empty();
        if empty && !is_empty && line.start > 0 {
            paragraph_sentences(
                text,
                paragraph..line.start,
                language,
                &mut inner,
                &mut found,
            );
            let kind = if announces(text, line.start) {
                Kind::Announced
            } else {
                Kind::Paragraph
            };
            let at = line.start;
            found.push(Boundary { at, kind });
            paragraph = at;
        } else if line.start > paragraph && !is_empty {
            inner.push(line.start);
        }
        empty = is_empty;
    }
    paragraph_sentences(
        text,
        paragraph..text.len(),
        language,
        &mut inner,
        &mut found,
    );
    add_escaped_paragraphs(text, &mut found);
    found
}

/// Adds the paragraphs of text within strings of a program or of JSON: `\n\n`, spelled out.
pub(crate) fn add_escaped_paragraphs(text: &str, found: &mut Vec<Boundary>) {
    let before = found.len();
    for at in find_iter(text.as_bytes(), br"\n\n") {
        let at = at + 4;
        if at < text.len() && !text[at..].starts_with(r"\n") {
            found.push(Boundary {
                at,
                kind: Kind::Paragraph,
            });
        }
    }
    if found.len() > before {
        // Of two at a place the one that was added stays.
        found.reverse();
        found.sort_by_key(|boundary| boundary.at);
        found.dedup_by_key(|boundary| boundary.at);
    }
}

/// Adds the sentences and lines of a paragraph in order; `lines` are the places of its lines, and
/// is emptied.
pub(crate) fn paragraph_sentences(
    text: &str,
    range: std::ops::Range<usize>,
    language: &Language,
    lines: &mut Vec<usize>,
    found: &mut Vec<Boundary>,
) {
    let mut next_line = 0;
    sentences_in(text, range, language, |at| {
        while let Some(&line) = lines.get(next_line).filter(|&&line| line < at) {
            found.push(Boundary {
                at: line,
                kind: Kind::Line,
            });
            next_line += 1;
        }
        let opens_line = lines.get(next_line) == Some(&at);
        next_line += usize::from(opens_line);
        let leans = language.english && leans(&text[at..]);
        let kind = match (opens_line, leans) {
            (true, true) => Kind::LeaningLine,
            (true, false) => Kind::SentenceLine,
            (false, true) => Kind::LeaningSentence,
            (false, false) if text[..at].trim_end().ends_with(has_no_stops) => Kind::Phrase,
            (false, false) => Kind::Sentence,
        };
        found.push(Boundary { at, kind });
    });
    for &line in &lines[next_line..] {
        found.push(Boundary {
            at: line,
            kind: Kind::Line,
        });
    }
    lines.clear();
}

/// Bytes with which a stop, or a letter of a script without stops, can begin.
static MAY_STOP: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = [
        b'.', b'!', b'?', b';', 0xCD, 0xD6, 0xD8, 0xDB, 0xE0, 0xE1, 0xE2, 0xE3, 0xEF,
    ];
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// True for characters that end sentences.
fn is_stop(c: char, greek: bool) -> bool {
    match c {
        '.' | '!' | '?' => true,
        ';' => greek,
        _ => matches!(
            u32::from(c),
            0x037E | 0x0589 | 0x061F | 0x06D4 | 0x0700..=0x0702 | 0x0964 | 0x0965 | 0x104A | 0x104B
            | 0x1362 | 0x1367 | 0x166E | 0x17D4 | 0x17D5 | 0x1803 | 0x1809 | 0x2026 | 0x203C
            | 0x203D | 0x2047..=0x2049 | 0x3002 | 0xFF01 | 0xFF0E | 0xFF1F | 0xFF61
        ),
    }
}

/// True if a quotation mark that may open or close stands before a letter, where a space is due.
fn opens_next(mark: char, quote: char, rest: &str) -> bool {
    let closes_wide =
        !mark.is_ascii() && matches!(quote, '\u{201D}' | '\u{2019}' | '"' | '*' | '_');
    rest.starts_with(char::is_alphanumeric) && !closes_wide
}

/// Returns the bytes of a French closing mark and the space before it.
fn spaced_guillemet(rest: &str) -> usize {
    let mark = rest.trim_start_matches([' ', '\u{A0}', '\u{202F}']);
    let Some(after) = mark.strip_prefix('\u{BB}') else {
        return 0;
    };
    if mark.len() < rest.len() && (after.is_empty() || after.starts_with(char::is_whitespace)) {
        rest.len() - after.len()
    } else {
        0
    }
}

/// Longest word of ASCII that is made small without an allocation.
const LOWER_BYTES: usize = 32;

/// Returns a word in small letters.
fn lowered<'r>(word: &str, room: &'r mut [u8; LOWER_BYTES]) -> Cow<'r, str> {
    if word.is_ascii()
        && let Some(room) = room.get_mut(..word.len())
    {
        room.copy_from_slice(word.as_bytes());
        room.make_ascii_lowercase();
        if let Ok(lower) = std::str::from_utf8(room) {
            return Cow::Borrowed(lower);
        }
    }
    Cow::Owned(word.to_lowercase())
}

/// Returns the run of letters, digits and inner full stops at the end of a text.
fn last_word(before: &str) -> &str {
    let mut start = before.len();
    for (at, c) in before.char_indices().rev() {
        if !(c.is_alphanumeric() || c == '.' || c == '-') || before.len() - at > 48 {
            break;
        }
        start = at;
    }
    before[start..].trim_start_matches(['.', '-'])
}

fn is_roman(next: &str) -> bool {
    let word: &str = next
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or("");
    !word.is_empty() && word.chars().all(|c| "IVXLC".contains(c)) && word != "I"
}

fn starts_sentence(next: &str) -> bool {
    let word = next.trim_start_matches(opens);
    let word = word
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or("");
    STARTERS.contains(&word)
}

/// True if a text has capitals as prose has: at least one in two hundred letters.
fn writes_capitals(text: &str) -> bool {
    let sample = &text.as_bytes()[..text.len().min(SAMPLE_BYTES)];
    let capitals = sample
        .iter()
        .filter(|byte| byte.is_ascii_uppercase())
        .count();
    let small = sample
        .iter()
        .filter(|byte| byte.is_ascii_lowercase())
        .count();
    // Texts of other alphabets, and short ones, are taken as written with capitals.
    small < 200 || capitals * 200 >= small + capitals
}

#[cfg(test)]
mod tests {
    use super::{Language, scan_sentences};

    fn sentences(code: &str, text: &str) -> Vec<String> {
        let mut from = 0;
        let language = Language::new(code, text);
        let mut parts: Vec<String> = Vec::new();
        for boundary in scan_sentences(text, &language) {
            parts.push(text[from..boundary.at].to_owned());
            from = boundary.at;
        }
        parts.push(text[from..].to_owned());
        parts
    }

    #[test]
    fn abbreviations_and_initials_do_not_end_sentences() {
        let text = "Dr. Lee met J. Smith at 3.5 p.m. today. He left.";
        assert_eq!(
            sentences("en", text),
            ["Dr. Lee met J. Smith at 3.5 p.m. today. ", "He left."]
        );
        let text = "Am 3. Mai kam Prof. Klein. Er ging bzw. lief.";
        assert_eq!(
            sentences("de", text),
            ["Am 3. Mai kam Prof. Klein. ", "Er ging bzw. lief."]
        );
    }

    #[test]
    fn wide_stops_need_no_space() {
        assert_eq!(
            sentences("ja", "今日は雨。「傘は？」と聞いた。"),
            ["今日は雨。", "「傘は？」", "と聞いた。"]
        );
    }

    #[test]
    fn text_without_capitals_still_has_sentences() {
        let text = "the rate fell. a charge was made. ".repeat(20);
        assert_eq!(sentences("en", text.trim_end()).len(), 40);
    }
}
