//! Losses of a SentencePiece model in other formats: each is named once, and by its own name.

use serde_json::json;

use super::tests::spm;
use super::*;
use crate::format::from_hf_json;
use crate::normalize::charsmap::tests::compile;
use crate::sentencepiece::{ModelType, SpmModel};

fn losses(tokenizer: &Tokenizer, format: FileFormat) -> Vec<String> {
    let written = write(tokenizer, format).unwrap();
    let losses = written.losses.iter();
    losses
        .map(|loss| format!("{}: {}", loss.component, loss.what))
        .collect()
}

#[test]
fn llama_cpp_has_no_rules_for_bpe_and_each_loss_is_named_once() {
    let with = |change: fn(&mut SpmModel)| losses(&spm(true, change), FileFormat::Gguf);
    assert_eq!(with(|_| ()), Vec::<String>::new());
    let spaces = with(|model| model.normalizer.remove_extra_whitespaces = true);
    assert_eq!(spaces, ["normalizer: whether extra spaces go"]);
    let both = with(|model| {
        model.normalizer.precompiled_charsmap = compile(&[("x", "a")]);
        model.normalizer.remove_extra_whitespaces = true;
    });
    assert_eq!(
        both,
        [
            "normalizer: its rules, which rewrite characters",
            "normalizer: whether extra spaces go",
        ]
    );
    let prefix = with(|model| model.normalizer.add_dummy_prefix = false);
    assert_eq!(prefix, Vec::<String>::new(), "the format has a key for it");
}

#[test]
fn bytes_of_a_unigram_model_are_read_but_no_longer_made() {
    let unigram = spm(true, |model| model.trainer.model_type = ModelType::Unigram);
    let written = write(&unigram, FileFormat::Gguf).unwrap();
    let [loss] = &written.losses[..] else {
        panic!("{:?}", written.losses);
    };
    assert_eq!(loss.component, "model");
    assert_eq!(loss.what, "that characters without a piece become bytes");
    assert!(loss.effect.contains("unknown token"), "{}", loss.effect);
    let mut bytes = Vec::new();
    let ids = [3 + 0xC3, 3 + 0xA9];
    written.read.decode_into(&ids, false, &mut bytes).unwrap();
    assert_eq!(bytes, "\u{e9}".as_bytes());
}

#[test]
fn a_space_before_the_first_text_alone_is_a_loss_behind_special_tokens() {
    let vocab = ["<unk>", "</s>", "\u{2581}", "a", "\u{2581}a"];
    let vocab: serde_json::Map<String, serde_json::Value> = vocab
        .iter()
        .zip(0..)
        .map(|(token, id)| ((*token).to_owned(), json!(id)))
        .collect();
    let end = json!({"id": 1, "content": "</s>", "special": true, "single_word": false,
        "lstrip": false, "rstrip": false, "normalized": false});
    let file = |scheme: &str| {
        let tree = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [end],
            "normalizer": null, "post_processor": null,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "\u{2581}",
                "prepend_scheme": scheme, "split": false},
            "decoder": {"type": "Metaspace", "replacement": "\u{2581}",
                "prepend_scheme": scheme, "split": false},
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true,
                "vocab": vocab, "merges": [["\u{2581}", "a"]]},
        });
        from_hf_json(tree.to_string().as_bytes()).unwrap()
    };
    for format in [FileFormat::Gguf, FileFormat::SentencePiece] {
        let names = |scheme: &str| losses(&file(scheme), format).join("; ");
        assert!(
            names("first").contains("not behind special tokens"),
            "{format:?}"
        );
        assert!(
            !names("always").contains("behind special tokens"),
            "{format:?}"
        );
    }
}
