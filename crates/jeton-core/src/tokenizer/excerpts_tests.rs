//! A part counted by the tokens of its text has as many as the part encoded by itself.

use proptest::prelude::*;

use super::{Excerpt, ExcerptRoom};
use crate::special::Allow;
use crate::text::code_points::floor_boundary;
use crate::tokenizer::Tokenizer;
use crate::tokenizer::stretches::tests::{TOKENIZERS, ids};

fn token_ends(tokenizer: &Tokenizer, text: &str) -> Vec<usize> {
    let mut at = 0;
    let length = |id: u32| tokenizer.token_text(id).map_or(0, <[u8]>::len);
    let ends = ids(tokenizer, text).into_iter().map(|id| {
        at += length(id);
        at
    });
    ends.collect()
}

/// The naive twin: the sent text in one piece.
fn naive(tokenizer: &Tokenizer, excerpt: &Excerpt<'_>) -> u64 {
    let part = &excerpt.text[excerpt.range.clone()];
    let sent = [excerpt.before, part, excerpt.behind].concat();
    tokenizer.count(&sent, &Allow::None).unwrap()
}

#[test]
fn parts_of_prose_are_counted_by_their_ends() {
    let text =
        "The cat's 11 aa\n\n  ab é中中 the (end), “they've” said 1234567 times.   ".repeat(40);
    for tokenizer in &TOKENIZERS[..3] {
        assert!(tokenizer.knows_excerpts());
        let known = token_ends(tokenizer, &text);
        let mut room = ExcerptRoom::default();
        for from in 0..70 {
            let from = floor_boundary(&text, from);
            let until = floor_boundary(&text, 1500 + 3 * from);
            for (before, behind) in [("", ""), ("passage: ", ""), ("a'", "'s 1"), ("\n", "  ")] {
                let excerpt = Excerpt {
                    text: &text,
                    range: from..until,
                    before,
                    behind,
                };
                let found = tokenizer.count_by_ends(&excerpt, &known, &mut room);
                assert_eq!(found.unwrap(), Some(naive(tokenizer, &excerpt)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn counts_equal_the_naive_twin(
        which in 0..TOKENIZERS.len(),
        parts in prop::collection::vec(
            "[ab]{0,60}|[ \n]{0,90}|[a-z' ]{0,120}|\\PC{0,20}|[0-9]{0,50}|[é中ł]{0,40}", 8..40,
        ),
        places in prop::collection::vec((any::<u16>(), any::<u16>()), 1..6),
        before in "|passage: |[a'0-9 \n]{0,5}",
        behind in "|[a'0-9 \n]{0,5}",
    ) {
        let tokenizer = &TOKENIZERS[which];
        let text = parts.concat();
        let known = if tokenizer.knows_excerpts() {
            token_ends(tokenizer, &text)
        } else {
            Vec::new()
        };
        let mut room = ExcerptRoom::default();
        for (from, until) in places {
            let place = |at: u16| floor_boundary(&text, usize::from(at) % (text.len() + 1));
            let (from, until) = (place(from).min(place(until)), place(from).max(place(until)));
            let (before, behind) = (before.as_str(), behind.as_str());
            let excerpt = Excerpt { text: &text, range: from..until, before, behind };
            let found = tokenizer.count_excerpt(&excerpt, &known, &mut room).unwrap();
            prop_assert_eq!(found, naive(tokenizer, &excerpt));
        }
    }
}
