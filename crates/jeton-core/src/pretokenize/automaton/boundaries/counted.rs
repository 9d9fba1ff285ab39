//! Runs of a class of which a match takes a few at a time, as `\p{N}{1,3}` does with digits.
//!
//! The characters around a place between two digits do not tell whether a match ends there: that depends on where the run
//! began. But where the match began is known by then, and all that is between is of the class; so counting is enough.

use super::super::DEAD;
use super::super::classes::ClassMap;
use super::possible::Possible;

/// Most characters of a match that are counted.
const MOST: usize = 15;

/// A class whose characters are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// A bit for each byte that is a character of the class; none if there is no such class.
    bytes: u128,
    /// How many a match takes of a run that is longer.
    n: usize,
}

impl Counted {
    /// The class whose characters come most often, of those that are counted.
    pub(super) fn new(classes: &ClassMap, possible: &Possible<'_>, weights: &[u64]) -> Self {
        let counted = (0..possible.n_classes())
            .filter_map(|class| Some((*weights.get(class)?, class, taken(possible, class)?)));
        let Some((_, class, n)) = counted.max() else {
            return Self::default();
        };
        let is_of_class = |&byte: &usize| usize::from(classes.single[byte]) == class;
        let bytes = (0..128).filter(is_of_class).map(|byte| 1 << byte).sum();
        Self { bytes, n }
    }

    /// Whether a match that begins at a place ends before the character at another one; None if counting does not tell.
    #[inline]
    pub(super) fn ends(&self, text: &[u8], from: usize, place: usize) -> Option<bool> {
        let n = place.wrapping_sub(from);
        if n > self.n {
            return None;
        }
        let run = text.get(from..=place)?;
        let is_counted = |&byte: &u8| byte < 128 && self.bytes >> byte & 1 != 0;
        run.iter().all(is_counted).then_some(n == self.n)
    }
}

/// How many characters of a class a match takes that begins with a longer run of them: always the same number, more than
/// one; None if it depends.
fn taken(possible: &Possible<'_>, class: usize) -> Option<usize> {
    let mut state = 1;
    for n in 1..=MOST {
        state = possible.to(state, class);
        let (accepts, next) = possible.step(state, class);
        if next == DEAD {
            return (accepts && n > 1).then_some(n);
        }
        // What comes behind the next character makes no end before it the match's.
        if !possible.ends_later[next as usize] {
            return None;
        }
    }
    None
}
