//! Blocks of Markdown and plain text: headings, paragraphs, lists, tables, fenced code.

use std::ops::Range;

use crate::blocks::{Blocks, Leaf};
use crate::boundary::{Boundary, Kind};
use crate::cohesion::announces;
use crate::lines::Lines;
use crate::sentences::{Language, add_escaped_paragraphs, paragraph_sentences};

/// Kind of a line by the block that it belongs to.
#[derive(Clone, Copy)]
enum Line {
    Empty,
    Heading(usize),
    /// A further line of a heading.
    Inside,
    CodeStart,
    Code,
    /// The closing fence, which belongs to the code.
    CodeEnd,
    Item,
    TableHead,
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
    after_empty: bool,
    after_heading: bool,
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
        after_empty: false,
        after_heading: false,
    };
    let blocks = Blocks::of(text);
    let (mut leaves, mut items) = (
        blocks.leaves.iter().peekable(),
        blocks.items.iter().peekable(),
    );
    // The block whose lines are read, and how many of them were.
    let (mut leaf, mut n_lines): (Option<(&Range<usize>, Leaf)>, usize) = (None, 0);
    for line in Lines::new(text) {
        let is_empty = text[line.clone()].trim().is_empty();
        let mut begins = false;
        if leaf.is_some_and(|(range, _)| range.end <= line.start) {
            leaf = None;
        }
        while let Some((range, kind)) = leaves.next_if(|(range, _)| range.start < line.end) {
            (leaf, n_lines, begins) = (Some((range, *kind)), 0, true);
        }
        let mut is_item = false;
        while items.next_if(|&&at| at < line.end).is_some() {
            is_item = true;
        }
        let kind = match leaf {
            _ if is_empty => Line::Empty,
            _ if is_item => Line::Item,
            Some((range, kind)) => line_of(text, range, kind, &line, n_lines),
            None => Line::Prose,
        };
        n_lines += 1;
        state.take(line.start, kind, begins);
    }
    state.close_prose(text.len());
    add_escaped_paragraphs(text, &mut state.found);
    state.found
}

/// Returns the kind of a line of a block of which `n_before` lines were read.
fn line_of(
    text: &str,
    range: &Range<usize>,
    leaf: Leaf,
    line: &Range<usize>,
    n_before: usize,
) -> Line {
    let is_last = range.end <= line.end;
    match (leaf, n_before) {
        (Leaf::Heading(level), 0) => Line::Heading(level),
        (Leaf::Heading(_), _) => Line::Inside,
        (Leaf::FencedCode | Leaf::RawHtml, 0) => Line::CodeStart,
        (Leaf::FencedCode, _) if is_last && closes_fence(&text[range.clone()]) => Line::CodeEnd,
        (Leaf::FencedCode | Leaf::RawHtml, _) => Line::Code,
        (Leaf::Table, 0) => Line::TableHead,
        (Leaf::Table, 1) => Line::TableRule,
        (Leaf::Table, _) => Line::Row,
        (Leaf::Rule, _) | (Leaf::FrontMatter, 0) => Line::Rule,
        (Leaf::FrontMatter, _) if is_last => Line::Inside,
        // Rows without the rule that would make them a table.
        (Leaf::Prose, _) if text[line.clone()].trim_start().starts_with('|') => Line::TableHead,
        (Leaf::Prose | Leaf::FrontMatter, _) => Line::Prose,
    }
}

/// True if the last line of a fenced block closes the fence.
fn closes_fence(block: &str) -> bool {
    let Some(&mark) = block.as_bytes().first() else {
        return false;
    };
    let length = block.bytes().take_while(|&byte| byte == mark).count();
    let last = block.trim_end();
    let closing = last.bytes().rev().take_while(|&byte| byte == mark).count();
    closing >= length && last.len() > length
}

impl State<'_> {
    /// Takes a line; `begins`: a block begins with it.
    fn take(&mut self, at: usize, kind: Line, begins: bool) {
        if begins {
            self.close_prose(at);
        }
        match kind {
            Line::Empty => {
                if let Some(start) = self.prose.take() {
                    self.prose_part(start, at);
                }
                self.after_empty = true;
                return;
            }
            Line::Inside => return,
            Line::Heading(level) => {
                self.begin(at, Kind::heading(level));
                self.after_heading = true;
                self.after_empty = false;
                return;
            }
            Line::Code => {
                let kind = if self.after_empty {
                    Kind::CodeBlock
                } else {
                    Kind::CodeLine
                };
                self.begin(at, kind);
            }
            Line::Item => {
                let kind = if self.after_empty {
                    Kind::Paragraph
                } else {
                    Kind::Item
                };
                self.begin_block(at, kind);
                self.prose = Some(at);
            }
            Line::CodeEnd | Line::TableRule => self.begin(at, Kind::TableRule),
            Line::Row => self.begin(at, Kind::Row),
            Line::TableHead | Line::CodeStart => {
                self.begin_block(at, Kind::SentenceLine);
            }
            Line::Rule => self.begin_block(at, Kind::Paragraph),
            Line::Prose => {
                if self.prose.is_some() {
                    self.prose_lines.push(at);
                } else {
                    self.begin_block(at, Kind::SentenceLine);
                    self.prose = Some(at);
                }
            }
        }
        self.after_empty = false;
        self.after_heading = false;
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
