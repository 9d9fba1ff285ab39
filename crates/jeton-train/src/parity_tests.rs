//! Parity-aware BPE: by hand, and against a twin that recounts everything.

use std::ops::ControlFlow;

use proptest::prelude::*;

use jeton_core::error::Result;

use super::bpe::first_vocab;
use super::naive::{Row, best_pair, bytes_as_ids, finish_naive, join, make};
use super::{
    BpeTrainOptions, Language, ParityOptions, PretokenCounts, StopReason, TrainedParity, train_bpe,
    train_parity,
};

type Words = Vec<(String, u64)>;

fn counts_of(words: &[(String, u64)]) -> PretokenCounts {
    let mut counts = PretokenCounts::new();
    for (word, weight) in words {
        counts.add(word.as_bytes(), *weight).unwrap();
    }
    counts
}

fn words(words: &[(&str, u64)]) -> Words {
    words
        .iter()
        .map(|&(word, n)| (word.to_owned(), n))
        .collect()
}

fn options(n_merges: usize) -> ParityOptions {
    ParityOptions {
        bpe: BpeTrainOptions {
            vocab_size: 256 + n_merges,
            ..BpeTrainOptions::default()
        },
        n_global_merges: 0,
        window: 0,
        max_in_window: 1,
    }
}

fn train(languages: &[Language<'_>], options: &ParityOptions) -> Result<TrainedParity> {
    train_parity(languages, options, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn the_language_that_is_worst_off_is_served_first() {
    let (large, small) = (
        counts_of(&words(&[("abab", 100)])),
        counts_of(&words(&[("xyxyxyxy", 1)])),
    );
    let language = |train, n_units| Language {
        train,
        measure: None,
        n_units,
    };
    // 400 tokens for 100 units, 8 for 1 unit: the small one is first, until it has 4 as well.
    let languages = [language(&large, 100), language(&small, 1)];
    let trained = train(&languages, &options(3)).unwrap();
    assert_eq!(
        trained.bpe.tokens[256..],
        [b"xy".to_vec(), b"ab".to_vec(), b"xyxy".to_vec()]
    );
    assert_eq!(trained.n_merges_of, [1, 2]);
    assert_eq!(trained.n_tokens_of, [200, 2]);
    // Plain BPE serves the large one.
    let mut plain = options(2);
    plain.n_global_merges = 2;
    let trained = train(&languages, &plain).unwrap();
    assert_eq!(
        trained.bpe.tokens[256..],
        [b"ab".to_vec(), b"abab".to_vec()]
    );
    assert_eq!(trained.n_merges_of, [0, 0]);
}

#[test]
fn a_window_gives_others_their_turn() {
    let (one, two) = (
        counts_of(&words(&[("abcdefgh", 10)])),
        counts_of(&words(&[("xyz", 1)])),
    );
    let languages = [&one, &two].map(|train| Language {
        train,
        measure: None,
        n_units: 1,
    });
    let mut options = options(4);
    assert_eq!(train(&languages, &options).unwrap().n_merges_of, [4, 0]);
    (options.window, options.max_in_window) = (1, 1);
    assert_eq!(train(&languages, &options).unwrap().n_merges_of, [2, 2]);
}

#[test]
fn what_cannot_be_says_why() {
    let (text, none) = (counts_of(&words(&[("ab", 1)])), PretokenCounts::new());
    let fails = |languages: &[Language<'_>]| train(languages, &options(1)).unwrap_err().to_string();
    assert!(fails(&[]).contains("no language"));
    let of = |train, n_units| Language {
        train,
        measure: None,
        n_units,
    };
    assert!(fails(&[of(&text, 1), of(&none, 1)]).contains("language number 2 has no text"));
    assert!(fails(&[of(&text, 0)]).contains("language number 1 has no units"));
}

/// The slow twin.
fn train_naive(
    languages: &[(Words, Option<Words>, u64)],
    options: &ParityOptions,
) -> TrainedParity {
    let bpe = &options.bpe;
    let mut vocab = first_vocab(bpe).unwrap();
    let rows_of = |words: &Words| -> Vec<Row> {
        words
            .iter()
            .map(|(word, weight)| (bytes_as_ids(&vocab, word.as_bytes()), *weight))
            .collect()
    };
    let mut train: Vec<Vec<Row>> = languages.iter().map(|(train, ..)| rows_of(train)).collect();
    let mut measure: Vec<Vec<Row>> = languages
        .iter()
        .map(|(train, measure, _)| rows_of(measure.as_ref().unwrap_or(train)))
        .collect();
    let n_tokens = |rows: &[Row]| -> u64 { rows.iter().map(|(row, n)| row.len() as u64 * n).sum() };
    let mut merges: Vec<(u32, u32, u32)> = Vec::new();
    let mut n_merges_of = vec![0; languages.len()];
    let mut chosen: Vec<usize> = Vec::new();
    let mut is_global = true;
    let stop = loop {
        let all: Vec<Row> = train.concat();
        let global = (is_global && merges.len() < options.n_global_merges)
            .then(|| best_pair(&all, &vocab, bpe, &|_| true))
            .flatten();
        is_global = global.is_some();
        let (language, pair) = match global {
            Some((pair, _)) => (None, pair),
            None => {
                let recent = &chosen[chosen.len().saturating_sub(options.window)..];
                let may =
                    |index: &usize| best_pair(&train[*index], &vocab, bpe, &|_| true).is_some();
                let allowed = |index: &usize| {
                    recent.iter().filter(|&&other| other == *index).count() < options.max_in_window
                };
                let worst = |candidates: Vec<usize>| {
                    candidates.into_iter().reduce(|best, index| {
                        let cost = |index: usize| {
                            (
                                u128::from(n_tokens(&measure[index])),
                                u128::from(languages[index].2),
                            )
                        };
                        let ((a, a_units), (b, b_units)) = (cost(index), cost(best));
                        if a * b_units > b * a_units {
                            index
                        } else {
                            best
                        }
                    })
                };
                let indices: Vec<usize> = (0..languages.len()).filter(may).collect();
                let some = indices.iter().copied().filter(allowed).collect();
                let Some(language) = worst(some).or_else(|| worst(indices)) else {
                    break StopReason::NoPairLeft;
                };
                let (pair, _) = best_pair(&train[language], &vocab, bpe, &|_| true).unwrap();
                (Some(language), pair)
            }
        };
        if vocab.size() as usize >= bpe.vocab_size {
            break StopReason::VocabFull;
        }
        let new = make(&mut vocab, pair);
        merges.push((pair.0, pair.1, new));
        for rows in train.iter_mut().chain(&mut measure) {
            rows.iter_mut().for_each(|(row, _)| join(row, pair, new));
        }
        if let Some(language) = language {
            n_merges_of[language] += 1;
            chosen.push(language);
        }
    };
    TrainedParity {
        bpe: finish_naive(vocab, &[], merges, stop, bpe),
        n_merges_of,
        n_tokens_of: measure.iter().map(|rows| n_tokens(rows)).collect(),
    }
}

fn words_strategy() -> impl Strategy<Value = Words> {
    proptest::collection::vec(("[abc]{1,8}", 1_u64..6), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn equals_the_naive_twin(
        languages in proptest::collection::vec(
            (words_strategy(), proptest::option::of(words_strategy()), 1_u64..50), 1..4),
        n_merges in 0_usize..25,
        n_global_merges in 0_usize..6,
        window in 0_usize..5,
        max_in_window in 1_usize..3,
        min_frequency in 0_u64..4,
        max_token_bytes in proptest::option::weighted(0.3, 2_usize..6),
    ) {
        let mut options = options(n_merges);
        options.bpe.min_frequency = min_frequency;
        options.bpe.max_token_bytes = max_token_bytes;
        options.n_global_merges = n_global_merges;
        options.window = window;
        options.max_in_window = max_in_window;
        let counts: Vec<_> = languages
            .iter()
            .map(|(train, measure, n_units)| {
                (counts_of(train), measure.as_ref().map(|words| counts_of(words)), *n_units)
            })
            .collect();
        let given: Vec<_> = counts
            .iter()
            .map(|(train, measure, n_units)| Language {
                train,
                measure: measure.as_ref(),
                n_units: *n_units,
            })
            .collect();
        prop_assert_eq!(train(&given, &options).unwrap(), train_naive(&languages, &options));
    }

    #[test]
    fn one_language_is_plain_bpe(words in words_strategy(), n_merges in 0_usize..30) {
        let counts = counts_of(&words);
        let options = options(n_merges);
        let language = Language { train: &counts, measure: None, n_units: 7 };
        let trained = train(&[language], &options).unwrap();
        let plain = train_bpe(&counts, &options.bpe, &mut |_| ControlFlow::Continue(())).unwrap();
        prop_assert_eq!(trained.bpe, plain);
    }
}
