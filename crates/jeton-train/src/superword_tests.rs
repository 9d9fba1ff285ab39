//! Superwords: by hand, and against a twin that recounts everything.

use std::ops::ControlFlow;

use proptest::prelude::*;

use jeton_core::error::{ErrorKind, Result};

use super::bpe::first_vocab;
use super::naive::{Row, bytes_as_ids, finish_naive, forced_rows, join, learn_naive};
use super::{
    BpeTrainOptions, PretokenCounts, StopReason, SuperwordOptions, TieRule, TrainedSuperwords,
    train_superwords, train_superwords_until,
};

/// Words begin at a space and before and after a run of `.`, so that `a.b` is three words, and so
/// is `a .b`.
#[allow(clippy::unnecessary_wraps)] // the type of `SplitFn`
fn split(text: &str, each: &mut dyn FnMut(&[u8])) -> Result<()> {
    let bytes = text.as_bytes();
    let mut start = 0;
    for at in 1..=bytes.len() {
        let is_end = at == bytes.len()
            || bytes[at] == b' '
            || (bytes[at] == b'.') != (bytes[at - 1] == b'.') && bytes[at - 1] != b' ';
        if is_end {
            each(&bytes[start..at]);
            start = at;
        }
    }
    Ok(())
}

fn words_of(text: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    split(text, &mut |word| words.push(word.to_vec())).unwrap();
    words
}

fn counts_of(phrases: &[(&str, u64)]) -> PretokenCounts {
    let mut counts = PretokenCounts::new();
    for &(phrase, weight) in phrases {
        counts.add(phrase.as_bytes(), weight).unwrap();
    }
    counts
}

fn options(n_word_merges: usize, n_merges: usize) -> SuperwordOptions {
    SuperwordOptions {
        bpe: BpeTrainOptions {
            vocab_size: 256 + n_merges,
            ..BpeTrainOptions::default()
        },
        transition_size: 256 + n_word_merges,
        max_words: usize::MAX,
        whole_words: false,
    }
}

fn train(
    phrases: &PretokenCounts,
    options: &SuperwordOptions,
    num_threads: usize,
) -> Result<TrainedSuperwords> {
    train_superwords(phrases, &split, options, num_threads, &mut |_| {
        ControlFlow::Continue(())
    })
}

/// Runs of bytes that are not white space.
fn n_words(token: &[u8]) -> usize {
    String::from_utf8_lossy(token)
        .split_ascii_whitespace()
        .count()
}

/// The slow twin: stage one on the words of every phrase, stage two on what its merges make of the
/// bytes of whole phrases, which know of no words.
fn train_naive(phrases: &PretokenCounts, options: &SuperwordOptions) -> TrainedSuperwords {
    let bpe = &options.bpe;
    let mut vocab = first_vocab(bpe).unwrap();
    let mut forced = forced_rows(&vocab, bpe);
    let mut merges = Vec::new();
    let text = |phrase: &[u8]| String::from_utf8(phrase.to_vec()).unwrap();
    let mut words: Vec<Row> = Vec::new();
    for (phrase, weight) in phrases.iter_sorted() {
        for word in words_of(&text(phrase)) {
            words.push((bytes_as_ids(&vocab, &word), weight));
        }
    }
    learn_naive(
        &mut words,
        &mut vocab,
        &mut forced,
        &mut merges,
        bpe,
        options.transition_size,
        &|_| true,
    );
    let n_word_merges = merges.len();
    let mut rows: Vec<Row> = Vec::new();
    for (phrase, weight) in phrases.iter_sorted() {
        let mut row = bytes_as_ids(&vocab, phrase);
        for &(left, right, new) in &merges {
            join(&mut row, (left, right), new);
        }
        if !options.whole_words {
            rows.push((row, weight));
            continue;
        }
        let mut ends = vec![0];
        for word in words_of(&text(phrase)) {
            ends.push(ends.last().unwrap() + word.len());
        }
        let (mut at, mut sequence) = (0, Vec::new());
        for id in row {
            let end = at + vocab.id_to_bytes(id).unwrap().len();
            if ends.contains(&at) && ends.contains(&end) {
                sequence.push(id);
            } else {
                rows.push((std::mem::take(&mut sequence), weight));
            }
            at = end;
        }
        rows.push((sequence, weight));
    }
    let stop = learn_naive(
        &mut rows,
        &mut vocab,
        &mut forced,
        &mut merges,
        bpe,
        bpe.vocab_size,
        &|token| n_words(token) <= options.max_words,
    );
    TrainedSuperwords {
        bpe: finish_naive(vocab, &forced, merges, stop, bpe),
        n_word_merges,
    }
}

fn learned(trained: &TrainedSuperwords) -> Vec<String> {
    trained.bpe.tokens[256..]
        .iter()
        .map(|token| String::from_utf8_lossy(token).into_owned())
        .collect()
}

#[test]
fn merges_cross_the_ends_of_words_after_the_transition_only() {
    let phrases = counts_of(&[("in the end", 4), ("at the inn", 2)]);
    // " the" is most of all (6); words alone, so "in" (6) although "n " stands there 6 times as
    // well.
    let trained = train(&phrases, &options(5, 7), 1).unwrap();
    let tokens = learned(&trained);
    assert_eq!(trained.n_word_merges, 5);
    assert!(
        tokens[..5]
            .iter()
            .all(|token| !token.trim_start().contains(' '))
    );
    assert!(
        tokens[5..]
            .iter()
            .all(|token| token.trim_start().contains(' ')),
        "{tokens:?}"
    );
    assert_eq!(trained.bpe.stop, StopReason::VocabFull);
}

#[test]
fn a_merge_that_crosses_the_end_of_a_word_is_known_when_superwords_are_learned() {
    // ". " never occurs within a word; "b." does not either, but ".." does, and "a..b" holds it
    // across none. In "x .y" the word " ." is followed by "y"; " y" is a word elsewhere.
    let phrases = counts_of(&[("x.. ..y", 3), ("a.b.c", 2), ("q. .r", 5)]);
    for n_word_merges in 0..4 {
        let options = options(n_word_merges, 9);
        assert_eq!(
            train(&phrases, &options, 2).unwrap(),
            train_naive(&phrases, &options)
        );
    }
}

#[test]
fn superwords_have_so_many_words_at_most() {
    let phrases = counts_of(&[("a b c d e", 50)]);
    let mut options = options(4, 30);
    options.max_words = 2;
    let trained = train(&phrases, &options, 1).unwrap();
    assert!(
        trained.bpe.tokens[256..]
            .iter()
            .all(|token| n_words(token) <= 2)
    );
    assert!(
        trained.bpe.tokens[256..]
            .iter()
            .any(|token| n_words(token) == 2)
    );
    assert_eq!(trained.bpe.stop, StopReason::NoPairLeft);
}

#[test]
fn what_cannot_be_says_why() {
    let phrases = counts_of(&[("a b", 1)]);
    let fails = |options: &SuperwordOptions| train(&phrases, options, 1).unwrap_err().to_string();
    let mut late = options(3, 2);
    late.transition_size = 300;
    assert!(fails(&late).contains("transition_size is 300; it should be from 256"));
    let mut none = options(1, 2);
    none.max_words = 0;
    assert!(fails(&none).contains("max_words is 0"));
    let lossy = |text: &str, each: &mut dyn FnMut(&[u8])| {
        each(text.trim().as_bytes());
        Ok(())
    };
    let phrases = counts_of(&[("a b ", 1)]);
    let error = train_superwords(&phrases, &lossy, &options(1, 2), 1, &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("keeps 3 of 4 bytes")
    );
    let interrupted = train_superwords(&phrases, &split, &options(1, 2), 1, &mut |_| {
        ControlFlow::Break(())
    });
    assert_eq!(interrupted.unwrap_err().kind(), &ErrorKind::Interrupted);
}

fn phrases_strategy() -> impl Strategy<Value = Vec<(String, u64)>> {
    let phrase = prop_oneof![
        3 => "[ab]{1,3}( [ab]{1,3}){0,4}",
        2 => "[ab. ]{1,12}",
        1 => "[a.]{1,8}",
        1 => "(ab ){1,5}a",
    ];
    proptest::collection::vec((phrase, 1_u64..5), 1..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    #[test]
    fn equals_the_naive_twin(
        phrases in phrases_strategy(),
        n_word_merges in 0_usize..12,
        n_more in 0_usize..20,
        max_words in 1_usize..4,
        whole_words in any::<bool>(),
        min_frequency in 0_u64..3,
        by_bytes in any::<bool>(),
        forced in proptest::collection::vec("[abx ]{1,6}", 0..2),
        num_threads in 1_usize..4,
    ) {
        let phrases: Vec<_> = phrases.iter().map(|(text, weight)| (text.as_str(), *weight)).collect();
        let counts = counts_of(&phrases);
        let mut options = options(n_word_merges, n_word_merges + n_more);
        options.max_words = max_words;
        options.whole_words = whole_words;
        options.bpe.min_frequency = min_frequency;
        options.bpe.tie_rule = if by_bytes { TieRule::Bytes } else { TieRule::Hf };
        options.bpe.forced_tokens = forced.into_iter().map(String::into_bytes).collect();
        if let Ok(trained) = train(&counts, &options, num_threads) {
            prop_assert_eq!(trained, train_naive(&counts, &options));
        }
    }

    #[test]
    fn a_run_that_is_resumed_gives_what_one_run_gives(
        phrases in phrases_strategy(),
        n_word_merges in 0_usize..12,
        n_more in 0_usize..20,
        n_resumed in 0_usize..32,
        whole_words in any::<bool>(),
    ) {
        let phrases: Vec<_> = phrases.iter().map(|(text, weight)| (text.as_str(), *weight)).collect();
        let counts = counts_of(&phrases);
        let mut options = options(n_word_merges, n_word_merges + n_more);
        options.whole_words = whole_words;
        let whole = train(&counts, &options, 1).unwrap();
        let merges = &whole.bpe.merges;
        options.bpe.resume = merges[..n_resumed.min(merges.len())]
            .iter()
            .map(|&(left, right, _)| (left, right))
            .collect();
        let resumed = train_superwords_until(&counts, &split, &options, 2, &mut |_| ControlFlow::Continue(()));
        prop_assert_eq!(resumed.unwrap(), whole);
    }
}
