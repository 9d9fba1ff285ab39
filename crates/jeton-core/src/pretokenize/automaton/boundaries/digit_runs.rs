//! Runs of a class of which a match takes a few at a time, as `\p{N}{1,3}` does with digits.
//!
//! The characters around a place between two digits do not tell whether a match ends there: that
//! depends on where the run began. But where the match began is known by then, and all that is
//! between is of the class; so counting is enough. Runs of a block before which it is sure that a
//! match ends are counted together, as bits; they are most.

use std::ops::RangeInclusive;

use super::super::DEAD;
use super::super::classes::ClassMap;
use super::possible::Possible;
use super::tables::BLOCK;
use crate::cpu::dispatch::Kernel;

/// Most characters of a match that are counted.
const MAX_COUNTED: usize = 15;

/// A class whose characters are counted.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    /// True if a byte is a character of the class.
    has: [bool; 256],
    /// Bytes of the class, if they are side by side, as digits are, and there are any.
    bytes: Option<RangeInclusive<u8>>,
    /// How many a match takes of a run that is longer; 0 if there is no such class.
    n: usize,
}

impl Counted {
    /// The most frequent of the counted classes.
    pub(super) fn new(classes: &ClassMap, possible: &Possible<'_>, weights: &[u64]) -> Self {
        let counted = (0..possible.n_classes())
            .filter_map(|class| Some((*weights.get(class)?, class, taken(possible, class)?)));
        let Some((_, class, n)) = counted.max() else {
            return Self::of([false; 256], 0);
        };
        let has = std::array::from_fn(|byte| usize::from(classes.single[byte]) == class);
        Self::of(has, n)
    }

    fn of(has: [bool; 256], n: usize) -> Self {
        let there = || (0..=u8::MAX).filter(|&byte| has[usize::from(byte)]);
        let all = there().min().zip(there().max());
        let bytes = all.map(|(first, last)| first..=last);
        let bytes = bytes.filter(|bytes| bytes.len() == there().count());
        Self { has, bytes, n }
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

    /// Reads the bytes that [`Self::to_bytes`] gave; None if no class counts so.
    pub(super) fn from_bytes(bytes: &[u8; 257]) -> Option<Self> {
        let [has @ .., n] = bytes;
        let n = usize::from(*n);
        // An uncounted class has no bytes; a match takes more than one character of a counted one.
        let is_possible = if n == 0 {
            has.iter().all(|&has| has == 0)
        } else {
            (2..=MAX_COUNTED).contains(&n) && has[128..].iter().all(|&has| has == 0)
        };
        is_possible.then(|| Self::of(has.map(|has| has != 0), n))
    }

    /// Decides the unsure places of a block that lie in runs before which a match ends for certain.
    /// Returns a bit for each decided place, and a bit for each decided end. Other places depend on
    /// the text before them.
    #[inline]
    pub(super) fn decide_runs(
        &self,
        kernel: Kernel,
        block: &[u8; BLOCK],
        boundaries: u64,
        unsure: u64,
    ) -> (u64, u64) {
        let Some(bytes) = &self.bytes else {
            return (0, 0);
        };
        let counted = kernel.bytes_within(block, bytes);
        let begins = counted & !(counted << 1) & boundaries;
        // The sum has no bits of the runs that begin so: each carries to behind its end.
        let decided = counted & !counted.wrapping_add(begins) & !begins & unsure;
        // Places with `n` counted bytes before them and one behind.
        let full = (0..self.n).fold(counted, |full, _| full << 1 & counted);
        let (mut ends, mut end) = (0, begins << self.n & full);
        while end != 0 {
            ends |= end;
            end = end << self.n & full;
        }
        (decided, ends & decided)
    }

    /// Decides places of a block from `place` on, by counting from the beginning of a match.
    /// Returns a bit for each decided place, and a bit for each decided end. No place is decided if
    /// other characters stand between.
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

/// How many characters of a class a match takes that begins with a longer run of them: always the
/// same number, more than one; None if it depends.
fn taken(possible: &Possible<'_>, class: usize) -> Option<usize> {
    let mut state = 1;
    for n in 1..=MAX_COUNTED {
        state = possible.to(state, class);
        let (accepts, next) = possible.step(state, class);
        if next == DEAD {
            return (accepts && n > 1).then_some(n);
        }
        // The match may not end here, whatever comes behind the next character.
        if !possible.ends_later[next as usize] {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::dispatch::Level;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_decided_together_as_each_by_itself(
            block in prop::collection::vec(prop::sample::select(&b"0189 a:/"[..]), BLOCK),
            n in 2..=MAX_COUNTED,
            unsure in any::<u64>(),
            sure in any::<u64>(),
        ) {
            let block: [u8; BLOCK] = block.try_into().unwrap();
            let counted = Counted::of(std::array::from_fn(|byte| (byte as u8).is_ascii_digit()), n);
            let is_counted = |at: usize| block.get(at).is_some_and(u8::is_ascii_digit);
            // Certain is only what is not inside of a run.
            let begins = (0..BLOCK).filter(|&at| at == 0 || !is_counted(at - 1));
            let sure = sure & begins.fold(0, |all, at| all | 1 << at);
            let (mut decided, mut ends) = (0, 0);
            for from in (0..BLOCK).filter(|&from| sure >> from & 1 != 0 && is_counted(from)) {
                let (of_run, ends_there) = counted.decide(&block, 0, from, from + 1);
                decided |= of_run & unsure;
                ends |= ends_there & unsure;
            }
            for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
                prop_assert_eq!(counted.decide_runs(kernel, &block, sure, unsure), (decided, ends));
            }
        }
    }

    #[test]
    fn bytes_that_are_not_side_by_side_are_counted_run_by_run() {
        let has = std::array::from_fn(|byte| b"02".contains(&(byte as u8)));
        let counted = Counted::of(has, 3);
        assert_eq!(
            counted.decide_runs(Kernel::Portable, &[b'0'; BLOCK], 1, u64::MAX),
            (0, 0)
        );
        assert_eq!(counted.decide(b"02020", 0, 0, 1), (0b11110, 0b1000));
        assert_eq!(Counted::of([false; 256], 0).bytes, None);
    }
}
