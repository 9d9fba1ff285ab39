//! Characters of more than one byte: what is looked up at them and around them.

use super::super::Automaton;
use super::Boundaries;
use super::tables::{BLOCK, Codes};
use crate::simd::gather_bits;

/// A bit for each byte of a longer character, of at most 64.
fn high_bits(bytes: &[u8]) -> u64 {
    let mut high = 0;
    for (index, eight) in bytes.chunks(8).enumerate() {
        let mut padded = [0; 8];
        padded[..eight.len()].copy_from_slice(eight);
        high |= gather_bits(u64::from_le_bytes(padded) >> 7) << (8 * index);
    }
    high
}

impl Automaton {
    /// The kind and the width of the character that begins at a place.
    #[inline]
    fn kind_at(&self, rules: &Boundaries, text: &[u8], at: usize) -> (u8, usize) {
        match rules.tables.kind.get(usize::from(text[at])) {
            Some(&kind) => (kind, 1),
            None => {
                let (class, width) = self.classes.wide(text, at);
                (rules.class_kinds[usize::from(class)], width)
            }
        }
    }

    /// Puts the codes right of all characters in a block that are longer or near longer ones; returns where characters
    /// begin.
    pub(super) fn add_wide(
        &self,
        rules: &Boundaries,
        text: &[u8],
        start: usize,
        codes: &mut Codes,
    ) -> u64 {
        let tables = &rules.tables;
        let end = text.len().min(start + BLOCK);
        let high = high_bits(&text[start..end]);
        let mut begins = u64::MAX;
        // Whether what comes before the block is of single bytes.
        let ascii_before = text[start.saturating_sub(2)..start].is_ascii();
        let mut first = if ascii_before { high } else { high | 1 };
        loop {
            if first == 0 {
                break;
            }
            let mut at = start + first.trailing_zeros() as usize;
            let (mut column, mut last, mut before);
            if at < start + 2 {
                // The characters before are not in the block.
                at = start;
                while at < end && text[at] & 0xC0 == 0x80 {
                    begins &= !(1 << (at - start));
                    at += 1;
                }
                (column, last) = self.two_before(rules, text, at);
                before = None;
            } else {
                column = tables.column[usize::from(text[at - 2] & 0x7F)];
                last = tables.kind[usize::from(text[at - 1] & 0x7F)];
                before = Some(at - 1 - start);
            }
            // On to the second single byte in a row.
            let mut n_single = 0;
            while at < end && (n_single < 2 || text[at] >= 0x80) {
                let (kind, width) = self.kind_at(rules, text, at);
                let place = at - start;
                if let Some(before) = before {
                    codes.after[before % BLOCK] = kind;
                }
                codes.pair[place % BLOCK] = column | last;
                codes.next[place % BLOCK] = tables.kind_next[usize::from(kind & 0x0F)];
                begins &= !(((1 << width) - 2) << place);
                column = if at == 0 {
                    tables.start_column
                } else {
                    tables.kind_column[usize::from(last & 0x0F)]
                };
                last = kind;
                before = Some(place);
                n_single = if width == 1 { n_single + 1 } else { 0 };
                at += width;
            }
            if at >= end {
                if let Some(before) = before
                    && at < text.len()
                {
                    codes.after[before % BLOCK] = self.kind_at(rules, text, at).0;
                }
                return begins;
            }
            first = high & u64::MAX << (at - start);
        }
        if end < text.len() && text[end] >= 0x80 {
            // The last of the block is a single byte that a longer character follows.
            codes.after[BLOCK - 1] = self.kind_at(rules, text, end).0;
        }
        begins
    }

    /// The column and the kind of the two characters before a place.
    fn two_before(&self, rules: &Boundaries, text: &[u8], at: usize) -> (u8, u8) {
        let begin_before = |at: usize| {
            let mut begin = at.checked_sub(1)?;
            while begin > 0 && text[begin] & 0xC0 == 0x80 {
                begin -= 1;
            }
            Some(begin)
        };
        let Some(begin) = begin_before(at) else {
            return (rules.tables.start_column, 0);
        };
        let last = self.kind_at(rules, text, begin).0;
        let column = begin_before(begin).map_or(rules.tables.start_column, |begin| {
            let kind = self.kind_at(rules, text, begin).0;
            rules.tables.kind_column[usize::from(kind & 0x0F)]
        });
        (column, last)
    }
}
