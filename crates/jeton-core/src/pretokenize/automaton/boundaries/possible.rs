//! States that an automaton can be in after given classes, wherever in a text.

use super::super::{ACCEPT, DEAD};

/// Most operations in the search for what three classes tell; published patterns need fewer than a
/// tenth.
const MAX_WORK: usize = 4_000_000;

/// A set of classes, a bit each.
pub(super) type Set = u64;

/// Outcomes of the automaton before each class, after given characters.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Outcome {
    /// Before these classes its match may end.
    pub(super) may_end: Set,
    /// Before these it may go on.
    pub(super) may_go_on: Set,
}

impl Outcome {
    fn or(self, other: Self) -> Self {
        Self {
            may_end: self.may_end | other.may_end,
            may_go_on: self.may_go_on | other.may_go_on,
        }
    }
}

/// The automaton as sets of states.
pub(super) struct Possible<'a> {
    transitions: &'a [u16],
    stride: usize,
    /// States from which a match ends later, whatever comes.
    pub(super) ends_later: Vec<bool>,
    /// For each state, what it may do before each class.
    outcomes: Vec<Outcome>,
}

impl<'a> Possible<'a> {
    pub(super) fn new(transitions: &'a [u16], stride: usize) -> Self {
        let n_states = transitions.len() / stride;
        // The largest set of states that accept before each class or go on in the set; the end of
        // the text is a class after which nothing goes on.
        let mut ends_later = vec![true; n_states];
        ends_later[DEAD as usize] = false;
        loop {
            let mut changed = false;
            for state in 1..n_states {
                if ends_later[state] {
                    let row = &transitions[state * stride..][..stride];
                    ends_later[state] = row
                        .iter()
                        .all(|&to| to & ACCEPT != 0 || ends_later[to as usize]);
                    changed |= !ends_later[state];
                }
            }
            if !changed {
                break;
            }
        }
        let outcome = |state: usize| -> Outcome {
            let mut outcome = Outcome::default();
            for class in 0..stride {
                let transition = transitions[state * stride + class];
                let to = (transition & !ACCEPT) as usize;
                if transition & ACCEPT != 0 && !ends_later[to] {
                    outcome.may_end |= 1 << class;
                }
                if to != DEAD as usize {
                    outcome.may_go_on |= 1 << class;
                }
            }
            outcome
        };
        let outcomes = (0..n_states).map(outcome).collect();
        Self {
            transitions,
            stride,
            ends_later,
            outcomes,
        }
    }

    /// How many classes there are, but for the end of the text, which comes behind them.
    pub(super) fn n_classes(&self) -> usize {
        self.stride - 1
    }

    /// True if a match may end before a character, and the state behind it.
    pub(super) fn step(&self, state: u16, class: usize) -> (bool, u16) {
        let transition = self.transitions[state as usize * self.stride + class];
        (transition & ACCEPT != 0, transition & !ACCEPT)
    }

    pub(super) fn to(&self, state: u16, class: usize) -> u16 {
        self.transitions[state as usize * self.stride + class] & !ACCEPT
    }

    /// The states that may have consumed a character of this class, if these were the ones before
    /// it.
    pub(super) fn after(&self, states: &[u16], class: usize) -> Vec<u16> {
        let mut after = Vec::new();
        self.put_after(states, class, &mut after);
        after
    }

    /// Replaces `after` with the states behind `class`.
    fn put_after(&self, states: &[u16], class: usize, after: &mut Vec<u16>) {
        after.clear();
        let mut add = |state: u16| {
            if state != DEAD && !after.contains(&state) {
                after.push(state);
            }
        };
        for &state in states {
            let outcome = self.outcomes[state as usize];
            if outcome.may_end >> class & 1 != 0 {
                add(self.to(1, class));
            }
            if outcome.may_go_on >> class & 1 != 0 {
                add(self.to(state, class));
            }
        }
    }

    /// For each class, the states in which the automaton may be after a character of it, anywhere
    /// in a text.
    pub(super) fn anywhere(&self, real: &[usize]) -> Vec<Vec<u16>> {
        let mut anywhere: Vec<Vec<u16>> = vec![Vec::new(); self.stride - 1];
        real.iter()
            .for_each(|&class| anywhere[class].push(self.to(1, class)));
        let mut new: Vec<u16> = anywhere.concat();
        while !new.is_empty() {
            let mut newer = Vec::new();
            for &class in real {
                for state in self.after(&new, class) {
                    if !anywhere[class].contains(&state) {
                        anywhere[class].push(state);
                        newer.push(state);
                    }
                }
            }
            new = newer;
        }
        anywhere
    }
}

/// Outcomes of three classes, then each other class: `[first][second][third]`.
pub(super) struct Table {
    outcomes: Vec<Outcome>,
    n: usize,
    /// Classes of which there are no characters.
    unreal: Set,
}

impl Table {
    pub(super) fn new(possible: &Possible<'_>, real: &[usize]) -> Option<Self> {
        let n = possible.stride - 1;
        let anywhere = possible.anywhere(real);
        let mut outcomes = Vec::with_capacity(n * n * n);
        let mut work = 0;
        let (mut behind_two, mut behind) = (Vec::new(), Vec::new());
        for first in &anywhere {
            for second in 0..n {
                possible.put_after(first, second, &mut behind_two);
                for third in 0..n {
                    possible.put_after(&behind_two, third, &mut behind);
                    work += behind.len() + 1;
                    let each = behind
                        .iter()
                        .map(|&state| possible.outcomes[state as usize]);
                    outcomes.push(each.fold(Outcome::default(), Outcome::or));
                }
                if work > MAX_WORK {
                    return None;
                }
            }
        }
        Some(Self {
            outcomes,
            n,
            unreal: (0..n)
                .filter(|class| !real.contains(class))
                .map(|class| 1 << class)
                .sum(),
        })
    }

    /// Outcomes of the last two classes if none of the last three taints: `[last but one][last]`.
    pub(super) fn of_two(&self, tainting: Set) -> Vec<Vec<Outcome>> {
        let taints = |class: usize| (tainting | self.unreal) >> class & 1 != 0;
        let mut two = vec![vec![Outcome::default(); self.n]; self.n];
        for first in (0..self.n).filter(|&class| !taints(class)) {
            for (second, row) in two
                .iter_mut()
                .enumerate()
                .filter(|(class, _)| !taints(*class))
            {
                for (third, outcome) in row.iter_mut().enumerate() {
                    if !taints(third) {
                        let index = (first * self.n + second) * self.n + third;
                        *outcome = outcome.or(self.outcomes[index]);
                    }
                }
            }
        }
        two
    }
}
