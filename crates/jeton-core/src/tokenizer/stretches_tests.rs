//! A text in stretches has the ids of the text, wherever it is cut.

use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use proptest::prelude::*;

use crate::cpu::prefetch::ReadLater;
use crate::documents::batch::DocumentBatch;
use crate::format::{TiktokenOptions, from_tiktoken};
use crate::pipeline::section::ThreadSpan;
use crate::pretokenize::published::by_name;
use crate::special::Allow;
use crate::text::code_points::floor_boundary;
use crate::tokenizer::Tokenizer;

/// A tokenizer with these tokens, behind the single bytes.
pub(in crate::tokenizer) fn tokenizer(pattern: &str, words: &[&[u8]]) -> Tokenizer {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let lines: Vec<String> = bytes
        .chain(words.iter().map(|word| word.to_vec()))
        .enumerate()
        .map(|(rank, token)| format!("{} {rank}\n", BASE64_STANDARD.encode(token)))
        .collect();
    let options = TiktokenOptions {
        pattern: pattern.to_owned(),
        special_tokens: vec![("<end>".to_owned(), 1000), ("<a>".to_owned(), 1001)],
        normalizer: Vec::new(),
        reference: crate::config::Reference::Tiktoken,
    };
    from_tiktoken(lines.concat().as_bytes(), options).unwrap()
}

/// Patterns in use, and some whose matches are long, have gaps between them, or depend on much that
/// follows.
pub(in crate::tokenizer) static TOKENIZERS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let mut patterns: Vec<String> = ["cl100k_base", "o200k_base", "gpt2"]
        .iter()
        .filter_map(|name| by_name(name).map(str::to_owned))
        .collect();
    assert_eq!(patterns.len(), 3);
    patterns.extend(
        [
            "a+b|a",
            "[^b]*b",
            "(?:aa)+|b ",
            r"\s+(?!\S)|\s+|\w+",
            "a",
            r"(?s).{3}",
        ]
        .map(str::to_owned),
    );
    let words = [
        " a", "aa", "ab", " b", "\n\n", "  ", "    ", " the", "11", "é", "中", "'s", "!!",
    ];
    let words = words.map(str::as_bytes);
    let tokenizers = patterns.iter().map(|pattern| tokenizer(pattern, &words));
    tokenizers.collect()
});

/// Joins the ids of all stretches; None if two of them do not meet.
fn in_stretches(tokenizer: &Tokenizer, text: &str, cuts: &[usize]) -> Option<Vec<u32>> {
    let mut starts = vec![0];
    starts.extend(cuts.iter().map(|&cut| floor_boundary(text, cut)));
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|&start| start < text.len() || start == 0);
    starts.extend([text.len(), text.len()]);
    let mut whole = Vec::new();
    let mut ahead = 0;
    for places in starts.windows(3) {
        let stretch = ThreadSpan {
            section: 0..text.len(),
            from: places[0],
            until: places[1],
            limit: places[2],
        };
        let mut ids = Vec::new();
        let next = tokenizer.pool.with(|scratch| {
            tokenizer
                .engine
                .encode_stretch(
                    text,
                    &stretch,
                    ReadLater::default(),
                    &mut scratch.engine,
                    &mut ids,
                )
                .unwrap()
        });
        whole.extend_from_slice(&ids[ahead..]);
        ahead = next?;
    }
    assert_eq!(ahead, 0);
    Some(whole)
}

pub(in crate::tokenizer) fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, &Allow::None, false, &mut ids)
        .unwrap();
    ids
}

#[test]
fn words_meet_wherever_they_are_cut() {
    let text = "the cat's  11 aa\n\n  ab é中中 the".repeat(3);
    for tokenizer in &TOKENIZERS[..3] {
        let expected = ids(tokenizer, &text);
        for cut in 0..text.len() {
            // Where the cut is in the last word, nothing is left to meet in.
            if let Some(found) = in_stretches(tokenizer, &text, &[cut]) {
                assert_eq!(found, expected, "cut at {cut}");
            }
            assert!(cut > 60 || in_stretches(tokenizer, &text, &[cut]).is_some());
        }
    }
}

#[test]
fn long_texts_of_a_batch_are_shared() {
    let long = "the cat's 11 aa<a>\n\n  ab é中中 the <end>ab".repeat(40_000);
    let batch = DocumentBatch::from_texts(["ab", &long, "", "the <a>", &long[..700_000], "b"]);
    let one_piece = DocumentBatch::from_texts([&*"a".repeat(600_000), "ab"]);
    for tokenizer in &TOKENIZERS[..3] {
        for allow in [Allow::None, Allow::All] {
            for batch in [&batch, &one_piece] {
                let encode = |threads| {
                    tokenizer
                        .encode_batch(batch, &allow, true, threads, &mut || true)
                        .unwrap()
                };
                let count = |threads| {
                    tokenizer
                        .count_batch(batch, &allow, threads, &mut || true)
                        .unwrap()
                };
                let expected = encode(1);
                let mut one_by_one = vec![0];
                for text in batch.iter() {
                    let mut ids = Vec::new();
                    tokenizer.encode_into(text, &allow, true, &mut ids).unwrap();
                    let start = usize::try_from(*one_by_one.last().unwrap()).unwrap();
                    assert_eq!(expected.ids[start..start + ids.len()], ids);
                    one_by_one.push((start + ids.len()) as i64);
                }
                assert_eq!(expected.offsets, one_by_one);
                let lengths: Vec<i64> = one_by_one
                    .windows(2)
                    .map(|pair| pair[1] - pair[0])
                    .collect();
                for threads in [2, 5] {
                    assert_eq!(encode(threads), expected);
                    assert_eq!(count(threads), lengths);
                }
            }
        }
    }
}

proptest! {
    /// The naive twin is the text in one piece; the cuts are anywhere.
    #[test]
    fn stretches_together_are_the_text(
        which in 0..TOKENIZERS.len(),
        text in "([ab]{0,6}|[ \n]{0,5}|[a-z' ]{0,12}|\\PC{0,4}|[0-9]{0,5}|[é中ł]{0,4}){0,24}",
        cuts in prop::collection::vec(0usize..200, 0..6),
    ) {
        let tokenizer = &TOKENIZERS[which];
        if let Some(found) = in_stretches(tokenizer, &text, &cuts) {
            prop_assert_eq!(found, ids(tokenizer, &text));
        }
    }
}
