//! Repetitions of Oniguruma's syntax, and how it reduces nested ones.

use super::node::Node;
use super::oniguruma::{Flags, Parser};
use super::{Greed, MAX_ATOMS, MAX_REPEAT, ParseError};

impl Parser<'_> {
    /// True if a repetition stands here.
    pub(super) fn repetition_ahead(&self) -> Result<bool, ParseError> {
        Ok(match self.peek() {
            Some('*' | '+' | '?') => true,
            Some('{') => self.counted()?.is_some(),
            _ => false,
        })
    }

    /// A counted repetition at the current position: its bounds and its length in bytes.
    pub(super) fn counted(&self) -> Result<Option<(u32, Option<u32>, usize)>, ParseError> {
        let Some((body, _)) = self
            .rest()
            .strip_prefix('{')
            .and_then(|r| r.split_once('}'))
        else {
            return Ok(None);
        };
        let (min, max) = match body.split_once(',') {
            None => (body, Some(body)),
            Some((min, "")) => (min, None),
            Some((min, max)) => (min, Some(max)),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(min) || !max.is_none_or(digits) || min.is_empty() && body.len() < 2 {
            return Ok(None); // braces that stand for themselves
        }
        let number = |text: &str| match text.parse::<u32>() {
            _ if text.is_empty() => Ok(0),
            Ok(n) if n <= MAX_REPEAT => Ok(n),
            _ => Err(self.bad(format!(
                "a repetition must be counted from 0 to {MAX_REPEAT}"
            ))),
        };
        Ok(Some((
            number(min)?,
            max.map(number).transpose()?,
            body.len() + 2,
        )))
    }

    pub(super) fn repetitions(&mut self, mut node: Node, flags: Flags) -> Result<Node, ParseError> {
        loop {
            self.skip_ignored(flags)?;
            let counted = match self.peek() {
                Some('{') => self.counted()?,
                _ => None,
            };
            let (min, max, length) = match self.peek() {
                Some('*') => (0, None, 1),
                Some('+') => (1, None, 1),
                Some('?') => (0, Some(1), 1),
                _ => match counted {
                    Some(counted) => counted,
                    None => return Ok(node),
                },
            };
            if matches!(node, Node::Assert(_) | Node::Look { .. }) {
                return Err(self.bad("a condition on a place cannot be repeated"));
            }
            self.n_atoms += 1;
            if self.n_atoms > MAX_ATOMS {
                return Err(self.bad(format!("more than {MAX_ATOMS} parts")));
            }
            self.position += length;
            let reversed = max.is_some_and(|max| max < min);
            let (min, max) = if reversed {
                (max.unwrap_or(min), Some(min))
            } else {
                (min, max)
            };
            let fixed = counted.is_some() && max == Some(min);
            let greed = if reversed {
                Greed::Possessive
            } else if !fixed && self.eat("?") {
                Greed::Lazy
            } else if counted.is_none() && self.eat("+") {
                Greed::Possessive
            } else {
                Greed::Greedy
            };
            node = repeated(node, min, max, greed);
        }
    }
}

/// The six repetitions that Oniguruma knows by name: greedy `?`, `*`, `+`, then lazy.
fn popular(min: u32, max: Option<u32>, greed: Greed) -> Option<usize> {
    let index = match (min, max) {
        (0, Some(1)) => 0,
        (0, None) => 1,
        (1, None) => 2,
        _ => return None,
    };
    match greed {
        Greed::Greedy => Some(index),
        Greed::Lazy => Some(index + 3),
        Greed::Possessive => None,
    }
}

/// A repetition; one of a repetition is reduced to one as Oniguruma reduces it.
fn repeated(node: Node, min: u32, max: Option<u32>, greed: Greed) -> Node {
    use Greed::{Greedy, Lazy};
    if min == 1 && max == Some(1) {
        return node;
    }
    let wrap = |node: Box<Node>, min, max, greed| Node::Repeat {
        node,
        min,
        max,
        greed,
    };
    let (inner, low, high, inner_greed) = match node {
        Node::Repeat {
            node,
            min,
            max,
            greed: inner_greed @ (Greedy | Lazy),
        } => (node, min, max, inner_greed),
        other => return wrap(Box::new(other), min, max, greed),
    };
    let asis = |inner| {
        let inside = wrap(inner, low, high, inner_greed);
        wrap(Box::new(inside), min, max, greed)
    };
    let base = if greed == Greed::Possessive {
        Greedy
    } else {
        greed
    };
    let reduced = match (popular(low, high, inner_greed), popular(min, max, base)) {
        (Some(1 | 2), None) if greed == Greedy && max.is_some_and(|max| max > 1) => {
            // (?:a*){n,m} is (?:a*){n}; a second run would find nothing left.
            let n = if min == 0 { 1 } else { min };
            let inside = wrap(inner, low, high, inner_greed);
            return match (min, n) {
                (1, 1) => inside,
                _ => wrap(Box::new(inside), min, Some(n), greed),
            };
        }
        (Some(child), Some(parent)) => match (child, parent) {
            (0, 1 | 2) | (2, 0 | 1) | (5, 1) => wrap(inner, 0, None, Greedy),
            (0, 3) => wrap(inner, 0, Some(1), Lazy),
            (0, 4) | (3, 1 | 2 | 4 | 5) | (5, 3 | 4) => wrap(inner, 0, None, Lazy),
            (1, 3 | 4) | (2, 4) => {
                let inside = wrap(inner, 1, None, Greedy);
                wrap(Box::new(inside), 0, Some(1), Lazy)
            }
            (5, 2) => wrap(inner, 1, None, Greedy),
            (0, 5) | (2, 3) | (5, 0) => return asis(inner),
            _ => wrap(inner, low, high, inner_greed),
        },
        _ => return asis(inner),
    };
    if greed == Greed::Possessive {
        Node::Atomic(Box::new(reduced))
    } else {
        reduced
    }
}
