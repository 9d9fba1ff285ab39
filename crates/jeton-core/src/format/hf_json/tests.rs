//! Reading `tokenizer.json`: what loads, what is refused, and that writing gives it back.

use serde_json::json;

use super::*;
use crate::format::to_hf_json;
use crate::inputs::template::{Part, Template};
use crate::special::{AddedToken, Allow};

fn file(pre_tokenizer: &Value, model: &Value) -> Value {
    json!({
        "added_tokens": [{"id": 5, "content": "<s>", "special": true, "normalized": false}],
        "normalizer": null,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": {"type": "RobertaProcessing", "sep": ["<s>", 5], "cls": ["<s>", 5]},
        "decoder": {"type": "ByteLevel"},
        "model": model,
    })
}

fn model() -> Value {
    json!({"vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4}, "merges": ["a b", ["Ġ", "ab"]]})
}

fn byte_level() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false})
}

fn load(file: &Value) -> Result<Tokenizer> {
    from_hf_json(&serde_json::to_vec(file).unwrap())
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, &Allow::None, false, &mut ids)
        .unwrap();
    ids
}

#[test]
fn reads_both_spellings_of_merges_and_untyped_models() {
    let tokenizer = load(&file(&byte_level(), &model())).unwrap();
    assert_eq!(encode(&tokenizer, "ab abb"), [3, 4, 1]);
    let mut ids = Vec::new();
    tokenizer
        .encode_into("a<s>", &Allow::All, true, &mut ids)
        .unwrap();
    assert_eq!(ids, [5, 0, 5, 5]);
}

#[test]
fn a_prefix_space_is_put_in_front() {
    let tokenizer = load(&file(
        &json!({"type": "ByteLevel", "add_prefix_space": true}),
        &model(),
    ))
    .unwrap();
    assert_eq!(encode(&tokenizer, "ab"), [4]);
}

#[test]
fn what_is_written_reads_the_same() {
    for pre_tokenizer in [
        byte_level(),
        json!({"type": "ByteLevel", "add_prefix_space": true}),
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": true},
            {"type": "Split", "pattern": {"Regex": "b+"}, "behavior": "MergedWithPrevious", "invert": false},
            byte_level(),
            {"type": "Split", "pattern": {"String": "a"}, "behavior": "Removed", "invert": false}]}),
    ] {
        let tokenizer = load(&file(&pre_tokenizer, &model())).unwrap();
        let again = from_hf_json(&to_hf_json(&tokenizer).unwrap()).unwrap();
        assert_eq!(again.to_config(), tokenizer.to_config());
    }
}

#[test]
fn unsupported_components_are_named() {
    let cases = [
        (json!({"type": "Metaspaces"}), model(), "Metaspaces"),
        (json!({"pattern": "x"}), model(), "without a type"),
        (
            byte_level(),
            json!({"type": "SentencePiece", "vocab": {}}),
            "SentencePiece",
        ),
    ];
    for (pre_tokenizer, model, name) in cases {
        let message = load(&file(&pre_tokenizer, &model)).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn bad_files_are_refused() {
    let cases = [
        (
            json!({"vocab": {"a": 0}, "merges": ["a b"]}),
            "merge 0 names \"b\"",
        ),
        (
            json!({"vocab": {"a": 0, "b": 0}, "merges": []}),
            "id 0 is used twice",
        ),
        (json!({"vocab": {"a": -1}, "merges": []}), "the id -1"),
        (
            json!({"vocab": {"a": 4_000_000_000u32}, "merges": []}),
            "not a whole number below",
        ),
        (
            json!({"vocab": {"a": 0, "b": 1}, "merges": ["a b"]}),
            "not in the vocabulary",
        ),
        (
            json!({"vocab": {"a": 0}, "merges": ["ab"]}),
            "not two tokens",
        ),
        (
            json!({"vocab": {"a": 0}, "merges": [], "unk_token": "x"}),
            "unknown token",
        ),
    ];
    for (model, expected) in cases {
        let message = {
            let mut file = file(&byte_level(), &model);
            file["post_processor"] = Value::Null;
            load(&file)
        }
        .unwrap_err()
        .to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert!(from_hf_json(b"{").is_err());
    assert!(from_hf_json(b"[]").is_err());
    let deep = "[".repeat(100_000);
    assert!(from_hf_json(format!("{{\"model\": {deep}").as_bytes()).is_err());
}

#[test]
fn added_tokens_are_numbered_as_the_reference_does() {
    let mut file = file(&byte_level(), &model());
    file["added_tokens"] = json!([
        {"id": 9, "content": "<s>", "special": true},
        {"id": 3, "content": "ab", "special": false},
        {"id": 7, "content": "<t>", "special": true}]);
    let tokenizer = load(&file).unwrap();
    let ids: Vec<_> = tokenizer
        .added_tokens()
        .iter()
        .map(|t| (t.content.as_str(), t.id))
        .collect();
    assert_eq!(ids, [("ab", 3), ("<s>", 5), ("<t>", 6)]);
}

#[test]
fn a_special_token_of_the_vocabulary_is_never_made_from_text() {
    let model = json!({
        "ignore_merges": true,
        "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "<s>": 5, "<": 6, "s": 7, ">": 8},
        "merges": ["a b", "Ġ ab"]});
    let mut file = file(&byte_level(), &model);
    file["pre_tokenizer"]["use_regex"] = json!(false);
    let tokenizer = load(&file).unwrap();
    assert_eq!(encode(&tokenizer, "<s>"), [6, 7, 8]);
    assert_eq!(encode(&tokenizer, "ab"), [3]);
    let again = from_hf_json(&to_hf_json(&tokenizer).unwrap()).unwrap();
    assert_eq!(again.to_config(), tokenizer.to_config());
}

#[test]
fn scores_are_written_as_they_are_read() {
    // Scores of published Unigram models, and their neighbours.
    let scores = (0..2000u64).map(|n| -9.735_980_033_874_5 - n as f64 * 1.234_567_890_123e-3);
    let pieces: Vec<Value> = scores
        .enumerate()
        .map(|(id, score)| json!([format!("p{id}"), score]))
        .collect();
    let file = json!({
        "added_tokens": [],
        "decoder": {"type": "Metaspace", "replacement": "\u{2581}", "add_prefix_space": true},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
    });
    let tokenizer = load(&file).unwrap();
    let again = from_hf_json(&to_hf_json(&tokenizer).unwrap()).unwrap();
    assert_eq!(again.to_config(), tokenizer.to_config());
}

#[test]
fn added_tokens_that_no_vocabulary_has_stay_outside() {
    for (special, ignore_merges) in [(false, false), (false, true), (true, false)] {
        let mut model = model();
        model["ignore_merges"] = json!(ignore_merges);
        let mut file = file(&byte_level(), &model);
        file["added_tokens"] = json!([
            {"id": 5, "content": "<s>", "special": true, "normalized": false},
            {"id": 6, "content": "[unused0]", "special": special, "normalized": true},
            {"id": 7, "content": "[unused1]", "special": special, "single_word": true}]);
        let tokenizer = load(&file).unwrap();
        let again = from_hf_json(&to_hf_json(&tokenizer).unwrap()).unwrap();
        assert_eq!(again.to_config(), tokenizer.to_config());
    }
}

#[test]
fn an_added_token_with_a_hole_before_it_stands_in_the_vocabulary() {
    let mut config = load(&file(&byte_level(), &model())).unwrap().to_config();
    config.template = Template::default();
    for (id, content) in [(9, "<hole>"), (10, "<next>")] {
        config.added_tokens.push(AddedToken {
            special: false,
            ..AddedToken::special(id, content.to_owned())
        });
    }
    let tokenizer = Tokenizer::from_config(config).unwrap();
    let written: Value = serde_json::from_slice(&to_hf_json(&tokenizer).unwrap()).unwrap();
    let vocab = &written["model"]["vocab"];
    assert_eq!(vocab["<hole>"], 9);
    let again = from_hf_json(&to_hf_json(&tokenizer).unwrap()).unwrap();
    assert_eq!(again.added_tokens(), tokenizer.added_tokens());
}

#[test]
fn a_template_may_use_any_id_that_has_a_text() {
    let mut file = file(&byte_level(), &model());
    // As in envit5: the id is one of the vocabulary, and no added token.
    file["post_processor"] = json!({"type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}},
            {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 1}}],
        "special_tokens": {"</s>": {"id": "</s>", "ids": [3], "tokens": ["</s>"]},
            "<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}}});
    let tokenizer = load(&file).unwrap();
    let again = from_hf_json(&to_hf_json(&tokenizer).unwrap()).unwrap();
    assert_eq!(again.to_config(), tokenizer.to_config());
    file["post_processor"]["special_tokens"]["</s>"]["ids"] = json!([77]);
    if let Ok(tokenizer) = load(&file) {
        let message = to_hf_json(&tokenizer).unwrap_err().to_string();
        assert!(
            message.contains("uses id 77, which has no text"),
            "{message}"
        );
    }
}

#[test]
fn two_ids_of_one_text_stay_apart_in_a_template() {
    let name = |_: u32| Some("x".to_owned());
    let part = |id| Part::Token { id, type_id: 0 };
    let text = Template::default().single;
    let template = Template {
        single: [vec![part(1), part(2), part(1)], text].concat(),
        ..Template::default()
    };
    let written = post_processor::write(&template, &name).unwrap();
    assert_eq!(post_processor::read(Some(&written)).unwrap(), template);
}
