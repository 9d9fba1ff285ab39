//! Rows against a definition that joins lists, as `tokenizers` joins encodings.

use proptest::prelude::*;

use super::*;
use crate::documents::token_batch::TokenBatch;
use crate::inputs::{Padding, TruncationStrategy};

/// An encoding and what has overflowed from it.
#[derive(Clone, Debug, Default)]
struct Naive {
    ids: Vec<u32>,
    overflowing: Vec<Vec<u32>>,
}

impl Naive {
    /// Keeps `room` ids; the others overflow.
    fn cut(ids: &[u32], room: usize, stride: usize, side: Side) -> Self {
        let mut windows = Vec::new();
        let mut ids = ids.to_vec();
        if side == Side::Left {
            ids.reverse();
        }
        let mut begin = 0;
        loop {
            let mut window: Vec<u32> = ids[begin..].iter().copied().take(room).collect();
            let ends = begin + window.len() == ids.len();
            if side == Side::Left {
                window.reverse();
            }
            windows.push(window);
            if ends || room <= stride {
                break;
            }
            begin += room - stride;
        }
        let overflowing = windows.split_off(1);
        let ids = windows.remove(0);
        Self { ids, overflowing }
    }

    /// Joins a part to what stands before it.
    fn join(&mut self, part: &Self) {
        let with = |before: &[u32], after: &[u32]| [before, after].concat();
        let mut overflowing = Vec::new();
        for before in &self.overflowing {
            overflowing.push(with(before, &part.ids));
            overflowing.extend(part.overflowing.iter().map(|after| with(before, after)));
        }
        overflowing.extend(part.overflowing.iter().map(|after| with(&self.ids, after)));
        self.ids.extend(&part.ids);
        self.overflowing = overflowing;
    }
}

fn ids(length: usize, base: u32) -> Vec<u32> {
    (base..).take(length).collect()
}

fn batch(texts: &[Vec<u32>]) -> TokenBatch {
    let mut batch = TokenBatch::default();
    batch.offsets.push(0);
    for text in texts {
        batch.ids.extend(text);
        batch.offsets.push(batch.ids.len() as i64);
    }
    batch
}

fn rows(layout: &Layout, ids: &[i64]) -> Vec<Vec<i64>> {
    let row = |row: usize| {
        let at = |row: usize| usize::try_from(layout.row_offsets()[row]).unwrap();
        ids[at(row)..at(row + 1)].to_vec()
    };
    (0..layout.n_rows()).map(row).collect()
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let part = prop_oneof![
        Just(Part::Token { id: 7, type_id: 1 }),
        Just(Part::Text {
            segment: Segment::First,
            type_id: 0
        }),
        Just(Part::Text {
            segment: Segment::Second,
            type_id: 1
        }),
    ];
    prop::collection::vec(part, 0..5)
}

fn sides() -> impl Strategy<Value = Side> {
    prop::sample::select(vec![Side::Left, Side::Right])
}

proptest! {
    #[test]
    fn rows_equal_joining_lists(
        pair in parts(),
        lengths in prop::collection::vec((0..12_usize, 0..12_usize), 0..4),
        max_length in 0..12_u64, stride in 0..3_u64, direction in sides(), add_special_tokens: bool, overflow: bool,
        strategy in prop::sample::select(vec![
            TruncationStrategy::LongestFirst, TruncationStrategy::OnlyFirst, TruncationStrategy::OnlySecond,
        ]),
    ) {
        let template = Template { pair, ..Template::default() };
        let truncation = Truncation { max_length, stride, strategy, direction };
        let options = InputOptions {
            add_special_tokens, truncation: Some(truncation), overflow, padding: None,
        };
        let firsts: Vec<_> = lengths.iter().map(|(first, _)| ids(*first, 100)).collect();
        let seconds: Vec<_> = lengths.iter().map(|(_, second)| ids(*second, 200)).collect();
        let layout = Layout::new(
            &template, &options, firsts.iter().map(Vec::len), Some(&mut seconds.iter().map(Vec::len)),
        );
        let is_token = |part: &&Part| matches!(part, Part::Token { .. });
        let n_special = if add_special_tokens { template.pair.iter().filter(is_token).count() } else { 0 };
        let Some(room) = (max_length as usize).checked_sub(n_special) else {
            prop_assert!(layout.is_err());
            return Ok(());
        };
        let mut expected = Vec::new();
        for (first, second) in firsts.iter().zip(&seconds) {
            let Ok((a, b)) = kept(first.len(), Some(second.len()), room, strategy) else {
                prop_assert!(layout.is_err());
                return Ok(());
            };
            let stride = stride as usize;
            let tight = |length: usize, room: usize| room < length && room <= stride;
            if overflow && (room <= stride || tight(first.len(), a) || tight(second.len(), b)) {
                prop_assert!(layout.is_err());
                return Ok(());
            }
            let mut row = Naive::default();
            for part in &template.pair {
                match part {
                    Part::Token { id, .. } if add_special_tokens => {
                        row.join(&Naive { ids: vec![*id], overflowing: Vec::new() });
                    }
                    Part::Token { .. } => {}
                    Part::Text { segment: Segment::First, .. } => row.join(&Naive::cut(first, a, stride, direction)),
                    Part::Text { segment: Segment::Second, .. } => row.join(&Naive::cut(second, b, stride, direction)),
                }
            }
            expected.push(row.ids);
            if overflow {
                expected.extend(row.overflowing);
            }
        }
        if layout.is_err() {
            prop_assert!(overflow && room <= stride as usize && expected.is_empty());
            return Ok(());
        }
        let layout = layout.unwrap();
        let expected: Vec<Vec<i64>> =
            expected.iter().map(|row| row.iter().map(|&id| i64::from(id)).collect()).collect();
        let found: Vec<i64> = layout.ids(&batch(&firsts), Some(&batch(&seconds)), 1).unwrap();
        prop_assert_eq!(rows(&layout, &found), expected);
    }
}

fn single(padding: Option<Padding>) -> InputOptions {
    InputOptions {
        add_special_tokens: true,
        padding,
        ..InputOptions::default()
    }
}

fn padding(direction: Side) -> Padding {
    Padding {
        fixed_length: None,
        direction,
        pad_to_multiple_of: Some(4),
        pad_id: 9,
        pad_type_id: 5,
        pad_token: "<pad>".to_owned(),
    }
}

#[test]
fn padded_on_either_side() {
    let template = Template::bert(1, 2);
    let texts = [ids(3, 100), ids(0, 100)];
    let lengths = || texts.iter().map(Vec::len);
    let on = |side| Layout::new(&template, &single(Some(padding(side))), lengths(), None).unwrap();
    let right = on(Side::Right);
    assert_eq!(
        (right.columns(), right.n_rows(), right.longest()),
        (Some(8), 2, 5)
    );
    let found: Vec<i32> = right.ids(&batch(&texts), None, 2).unwrap();
    assert_eq!(
        found,
        [1, 100, 101, 102, 2, 9, 9, 9, 1, 2, 9, 9, 9, 9, 9, 9]
    );
    let left = on(Side::Left);
    let found: Vec<i32> = left.ids(&batch(&texts), None, 1).unwrap();
    assert_eq!(
        found,
        [9, 9, 9, 1, 100, 101, 102, 2, 9, 9, 9, 9, 9, 9, 1, 2]
    );
    let mask: Vec<i32> = left.attention_mask(1).unwrap();
    assert_eq!(mask, [0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
    let types: Vec<i32> = left.type_ids(1).unwrap();
    assert_eq!(types[..8], [5, 5, 5, 0, 0, 0, 0, 0]);
    let positions: Vec<i32> = left.position_ids(1).unwrap();
    assert_eq!(positions[..8], [0, 0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(
        left.sequence_ids(1).unwrap()[..8],
        [-1, -1, -1, -1, 0, 0, 0, -1]
    );
    assert_eq!(
        left.special_tokens_mask(1).unwrap()[..8],
        [true, true, true, true, false, false, false, true]
    );
    assert_eq!(left.n_tokens(), [3, 0]);
}

#[test]
fn threads_do_not_matter() {
    let texts: Vec<Vec<u32>> = (0..3000).map(|i| ids(i % 97, 100)).collect();
    for options in [single(None), single(Some(padding(Side::Left)))] {
        let lengths = texts.iter().map(Vec::len);
        let layout = Layout::new(&Template::bert(1, 2), &options, lengths, None).unwrap();
        let on = |threads| layout.ids::<i64>(&batch(&texts), None, threads).unwrap();
        assert!(layout.n_cells() > 1 << 17);
        assert_eq!(on(1), on(3));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |options: &InputOptions, length: usize| {
        let lengths = [length].into_iter();
        let made = Layout::new(&Template::bert(1, 2), options, lengths, None);
        made.unwrap_err().to_string()
    };
    let truncation = |max_length, stride, strategy| {
        let direction = Side::Right;
        InputOptions {
            truncation: Some(Truncation {
                max_length,
                stride,
                strategy,
                direction,
            }),
            overflow: true,
            ..single(None)
        }
    };
    let longest = TruncationStrategy::LongestFirst;
    assert!(error(&truncation(1, 0, longest), 0).starts_with("max_length is 1, but the template"));
    assert!(
        error(&truncation(5, 3, longest), 0).starts_with("stride is 3; expected less than the 3")
    );
    let second = error(&truncation(5, 0, TruncationStrategy::OnlySecond), 9);
    assert!(second.contains("no second text"), "{second}");
    // Windows that share all but one token of a long text.
    let windows = error(&truncation(1 << 20, (1 << 20) - 3, longest), 1 << 30);
    assert!(windows.contains("exceeds the limit"), "{windows}");
    let fixed = Padding {
        fixed_length: Some(3),
        pad_to_multiple_of: None,
        ..padding(Side::Right)
    };
    assert!(error(&single(Some(fixed.clone())), 2).contains("has 4 tokens"));
    let huge = Padding {
        fixed_length: Some(u64::MAX - 5),
        ..fixed
    };
    assert!(error(&single(Some(huge)), 2).contains("exceeds the limit"));
}
