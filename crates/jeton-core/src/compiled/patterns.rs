//! The automata of split patterns, so that a pattern is read once and not by every process.

use super::wire::{Reader, Writer};
use crate::error::Result;
use crate::pretokenize::{RawAutomaton, RawClasses};

/// Writes the automaton of each pattern, or that it has none.
pub(super) fn write_automata(automata: &[Option<RawAutomaton>], out: &mut Writer) {
    out.number(automata.len() as u64);
    for automaton in automata {
        out.number(u64::from(automaton.is_some()));
        if let Some(RawAutomaton {
            classes,
            transitions,
            boundaries,
        }) = automaton
        {
            out.bytes(&classes.single);
            out.u32s(classes.blocks.iter().copied());
            out.bytes(&classes.table);
            out.number(classes.n_classes);
            out.u32s(transitions.iter().copied());
            out.bytes(boundaries);
        }
    }
}

/// Reads the automata that [`write_automata`] wrote.
pub(super) fn read_automata(reader: &mut Reader) -> Result<Vec<Option<RawAutomaton>>> {
    let n = reader.number()?;
    // Nothing is reserved for the stated count: reading stops where the entries end.
    (0..n).map(|_| read_automaton(reader)).collect()
}

fn read_automaton(reader: &mut Reader) -> Result<Option<RawAutomaton>> {
    if reader.number()? == 0 {
        return Ok(None);
    }
    Ok(Some(RawAutomaton {
        classes: RawClasses {
            single: reader.bytes()?.to_vec(),
            blocks: reader.u32s()?,
            table: reader.bytes()?.to_vec(),
            n_classes: reader.number()?,
        },
        transitions: reader.u32s()?,
        boundaries: reader.bytes()?.to_vec(),
    }))
}
