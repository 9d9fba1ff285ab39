//! Tokens found in text: which, where, and what a refused one hides.

use super::*;

fn tokens() -> Vec<AddedToken> {
    let mut mask = AddedToken::special(1, "<mask>");
    mask.lstrip = true;
    let mut word = AddedToken::special(2, "ab");
    word.special = false;
    word.single_word = true;
    vec![
        AddedToken::special(0, "<s>"),
        mask,
        word,
        AddedToken::special(3, "<s><s>"),
    ]
}

fn found(text: &str, allow: &Allow) -> Vec<(usize, usize, u32)> {
    let added = AddedTokens::new(tokens(), &Normalizer::default(), false).unwrap();
    let mut out = Vec::new();
    added.find_raw(text, allow, &mut out);
    out.iter().map(|f| (f.start, f.end, f.id)).collect()
}

#[test]
fn look_alikes_stay_text_unless_allowed() {
    assert_eq!(found("a<s>b", &Allow::None), []);
    assert_eq!(found("a<s>b", &Allow::All), [(1, 4, 0)]);
    assert_eq!(found("a<s>b", &Allow::Ids(HashSet::from([1]))), []);
}

#[test]
fn longest_wins_and_white_space_goes_along() {
    assert_eq!(found("<s><s>", &Allow::All), [(0, 6, 3)]);
    assert_eq!(found("x  <mask> y", &Allow::All), [(1, 9, 1)]);
    assert_eq!(found("<s> <mask>", &Allow::All), [(0, 3, 0), (3, 10, 1)]);
}

#[test]
fn a_token_that_normalization_makes_nothing_of_is_not_found() {
    let line = AddedToken {
        normalized: true,
        ..AddedToken::special(0, "\n")
    };
    let strip = crate::normalize::NormalizerConfig::Strip {
        left: true,
        right: true,
    };
    let normalizer = Normalizer::new(&[strip]).unwrap();
    let added = AddedTokens::new(vec![line], &normalizer, false).unwrap();
    let mut out = Vec::new();
    added.find_normalized("ab", &Allow::All, &mut out);
    assert!(out.is_empty());
}

#[test]
fn a_token_inside_the_white_space_of_another_is_found() {
    let mut line = AddedToken::special(0, "\n");
    line.rstrip = true;
    let added = AddedTokens::new(vec![line], &Normalizer::default(), false).unwrap();
    let mut out = Vec::new();
    added.find_raw("\n\na", &Allow::All, &mut out);
    let ranges: Vec<_> = out.iter().map(|f| (f.start, f.end)).collect();
    assert_eq!(ranges, [(0, 2), (1, 2)]);
}

#[test]
fn tokens_that_all_take_the_same_white_space_are_found_in_one_walk() {
    let strips = |id, content: &str| AddedToken {
        rstrip: true,
        lstrip: true,
        ..AddedToken::special(id, content)
    };
    let tokens = vec![strips(0, "\n"), strips(1, "a")];
    let added = AddedTokens::new(tokens, &Normalizer::default(), false).unwrap();
    // Walking the rest of the run for each token would be 10^11 steps.
    let run = "\n".repeat(500_000);
    let text = format!("{run}a{run}\u{3000}b\n");
    let mut out = Vec::new();
    added.find_raw(&text, &Allow::All, &mut out);
    // The first takes the whole run; with `lstrip` the others begin where it ends, and are nothing.
    let last = text.len() - 2;
    let ranges: Vec<_> = out.iter().map(|f| (f.start, f.end)).collect();
    assert_eq!(
        ranges,
        [(0, 500_000), (500_000, last), (last + 1, last + 2)]
    );
    let strips_right = AddedToken {
        lstrip: false,
        ..strips(0, "\n")
    };
    let added = AddedTokens::new(vec![strips_right], &Normalizer::default(), false).unwrap();
    added.find_raw(&text, &Allow::All, &mut out);
    assert_eq!(out.len(), 1_000_001);
    assert!(out[..500_000].iter().all(|found| found.end == 500_000));
    assert!(
        out[500_000..1_000_000]
            .iter()
            .all(|found| found.end == last)
    );
}

#[test]
fn single_words_touch_no_word() {
    assert_eq!(found("ab cab ab.", &Allow::None), [(0, 2, 2), (7, 9, 2)]);
}

#[test]
fn a_token_without_end_is_refused() {
    let make = |n: usize| {
        let token = AddedToken::special(0, "a".repeat(n));
        AddedTokens::new(vec![token], &Normalizer::default(), false)
    };
    assert!(make(MAX_CONTENT_BYTES).is_ok());
    assert!(make(MAX_CONTENT_BYTES + 1).is_err());
}

#[test]
fn unknown_names_are_refused() {
    let added = AddedTokens::new(tokens(), &Normalizer::default(), false).unwrap();
    assert!(matches!(
        added.allow(["ab"]).unwrap_err().kind(),
        ErrorKind::UnknownSpecial { .. }
    ));
}

#[test]
fn a_disallowed_match_hides_what_it_covers_or_not() {
    let tokens = vec![
        AddedToken::special(0, "<a><b"),
        AddedToken::special(1, "<b>"),
    ];
    for (look_again, expected) in [(false, 0), (true, 1)] {
        let added = AddedTokens::new(tokens.clone(), &Normalizer::default(), look_again).unwrap();
        let mut out = Vec::new();
        added.find_raw("<a><b>", &Allow::Ids(HashSet::from([1])), &mut out);
        assert_eq!(out.len(), expected);
    }
}

fn found_where(
    contents: &[&str],
    text: &str,
    permits: impl Fn(u32, usize, usize) -> bool,
) -> Vec<(usize, usize, u32)> {
    let tokens = (0..)
        .zip(contents)
        .map(|(id, &content)| AddedToken::special(id, content));
    let added = AddedTokens::new(tokens.collect(), &Normalizer::default(), false).unwrap();
    let mut out = Vec::new();
    added.find_where(
        text,
        false,
        &mut |id, start, end| permits(id, start, end),
        &mut out,
    );
    out.iter().map(|f| (f.start, f.end, f.id)).collect()
}

#[test]
fn a_match_that_may_not_stand_there_hides_nothing() {
    // The longest match begins in what may hold none, and covers one that may stand.
    assert_eq!(
        found_where(&["<a><b", "<b>"], "<a><b>", |_, start, _| start >= 3),
        [(3, 6, 1)]
    );
    // The longest goes too far; the next shorter that stays inside counts.
    assert_eq!(
        found_where(&["<s>>>", "<s>", "<s>>"], "<s>>>", |_, _, end| end <= 4),
        [(0, 4, 2)]
    );
    assert_eq!(found_where(&["<s>>", "<s>"], "<s>>", |_, _, _| false), []);
    assert_eq!(
        found_where(&["\u{e9}a"], "\u{e9}\u{e9}a", |_, start, _| start == 2),
        [(2, 5, 0)]
    );
}

#[test]
fn prefixes_of_strings() {
    let contents = ["ab", "a", "abcd", "b", "abc", "ab"];
    assert_eq!(
        longest_prefixes(&contents),
        [Some(1), None, Some(4), None, Some(5), Some(1)]
    );
}
