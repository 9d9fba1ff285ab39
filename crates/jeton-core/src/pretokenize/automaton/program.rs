//! The pattern as a program of small steps: what determinization starts from.

use regex_syntax::hir::ClassUnicode;

use super::BuildError;
use super::classes::ClassMap;
use crate::pretokenize::pattern::{Ast, Greed};

/// Most nodes before determinization.
const MAX_NODES: usize = 20_000;

/// A node of the program: what a position in the pattern does.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Consume a character of one of these classes.
    Consume {
        classes: Vec<u8>,
        next: usize,
    },
    /// Go on at each, the first preferred.
    Split(Vec<usize>),
    /// Go on if the next class (or the end) is in the list.
    Peek {
        classes: Vec<u8>,
        next: usize,
    },
    /// Go on if the last class is in the list. At the beginning of the text the last class is the
    /// end's.
    Behind {
        classes: Vec<u8>,
        next: usize,
    },
    Accept,
}

pub(super) struct Program {
    pub(super) nodes: Vec<Node>,
    pub(super) start: usize,
}

impl Program {
    pub(super) fn new(ast: &Ast, classes: &ClassMap) -> Result<Self, BuildError> {
        let mut program = Self {
            nodes: vec![Node::Accept],
            start: 0,
        };
        program.start = program.compile(ast, 0, classes)?;
        Ok(program)
    }

    fn push(&mut self, node: Node) -> Result<usize, BuildError> {
        if self.nodes.len() >= MAX_NODES {
            return Err(BuildError::TooLarge);
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    /// Compiles a node that goes on at `next`; returns where it starts.
    fn compile(&mut self, ast: &Ast, next: usize, classes: &ClassMap) -> Result<usize, BuildError> {
        match ast {
            Ast::Empty => Ok(next),
            Ast::Class(class) => self.push(Node::Consume {
                classes: classes.members(class).to_vec(),
                next,
            }),
            Ast::End => self.push(Node::Peek {
                classes: vec![classes.end_class()],
                next,
            }),
            Ast::NextIs(class) => self.push(Node::Peek {
                classes: classes.members(class).to_vec(),
                next,
            }),
            Ast::NextIsNot(class) => self.push(Node::Peek {
                classes: outside(classes, class),
                next,
            }),
            Ast::LastIs(class) => self.push(Node::Behind {
                classes: classes.members(class).to_vec(),
                next,
            }),
            Ast::LastIsNot(class) => self.push(Node::Behind {
                classes: outside(classes, class),
                next,
            }),
            Ast::Concat(nodes) => {
                let mut at = next;
                for node in nodes.iter().rev() {
                    at = self.compile(node, at, classes)?;
                }
                Ok(at)
            }
            Ast::Alternate(nodes) => {
                let mut starts = Vec::with_capacity(nodes.len());
                for node in nodes {
                    starts.push(self.compile(node, next, classes)?);
                }
                self.push(Node::Split(starts))
            }
            Ast::Repeat {
                node,
                min,
                max,
                greed,
            } => {
                let branch = |enter: usize, leave: usize| {
                    Node::Split(if *greed == Greed::Lazy {
                        vec![leave, enter]
                    } else {
                        vec![enter, leave]
                    })
                };
                let mut at = if let Some(max) = max {
                    let mut at = next;
                    for _ in *min..*max {
                        let enter = self.compile(node, at, classes)?;
                        at = self.push(branch(enter, next))?;
                    }
                    at
                } else {
                    let loop_at = self.push(Node::Split(Vec::new()))?;
                    let enter = self.compile(node, loop_at, classes)?;
                    self.nodes[loop_at] = branch(enter, next);
                    loop_at
                };
                for _ in 0..*min {
                    at = self.compile(node, at, classes)?;
                }
                Ok(at)
            }
        }
    }

    /// For each class the first one that is the same to all looks at the last character.
    pub(super) fn alike_behind(&self, classes: &ClassMap) -> Vec<u8> {
        let looks = |class: u8| -> Vec<bool> {
            let nodes = self.nodes.iter();
            let looks = nodes.filter_map(|node| match node {
                Node::Behind { classes, .. } => Some(classes.contains(&class)),
                _ => None,
            });
            looks.collect()
        };
        let all: Vec<_> = (0..=classes.end_class()).map(looks).collect();
        let first = |class| (0..).zip(&all).find(|&(_, other)| other == class);
        all.iter()
            .map(|class| first(class).map_or(0, |(first, _)| first))
            .collect()
    }

    /// Follows everything that consumes nothing, in order of preference, knowing the last class and
    /// the next. Returns whether an accepting position was reached; what is less preferred is then
    /// cut.
    pub(super) fn close(
        &self,
        at: usize,
        [last, class]: [u8; 2],
        seen: &mut [bool],
        out: &mut Vec<usize>,
    ) -> bool {
        // An explicit stack: programs can be long chains, and recursion could overflow.
        let mut stack = vec![at];
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match &self.nodes[at] {
                Node::Accept => return true,
                Node::Consume { .. } => out.push(at),
                Node::Split(targets) => stack.extend(targets.iter().rev()),
                Node::Peek { classes, next } => {
                    if classes.contains(&class) {
                        stack.push(*next);
                    }
                }
                Node::Behind { classes, next } => {
                    if classes.contains(&last) {
                        stack.push(*next);
                    }
                }
            }
        }
        false
    }
}

/// The classes outside a set, among them the end's class.
fn outside(classes: &ClassMap, set: &ClassUnicode) -> Vec<u8> {
    let inside = classes.members(set);
    (0..=classes.end_class())
        .filter(|class| !inside.contains(class))
        .collect()
}
