//! The automaton against a backtracking engine, and its boundaries against its matches.

use super::*;
use crate::cpu::dispatch::Level;
use crate::pretokenize::pattern::{Dialect, parse};
use crate::pretokenize::published::PATTERNS;
use crate::text::unicode::UnicodeVersion;
use proptest::prelude::*;
use std::sync::LazyLock;

pub(super) fn automaton(pattern: &str) -> Automaton {
    let ast = parse(pattern, Dialect::FancyRegex, UnicodeVersion(99, 0)).unwrap();
    Automaton::new(&ast, false).unwrap()
}

/// Published patterns by index, compiled once: each case of a property test takes one of them.
static PUBLISHED: LazyLock<Vec<(Automaton, fancy_regex::Regex)>> = LazyLock::new(|| {
    let both = |pattern| {
        (
            automaton(pattern),
            fancy_regex::Regex::new(pattern).unwrap(),
        )
    };
    PATTERNS.iter().map(|known| both(known.1)).collect()
});

fn naive(pattern: &str, text: &str) -> Vec<(usize, usize)> {
    naive_of(&fancy_regex::Regex::new(pattern).unwrap(), text)
}

fn naive_of(regex: &fancy_regex::Regex, text: &str) -> Vec<(usize, usize)> {
    regex
        .find_iter(text)
        .map(|m| m.unwrap())
        .filter(|m| m.end() > m.start())
        .map(|m| (m.start(), m.end()))
        .collect()
}

#[test]
fn published_patterns_are_small() {
    for (name, pattern, _) in PATTERNS {
        let automaton = automaton(pattern);
        assert!(
            automaton.n_states() < 200,
            "{name}: {} states",
            automaton.n_states()
        );
    }
}

#[test]
fn preference_is_that_of_a_backtracking_engine() {
    for (pattern, text) in [
        ("a|ab", "abab"),
        ("ab|a", "abab"),
        ("a+?b?", "aaab"),
        ("a{2,3}", "aaaaaaa"),
        ("(?:ab|a)(?:bc|c)?", "abcabc"),
        (r"\s+(?!\S)|\s", "  a   b "),
        (r"a+(?=b)|a", "aaabaaa"),
        (r"\s++$|\s", "  a  "),
        ("a*b|a", "aaaab aaa"),
        (r"\b\w{1,3}|\w+|\W", "hello, wörld  a_b 1234é"),
        (r"\B\w|\w\b|\s|\w", "abc d éa"),
        ("(?<=a)b|a", "abbab"),
        ("(?<!a)b|[ac]", "bcabb"),
        (
            r"(?<=\p{Lu})\p{Ll}+|\p{Lu}(?!\p{Ll})|\p{Lu}|\p{Ll}",
            "ÉtÉa XMLHttp",
        ),
        ("^a|a{2}|b", "aaab"),
    ] {
        let found: Vec<_> = automaton(pattern).matches(text.as_bytes()).collect();
        assert_eq!(found, naive(pattern, text), "{pattern} on {text:?}");
    }
}

proptest! {
    // Look-behinds at the beginning of a match, and in the middle of one.
    #[test]
    fn looks_behind_are_those_of_a_backtracking_engine(
        which in 0..6usize,
        text in "[a-cA-C_ .éÉ漢0-1-]{0,24}",
    ) {
        let pattern = [
            r"\b\w{1,2}|\w+|[^\w\s]{1,3}\s?|\s",
            r"(?<=[a-c])\p{Lu}+|\p{L}{1,2}\b|.",
            r"(?<!\s)\s|\s+\b|\w+|[^\s\w]+\B|.",
            r"\w(?:\B\w)*(?:-\b\w+)?|.",
            r"(?:a\b|[a-c]{1,2}(?<=b)|\B\w)+?.|.",
            r"\A\w+|(?:(?<=0)1|0)+|.",
        ][which];
        let automaton = automaton(pattern);
        prop_assert!(automaton.looks_behind());
        let found: Vec<_> = automaton.matches(text.as_bytes()).collect();
        prop_assert_eq!(found, naive(pattern, &text), "{} on {:?}", pattern, text);
    }
}

#[test]
fn what_is_kept_is_not_looked_at() {
    let ast = parse(r"\w++(?<=a)|.", Dialect::FancyRegex, UnicodeVersion(99, 0)).unwrap();
    assert_eq!(
        Automaton::new(&ast, false).unwrap_err(),
        BuildError::Possessive
    );
}

#[test]
fn possessive_repetition_that_matters_is_refused() {
    let ast = parse("a++ab", Dialect::FancyRegex, UnicodeVersion(99, 0)).unwrap();
    assert_eq!(
        Automaton::new(&ast, false).unwrap_err(),
        BuildError::Possessive
    );
    let ast = parse("a++(?!b)", Dialect::FancyRegex, UnicodeVersion(99, 0)).unwrap();
    assert_eq!(
        Automaton::new(&ast, false).unwrap_err(),
        BuildError::Possessive
    );
}

#[test]
fn explosive_patterns_are_refused() {
    let ast = parse(
        "(?:a|b)*a(?:a|b){20}",
        Dialect::FancyRegex,
        UnicodeVersion(99, 0),
    )
    .unwrap();
    assert_eq!(
        Automaton::new(&ast, false).unwrap_err(),
        BuildError::TooLarge
    );
}

#[test]
fn running_ahead_is_remembered() {
    // Without the memory this is 10^10 steps.
    let text = "a".repeat(100_000);
    assert_eq!(automaton("a*b|a").matches(text.as_bytes()).count(), 100_000);
}

#[test]
fn what_is_remembered_lasts_for_long_texts() {
    // One entry for each byte would be used up after a few megabytes, and the rest quadratic.
    let text = "\u{e9}a".repeat(50_000);
    let automaton = automaton("[\u{e9}a]*b|.");
    let mut matches = automaton.matches(text.as_bytes());
    assert_eq!(matches.by_ref().count(), 100_000);
    let places = text.len() / STRIDE;
    assert!(
        (places - 2..=places)
            .contains(&matches.hopeless.0.as_ref().map_or(0, |states| states.len()))
    );
}

/// The ends of all pieces, a few at a time, which are the same at all levels that the machine has.
fn ends(automaton: &Automaton, text: &str, at_once: usize) -> Vec<usize> {
    automaton.boundaries(WALKED_AT_LEAST);
    let found = ends_of(automaton.pieces(text.as_bytes()), at_once);
    for level in Level::ALL {
        if let Some(mut boundaries) = automaton.boundaries(0).cloned() {
            boundaries.use_level(level);
            let mut pieces = automaton.pieces(text.as_bytes());
            pieces.boundaries = Some(&boundaries);
            assert_eq!(ends_of(pieces, at_once), found, "{level:?}");
        }
    }
    found
}

fn ends_of(mut pieces: Pieces<'_, '_>, at_once: usize) -> Vec<usize> {
    let mut some = vec![0; at_once];
    let mut ends = Vec::new();
    loop {
        let n = pieces.ends(&mut some);
        if n == 0 {
            return ends;
        }
        ends.extend(&some[..n]);
    }
}

/// Finds the ends of pieces one after the other.
fn piece_ends(automaton: &Automaton, text: &str) -> Vec<usize> {
    let pieces = automaton.pieces(text.as_bytes());
    pieces.map(|(_, end)| end).collect()
}

#[test]
fn characters_tell_where_published_patterns_end() {
    // The one for code tells single signs apart, of which there are too many: it is walked.
    for (name, pattern, _) in PATTERNS.iter().filter(|known| known.0 != "code") {
        assert!(
            automaton(pattern).boundaries(WALKED_AT_LEAST).is_some(),
            "{name}"
        );
    }
}

#[test]
fn what_leaves_gaps_has_no_boundaries_to_tell() {
    let automaton = automaton(r"\p{L}+|\p{N}");
    assert!(automaton.boundaries(WALKED_AT_LEAST).is_none());
    assert_eq!(ends(&automaton, "ab, 12", 2), [2, 4, 5, 6]);
}

#[test]
fn ends_are_those_of_pieces_on_long_texts() {
    // Words, spaces, apostrophes and characters of all lengths at all places of a block.
    let parts = [
        "a",
        " b",
        "'s",
        "'",
        "  ",
        "\n",
        "1",
        "12",
        "\u{e9}",
        " \u{4e2d}\u{56fd}",
        "\u{1f600}",
        "!?",
        "Ab",
    ];
    for (_, pattern, _) in PATTERNS {
        let automaton = automaton(pattern);
        for step in 1..parts.len() * 3 {
            let text: String = (0..400)
                .map(|i| parts[(i * step + i / 7 * step) % parts.len()])
                .collect();
            let expected = piece_ends(&automaton, &text);
            for at_once in [1, 7, 64, 200] {
                assert_eq!(
                    ends(&automaton, &text, at_once),
                    expected,
                    "{pattern} {step}"
                );
            }
        }
    }
}

#[test]
fn marks_on_marks_are_told_by_what_is_before_them() {
    // Two or three on letters, on signs, on digits, behind a space; far from the last end or not.
    for (_, pattern, _) in PATTERNS {
        let automaton = automaton(pattern);
        for part in ["\u{e01}", "!", "1", " ", "'", "\n", "a", "\u{4e2d}"] {
            for n_marks in 1..12 {
                for n in [0, 1, 5, 40] {
                    let marked = format!("{part}{}", "\u{e35}".repeat(n_marks));
                    let text = format!(
                        "{}{marked}\u{e01}{marked}!{marked} {marked}a",
                        "\u{e01}\u{e35}".repeat(n)
                    )
                    .repeat(4);
                    assert_eq!(
                        ends(&automaton, &text, 64),
                        piece_ends(&automaton, &text),
                        "{pattern} {text:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn few_of_many_marks_are_walked() {
    let automaton = automaton(crate::pretokenize::published::by_name("o200k_base").unwrap());
    let boundaries = automaton.made_boundaries().unwrap();
    let text = format!("{}.", "\u{e01}\u{e35}\u{e48}".repeat(40));
    let place = text.len() - 10;
    assert_eq!(
        boundaries.behind_repeats(text.as_bytes(), place),
        Some(false)
    );
    // As the full stop ends it, which the tables know without that.
    assert_eq!(
        boundaries.behind_repeats(text.as_bytes(), text.len() - 1),
        None
    );
}

#[test]
fn the_last_character_may_reach_into_another_block() {
    // A wide space at the end, behind another: whether it is the last decides.
    for (_, pattern, _) in PATTERNS {
        let automaton = automaton(pattern);
        for n in 50..70 {
            for end in [
                " \u{3000}",
                "\n\u{3000}",
                " \u{2029}",
                "'\u{17f}",
                " \u{1f600}",
                "\u{e9}",
            ] {
                let text = format!("{}{end}", "a".repeat(n));
                assert_eq!(
                    ends(&automaton, &text, 64),
                    piece_ends(&automaton, &text),
                    "{pattern} {n} {end:?}"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn ends_are_those_of_pieces(
        choices in prop::collection::vec(any::<usize>(), 0..200),
        plain in prop::collection::vec("[a-zA-Z' \\n.0-9\u{e9}\u{4e2d}]{1,4}", 0..60),
        index in 0..PATTERNS.len(),
        at_once in 1usize..130,
    ) {
        let automaton = &PUBLISHED[index].0;
        let text = jeton_testing::hostile_text(&choices);
        for text in [&text, &plain.concat(), &format!("\u{1f600}{}", plain.concat()), &format!("{}{text}{}", plain.concat(), plain.concat())] {
            let found = ends(automaton, text, at_once);
            prop_assert_eq!(found, piece_ends(automaton, text), "{:?}", text);
        }
    }

    #[test]
    fn ends_are_those_of_pieces_in_all_scripts(
        text in "[а-яЖЯ\u{e9}\u{df}中文かタ한국กัที่ाहिعر😀\u{10FFFF}\u{3000}\u{2029} '\n.0-9aB]{0,300}",
        index in 0..PATTERNS.len(),
        at_once in 1usize..130,
    ) {
        let automaton = &PUBLISHED[index].0;
        prop_assert_eq!(ends(automaton, &text, at_once), piece_ends(automaton, &text));
    }

    #[test]
    fn ends_are_those_of_pieces_for_any_pattern(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                r"\p{L}+", r" ?\p{L}+", r"\p{N}{1,3}", r"\p{N}", r"'s|'t|'ll", r"[^\s\p{L}\p{N}]+", r"\s+(?!\S)",
                r"\s+", r"\s*\n", r"[A-Z][a-z]*", r"[a-z]+", r" ?[.,!?]+", r"[a-z]+-?[a-z]+", r"\p{Lu}+(?=\p{Ll})",
            ]),
            0..6,
        ),
        text in "[a-zA-Z'\\- \\n.,0-9\u{e9}\u{4e2d}]{0,200}",
        at_once in 1usize..130,
    ) {
        // The last two alternatives match every character.
        let pattern = [parts.as_slice(), &[r"\s", r"\S"]].concat().join("|");
        let automaton = automaton(&pattern);
        prop_assert_eq!(ends(&automaton, &text, at_once), piece_ends(&automaton, &text), "{}", pattern);
    }

    #[test]
    fn equals_the_naive_twin(choices in prop::collection::vec(any::<usize>(), 0..24), index in 0..PATTERNS.len()) {
        let text = jeton_testing::hostile_text(&choices);
        let (automaton, regex) = &PUBLISHED[index];
        let found: Vec<_> = automaton.matches(text.as_bytes()).collect();
        prop_assert_eq!(found, naive_of(regex, &text));
    }

    #[test]
    fn equals_the_naive_twin_on_any_text(text in "\\PC{0,40}", index in 0..PATTERNS.len()) {
        let (automaton, regex) = &PUBLISHED[index];
        let found: Vec<_> = automaton.matches(text.as_bytes()).collect();
        prop_assert_eq!(found, naive_of(regex, &text));
    }
}
