//! True if possessive repetition makes a difference.

use regex_syntax::hir::ClassUnicode;

use crate::pretokenize::pattern::{Ast, Greed};

/// Continuations of a part of the pattern: its first characters, and true if the match may end
/// there without a further condition.
#[derive(Clone)]
pub(super) struct Follow {
    pub(super) first: ClassUnicode,
    pub(super) may_end: bool,
}

/// First characters of a node, and whether it can match nothing.
fn first(node: &Ast) -> (ClassUnicode, bool) {
    match node {
        // Where a look-behind comes after what keeps all, there is no automaton.
        Ast::Empty | Ast::End | Ast::LastIs(_) | Ast::LastIsNot(_) => (ClassUnicode::empty(), true),
        Ast::Class(class) => (class.clone(), false),
        // A look-ahead consumes nothing, but these are the characters that let it pass.
        Ast::NextIs(class) => (class.clone(), true),
        Ast::NextIsNot(class) => {
            let mut outside = class.clone();
            outside.negate();
            (outside, true)
        }
        Ast::Concat(nodes) => {
            let mut set = ClassUnicode::empty();
            for node in nodes {
                let (more, nullable) = first(node);
                set.union(&more);
                if !nullable {
                    return (set, false);
                }
            }
            (set, true)
        }
        Ast::Alternate(nodes) => nodes.iter().map(first).fold(
            (ClassUnicode::empty(), false),
            |(mut set, nullable), (more, also)| {
                set.union(&more);
                (set, nullable || also)
            },
        ),
        Ast::Repeat { node, min, .. } => {
            let (set, nullable) = first(node);
            (set, nullable || *min == 0)
        }
    }
}

/// True if every possessive repetition behaves as a greedy one would.
///
/// For a repetition of one class this holds if giving a character back could never help. One of
/// three must hold. The rest starts with a character outside the class (the one given back is
/// inside). Or it may match nothing unconditionally: then nothing is ever given back. Or it is the
/// end of the text.
pub(super) fn possessive_is_greedy(node: &Ast, follow: &Follow) -> bool {
    match node {
        Ast::Concat(nodes) => {
            let mut follow = follow.clone();
            for node in nodes.iter().rev() {
                if !possessive_is_greedy(node, &follow) {
                    return false;
                }
                let (mut set, nullable) = first(node);
                if nullable {
                    set.union(&follow.first);
                }
                // A condition (end of text, look-ahead) means the match may not end freely.
                let free = !matches!(node, Ast::End | Ast::NextIs(_) | Ast::NextIsNot(_));
                follow = Follow {
                    first: set,
                    may_end: follow.may_end && nullable && free,
                };
            }
            true
        }
        Ast::Alternate(nodes) => nodes.iter().all(|node| possessive_is_greedy(node, follow)),
        Ast::Repeat {
            node, max, greed, ..
        } => {
            if *greed == Greed::Possessive {
                let Ast::Class(class) = node.as_ref() else {
                    return false;
                };
                let mut overlap = class.clone();
                overlap.intersect(&follow.first);
                return overlap.ranges().is_empty() || follow.may_end;
            }
            let mut inner = follow.clone();
            if *max != Some(1) {
                inner.first.union(&first(node).0);
            }
            possessive_is_greedy(node, &inner)
        }
        _ => true,
    }
}
