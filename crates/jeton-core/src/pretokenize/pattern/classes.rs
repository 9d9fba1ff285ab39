//! Classes of characters in Oniguruma's syntax: brackets, POSIX names, properties, escapes.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::ParseError;
use super::node::Node;
use super::oniguruma::{Parser, negated};

/// Classes with a letter or a POSIX name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Alnum,
    Alpha,
    Ascii,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Word,
    Xdigit,
}

const POSIX: &[(&str, Kind)] = &[
    ("alnum", Kind::Alnum),
    ("alpha", Kind::Alpha),
    ("ascii", Kind::Ascii),
    ("blank", Kind::Blank),
    ("cntrl", Kind::Cntrl),
    ("digit", Kind::Digit),
    ("graph", Kind::Graph),
    ("lower", Kind::Lower),
    ("print", Kind::Print),
    ("punct", Kind::Punct),
    ("space", Kind::Space),
    ("upper", Kind::Upper),
    ("word", Kind::Word),
    ("xdigit", Kind::Xdigit),
];

impl Kind {
    /// The kind of an escape's letter.
    pub(super) fn of(letter: char) -> Self {
        match letter.to_ascii_lowercase() {
            'w' => Self::Word,
            's' => Self::Space,
            'd' => Self::Digit,
            _ => Self::Xdigit,
        }
    }

    fn posix(name: &str) -> Option<Self> {
        POSIX
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }

    /// The class in regex-syntax's words, found by asking Oniguruma for every character.
    fn expression(self, in_brackets: bool) -> &'static str {
        match self {
            Self::Alnum => r"[\p{Alphabetic}\p{Nd}]",
            Self::Alpha => r"\p{Alphabetic}",
            Self::Ascii => r"[\x00-\x7F]",
            Self::Blank => r"[\p{Zs}\t]",
            Self::Cntrl => r"\p{Cc}",
            Self::Digit => r"\p{Nd}",
            Self::Graph => r"[^\s\p{Cc}\p{Cn}]",
            Self::Lower => r"\p{Lowercase}",
            Self::Print => r"[[^\p{Cc}\p{Cn}]--[\x{2028}\x{2029}]]",
            Self::Punct => r"[\p{P}\p{S}]",
            Self::Space => r"\s",
            Self::Upper => r"\p{Uppercase}",
            Self::Word if in_brackets => r"[\w--[\x{200C}\x{200D}]]",
            // For Latin-1, Oniguruma uses another table, which has superscripts and fractions.
            Self::Word => r"[[\w\xB2\xB3\xB9\xBC-\xBE]--[\x{200C}\x{200D}]]",
            Self::Xdigit => r"[0-9A-Fa-f]",
        }
    }
}

pub(super) fn kind(
    parser: &Parser<'_>,
    kind: Kind,
    in_brackets: bool,
) -> Result<ClassUnicode, ParseError> {
    parser.class(kind.expression(in_brackets))
}

/// `\p{...}` from its brace on.
pub(super) fn property(
    parser: &mut Parser<'_>,
    negative: bool,
    in_brackets: bool,
) -> Result<ClassUnicode, ParseError> {
    let rest = parser.rest();
    let Some(end) = rest.find('}') else {
        return Err(parser.bad("'}' is missing"));
    };
    let (name, inverted) = match rest[1..end].strip_prefix('^') {
        Some(name) => (name, true),
        None => (&rest[1..end], false),
    };
    // Names are compared without spaces, hyphens, underscores and case.
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, ' ' | '-' | '_'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let class = match Kind::posix(&plain) {
        // The name is the general category's too, and that one has no symbols.
        Some(Kind::Punct) => parser.class(r"\p{P}")?,
        Some(found) => kind(parser, found, in_brackets)?,
        None => named(parser, name, &plain)?,
    };
    parser.position += end + 1;
    Ok(negated(class, negative != inverted))
}

fn named(parser: &Parser<'_>, name: &str, plain: &str) -> Result<ClassUnicode, ParseError> {
    let unknown = || parser.bad(format!("no property of characters has the name {name:?}"));
    if plain.starts_with("in") && blocks_begin_with_in(plain) {
        return Err(parser.bad(format!(
            "the Unicode block {name:?} is not supported; name its code points as a range"
        )));
    }
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(unknown());
    }
    parser
        .class(&format!(r"\p{{{plain}}}"))
        .map_err(|_| unknown())
}

/// True if a name is a block's: block names begin with "In", as do few other properties.
fn blocks_begin_with_in(plain: &str) -> bool {
    !matches!(plain, "inherited") && !plain.starts_with("inscriptional")
}

/// An escape that stands for one character, from its backslash on.
pub(super) fn escaped_char(parser: &mut Parser<'_>) -> Result<char, ParseError> {
    let start = parser.position;
    let fail = |parser: &mut Parser<'_>, reason: &str| {
        parser.position = start;
        Err(parser.bad(reason))
    };
    parser.position += 1;
    let Some(c) = parser.next() else {
        return fail(parser, "the pattern ends in a backslash");
    };
    let code = match c {
        't' => 0x09,
        'n' => 0x0A,
        'v' => 0x0B,
        'f' => 0x0C,
        'r' => 0x0D,
        'a' => 0x07,
        'b' => 0x08,
        'e' => 0x1B,
        'x' | 'o' if parser.rest().starts_with('{') => {
            let radix = if c == 'x' { 16 } else { 8 };
            let rest = parser.rest();
            let Some(end) = rest.find('}') else {
                return fail(parser, "'}' is missing");
            };
            let digits = &rest[1..end];
            if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
                return fail(parser, "an escape in braces holds one number of its base");
            }
            parser.position += end + 1;
            u32::from_str_radix(digits, radix).unwrap_or(u32::MAX)
        }
        'x' => {
            let code = number(parser, 16, 2);
            if code > 0x7F {
                return fail(
                    parser,
                    r"\x of a byte above 7F is not supported; write \x{...}",
                );
            }
            code
        }
        'u' => {
            let before = parser.position;
            let code = number(parser, 16, 4);
            if parser.position - before != 4 {
                return fail(parser, r"\u takes four hexadecimal digits");
            }
            code
        }
        '0'..='7' => {
            parser.position -= 1;
            let code = number(parser, 8, 3);
            if code > 0x7F {
                return fail(parser, "an octal escape above 177 is not supported");
            }
            code
        }
        'c' | 'C' | 'M' => return fail(parser, "a control or meta escape is not supported"),
        other => return Ok(other),
    };
    match char::from_u32(code) {
        Some(c) => Ok(c),
        None => fail(parser, "not a character"),
    }
}

/// Reads at most `most` digits.
fn number(parser: &mut Parser<'_>, radix: u32, most: usize) -> u32 {
    let mut value = 0;
    for _ in 0..most {
        let Some(digit) = parser.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        value = value * radix + digit;
        parser.position += 1;
    }
    value
}

/// A class under construction: its ranges are put in order once, at the end of an operand.
#[derive(Default)]
struct Set {
    ranges: Vec<ClassUnicodeRange>,
    /// Class before `&&`.
    before: Option<ClassUnicode>,
}

impl Set {
    fn add(&mut self, class: &ClassUnicode) {
        self.ranges.extend_from_slice(class.ranges());
    }

    fn range(&mut self, start: char, end: char) {
        self.ranges.push(ClassUnicodeRange::new(start, end));
    }

    fn and(&mut self) {
        let class = ClassUnicode::new(std::mem::take(&mut self.ranges));
        match &mut self.before {
            Some(before) => before.intersect(&class),
            None => self.before = Some(class),
        }
    }

    fn finish(mut self) -> ClassUnicode {
        self.and();
        self.before.unwrap_or_else(ClassUnicode::empty)
    }
}

/// A class in brackets. With case ignored it may match sequences as well ("ss" for "ß").
pub(super) fn bracket(parser: &mut Parser<'_>, ignore_case: bool) -> Result<Node, ParseError> {
    let (mut class, negative) = content(parser)?;
    if !ignore_case {
        return Ok(Node::Class(negated(class, negative)));
    }
    let sequences = parser.folds()?.class(&mut class, !negative);
    let mut branches = vec![Node::Class(negated(class, negative))];
    branches.extend(sequences);
    Ok(Node::alternate(branches))
}

/// Kind of the last element; it decides the meaning of a hyphen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Start,
    /// A character that may begin a range.
    Char(char),
    /// `\w` and the like.
    Class,
    /// A range or a nested class.
    Complete,
}

/// The content of brackets, from the opening one on: the class before negation, and whether it is
/// negated.
fn content(parser: &mut Parser<'_>) -> Result<(ClassUnicode, bool), ParseError> {
    parser.deeper()?;
    let start = parser.position;
    parser.position += 1;
    let negative = parser.eat("^");
    let mut set = Set::default();
    let mut last = Last::Start;
    // A bracket right at the start stands for itself if another one follows.
    if parser.rest().starts_with(']') {
        if !closes_later(&parser.rest()[1..]) {
            return Err(parser.bad("the class is empty"));
        }
        parser.position += 1;
        last = add_char(&mut set, ']');
    }
    loop {
        let Some(c) = parser.peek() else {
            parser.position = start;
            return Err(parser.bad("the class does not end: ']' is missing"));
        };
        match c {
            ']' => break,
            '[' => {
                if let Some(class) = posix(parser)? {
                    set.add(&class);
                    last = Last::Class;
                } else {
                    let (class, inverted) = content(parser)?;
                    set.add(&negated(class, inverted));
                    last = Last::Complete;
                }
            }
            '&' if parser.eat("&&") => {
                set.and();
                last = Last::Start;
            }
            '-' => {
                parser.position += 1;
                let closing = parser.rest().starts_with(']') || parser.rest().starts_with("&&");
                match last {
                    Last::Char(from) if !closing => last = range(parser, &mut set, from)?,
                    Last::Class if !closing => {
                        return Err(parser.bad("a range cannot begin with a class"));
                    }
                    _ => last = add_char(&mut set, '-'),
                }
            }
            '\\' => match escaped_class(parser)? {
                Some(class) => {
                    set.add(&class);
                    last = Last::Class;
                }
                None => {
                    let c = escaped_char(parser)?;
                    last = add_char(&mut set, c);
                }
            },
            _ => {
                parser.position += c.len_utf8();
                last = add_char(&mut set, c);
            }
        }
    }
    parser.position += 1;
    parser.shallower();
    Ok((set.finish(), negative))
}

/// True if a class that begins with `]` has another one, not escaped.
fn closes_later(rest: &str) -> bool {
    let mut bytes = rest.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b']' => return true,
            _ => {}
        }
    }
    false
}

/// A character of its own; it may yet begin a range.
fn add_char(set: &mut Set, c: char) -> Last {
    set.range(c, c);
    Last::Char(c)
}

/// The end of a range whose hyphen was read.
fn range(parser: &mut Parser<'_>, set: &mut Set, from: char) -> Result<Last, ParseError> {
    let to = match parser.peek() {
        None => return Err(parser.bad("the class does not end: ']' is missing")),
        Some('[') => return Err(parser.bad("a range cannot end with a class")),
        Some('\\') => {
            let before = parser.position;
            if escaped_class(parser)?.is_some() {
                parser.position = before;
                return Err(parser.bad("a range cannot end with a class"));
            }
            escaped_char(parser)?
        }
        Some(c) => {
            parser.position += c.len_utf8();
            c
        }
    };
    if to < from {
        return Err(parser.bad(format!("the range {from}-{to} is reversed")));
    }
    set.range(from, to);
    Ok(Last::Complete)
}

/// `\w`, `\p{...}` and the like inside brackets; None if the escape is a character.
fn escaped_class(parser: &mut Parser<'_>) -> Result<Option<ClassUnicode>, ParseError> {
    let mut characters = parser.rest()[1..].chars();
    let Some(c) = characters.next() else {
        return Err(parser.bad("the pattern ends in a backslash"));
    };
    match c {
        'w' | 'W' | 's' | 'S' | 'd' | 'D' | 'h' | 'H' => {
            parser.position += 2;
            let class = kind(parser, Kind::of(c), true)?;
            Ok(Some(negated(class, c.is_uppercase())))
        }
        'p' | 'P' if characters.next() == Some('{') => {
            parser.position += 2;
            property(parser, c == 'P', true).map(Some)
        }
        _ => Ok(None),
    }
}

/// `[:alpha:]` and the like; None if it is not one.
fn posix(parser: &mut Parser<'_>) -> Result<Option<ClassUnicode>, ParseError> {
    let Some(inner) = parser.rest().strip_prefix("[:") else {
        return Ok(None);
    };
    let (inner, inverted) = match inner.strip_prefix('^') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let end = inner.find(|c: char| !c.is_alphabetic());
    let name = &inner[..end.unwrap_or(inner.len())];
    if name.is_empty() || !inner[name.len()..].starts_with(":]") {
        return Ok(None); // a nested class
    }
    let Some(found) = Kind::posix(name) else {
        return Err(parser.bad(format!("there is no class [:{name}:]")));
    };
    let class = kind(parser, found, true)?;
    parser.position += "[:".len() + usize::from(inverted) + name.len() + ":]".len();
    Ok(Some(negated(class, inverted)))
}
