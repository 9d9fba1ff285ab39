//! Patterns in Oniguruma's own syntax (its default, which `tokenizers` uses).
//!
//! Written from what Oniguruma 6.9 (in `tokenizers` 0.23.3) does when asked. Where it differs from
//! other engines: `(?m)` lets the dot match a newline and `(?s)` does not exist; `^` and `$` match
//! at the ends of a line; `{n}` takes no `?` or `+` of its own (they repeat the repetition);
//! `{n,m}` with n above m is possessive; `(?i)` reaches to the end of the enclosing group, over
//! `|`; `\pL` is the text "pL"; repetitions of repetitions are reduced (`(?:a+?)?` is `a*?`).
//!
//! A construct without a counterpart here (recursion, callouts, absent groups, text segments ...)
//! is an error that names it.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::classes::{self, Kind};
use super::fold::Folds;
use super::node::{Assertion, Node};
use super::{MAX_ATOMS, MAX_DEPTH, ParseError};
use crate::text::unicode::UnicodeVersion;

/// Parses a whole pattern.
pub(super) fn parse(pattern: &str, version: UnicodeVersion) -> Result<Node, ParseError> {
    let run = |named: bool| {
        let mut parser = Parser {
            pattern,
            position: 0,
            version,
            depth: 0,
            n_atoms: 0,
            named,
            found_name: false,
            groups: Vec::new(),
            folds: None,
        };
        let result = parser.alternation(Flags::default()).and_then(|node| {
            if parser.position < pattern.len() {
                Err(parser.bad("unmatched ')'"))
            } else {
                Ok(node)
            }
        });
        (result, parser.found_name)
    };
    // With a named group anywhere, groups without a name do not capture.
    match run(false) {
        (_, true) => run(true).0,
        (result, false) => result,
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) ignore_case: bool,
    pub(super) dot_all: bool,
    pub(super) extended: bool,
}

/// A capturing group: its name, and whether it has ended.
pub(super) struct Group<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) ended: bool,
}

pub(super) struct Parser<'a> {
    pub(super) pattern: &'a str,
    pub(super) position: usize,
    pub(super) version: UnicodeVersion,
    depth: u32,
    pub(super) n_atoms: usize,
    pub(super) named: bool,
    pub(super) found_name: bool,
    pub(super) groups: Vec<Group<'a>>,
    folds: Option<Folds>,
}

/// One atom: a character that may join others, or anything else.
enum Atom {
    Literal(char),
    Node(Node),
}

impl<'a> Parser<'a> {
    pub(super) fn bad(&self, reason: impl Into<String>) -> ParseError {
        ParseError::Bad {
            offset: self.position,
            reason: reason.into(),
        }
    }

    pub(super) fn unsupported(&self, what: &str) -> ParseError {
        self.bad(format!("{what} is not supported"))
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.pattern[self.position..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.position += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.position += prefix.len();
        }
        found
    }

    pub(super) fn class(&self, expression: &str) -> Result<ClassUnicode, ParseError> {
        crate::text::unicode::parse_class(expression, false, self.version)
            .map_err(|reason| self.bad(reason))
    }

    pub(super) fn folds(&mut self) -> Result<&Folds, ParseError> {
        if self.folds.is_none() {
            let folds = Folds::new(self.version).map_err(|reason| self.bad(reason))?;
            self.folds = Some(folds);
        }
        self.folds.as_ref().ok_or(ParseError::Bad {
            offset: self.position,
            reason: "no case folding".to_owned(),
        })
    }

    pub(super) fn deeper(&mut self) -> Result<(), ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.bad(format!("nested more than {MAX_DEPTH} deep")));
        }
        Ok(())
    }

    pub(super) fn shallower(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn alternation(&mut self, flags: Flags) -> Result<Node, ParseError> {
        self.deeper()?;
        let mut branches = vec![self.concatenation(flags)?];
        while self.eat("|") {
            branches.push(self.concatenation(flags)?);
        }
        self.shallower();
        Ok(Node::alternate(branches))
    }

    fn concatenation(&mut self, flags: Flags) -> Result<Node, ParseError> {
        let mut nodes = Vec::new();
        // Characters whose cases are ignored; together they may equal one character ("ss" and "ß").
        let mut literals = Vec::new();
        loop {
            self.skip_ignored(flags)?;
            let Some(c) = self.peek().filter(|c| !matches!(c, '|' | ')')) else {
                break;
            };
            self.n_atoms += 1;
            if self.n_atoms > MAX_ATOMS {
                return Err(self.bad(format!("more than {MAX_ATOMS} parts")));
            }
            if c == '('
                && let Some(inner) = self.isolated_flags(flags)
            {
                // Flags alone hold to the end of the group, alternatives included.
                self.flush(&mut literals, &mut nodes)?;
                nodes.push(self.alternation(inner)?);
                continue;
            }
            let atom = self.atom(flags)?;
            self.skip_ignored(flags)?;
            let repeats = self.repetition_ahead()?;
            match atom {
                Atom::Literal(c) if flags.ignore_case && !repeats => literals.push(c),
                atom => {
                    self.flush(&mut literals, &mut nodes)?;
                    let node = match atom {
                        Atom::Literal(c) if flags.ignore_case => self.literal(&[c])?,
                        Atom::Literal(c) => Node::Class(single(c)),
                        Atom::Node(node) => node,
                    };
                    nodes.push(self.repetitions(node, flags)?);
                }
            }
        }
        self.flush(&mut literals, &mut nodes)?;
        Ok(Node::concat(nodes))
    }

    fn flush(&mut self, literals: &mut Vec<char>, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        if !literals.is_empty() {
            nodes.push(self.literal(literals)?);
            literals.clear();
        }
        Ok(())
    }

    /// A text with case ignored.
    fn literal(&mut self, text: &[char]) -> Result<Node, ParseError> {
        let node = self.folds()?.literal(text);
        node.map_err(|reason| self.bad(reason))
    }

    /// Comments, and what extended patterns are free to contain.
    pub(super) fn skip_ignored(&mut self, flags: Flags) -> Result<(), ParseError> {
        loop {
            if self.eat("(?#") {
                loop {
                    match self.next() {
                        None => return Err(self.bad("the comment does not end")),
                        Some(')') => break,
                        Some('\\') => {
                            self.next();
                        }
                        Some(_) => {}
                    }
                }
            } else if flags.extended && self.eat("#") {
                let end = self
                    .rest()
                    .find('\n')
                    .map_or(self.rest().len(), |at| at + 1);
                self.position += end;
            } else if flags.extended
                && let Some(c) = self.peek().filter(|c| matches!(c, '\t'..='\r' | ' '))
            {
                self.position += c.len_utf8();
            } else {
                return Ok(());
            }
        }
    }

    fn atom(&mut self, flags: Flags) -> Result<Atom, ParseError> {
        let c = self
            .peek()
            .ok_or_else(|| self.bad("the pattern ends too early"))?;
        Ok(Atom::Node(match c {
            '(' => return self.group(flags).map(Atom::Node),
            '[' => classes::bracket(self, flags.ignore_case)?,
            '\\' => return self.escape(flags),
            '.' => {
                self.position += 1;
                Node::Class(self.class(if flags.dot_all { "(?s:.)" } else { "." })?)
            }
            '^' => {
                self.position += 1;
                Node::Assert(Assertion::LineStart)
            }
            '$' => {
                self.position += 1;
                Node::Assert(Assertion::LineEnd)
            }
            '*' | '+' | '?' => return Err(self.bad("nothing to repeat")),
            '{' if self.counted()?.is_some() => return Err(self.bad("nothing to repeat")),
            _ => {
                self.position += c.len_utf8();
                return Ok(Atom::Literal(c));
            }
        }))
    }

    fn escape(&mut self, flags: Flags) -> Result<Atom, ParseError> {
        let start = self.position;
        self.position += 1;
        let c = self
            .next()
            .ok_or_else(|| self.bad("the pattern ends in a backslash"))?;
        let assert = |assertion| Ok(Atom::Node(Node::Assert(assertion)));
        let what = match c {
            'w' | 'W' | 's' | 'S' | 'd' | 'D' | 'h' | 'H' => {
                let class = classes::kind(self, Kind::of(c), false)?;
                return Ok(Atom::Node(Node::Class(negated(class, c.is_uppercase()))));
            }
            'p' | 'P' if self.rest().starts_with('{') => {
                return Ok(Atom::Node(Node::Class(classes::property(
                    self,
                    c == 'P',
                    false,
                )?)));
            }
            'N' => return Ok(Atom::Node(Node::Class(self.class(".")?))),
            'O' => return Ok(Atom::Node(Node::Class(self.class("(?s:.)")?))),
            'R' => {
                let newline = self.class(r"[\n\x0B\x0C\r\x{85}\x{2028}\x{2029}]")?;
                let pair = Node::concat(vec![Node::Class(single('\r')), Node::Class(single('\n'))]);
                let any = Node::alternate(vec![pair, Node::Class(newline)]);
                return Ok(Atom::Node(Node::Atomic(Box::new(any))));
            }
            'b' => return assert(Assertion::WordBoundary(self.word()?)),
            'B' => return assert(Assertion::NotWordBoundary(self.word()?)),
            'A' => return assert(Assertion::TextStart),
            'z' => return assert(Assertion::TextEnd),
            'Z' => return assert(Assertion::TextEndOrLastNewline),
            'X' => r"a text segment \X",
            'y' | 'Y' => r"a text segment boundary \y",
            'G' => r"the anchor \G",
            'K' => r"the reset of the match's start \K",
            'g' if self.rest().starts_with(['<', '\'']) => r"a call of a group \g",
            'k' if self.rest().starts_with(['<', '\'']) => {
                return self.named_reference(flags).map(Atom::Node);
            }
            '1'..='9' => {
                let digits = self.pattern[start + 1..]
                    .bytes()
                    .take_while(u8::is_ascii_digit)
                    .count();
                let number = &self.pattern[start + 1..start + 1 + digits];
                let group: usize = number.parse().unwrap_or(usize::MAX);
                if group <= self.groups.len() || group <= 9 {
                    self.position = start + 1 + digits;
                    return self.reference(group, flags).map(Atom::Node);
                }
                self.position = start;
                return classes::escaped_char(self).map(Atom::Literal);
            }
            _ => {
                self.position = start;
                return classes::escaped_char(self).map(Atom::Literal);
            }
        };
        self.position = start;
        Err(self.unsupported(what))
    }

    fn word(&mut self) -> Result<Box<ClassUnicode>, ParseError> {
        Ok(Box::new(classes::kind(self, Kind::Word, false)?))
    }

    fn named_reference(&mut self, flags: Flags) -> Result<Node, ParseError> {
        let closing = if self.eat("<") {
            '>'
        } else {
            self.position += 1;
            '\''
        };
        let rest = self.rest();
        let end = rest
            .find(closing)
            .ok_or_else(|| self.bad("the reference does not end"))?;
        let name = &rest[..end];
        let group = match name.parse::<usize>() {
            Ok(number) => number,
            Err(_) => self
                .groups
                .iter()
                .position(|group| group.name == Some(name))
                .map(|index| index + 1)
                .ok_or_else(|| self.bad(format!("no group has the name {name:?} so far")))?,
        };
        self.position += end + 1;
        self.reference(group, flags)
    }

    fn reference(&mut self, group: usize, flags: Flags) -> Result<Node, ParseError> {
        if flags.ignore_case {
            return Err(self.unsupported("a reference to a group that ignores case"));
        }
        match group
            .checked_sub(1)
            .and_then(|index| self.groups.get(index))
        {
            Some(Group { ended: true, .. }) => Ok(Node::Reference(group)),
            Some(_) => Err(self.unsupported("a reference to a group from inside it")),
            None => Err(self.bad(format!("there is no group {group} before this reference"))),
        }
    }
}

/// A class of one character.
pub(super) fn single(c: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(c, c)])
}

pub(super) fn negated(mut class: ClassUnicode, negate: bool) -> ClassUnicode {
    if negate {
        class.negate();
    }
    class
}
