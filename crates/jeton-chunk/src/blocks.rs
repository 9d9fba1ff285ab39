//! Blocks of Markdown, by a parser that conforms to `CommonMark`, with tables and front matter.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A heading of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// First byte of its line.
    pub at: usize,
    /// Level from 1 to 6.
    pub level: usize,
    /// Words of the heading, as they are written.
    pub words: Range<usize>,
    /// True in a list or a quotation: it is no heading of the text as a whole.
    pub is_nested: bool,
}

/// A table of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The lines of its head, the rule below included.
    pub head: Range<usize>,
    /// The lines behind.
    pub body: Range<usize>,
}

/// Headings and tables of a text, in order.
#[derive(Debug, Default)]
pub struct Outline {
    /// Headings.
    pub headings: Vec<Heading>,
    /// Tables that lie in no list and no quotation.
    pub tables: Vec<Table>,
}

/// The kind of a block that holds no other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    Heading(usize),
    FencedCode,
    /// A comment, `<pre>`, `<script>`, `<style>`, a declaration: no prose.
    RawHtml,
    Prose,
    Table,
    Rule,
    FrontMatter,
}

/// Blocks of a text in order, and where items of lists begin.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) leaves: Vec<(Range<usize>, Leaf)>,
    pub(crate) items: Vec<usize>,
    pub(crate) outline: Outline,
}

impl Blocks {
    pub(crate) fn of(text: &str) -> Self {
        let mut blocks = Self::default();
        let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        let mut depth = 0;
        // The heading that is open.
        let mut is_heading = false;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Item) => {
                    depth += 1;
                    blocks.items.push(range.start);
                }
                Event::Start(Tag::BlockQuote(_)) => depth += 1,
                Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => depth -= 1,
                Event::Start(Tag::Heading { level, .. }) => {
                    let at = line_start(text, range.start);
                    blocks.outline.headings.push(Heading {
                        at,
                        level: level as usize,
                        words: 0..0,
                        is_nested: depth > 0,
                    });
                    is_heading = true;
                    let leaf = if depth > 0 {
                        Leaf::Prose
                    } else {
                        Leaf::Heading(level as usize)
                    };
                    blocks.leaves.push((range, leaf));
                }
                Event::End(TagEnd::Heading(_)) => is_heading = false,
                Event::Start(Tag::Table(_)) => {
                    if depth == 0 {
                        blocks.outline.tables.push(table(text, range.clone()));
                    }
                    blocks.leaves.push((range, Leaf::Table));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let leaf = match kind {
                        CodeBlockKind::Fenced(_) => Leaf::FencedCode,
                        // Texts with indented paragraphs are more often prose than code.
                        CodeBlockKind::Indented => Leaf::Prose,
                    };
                    blocks.leaves.push((range, leaf));
                }
                Event::Start(Tag::HtmlBlock) => {
                    let leaf = if is_raw(&text[range.clone()]) {
                        Leaf::RawHtml
                    } else {
                        Leaf::Prose
                    };
                    blocks.leaves.push((range, leaf));
                }
                Event::Start(Tag::Paragraph) => blocks.leaves.push((range, Leaf::Prose)),
                Event::Start(Tag::MetadataBlock(_)) => {
                    blocks.leaves.push((range, Leaf::FrontMatter));
                }
                Event::Rule => blocks.leaves.push((range, Leaf::Rule)),
                // A tight item has its words without a paragraph around them.
                _ if is_heading => {
                    if let Some(heading) = blocks.outline.headings.last_mut() {
                        let words = &mut heading.words;
                        if words.end == 0 {
                            words.start = range.start;
                        }
                        words.end = words.end.max(range.end);
                    }
                }
                _ => {}
            }
        }
        blocks
    }
}

/// Returns the headings and tables of a text.
#[must_use]
pub fn scan_outline(text: &str) -> Outline {
    Blocks::of(text).outline
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1)
}

fn table(text: &str, range: Range<usize>) -> Table {
    let start = line_start(text, range.start);
    let mut lines = crate::lines::Lines::new(&text[start..range.end]);
    lines.next();
    let head = start..start + lines.next().map_or(0, |rule| rule.end);
    let body = head.end.min(range.end)..range.end;
    Table { head, body }
}

/// True for blocks of HTML that hold no prose: kinds 1 to 5 of `CommonMark`.
fn is_raw(html: &str) -> bool {
    let start = html.trim_start();
    let lower = start.get(..9).unwrap_or(start).to_ascii_lowercase();
    ["<!", "<?", "<pre", "<script", "<style", "<textarea"]
        .iter()
        .any(|&tag| lower.starts_with(tag))
}

#[cfg(test)]
mod tests {
    use super::scan_outline;

    #[test]
    fn headings_have_their_words_and_tables_their_heads() {
        let text = "Two\nlines\n===\n\n> # q\n\n## **A** b ##\n\nx | y\n--- | ---\n1 | 2\n\nend";
        let outline = scan_outline(text);
        let headings: Vec<_> = outline
            .headings
            .iter()
            .map(|h| (h.level, &text[h.words.clone()], h.is_nested))
            .collect();
        assert_eq!(
            headings,
            [
                (1, "Two\nlines", false),
                (1, "q", true),
                (2, "**A** b", false)
            ]
        );
        let table = &outline.tables[0];
        assert_eq!(&text[table.head.clone()], "x | y\n--- | ---\n");
        assert_eq!(&text[table.body.clone()], "1 | 2\n");
    }
}
