//! Blocks of Markdown and plain text: headings, paragraphs, lists, tables, fenced code.

use crate::boundary::{Boundary, Kind};
use crate::cohesion::announces;
use crate::lines::Lines;
use crate::sentences::{Language, add_escaped_paragraphs, paragraph_sentences};

/// Kind of a line, by itself.
enum Line {
    Empty,
    Heading(usize),
    Fence(u8, usize),
    Item,
    TableRule,
    Row,
    Rule,
    Prose,
}

/// State that the lines so far have left.
struct State<'t> {
    text: &'t str,
    language: &'t Language,
    found: Vec<Boundary>,
    /// First byte of the prose that is being read, and places of its further lines.
    prose: Option<usize>,
    prose_lines: Vec<usize>,
    /// Byte and length of the fence that is open.
    fence: Option<(u8, usize)>,
    after_empty: bool,
    after_heading: bool,
    /// The next line underlines a heading.
    underline: bool,
    in_table: bool,
}

/// Returns the places at which the blocks of a text, and sentences within them, begin.
#[must_use]
pub fn scan_structure(text: &str, language: &Language) -> Vec<Boundary> {
    let mut state = State {
        text,
        language,
        found: Vec::new(),
        prose: None,
        prose_lines: Vec::new(),
        fence: None,
        after_empty: false,
        after_heading: false,
        underline: false,
        in_table: false,
    };
    let mut lines = Lines::new(text).peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or("", |range| &text[range.clone()]);
        state.take(line.start, &text[line], next);
    }
    state.close_prose(text.len());
    add_escaped_paragraphs(text, &mut state.found);
    state.found
}

impl State<'_> {
    fn take(&mut self, at: usize, line: &str, next: &str) {
        if let Some(fence) = self.fence {
            self.take_code(at, line, fence);
            return;
        }
        if std::mem::take(&mut self.underline) {
            return;
        }
        let kind = match classify(line) {
            // A line of prose over a line of = or - is a heading.
            Line::Prose if self.prose.is_none() => {
                let level = setext(next);
                self.underline = level.is_some();
                level.map_or(Line::Prose, Line::Heading)
            }
            kind => kind,
        };
        match kind {
            Line::Empty => {
                if let Some(start) = self.prose.take() {
                    self.prose_part(start, at);
                }
                self.after_empty = true;
                self.in_table = false;
                return;
            }
            Line::Heading(level) => {
                self.begin(at, Kind::heading(level));
                self.after_heading = true;
                self.after_empty = false;
                self.in_table = false;
                return;
            }
            Line::Fence(byte, length) => {
                self.begin_block(at, Kind::SentenceLine);
                self.fence = Some((byte, length));
                self.in_table = false;
            }
            Line::Item => {
                let kind = if self.after_empty {
                    Kind::Paragraph
                } else {
                    Kind::Item
                };
                self.begin_block(at, kind);
                self.prose = Some(at);
                self.in_table = false;
            }
            Line::TableRule => {
                self.begin(at, Kind::TableRule);
                self.in_table = true;
            }
            Line::Row if self.in_table => self.begin(at, Kind::Row),
            Line::Prose if self.in_table && line.contains('|') => self.begin(at, Kind::Row),
            Line::Row => self.begin_block(at, Kind::SentenceLine),
            Line::Rule => self.begin_block(at, Kind::Paragraph),
            Line::Prose => {
                if self.prose.is_some() {
                    self.prose_lines.push(at);
                } else {
                    self.begin_block(at, Kind::SentenceLine);
                    self.prose = Some(at);
                }
                self.in_table = false;
            }
        }
        self.after_empty = false;
        self.after_heading = false;
    }

    fn take_code(&mut self, at: usize, line: &str, (byte, length): (u8, usize)) {
        let kind = if self.after_empty {
            Kind::CodeBlock
        } else {
            Kind::CodeLine
        };
        let trimmed = line.trim();
        self.after_empty = trimmed.is_empty();
        if !trimmed.is_empty() {
            self.found.push(Boundary { at, kind });
        }
        if trimmed.len() >= length && trimmed.bytes().all(|other| other == byte) {
            self.fence = None;
            self.after_empty = false;
            // The closing fence belongs to the code.
            if let Some(last) = self.found.last_mut().filter(|last| last.at == at) {
                last.kind = Kind::TableRule;
            }
        }
    }

    /// Begins a part of its own kind.
    fn begin(&mut self, at: usize, kind: Kind) {
        self.close_prose(at);
        if at > 0 {
            self.found.push(Boundary { at, kind });
        }
    }

    /// Begins a block: after an empty line a paragraph, below a heading its body, else `kind`.
    fn begin_block(&mut self, at: usize, kind: Kind) {
        let kind = if self.after_heading {
            Kind::Body
        } else if announces(self.text, at) {
            Kind::Announced
        } else if self.after_empty {
            Kind::Paragraph
        } else {
            kind
        };
        self.begin(at, kind);
    }

    fn close_prose(&mut self, end: usize) {
        if let Some(start) = self.prose.take() {
            self.prose_part(start, end);
        }
    }

    fn prose_part(&mut self, start: usize, end: usize) {
        let (text, language) = (self.text, self.language);
        let lines = &mut self.prose_lines;
        paragraph_sentences(text, start..end, language, lines, &mut self.found);
    }
}

fn classify(line: &str) -> Line {
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    let body = line.trim();
    let Some(&first) = body.as_bytes().first() else {
        return Line::Empty;
    };
    match first {
        b'#' if indent < 4 => {
            let level = body.bytes().take_while(|&byte| byte == b'#').count();
            let rest = &body[level..];
            if level <= 6 && (rest.is_empty() || rest.starts_with([' ', '\t'])) {
                return Line::Heading(level);
            }
        }
        b'`' | b'~' => {
            let length = body.bytes().take_while(|&byte| byte == first).count();
            if length >= 3 && !(first == b'`' && body[length..].contains('`')) {
                return Line::Fence(first, length);
            }
        }
        b'|' if is_table_rule(body) => return Line::TableRule,
        b'|' => return Line::Row,
        b'-' | b'*' | b'+' | b'_' => {
            if is_table_rule(body) && body.contains('|') {
                return Line::TableRule;
            }
            let marks = body.bytes().filter(|&byte| byte == first).count();
            let only = body.bytes().all(|byte| byte == first || byte == b' ');
            if marks >= 3 && only && first != b'+' {
                return Line::Rule;
            }
            if first != b'_' && body[1..].starts_with([' ', '\t']) {
                return Line::Item;
            }
        }
        b'0'..=b'9' => {
            let digits = body.bytes().take_while(u8::is_ascii_digit).count();
            let rest = &body[digits..];
            if digits <= 9 && rest.starts_with(['.', ')']) && rest[1..].starts_with([' ', '\t']) {
                return Line::Item;
            }
        }
        b':' if is_table_rule(body) && body.contains('|') => return Line::TableRule,
        _ => {}
    }
    Line::Prose
}

/// True for the line below the head of a table: `| --- | :-: |`.
fn is_table_rule(body: &str) -> bool {
    body.contains('-')
        && body
            .bytes()
            .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' '))
}

/// Returns the level of the heading that a line of = or - makes of the line above it.
fn setext(next: &str) -> Option<usize> {
    let body = next.trim();
    let first = *body.as_bytes().first()?;
    let only = body.len() >= 2 && body.bytes().all(|byte| byte == first);
    match first {
        b'=' if only => Some(1),
        b'-' if only => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::scan_structure;
    use crate::boundary::Kind::{self, *};
    use crate::sentences::Language;

    fn parts(text: &str) -> Vec<(String, Kind)> {
        let language = Language::new("en", text);
        let found = scan_structure(text, &language);
        let ends = found.iter().skip(1).map(|b| b.at).chain([text.len()]);
        let parts = found.iter().zip(ends);
        parts
            .map(|(boundary, end)| (text[boundary.at..end].to_owned(), boundary.kind))
            .collect()
    }

    #[test]
    fn blocks_are_found() {
        let text = "# A\nText one. Text two.\n\n- x\n- y\n\n```py\na\n\nb\n```\nend";
        let expected = [
            ("Text one. ", Body),
            ("Text two.\n\n", Sentence),
            ("- x\n", Paragraph),
            ("- y\n\n", Item),
            ("```py\n", Paragraph),
            ("a\n\n", CodeLine),
            ("b\n", CodeBlock),
            ("```\n", TableRule),
            ("end", SentenceLine),
        ];
        let expected = expected.map(|(part, kind)| (part.to_owned(), kind));
        assert_eq!(parts(text), expected);
    }

    #[test]
    fn tables_and_headings_of_two_lines_are_found() {
        let text = "Top\n===\nx\n\n| a | b |\n| - | - |\n| 1 | 2 |\n";
        let kinds: Vec<Kind> = parts(text).into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(kinds, [Body, Paragraph, TableRule, Row]);
    }
}
