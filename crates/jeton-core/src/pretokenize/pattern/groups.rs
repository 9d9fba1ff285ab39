//! Groups of Oniguruma's syntax: flags, names, conditions.

use super::ParseError;
use super::node::Node;
use super::oniguruma::{Flags, Group, Parser};

impl<'a> Parser<'a> {
    /// `(?i)` and the like, up to the parenthesis; None if something else stands here.
    pub(super) fn isolated_flags(&mut self, flags: Flags) -> Option<Flags> {
        let start = self.position;
        if !self.eat("(?") {
            return None;
        }
        let mut inner = flags;
        let mut enable = true;
        while let Some(c) = self.peek() {
            match c {
                '-' => enable = false,
                'i' => inner.ignore_case = enable,
                'm' => inner.dot_all = enable,
                'x' => inner.extended = enable,
                ')' => {
                    self.position += 1;
                    return Some(inner);
                }
                _ => break,
            }
            self.position += 1;
        }
        self.position = start;
        None
    }

    pub(super) fn group(&mut self, flags: Flags) -> Result<Node, ParseError> {
        let start = self.position;
        let refuse = |parser: &mut Self, what: &str| {
            parser.position = start;
            Err(parser.unsupported(what))
        };
        self.position += 1;
        if self.rest().starts_with('*') {
            return refuse(self, "a callout (*...)");
        }
        if !self.eat("?") {
            return if self.named {
                self.inside(flags)
            } else {
                self.capture(None, flags)
            };
        }
        for (opening, ahead, negative) in [
            ("=", true, false),
            ("!", true, true),
            ("<=", false, false),
            ("<!", false, true),
        ] {
            if self.eat(opening) {
                let node = Box::new(self.inside(flags)?);
                return Ok(Node::Look {
                    ahead,
                    negative,
                    node,
                });
            }
        }
        if self.eat(">") {
            return Ok(Node::Atomic(Box::new(self.inside(flags)?)));
        }
        for (opening, closing) in [("<", '>'), ("'", '\'')] {
            if self.eat(opening) {
                let name = self.name(closing)?;
                self.found_name = true;
                if self.groups.iter().any(|group| group.name == Some(name)) {
                    return Err(self.unsupported("a group name given twice"));
                }
                return self.capture(Some(name), flags);
            }
        }
        match self.peek() {
            Some('(') => return refuse(self, "a conditional (?(...)...)"),
            Some('~') => return refuse(self, "an absent group (?~...)"),
            Some('{') => return refuse(self, "a callout (?{...})"),
            Some('P') if !self.rest().starts_with("P:") => {
                return refuse(self, "a group (?P...)");
            }
            _ => {}
        }
        let mut inner = flags;
        let mut enable = true;
        loop {
            match self.next() {
                Some(':') => return self.inside(inner),
                Some('-') => enable = false,
                Some('i') => inner.ignore_case = enable,
                Some('m') => inner.dot_all = enable,
                Some('x') => inner.extended = enable,
                Some(c @ ('W' | 'D' | 'S' | 'P' | 'y' | 'C' | 'I' | 'L')) => {
                    return refuse(self, &format!("the group flag {c}"));
                }
                Some(c) => return Err(self.bad(format!("unknown group flag {c}"))),
                None => return Err(self.bad("the group does not end")),
            }
        }
    }

    fn name(&mut self, closing: char) -> Result<&'a str, ParseError> {
        let rest = self.rest();
        let end = rest
            .find(closing)
            .ok_or_else(|| self.bad("the group's name does not end"))?;
        let name = &rest[..end];
        let first = name.chars().next();
        if !first.is_some_and(|c| c.is_alphabetic() || c == '_')
            || !name.chars().all(|c| c.is_alphanumeric() || c == '_')
        {
            return Err(self.bad(format!("{name:?} is not the name of a group")));
        }
        self.position += end + closing.len_utf8();
        Ok(name)
    }

    fn capture(&mut self, name: Option<&'a str>, flags: Flags) -> Result<Node, ParseError> {
        let index = self.groups.len();
        self.groups.push(Group { name, ended: false });
        let node = Box::new(self.inside(flags)?);
        self.groups[index].ended = true;
        Ok(Node::Capture(node))
    }

    /// The inside of a group and its end.
    fn inside(&mut self, flags: Flags) -> Result<Node, ParseError> {
        let node = self.alternation(flags)?;
        if self.eat(")") {
            Ok(node)
        } else {
            Err(self.bad("the group does not end: ')' is missing"))
        }
    }
}
