//! Split patterns: parsers of the dialects in use.
//!
//! Published split patterns are written for Oniguruma (`tokenizers`) or for fancy-regex
//! (`tiktoken`). They share a small core: classes of characters, alternatives, repetition (greedy,
//! lazy, possessive), groups with flags, and a look at the next character or at the last one
//! (`\b`). An automaton can do exactly that. The parsers say `Beyond` for anything else
//! (back-references, atomic groups, longer looks), which the caller hands to a backtracking engine
//! in the words that [`translate`] gives.
//!
//! Oniguruma's dialect has its own parser ([`oniguruma`]), which reads all of it: the backtracking
//! engine is fancy-regex, which would read some of it otherwise. In fancy-regex's dialect the
//! content of a class is read by `regex-syntax`, as there.

mod classes;
mod cost;
mod fold;
mod groups;
mod node;
mod oniguruma;
mod repeat;

use regex_syntax::hir::ClassUnicode;
use serde::{Deserialize, Serialize};

use crate::text::unicode::{UnicodeVersion, parse_class};

/// Dialects of patterns, where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// fancy-regex, as in `tiktoken`: `$` is the end of the text, `{n,m}+` is possessive.
    FancyRegex,
    /// Oniguruma with Ruby's syntax, as in `tokenizers`: `$` is the end of any line, `{n,m}+`
    /// repeats the repetition, `(?m)` lets the dot match a newline.
    Oniguruma,
}

/// How often a repetition gives back what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greed {
    Greedy,
    Lazy,
    Possessive,
}

/// A parsed pattern.
#[derive(Clone, Debug)]
pub(crate) enum Ast {
    Empty,
    Class(ClassUnicode),
    Concat(Vec<Ast>),
    Alternate(Vec<Ast>),
    Repeat {
        node: Box<Ast>,
        min: u32,
        max: Option<u32>,
        greed: Greed,
    },
    /// The end of the text.
    End,
    /// The next character exists and is in the class.
    NextIs(ClassUnicode),
    /// There is no next character, or it is not in the class.
    NextIsNot(ClassUnicode),
    /// There is a character before, and it is in the class.
    LastIs(ClassUnicode),
    /// There is no character before, or it is not in the class.
    LastIsNot(ClassUnicode),
}

impl Ast {
    /// The beginning of the text.
    fn start() -> Self {
        let mut all = ClassUnicode::empty();
        all.negate();
        Self::LastIsNot(all)
    }

    /// A place with a character of the class on one side only, or the other places.
    fn boundary(class: ClassUnicode, is_boundary: bool) -> Self {
        let (last, next) = (Self::LastIs(class.clone()), Self::NextIs(class.clone()));
        let (no_last, no_next) = (Self::LastIsNot(class.clone()), Self::NextIsNot(class));
        let [one, other] = if is_boundary {
            [[last, no_next], [no_last, next]]
        } else {
            [[last, next], [no_last, no_next]]
        };
        Self::Alternate(vec![Self::Concat(one.into()), Self::Concat(other.into())])
    }

    /// True if some match may have no character.
    pub(super) fn may_be_empty(&self) -> bool {
        match self {
            Self::Empty
            | Self::End
            | Self::NextIs(_)
            | Self::NextIsNot(_)
            | Self::LastIs(_)
            | Self::LastIsNot(_) => true,
            Self::Class(_) => false,
            Self::Concat(nodes) => nodes.iter().all(Self::may_be_empty),
            Self::Alternate(nodes) => nodes.iter().any(Self::may_be_empty),
            Self::Repeat { node, min, .. } => *min == 0 || node.may_be_empty(),
        }
    }

    /// True if what a match is depends on what is before it.
    pub(crate) fn looks_behind(&self) -> bool {
        match self {
            Self::LastIs(_) | Self::LastIsNot(_) => true,
            Self::Empty | Self::Class(_) | Self::End | Self::NextIs(_) | Self::NextIsNot(_) => {
                false
            }
            Self::Concat(nodes) | Self::Alternate(nodes) => nodes.iter().any(Self::looks_behind),
            Self::Repeat { node, .. } => node.looks_behind(),
        }
    }
}

/// Why a pattern was not parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParseError {
    /// Uses what only a backtracking engine can do; names it.
    Beyond(&'static str),
    /// Not a valid pattern.
    Bad { offset: usize, reason: String },
}

/// Deepest nesting of groups; published patterns have three.
const MAX_DEPTH: u32 = 64;
/// Largest bound of a counted repetition.
const MAX_REPEAT: u32 = 1000;
/// Most parts of a pattern; the longest published ones have about 200.
const MAX_ATOMS: usize = 4096;
/// Most parts with every counted repetition written out: `(a{1000}){1000}` is a million.
const MAX_UNROLLED: u64 = 100_000;
/// Longest pattern, in bytes; the longest published ones have a few thousand.
const MAX_PATTERN_BYTES: usize = 1 << 16;

/// Parses a whole pattern.
pub(crate) fn parse(
    pattern: &str,
    dialect: Dialect,
    version: UnicodeVersion,
) -> Result<Ast, ParseError> {
    check_size(pattern)?;
    if dialect == Dialect::Oniguruma {
        return read_oniguruma(pattern, version)?.lower();
    }
    let mut parser = Parser {
        pattern,
        position: 0,
        version,
        depth: 0,
        n_atoms: 0,
    };
    let ast = parser.alternation(Flags::default())?;
    if parser.position < pattern.len() {
        return Err(parser.bad("unmatched ')'"));
    }
    Ok(ast)
}

/// A pattern in the words of fancy-regex without flags, for what no automaton can do.
pub(crate) fn translate(
    pattern: &str,
    dialect: Dialect,
    version: UnicodeVersion,
) -> Result<String, ParseError> {
    check_size(pattern)?;
    match dialect {
        Dialect::FancyRegex => Ok(pattern.to_owned()),
        Dialect::Oniguruma => {
            let mut out = String::new();
            read_oniguruma(pattern, version)?.write(&mut out);
            Ok(out)
        }
    }
}

fn check_size(pattern: &str) -> Result<(), ParseError> {
    let bad = |reason: String| Err(ParseError::Bad { offset: 0, reason });
    if pattern.len() > MAX_PATTERN_BYTES {
        return bad(format!(
            "it has {} bytes; {MAX_PATTERN_BYTES} are the most",
            pattern.len()
        ));
    }
    if cost::weight(pattern) > cost::MAX_WEIGHT {
        return bad("its counted repetitions make it too large".to_owned());
    }
    Ok(())
}

fn read_oniguruma(pattern: &str, version: UnicodeVersion) -> Result<node::Node, ParseError> {
    let node = oniguruma::parse(pattern, version)?;
    if node.unrolled() > MAX_UNROLLED {
        return Err(ParseError::Bad {
            offset: 0,
            reason: "its counted repetitions make it too large".to_owned(),
        });
    }
    Ok(node)
}

#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    dot_all: bool,
}

struct Parser<'a> {
    pattern: &'a str,
    position: usize,
    version: UnicodeVersion,
    depth: u32,
    n_atoms: usize,
}

impl Parser<'_> {
    fn bad(&self, reason: impl Into<String>) -> ParseError {
        ParseError::Bad {
            offset: self.position,
            reason: reason.into(),
        }
    }

    fn rest(&self) -> &str {
        &self.pattern[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.position += prefix.len();
        }
        found
    }

    fn class(&self, expression: &str, flags: Flags) -> Result<ClassUnicode, ParseError> {
        parse_class(expression, flags.ignore_case, self.version).map_err(|reason| self.bad(reason))
    }

    fn alternation(&mut self, mut flags: Flags) -> Result<Ast, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.bad("groups are nested too deeply"));
        }
        let mut branches = vec![self.concatenation(&mut flags)?];
        while self.eat("|") {
            branches.push(self.concatenation(&mut flags)?);
        }
        self.depth -= 1;
        Ok(if branches.len() == 1 {
            branches.remove(0)
        } else {
            Ast::Alternate(branches)
        })
    }

    fn concatenation(&mut self, flags: &mut Flags) -> Result<Ast, ParseError> {
        let mut nodes = Vec::new();
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' {
                break;
            }
            self.n_atoms += 1;
            if self.n_atoms > MAX_ATOMS {
                return Err(self.bad(format!("more than {MAX_ATOMS} parts")));
            }
            let Some(atom) = self.atom(flags)? else {
                continue;
            };
            let looks_only = atom.looks_behind() && atom.may_be_empty();
            if looks_only && self.rest().starts_with(['*', '+', '?', '{']) {
                return Err(ParseError::Beyond("a repeated look-behind"));
            }
            nodes.push(self.repetition(atom)?);
        }
        Ok(match nodes.len() {
            0 => Ast::Empty,
            1 => nodes.remove(0),
            _ => Ast::Concat(nodes),
        })
    }

    /// One atom; None for a construct that only changes flags.
    fn atom(&mut self, flags: &mut Flags) -> Result<Option<Ast>, ParseError> {
        let c = self
            .peek()
            .ok_or_else(|| self.bad("the pattern ends too early"))?;
        Ok(Some(match c {
            '(' => return self.group(flags),
            '[' => {
                let expression = self.bracket_class()?;
                Ast::Class(self.class(&expression, *flags)?)
            }
            '.' => {
                self.position += 1;
                Ast::Class(
                    self.class(if flags.dot_all { "(?s:.)" } else { "." }, Flags::default())?,
                )
            }
            '\\' => self.escape(*flags)?,
            '^' => {
                self.position += 1;
                Ast::start()
            }
            '$' => {
                self.position += 1;
                Ast::End
            }
            '*' | '+' | '?' => return Err(self.bad("nothing to repeat")),
            '{' if self.counted()?.is_some() => return Err(self.bad("nothing to repeat")),
            _ => {
                self.position += c.len_utf8();
                Ast::Class(self.class(&regex_syntax::escape(c.encode_utf8(&mut [0; 4])), *flags)?)
            }
        }))
    }

    fn group(&mut self, flags: &mut Flags) -> Result<Option<Ast>, ParseError> {
        self.position += 1; // the parenthesis
        let mut inner = *flags;
        if self.eat("?") {
            if self.eat("=") || self.eat("!") {
                let negative = self.pattern.as_bytes()[self.position - 1] == b'!';
                let node = self.alternation(inner)?;
                self.close()?;
                return match node {
                    Ast::Class(class) if negative => Ok(Some(Ast::NextIsNot(class))),
                    Ast::Class(class) => Ok(Some(Ast::NextIs(class))),
                    _ => Err(ParseError::Beyond(
                        "a look-ahead of more than one character",
                    )),
                };
            }
            if self.eat("<=") || self.eat("<!") {
                let negative = self.pattern.as_bytes()[self.position - 1] == b'!';
                let node = self.alternation(inner)?;
                self.close()?;
                return match node {
                    Ast::Class(class) if negative => Ok(Some(Ast::LastIsNot(class))),
                    Ast::Class(class) => Ok(Some(Ast::LastIs(class))),
                    _ => Err(ParseError::Beyond(
                        "a look-behind of more than one character",
                    )),
                };
            }
            if self.rest().starts_with('>') {
                return Err(ParseError::Beyond("an atomic group"));
            }
            if self.rest().starts_with('#') {
                return Err(ParseError::Beyond("a comment"));
            }
            if self.eat("P<") || self.eat("<") {
                let end = self
                    .rest()
                    .find('>')
                    .ok_or_else(|| self.bad("the group's name does not end"))?;
                self.position += end + 1;
            } else {
                let mut enable = true;
                loop {
                    let c = self
                        .peek()
                        .ok_or_else(|| self.bad("the group does not end"))?;
                    self.position += c.len_utf8();
                    match c {
                        ':' => break,
                        ')' => {
                            *flags = inner; // (?i) holds for the rest of the enclosing group
                            return Ok(None);
                        }
                        '-' => enable = false,
                        'i' => inner.ignore_case = enable,
                        's' => inner.dot_all = enable,
                        'u' => {}
                        _ => {
                            return Err(ParseError::Beyond(
                                "a group flag other than ignoring case and dot-all",
                            ));
                        }
                    }
                }
            }
        }
        let node = self.alternation(inner)?;
        self.close()?;
        Ok(Some(node))
    }

    fn close(&mut self) -> Result<(), ParseError> {
        if self.eat(")") {
            Ok(())
        } else {
            Err(self.bad("the group does not end: ')' is missing"))
        }
    }

    /// The text of a bracketed class, brackets included.
    fn bracket_class(&mut self) -> Result<String, ParseError> {
        let bytes = self.rest().as_bytes();
        let mut depth = 0usize;
        let mut at = 0;
        let mut first = false;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'\\' => at += 1,
                b'[' => {
                    depth += 1;
                    first = true;
                    if bytes.get(at + 1) == Some(&b'^') {
                        at += 1;
                    }
                    at += 1;
                    continue;
                }
                // A bracket that opens a class's content is a literal.
                b']' if !first => {
                    depth -= 1;
                    if depth == 0 {
                        let expression = self.rest()[..=at].to_owned();
                        self.position += at + 1;
                        return Ok(expression);
                    }
                }
                _ => {}
            }
            first = false;
            at += 1;
        }
        Err(self.bad("the class does not end: ']' is missing"))
    }

    fn escape(&mut self, flags: Flags) -> Result<Ast, ParseError> {
        let rest = self.rest();
        let c = rest
            .chars()
            .nth(1)
            .ok_or_else(|| self.bad("the pattern ends in a backslash"))?;
        let length = match c {
            'p' | 'P' => {
                if rest[2..].starts_with('{') {
                    rest.find('}').ok_or_else(|| self.bad("'}' is missing"))? + 1
                } else {
                    2 + rest[2..].chars().next().map_or(0, char::len_utf8)
                }
            }
            'x' | 'u' | 'U' => {
                if rest[2..].starts_with('{') {
                    rest.find('}').ok_or_else(|| self.bad("'}' is missing"))? + 1
                } else {
                    let digits = match c {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    if rest.len() < 2 + digits || !rest.is_char_boundary(2 + digits) {
                        return Err(self.bad("too few hexadecimal digits"));
                    }
                    2 + digits
                }
            }
            's' | 'S' | 'd' | 'D' | 'w' | 'W' | 'n' | 'r' | 't' | 'f' | 'v' | 'a' => 2,
            'z' => {
                self.position += 2;
                return Ok(Ast::End);
            }
            'A' => {
                self.position += 2;
                return Ok(Ast::start());
            }
            'b' | 'B' => {
                self.position += 2;
                let word = self.class(r"\w", Flags::default())?;
                return Ok(Ast::boundary(word, c == 'b'));
            }
            'Z' | 'G' | '<' | '>' => {
                return Err(ParseError::Beyond("an anchor of another kind"));
            }
            '0'..='9' | 'k' | 'g' => return Err(ParseError::Beyond("a back-reference")),
            'h' | 'H' | 'K' | 'R' | 'X' | 'N' | 'O' | 'C' | 'E' | 'Q' => {
                return Err(ParseError::Beyond("an escape of another dialect"));
            }
            _ if c.is_ascii_alphanumeric() => return Err(self.bad(format!("unknown escape \\{c}"))),
            _ => {
                self.position += 1 + c.len_utf8();
                let literal = regex_syntax::escape(c.encode_utf8(&mut [0; 4]));
                return Ok(Ast::Class(self.class(&literal, flags)?));
            }
        };
        let class = self.class(&rest[..length], flags)?;
        self.position += length;
        Ok(Ast::Class(class))
    }

    /// A counted repetition at the current position, as (min, max, its length in bytes).
    fn counted(&self) -> Result<Option<(u32, Option<u32>, usize)>, ParseError> {
        let Some(inner) = self.rest().strip_prefix('{') else {
            return Ok(None);
        };
        let Some(end) = inner.find('}') else {
            return Ok(None);
        };
        let number = |text: &str| -> Result<u32, ParseError> {
            text.parse()
                .ok()
                .filter(|&n| n <= MAX_REPEAT)
                .ok_or_else(|| {
                    self.bad(format!(
                        "a repetition must be counted from 0 to {MAX_REPEAT}"
                    ))
                })
        };
        let body = &inner[..end];
        if body.is_empty() || !body.bytes().all(|b| b.is_ascii_digit() || b == b',') {
            return Ok(None); // a literal brace
        }
        let (min, max) = match body.split_once(',') {
            None => (number(body)?, Some(number(body)?)),
            Some(("", max)) => (0, Some(number(max)?)),
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        if max.is_some_and(|max| max < min) {
            return Err(self.bad("the repetition's bounds are reversed"));
        }
        Ok(Some((min, max, end + 2)))
    }

    fn repetition(&mut self, atom: Ast) -> Result<Ast, ParseError> {
        let mut node = atom;
        loop {
            let (min, max, length) = match self.peek() {
                Some('*') => (0, None, 1),
                Some('+') => (1, None, 1),
                Some('?') => (0, Some(1), 1),
                Some('{') => match self.counted()? {
                    Some(counted) => counted,
                    None => return Ok(node),
                },
                _ => return Ok(node),
            };
            self.position += length;
            let greed = if self.eat("+") {
                Greed::Possessive
            } else if self.eat("?") {
                Greed::Lazy
            } else {
                Greed::Greedy
            };
            node = Ast::Repeat {
                node: Box::new(node),
                min,
                max,
                greed,
            };
        }
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
