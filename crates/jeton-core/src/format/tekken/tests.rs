//! Reading `tekken.json`: ids, defaults, what is refused, damage.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::special::Allow;

/// 256 bytes and the tokens given; `change` edits the file.
fn file(tokens: &[&str], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let all = bytes.chain(tokens.iter().map(|token| token.as_bytes().to_vec()));
    let vocab: Vec<Value> = all
        .enumerate()
        .map(|(rank, token)| {
            let text = String::from_utf8_lossy(&token).into_owned();
            json!({"rank": rank, "token_bytes": BASE64_STANDARD.encode(&token), "token_str": text})
        })
        .collect();
    let mut file = json!({
        "config": {
            "pattern": r"\w+|\W+",
            "num_vocab_tokens": vocab.len(),
            "default_vocab_size": 256 + tokens.len() + 22,
            "default_num_special_tokens": 22,
            "version": "v3",
        },
        "vocab": vocab,
    });
    change(&mut file);
    serde_json::to_vec(&file).unwrap()
}

fn encode(tokenizer: &Tokenizer, text: &str, allow: &Allow, template: bool) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, allow, template, &mut ids)
        .unwrap();
    ids
}

#[test]
fn ids_are_shifted_and_the_unlisted_special_tokens_are_there() {
    let tokenizer = from_tekken(&file(&["ab", "abc"], |_| {})).unwrap();
    assert_eq!(
        encode(&tokenizer, "abcab", &Allow::None, false),
        [257 + 22, 256 + 22]
    );
    assert_eq!(encode(&tokenizer, "ab", &Allow::None, true), [1, 278]);
    assert_eq!(
        encode(&tokenizer, "[INST]<SPECIAL_21>", &Allow::All, false),
        [3, 21]
    );
    assert!(
        encode(&tokenizer, "[INST]", &Allow::None, false)
            .iter()
            .all(|&id| id >= 22)
    );
    assert_eq!(tokenizer.vocab().size(), 280);
}

#[test]
fn listed_special_tokens_count_and_the_rest_has_numbers() {
    let bytes = file(&["ab"], |file| {
        file["config"]["version"] = json!("v11");
        file["special_tokens"] = json!([
            {"rank": 1, "token_str": "<eos>", "is_control": true},
            {"rank": 0, "token_str": "<s>", "is_control": true},
        ]);
    });
    let tokenizer = from_tekken(&bytes).unwrap();
    assert_eq!(encode(&tokenizer, "ab", &Allow::None, true), [0, 278]);
    assert_eq!(
        encode(&tokenizer, "<eos><SPECIAL_2>", &Allow::All, false),
        [1, 2]
    );
}

#[test]
fn ranks_beyond_the_size_are_left_out() {
    let bytes = file(&["ab", "abc"], |file| {
        file["config"]["default_vocab_size"] = json!(256 + 1 + 22);
    });
    let tokenizer = from_tekken(&bytes).unwrap();
    assert_eq!(tokenizer.vocab().size(), 279);
    assert_eq!(
        encode(&tokenizer, "abc", &Allow::None, false),
        [278, u32::from(b'c') + 22]
    );
}

#[test]
fn bad_files_are_refused_with_the_place() {
    type Change = fn(&mut Value);
    let cases: &[(Change, &str)] = &[
        (
            |f| f["vocab"][3]["rank"] = json!(4),
            "token 3: its rank is 4",
        ),
        (
            |f| f["vocab"][3]["token_bytes"] = json!("!"),
            "token 3: token_bytes \"!\" is not base64",
        ),
        (
            |f| f["vocab"][3]["token_bytes"] = json!(""),
            "token 3: it is empty",
        ),
        (
            |f| f["vocab"][3]["token_bytes"] = json!("YQ=="),
            "token 3: it is \"a\"",
        ),
        (
            |f| f["vocab"][257]["token_bytes"] = json!("YWI="),
            "token 257: it is \"ab\", like token 256",
        ),
        (
            |f| f["config"]["default_vocab_size"] = json!(281),
            "it has 258 tokens",
        ),
        (
            |f| f["config"]["default_vocab_size"] = json!(21),
            "is above default_vocab_size (21)",
        ),
        (
            |f| f["config"]["default_vocab_size"] = json!(4_000_000_000u32),
            "the limit is",
        ),
        (
            |f| f["config"]["version"] = json!("3"),
            "the version is \"3\"",
        ),
        (
            |f| f["config"]["version"] = json!("v11"),
            "it lists no special tokens",
        ),
        (
            |f| f["special_tokens"] = json!([{"rank": 1, "token_str": "a"}]),
            "no special token has the rank 0",
        ),
        (
            |f| f["special_tokens"] = json!([{"rank": 22, "token_str": "a"}]),
            "has the rank 22",
        ),
        (
            |f| {
                f["special_tokens"] =
                    json!([{"rank": 0, "token_str": "a"}, {"rank": 0, "token_str": "b"}]);
            },
            "share the rank 0",
        ),
        (
            |f| {
                f["special_tokens"] =
                    json!([{"rank": 0, "token_str": "a"}, {"rank": 1, "token_str": "a"}]);
            },
            "\"a\" has the ids 0 and 1",
        ),
        (|f| f["config"]["pattern"] = json!("("), "bad split pattern"),
        (|f| f["vocab"] = json!({}), "line 1: "),
    ];
    for (change, expected) in cases {
        let message = from_tekken(&file(&["ab", "abc"], change))
            .unwrap_err()
            .to_string();
        assert!(message.contains(expected), "{message}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = from_tekken(&bytes);
    }

    #[test]
    fn damaged_files_are_read_or_refused(cut: prop::sample::Index, at: prop::sample::Index, byte: u8) {
        let mut bytes = file(&["ab"], |_| {});
        let index = at.index(bytes.len());
        bytes[index] = byte;
        let _ = from_tekken(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = from_tekken(&bytes);
    }
}
