//! A parsed pattern with everything that some engine can do, and its two ways out: to what an
//! automaton can do, or to fancy-regex's syntax with all classes written out.

use std::fmt::Write;

use regex_syntax::hir::ClassUnicode;

use super::oniguruma::negated;
use super::{Ast, Greed, ParseError};

/// A condition on a place in the text.
#[derive(Clone, Debug)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    TextEndOrLastNewline,
    LineStart,
    LineEnd,
    /// Between a character of the class and one that is not.
    WordBoundary(Box<ClassUnicode>),
    NotWordBoundary(Box<ClassUnicode>),
}

/// A parsed pattern.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Empty,
    Class(ClassUnicode),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        greed: Greed,
    },
    Look {
        ahead: bool,
        negative: bool,
        node: Box<Node>,
    },
    Atomic(Box<Node>),
    Capture(Box<Node>),
    /// The text of a capturing group, counted from 1.
    Reference(usize),
    Assert(Assertion),
}

impl Node {
    pub(super) fn concat(mut nodes: Vec<Self>) -> Self {
        match nodes.len() {
            0 => Self::Empty,
            1 => nodes.remove(0),
            _ => Self::Concat(nodes),
        }
    }

    pub(super) fn alternate(mut nodes: Vec<Self>) -> Self {
        if nodes.len() == 1 {
            nodes.remove(0)
        } else {
            Self::Alternate(nodes)
        }
    }

    /// How many nodes there are when every repetition is written out.
    pub(super) fn unrolled(&self) -> u64 {
        match self {
            Self::Empty | Self::Class(_) | Self::Reference(_) | Self::Assert(_) => 1,
            Self::Concat(nodes) | Self::Alternate(nodes) => nodes
                .iter()
                .fold(1, |sum: u64, node| sum.saturating_add(node.unrolled())),
            Self::Repeat { node, min, max, .. } => node
                .unrolled()
                .saturating_mul(u64::from(max.unwrap_or(*min).max(1)))
                .saturating_add(1),
            Self::Look { node, .. } | Self::Atomic(node) | Self::Capture(node) => {
                node.unrolled().saturating_add(1)
            }
        }
    }

    /// Lowers the node to the automaton's form; otherwise returns the name of the part that has
    /// none.
    pub(super) fn lower(self) -> Result<Ast, ParseError> {
        Ok(match self {
            Self::Empty => Ast::Empty,
            Self::Class(class) => Ast::Class(class),
            Self::Concat(nodes) => Ast::Concat(
                nodes
                    .into_iter()
                    .map(Self::lower)
                    .collect::<Result<_, _>>()?,
            ),
            Self::Alternate(nodes) => Ast::Alternate(
                nodes
                    .into_iter()
                    .map(Self::lower)
                    .collect::<Result<_, _>>()?,
            ),
            Self::Repeat {
                node,
                min,
                max,
                greed,
            } => Ast::Repeat {
                node: Box::new(node.lower()?),
                min,
                max,
                greed,
            },
            Self::Capture(node) => node.lower()?,
            Self::Atomic(node) => match *node {
                Self::Repeat {
                    node,
                    min,
                    max,
                    greed: Greed::Greedy,
                } => Ast::Repeat {
                    node: Box::new(node.lower()?),
                    min,
                    max,
                    greed: Greed::Possessive,
                },
                Self::Class(class) => Ast::Class(class),
                _ => return Err(ParseError::Beyond("an atomic group")),
            },
            Self::Look {
                ahead: true,
                negative,
                node,
            } => {
                let (class, or_end) = node.next_character().ok_or(ParseError::Beyond(
                    "a look-ahead of more than one character",
                ))?;
                // A class or the end is the same as not one of the other characters.
                match negative {
                    false if or_end => Ast::NextIsNot(negated(class, true)),
                    false => Ast::NextIs(class),
                    true if or_end => Ast::NextIs(negated(class, true)),
                    true => Ast::NextIsNot(class),
                }
            }
            Self::Look {
                ahead: false,
                negative,
                node,
            } => match *node {
                Self::Class(class) if negative => Ast::LastIsNot(class),
                Self::Class(class) => Ast::LastIs(class),
                _ => {
                    return Err(ParseError::Beyond(
                        "a look-behind of more than one character",
                    ));
                }
            },
            Self::Reference(_) => return Err(ParseError::Beyond("a back-reference")),
            Self::Assert(Assertion::TextEnd) => Ast::End,
            Self::Assert(Assertion::LineEnd) => {
                Ast::NextIsNot(negated(super::oniguruma::single('\n'), true))
            }
            Self::Assert(Assertion::TextStart) => Ast::start(),
            Self::Assert(Assertion::WordBoundary(word)) => Ast::boundary(*word, true),
            Self::Assert(Assertion::NotWordBoundary(word)) => Ast::boundary(*word, false),
            Self::Assert(Assertion::TextEndOrLastNewline | Assertion::LineStart) => {
                return Err(ParseError::Beyond("an anchor of another kind"));
            }
        })
    }

    /// A condition on the next character alone: a class, and whether the end of the text will do
    /// too.
    fn next_character(&self) -> Option<(ClassUnicode, bool)> {
        match self {
            Self::Class(class) => Some((class.clone(), false)),
            Self::Assert(Assertion::TextEnd) => Some((ClassUnicode::empty(), true)),
            Self::Assert(Assertion::LineEnd) => Some((super::oniguruma::single('\n'), true)),
            Self::Capture(node) | Self::Atomic(node) => node.next_character(),
            Self::Repeat { node, min: 1, .. } => {
                // One is enough, if a class is repeated.
                matches!(**node, Self::Class(_))
                    .then(|| node.next_character())
                    .flatten()
            }
            Self::Alternate(nodes) => nodes.iter().map(Self::next_character).try_fold(
                (ClassUnicode::empty(), false),
                |(mut class, end), next| {
                    let (more, also) = next?;
                    class.union(&more);
                    Some((class, end || also))
                },
            ),
            _ => None,
        }
    }

    /// The pattern in fancy-regex's syntax, to be compiled without flags.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Empty => out.push_str("(?:)"),
            Self::Class(class) => write_class(class, out),
            Self::Concat(nodes) => {
                out.push_str("(?:");
                nodes.iter().for_each(|node| node.write(out));
                out.push(')');
            }
            Self::Alternate(nodes) => {
                out.push_str("(?:");
                for (index, node) in nodes.iter().enumerate() {
                    if index > 0 {
                        out.push('|');
                    }
                    node.write(out);
                }
                out.push(')');
            }
            Self::Repeat {
                node,
                min,
                max,
                greed,
            } => {
                out.push_str(if *greed == Greed::Possessive {
                    "(?>(?:"
                } else {
                    "(?:(?:"
                });
                node.write(out);
                out.push(')');
                let _ = match max {
                    Some(max) => write!(out, "{{{min},{max}}}"),
                    None => write!(out, "{{{min},}}"),
                };
                out.push_str(if *greed == Greed::Lazy { "?)" } else { ")" });
            }
            Self::Look {
                ahead,
                negative,
                node,
            } => {
                out.push_str(match (ahead, negative) {
                    (true, false) => "(?=",
                    (true, true) => "(?!",
                    (false, false) => "(?<=",
                    (false, true) => "(?<!",
                });
                node.write(out);
                out.push(')');
            }
            Self::Atomic(node) => {
                out.push_str("(?>");
                node.write(out);
                out.push(')');
            }
            Self::Capture(node) => {
                out.push('(');
                node.write(out);
                out.push(')');
            }
            Self::Reference(group) => {
                let _ = write!(out, "(?:\\{group})");
            }
            Self::Assert(assertion) => assertion.write(out),
        }
    }
}

impl Assertion {
    fn write(&self, out: &mut String) {
        match self {
            Self::TextStart => out.push_str(r"\A"),
            Self::TextEnd => out.push_str(r"\z"),
            Self::TextEndOrLastNewline => out.push_str(r"(?=\n?\z)"),
            // No line starts after a newline that ends the text.
            Self::LineStart => out.push_str(r"(?:\A|(?<=\n)(?!\z))"),
            Self::LineEnd => out.push_str(r"(?=\n|\z)"),
            Self::WordBoundary(word) | Self::NotWordBoundary(word) => {
                let differs = matches!(self, Self::WordBoundary(_));
                let mut class = String::new();
                write_class(word, &mut class);
                let (after, before) = if differs { ("!", "=") } else { ("=", "!") };
                let _ = write!(
                    out,
                    "(?:(?<={class})(?{after}{class})|(?<!{class})(?{before}{class}))"
                );
            }
        }
    }
}

fn write_class(class: &ClassUnicode, out: &mut String) {
    if class.ranges().is_empty() {
        return out.push_str("(?!)");
    }
    out.push('[');
    for range in class.ranges() {
        let (start, end) = (range.start() as u32, range.end() as u32);
        let _ = write!(out, "\\x{{{start:X}}}");
        if end > start {
            let _ = write!(out, "-\\x{{{end:X}}}");
        }
    }
    out.push(']');
}
