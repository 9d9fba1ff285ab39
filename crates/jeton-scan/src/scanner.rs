//! The scanner: one pass over characters, with long stretches of plain ASCII skipped, and one over
//! bytes for runs of digits.

use crate::codes::Code;
use crate::encoded;
use crate::hidden::is_right;
use crate::markers::{Markers, find_unknown};
use crate::phrases::Phrases;
use crate::runs::{begins_escape, escapes};
use crate::table::{Table, kind};

/// Marks in a row that are a candidate: of the script Inherited, and of any.
const MIN_INHERITED_MARKS: usize = 4;
const MIN_MARKS: usize = 10;
/// Compatibility characters in a row that are a candidate.
const MIN_COMPATIBLE: usize = 8;
/// First of the forms of full width; forms of other alphabets lie behind them.
const FIRST_FULL_WIDTH: char = '\u{ff10}';
/// Characters of other kinds between two of them.
const MAX_GAP: usize = 2;
/// Braille cells in a row that are a candidate.
const MIN_BRAILLE: usize = 8;
/// Script number of marks that take the script of their base.
const INHERITED: u8 = 1;

/// Windows-1252's characters for the bytes 0x80 to 0x9F, in their order; five bytes have none.
const WINDOWS_1252: [u32; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039,
    0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc,
    0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
];

/// A place: half-open, in code points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Its first character.
    pub start: usize,
    /// The character behind its last one.
    pub end: usize,
    /// The reason.
    pub code: Code,
}

/// Searches of the guard, made once.
#[derive(Debug)]
pub struct Scanner {
    table: Table,
    markers: Markers,
    phrases: Phrases,
    /// True for a byte that begins something, or is no ASCII.
    stops: [bool; 256],
    /// True for an ASCII character with which, folded, a marker begins; also for `<`.
    firsts: [bool; 128],
    /// Other characters with which markers begin.
    wide_firsts: Vec<char>,
    /// For each row: the script bits of a letter, with `WORD` and `SPECIAL`.
    acts: Vec<u16>,
    /// Script bits of ASCII.
    ascii_scripts: [u8; 128],
}

/// Plain bytes that are looked at one by one before whole blocks are.
const FEW: usize = 3;

/// The character belongs to a word.
const WORD: u16 = 0x100;
/// More is to be done than to follow the word.
const SPECIAL: u16 = 0x200;

impl Scanner {
    /// Makes a scanner.
    ///
    /// `phrases` are ASCII and found in any case; those of fewer than six characters are slower.
    pub fn new<T: AsRef<str>>(table: Table, markers: &[T], phrases: &[T]) -> Self {
        let markers = Markers::new(&table, markers);
        let mut firsts = [false; 128];
        firsts[usize::from(b'<')] = true;
        let mut wide_firsts = Vec::new();
        for char in markers.firsts() {
            match firsts.get_mut(char as usize) {
                Some(first) => *first = true,
                None => wide_firsts.push(char),
            }
        }
        let mut stops = [true; 256];
        for byte in 0..0x80_u8 {
            let row = table.row(char::from(byte));
            let fold = if row.fold == 0 { byte } else { row.fold };
            stops[usize::from(byte)] =
                row.kind == kind::CONTROL || firsts[usize::from(fold)] || begins_escape(byte);
        }
        let acts = table.rows().iter().map(|row| {
            let begins = !wide_firsts.is_empty()
                || firsts
                    .get(usize::from(row.fold))
                    .is_some_and(|first| *first);
            let is_plain = matches!(
                row.kind,
                0 | kind::LETTER | kind::DIGIT | kind::EMOJI | kind::MODIFIER
            );
            let word = if row.is_word() { WORD } else { 0 };
            let special = if begins || !is_plain || row.is_latin_1 {
                SPECIAL
            } else {
                0
            };
            u16::from(row.script_bit) | word | special
        });
        let acts = acts.collect();
        let mut ascii_scripts = [0; 128];
        for (byte, bits) in (0..0x80_u8).zip(&mut ascii_scripts) {
            *bits = table.row(char::from(byte)).script_bit;
        }
        Self {
            phrases: Phrases::new(phrases),
            table,
            markers,
            acts,
            ascii_scripts,
            stops,
            firsts,
            wide_firsts,
        }
    }

    /// The candidates of a text, by place and code.
    pub fn scan(&self, text: &str) -> Vec<Candidate> {
        let mut found: Vec<(usize, usize, Code)> = Vec::new();
        encoded::find(text.as_bytes(), &mut found);
        self.phrases.find(text.as_bytes(), &mut found);
        Pass {
            scanner: self,
            text,
            found: &mut found,
            word: NO_WORD,
            compatible: 0,
            braille: 0,
            mojibake: 0,
            marked: 0,
            escaped: 0,
        }
        .run();
        found.sort_unstable();
        in_chars(text, &found)
    }
}

/// Positions in bytes as positions in characters.
fn in_chars(text: &str, found: &[(usize, usize, Code)]) -> Vec<Candidate> {
    let bytes = text.as_bytes();
    let count = |from: usize, to: usize| {
        bytes[from..to]
            .iter()
            .filter(|byte| (**byte as i8) >= -0x40)
            .count()
    };
    let (mut at, mut n_chars) = (0, 0);
    found
        .iter()
        .map(|&(start, end, code)| {
            n_chars += count(at, start);
            at = start;
            Candidate {
                start: n_chars,
                end: n_chars + count(start, end),
                code,
            }
        })
        .collect()
}

/// The word that the pass is in.
#[derive(Clone, Copy)]
struct Word {
    /// Its first byte; `NONE`: the pass is in no word.
    start: usize,
    end: usize,
    scripts: u8,
    is_wide: bool,
}

const NONE: usize = usize::MAX;
const NO_WORD: Word = Word {
    start: NONE,
    end: 0,
    scripts: 0,
    is_wide: false,
};

struct Pass<'a> {
    scanner: &'a Scanner,
    text: &'a str,
    found: &'a mut Vec<(usize, usize, Code)>,
    word: Word,
    /// Ends of the last runs of these kinds: what lies before them was looked at.
    compatible: usize,
    braille: usize,
    mojibake: usize,
    marked: usize,
    escaped: usize,
}

/// The code point at a place where a character beyond ASCII begins, and its bytes.
#[inline]
fn decode(bytes: &[u8], at: usize) -> (u32, usize) {
    let tail = |offset: usize| u32::from(bytes.get(at + offset).copied().unwrap_or(0) & 0x3f);
    let first = u32::from(bytes[at]);
    if first < 0xe0 {
        ((first & 0x1f) << 6 | tail(1), 2)
    } else if first < 0xf0 {
        ((first & 0xf) << 12 | tail(1) << 6 | tail(2), 3)
    } else {
        (
            (first & 7) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3),
            4,
        )
    }
}

impl Pass<'_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let scanner = self.scanner;
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] < 0x80 {
                // A word that began beyond ASCII goes on.
                self.end_word(at);
                at = self.skip_plain(at);
                if at < bytes.len() && bytes[at] < 0x80 {
                    at = self.ascii(at);
                }
                continue;
            }
            let (code, length) = decode(bytes, at);
            let act = scanner.acts[scanner.table.number(code)];
            if act & SPECIAL != 0 {
                at = self.wide(at);
            } else if act & WORD != 0 {
                at = self.plain_word(at, length, act);
            } else {
                if self.word.start != NONE {
                    self.finish_word();
                }
                at += length;
            }
        }
        self.finish_word();
    }

    /// The letters beyond ASCII that follow one another and are nothing but letters; returns the
    /// place behind them.
    fn plain_word(&mut self, mut at: usize, mut length: usize, mut act: u16) -> usize {
        let bytes = self.text.as_bytes();
        let scanner = self.scanner;
        if self.word.start == NONE {
            self.begin_word(at, scanner);
        }
        let mut scripts = 0;
        loop {
            scripts |= act as u8;
            at += length;
            if bytes.get(at).is_none_or(|byte| *byte < 0x80) {
                break;
            }
            let code;
            (code, length) = decode(bytes, at);
            act = scanner.acts[scanner.table.number(code)];
            if act & (WORD | SPECIAL) != WORD {
                break;
            }
        }
        self.word.end = at;
        self.word.scripts |= scripts;
        self.word.is_wide |= scripts != 0;
        at
    }

    /// The next byte that begins something.
    fn skip_plain(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let stops = &self.scanner.stops;
        // Between words beyond ASCII there are one or two plain bytes: no block is worth a look.
        for _ in 0..FEW {
            if bytes.get(at).is_none_or(|byte| stops[usize::from(*byte)]) {
                return at;
            }
            at += 1;
        }
        while let Some(block) = bytes.get(at..at + 16) {
            if block
                .iter()
                .fold(false, |any, byte| any | stops[usize::from(*byte)])
            {
                break;
            }
            at += 16;
        }
        let rest = bytes[at..].iter();
        at + rest.take_while(|byte| !stops[usize::from(**byte)]).count()
    }

    /// One ASCII character that may begin something; returns the place behind it.
    fn ascii(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let char = char::from(bytes[at]);
        if self.scanner.table.row(char).kind == kind::CONTROL {
            return self.kind_run(at, kind::CONTROL, Code::Control);
        }
        if begins_escape(bytes[at]) && at >= self.escaped {
            let (length, is_found) = escapes(&bytes[at..]);
            if is_found {
                self.escaped = at + length;
                self.found.push((at, at + length, Code::Escaped));
            }
        }
        self.marker(at, char);
        at + 1
    }

    fn marker(&mut self, at: usize, char: char) {
        let scanner = self.scanner;
        let fold = usize::from(scanner.table.row(char).fold);
        let begins = scanner.firsts.get(fold).is_some_and(|first| *first)
            || scanner.wide_firsts.contains(&char);
        if at < self.marked || !begins {
            return;
        }
        let rest = &self.text[at..];
        if let Some(length) = scanner.markers.find(&scanner.table, rest) {
            self.found.push((at, at + length, Code::Marker));
            self.marked = at + length;
        } else if fold == usize::from(b'<')
            && let Some(length) = find_unknown(&scanner.table, rest)
        {
            self.found.push((at, at + length, Code::UnknownMarker));
            self.marked = at + length;
        }
    }

    /// A run of characters of one class; returns the place behind it.
    fn kind_run(&mut self, at: usize, kind: u8, code: Code) -> usize {
        let table = &self.scanner.table;
        let length: usize = self.text[at..]
            .chars()
            .take_while(|char| table.row(*char).kind == kind)
            .map(char::len_utf8)
            .sum();
        self.found.push((at, at + length, code));
        at + length
    }

    /// Adds the ASCII characters that go on with a word, and ends it where they end.
    fn end_word(&mut self, at: usize) {
        if self.word.start == NONE || at < self.word.end {
            return;
        }
        let bytes = self.text.as_bytes();
        let mut end = at;
        while end < bytes.len() && bytes[end].is_ascii_alphanumeric() {
            self.word.scripts |= self.scanner.ascii_scripts[usize::from(bytes[end] & 0x7f)];
            end += 1;
        }
        self.word.end = end;
        if bytes.get(end).is_none_or(|byte| *byte < 0x80) {
            self.finish_word();
        }
    }

    #[inline]
    fn finish_word(&mut self) {
        if self.word.start == NONE {
            return;
        }
        let word = std::mem::replace(&mut self.word, NO_WORD);
        if word.scripts == 0 {
            return;
        }
        if word.scripts.count_ones() > 1 {
            self.found.push((word.start, word.end, Code::MixedWord));
        }
        let rest = &self.text.as_bytes()[word.end..];
        if word.is_wide
            && rest.first() == Some(&b'.')
            && rest.len() > 2
            && rest[1..3].iter().all(u8::is_ascii_lowercase)
        {
            self.found.push((word.start, word.end, Code::Domain));
        }
    }

    /// A character beyond ASCII; returns the place behind it.
    fn wide(&mut self, at: usize) -> usize {
        let scanner = self.scanner;
        let table = &scanner.table;
        let Some(char) = self.text[at..].chars().next() else {
            return self.text.len();
        };
        let row = table.row(char);
        let next = at + char.len_utf8();
        if row.fold != 0 || !scanner.wide_firsts.is_empty() {
            self.marker(at, char);
        }
        if row.is_word() {
            self.in_word(at, next, row.script_bit, scanner);
            match row.kind {
                kind::MARK | kind::VIRAMA => self.marks(at),
                kind::COMPATIBLE => self.compatible(at),
                _ if ('\u{c2}'..='\u{f4}').contains(&char) => self.mojibake(at),
                _ => {}
            }
            return next;
        }
        self.finish_word();
        if row.is_hidden() {
            let length: usize = self.text[at..]
                .chars()
                .take_while(|char| table.row(*char).is_hidden())
                .map(char::len_utf8)
                .sum();
            let (before, rest) = self.text.split_at(at);
            let (run, behind) = rest.split_at(length);
            if !is_right(table, before, run, behind) {
                self.found.push((at, at + length, Code::Hidden));
            }
            return at + length;
        }
        match row.kind {
            kind::CONTROL => self.kind_run(at, row.kind, Code::Control),
            kind::LINE_END => self.kind_run(at, row.kind, Code::LineEnd),
            kind::PRIVATE => self.kind_run(at, row.kind, Code::Private),
            kind::NONCHARACTER => self.kind_run(at, row.kind, Code::Noncharacter),
            kind::UNASSIGNED => self.kind_run(at, row.kind, Code::Unassigned),
            kind::BRAILLE => {
                self.braille(at);
                next
            }
            _ => next,
        }
    }

    #[inline]
    fn in_word(&mut self, at: usize, next: usize, script: u8, scanner: &Scanner) {
        if self.word.start == NONE {
            self.begin_word(at, scanner);
        }
        self.word.end = next;
        self.word.scripts |= script;
        self.word.is_wide |= script != 0;
    }

    fn begin_word(&mut self, at: usize, scanner: &Scanner) {
        let bytes = &self.text.as_bytes()[..at];
        let before = bytes
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_alphanumeric());
        let start = at - before.count();
        self.word.start = start;
        self.word.scripts = bytes[start..].iter().fold(0, |bits, byte| {
            bits | scanner.ascii_scripts[usize::from(byte & 0x7f)]
        });
    }

    fn marks(&mut self, at: usize) {
        let table = &self.scanner.table;
        let is_mark = |char: &char| matches!(table.row(*char).kind, kind::MARK | kind::VIRAMA);
        // The run was counted at its first mark.
        if self.text[..at]
            .chars()
            .next_back()
            .as_ref()
            .is_some_and(is_mark)
        {
            return;
        }
        let (mut n, mut inherited, mut length) = (0, 0, 0);
        for char in self.text[at..].chars().take_while(is_mark) {
            n += 1;
            inherited += usize::from(table.row(char).script == INHERITED);
            length += char.len_utf8();
        }
        if inherited >= MIN_INHERITED_MARKS || n >= MIN_MARKS {
            self.found.push((at, at + length, Code::Marks));
        }
    }

    fn compatible(&mut self, at: usize) {
        if at < self.compatible {
            return;
        }
        let table = &self.scanner.table;
        let (mut n, mut gap, mut end) = (0, 0, at);
        for (offset, char) in self.text[at..].char_indices() {
            if table.row(char).kind == kind::COMPATIBLE {
                n += 1;
                gap = 0;
                end = at + offset + char.len_utf8();
            } else if gap < MAX_GAP && table.row(char).kind == 0 {
                gap += 1;
            } else {
                break;
            }
        }
        self.compatible = end;
        // A letter of full width or of a mathematical alphabet in a word of plain letters.
        let bytes = self.text.as_bytes();
        let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
        let touches = is_letter(bytes[..at].last()) || is_letter(bytes.get(end));
        let is_disguise = touches && self.text[at..].starts_with(|char| char >= FIRST_FULL_WIDTH);
        if n >= MIN_COMPATIBLE || is_disguise {
            self.found.push((at, end, Code::Compatible));
        }
    }

    fn braille(&mut self, at: usize) {
        if at < self.braille {
            return;
        }
        let table = &self.scanner.table;
        let (mut n, mut end, mut was_space) = (0, at, false);
        for (offset, char) in self.text[at..].char_indices() {
            if table.row(char).kind == kind::BRAILLE {
                n += 1;
                end = at + offset + char.len_utf8();
                was_space = false;
            } else if char == ' ' && !was_space {
                was_space = true;
            } else {
                break;
            }
        }
        self.braille = end;
        if n >= MIN_BRAILLE {
            self.found.push((at, end, Code::Braille));
        }
    }

    fn mojibake(&mut self, at: usize) {
        if at < self.mojibake {
            return;
        }
        let is_high = |char: &char| {
            let code = *char as u32;
            (0xa0..=0xff).contains(&code) || (code >= 0x80 && WINDOWS_1252.contains(&code))
        };
        let mut chars = self.text[at..].chars().skip(1);
        // The second byte of a sequence: 0x80 to 0xBF.
        let second = chars.next();
        if !second.is_some_and(|char| is_high(&char) && !('\u{c0}'..='\u{ff}').contains(&char)) {
            return;
        }
        let run = self.text[at..].chars().take_while(is_high);
        let end = at + run.map(char::len_utf8).sum::<usize>();
        self.mojibake = end;
        self.found.push((at, end, Code::Mojibake));
    }
}

#[cfg(test)]
mod tests;
