//! Fewer distinctions where tables would be too large: rows that are nearly alike become one, which
//! is less sure.

use super::build::Row;
use super::tables::{BOUNDARY, TAINTED_BOUNDARY, TAINTED_UNSURE, UNSURE};

/// Outcome when two table rows are merged.
pub(super) fn either(one: u8, other: u8) -> u8 {
    let mut both = 0;
    for (boundary, unsure) in [(BOUNDARY, UNSURE), (TAINTED_BOUNDARY, TAINTED_UNSURE)] {
        let mask = boundary | unsure;
        both |= if one & mask == other & mask {
            one & mask
        } else {
            unsure
        };
    }
    both
}

/// Measures how much is unsure, by the weights of kinds. Places that are unsure only where
/// something taints count little.
pub(super) struct Costs<'a> {
    pub(super) weights: &'a [u64],
    pub(super) run: &'a [usize],
}

impl Costs<'_> {
    fn of_flags(flags: u8) -> u128 {
        let clean = u128::from(flags & UNSURE != 0);
        let tainted = u128::from(flags & TAINTED_UNSURE != 0);
        clean * 1024 + tainted
    }

    fn weight(&self, kind: usize) -> u128 {
        // The end of the text is no kind.
        self.weights
            .get(kind)
            .map_or(1, |&weight| u128::from(weight))
    }

    fn of_next(&self, row: &Row, next: usize) -> u128 {
        let is_run = self.run.contains(&next);
        let after = row.flags(next).iter().enumerate().map(|(after, &flags)| {
            // The end of the run decides here.
            if is_run && self.run.contains(&after) {
                0
            } else {
                self.weight(after) * Self::of_flags(flags)
            }
        });
        self.weight(next) * after.sum::<u128>()
    }

    fn of_row(&self, row: &Row) -> u128 {
        let nexts: u128 = (0..row.n_next()).map(|next| self.of_next(row, next)).sum();
        let of_run: u128 = self.run.iter().map(|&kind| self.weight(kind)).sum();
        let ends = row.after_run.iter().enumerate();
        let runs: u128 = ends
            .filter(|(kind, _)| !self.run.contains(kind))
            .map(|(kind, &flags)| self.weight(kind) * Self::of_flags(flags))
            .sum();
        nexts + of_run * runs
    }
}

fn either_row(one: &Row, other: &Row) -> Row {
    let both = |one: &[u8], other: &[u8]| -> Vec<u8> {
        one.iter()
            .zip(other)
            .map(|(&one, &other)| either(one, other))
            .collect()
    };
    Row {
        all_flags: both(&one.all_flags, &other.all_flags),
        n_after: one.n_after,
        after_run: both(&one.after_run, &other.after_run),
    }
}

/// A group of columns or of rows that became one.
struct Group {
    members: Vec<usize>,
    rows: Vec<Row>,
    /// How often each row is met, and how much is unsure then.
    weights: Vec<u128>,
    cost: u128,
}

impl Group {
    fn new(costs: &Costs<'_>, members: Vec<usize>, rows: Vec<Row>, weights: Vec<u128>) -> Self {
        let each = rows.iter().zip(&weights);
        let cost = each.map(|(row, weight)| costs.of_row(row) * weight).sum();
        Self {
            members,
            rows,
            weights,
            cost,
        }
    }

    /// The cost of both together.
    fn cost_with(&self, costs: &Costs<'_>, other: &Self) -> u128 {
        let rows = self.rows.iter().zip(&other.rows);
        let weights = self.weights.iter().zip(&other.weights);
        rows.zip(weights)
            .map(|((one, other), (weight, more))| {
                costs.of_row(&either_row(one, other)) * (weight + more)
            })
            .sum()
    }

    fn with(&self, costs: &Costs<'_>, other: &Self) -> Self {
        let rows = self.rows.iter().zip(&other.rows);
        let weights = self.weights.iter().zip(&other.weights);
        Self::new(
            costs,
            [self.members.as_slice(), &other.members].concat(),
            rows.map(|(one, other)| either_row(one, other)).collect(),
            weights.map(|(one, other)| one + other).collect(),
        )
    }
}

/// Joins groups until at most `most` are left, always the cheapest pair. Joining equal groups costs
/// nothing.
fn join(costs: &Costs<'_>, mut groups: Vec<Group>, most: usize) -> Vec<Group> {
    // Equal groups first, without comparing costs.
    let mut distinct: Vec<Group> = Vec::new();
    for group in groups {
        match distinct.iter_mut().find(|known| known.rows == group.rows) {
            Some(known) => *known = known.with(costs, &group),
            None => distinct.push(group),
        }
    }
    groups = distinct;
    // Extra cost of joining each pair, computed anew only if one of the two was joined.
    let mut more = vec![vec![None; groups.len()]; groups.len()];
    while groups.len() > most {
        let mut best: Option<(u128, usize, usize)> = None;
        for (index, one) in groups.iter().enumerate() {
            for (other_index, other) in groups.iter().enumerate().skip(index + 1) {
                let more = *more[index][other_index].get_or_insert_with(|| {
                    let both = one.cost_with(costs, other);
                    both.saturating_sub(one.cost + other.cost)
                });
                if best.is_none_or(|(least, ..)| more < least) {
                    best = Some((more, index, other_index));
                }
            }
        }
        let Some((_, one, other)) = best else {
            break;
        };
        let both = groups[one].with(costs, &groups[other]);
        groups.swap_remove(other);
        groups[one] = both;
        more.swap_remove(other);
        for row in &mut more {
            row.swap_remove(other);
        }
        // The one that was last has another place now, as one of a pair or as the other.
        for changed in [one, other] {
            for (index, row) in more.iter_mut().enumerate() {
                for (other_index, cost) in row.iter_mut().enumerate() {
                    if index == changed || other_index == changed {
                        *cost = None;
                    }
                }
            }
        }
    }
    groups
}

/// Columns (a row for each last kind), as few as asked for. Returns the group of each column, and
/// the groups.
pub(super) fn columns(
    costs: &Costs<'_>,
    columns: Vec<Vec<Row>>,
    most: usize,
) -> (Vec<usize>, Vec<Vec<Row>>) {
    let n = columns.len();
    let groups = columns.into_iter().enumerate().map(|(column, rows)| {
        let weight = |last: usize| costs.weight(column) * costs.weight(last);
        let weights = (0..rows.len()).map(weight).collect();
        Group::new(costs, vec![column], rows, weights)
    });
    numbered(n, join(costs, groups.collect(), most))
}

/// Rows, as few as asked for.
pub(super) fn rows(
    costs: &Costs<'_>,
    rows: Vec<(Row, u128)>,
    most: usize,
) -> (Vec<usize>, Vec<Row>) {
    let n = rows.len();
    let groups = rows
        .into_iter()
        .enumerate()
        .map(|(index, (row, weight))| Group::new(costs, vec![index], vec![row], vec![weight]));
    let (of, groups) = numbered(n, join(costs, groups.collect(), most));
    (of, groups.concat())
}

fn numbered(n: usize, groups: Vec<Group>) -> (Vec<usize>, Vec<Vec<Row>>) {
    let mut of = vec![0; n];
    for (number, group) in groups.iter().enumerate() {
        group.members.iter().for_each(|&member| of[member] = number);
    }
    (of, groups.into_iter().map(|group| group.rows).collect())
}

/// Makes next kinds alike in all rows until there are few enough of them that differ. `weights`:
/// how often each row is met.
pub(super) fn nexts(costs: &Costs<'_>, rows: &mut [Row], weights: &[u128], most: usize) {
    let n = rows.first().map_or(0, Row::n_next);
    loop {
        let mut distinct: Vec<Vec<usize>> = Vec::new();
        for next in 0..n {
            let alike = |kinds: &&mut Vec<usize>| {
                rows.iter()
                    .all(|row| row.flags(kinds[0]) == row.flags(next))
                    && costs.run.contains(&kinds[0]) == costs.run.contains(&next)
            };
            match distinct.iter_mut().find(alike) {
                Some(kinds) => kinds.push(next),
                None => distinct.push(vec![next]),
            }
        }
        if distinct.len() <= most {
            return;
        }
        let joined = |rows: &[Row], one: usize, other: usize| -> Vec<Row> {
            let mut rows = rows.to_vec();
            for row in &mut rows {
                let both = row.flags(one).iter().zip(row.flags(other));
                let both: Vec<u8> = both.map(|(&one, &other)| either(one, other)).collect();
                row.flags_mut(one).copy_from_slice(&both);
                row.flags_mut(other).copy_from_slice(&both);
            }
            rows
        };
        let cost = |rows: &[Row]| -> u128 {
            let each = rows.iter().zip(weights);
            each.map(|(row, weight)| costs.of_row(row) * weight).sum()
        };
        let mut best: Option<(u128, usize, usize)> = None;
        for (index, one) in distinct.iter().enumerate() {
            for (other_index, other) in distinct.iter().enumerate().skip(index + 1) {
                if costs.run.contains(&one[0]) != costs.run.contains(&other[0]) {
                    continue;
                }
                let cost = cost(&joined(rows, one[0], other[0]));
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, index, other_index));
                }
            }
        }
        let Some((_, one, other)) = best else {
            return;
        };
        let group = [distinct[one].as_slice(), &distinct[other]].concat();
        for row in rows.iter_mut() {
            let all = group[1..]
                .iter()
                .fold(row.flags(group[0]).to_vec(), |all, &kind| {
                    let both = all.iter().zip(row.flags(kind));
                    both.map(|(&one, &other)| either(one, other)).collect()
                });
            group
                .iter()
                .for_each(|&kind| row.flags_mut(kind).copy_from_slice(&all));
        }
    }
}
