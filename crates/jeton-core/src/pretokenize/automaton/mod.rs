//! The general engine: any regular split pattern as one small automaton over character classes.
//!
//! A pattern distinguishes few kinds of characters (letters, digits, spaces, a handful of single
//! ones). So characters are first mapped to those classes (a 128-entry table for ASCII, a two-level
//! table for the rest). A deterministic automaton runs over classes, not bytes. It has a few dozen
//! states, takes one load per character whatever the script, and compiles nothing per text.
//!
//! Matching is leftmost-first, as in a backtracking engine: the states are *ordered* lists of
//! positions in the pattern, cut after the first that accepts. A look at the next character
//! (`\s+(?!\S)`, `$`) costs nothing extra: a state's transitions on the next character's class also
//! say whether the match may end just before it. A look at the last character (`\\b`) makes two
//! states of one, by that character. A match then begins in a state that depends on the character
//! before it.
//!
//! Worst case: a leftmost-first search may run far ahead and come back, again and again, which
//! makes naive iteration quadratic for patterns such as `a*b|a`. Where that happens, states that
//! proved hopeless at a position are remembered (T. Reps, "Maximal-munch tokenization in linear
//! time", TOPLAS 20(2), 1998), which bounds the whole text by states x characters.

mod boundaries;
mod classes;
mod possessive;
mod program;
mod raw;
mod resume;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use once_cell::race::OnceBox;
use regex_syntax::hir::ClassUnicode;

use self::boundaries::{Boundaries, Progress};
pub(crate) use self::classes::RawClasses;
use self::classes::{ClassMap, WIDE};
use self::possessive::{Follow, possessive_is_greedy};
use self::program::{Node, Program};
pub(crate) use self::raw::RawAutomaton;

use super::pattern::{Ast, Greed};
use crate::cpu::prefetch::ReadLater;

/// Most states an automaton may have; published patterns need fewer than 100.
const MAX_STATES: usize = 4096;
/// Most positions looked at while states are found; published patterns need fewer than a tenth.
const MAX_WORK: usize = 20_000_000;
/// Most possessive repetitions times parts of a pattern.
const MAX_POSSESSIVE_WORK: usize = 200_000;
/// A search that runs this many bytes beyond its match starts to remember hopeless states.
const FAR: usize = 128;
/// Bytes of text per remembered entry: hopeless states are remembered at the first character of
/// each such stretch. So a search walks at most this far in vain after [`FAR`].
const STRIDE: usize = 64;
/// Most remembered (state, position) pairs: 64 MB, for 256 MB of text with one state at each place.
/// Beyond it nothing more is remembered.
const MAX_REMEMBERED: usize = 4 << 20;

/// Text that is walked before boundaries are worked out, in bytes for each three classes in a row.
/// Working them out takes 0.5 ms for cl100k's pattern (14 classes), 0.8 for Llama 3's (17) and 4.6
/// for o200k's (29). Walking and looking up 34, 53 and 330 KB of known pretokens takes about as
/// long (2026-11, one core of a Xeon). So a process that encodes one prompt never pays for it, and
/// none pays more than twice the least possible cost. Tests have shorter texts, and see both ways.
const WALKED_FIRST: usize = if cfg!(test) { 0 } else { 12 };
/// Bytes that are walked first, whatever the pattern.
const WALKED_AT_LEAST: usize = 100;

/// Bit of a transition: the match may end before the character that was looked at.
const ACCEPT: u16 = 1 << 15;
/// The state from which nothing follows.
const DEAD: u16 = 0;

/// Why a pattern has no automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BuildError {
    /// A possessive repetition that is not the same as a greedy one.
    Possessive,
    /// Too many states, nodes or classes.
    TooLarge,
}

/// Boundaries that are worked out once enough text was seen to make it pay.
#[derive(Debug, Default)]
struct Later {
    made: OnceBox<Option<Boundaries>>,
    /// Bytes of text that were seen before.
    seen: AtomicUsize,
}

impl Later {
    fn made(boundaries: Boundaries) -> Self {
        Self {
            made: OnceBox::with_value(Box::new(Some(boundaries))),
            ..Self::default()
        }
    }

    fn never() -> Self {
        Self {
            made: OnceBox::with_value(Box::new(None)),
            ..Self::default()
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Automaton {
    classes: ClassMap,
    /// `transitions[state * stride + class]`; the class `end_class` stands for the end of the text.
    transitions: Vec<u16>,
    stride: usize,
    start: u16,
    /// The state in which a match begins behind a character of each class, where the pattern looks
    /// at that.
    behind: Option<Vec<u16>>,
    boundaries: Later,
}

impl Automaton {
    /// Compiles a pattern. `in_byte_alphabet`: it sees each byte as a character of GPT-2's
    /// alphabet.
    pub(crate) fn new(ast: &Ast, in_byte_alphabet: bool) -> Result<Self, BuildError> {
        // The check below looks from each possessive repetition over all that follows.
        let (n_nodes, n_possessive) = size(ast);
        if n_nodes * n_possessive > MAX_POSSESSIVE_WORK {
            return Err(BuildError::TooLarge);
        }
        // A look-behind could make a greedy repetition give back characters that a possessive one
        // keeps.
        let is_greedy = |ast: &Ast| {
            let nothing = Follow {
                first: ClassUnicode::empty(),
                may_end: true,
            };
            !ast.looks_behind() && possessive_is_greedy(ast, &nothing)
        };
        if n_possessive > 0 && !is_greedy(ast) {
            return Err(BuildError::Possessive);
        }
        let mut classes = ClassMap::new(ast)?;
        if in_byte_alphabet {
            classes.see_bytes();
        }
        let program = Program::new(ast, &classes)?;
        let mut automaton = determinize(&program, classes)?;
        if in_byte_alphabet || automaton.looks_behind() {
            automaton.boundaries = Later::never();
        }
        Ok(automaton)
    }

    /// True if matches depend on the text before them. A part of a text then has other matches than
    /// the whole.
    pub(crate) fn looks_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// The state in which a match begins at a place.
    #[inline]
    fn start_at(&self, text: &[u8], place: usize) -> u16 {
        match &self.behind {
            None => self.start,
            Some(behind) => behind[usize::from(self.classes.before(text, place))],
        }
    }

    /// Returns the boundary tables for a text of `n_bytes` bytes; None if they decide too little,
    /// for bytes that are seen as characters, and as long as little text was seen.
    #[inline]
    fn boundaries(&self, n_bytes: usize) -> Option<&Boundaries> {
        match self.boundaries.made.get() {
            Some(boundaries) => boundaries.as_ref(),
            None => self.make_boundaries(n_bytes),
        }
    }

    #[cold]
    fn make_boundaries(&self, n_bytes: usize) -> Option<&Boundaries> {
        let seen = self.boundaries.seen.fetch_add(n_bytes, Ordering::Relaxed);
        let first = (WALKED_FIRST * self.stride.pow(3)).max(WALKED_AT_LEAST);
        if seen.saturating_add(n_bytes) < first {
            return None;
        }
        self.made_boundaries()
    }

    /// Returns the boundary tables, made at once however little text was seen.
    fn made_boundaries(&self) -> Option<&Boundaries> {
        let made = || {
            let made = Boundaries::new(&self.classes, &self.transitions, self.stride);
            Box::new(made)
        };
        self.boundaries.made.get_or_init(made).as_ref()
    }

    /// A place of a part of a text where a match ends, whatever is around that part; None if the
    /// characters there do not tell of any.
    pub(crate) fn sure_end(&self, part: &str) -> Option<usize> {
        self.made_boundaries()?.sure_end(part.as_bytes())
    }

    /// The end of the match that starts exactly at `start`, if there is a non-empty one.
    #[inline]
    fn match_at(&self, text: &[u8], start: usize, hopeless: &mut Hopeless) -> Option<usize> {
        let mut state = self.start_at(text, start);
        let mut position = start;
        let mut end = start;
        // True if every place walked in vain is remembered already.
        let mut known = true;
        loop {
            let (class, width) = match text.get(position) {
                Some(&byte) => match self.classes.single[byte as usize] {
                    WIDE => self.classes.wide(text, position),
                    class => (class, 1),
                },
                None => (self.classes.end_class(), 0),
            };
            let transition = self.transitions[state as usize * self.stride + class as usize];
            if transition & ACCEPT != 0 {
                end = position;
            }
            state = transition & !ACCEPT;
            if state == DEAD || width == 0 {
                known = false;
                break;
            }
            position += width;
            if position - end > FAR && is_noted(position, width) {
                if hopeless.is_hopeless(state, position) {
                    break;
                }
                known = false;
            }
        }
        if position - end > FAR && !known {
            self.remember(text, start, end, position, hopeless);
        }
        (end > start).then_some(end)
    }

    /// Walks again and notes every state after the match's end: none of them led to a match.
    #[cold]
    fn remember(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        until: usize,
        hopeless: &mut Hopeless,
    ) {
        let mut state = self.start_at(text, start);
        let mut position = start;
        while position < until {
            let (class, width) = match text.get(position) {
                Some(&byte) => match self.classes.single[byte as usize] {
                    WIDE => self.classes.wide(text, position),
                    class => (class, 1),
                },
                None => return,
            };
            state = self.transitions[state as usize * self.stride + class as usize] & !ACCEPT;
            position += width;
            if position > end && state != DEAD && is_noted(position, width) {
                hopeless.insert(state, position);
            }
        }
    }

    /// All matches, left to right; characters where nothing matches lie between them.
    #[inline]
    pub(crate) fn matches<'t>(&self, text: &'t [u8]) -> Matches<'_, 't> {
        Matches {
            automaton: self,
            text,
            position: 0,
            hopeless: Hopeless::default(),
        }
    }

    /// The whole text as pieces: matches, and what lies between them.
    #[inline]
    pub(crate) fn pieces<'t>(&self, text: &'t [u8]) -> Pieces<'_, 't> {
        // Before anything is written: what was written just now is not moved elsewhere then, which
        // waits.
        let boundaries = self.boundaries(text.len());
        Pieces {
            matches: self.matches(text),
            position: 0,
            pending: None,
            boundaries,
            progress: Progress::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn n_states(&self) -> usize {
        self.transitions.len() / self.stride
    }
}

/// True if a place behind a character is one where states are remembered: the first in its stride.
#[inline]
fn is_noted(position: usize, width: usize) -> bool {
    position / STRIDE != (position - width) / STRIDE
}

/// States and places.
type StatesAt = HashSet<(u16, usize), foldhash::fast::FixedState>;

/// States known to lead to no match, by position. None (and free) unless a search ran far ahead.
#[derive(Default)]
struct Hopeless(Option<Box<StatesAt>>);

impl Hopeless {
    #[inline]
    fn is_hopeless(&self, state: u16, position: usize) -> bool {
        let states = self.0.as_ref();
        states.is_some_and(|states| states.contains(&(state, position)))
    }

    fn insert(&mut self, state: u16, position: usize) {
        let states = self.0.get_or_insert_default();
        if states.len() < MAX_REMEMBERED {
            states.insert((state, position));
        }
    }
}

/// Iterator over matches as byte ranges.
pub(crate) struct Matches<'a, 't> {
    automaton: &'a Automaton,
    text: &'t [u8],
    position: usize,
    hopeless: Hopeless,
}

impl Iterator for Matches<'_, '_> {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        while self.position < self.text.len() {
            let start = self.position;
            if let Some(end) = self
                .automaton
                .match_at(self.text, start, &mut self.hopeless)
            {
                self.position = end;
                return Some((start, end));
            }
            self.position += self.automaton.classes.width(self.text[start]);
        }
        None
    }
}

/// Iterator over matches and the gaps between them.
pub struct Pieces<'a, 't> {
    matches: Matches<'a, 't>,
    position: usize,
    pending: Option<(usize, usize)>,
    /// None: each end is walked to.
    boundaries: Option<&'a Boundaries>,
    progress: Progress,
}

impl Pieces<'_, '_> {
    /// Sets the addresses to fetch while boundaries are found.
    pub(crate) fn set_later(&mut self, later: ReadLater) {
        self.progress.later = later;
    }

    /// Writes the ends of the next pieces, up to `ends.len()` of them; each piece begins at the end
    /// of the one before. Returns their number: 0 at the end of the text.
    #[inline(always)]
    pub fn ends(&mut self, ends: &mut [usize]) -> usize {
        let Matches {
            automaton,
            text,
            hopeless,
            ..
        } = &mut self.matches;
        let Some(boundaries) = self.boundaries else {
            let mut n = 0;
            for (place, (_, end)) in ends.iter_mut().zip(self) {
                *place = end;
                n += 1;
            }
            return n;
        };
        let mut n = 0;
        loop {
            let (more, walk) = automaton.tell_ends(
                boundaries,
                &mut self.progress,
                text,
                self.position,
                &mut ends[n..],
            );
            n += more;
            if more > 0 {
                self.position = ends[n - 1];
            }
            if !walk || n == ends.len() {
                return n;
            }
            // Every character begins a match, or there were no boundaries to tell.
            let end = automaton.match_at(text, self.position, hopeless);
            self.position = end.unwrap_or(text.len());
            ends[n] = self.position;
            n += 1;
        }
    }
}

impl Iterator for Pieces<'_, '_> {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        let found = self.pending.take().or_else(|| self.matches.next());
        let start = found.map_or(self.matches.text.len(), |(start, _)| start);
        if start > self.position {
            self.pending = found;
            return Some((std::mem::replace(&mut self.position, start), start));
        }
        self.position = found?.1;
        found
    }
}

/// Parts of a pattern, and how many of them are possessive repetitions.
fn size(ast: &Ast) -> (usize, usize) {
    match ast {
        Ast::Concat(nodes) | Ast::Alternate(nodes) => nodes
            .iter()
            .map(size)
            .fold((1, 0), |(n, p), (more, also)| (n + more, p + also)),
        Ast::Repeat { node, greed, .. } => {
            let (n, p) = size(node);
            (n + 1, p + usize::from(*greed == Greed::Possessive))
        }
        _ => (1, 0),
    }
}

/// Makes the ordered-subset automaton of a program.
fn determinize(program: &Program, classes: ClassMap) -> Result<Automaton, BuildError> {
    let end_class = classes.end_class();
    let stride = usize::from(end_class) + 1;
    let alike = program.alike_behind(&classes);
    let mut states = States::default();
    states.id(0, Vec::new())?; // dead
    // A match begins behind a character of some class, if that makes a difference.
    let behind: Vec<u16> = alike
        .iter()
        .map(|&last| states.id(last, vec![program.start]))
        .collect::<Result<_, _>>()?;
    let mut transitions = vec![DEAD; stride];
    let mut state = 1;
    let mut seen = vec![false; program.nodes.len()];
    let mut work = 0;
    while let Some((last, positions)) = states.lists.get(state).cloned() {
        for class in 0..=end_class {
            seen.fill(false);
            let mut consuming = Vec::new();
            let mut accept = false;
            for &at in &positions {
                if program.close(at, [last, class], &mut seen, &mut consuming) {
                    accept = true;
                    break;
                }
            }
            let mut target: Vec<usize> = Vec::new();
            if class != end_class {
                for at in consuming {
                    if let Node::Consume { classes, next } = &program.nodes[at]
                        && classes.contains(&class)
                        && !target.contains(next)
                    {
                        target.push(*next);
                    }
                }
            }
            // Targets are searched for duplicates, one by one.
            work += positions.len() + target.len() * (1 + target.len() / 16) + seen.len() / 16;
            if work > MAX_WORK {
                return Err(BuildError::TooLarge);
            }
            let id = states.id(alike[usize::from(class)], target)?;
            transitions.push(if accept { id | ACCEPT } else { id });
        }
        state += 1;
    }
    Ok(Automaton {
        classes,
        transitions,
        stride,
        start: 1,
        behind: behind.iter().any(|&state| state != 1).then_some(behind),
        boundaries: Later::default(),
    })
}

/// A state: the last class, as far as it makes a difference, and the ordered list of program
/// positions from which matching goes on.
type State = (u8, Vec<usize>);

/// The states found so far.
#[derive(Default)]
struct States {
    ids: HashMap<State, u16>,
    lists: Vec<State>,
}

impl States {
    /// The number of a state, which is new if nobody knows it. From no position nothing follows,
    /// whatever was last.
    fn id(&mut self, last: u8, positions: Vec<usize>) -> Result<u16, BuildError> {
        let last = if positions.is_empty() { 0 } else { last };
        let state = (last, positions);
        if let Some(&id) = self.ids.get(&state) {
            return Ok(id);
        }
        if self.lists.len() >= MAX_STATES {
            return Err(BuildError::TooLarge);
        }
        let id = self.lists.len() as u16;
        self.ids.insert(state.clone(), id);
        self.lists.push(state);
        Ok(id)
    }
}

#[cfg(test)]
mod tests;
