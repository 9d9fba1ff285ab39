//! Characters that hold together, and characters that stand around sentences.

/// True if a character belongs to the one before it: a mark, a joiner, a variation.
pub(crate) fn extends(c: char) -> bool {
    matches!(u32::from(c),
        0x0300..=0x036F | 0x0483..=0x0489 | 0x0591..=0x05BD | 0x05BF | 0x05C1..=0x05C2
        | 0x0610..=0x061A | 0x064B..=0x065F | 0x0670 | 0x06D6..=0x06DC | 0x06DF..=0x06E4
        | 0x0900..=0x0903 | 0x093A..=0x093C | 0x093E..=0x094F | 0x0951..=0x0957 | 0x0962..=0x0963
        | 0x0981..=0x0983 | 0x09BC | 0x09BE..=0x09CD | 0x0A01..=0x0A03 | 0x0A3C..=0x0A4D
        | 0x0A81..=0x0A83 | 0x0ABC | 0x0ABE..=0x0ACD | 0x0B3C | 0x0B3E..=0x0B4D
        | 0x0BBE..=0x0BCD | 0x0C3E..=0x0C4D | 0x0CBC | 0x0CBE..=0x0CCD | 0x0D3B..=0x0D4D
        | 0x0DCA..=0x0DDF | 0x0E31 | 0x0E33..=0x0E3A | 0x0E47..=0x0E4E | 0x0EB1 | 0x0EB4..=0x0EBC
        | 0x0EC8..=0x0ECD | 0x102B..=0x103E | 0x17B4..=0x17D3 | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF
        | 0x200C..=0x200D | 0x20D0..=0x20F0 | 0x3099..=0x309A | 0xFE00..=0xFE0F
        | 0xFE20..=0xFE2F | 0x1F3FB..=0x1F3FF | 0xE0020..=0xE007F)
}

/// True if text may be cut between two characters without tearing one that people see.
pub(crate) fn separable(before: char, after: char) -> bool {
    !(extends(after) || before == '\u{200D}' || (before == '\r' && after == '\n'))
}

/// Returns the last byte position up to `at` that begins a character.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the last position in `(low, at]` at which no visible character is torn, or `at`.
pub(crate) fn floor_whole(text: &str, low: usize, at: usize) -> usize {
    let at = floor(text, at);
    let mut place = at;
    while place > low && place < text.len() {
        let before = text[..place].chars().next_back();
        let after = text[place..].chars().next();
        let (Some(before), Some(after)) = (before, after) else {
            break;
        };
        if separable(before, after) {
            return place;
        }
        place -= before.len_utf8();
    }
    if place > low { place } else { at }
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
