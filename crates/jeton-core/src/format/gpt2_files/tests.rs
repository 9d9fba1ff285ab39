//! Reading `vocab.json` and `merges.txt`: lines of every kind, special tokens, damage.

use proptest::prelude::*;

use super::*;
use crate::special::Allow;

const VOCAB_JSON: &str =
    r#"{"a": 0, "b": 1, "Ġ": 2, "Ġa": 3, "Ġab": 4, "<s>": 5, "?": 6, "中": 7}"#;
const MERGES_TXT: &str = "#version: 0.2\nĠ a\nĠa b\n";

fn load(vocab: &str, merges: &str, options: &Gpt2Options) -> Result<Tokenizer> {
    from_gpt2_files(vocab.as_bytes(), merges.as_bytes(), options)
}

fn encode(tokenizer: &Tokenizer, text: &str, allow: &Allow, template: bool) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, allow, template, &mut ids)
        .unwrap();
    ids
}

#[test]
fn options_say_what_the_files_do_not() {
    let plain = load(VOCAB_JSON, MERGES_TXT, &Gpt2Options::default()).unwrap();
    assert_eq!(encode(&plain, "ab abx", &Allow::All, true), [0, 1, 4]);
    assert!(plain.added_tokens().is_empty());
    let options = Gpt2Options {
        add_prefix_space: true,
        special_tokens: vec!["<s>".into(), "</s>".into(), "<s>".into()],
        unk_token: Some("?".into()),
        before: vec!["<s>".into()],
        after: vec!["</s>".into()],
    };
    let tokenizer = load(VOCAB_JSON, MERGES_TXT, &options).unwrap();
    assert_eq!(encode(&tokenizer, "abx", &Allow::None, true), [5, 4, 6, 8]);
    assert_eq!(encode(&tokenizer, "<s>", &Allow::All, false), [5]);
    assert_eq!(tokenizer.vocab().id_to_bytes(8), Some(&b"</s>"[..]));
}

#[test]
fn lines_are_read_as_the_reference_does() {
    // `BPE.read_file` of `tokenizers` 0.23.3 reads equal merges here (it refuses the empty lines).
    for merges in [
        "Ġ a\nĠa b",
        "#version: 0.2\r\nĠ a\r\nĠa b\r\n",
        "Ġ a\n#version: 1\nĠa b\n",
        "\nĠ a\n\nĠa b\n\n",
    ] {
        let tokenizer = load(VOCAB_JSON, merges, &Gpt2Options::default()).unwrap();
        assert_eq!(
            encode(&tokenizer, " ab", &Allow::None, false),
            [4],
            "{merges:?}"
        );
    }
    let twice = r#"{"a": 3, "a": 0, "b": 1, "Ġ": 2}"#;
    let tokenizer = load(twice, "", &Gpt2Options::default()).unwrap();
    assert_eq!(encode(&tokenizer, "a", &Allow::None, false), [0]);
}

#[test]
fn bad_files_are_refused_with_the_place() {
    let merges: &[(&str, &str)] = &[
        ("Ġ a \n", "line 1: expected two tokens"),
        ("Ġ  a\n", "line 1: expected two tokens"),
        ("Ġ a\nab\n", "line 2: expected two tokens"),
        ("Ġ\ta\n", "line 1: expected two tokens"),
        (" a\n", "line 1: expected two tokens"),
        (
            "Ġ a\nĠ q\n",
            "line 2: the token \"q\" is not in the vocabulary",
        ),
        ("a Ġ\n", "line 1: the token \"aĠ\" is not in the vocabulary"),
        (
            "\u{feff}#version: 0.2\n",
            r#"line 1: the token "\u{feff}#version:""#,
        ),
    ];
    for (merges, expected) in merges {
        let error = load(VOCAB_JSON, merges, &Gpt2Options::default()).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("merges.txt") && message.contains(expected),
            "{message}"
        );
    }
    let vocabularies: &[(&str, &str)] = &[
        ("[]", "line 1: "),
        ("{}", "it holds no tokens"),
        (r#"{"a": -1}"#, "line 1: "),
        ("{\"a\": 0,\n\"b\": 1.5}", "line 2: "),
        (r#"{"a": "0"}"#, "line 1: "),
        (r#"{"a": 0, "b": 0}"#, "the token \"b\": "),
    ];
    let huge = load(r#"{"a": 4294967295}"#, "", &Gpt2Options::default()).unwrap_err();
    assert!(huge.to_string().starts_with("token id exceeds the limit"));
    for (vocab, expected) in vocabularies {
        let message = load(vocab, "", &Gpt2Options::default())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("vocab.json") && message.contains(expected),
            "{message}"
        );
    }
    let options: &[(Gpt2Options, &str)] = &[
        (
            Gpt2Options {
                unk_token: Some("<unk>".into()),
                ..Gpt2Options::default()
            },
            "the unknown token \"<unk>\"",
        ),
        (
            Gpt2Options {
                before: vec!["<s>".into()],
                ..Gpt2Options::default()
            },
            "\"<s>\" is put around texts",
        ),
        (
            Gpt2Options {
                special_tokens: vec![String::new()],
                ..Gpt2Options::default()
            },
            "a special token is empty",
        ),
    ];
    for (options, expected) in options {
        let message = load(VOCAB_JSON, MERGES_TXT, options)
            .unwrap_err()
            .to_string();
        assert!(message.contains(expected), "{message}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        vocab in prop::collection::vec(any::<u8>(), 0..60),
        merges in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let options = Gpt2Options::default();
        let _ = from_gpt2_files(&vocab, &merges, &options);
        let _ = from_gpt2_files(VOCAB_JSON.as_bytes(), &merges, &options);
    }

    #[test]
    fn damaged_files_are_read_or_refused(at: prop::sample::Index, byte: u8, in_merges: bool) {
        let (mut vocab, mut merges) = (VOCAB_JSON.as_bytes().to_vec(), MERGES_TXT.as_bytes().to_vec());
        let damaged = if in_merges { &mut merges } else { &mut vocab };
        let index = at.index(damaged.len());
        damaged[index] = byte;
        let _ = from_gpt2_files(&vocab, &merges, &Gpt2Options::default());
    }
}
