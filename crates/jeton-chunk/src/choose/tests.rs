//! Property tests of the choice among cuts.

use std::convert::Infallible;
use std::ops::Range;

use proptest::prelude::*;

use super::{Chunk, Failure, Settings, Source, cut};

/// A tokenizer whose tokens are three bytes long, counted from the start of what it is given.
struct Threes<'t>(&'t str);

impl Source for Threes<'_> {
    type Error = Infallible;

    fn token_ends(&mut self, part: Range<usize>) -> Result<Vec<usize>, Infallible> {
        let last = part.end;
        let ends = part.step_by(3).map(|at| (at + 3).min(last));
        Ok(ends.collect())
    }

    fn count(&mut self, chunk: Range<usize>, _: &[usize]) -> Result<usize, Infallible> {
        Ok(1 + self.0[chunk].len().div_ceil(3))
    }

    fn overhead(&mut self, _: usize) -> usize {
        1
    }
}

fn settings(max_tokens: usize, overlap_tokens: usize, word_cost: u32) -> Settings {
    Settings {
        max_tokens,
        overlap_tokens,
        overlap_parts: 0,
        chunk_cost: 10,
        clause_cost: word_cost / 2,
        word_cost,
    }
}

fn divide(
    text: &str,
    boundaries: &[usize],
    settings: &Settings,
) -> Result<Vec<Chunk>, Failure<Infallible>> {
    let costs = vec![5; boundaries.len()];
    cut(text, boundaries, &costs, settings, &mut Threes(text))
}

#[test]
fn an_empty_text_has_no_chunk() {
    assert_eq!(divide("", &[], &settings(5, 0, 20)).map(|c| c.len()), Ok(0));
}

#[test]
fn a_cheap_boundary_is_preferred() {
    let text = "aaa bbb ccc. ddd eee fff ggg";
    let chunks = divide(text, &[13], &settings(7, 0, 60)).unwrap_or_default();
    let parts: Vec<&str> = chunks.iter().map(|c| &text[c.range.clone()]).collect();
    assert_eq!(parts, ["aaa bbb ccc. ", "ddd eee fff ggg"]);
}

#[test]
fn a_character_beyond_the_budget_is_named() {
    let found = divide("ab\u{1F600}", &[], &settings(2, 0, 0));
    assert_eq!(found, Err(Failure::TooSmall { at: 2, n_tokens: 3 }));
}

proptest! {
    #[test]
    fn chunks_cover_the_text_within_the_budget(
        text in "[a-c ,.\u{e9}\u{4e2d}\u{1F600}]{0,200}",
        max_tokens in 3_usize..40,
        overlap in 0_usize..3,
        word_cost in prop_oneof![Just(0_u32), Just(60)],
    ) {
        let overlap = overlap.min(max_tokens - 3);
        let boundaries: Vec<usize> = text.match_indices('.').map(|(at, _)| at + 1).collect();
        let chunks = divide(&text, &boundaries, &settings(max_tokens, overlap, word_cost))
            .map_err(|failure| TestCaseError::fail(format!("{failure:?}")))?;
        let mut done = 0;
        for (index, chunk) in chunks.iter().enumerate() {
            prop_assert!(chunk.n_tokens <= max_tokens);
            prop_assert!(chunk.range.end > done);
            prop_assert!(chunk.range.start <= done);
            if overlap == 0 || index == 0 {
                prop_assert_eq!(chunk.range.start, done);
            }
            done = chunk.range.end;
        }
        prop_assert_eq!(done, text.len());
    }
}
