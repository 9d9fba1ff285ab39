//! The tables of an automaton whose kinds of characters are known.

use super::super::DEAD;
use super::super::classes::{ClassMap, WIDE};
use super::possible::{Possible, Set};
use super::table_reduction::{self, Costs, either};
use super::tables::{
    BOUNDARY, MAX_KINDS, MAX_RULES, MAX_SLICES, RUN, TAINTED_BOUNDARY, TAINTED_UNSURE, TAINTS,
    Table, Tables, UNSURE,
};

/// Most operations in the search for what runs come to.
const MAX_WORK: usize = 4_000_000;

/// How often characters of a kind come at least, in thousandths.
const MIN_WEIGHT: u64 = 5;

/// Outcomes at a place: its match may end there, or go on.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Outcomes {
    end: bool,
    go_on: bool,
}

impl Outcomes {
    fn or(self, other: Self) -> Self {
        Self {
            end: self.end | other.end,
            go_on: self.go_on | other.go_on,
        }
    }
}

/// Packs the outcomes of a clean place and of a tainted one.
fn flags(clean: Outcomes, tainted: Outcomes) -> u8 {
    let mut flags = 0;
    for (may, boundary, unsure) in [
        (clean, BOUNDARY, UNSURE),
        (tainted, TAINTED_BOUNDARY, TAINTED_UNSURE),
    ] {
        flags |= match (may.end, may.go_on) {
            (true, true) => unsure,
            (true, false) => boundary,
            (false, _) => 0,
        };
    }
    flags
}

/// The states that the automaton may be in behind two characters, where nothing taints and where
/// something does.
struct StateSets {
    clean: Vec<u16>,
    tainted: Vec<u16>,
}

/// Outcomes behind two characters.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// By the next kind and the one after it; behind all kinds the end of the text. The flags of
    /// one next kind lie side by side: rows are compared and joined by the thousand.
    pub(super) all_flags: Vec<u8>,
    /// Kinds, and the end of the text.
    pub(super) n_after: usize,
    /// By the kind that ends a run of the run's kinds.
    pub(super) after_run: Vec<u8>,
}

impl Row {
    /// Flags of the row before a next kind.
    pub(super) fn flags(&self, next: usize) -> &[u8] {
        &self.all_flags[next * self.n_after..][..self.n_after]
    }

    /// Flags of the row before a next kind, mutable.
    pub(super) fn flags_mut(&mut self, next: usize) -> &mut [u8] {
        &mut self.all_flags[next * self.n_after..][..self.n_after]
    }

    pub(super) fn n_next(&self) -> usize {
        self.all_flags.len() / self.n_after
    }
}

struct Builder<'a> {
    possible: &'a Possible<'a>,
    members: &'a [Vec<usize>],
    end_class: usize,
    work: usize,
}

impl Builder<'_> {
    /// Outcomes of the match of a state before two characters.
    fn before(&self, state: u16, next: usize, after: usize) -> Outcomes {
        let (accepts, to) = self.possible.step(state, next);
        if to == DEAD {
            return Outcomes {
                end: accepts,
                go_on: false,
            };
        }
        let (later, to) = self.possible.step(to, after);
        if later {
            return Outcomes {
                end: false,
                go_on: true,
            };
        }
        if to == DEAD {
            return Outcomes {
                end: accepts,
                go_on: false,
            };
        }
        Outcomes {
            end: accepts && !self.possible.ends_later[to as usize],
            go_on: true,
        }
    }

    fn before_kinds(&mut self, states: &[u16], next: usize, after: &[usize]) -> Outcomes {
        let mut may = Outcomes::default();
        for &state in states {
            for &next in &self.members[next] {
                self.work += after.len();
                for &after in after {
                    may = may.or(self.before(state, next, after));
                }
            }
        }
        may
    }

    /// Outcomes of the match of these states before any run of characters of these kinds, by the
    /// kind that ends the run.
    fn before_runs(&mut self, states: &[u16], run: &[usize]) -> Vec<Outcomes> {
        let mut may = vec![Outcomes::default(); self.members.len()];
        let run: Vec<usize> = run
            .iter()
            .flat_map(|&kind| self.members[kind].clone())
            .collect();
        for &state in states {
            for &first in &run {
                let (accepts, to) = self.possible.step(state, first);
                // Where the automaton may be at the end of the run, and whether a match has ended
                // later than here.
                let mut reached = vec![(to, false)];
                let mut at = 0;
                while let Some(&(from, later)) = reached.get(at) {
                    at += 1;
                    if from == DEAD {
                        continue;
                    }
                    for &class in &run {
                        let (again, to) = self.possible.step(from, class);
                        let place = (to, later || again);
                        if !reached.contains(&place) {
                            reached.push(place);
                        }
                    }
                }
                self.work += reached.len() * reached.len();
                for &(from, later) in &reached {
                    for (kind, may) in may.iter_mut().enumerate() {
                        for &class in &self.members[kind] {
                            let (again, to) = self.possible.step(from, class);
                            let later = later || again;
                            let alive = to != DEAD;
                            let surely = alive && self.possible.ends_later[to as usize];
                            *may = may.or(Outcomes {
                                end: accepts && !later && !surely,
                                go_on: later || alive,
                            });
                        }
                    }
                }
            }
        }
        may
    }

    /// Frequency of a kind's characters. Kinds without an ASCII character have no known frequency:
    /// marks are half of some scripts, and other texts have none.
    fn weight(&self, weights: &[u64], kind: usize) -> u64 {
        let members = self.members[kind].iter();
        let weight: u64 = members.map(|&class| weights[class]).sum();
        weight.max(MIN_WEIGHT)
    }

    /// The kind whose runs leave most unsure where nothing taints, and the kinds that behave like
    /// it before any other.
    fn run_kinds(
        &mut self,
        behind: &[Vec<StateSets>],
        weights: &[u64],
        taints: &dyn Fn(usize) -> bool,
    ) -> Vec<usize> {
        let n = self.members.len();
        let all: Vec<u64> = (0..n).map(|kind| self.weight(weights, kind)).collect();
        let (mut run, mut most) = (Vec::new(), 0);
        for kind in (0..n).filter(|&kind| !taints(kind)) {
            let mut unsure = 0;
            for (last_but_one, row) in behind.iter().enumerate() {
                for (last, behind) in row.iter().enumerate() {
                    if taints(last) || taints(last_but_one) || last == kind {
                        continue;
                    }
                    let may = self.before_kinds(&behind.clean, kind, &self.members[kind]);
                    if may.end && may.go_on {
                        unsure += all[kind] * all[last] * all[last_but_one];
                    }
                }
            }
            if unsure > most {
                (run, most) = (vec![kind], unsure);
            }
        }
        let Some(&first) = run.first() else {
            return run;
        };
        for other in (0..n).filter(|&kind| kind != first && !taints(kind)) {
            let mut is_alike = true;
            for behind in behind.iter().flatten() {
                for after in 0..n {
                    let may = |builder: &mut Self, kind| {
                        builder.before_kinds(&behind.clean, kind, &builder.members[after])
                    };
                    is_alike &= may(self, first) == may(self, other);
                }
            }
            if is_alike {
                run.push(other);
            }
        }
        run
    }

    fn row(&mut self, behind: &StateSets, run: &[usize]) -> Row {
        let n = self.members.len();
        let mut all_flags = Vec::with_capacity(n * (n + 1));
        for next in 0..n {
            for after in 0..=n {
                let end = [self.end_class];
                let classes = self.members.get(after).map_or(&end[..], Vec::as_slice);
                let clean = self.before_kinds(&behind.clean, next, classes);
                let tainted = self.before_kinds(&behind.tainted, next, classes);
                all_flags.push(flags(clean, tainted));
            }
        }
        let clean = self.before_runs(&behind.clean, run);
        let tainted = self.before_runs(&behind.tainted, run);
        let both = clean.into_iter().zip(tainted);
        let after_run = both.map(|(clean, tainted)| flags(clean, tainted)).collect();
        Row {
            all_flags,
            n_after: n + 1,
            after_run,
        }
    }
}

/// Numbers of distinct things, in the order in which they are met.
fn number<T: PartialEq>(known: &mut Vec<T>, thing: T) -> usize {
    known
        .iter()
        .position(|other| *other == thing)
        .unwrap_or_else(|| {
            known.push(thing);
            known.len() - 1
        })
}

/// Makes the tables; None if they would be too large. `members`: the classes of each kind.
/// `weights`: how often the characters of a class come. `tainting`: the classes that taint.
pub(super) fn build(
    classes: &ClassMap,
    possible: &Possible<'_>,
    members: &[Vec<usize>],
    weights: &[u64],
    tainting: Set,
) -> Option<Tables> {
    let n = members.len();
    let end_class = possible.n_classes();
    let taints = |kind: usize| tainting >> members[kind][0] & 1 != 0;
    let real: Vec<usize> = members.concat();
    let anywhere = possible.anywhere(&real);
    let union = |classes: &mut dyn Iterator<Item = usize>| -> Vec<u16> {
        let mut states: Vec<u16> = classes.flat_map(|class| anywhere[class].clone()).collect();
        states.sort_unstable();
        states.dedup();
        states
    };
    let after_all = union(&mut real.iter().copied());
    let after_clean = union(
        &mut real
            .iter()
            .copied()
            .filter(|class| tainting >> class & 1 == 0),
    );
    let mut builder = Builder {
        possible,
        members,
        end_class,
        work: 0,
    };
    // Behind a first character the automaton has just begun; so it may have, too, wherever only
    // three characters are looked at. The last of them stands for the beginning of the text.
    let two = |states: &[u16], kind: usize| -> Vec<u16> {
        let mut after: Vec<u16> = members[kind]
            .iter()
            .flat_map(|&class| {
                let mut after = possible.after(states, class);
                after.push(possible.step(1, class).1);
                after
            })
            .collect();
        after.sort_unstable();
        after.dedup();
        after
    };
    let one = |states: &[u16], kind: usize| -> Vec<u16> {
        let mut after: Vec<u16> = members[kind]
            .iter()
            .flat_map(|&class| possible.after(states, class))
            .collect();
        after.sort_unstable();
        after.dedup();
        after
    };
    let mut behind: Vec<Vec<StateSets>> = Vec::new();
    for last_but_one in 0..n {
        let tainted = two(&after_all, last_but_one);
        let clean = two(&after_clean, last_but_one);
        let of_kind = (0..n).map(|last| {
            let tainted = one(&tainted, last);
            let clean = if taints(last) || taints(last_but_one) {
                tainted.clone()
            } else {
                one(&clean, last)
            };
            StateSets { clean, tainted }
        });
        behind.push(of_kind.collect());
    }
    let first = (0..n).map(|last| {
        let mut states: Vec<u16> = members[last]
            .iter()
            .map(|&class| possible.step(1, class).1)
            .collect();
        states.sort_unstable();
        states.dedup();
        StateSets {
            clean: states.clone(),
            tainted: states,
        }
    });
    behind.push(first.collect());

    // Behind a run of a kind the automaton is where it may be behind one of it, if that is so
    // behind two.
    let repeats = |last: usize| -> u16 {
        let is_enough = |before: usize| {
            let once = &behind[before][last].clean;
            let twice = one(once, last);
            twice.iter().all(|state| once.binary_search(state).is_ok())
        };
        let clean = (0..n).filter(|&kind| !taints(kind) && !taints(last) && kind != last);
        let enough = clean.filter(|&before| is_enough(before));
        enough.map(|before| 1 << before).sum()
    };
    let repeats: Vec<u16> = (0..n).map(repeats).collect();
    let run = builder.run_kinds(&behind[..n], weights, &taints);
    let mut all = Vec::with_capacity(n + 1);
    for of_kind in &behind {
        let column: Vec<Row> = of_kind
            .iter()
            .map(|behind| builder.row(behind, &run))
            .collect();
        all.push(column);
        if builder.work > MAX_WORK {
            return None;
        }
    }
    let kind_weights: Vec<u64> = (0..n).map(|kind| builder.weight(weights, kind)).collect();
    let costs = Costs {
        weights: &kind_weights,
        run: &run,
    };
    let (column_of, columns) = table_reduction::columns(&costs, all, MAX_SLICES);
    let column_weight = |column: usize| -> u128 {
        let kinds = (0..n).filter(|&kind| column_of[kind] == column);
        kinds
            .map(|kind| u128::from(kind_weights[kind]))
            .sum::<u128>()
            + 1
    };
    let each = columns.into_iter().enumerate().flat_map(|(column, rows)| {
        let weight = column_weight(column);
        rows.into_iter()
            .zip(&kind_weights)
            .map(move |(row, &last)| (row, weight * u128::from(last)))
    });
    let each: Vec<(Row, u128)> = each.collect();
    let weights: Vec<u128> = each.iter().map(|&(_, weight)| weight).collect();
    let (row_of, mut rows) = table_reduction::rows(&costs, each, MAX_RULES);
    let mut row_weights = vec![0; rows.len()];
    for (&row, weight) in row_of.iter().zip(weights) {
        row_weights[row] += weight;
    }
    table_reduction::nexts(&costs, &mut rows, &row_weights, MAX_SLICES);

    let mut nexts: Vec<Vec<u8>> = Vec::new();
    let mut depending: Vec<Vec<u8>> = vec![vec![0; n]];
    let mut next_of = Vec::new();
    for next in 0..n {
        let outcomes = rows
            .iter()
            .map(|row| outcome(row, next, &run, &mut depending));
        let outcomes = outcomes.collect();
        next_of.push(number(&mut nexts, outcomes));
    }
    if nexts.len() > MAX_SLICES {
        return None;
    }

    let empty: Table = [0; MAX_SLICES * 16];
    let mut tables = Tables {
        kind: empty,
        column: empty,
        next: empty,
        pairs: empty,
        outcomes: empty,
        depends: empty,
        kind_column: [0; MAX_KINDS],
        kind_next: [0; MAX_KINDS],
        start_column: (column_of[n] << 4) as u8,
        run_kinds: run.iter().map(|kind| 1 << kind).sum(),
        after_run: [UNSURE | TAINTED_UNSURE; 256],
        repeats: std::array::from_fn(|kind| repeats.get(kind).copied().unwrap_or(0)),
        n_slices: [row_of.len() / n, nexts.len(), depending.len()],
    };
    for kind in 0..n {
        tables.kind_column[kind] = (column_of[kind] << 4) as u8;
        let mark = if taints(kind) { TAINTS } else { 0 };
        tables.kind_next[kind] = (next_of[kind] << 4) as u8 | mark;
    }
    let kind_of = |class: usize| members.iter().position(|kind| kind.contains(&class));
    for (byte, &class) in classes.single.iter().enumerate().take(128) {
        if class != WIDE
            && let Some(kind) = kind_of(class as usize)
        {
            tables.kind[byte] = kind as u8;
            tables.column[byte] = tables.kind_column[kind];
            tables.next[byte] = tables.kind_next[kind];
        }
    }
    for (index, &row) in row_of.iter().enumerate() {
        tables.pairs[((index / n) << 4) + index % n] = row as u8;
    }
    for (slice, outcomes) in nexts.iter().enumerate() {
        tables.outcomes[slice << 4..][..outcomes.len()].copy_from_slice(outcomes);
    }
    for (slice, flags) in depending.iter().enumerate() {
        tables.depends[slice << 4..][..n].copy_from_slice(flags);
    }
    for (rule, row) in rows.iter().enumerate() {
        tables.after_run[rule << 4..][..row.after_run.len()].copy_from_slice(&row.after_run);
    }
    Some(tables)
}

/// Outcome of a row before a kind: flags, or the slice of `depending` that has them.
fn outcome(row: &Row, next: usize, run: &[usize], depending: &mut Vec<Vec<u8>>) -> u8 {
    let flags = row.flags(next);
    let (real, end) = (&flags[..flags.len() - 1], flags[flags.len() - 1]);
    if run.contains(&next) {
        // No worse than what the one character after the next tells.
        let better = |kind: usize| real[kind] & UNSURE != 0 || row.after_run[kind] & UNSURE == 0;
        let others = (0..real.len()).filter(|kind| !run.contains(kind));
        if real[next] & UNSURE != 0 && others.into_iter().all(better) {
            return RUN;
        }
    }
    if real.iter().all(|&flags| flags == end) {
        return end;
    }
    let known = depending.iter().skip(1).position(|known| known == real);
    let slice = match known {
        Some(index) => index + 1,
        None if depending.len() < MAX_SLICES => {
            depending.push(real.to_vec());
            depending.len() - 1
        }
        None => return real.iter().fold(end, |all, &flags| either(all, flags)),
    };
    (slice << 4) as u8
}
