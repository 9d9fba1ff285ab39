//! Matches in a text that may go on.

use super::classes::WIDE;
use super::{ACCEPT, Automaton, DEAD, FAR, Hopeless, is_noted};

/// Pieces that start at a place, whatever follows the present text.
enum Start {
    Match(usize),
    Nothing,
    /// The search came to the end of the text: what follows decides.
    Open,
}

impl Automaton {
    /// Calls `each` with the matches that no text behind this one can change, left to right.
    /// Returns the place up to which all is decided: the first one at which a search came to the
    /// end of the text, or that end.
    ///
    /// A search depends only on the text from its start to the character at which the automaton was
    /// dead. So a search that ended inside the text ends there, whatever follows.
    pub(crate) fn decided_matches(&self, text: &[u8], mut each: impl FnMut(usize, usize)) -> usize {
        let mut hopeless = Hopeless::default();
        let mut position = 0;
        while position < text.len() {
            match self.open_match_at(text, position, &mut hopeless) {
                Start::Match(end) => {
                    each(position, end);
                    position = end;
                }
                Start::Nothing => position += self.classes.width(text[position]),
                Start::Open => return position,
            }
        }
        text.len()
    }

    /// As `match_at`, but for the end of the text.
    fn open_match_at(&self, text: &[u8], start: usize, hopeless: &mut Hopeless) -> Start {
        let mut state = self.start_at(text, start);
        let mut position = start;
        let mut end = start;
        let mut known = true;
        loop {
            let Some(&byte) = text.get(position) else {
                return Start::Open;
            };
            let (class, width) = match self.classes.single[byte as usize] {
                WIDE => self.classes.wide(text, position),
                class => (class, 1),
            };
            let transition = self.transitions[state as usize * self.stride + class as usize];
            if transition & ACCEPT != 0 {
                end = position;
            }
            state = transition & !ACCEPT;
            if state == DEAD {
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
        if end > start {
            Start::Match(end)
        } else {
            Start::Nothing
        }
    }
}
