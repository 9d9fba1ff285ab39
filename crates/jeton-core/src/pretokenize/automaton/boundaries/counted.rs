//! Runs of a class of which a match takes a few at a time, as `\p{N}{1,3}` does with digits.
//!
//! The characters around a place between two digits do not tell whether a match ends there: that depends on where the run
//! began. But where the match began is known by then, and all that is between is of the class; so counting is enough.

use super::super::DEAD;
use super::super::classes::ClassMap;
use super::possible::Possible;
use super::tables::BLOCK;

/// Most characters of a match that are counted.
const MOST: usize = 15;

/// A class whose characters are counted.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    /// Whether a byte is a character of the class.
    has: [bool; 256],
    /// How many a match takes of a run that is longer; 0 if there is no such class.
    n: usize,
}

impl Counted {
    /// The class whose characters come most often, of those that are counted.
    pub(super) fn new(classes: &ClassMap, possible: &Possible<'_>, weights: &[u64]) -> Self {
        let counted = (0..possible.n_classes())
            .filter_map(|class| Some((*weights.get(class)?, class, taken(possible, class)?)));
        let Some((_, class, n)) = counted.max() else {
            return Self {
                has: [false; 256],
                n: 0,
            };
        };
        Self {
            has: std::array::from_fn(|byte| usize::from(classes.single[byte]) == class),
            n,
        }
    }

    /// As bytes: whether each byte is counted, and how many are taken.
    pub(super) fn to_bytes(&self) -> [u8; 257] {
        let mut bytes = [0; 257];
        for (byte, &has) in bytes.iter_mut().zip(&self.has) {
            *byte = u8::from(has);
        }
        bytes[256] = self.n as u8;
        bytes
    }

    /// What [`Self::to_bytes`] gave; None if nothing counts so.
    pub(super) fn from_bytes(bytes: &[u8; 257]) -> Option<Self> {
        let [has @ .., n] = bytes;
        let n = usize::from(*n);
        // Of a class that is not counted there is nothing; of others a match takes more than one.
        let is_possible = if n == 0 {
            has.iter().all(|&has| has == 0)
        } else {
            (2..=MOST).contains(&n) && has[128..].iter().all(|&has| has == 0)
        };
        is_possible.then(|| Self {
            has: has.map(|has| has != 0),
            n,
        })
    }

    /// Decides places of a block by counting from where a match begins, `place` the first of them: which are decided, and which
    /// of those are ends, a bit each. None are, where there are other characters between.
    #[inline]
    pub(super) fn decide(
        &self,
        text: &[u8],
        block: usize,
        from: usize,
        place: usize,
    ) -> (u64, u64) {
        if place.wrapping_sub(from) > self.n {
            return (0, 0);
        }
        let limit = text.len().min(block + BLOCK);
        let run = text.get(from..limit).unwrap_or_default();
        let n_run = run
            .iter()
            .take_while(|&&byte| self.has[usize::from(byte)])
            .count();
        // The characters on both sides of a place that is decided are counted.
        let Some(n_decided) = (from + n_run).checked_sub(place).filter(|&n| n > 0) else {
            return (0, 0);
        };
        let decided = u64::MAX >> (BLOCK - n_decided.min(BLOCK)) << (place - block);
        let mut ends = 0;
        let mut end = from + self.n;
        while end < from + n_run {
            if let Some(bit) = end.checked_sub(place) {
                ends |= 1 << (bit + place - block);
            }
            end += self.n;
        }
        (decided, ends)
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
