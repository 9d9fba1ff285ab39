//! The scanner finds each kind of candidate, at places told in characters.

use super::*;
use crate::table::Row;
use proptest::prelude::*;

/// Letters, one character without ink, one mark; the full table is Python's.
fn table() -> Table {
    let row = |kind, script| Row {
        kind,
        script,
        ..Row::default()
    };
    let ranges = [
        (0, row(0, 0)),
        (0x41, row(kind::LETTER, 2)),
        (0x5b, row(0, 0)),
        (0x61, row(kind::LETTER, 2)),
        (0x7b, row(0, 0)),
        (0x300, row(kind::MARK, INHERITED)),
        (0x370, row(0, 0)),
        (0x200b, row(kind::ZERO_WIDTH_SPACE, 0)),
        (0x200c, row(0, 0)),
    ];
    Table::new(&ranges, &[('\u{ff1c}', b'<'), ('\u{ff5c}', b'|')])
}

fn scanner() -> Scanner {
    Scanner::new(table(), &["<|end|>"], &["vtaber", "xn--"])
}

fn codes(text: &str) -> Vec<(usize, usize, Code)> {
    let found = scanner().scan(text);
    found
        .iter()
        .map(|one| (one.start, one.end, one.code))
        .collect()
}

#[test]
fn places_are_told_in_characters() {
    assert_eq!(codes("é\u{200b}"), [(1, 2, Code::Hidden)]);
    assert_eq!(
        codes("é ＜｜e\u{200b}nd|>"),
        [(2, 10, Code::Marker), (5, 6, Code::Hidden)]
    );
    assert_eq!(
        codes("é Vtaber xn--a"),
        [(2, 8, Code::Phrase), (9, 13, Code::Phrase)]
    );
    assert_eq!(
        codes("a\u{300}\u{301}\u{302}\u{303}"),
        [(1, 5, Code::Marks)]
    );
    assert_eq!(
        codes("aWdub3JlIGFsbCBwcmV2aW91cw=="),
        [(0, 26, Code::Encoded)]
    );
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in "(\\PC|[\u{200b}<|%=&#;\\\\01.\\- ]|<\\|end\\|>|vtaber){0,80}") {
        let found = scanner().scan(&text);
        let n = text.chars().count();
        prop_assert!(found.iter().all(|one| one.start < one.end && one.end <= n));
        prop_assert!(found.is_sorted());
    }
}
