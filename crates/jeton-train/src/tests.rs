//! Tests of training as a whole.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;

use jeton_core::documents::batch::DocumentBatch;
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::Vocab;

use super::bpe::{first_vocab, train_bpe, train_bpe_until};
use super::engine::{Learned, Merge, MergePolicy, Resume, Settings, learn, rows_of_bytes};
use super::naive::{train_bpe_naive, train_bpe_naive_learned};
use super::{
    BpeTrainOptions, MergePredicate, PretokenCounts, Progress, StopReason, TieRule, TrainedBpe,
};

fn options(n_merges: usize) -> BpeTrainOptions {
    BpeTrainOptions {
        vocab_size: 256 + n_merges,
        ..BpeTrainOptions::default()
    }
}

fn counts_of(words: &[(&str, u64)]) -> PretokenCounts {
    let mut counts = PretokenCounts::new();
    for &(word, weight) in words {
        counts.add(word.as_bytes(), weight).unwrap();
    }
    counts
}

fn train(counts: &PretokenCounts, options: &BpeTrainOptions) -> Result<TrainedBpe> {
    train_bpe(counts, options, &mut |_| ControlFlow::Continue(()))
}

/// Merges as text, "left right".
fn merges_of(trained: &TrainedBpe) -> Vec<String> {
    let text = |id: u32| String::from_utf8_lossy(&trained.tokens[id as usize]);
    trained
        .merges
        .iter()
        .map(|&(l, r, _)| format!("{} {}", text(l), text(r)))
        .collect()
}

fn reason(error: &Error) -> &str {
    match error.kind() {
        ErrorKind::Training { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_example_of_the_paper() {
    // Sennrich et al. 2016, algorithm 1, with the end-of-word mark written as a character.
    let counts = counts_of(&[("low_", 5), ("lower_", 2), ("newest_", 6), ("widest_", 3)]);
    let trained = train(&counts, &options(10)).unwrap();
    // The paper leaves ties open: es, st and t_ all occur 9 times; here the lower left id is first,
    // so that (t, _) comes before (es, t).
    let expected = [
        "e s", "t _", "es t_", "l o", "lo w", "e w", "n ew", "new est_", "low _", "d est_",
    ];
    assert_eq!(merges_of(&trained), expected);
    assert_eq!(trained.stop, StopReason::VocabFull);
    assert_eq!(trained.merges[0].2, 256);
    assert_eq!(trained.tokens[258], b"est_");
}

#[test]
fn windows_of_a_run_overlap() {
    // (a, a) has 3 windows in aaaa, so it beats (b, c) with 2; joined, one pair (aa, aa) is left.
    let counts = counts_of(&[("aaaa", 1), ("bcd", 2)]);
    let trained = train(&counts, &options(4)).unwrap();
    assert_eq!(merges_of(&trained), ["a a", "b c", "bc d", "aa aa"]);
}

#[test]
fn tie_rules() {
    // GPT-2's alphabet puts the space behind all printable characters; bytes put it first.
    let counts = counts_of(&[(" a", 3), ("zz", 3)]);
    let hf = train(&counts, &options(2)).unwrap();
    assert_eq!(merges_of(&hf), ["z z", "  a"]);
    let bytes = train(
        &counts,
        &BpeTrainOptions {
            tie_rule: TieRule::Bytes,
            ..options(2)
        },
    )
    .unwrap();
    assert_eq!(merges_of(&bytes), ["  a", "z z"]);
}

#[test]
fn special_tokens_come_first_and_are_never_spelled_by_merges() {
    let special_tokens = vec!["<|end|>".to_owned(), "\u{120}the".to_owned()];
    let options = BpeTrainOptions {
        vocab_size: 1000,
        special_tokens,
        ..options(0)
    };
    let counts = counts_of(&[(" the", 50), (" them", 20), ("<|end|>", 30)]);
    let trained = train(&counts, &options).unwrap();
    assert_eq!(trained.n_special, 2);
    assert_eq!(trained.tokens[0], b"<|end|>");
    assert_eq!(trained.tokens[2], b"!");
    let learned = &trained.tokens[2..];
    assert!(!learned.contains(&b"<|end|>".to_vec()));
    assert!(!learned.contains(&b" the".to_vec())); // tokenizer.json would write it like the special one
    assert_eq!(trained.stop, StopReason::NoPairLeft);
    assert!(trained.merges.iter().all(|merge| merge.2 >= 258));
}

#[test]
fn what_cannot_be_trained_says_why() {
    let counts = counts_of(&[("ab", 1)]);
    let with = |tokens: &[&str], vocab_size| BpeTrainOptions {
        vocab_size,
        special_tokens: tokens.iter().map(|&token| token.to_owned()).collect(),
        ..options(0)
    };
    let fails = |options: &BpeTrainOptions| train(&counts, options).unwrap_err();
    assert_eq!(
        reason(&fails(&with(&["<s>"], 256))),
        "vocab_size 256 is too small: 1 special tokens and 256 bytes need 257"
    );
    assert!(reason(&fails(&with(&["<s>", ""], 300))).contains("number 2 is empty"));
    assert!(reason(&fails(&with(&["<s>", "<s>"], 300))).contains("\"<s>\" is given twice"));
    assert!(reason(&fails(&with(&["a"], 300))).contains("single byte"));
    assert!(reason(&fails(&with(&["\u{120}"], 300))).contains("single byte"));
    assert!(matches!(
        fails(&options(1 << 24)).kind(),
        ErrorKind::TooLarge { .. }
    ));
    let empty = train(&PretokenCounts::new(), &options(1)).unwrap_err();
    assert!(reason(&empty).starts_with("there is no text"));
}

#[test]
fn more_pairs_than_can_be_counted_are_an_error() {
    let counts = counts_of(&[("abc", u64::MAX / 3)]);
    let error = train(&counts, &options(1)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TooLarge { .. }));
    // Far beyond 32 bits is fine.
    let counts = counts_of(&[("ab", 1 << 60), ("bc", (1 << 60) + 1)]);
    assert_eq!(merges_of(&train(&counts, &options(1)).unwrap()), ["b c"]);
}

#[test]
fn progress_and_cancelling() {
    let text: Vec<String> = (0..3000_u32)
        .map(|i| format!("{i:x}{:x}", i * 7919))
        .collect();
    let mut counts = PretokenCounts::new();
    text.iter()
        .for_each(|word| counts.add(word.as_bytes(), 1).unwrap());
    let mut seen = Vec::new();
    let trained = train_bpe(&counts, &options(1000), &mut |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    });
    assert_eq!(trained.unwrap().tokens.len(), 1256);
    assert_eq!(
        seen.first(),
        Some(&Progress {
            n_tokens: 256,
            vocab_size: 1256
        })
    );
    assert_eq!(
        seen.last(),
        Some(&Progress {
            n_tokens: 1256,
            vocab_size: 1256
        })
    );
    assert!(
        seen.len() >= 5
            && seen
                .windows(2)
                .all(|pair| pair[0].n_tokens <= pair[1].n_tokens)
    );

    let mut n_calls = 0;
    let outcome = train_bpe(&counts, &options(1000), &mut |_| {
        n_calls += 1;
        if n_calls == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(
        (outcome.unwrap_err().kind(), n_calls),
        (&ErrorKind::Interrupted, 3)
    );
}

#[test]
fn min_frequency_stops() {
    let counts = counts_of(&[("ab", 5), ("cd", 4), ("ef", 3)]);
    let trained = train(
        &counts,
        &BpeTrainOptions {
            min_frequency: 4,
            ..options(9)
        },
    )
    .unwrap();
    assert_eq!(merges_of(&trained), ["a b", "c d"]);
    assert_eq!(trained.stop, StopReason::NoPairLeft);
}

#[test]
fn forced_tokens_take_no_part_in_what_the_text_teaches() {
    let counts = counts_of(&[("low", 5), ("lower", 2), ("new", 3)]);
    let forced = BpeTrainOptions {
        forced_tokens: vec![b"lower".to_vec(), b"xyz".to_vec()],
        ..options(7)
    };
    let trained = train(&counts, &forced).unwrap();
    // Four places are needed (x y, xy z, e r, low er) once "low" is learned, two before.
    assert_eq!(
        merges_of(&trained),
        ["l o", "lo w", "e w", "low e", "lowe r", "x y", "xy z"]
    );
    let impossible = BpeTrainOptions {
        forced_tokens: vec![b"abcdefgh".to_vec()],
        ..options(6)
    };
    let error = train(&counts, &impossible).unwrap_err();
    assert!(reason(&error).contains("has room for 6 learned tokens; the forced tokens need 7"));
    let clash = BpeTrainOptions {
        forced_tokens: vec![b"lo".to_vec()],
        forbidden_tokens: vec![b"lo".to_vec()],
        ..options(6)
    };
    assert!(reason(&train(&counts, &clash).unwrap_err()).contains("\"lo\" is forced, but"));
}

#[test]
fn an_interrupted_run_gives_its_merges_and_goes_on() {
    let text: Vec<String> = (0..3000_u32)
        .map(|i| format!("{i:x}{:x}", i * 7919))
        .collect();
    let mut counts = PretokenCounts::new();
    text.iter()
        .for_each(|word| counts.add(word.as_bytes(), 1).unwrap());
    let mut n_calls = 0;
    let part = train_bpe_until(&counts, &options(1000), &mut |_| {
        n_calls += 1;
        if n_calls == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .unwrap();
    assert_eq!(part.stop, StopReason::Interrupted);
    assert!(!part.merges.is_empty() && part.merges.len() < 1000);
    let resume: Vec<(u32, u32)> = part.merges.iter().map(|&(l, r, _)| (l, r)).collect();
    let resumed = BpeTrainOptions {
        resume: resume.clone(),
        ..options(1000)
    };
    let whole = train(&counts, &options(1000)).unwrap();
    assert_eq!(train(&counts, &resumed).unwrap(), whole);
    // Merges of other text are none of this.
    let other = counts_of(&[("xy", 3)]);
    let error = train(
        &other,
        &BpeTrainOptions {
            resume,
            ..options(1000)
        },
    )
    .unwrap_err();
    assert!(reason(&error).starts_with("merge number 1 of the run to go on with"));
}

#[test]
fn ties_as_sentencepiece_breaks_them() {
    // All pairs occur twice. Fewest characters first: "é" is one in two bytes; then by bytes.
    let counts = counts_of(&[("zz", 2), ("ab", 2), ("\u{e9}", 2)]);
    let trained = train(
        &counts,
        &BpeTrainOptions {
            tie_rule: TieRule::SentencePiece,
            ..options(3)
        },
    )
    .unwrap();
    assert_eq!(
        trained.tokens[256..],
        ["\u{e9}".as_bytes().to_vec(), b"ab".to_vec(), b"zz".to_vec()]
    );
}

#[test]
fn a_very_long_word_takes_no_quadratic_time() {
    // 2 MB in one word; visiting the whole word at each of 500 merges would take 10^9 steps.
    let mut state = 1_u64;
    let word: Vec<u8> = std::iter::repeat_with(|| {
        // Knuth's linear congruential generator (MMIX).
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        b'a' + (state >> 60) as u8
    })
    .take(2_000_000)
    .collect();
    let mut counts = PretokenCounts::new();
    counts.add(&word, 1).unwrap();
    assert_eq!(train(&counts, &options(500)).unwrap().merges.len(), 500);
}

/// A policy of another kind: bytes saved rather than count, no token across `b`, a list of merges.
#[derive(Default)]
struct ByLength {
    merged: Vec<Merge>,
}

impl MergePolicy for ByLength {
    fn score(&self, vocab: &Vocab, (left, right): (u32, u32), count: u64) -> u64 {
        let len = |id| vocab.id_to_bytes(id).unwrap().len() as u64;
        count * (len(left) + len(right))
    }

    fn may_merge(&mut self, vocab: &Vocab, (left, _): (u32, u32)) -> bool {
        vocab.id_to_bytes(left) != Some(b"b")
    }

    fn stop(&mut self, n_tokens: usize, _best_count: u64) -> Option<StopReason> {
        (n_tokens >= 259).then_some(StopReason::VocabFull)
    }

    fn on_merge(&mut self, _vocab: &Vocab, merge: &Merge) -> ControlFlow<()> {
        self.merged.push(*merge);
        ControlFlow::Continue(())
    }
}

#[test]
fn a_policy_changes_what_is_learned() {
    let counts = counts_of(&[("bc", 100), ("xyz", 8), ("pq", 9), ("de", 1)]);
    let mut policy = ByLength::default();
    let settings = Settings {
        tie_rule: TieRule::Hf,
        max_token_bytes: usize::MAX,
    };
    let vocab = first_vocab(&options(0)).unwrap();
    let cells = rows_of_bytes(&counts, &vocab).unwrap();
    let Learned {
        vocab,
        merges,
        stop,
        ..
    } = learn(cells, vocab, settings, &mut policy, Resume::All(&[])).unwrap();
    let learned: Vec<_> = (256..vocab.size())
        .map(|id| vocab.id_to_bytes(id).unwrap())
        .collect();
    // (p, q): 18; (x, y): 16, then (xy, z): 24. Plain BPE would start with (b, c).
    assert_eq!(learned, [&b"pq"[..], b"xy", b"xyz"]);
    assert_eq!((merges.len(), stop), (3, StopReason::VocabFull));
    let third = Merge {
        left: 257,
        right: merges[2].1,
        new: 258,
        count: 8,
        n_places: 1,
    };
    assert_eq!(policy.merged[2], third);
}

fn words_strategy() -> impl Strategy<Value = Vec<(String, u64)>> {
    let word = prop_oneof![
        3 => "[ab]{1,12}",
        3 => "[abc]{1,9}",
        1 => "[a-e]{1,16}",
        1 => (1_usize..20, "[ab]{0,2}").prop_map(|(n, end)| "a".repeat(n) + &end),
        1 => "[ab]{1,3}".prop_map(|unit| unit.repeat(6)),
    ];
    proptest::collection::vec((word, 1_u64..6), 1..14)
}

fn any_tie_rule() -> impl Strategy<Value = TieRule> {
    prop_oneof![
        Just(TieRule::Hf),
        Just(TieRule::Bytes),
        Just(TieRule::SentencePiece)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]
    #[test]
    fn equals_the_naive_twin(
        words in words_strategy(),
        n_merges in 0_usize..60,
        min_frequency in 0_u64..4,
        max_token_bytes in proptest::option::weighted(0.3, 1_usize..8),
        tie_rule in any_tie_rule(),
        special in any::<bool>(),
        forced in proptest::collection::vec("[abx]{1,6}", 0..3),
        forbidden in proptest::collection::vec("[ab]{2,4}", 0..3),
        no_b_on_the_left in any::<bool>(),
        max_alphabet in proptest::option::weighted(0.2, 0_usize..6),
    ) {
        let words: Vec<_> = words.iter().map(|(word, weight)| (word.as_str(), *weight)).collect();
        let special_tokens = if special { vec!["aba".to_owned()] } else { Vec::new() };
        let bytes = |tokens: Vec<String>| tokens.into_iter().map(String::into_bytes).collect();
        let options = BpeTrainOptions {
            vocab_size: 256 + n_merges + special_tokens.len(),
            min_frequency,
            max_token_bytes,
            special_tokens,
            tie_rule,
            forced_tokens: bytes(forced),
            forbidden_tokens: bytes(forbidden),
            may_merge: no_b_on_the_left
                .then(|| MergePredicate(Arc::new(|left, _| left != b"b"))),
            max_alphabet,
            resume: Vec::new(),
        };
        let counts = counts_of(&words);
        // Impossible options are errors of the fast twin; the slow one has no checks.
        if let Ok(trained) = train(&counts, &options) {
            prop_assert_eq!(trained, train_bpe_naive(&counts, &options));
        }
    }

    #[test]
    fn a_run_that_is_resumed_gives_what_one_run_gives(
        words in words_strategy(),
        n_merges in 1_usize..40,
        stop_after in 0_usize..40,
        min_frequency in 0_u64..4,
        tie_rule in any_tie_rule(),
        forced in proptest::collection::vec("[abx]{1,6}", 0..3),
    ) {
        let words: Vec<_> = words.iter().map(|(word, weight)| (word.as_str(), *weight)).collect();
        let counts = counts_of(&words);
        let mut options = BpeTrainOptions { min_frequency, tie_rule, ..options(n_merges) };
        options.forced_tokens = forced.into_iter().map(String::into_bytes).collect();
        let Ok(whole) = train(&counts, &options) else { return Ok(()) };
        // The merges that the text taught, without the ones that complete forced tokens.
        let n = stop_after.min(whole.merges.len());
        let n_learned = train_bpe_naive_learned(&counts, &options);
        options.resume = whole.merges[..n.min(n_learned)].iter().map(|&(l, r, _)| (l, r)).collect();
        prop_assert_eq!(train(&counts, &options).unwrap(), whole);
    }

    #[test]
    fn threads_and_the_order_of_documents_do_not_matter(
        documents in proptest::collection::vec("[ab ]{0,30}", 1..12),
    ) {
        let at_spaces = |text: &str, sink: &mut dyn FnMut(&[u8])| -> Result<()> {
            text.split_inclusive(' ').for_each(|piece| sink(piece.as_bytes()));
            Ok(())
        };
        let train_on = |documents: &[String], num_threads| {
            let mut counts = PretokenCounts::new();
            let batch = DocumentBatch::from_texts(documents);
            counts.count_batch(batch.as_ref(), &at_spaces, num_threads).unwrap();
            counts.add(b"a", 1).unwrap(); // never empty
            train(&counts, &options(40)).unwrap()
        };
        let one = train_on(&documents, 1);
        let reversed: Vec<String> = documents.iter().rev().cloned().collect();
        prop_assert_eq!(&train_on(&reversed, 1), &one);
        prop_assert_eq!(&train_on(&documents, 2), &one);
        prop_assert_eq!(&train_on(&documents, 8), &one);
    }
}
