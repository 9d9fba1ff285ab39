//! Passages that come again have the ids that they had.

use proptest::prelude::*;

use crate::kept_ids::KeptIds;
use crate::pretokenize::published::by_name;
use crate::special::Allow;
use crate::tokenizer::Tokenizer;
use crate::tokenizer::stretches::tests;

fn tokenizer(pattern: &str) -> Tokenizer {
    // What those of Thai begin with, and some of Thai.
    let mut tokens: Vec<&[u8]> = vec![b"\xE0\xB8", b"\xE0\xB9"];
    let of_thai = ["ก", "ข", " ก", "กข", "้", "ข้", "  ", "\n\n", "ab"];
    tokens.extend(of_thai.map(str::as_bytes));
    tests::tokenizer(by_name(pattern).unwrap(), &tokens)
}

/// Also counted, which goes over the text once more.
fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let ids = tests::ids(tokenizer, text);
    let n = tokenizer.count(text, &Allow::None).unwrap();
    assert_eq!(n, ids.len() as u64);
    ids
}

proptest! {
    #[test]
    fn texts_that_come_again_have_the_ids_that_they_had(
        which in 0..3usize,
        passages in prop::collection::vec("[กข้๑]{4,30}([กข้ab\n\u{3000}0]{0,9}|[กข]{40,120})", 1..6),
        texts in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 2..12), 1..5),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        spaces in 1..3usize,
    ) {
        let pattern = ["cl100k_base", "o200k_base", "gpt2"][which];
        let texts: Vec<String> = texts
            .iter()
            .map(|indices| {
                let parts: Vec<&str> = indices.iter().map(|index| &**index.get(&passages)).collect();
                parts.join(&" ".repeat(spaces))
            })
            .collect();
        // Each by a tokenizer that has not seen it.
        let expected: Vec<Vec<u32>> =
            texts.iter().map(|text| ids(&tokenizer(pattern), text)).collect();
        let tokenizer = tokenizer(pattern);
        for index in &order {
            let at = index.index(texts.len());
            for _ in 0..2 {
                prop_assert_eq!(&ids(&tokenizer, &texts[at]), &expected[at]);
            }
        }
    }
}

#[test]
fn passages_are_kept_when_they_come_again_and_forgotten_when_they_must_be() {
    let tokenizer = tokenizer("cl100k_base");
    let text = "กข้".repeat(15) + " " + &"ขก้ก".repeat(15) + " " + &"ab้ ".repeat(3);
    let first = &text[..text.find(' ').unwrap()];
    let used = || {
        tokenizer.pool.with(|scratch| {
            let passages = scratch.engine.words.take_passages();
            let known = passages.get(first.as_bytes()).map(KeptIds::len);
            scratch.engine.words.give_passages(passages);
            known
        })
    };
    let expected = ids(&tokenizer, &text);
    let of_first = ids(&tokenizer, first);
    assert_eq!(used(), Some(of_first.len()));
    assert_eq!(ids(&tokenizer, &text), expected);
    assert_eq!(of_first, expected[..of_first.len()]);
    tokenizer.set_cache_limit(0);
    assert_eq!(used(), None);
    assert_eq!(ids(&tokenizer, &text), expected);
}
