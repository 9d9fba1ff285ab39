//! Vocabularies of fewest tokens: by hand, against a twin that tries all ways, against the encoder.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::super::bpe::{BpeTrainOptions, train_bpe};
use super::super::{PretokenCounts, StopReason};
use super::lattice::{Lattice, Tokens};
use super::{FewestOptions, TOKEN_COST, TrainedFewest, naive, train_fewest};
use jeton_core::error::ErrorKind;
use jeton_core::special::Allow;
use jeton_core::tokenizer::Tokenizer;

fn counts_of(words: &[(&str, u64)]) -> PretokenCounts {
    let mut counts = PretokenCounts::new();
    for (word, weight) in words {
        counts.add(word.as_bytes(), *weight).unwrap();
    }
    counts
}

fn options(vocab_size: usize) -> FewestOptions {
    FewestOptions {
        bpe: BpeTrainOptions {
            vocab_size,
            ..BpeTrainOptions::default()
        },
        seed_per_mille: 2000,
        shrinking_per_mille: 750,
        min_saving: 0,
    }
}

fn train(counts: &PretokenCounts, options: &FewestOptions, threads: usize) -> TrainedFewest {
    train_fewest(counts, options, threads, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn tokenizer(trained: &TrainedFewest) -> Tokenizer {
    trained.to_tokenizer(Vec::new(), Vec::new()).unwrap()
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, &Allow::None, false, &mut ids)
        .unwrap();
    ids
}

#[test]
fn a_token_that_only_leads_to_another_makes_room() {
    // BPE needs "ab" for "abc"; text never becomes it.
    let counts = counts_of(&[("abc", 10), ("xy", 5)]);
    let trained = train(&counts, &options(258), 1);
    assert_eq!(trained.tokens[256..], [b"abc".to_vec(), b"xy".to_vec()]);
    assert_eq!(trained.n_tokens, 15);
    assert_eq!(trained.uses[256..], [10, 5]);
    let plain = train_bpe(&counts, &options(258).bpe, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(plain.tokens[256..], [b"ab".to_vec(), b"abc".to_vec()]);
}

#[test]
fn forced_tokens_stay_and_cheap_ones_go() {
    let counts = counts_of(&[("abc", 10), ("xy", 5), ("zz", 1)]);
    let mut options = options(264);
    options.min_saving = 6;
    let trained = train(&counts, &options, 1);
    // "abc" saves 20, "xy" 5.
    assert_eq!(trained.tokens[256..], [b"abc".to_vec()]);
    assert_eq!(trained.stop, StopReason::VocabFull);
    options.bpe.forced_tokens = vec![b"zz".to_vec()];
    let trained = train(&counts, &options, 1);
    assert_eq!(trained.tokens[256..], [b"abc".to_vec(), b"zz".to_vec()]);
}

#[test]
fn text_never_becomes_a_special_token() {
    let counts = counts_of(&[(" abc", 10), (" <s>", 50), ("<s>", 50)]);
    let mut options = options(270);
    options.bpe.special_tokens = vec!["<s>".into()];
    let trained = train(&counts, &options, 1);
    assert_eq!(trained.tokens[0], b"<s>");
    assert!(!trained.tokens[1..].contains(&b"<s>".to_vec()));
    let model = tokenizer(&trained);
    assert!(!encode(&model, "<s> <s>").contains(&0));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let counts = counts_of(&[("ab", 1)]);
    let mut few = options(300);
    few.seed_per_mille = 999;
    let mut none_goes = options(300);
    none_goes.shrinking_per_mille = 1000;
    for options in [few, none_goes] {
        let error = train_fewest(&counts, &options, 1, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(
            error.unwrap_err().kind(),
            ErrorKind::Training { .. }
        ));
    }
    let error = train_fewest(&counts, &options(300), 1, &mut |_| ControlFlow::Break(()));
    assert!(matches!(error.unwrap_err().kind(), ErrorKind::Interrupted));
}

fn any_words() -> impl Strategy<Value = Vec<(String, u64)>> {
    proptest::collection::vec(("[abc]{1,7}|[ab]{1,4}é?", 1_u64..30), 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Training, on one thread and on three.
    #[test]
    fn equals_the_naive_twin(
        words in any_words(),
        n_tokens in 1_usize..12,
        seed_per_mille in 1000_u64..3000,
        shrinking_per_mille in 0_u64..1000,
        min_saving in 0_u64..20,
    ) {
        let mut counts = PretokenCounts::new();
        for (word, weight) in &words {
            counts.add(word.as_bytes(), *weight).unwrap();
        }
        let options = FewestOptions {
            seed_per_mille,
            shrinking_per_mille,
            min_saving,
            ..options(256 + n_tokens)
        };
        let trained = train(&counts, &options, 1);
        prop_assert_eq!(&trained, &train(&counts, &options, 3));
        prop_assert_eq!(&trained, &naive::train(&counts, &options));
        prop_assert!(trained.tokens.len() <= 256 + n_tokens);
    }

    /// The resulting tokenizer cuts in the same way and has the same uses.
    #[test]
    fn the_tokenizer_cuts_in_the_same_way(words in any_words(), n_tokens in 1_usize..12) {
        let mut counts = PretokenCounts::new();
        for (word, weight) in &words {
            counts.add(word.as_bytes(), *weight).unwrap();
        }
        let trained = train(&counts, &options(256 + n_tokens), 2);
        let model = tokenizer(&trained);
        let mut uses = vec![0; trained.tokens.len()];
        for (word, weight) in counts.iter() {
            let ids = encode(&model, std::str::from_utf8(word).unwrap());
            ids.iter().for_each(|&id| uses[id as usize] += weight);
        }
        prop_assert_eq!(uses, trained.uses);
    }

    /// Paths and losses against all ways, with costs that tie.
    #[test]
    fn cutting_equals_trying_all_ways(
        word in "[ab]{1,8}",
        tokens in proptest::collection::btree_set("[ab]{2,4}", 0..8),
        rarities in proptest::collection::vec(0_u64..3, 16),
    ) {
        let mut bytes: Vec<Vec<u8>> = vec![b"a".to_vec(), b"b".to_vec()];
        bytes.extend(tokens.iter().map(|token| token.as_bytes().to_vec()));
        let mut fast = Tokens::new(bytes.clone(), 2).unwrap();
        fast.set_costs(&rarities.iter().map(|r| TOKEN_COST + r).collect::<Vec<_>>());
        let slow: Vec<_> = bytes.into_iter().zip(rarities.iter().map(|r| TOKEN_COST + r)).collect();
        let mut lattice = Lattice::default();
        lattice.cut(&fast, word.as_bytes());
        let path: Vec<usize> = lattice.path().iter().map(|&(id, ..)| id as usize).collect();
        prop_assert_eq!(path, naive::cut(&slow, word.as_bytes()));
        let mut losses = Vec::new();
        lattice.each_loss(|id, loss| losses.push((id as usize, loss)));
        prop_assert_eq!(losses, naive::losses(&slow, word.as_bytes()));
    }
}
