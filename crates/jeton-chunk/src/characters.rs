//! Characters that hold together, and characters that stand around sentences.

use unicode_segmentation::GraphemeCursor;

/// Returns the last byte position up to `at` that begins a character.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// True if no character that people see is torn at a place of a text, by UAX 29. `low`: a place at
/// or before it that tears none; no more than the text from there on is looked at.
pub(crate) fn is_whole(text: &str, low: usize, at: usize) -> bool {
    if at <= low || at >= text.len() {
        return true;
    }
    let bytes = text.as_bytes();
    // Between two bytes of ASCII only a line end of two characters holds together.
    if bytes[at].is_ascii() && bytes[at - 1].is_ascii() {
        return !(bytes[at - 1] == b'\r' && bytes[at] == b'\n');
    }
    let part = &text[low..];
    let mut cursor = GraphemeCursor::new(at - low, part.len(), true);
    cursor.is_boundary(part, 0).unwrap_or(true)
}

/// Returns the last position in `(low, at]` at which no visible character is torn, or `at`.
pub(crate) fn floor_whole(text: &str, low: usize, at: usize) -> usize {
    let at = floor(text, at);
    if is_whole(text, low, at) {
        return at;
    }
    let part = &text[low..];
    let mut cursor = GraphemeCursor::new(at - low, part.len(), true);
    match cursor.prev_boundary(part, 0) {
        Ok(Some(place)) if place > 0 => low + place,
        _ => at,
    }
}

/// Returns the first position from `at` on at which no visible character is torn.
pub(crate) fn ceil_whole(text: &str, low: usize, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    if is_whole(text, low, at) {
        return at;
    }
    let part = &text[low..];
    let mut cursor = GraphemeCursor::new(at - low, part.len(), true);
    match cursor.next_boundary(part, 0) {
        Ok(Some(place)) => low + place,
        _ => text.len(),
    }
}

/// True for characters that close a quotation or a bracket.
pub(crate) fn closes(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '\u{BB}'
            | '\u{AB}'
            | '\u{2018}'
            | '\u{2019}'
            | '\u{201C}'
            | '\u{201D}'
            | '\u{203A}'
            | '\u{2039}'
            | '\u{300D}'
            | '\u{300F}'
            | '\u{300B}'
            | '\u{3009}'
            | '\u{3011}'
            | '\u{FF09}'
            | '\u{FF3D}'
            | '\u{FF63}'
            | '*'
            | '_'
    )
}

/// True for characters that may open a sentence before its first letter.
pub(crate) fn opens(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '('
            | '['
            | '{'
            | '\u{BB}'
            | '\u{AB}'
            | '\u{A1}'
            | '\u{BF}'
            | '\u{2018}'
            | '\u{201A}'
            | '\u{201C}'
            | '\u{201D}'
            | '\u{201E}'
            | '\u{2039}'
            | '\u{203A}'
            | '*'
            | '_'
    )
}

/// True for letters of scripts that write no space between sentences or words and no full stop.
pub(crate) fn has_no_stops(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF)
}

/// True for letters of scripts that write no space between words.
pub(crate) fn has_no_spaces(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3041..=0x30FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}
