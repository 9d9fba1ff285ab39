//! Markers of chat formats and special tokens, found through disguises.
//!
//! A marker matches if its characters stand in the text in their order, each as itself, in another
//! case, or as a character that passes for it. Characters without ink between them do not count,
//! nor does a little white space.

use crate::table::Table;

/// White space between two characters of a marker, at most.
const MAX_SPACES_TOGETHER: usize = 2;
/// White space inside a marker, at most.
const MAX_SPACES: usize = 8;
/// Characters without ink inside a marker, at most.
const MAX_HIDDEN: usize = 256;
/// A shorter marker is not found through white space: `< s >` is arithmetic.
const MIN_SPACED: usize = 5;
/// Letters of a marker that no list has.
const UNKNOWN: std::ops::RangeInclusive<usize> = 2..=40;

#[derive(Clone, Debug, Default)]
struct Node {
    children: Vec<(char, u32)>,
    /// Characters of the marker that ends here; 0: none does.
    length: usize,
}

impl Node {
    #[inline]
    fn child(&self, char: char) -> Option<usize> {
        let found = self.children.iter().find(|child| child.0 == char);
        found.map(|child| child.1 as usize)
    }
}

/// Markers as a tree of their folded characters.
#[derive(Clone, Debug)]
pub struct Markers {
    nodes: Vec<Node>,
}

/// White space that may stand inside a marker.
pub(crate) fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r' | '\u{a0}' | '\u{3000}')
}

fn folded(table: &Table, char: char) -> char {
    match table.row(char).fold {
        0 => char,
        plain => char::from(plain),
    }
}

impl Markers {
    /// Makes the tree.
    pub fn new<T: AsRef<str>>(table: &Table, markers: &[T]) -> Self {
        let mut nodes = vec![Node::default()];
        for marker in markers {
            let mut at = 0;
            let mut length = 0;
            for char in marker.as_ref().chars() {
                let fold = folded(table, char);
                let next = nodes.len() as u32;
                at = match nodes[at].child(fold) {
                    Some(child) => child,
                    None => {
                        nodes[at].children.push((fold, next));
                        nodes.push(Node::default());
                        next as usize
                    }
                };
                length += 1;
            }
            if length > 0 {
                nodes[at].length = length;
            }
        }
        Self { nodes }
    }

    /// The folded characters with which markers begin, ascending.
    pub fn firsts(&self) -> Vec<char> {
        let mut firsts: Vec<char> = self.nodes[0].children.iter().map(|child| child.0).collect();
        firsts.sort_unstable();
        firsts
    }

    /// The end in bytes of the longest marker at the beginning of a text.
    pub fn find(&self, table: &Table, text: &str) -> Option<usize> {
        let (mut at, mut end) = (0_usize, None);
        let (mut spaces, mut together, mut hidden) = (0, 0, 0);
        for (offset, char) in text.char_indices() {
            if let Some(child) = self.nodes[at].child(folded(table, char)) {
                at = child;
                together = 0;
                let length = self.nodes[at].length;
                if length > 0 && (spaces == 0 || length >= MIN_SPACED) {
                    end = Some(offset + char.len_utf8());
                }
            } else if at == 0 {
                return None;
            } else if table.row(char).is_hidden() {
                hidden += 1;
                if hidden > MAX_HIDDEN {
                    break;
                }
            } else if is_space(char) {
                spaces += 1;
                together += 1;
                if together > MAX_SPACES_TOGETHER || spaces > MAX_SPACES {
                    break;
                }
            } else {
                break;
            }
        }
        end
    }
}

/// The end in bytes of `<|name|>` at the beginning of a text.
pub fn find_unknown(table: &Table, text: &str) -> Option<usize> {
    let mut letters = 0;
    let mut hidden = 0;
    // 0: the bracket, 1: the bar, 2: the name, 3: the bracket at the end.
    let mut state = 0;
    for (offset, char) in text.char_indices() {
        if state > 0 && table.row(char).is_hidden() {
            hidden += 1;
            if hidden > MAX_HIDDEN {
                return None;
            }
            continue;
        }
        let fold = folded(table, char);
        match (state, fold) {
            (0, '<') | (1, '|') => state += 1,
            (2, 'a'..='z' | '0'..='9' | '_' | '.' | ':' | '/' | '-' | '\u{2581}') => {
                letters += 1;
                if letters > *UNKNOWN.end() {
                    return None;
                }
            }
            (2, '|') if UNKNOWN.contains(&letters) => state = 3,
            (3, '>') => return Some(offset + char.len_utf8()),
            _ => return None,
        }
    }
    None
}
