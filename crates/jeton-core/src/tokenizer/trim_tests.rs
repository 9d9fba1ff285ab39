//! Trimmed offsets, in units and in whole tokenizers, compared with `tokenizers` 0.23.3.

use proptest::prelude::*;

use super::*;
use crate::format::from_hf_json;
use crate::special::Allow;

#[test]
fn runs_of_white_space_are_counted_once() {
    let text = "a \n <m>  b";
    let mut runs = Runs::new(text);
    let white = |leading, trailing| White { leading, trailing };
    assert_eq!(runs.white(1..9), white(3, 2));
    assert_eq!(runs.white(2..4), white(2, 2));
    assert_eq!(runs.white(1..3), white(2, 2));
    assert_eq!(runs.white(3..7), white(1, 0));
    assert_eq!(runs.white(5..5), white(0, 0));
    assert_eq!(runs.white(0..1), white(0, 0));
}

proptest! {
    #[test]
    fn runs_equal_their_naive_twin(
        text in "[ab \u{120}\u{a0}\u{3000}]{0,12}",
        places in prop::collection::vec((any::<usize>(), any::<usize>()), 0..20),
    ) {
        let bounds: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
        let mut runs = Runs::new(&text);
        for (a, b) in places {
            let (a, b) = (bounds[a % bounds.len()], bounds[b % bounds.len()]);
            let range = a.min(b)..a.max(b);
            prop_assert_eq!(runs.white(range.clone()), White::of(&text[range]));
        }
    }
}

#[test]
fn one_space_may_have_been_put_there() {
    let prefixed = TrimOffsets {
        add_prefix_space: true,
    };
    let plain = TrimOffsets {
        add_prefix_space: false,
    };
    let [one, two] = [" x", "  x"].map(White::of);
    assert_eq!(one.trim(0, 2, prefixed, false), (0, 2));
    assert_eq!(one.trim(3, 5, prefixed, true), (3, 5));
    assert_eq!(one.trim(3, 5, prefixed, false), (4, 5));
    assert_eq!(one.trim(0, 2, plain, true), (1, 2));
    assert_eq!(two.trim(0, 3, prefixed, true), (2, 3));
    // More white space than the text before the end has characters.
    assert_eq!(White::of("x  ").trim(0, 1, plain, false), (0, 1));
}

/// A tokenizer.json with these parts around.
fn places(parts: &str, text: &str) -> Vec<(u32, usize, usize)> {
    let file = format!(r#"{{"version": "1.0", {parts}}}"#);
    let tokenizer = from_hf_json(file.as_bytes()).unwrap();
    let encoding = tokenizer
        .encode_with_offsets(text, &Allow::All, false, true)
        .unwrap();
    let CodePointRanges { starts, ends } =
        code_point_ranges(text, &encoding.starts, &encoding.ends);
    let at = |place: i64| usize::try_from(place).unwrap();
    (0..encoding.ids.len())
        .map(|i| (encoding.ids[i], at(starts[i]), at(ends[i])))
        .collect()
}

const TRIMMED: &str =
    r#""post_processor": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}"#;

#[test]
fn a_token_that_cuts_a_character_loses_all_of_it() {
    // The first character is unknown and dropped, so that the tab takes its first byte's place.
    let model = r#""model": {"type": "BPE", "vocab": {"\t": 0, "x": 1}, "merges": []}"#;
    let file = format!("{model}, {TRIMMED}");
    assert_eq!(places(&file, "\u{10007}\t"), [(0, 1, 1)]);
    assert_eq!(places(&file, "\u{10007}x"), [(1, 0, 1)]);
}

#[test]
fn unknown_text_of_a_unigram_is_what_the_model_saw() {
    // U+2009 is white space; its last byte's letter in GPT-2's alphabet is not.
    let file = format!(
        r#""model": {{"type": "Unigram", "unk_id": 0, "vocab": [["?", -9], ["\u00e2", -1], ["\u0122", -1]]}},
        "pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}}, {TRIMMED}"#
    );
    assert_eq!(places(&file, "\u{2009}"), [(1, 0, 1), (2, 0, 1), (0, 0, 1)]);
}

#[test]
fn an_added_token_has_the_white_space_of_its_normalized_text() {
    let with = |normalizer: &str, content: &str| {
        format!(
            r#""normalizer": {normalizer}, "model": {{"type": "WordLevel", "unk_token": "?", "vocab": {{"?": 0}}}},
            "added_tokens": [{{"id": 1, "content": "{content}", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": true, "special": false}}], {TRIMMED}"#
        )
    };
    // U+2581 from the space is no white space any more ...
    let prepended = with(
        r#"{"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}"#,
        "the",
    );
    assert_eq!(places(&prepended, "\n the"), [(0, 0, 1), (1, 1, 5)]);
    // ... and a space from a letter is.
    let spaced = with(
        r#"{"type": "Replace", "pattern": {"String": "y"}, "content": " "}"#,
        "xy",
    );
    assert_eq!(places(&spaced, "xy"), [(1, 0, 1)]);
}

#[test]
fn tokens_that_all_take_the_same_white_space_are_trimmed_in_one_walk() {
    let file = format!(
        r#""model": {{"type": "WordLevel", "unk_token": "?", "vocab": {{"?": 0}}}},
        "added_tokens": [{{"id": 1, "content": "\u0085", "single_word": false, "lstrip": false,
        "rstrip": true, "normalized": false, "special": false}}], {TRIMMED}"#
    );
    // Walking the rest of the run for each token would be 10^10 steps.
    let n_tokens = 100_000;
    let found = places(&file, &"\u{85}".repeat(n_tokens));
    assert_eq!(found.len(), n_tokens);
    assert!(found.iter().all(|&place| place == (1, n_tokens, n_tokens)));
}
