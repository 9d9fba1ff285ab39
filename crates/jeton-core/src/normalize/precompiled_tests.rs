//! The precompiled rules against what the reference was seen to give.

use super::super::charsmap::tests::compile;
use super::*;
use proptest::prelude::*;

fn rules(rules: &[(&str, &str)]) -> Precompiled {
    Precompiled::new(&Base64Bytes(compile(rules))).unwrap()
}

/// Each character of the result with the bytes it comes from.
fn ranges(step: &Precompiled, text: &str) -> (String, Vec<(usize, usize)>) {
    let out = step
        .normalize(text, Room::ENDLESS)
        .unwrap()
        .unwrap_or_else(|| text.to_owned());
    let alignment = step.align(text);
    let mut lookup = alignment.lookup();
    let ranges = out
        .char_indices()
        .map(|(at, c)| lookup.source_range(at, at + c.len_utf8()))
        .collect();
    (out, ranges)
}

#[test]
fn a_short_cluster_is_replaced_as_a_whole_by_the_shortest_rule() {
    let step = rules(&[("a", "x"), ("ab", "y"), ("\r", " ")]);
    // "a" and an accent are one cluster of three bytes, of which the rule names the first.
    assert_eq!(
        step.normalize("a\u{301}b", Room::ENDLESS)
            .unwrap()
            .as_deref(),
        Some("xb")
    );
    assert_eq!(
        step.normalize("ab", Room::ENDLESS).unwrap().as_deref(),
        Some("xb")
    );
    // Seven bytes are too many: character by character.
    assert_eq!(
        step.normalize("a\u{301}\u{302}\u{303}", Room::ENDLESS)
            .unwrap()
            .as_deref(),
        Some("x\u{301}\u{302}\u{303}")
    );
    assert_eq!(
        step.normalize("\r\nb\n", Room::ENDLESS).unwrap().as_deref(),
        Some(" b\n")
    );
    assert_eq!(step.normalize("b\u{301}c", Room::ENDLESS).unwrap(), None);
}

#[test]
fn sources_are_told_as_the_reference_tells_them() {
    let step = rules(&[("a", "xyz"), ("b", ""), ("c", "c")]);
    assert_eq!(
        ranges(&step, "caq"),
        (
            "cxyzq".to_owned(),
            vec![(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
        )
    );
    // The character before takes a removed one along ...
    assert_eq!(
        ranges(&step, "qbq"),
        ("qq".to_owned(), vec![(0, 1), (2, 3)])
    );
    // ... and where there is none, everything after is one off.
    assert_eq!(
        ranges(&step, "bqr"),
        ("qr".to_owned(), vec![(0, 1), (1, 2)])
    );
    assert_eq!(
        ranges(&step, "a\u{301}q"),
        ("xyzq".to_owned(), vec![(0, 1), (1, 3), (1, 3), (3, 4)])
    );
}

/// The rule of the reference, written down without haste.
fn naive(step: &Precompiled, text: &str) -> String {
    let mut out = String::new();
    for cluster in text.graphemes(true) {
        match step.map.shortest_prefix(cluster) {
            Some(to) if cluster.len() < 6 => out.push_str(to),
            _ => {
                for c in cluster.chars() {
                    let c = c.to_string();
                    out.push_str(step.map.shortest_prefix(&c).unwrap_or(&c));
                }
            }
        }
    }
    out
}

#[test]
fn base64_is_read_and_written() {
    let text = String::from(Base64Bytes(compile(&[("a", "b")])));
    let charsmap = Base64Bytes::try_from(text.clone()).unwrap();
    assert!(Precompiled::new(&charsmap).is_ok());
    assert_eq!(String::from(charsmap), text);
    assert!(Base64Bytes::try_from("***".to_owned()).is_err());
    assert!(Precompiled::new(&Base64Bytes(Vec::new())).is_err());
}

proptest! {
    #[test]
    fn equals_the_naive_twin(choices in prop::collection::vec(any::<usize>(), 0..24)) {
        let step = rules(&[("a", "x"), (" ", ""), ("e", "ee"), ("\r", ""), ("0", "1")]);
        let text = jeton_testing::hostile_text(&choices);
        let out = step.normalize(&text, Room::ENDLESS).unwrap().unwrap_or_else(|| text.clone());
        prop_assert_eq!(out, naive(&step, &text));
    }

    #[test]
    fn hostile_rules_end(
        at in prop::collection::vec((0..1600usize, any::<u8>()), 0..40), text in "[ab\u{e9}\u{301}\r\n]{0,20}",
    ) {
        let mut blob = compile(&[("a", "b"), ("ab", "c")]);
        for (index, byte) in at {
            let n = blob.len();
            blob[index % n] = byte;
        }
        if let Ok(step) = Precompiled::new(&Base64Bytes(blob)) {
            let (out, ranges) = ranges(&step, &text);
            prop_assert_eq!(&out, &naive(&step, &text));
            prop_assert!(ranges.iter().all(|&(from, to)| from <= to && to <= text.len()));
        }
    }
}
