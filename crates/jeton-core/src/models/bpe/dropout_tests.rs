//! Drawn segmentations against the exact distribution, which a naive twin works out.

use std::collections::BTreeMap;

use super::*;
use crate::models::bpe::{CharacterBpeOptions, CharacterBpeScratch, Merges, Missing};
use crate::vocab::Vocab;
use proptest::prelude::*;

/// Segmentations of a word with their probabilities.
type Distribution = BTreeMap<Vec<u32>, f64>;

/// The naive twin: all draws, one after the other.
struct Naive<'a> {
    /// Rank and merged token of a pair.
    merge: &'a dyn Fn(u32, u32) -> Option<(u32, u32)>,
    dropout: f64,
    found: Distribution,
}

/// A word half done. Symbols stay where they began; one that was swallowed leaves a gap.
#[derive(Clone)]
struct State {
    symbols: Vec<Option<u32>>,
    /// Candidates (rank, place, merged token), in any order.
    waiting: Vec<(u32, usize, u32)>,
    aside: Vec<(u32, usize, u32)>,
}

impl State {
    fn next(&self, at: usize) -> Option<usize> {
        (at + 1..self.symbols.len()).find(|&i| self.symbols[i].is_some())
    }
}

impl Naive<'_> {
    fn distribution(
        symbols: &[u32],
        dropout: f64,
        merge: &dyn Fn(u32, u32) -> Option<(u32, u32)>,
    ) -> Distribution {
        let mut naive = Naive {
            merge,
            dropout,
            found: Distribution::new(),
        };
        let mut state = State {
            symbols: symbols.iter().copied().map(Some).collect(),
            waiting: Vec::new(),
            aside: Vec::new(),
        };
        for at in 0..symbols.len() {
            naive.note(&mut state, at);
        }
        naive.walk(state, 1.0);
        naive.found
    }

    fn note(&self, state: &mut State, at: usize) {
        if let Some(next) = state.next(at)
            && let (Some(left), Some(right)) = (state.symbols[at], state.symbols[next])
            && let Some((rank, id)) = (self.merge)(left, right)
        {
            state.waiting.push((rank, at, id));
        }
    }

    fn walk(&mut self, mut state: State, probability: f64) {
        state.waiting.sort_unstable();
        if probability == 0.0 {
            return;
        }
        if state.waiting.is_empty() {
            let ids = state.symbols.into_iter().flatten().collect();
            *self.found.entry(ids).or_default() += probability;
            return;
        }
        let drawn = state.waiting.remove(0);
        let mut left_out = state.clone();
        left_out.aside.push(drawn);
        self.walk(left_out, probability * self.dropout);

        let (_, at, id) = drawn;
        let mut back = std::mem::take(&mut state.aside);
        state.waiting.append(&mut back);
        if let Some(next) = state.next(at)
            && let (Some(left), Some(right)) = (state.symbols[at], state.symbols[next])
            && (self.merge)(left, right).is_some_and(|(_, made)| made == id)
        {
            state.symbols[at] = Some(id);
            state.symbols[next] = None;
            if let Some(before) = (0..at).rev().find(|&i| state.symbols[i].is_some()) {
                self.note(&mut state, before);
            }
            self.note(&mut state, at);
        }
        self.walk(state, probability * (1.0 - self.dropout));
    }
}

fn vocab(tokens: &[&str]) -> Vocab {
    let mut vocab = Vocab::default();
    for (id, token) in (0..).zip(tokens) {
        vocab.insert(id, token.as_bytes()).unwrap();
    }
    vocab
}

const TOKENS: [&str; 11] = [
    "a", "b", "c", "ab", "bc", "abc", "ca", "abca", "aa", "aaa", "aaaa",
];

/// Merges that compete: no segmentation of a word is made in one way only.
fn merges() -> Vec<(u32, u32)> {
    let id = |wanted: &str| TOKENS.iter().position(|&token| token == wanted).unwrap() as u32;
    [
        ("a", "b"),
        ("b", "c"),
        ("a", "a"),
        ("ab", "c"),
        ("aa", "a"),
        ("c", "a"),
        ("a", "bc"),
        ("abc", "a"),
        ("a", "aa"),
        ("ab", "ca"),
        ("aa", "aa"),
    ]
    .map(|(left, right)| (id(left), id(right)))
    .to_vec()
}

fn listed(left: u32, right: u32) -> Option<(u32, u32)> {
    let rank = merges().iter().position(|&pair| pair == (left, right))?;
    let merged = format!("{}{}", TOKENS[left as usize], TOKENS[right as usize]);
    let id = TOKENS.iter().position(|&token| token == merged).unwrap();
    Some((rank as u32, id as u32))
}

fn by_rank(left: u32, right: u32) -> Option<(u32, u32)> {
    let merged = format!("{}{}", TOKENS[left as usize], TOKENS[right as usize]);
    let id = TOKENS.iter().position(|&token| token == merged)? as u32;
    Some((id, id))
}

/// Draws, and compares frequencies with probabilities: the sum of squared deviations, each in
/// proportion to its expectation, has a chi-square distribution.
fn check_frequencies(
    expected: &Distribution,
    mut draw: impl FnMut(&mut SplitMix64) -> Vec<u32>,
    seed: u64,
) {
    const DRAWS: u32 = 20_000;
    let total: f64 = expected.values().sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    let mut random = SplitMix64::new(seed);
    let mut counts: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for _ in 0..DRAWS {
        *counts.entry(draw(&mut random)).or_default() += 1;
    }
    assert!(counts.keys().all(|ids| expected.contains_key(ids)));
    let mut sum = 0.0;
    for (ids, probability) in expected {
        let mean = probability * f64::from(DRAWS);
        let count = counts.get(ids).copied().unwrap_or_default();
        sum += (f64::from(count) - mean).powi(2) / mean.max(1.0);
    }
    let freedom = expected.len() as f64 - 1.0;
    // Five standard deviations above the mean, and room for distributions of one or two
    // segmentations.
    assert!(sum < freedom + 5.0 * (2.0 * freedom).sqrt() + 10.0, "{sum}");
}

#[test]
fn frequencies_are_those_of_the_naive_twin() {
    let list = Merges::List(merges());
    let bytes = BpeModel::new(vocab(&TOKENS), &list, true, Missing::Fail).unwrap();
    let ranks = BpeModel::new(vocab(&TOKENS), &Merges::ByRank, false, Missing::Fail).unwrap();
    let options = CharacterBpeOptions {
        whole_pretokens: true,
        ..CharacterBpeOptions::default()
    };
    let characters = CharacterBpeModel::new(vocab(&TOKENS), &merges(), options).unwrap();
    let mut scratch = DropoutScratch::default();
    for (seed, (word, dropout)) in [
        ("abca", 0.1),
        ("abca", 0.5),
        ("aaaa", 0.3),
        ("aabcab", 0.2),
        ("abcabc", 0.7),
    ]
    .into_iter()
    .enumerate()
    {
        let symbols: Vec<u32> = word.bytes().map(|b| u32::from(b - b'a')).collect();
        let expected = Naive::distribution(&symbols, dropout, &listed);
        assert!(expected.len() > 4, "{word}: a test of nothing");
        let mut ids = Vec::new();
        check_frequencies(
            &expected,
            |random| {
                ids.clear();
                characters
                    .encode_with_dropout(word.as_bytes(), dropout, random, &mut scratch, |id, n| {
                        assert_eq!(n, TOKENS[id as usize].len());
                        ids.push(id);
                    })
                    .unwrap();
                ids.clone()
            },
            seed as u64,
        );
        for (model, merge) in [
            (&bytes, &listed as &dyn Fn(u32, u32) -> _),
            (&ranks, &by_rank),
        ] {
            let expected = Naive::distribution(&symbols, dropout, merge);
            check_frequencies(
                &expected,
                |random| {
                    let mut ids = Vec::new();
                    model
                        .encode_with_dropout(
                            word.as_bytes(),
                            dropout,
                            random,
                            &mut scratch,
                            |id, n| {
                                assert_eq!(n, TOKENS[id as usize].len());
                                ids.push(id);
                            },
                        )
                        .unwrap();
                    ids
                },
                100 + seed as u64,
            );
        }
    }
}

#[test]
fn the_naive_twin_has_the_reference_s_distribution() {
    // Frequencies among 1,000,000 calls of BPE.tokenize of `tokenizers` 0.23.3 with these tokens
    // and merges, measured on 2026-11-21.
    type Measured<'a> = (&'a str, f64, &'a [(&'a [u32], f64)]);
    let cases: [Measured<'_>; 3] = [
        (
            "abca",
            0.3,
            &[
                (&[7], 0.586_172),
                (&[5, 0], 0.191_224),
                (&[3, 2, 0], 0.063_268),
                (&[0, 4, 0], 0.062_684),
                (&[3, 6], 0.060_004),
                (&[0, 1, 2, 0], 0.026_990),
                (&[0, 1, 6], 0.009_658),
            ],
        ),
        (
            "aaaa",
            0.5,
            &[
                (&[9, 0], 0.186_829),
                (&[10], 0.164_700),
                (&[8, 8], 0.163_828),
                (&[0, 9], 0.148_482),
                (&[8, 0, 0], 0.125_263),
                (&[0, 0, 0, 0], 0.124_980),
                (&[0, 8, 0], 0.062_706),
                (&[0, 0, 8], 0.023_212),
            ],
        ),
        (
            "abcabc",
            0.2,
            &[
                (&[5, 5], 0.891_872),
                (&[5, 3, 2], 0.055_429),
                (&[7, 4], 0.016_657),
                (&[3, 2, 5], 0.011_239),
                (&[0, 4, 5], 0.009_954),
                (&[3, 2, 3, 2], 0.008_148),
            ],
        ),
    ];
    for (word, dropout, measured) in cases {
        let symbols: Vec<u32> = word.bytes().map(|b| u32::from(b - b'a')).collect();
        let exact = Naive::distribution(&symbols, dropout, &listed);
        for (ids, frequency) in measured {
            let probability = exact[*ids];
            // Five standard deviations of the frequency among that many draws.
            let tolerance = 5.0 * (probability * (1.0 - probability) / 1e6).sqrt();
            assert!(
                (probability - frequency).abs() < tolerance,
                "{word} {ids:?}: {probability} {frequency}"
            );
        }
    }
}

#[test]
fn no_dropout_and_nothing_but_dropout() {
    let list = Merges::List(merges());
    for whole_pretokens in [false, true] {
        let model = BpeModel::new(vocab(&TOKENS), &list, whole_pretokens, Missing::Fail).unwrap();
        let mut scratch = DropoutScratch::default();
        let mut draw = |dropout: f64| {
            let mut pieces = Vec::new();
            let random = &mut SplitMix64::new(1);
            model
                .encode_with_dropout(b"abcaa", dropout, random, &mut scratch, |id, n| {
                    pieces.push((id, n));
                })
                .unwrap();
            // Nothing was drawn where nothing can be left out.
            let untouched = random.next_u64() == SplitMix64::new(1).next_u64();
            (pieces, untouched)
        };
        let plain = (vec![(5, 3), (8, 2)], true);
        assert_eq!(draw(0.0), plain);
        assert_eq!(draw(-1.0), plain);
        assert_eq!(draw(f64::NAN), plain);
        let bytes = (vec![(0, 1), (1, 1), (2, 1), (0, 1), (0, 1)], false);
        assert_eq!(draw(1.0), bytes);
        assert_eq!(draw(f64::INFINITY), bytes);
    }
}

#[test]
fn whole_pretokens_are_whole_without_dropout_only() {
    let list = Merges::List(Vec::new());
    let model = BpeModel::new(vocab(&TOKENS), &list, true, Missing::Fail).unwrap();
    let options = CharacterBpeOptions {
        whole_pretokens: true,
        ..CharacterBpeOptions::default()
    };
    let characters = CharacterBpeModel::new(vocab(&TOKENS), &[], options).unwrap();
    let mut scratch = DropoutScratch::default();
    for (dropout, expected) in [(0.0, &[5][..]), (1e-9, &[0, 1, 2][..])] {
        let random = &mut SplitMix64::new(1);
        let mut ids = Vec::new();
        model
            .encode_with_dropout(b"abc", dropout, random, &mut scratch, |id, _| ids.push(id))
            .unwrap();
        assert_eq!(ids, expected);
        ids.clear();
        characters
            .encode_with_dropout(b"abc", dropout, random, &mut scratch, |id, _| ids.push(id))
            .unwrap();
        assert_eq!(ids, expected);
    }
}

#[test]
fn bytes_without_a_token() {
    let make =
        |missing| BpeModel::new(vocab(&TOKENS), &Merges::List(merges()), false, missing).unwrap();
    let encode = |model: &BpeModel| {
        let mut pieces = Vec::new();
        let (random, scratch) = (&mut SplitMix64::new(0), &mut DropoutScratch::default());
        model
            .encode_with_dropout(b"axb", 0.0, random, scratch, |id, n| pieces.push((id, n)))
            .map(|()| pieces)
    };
    assert!(encode(&make(Missing::Fail)).is_err());
    assert_eq!(encode(&make(Missing::Skip)).unwrap(), [(3, 2)]);
    assert_eq!(
        encode(&make(Missing::Unknown(2))).unwrap(),
        [(0, 1), (2, 1), (1, 1)]
    );
}

/// Long words are drawn in reasonable time, and the same seed draws the same.
#[test]
fn a_long_word_can_be_repeated() {
    let model =
        CharacterBpeModel::new(vocab(&TOKENS), &merges(), CharacterBpeOptions::default()).unwrap();
    let word = "abcaab".repeat(20_000);
    let draw = |seed| {
        let (mut ids, mut covered) = (Vec::new(), 0);
        let (random, scratch) = (&mut SplitMix64::new(seed), &mut DropoutScratch::default());
        model
            .encode_with_dropout(word.as_bytes(), 0.5, random, scratch, |id, n| {
                ids.push(id);
                covered += n;
            })
            .unwrap();
        assert_eq!(covered, word.len());
        let text: String = ids.iter().map(|&id| TOKENS[id as usize]).collect();
        assert!(text == word);
        ids
    };
    let first = draw(1);
    assert!(first == draw(1));
    assert!(first != draw(2));
}

proptest! {
    #[test]
    fn without_dropout_it_is_the_plain_encoding(text in "[abcxé]{0,150}") {
        let options = CharacterBpeOptions { missing: Missing::Unknown(4), ..CharacterBpeOptions::default() };
        let model = CharacterBpeModel::new(vocab(&TOKENS), &merges(), options).unwrap();
        let mut plain = Vec::new();
        model
            .encode_with_pieces(text.as_bytes(), &mut CharacterBpeScratch::default(), |id, n| plain.push((id, n)))
            .unwrap();
        let mut drawn = Vec::new();
        // The smallest positive number takes the way of dropout, and leaves out nothing.
        for dropout in [0.0, f64::MIN_POSITIVE] {
            drawn.clear();
            let (random, scratch) = (&mut SplitMix64::new(5), &mut DropoutScratch::default());
            model
                .encode_with_dropout(text.as_bytes(), dropout, random, scratch, |id, n| drawn.push((id, n)))
                .unwrap();
            prop_assert_eq!(&drawn, &plain);
        }
    }
}
