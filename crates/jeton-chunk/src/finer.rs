//! Finer cuts where a part between two boundaries is longer than a chunk may be.

use std::ops::Range;

use crate::characters::closes;
use crate::choose::{Cut, Settings};

/// Adds cuts at clauses and words of a part of the text, in order.
pub(crate) fn add_finer(text: &str, part: Range<usize>, settings: &Settings, out: &mut Vec<Cut>) {
    let mut before = ' ';
    let mut last_visible = ' ';
    for (offset, c) in text[part.clone()].char_indices() {
        let at = part.start + offset;
        if before.is_whitespace() && !c.is_whitespace() && offset > 0 {
            let cost = if ends_clause(last_visible) {
                settings.clause_cost
            } else {
                settings.word_cost
            };
            out.push(Cut { at, cost });
        } else if is_wide_comma(before) && !closes(c) {
            out.push(Cut {
                at,
                cost: settings.clause_cost,
            });
        }
        before = c;
        if !c.is_whitespace() && !closes(c) {
            last_visible = c;
        }
    }
}

fn ends_clause(c: char) -> bool {
    matches!(
        c,
        ',' | ';' | ':' | '\u{2013}' | '\u{2014}' | '\u{60C}' | '\u{61B}' | '|' | '}'
    )
}

fn is_wide_comma(c: char) -> bool {
    matches!(
        c,
        '\u{3001}' | '\u{FF0C}' | '\u{FF1A}' | '\u{FF1B}' | '\u{FF64}'
    )
}
