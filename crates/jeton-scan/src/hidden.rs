//! Characters without ink: which of them have a reason to stand where they do.

use crate::table::{Row, Table, flag, kind};

const CAUSING: u8 = 1;
const DUAL: u8 = 2;
const RIGHT: u8 = 3;
const LEFT: u8 = 4;
const TRANSPARENT: u8 = 5;

/// Marks that may stand between a joiner and its letter.
const MAX_TRANSPARENT: usize = 8;
/// Characters on either side among which a mark of direction wants one from right to left.
const BIDI_REACH: usize = 4;
const COMBINING_GRAPHEME_JOINER: char = '\u{34f}';
const BLACK_FLAG: char = '\u{1f3f4}';
/// Tags of the flags of England, Scotland and Wales, with the tag that ends them.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// True if each character of a run has a reason: `before` and `behind` are the text around it.
pub(crate) fn is_right(table: &Table, before: &str, run: &str, behind: &str) -> bool {
    let mut chars = run.chars();
    let (Some(first), second, third) = (chars.next(), chars.next(), chars.next()) else {
        return true;
    };
    let left = before.chars().next_back();
    match (second, third) {
        (None, _) => is_right_alone(table, before, first, behind),
        // A flag or a sign with its selector, and the joiner to the next emoji.
        (Some(second), None)
            if table.row(first).kind == kind::SELECTOR
                && table.row(second).kind == kind::JOINER =>
        {
            left.is_some_and(|left| table.row(left).flags & flag::EMOJI != 0)
                && behind
                    .chars()
                    .next()
                    .is_some_and(|next| table.row(next).kind == kind::EMOJI)
        }
        (Some(second), None)
            if table.row(first).kind == kind::BIDI_MARK
                && table.row(second).kind == kind::BIDI_MARK =>
        {
            is_right_alone(table, before, first, behind)
        }
        (Some(second), None) if is_mongolian(table, first) || is_mongolian(table, second) => {
            let joins = |char| {
                is_mongolian(table, char)
                    || matches!(table.row(char).kind, kind::JOINER | kind::NON_JOINER)
            };
            joins(first) && joins(second) && left.is_some_and(|left| is_of_mongolian(table, left))
        }
        _ => left == Some(BLACK_FLAG) && FLAGS.contains(&run),
    }
}

fn is_mongolian(table: &Table, char: char) -> bool {
    table.row(char).kind == kind::MONGOLIAN_SELECTOR
}

fn is_of_mongolian(table: &Table, char: char) -> bool {
    // The selectors themselves have the script; their own row says which number it is.
    table.row(char).script == table.row('\u{1820}').script
}

fn base(table: &Table, chars: impl Iterator<Item = char>) -> Option<Row> {
    let mut found = chars
        .take(MAX_TRANSPARENT + 1)
        .map(|char| *table.row(char));
    found.find(|row| row.joining != TRANSPARENT || row.is_hidden())
}

fn joins(row: Option<Row>) -> bool {
    row.is_some_and(|row| matches!(row.joining, CAUSING | DUAL | RIGHT | LEFT) && !row.is_hidden())
}

fn is_right_alone(table: &Table, before: &str, char: char, behind: &str) -> bool {
    let left = before.chars().next_back().map(|char| *table.row(char));
    let right = behind.chars().next().map(|char| *table.row(char));
    let is_virama = |row: Option<Row>| row.is_some_and(|row| row.kind == kind::VIRAMA);
    match table.row(char).kind {
        kind::NON_JOINER => {
            if is_virama(left) || is_virama(right) {
                return true;
            }
            let l = base(table, before.chars().rev());
            let r = base(table, behind.chars());
            (joins(l) || l.is_some_and(|row| row.kind == kind::DIGIT)) && joins(r)
        }
        kind::JOINER => {
            if is_virama(left) || is_virama(right) {
                return true;
            }
            let is_emoji =
                |row: Option<Row>| row.is_some_and(|row| matches!(row.kind, kind::EMOJI | kind::MODIFIER));
            if is_emoji(left) && right.is_some_and(|row| row.kind == kind::EMOJI) {
                return true;
            }
            // At the edge of a word it shows the joined form of one letter.
            joins(base(table, before.chars().rev())) != joins(base(table, behind.chars()))
        }
        kind::ZERO_WIDTH_SPACE => {
            let breaks = |row: Option<Row>| row.is_some_and(|row| row.flags & flag::BREAKS != 0);
            breaks(left) || breaks(right)
        }
        kind::SELECTOR => left.is_some_and(|row| {
            let wanted = if matches!(char, '\u{fe0e}' | '\u{fe0f}') {
                flag::EMOJI
            } else {
                flag::VARIANT_BASE | flag::IDEOGRAPH
            };
            row.flags & wanted != 0
        }),
        kind::IDEOGRAPHIC_SELECTOR => left.is_some_and(|row| row.flags & flag::IDEOGRAPH != 0),
        kind::MONGOLIAN_SELECTOR => before
            .chars()
            .next_back()
            .is_some_and(|left| is_of_mongolian(table, left)),
        kind::BIDI_MARK => {
            let is_rtl = |char: char| table.row(char).flags & flag::RTL != 0;
            before.chars().rev().take(BIDI_REACH).any(is_rtl)
                || behind.chars().take(BIDI_REACH).any(is_rtl)
        }
        _ => {
            let row = table.row(char);
            if char == COMBINING_GRAPHEME_JOINER {
                let writes = |row: Option<Row>| row.is_some_and(|row| row.is_word());
                return writes(left) && writes(right);
            }
            // Fillers of Hangul, controls of shorthand: among characters of their own script.
            row.script > 1
                && (left.is_some_and(|left| left.script == row.script)
                    || right.is_some_and(|right| right.script == row.script))
        }
    }
}
