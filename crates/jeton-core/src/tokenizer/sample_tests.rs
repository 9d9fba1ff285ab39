//! Draws through the whole tokenizer: what they depend on, how often they come, what is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::documents::batch::DocumentBatch;
use crate::error::ErrorKind;
use crate::format::from_hf_json;

/// Adds the special token `<s>` and the added token `ab!`; their ids follow the model's.
fn load(normalizer: &Value, pre_tokenizer: &Value, model: &Value) -> Tokenizer {
    let vocab = &model["vocab"];
    let n = vocab
        .as_array()
        .map_or_else(|| vocab.as_object().unwrap().len(), Vec::len);
    let file = json!({
        "added_tokens": [
            {"id": n, "content": "<s>", "special": true, "normalized": false},
            {"id": n + 1, "content": "ab!", "special": false, "normalized": false},
        ],
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": {"type": "RobertaProcessing", "sep": ["<s>", n], "cls": ["<s>", n],
            "trim_offsets": false, "add_prefix_space": false},
        "decoder": null,
        "model": model,
    });
    from_hf_json(&serde_json::to_vec(&file).unwrap()).unwrap()
}

/// Every byte that the texts here have, and merges of "abab".
fn bpe(dropout: &Value) -> Tokenizer {
    let tokens = [
        "a", "b", "c", "!", "Ġ", "<", ">", "s", "ab", "abab", "ba", "Ġab",
    ];
    let vocab: BTreeMap<&str, usize> = tokens.iter().enumerate().map(|(id, t)| (*t, id)).collect();
    let model = json!({
        "type": "BPE", "vocab": vocab, "dropout": dropout,
        "merges": [["a", "b"], ["ab", "ab"], ["b", "a"], ["Ġ", "ab"]],
    });
    let split = json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true});
    load(&json!(null), &split, &model)
}

fn character_bpe() -> Tokenizer {
    let tokens = ["a", "b", "a</w>", "b</w>", "ab", "ab</w>", "[UNK]"];
    let vocab: BTreeMap<&str, usize> = tokens.iter().enumerate().map(|(id, t)| (*t, id)).collect();
    let model = json!({
        "type": "BPE", "vocab": vocab, "unk_token": "[UNK]", "end_of_word_suffix": "</w>",
        "merges": [["a", "b"], ["a", "b</w>"]],
    });
    load(
        &json!({"type": "Lowercase"}),
        &json!({"type": "WhitespaceSplit"}),
        &model,
    )
}

fn wordpiece() -> Tokenizer {
    let tokens = ["[UNK]", "a", "b", "ab", "##a", "##b", "##ab"];
    let vocab: BTreeMap<&str, usize> = tokens.iter().enumerate().map(|(id, t)| (*t, id)).collect();
    let model = json!({
        "type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]",
        "continuing_subword_prefix": "##", "max_input_chars_per_word": 5,
    });
    load(
        &json!({"type": "Lowercase"}),
        &json!({"type": "WhitespaceSplit"}),
        &model,
    )
}

const SCORES: [(&str, f64); 5] = [
    ("<unk>", 0.0),
    ("a", -1.5),
    ("b", -2.0),
    ("ab", -2.5),
    ("aba", -4.0),
];

fn unigram() -> Tokenizer {
    let model = json!({"type": "Unigram", "vocab": SCORES, "unk_id": 0});
    load(&json!(null), &json!({"type": "WhitespaceSplit"}), &model)
}

fn words() -> Tokenizer {
    let model = json!({"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"});
    load(&json!(null), &json!({"type": "WhitespaceSplit"}), &model)
}

fn options(method: Option<SamplingMethod>) -> SamplingOptions {
    SamplingOptions {
        method,
        nbest: (method == Some(SamplingMethod::Nbest)).then_some(3),
        ..SamplingOptions::default()
    }
}

/// Each family with each of its methods.
fn all() -> Vec<(Tokenizer, Sampling)> {
    let makers = [|| bpe(&json!(null)), character_bpe, wordpiece, unigram];
    let of_one = |make: fn() -> Tokenizer| {
        let methods = make().sampling_methods();
        assert!(!methods.is_empty());
        methods.iter().map(move |&method| {
            let tokenizer = make();
            let sampling = tokenizer.sampling(options(Some(method))).unwrap();
            (tokenizer, sampling)
        })
    };
    makers.into_iter().flat_map(of_one).collect()
}

fn draw(tokenizer: &Tokenizer, text: &str, at: (u64, u64), sampling: Sampling) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .sample_into(text, at, sampling, &Allow::All, true, &mut ids)
        .unwrap();
    ids
}

fn frequencies(tokenizer: &Tokenizer, text: &str, sampling: Sampling) -> BTreeMap<Vec<u32>, f64> {
    const DRAWS: u32 = 20_000;
    let mut counts = BTreeMap::new();
    for index in 0..u64::from(DRAWS) {
        let mut ids = Vec::new();
        tokenizer
            .sample_into(text, (5, index), sampling, &Allow::None, false, &mut ids)
            .unwrap();
        *counts.entry(ids).or_insert(0.0) += 1.0 / f64::from(DRAWS);
    }
    counts
}

/// Five standard deviations of a share over 20 000 draws are below 0.018.
fn assert_close(found: &BTreeMap<Vec<u32>, f64>, expected: &BTreeMap<Vec<u32>, f64>) {
    assert!(found.keys().eq(expected.keys()), "{found:?} {expected:?}");
    for (ids, share) in expected {
        assert!(
            (found[ids] - share).abs() < 0.018,
            "{ids:?}: {found:?} {expected:?}"
        );
    }
}

#[test]
fn a_batch_is_drawn_the_same_on_any_number_of_threads() {
    let texts: Vec<String> = (0..3000)
        .map(|i| "abab ba <s>ab! c".repeat(1 + i % 7))
        .collect();
    let batch = DocumentBatch::from_texts(&texts);
    for (tokenizer, sampling) in ALL.iter() {
        let sampling = *sampling;
        let drawn = |threads| {
            let allow = &Allow::All;
            tokenizer
                .sample_batch(&batch, 7, sampling, allow, true, threads, &mut || true)
                .unwrap()
        };
        let one = drawn(1);
        assert_eq!(drawn(3), one);
        for index in [0, 1, 2999] {
            let at = |index: usize| usize::try_from(one.offsets[index]).unwrap();
            let alone = draw(tokenizer, &texts[index], (7, index as u64), sampling);
            assert_eq!(one.ids[at(index)..at(index + 1)], alone);
        }
        // Another index in the batch is another draw of an equal text.
        let same: BTreeSet<_> = (0..50)
            .map(|index| draw(tokenizer, "abab", (7, index), sampling))
            .collect();
        assert!(same.len() > 1, "{sampling:?}");
    }
}

/// Made once: a pattern takes longer to compile than a text to encode.
static ALL: LazyLock<Vec<(Tokenizer, Sampling)>> = LazyLock::new(all);
static BPE: LazyLock<[Tokenizer; 2]> = LazyLock::new(|| [bpe(&json!(null)), character_bpe()]);

proptest! {
    #[test]
    fn added_tokens_and_template_are_those_of_encoding(text in "[ab !c<>sA]{0,12}|(ab!|<s>|ab| ){0,8}", seed: u64) {
        for (tokenizer, sampling) in ALL.iter() {
            let ids = draw(tokenizer, &text, (seed, 0), *sampling);
            let mut encoded = Vec::new();
            tokenizer.encode_into(&text, &Allow::All, true, &mut encoded).unwrap();
            let is_added = |id: &u32| tokenizer.added_tokens().iter().any(|token| token.id == *id);
            let added = |ids: &[u32]| ids.iter().copied().filter(is_added).collect::<Vec<_>>();
            prop_assert_eq!(added(&ids), added(&encoded));
            let bytes = |ids: &[u32]| {
                let token = |id: &u32| tokenizer.vocab().id_to_bytes(*id).unwrap().to_vec();
                String::from_utf8(ids.iter().flat_map(token).collect()).unwrap().replace("##", "")
            };
            prop_assert_eq!(bytes(&ids), bytes(&encoded));
        }
    }

    #[test]
    fn dropout_0_is_encoding(text in "[ab c]{0,12}", seed: u64) {
        for tokenizer in BPE.iter() {
            let mut encoded = Vec::new();
            tokenizer.encode_into(&text, &Allow::All, true, &mut encoded).unwrap();
            let none = Sampling::Dropout { probability: 0.0 };
            prop_assert_eq!(draw(tokenizer, &text, (seed, 0), none), encoded);
        }
    }
}

#[test]
fn unigram_draws_have_the_probabilities_of_the_model() {
    let tokenizer = unigram();
    let cuts: [(&[u32], f64); 3] = [(&[1, 2, 1], -5.0), (&[3, 1], -4.0), (&[4], -4.0)];
    for alpha in [0.0, 0.5, 1.0, 2.0] {
        let weights = cuts.map(|(ids, score)| (ids.to_vec(), f64::exp(alpha * score)));
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let expected = weights
            .into_iter()
            .map(|(ids, weight)| (ids, weight / total));
        let found = frequencies(&tokenizer, "aba", Sampling::Unigram { alpha });
        assert_close(&found, &expected.collect());
    }
    let half = [(vec![3, 1], 0.5), (vec![4], 0.5)].into_iter().collect();
    let found = frequencies(&tokenizer, "aba", Sampling::Nbest { n: 2, alpha: 1.0 });
    assert_close(&found, &half);
}

#[test]
fn uniform_draws_are_alike_and_never_special() {
    let found = frequencies(&bpe(&json!(null)), "abab", Sampling::Uniform);
    let cuts: [&[u32]; 6] = [
        &[0, 1, 0, 1],
        &[8, 0, 1],
        &[0, 1, 8],
        &[8, 8],
        &[9],
        &[0, 10, 1],
    ];
    let expected = cuts
        .map(|ids| (ids.to_vec(), 1.0 / 6.0))
        .into_iter()
        .collect();
    assert_close(&found, &expected);
    let found = frequencies(&bpe(&json!(null)), "<s>", Sampling::Uniform);
    assert_eq!(found.into_keys().collect::<Vec<_>>(), [[5, 7, 6]]);
    let found = frequencies(&wordpiece(), "abab", Sampling::Uniform);
    let cuts: [&[u32]; 4] = [&[1, 5, 4, 5], &[3, 4, 5], &[1, 5, 6], &[3, 6]];
    let expected = cuts.map(|ids| (ids.to_vec(), 0.25)).into_iter().collect();
    assert_close(&found, &expected);
    // No way to cut it, or too long: as it is encoded.
    for text in ["abx", "ababab"] {
        let found = frequencies(&wordpiece(), text, Sampling::Uniform);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [[0]]);
    }
    let found = frequencies(&character_bpe(), "ab", Sampling::Uniform);
    let expected = [(vec![0, 3], 0.5), (vec![5], 0.5)].into_iter().collect();
    assert_close(&found, &expected);
}

#[test]
fn what_is_left_out_is_filled_in() {
    let usual = SamplingOptions::default();
    let probability = |tokenizer: Tokenizer| match tokenizer.sampling(usual).unwrap() {
        Sampling::Dropout { probability } => probability,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        probability(bpe(&json!(null))).to_bits(),
        DEFAULT_DROPOUT.to_bits()
    );
    assert_eq!(probability(bpe(&json!(0.25))).to_bits(), 0.25f64.to_bits());
    assert_eq!(wordpiece().sampling(usual).unwrap(), Sampling::Uniform);
    let nbest = SamplingOptions {
        nbest: Some(4),
        alpha: Some(0.5),
        ..usual
    };
    assert_eq!(
        unigram().sampling(nbest).unwrap(),
        Sampling::Nbest { n: 4, alpha: 0.5 }
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let reason = |tokenizer: &Tokenizer, options| {
        let error = tokenizer.sampling(options).unwrap_err();
        match error.kind() {
            ErrorKind::Usage { reason } => reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    let none = SamplingOptions::default();
    let by_name = reason(&bpe(&json!(null)), options(Some(SamplingMethod::Unigram)));
    assert!(by_name.ends_with("it has dropout and uniform"), "{by_name}");
    assert!(reason(&words(), none).contains("one segmentation"));
    for dropout in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let dropout = Some(dropout);
        let reason = reason(&bpe(&json!(null)), SamplingOptions { dropout, ..none });
        assert!(reason.starts_with("dropout is "), "{reason}");
    }
    for alpha in [-0.1, f64::NAN, f64::INFINITY] {
        let alpha = Some(alpha);
        let reason = reason(&unigram(), SamplingOptions { alpha, ..none });
        assert!(reason.starts_with("alpha is "), "{reason}");
    }
    for nbest in [0, MAX_NBEST + 1] {
        let nbest = Some(nbest);
        let reason = reason(&unigram(), SamplingOptions { nbest, ..none });
        assert!(reason.starts_with("nbest is "), "{reason}");
    }
    let method = Some(SamplingMethod::Nbest);
    assert!(reason(&unigram(), SamplingOptions { method, ..none }).contains("needs nbest"));
    let alpha = SamplingOptions {
        alpha: Some(1.0),
        ..options(Some(SamplingMethod::Uniform))
    };
    assert!(reason(&wordpiece(), alpha).starts_with("alpha is no parameter"));
}

#[test]
fn the_best_of_a_text_are_those_of_its_pretokens_together() {
    let tokenizer = unigram();
    let found = tokenizer.nbest("aba ab!ab", 5).unwrap();
    // "aba" has -4, -4 and -5; "ab" -2.5 and -3.5; the added token costs nothing.
    let scores: Vec<f64> = found.iter().map(|(_, score)| *score).collect();
    assert_eq!(scores, [-6.5, -6.5, -7.5, -7.5, -7.5]);
    assert!(found.iter().all(|(ids, _)| ids.contains(&6)));
    assert_eq!(tokenizer.nbest("", 3).unwrap(), [(vec![], 0.0)]);
    assert_eq!(tokenizer.nbest("aba", 1024).unwrap().len(), 3);
    assert!(tokenizer.nbest("aba", 0).is_err());
    assert!(tokenizer.nbest("aba", MAX_NBEST + 1).is_err());
    assert!(wordpiece().nbest("aba", 1).is_err());
}
