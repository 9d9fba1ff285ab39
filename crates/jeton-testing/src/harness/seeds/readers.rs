//! Seeds of the files of single projects.

use super::{Seed, charsmap, seed};
use crate::gguf::{Layout, Value};

type Pairs = Vec<(&'static str, Value)>;

/// A vocabulary with the tokens' types (1 normal, 2 unknown, 3 control, 4 of the user, 5 unused, 6
/// byte).
fn vocabulary(model: &str, tokens: &[&str], kinds: &[i32]) -> Pairs {
    vec![
        ("general.name", Value::text("phi-3")),
        ("tokenizer.ggml.model", Value::text(model)),
        ("tokenizer.ggml.tokens", Value::texts(tokens)),
        ("tokenizer.ggml.token_type", Value::i32s(kinds)),
    ]
}

pub(super) fn gguf() -> Vec<Seed> {
    let gpt2 = |more: Pairs| {
        let tokens = ["a", "b", "ab", "<|im_end|>", "  ", "<c>", "\u{120}", ""];
        let mut pairs = vocabulary("gpt2", &tokens, &[1, 1, 1, 1, 4, 3, 1, 3]);
        pairs.push(("tokenizer.ggml.merges", Value::texts(&["a b"])));
        pairs.extend(more);
        pairs
    };
    let spaced = [
        "<unk>", "<s>", "</s>", "\u{2581}", "a", "b", "ab", "<0x41>", "<m>", "u",
    ];
    let scores = (
        "tokenizer.ggml.scores",
        Value::f32s(&[0.0, 0.0, 0.0, -3.0, -1.0, -2.0, -1.5, 0.0, 0.0, -9.0]),
    );
    let spm = |model: &str, more: Pairs| {
        // A `llama` with one byte needs all of them.
        let byte = if model == "llama" { 1 } else { 6 };
        let mut pairs = vocabulary(model, &spaced, &[2, 3, 3, 1, 1, 1, 1, byte, 4, 5]);
        pairs.push(scores.clone());
        pairs.extend(more);
        pairs
    };
    let bert = [
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "\u{2581}a",
        "b",
        "\u{2581}hello",
        "\u{2581},",
    ];
    let rwkv = ["<s>", "\\x41", "a", "\\n", "ab", " "];
    let rules = vec![
        (
            "tokenizer.ggml.precompiled_charsmap",
            Value::bytes(&charsmap()),
        ),
        ("tokenizer.ggml.remove_extra_whitespaces", Value::Bool(true)),
    ];
    let ids = vec![
        ("tokenizer.ggml.bos_token_id", Value::U32(5)),
        ("tokenizer.ggml.eos_token_id", Value::U64(3)),
        ("tokenizer.ggml.add_bos_token", Value::Bool(true)),
        ("tokenizer.ggml.pre", Value::text("llama-bpe")),
        ("nested", Value::Array(9, vec![Value::texts(&["x"])])),
        ("half", Value::F64(0.5)),
    ];
    let wide = Layout::default();
    let narrow = Layout {
        version: 1,
        big_endian: true,
    };
    let files = [
        ("gpt2", wide.write(&gpt2(Vec::new()))),
        ("gpt2-ids", wide.write(&gpt2(ids))),
        ("gpt2-version-1-big-endian", narrow.write(&gpt2(Vec::new()))),
        ("llama", wide.write(&spm("llama", Vec::new()))),
        ("t5", wide.write(&spm("t5", rules))),
        (
            "bert",
            wide.write(&vocabulary("bert", &bert, &[3, 3, 3, 1, 1, 1, 1])),
        ),
        (
            "rwkv",
            wide.write(&vocabulary("rwkv", &rwkv, &[3, 1, 1, 1, 1, 1])),
        ),
    ];
    let cut = files[0].1[..files[0].1.len() / 2].to_vec();
    let mut seeds: Vec<Seed> = files.map(|(name, bytes)| seed(name, bytes, true)).into();
    seeds.push(seed("cut", cut, false));
    seeds
}

pub(super) fn merges() -> Vec<Seed> {
    vec![
        seed(
            "merges",
            "#version: 0.2\na b\n\u{120} a\nl o\nab ab\n",
            true,
        ),
        seed("carriage-returns", "a b\r\n\r\nl o", true),
        seed("vocab", "{\"a\":3,\"b\":1,\"ab\":7,\"<s>\":0}\0a b\n", true),
        seed("not-there", "a z\n", false),
        seed("three", "a b l\n", false),
    ]
}

pub(super) fn tekken() -> Vec<Seed> {
    let file = |version: &str, special: &str| {
        format!(
            r#"{{"config":{{"pattern":"[^\\r\\n]+|[\\r\\n]","num_vocab_tokens":258,"default_vocab_size":278,"default_num_special_tokens":20,"version":"{version}"}},{special}"vocab":[{{"rank":256,"token_bytes":"YWI=","token_str":"ab"}},{{"rank":257,"token_bytes":"IGE=","token_str":null}}]}}"#
        )
    };
    let named = r#""special_tokens":[{"rank":0,"token_str":"<unk>","is_control":true},{"rank":1,"token_str":"<s>","is_control":true},{"rank":2,"token_str":"</s>","is_control":true}],"#;
    vec![
        seed("version-3", file("v3", ""), true),
        seed("version-11", file("v11", named), true),
        seed("version-11-unnamed", file("v11", ""), false),
    ]
}

pub(super) fn claude() -> Vec<Seed> {
    let file = |ranks: &str| {
        format!(
            r#"{{"explicit_n_vocab":300,"pat_str":"\\w+|\\W+","special_tokens":{{"<EOT>":290,"<META>":291}},"bpe_ranks":"{ranks}"}}"#
        )
    };
    vec![
        seed("ranks", file(r"! 256 YWI= YWJj\n! 270 IGE=\n"), true),
        seed("no-more-ranks", file(""), true),
        seed("taken", file("! 290 YWI="), false),
    ]
}

pub(super) fn clip() -> Vec<Seed> {
    // With letters that the target's own merges do not have.
    vec![seed(
        "merges",
        "#version: 0.2\n\u{120} a\n\u{120}a b</w>\n\u{121} \u{120}a",
        true,
    )]
}
