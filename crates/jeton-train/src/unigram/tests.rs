//! Unigram against its slow twins, and what it promises.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::naive::{all_cuts, expect_naive, find_naive};
use super::*;
use crate::alphabet::{AlphabetOptions, choose_alphabet, count_characters};
use crate::sentences::SentenceConfig;

fn counts_of(words: &[(String, u64)]) -> PretokenCounts {
    let mut counts = PretokenCounts::new();
    for (word, weight) in words {
        counts.add(word.as_bytes(), *weight).unwrap();
    }
    counts
}

fn alphabet_of(counts: &PretokenCounts) -> Alphabet {
    choose_alphabet(
        &count_characters(counts).unwrap(),
        &AlphabetOptions::default(),
    )
}

fn rules() -> PieceRules {
    PieceRules::new(&SentenceConfig::default(), 16).unwrap()
}

fn words() -> impl Strategy<Value = Vec<(String, u64)>> {
    proptest::collection::vec(("\u{2581}?[abé漢]{0,7}", 1u64..9), 1..8).prop_map(|words| {
        let words: Vec<_> = words
            .into_iter()
            .filter(|(word, _)| !word.is_empty())
            .collect();
        if words.is_empty() {
            vec![("ab".to_owned(), 1)]
        } else {
            words
        }
    })
}

fn train(counts: &PretokenCounts, n_pieces: usize, num_threads: usize) -> TrainedUnigram {
    train_unigram(
        counts,
        &alphabet_of(counts),
        &rules(),
        &|_| false,
        &UnigramTrainOptions::new(n_pieces),
        num_threads,
        &mut |_| ControlFlow::Continue(()),
    )
    .unwrap()
}

proptest! {
    #[test]
    fn candidates_are_those_of_counting_all_substrings(words in words(), max_chars in 2usize..6) {
        let counts = counts_of(&words);
        let corpus = Corpus::new(&counts, &alphabet_of(&counts)).unwrap();
        let expected = find_naive(&corpus, &rules(), max_chars);
        for (n_wanted, threads) in [(usize::MAX >> 8, 1), (3, 2)] {
            let found: Vec<(String, u128)> = seeds::find(&corpus, &rules(), max_chars, 2, n_wanted, threads)
                .iter()
                .map(|seed| (String::from_utf8(seed.text(&corpus).to_vec()).unwrap(), seed.score))
                .collect();
            prop_assert_eq!(&found[..], &expected[..expected.len().min(n_wanted)]);
        }
    }

    #[test]
    fn sums_over_all_ways_to_cut_are_those_of_listing_them(
        words in words(),
        shift in 0.0f64..4.0,
        dropped in 0usize..3,
    ) {
        let counts = counts_of(&words);
        let alphabet = alphabet_of(&counts);
        let corpus = Corpus::new(&counts, &alphabet).unwrap();
        let mut pieces = first_pieces(&corpus, &alphabet, &rules(), &|_| false, &UnigramTrainOptions::new(99), 1);
        // Some characters without a piece.
        let n = pieces.len();
        if n > dropped {
            pieces = pieces.filtered(|id| (id >= dropped).then(|| pieces.scores[id]));
        }
        let lowest = pieces.scores.iter().copied().fold(0.0, f64::min);
        let model = Model::new(&pieces, shift).unwrap();
        let fast = expect(&corpus, &model, pieces.len(), 2);
        let (slow, log_likelihood) = expect_naive(&corpus, &pieces, lowest - 10.0);
        prop_assert!((fast.log_likelihood - log_likelihood).abs() < 1e-5 * (1.0 + log_likelihood.abs()));
        for (fast, slow) in fast.counts.iter().zip(&slow) {
            prop_assert!((fast - slow).abs() < 1e-6 * (1.0 + slow), "{} {}", fast, slow);
        }
        // The best way has the probability of the best of all.
        let mut lattice = Lattice::default();
        for word in 0..corpus.len() {
            let (text, _) = corpus.word(word);
            let mut sum = 0.0;
            let score = lattice.best(&model, text, true, |id| {
                sum += pieces.scores.get(id as usize).copied().unwrap_or(lowest - 10.0);
            });
            let all = all_cuts(std::str::from_utf8(text).unwrap(), &pieces, lowest - 10.0);
            let best = all.iter().map(|cut| cut.1).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!((score - best).abs() < 1e-9 && (sum - best).abs() < 1e-9);
        }
    }

    #[test]
    fn threads_and_the_order_of_words_change_nothing(mut words in words()) {
        let one = train(&counts_of(&words), 12, 1);
        words.reverse();
        prop_assert_eq!(&train(&counts_of(&words), 12, 3), &one);
    }
}

#[test]
fn words_too_unlikely_for_sums_of_probabilities() {
    let word = "ab".repeat(2000);
    let counts = counts_of(&[(word, 1)]);
    let alphabet = alphabet_of(&counts);
    let corpus = Corpus::new(&counts, &alphabet).unwrap();
    let mut pieces = Pieces::default();
    pieces.push(b"a", -3.0);
    pieces.push(b"b", -4.0);
    pieces.push(b"ab", -5.0);
    let exact = 2000.0 * ((-7f64).exp() + (-5f64).exp()).ln();
    for shift in [0.0, 2.0, 5.0] {
        let found = expect(&corpus, &Model::new(&pieces, shift).unwrap(), 3, 1);
        assert!((found.log_likelihood - exact).abs() < 1e-6 * exact.abs());
        let share = (-5f64).exp() / ((-7f64).exp() + (-5f64).exp());
        assert!((found.counts[2] - 2000.0 * share).abs() < 1e-6 * 2000.0);
    }
}

#[test]
fn digamma_at_known_places() {
    // Abramowitz and Stegun, table 6.1 and 6.3.2.
    for (x, value) in [
        (1.0, -0.577_215_664_9),
        (0.5, -1.963_510_026_0),
        (10.0, 2.251_752_589_1),
    ] {
        assert!((digamma(x) - value).abs() < 1e-9, "{x}");
    }
}

#[test]
fn frequent_words_become_pieces_and_characters_stay() {
    let words = [
        ("\u{2581}the", 50),
        ("\u{2581}then", 20),
        ("\u{2581}other", 30),
        ("\u{2581}z", 1),
    ];
    let counts = counts_of(&words.map(|(word, weight)| (word.to_owned(), weight)));
    let trained = train(&counts, 12, 1);
    let texts: Vec<&str> = trained
        .pieces
        .iter()
        .map(|piece| piece.0.as_str())
        .collect();
    assert!(
        texts.contains(&"\u{2581}the") && texts.contains(&"\u{2581}other"),
        "{texts:?}"
    );
    for c in ["\u{2581}", "t", "h", "e", "n", "o", "r", "z"] {
        assert!(texts.contains(&c), "{c} in {texts:?}");
    }
    let scores: Vec<f64> = trained.pieces.iter().map(|piece| piece.1).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b));
}

#[test]
fn what_cannot_be_is_refused() {
    let counts = counts_of(&[("abc".to_owned(), 2)]);
    let go = |counts: &PretokenCounts, n_pieces, stop| {
        train_unigram(
            counts,
            &alphabet_of(counts),
            &rules(),
            &|_| false,
            &UnigramTrainOptions::new(n_pieces),
            1,
            &mut |_| {
                if stop {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        )
    };
    assert!(go(&PretokenCounts::new(), 9, false).is_err());
    let error = go(&counts, 2, false).unwrap_err().to_string();
    assert!(error.contains("3 characters"), "{error}");
    let error = go(&counts, 9, true).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Interrupted));
}
