//! Boundary tables as bytes, for a compiled file.

use super::super::classes::ClassMap;
use super::Boundaries;
use super::digit_runs::Counted;
use super::tables::{MAX_KINDS, MAX_RULES, MAX_SLICES, TAINTS, Tables};

impl Boundaries {
    /// As bytes. `classes`: the classes that the boundaries were made for.
    pub(in super::super) fn to_bytes(&self, classes: &ClassMap) -> Vec<u8> {
        let tables = &self.tables;
        let mut out = Vec::new();
        for table in [
            &tables.kind,
            &tables.column,
            &tables.next,
            &tables.pairs,
            &tables.outcomes,
            &tables.depends,
        ] {
            out.extend_from_slice(table);
        }
        out.extend_from_slice(&tables.kind_column);
        out.extend_from_slice(&tables.kind_next);
        out.extend_from_slice(&tables.after_run);
        out.push(tables.start_column);
        out.extend_from_slice(&tables.run_kinds.to_le_bytes());
        out.extend(tables.repeats.map(u16::to_le_bytes).as_flattened());
        out.extend(tables.n_slices.map(|n| n as u8));
        out.extend_from_slice(&self.counted.to_bytes());
        out.extend_from_slice(&classes.by_class(&self.kinds));
        out
    }

    /// Reads the bytes that [`Self::to_bytes`] gave; None if they could lead outside of a table, or
    /// nowhere.
    pub(in super::super) fn from_bytes(bytes: &[u8], classes: &ClassMap) -> Option<Self> {
        let mut rest = bytes;
        let tables = Tables {
            kind: take(&mut rest)?,
            column: take(&mut rest)?,
            next: take(&mut rest)?,
            pairs: take(&mut rest)?,
            outcomes: take(&mut rest)?,
            depends: take(&mut rest)?,
            kind_column: take(&mut rest)?,
            kind_next: take(&mut rest)?,
            after_run: take(&mut rest)?,
            start_column: take::<1>(&mut rest)?[0],
            run_kinds: u16::from_le_bytes(take(&mut rest)?),
            repeats: {
                let bytes: [u8; 2 * MAX_KINDS] = take(&mut rest)?;
                std::array::from_fn(|kind| {
                    u16::from_le_bytes([bytes[2 * kind], bytes[2 * kind + 1]])
                })
            },
            n_slices: take(&mut rest)?.map(usize::from),
        };
        let counted = Counted::from_bytes(&take(&mut rest)?)?;
        let is_kind = |&kind: &u8| usize::from(kind) < MAX_KINDS;
        let has_all = rest.len() == usize::from(classes.end_class());
        (has_all && rest.iter().all(is_kind) && tables.stay_inside())
            .then(|| Self::of(tables, counted, classes.characters(rest)))
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

impl Tables {
    /// True if no entry leads outside of the table that it is an index of.
    fn stay_inside(&self) -> bool {
        let slice = ((MAX_SLICES - 1) << 4) as u8;
        let column = |&column: &u8| column & !slice == 0;
        let next = |&next: &u8| next & !(slice | TAINTS) == 0;
        self.kind.iter().all(|&kind| usize::from(kind) < MAX_KINDS)
            && self.column.iter().chain(&self.kind_column).all(column)
            && column(&self.start_column)
            && self.next.iter().chain(&self.kind_next).all(next)
            && self.pairs.iter().all(|&rule| usize::from(rule) < MAX_RULES)
            && self.n_slices.iter().all(|&n| n <= MAX_SLICES)
    }
}
