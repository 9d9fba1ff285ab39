//! Reading GGUF: every version and byte order, what each kind of vocabulary becomes, what is
//! refused, damage.

use jeton_testing::gguf::{Layout, Value};
use proptest::prelude::*;

use super::*;
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig, published};
use crate::special::Allow;
use crate::text::unicode::UnicodeVersion;

type Pairs = Vec<(&'static str, Value)>;

fn step(pattern: &str) -> StepConfig {
    StepConfig::Split(SplitConfig {
        pattern: pattern.to_owned(),
        dialect: Dialect::FancyRegex,
        unicode: UnicodeVersion::REFERENCES,
        behavior: Behavior::Isolated,
        invert: false,
        in_byte_alphabet: false,
    })
}

/// A byte-level vocabulary: two letters, their merge, an end token that the file calls normal, a
/// user's token and a control token.
fn gpt2() -> Pairs {
    let tokens = ["a", "b", "ab", "<|im_end|>", "  ", "<c>", "[PAD6]", ""];
    vec![
        ("general.name", Value::text("test")),
        ("tokenizer.ggml.model", Value::text("gpt2")),
        ("tokenizer.ggml.pre", Value::text("gpt-2")),
        ("tokenizer.ggml.tokens", Value::texts(&tokens)),
        (
            "tokenizer.ggml.token_type",
            Value::i32s(&[1, 1, 1, 1, 4, 3, 5, 3]),
        ),
        ("tokenizer.ggml.merges", Value::texts(&["a b", "a b"])),
        ("tokenizer.ggml.bos_token_id", Value::U32(5)),
        ("tokenizer.ggml.eos_token_id", Value::U64(3)),
        ("tokenizer.ggml.add_bos_token", Value::Bool(true)),
        ("nested", Value::Array(9, vec![Value::texts(&["x"])])),
        ("half", Value::F64(0.5)),
        ("negative", Value::I32(-1)),
    ]
}

fn with(mut pairs: Pairs, key: &'static str, value: Value) -> Pairs {
    pairs.retain(|(other, _)| *other != key);
    pairs.push((key, value));
    pairs
}

fn without(mut pairs: Pairs, key: &str) -> Pairs {
    pairs.retain(|(other, _)| *other != key);
    pairs
}

fn read(pairs: &[(&str, Value)]) -> Result<Tokenizer> {
    from_gguf(&Layout::default().write(pairs))
}

fn tokenizer(pairs: &[(&str, Value)]) -> Tokenizer {
    read(pairs).unwrap()
}

fn encode(tokenizer: &Tokenizer, text: &str, allow: &Allow, template: bool) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, allow, template, &mut ids)
        .unwrap();
    ids
}

#[test]
fn every_version_and_byte_order() {
    for version in 1..=3 {
        for big_endian in [false, true] {
            let layout = Layout {
                version,
                big_endian,
            };
            let bytes = layout.write(&gpt2());
            let tokenizer = from_gguf(&bytes).unwrap();
            assert_eq!(encode(&tokenizer, "ab", &Allow::None, true), [5, 2]);
            let end = HeaderBytes::Exactly(bytes.len() as u64);
            assert_eq!(header_bytes(&bytes).unwrap(), end);
        }
    }
}

#[test]
fn a_beginning_says_how_much_more_it_takes() {
    let whole = Layout::default().write(&gpt2());
    let mut n = 0;
    let mut steps = 0;
    while let HeaderBytes::AtLeast(more) = header_bytes(&whole[..n]).unwrap() {
        assert!(more > n as u64 && more <= whole.len() as u64);
        let message = from_gguf(&whole[..n]).unwrap_err().to_string();
        let expected = format!("byte {n}: the metadata is cut off: it takes at least {more} bytes");
        assert!(message.contains(&expected), "{message}");
        n = more as usize;
        steps += 1;
    }
    assert_eq!(n, whole.len());
    assert!(steps > 10);
    // Bytes behind the header are not read.
    let mut longer = whole;
    longer.extend_from_slice(b"tensors");
    assert!(from_gguf(&longer).is_ok());
}

#[test]
fn byte_level_tokens_by_type() {
    let tokenizer = tokenizer(&gpt2());
    let plain = |text| encode(&tokenizer, text, &Allow::None, false);
    let all = |text| encode(&tokenizer, text, &Allow::All, false);
    assert_eq!(plain("aab"), [0, 2]);
    assert_eq!(plain("a  b"), [0, 4, 1]);
    assert_eq!(plain("a<|im_end|><c>"), [0]);
    assert_eq!(all("a<|im_end|><c>"), [0, 3, 5]);
    assert!(all("[PAD6]").is_empty());
    assert_eq!(tokenizer.vocab().id_to_bytes(7), Some(&b"[EMPTY_7]"[..]));
}

#[test]
fn white_space_goes_along_with_some_tokens() {
    let phi = tokenizer(&with(gpt2(), "general.name", Value::text("Phi-3 mini")));
    assert_eq!(encode(&phi, "<c> a", &Allow::All, false), [5, 0]);
    let mut tokens = gpt2();
    tokens = with(tokens, "tokenizer.ggml.pre", Value::text("jina-v2-code"));
    let texts = ["a", "b", "ab", "<mask>", "  ", "<c>", "Ġ", "x"];
    tokens = with(tokens, "tokenizer.ggml.tokens", Value::texts(&texts));
    tokens = with(
        tokens,
        "tokenizer.ggml.token_type",
        Value::i32s(&[1, 1, 1, 3, 4, 3, 1, 1]),
    );
    let jina = tokenizer(&tokens);
    assert_eq!(
        encode(&jina, "a <mask> b", &Allow::All, false),
        [0, 3, 6, 1]
    );
}

#[test]
fn sentencepiece_vocabularies() {
    let tokens = ["<unk>", "<s>", "</s>", "▁", "a", "▁a", "b", "<u>"];
    let pairs: Pairs = vec![
        ("tokenizer.ggml.model", Value::text("llama")),
        ("tokenizer.ggml.tokens", Value::texts(&tokens)),
        (
            "tokenizer.ggml.token_type",
            Value::i32s(&[2, 3, 3, 1, 1, 1, 1, 4]),
        ),
        (
            "tokenizer.ggml.scores",
            Value::f32s(&[0.0, 0.0, 0.0, -1.0, -2.0, -3.0, -4.0, 0.0]),
        ),
    ];
    let llama = tokenizer(&pairs);
    assert_eq!(encode(&llama, "ab", &Allow::None, true), [1, 5, 6]);
    // Text behind a user's token begins anew, as in llama.cpp.
    assert_eq!(encode(&llama, "a<u>a", &Allow::None, false), [5, 7, 5]);
    let bare = with(
        pairs.clone(),
        "tokenizer.ggml.add_space_prefix",
        Value::Bool(false),
    );
    assert_eq!(encode(&tokenizer(&bare), "ab", &Allow::None, false), [4, 6]);
    let mut t5 = with(pairs, "tokenizer.ggml.model", Value::text("t5"));
    t5.push(("tokenizer.ggml.unknown_token_id", Value::U32(0)));
    t5.push(("tokenizer.ggml.eos_token_id", Value::U32(2)));
    t5.push(("tokenizer.ggml.remove_extra_whitespaces", Value::Bool(true)));
    assert_eq!(
        encode(&tokenizer(&t5), "  a  b ", &Allow::None, true),
        [5, 3, 6, 2]
    );
}

#[test]
fn bytes_of_a_t5_vocabulary_are_decoded_and_never_made() {
    let tokens = ["<unk>", "</s>", "\u{2581}a", "<0x0A>"];
    let pairs: Pairs = vec![
        ("tokenizer.ggml.model", Value::text("t5")),
        ("tokenizer.ggml.tokens", Value::texts(&tokens)),
        ("tokenizer.ggml.token_type", Value::i32s(&[2, 3, 1, 6])),
        ("tokenizer.ggml.scores", Value::f32s(&[0.0, 0.0, -1.0, 0.0])),
        ("tokenizer.ggml.unknown_token_id", Value::U32(0)),
        ("tokenizer.ggml.add_space_prefix", Value::Bool(true)),
    ];
    let t5 = tokenizer(&pairs);
    assert_eq!(encode(&t5, "a\n", &Allow::None, false), [2, 0]);
    let mut bytes = Vec::new();
    t5.decode_into(&[2, 3], false, &mut bytes).unwrap();
    assert_eq!(bytes, b"a\n");
}

#[test]
fn bad_files_are_refused_with_the_place() {
    let key = "tokenizer.ggml.tokens";
    let merges = "tokenizer.ggml.merges";
    let cases: Vec<(Pairs, &str)> = vec![
        (
            without(gpt2(), "tokenizer.ggml.model"),
            "it has no tokenizer.ggml.model",
        ),
        (
            with(gpt2(), "tokenizer.ggml.model", Value::text("none")),
            "it has no vocabulary",
        ),
        (
            with(gpt2(), "tokenizer.ggml.model", Value::text("plamo2")),
            "\"plamo2\" as tokenizer.ggml.model",
        ),
        (
            with(gpt2(), "tokenizer.ggml.model", Value::U32(1)),
            "tokenizer.ggml.model is not a string",
        ),
        (
            with(gpt2(), "tokenizer.ggml.pre", Value::text("new")),
            "\"new\" as tokenizer.ggml.pre",
        ),
        (
            with(gpt2(), "tokenizer.ggml.pre", Value::text("gemma4")),
            "\"gemma4\" as tokenizer.ggml.pre",
        ),
        (without(gpt2(), key), "it has no tokenizer.ggml.tokens"),
        (with(gpt2(), key, Value::texts::<&str>(&[])), "has 0 items"),
        (
            with(gpt2(), key, Value::texts(&["a", "b", "a"])),
            "the token \"a\" has the ids 0 and 2",
        ),
        (
            with(gpt2(), key, Value::i32s(&[1])),
            "item 0 of tokenizer.ggml.tokens is not a string",
        ),
        (
            with(gpt2(), key, Value::Array(8, vec![Value::Text(vec![0xFF])])),
            "item 0 of tokenizer.ggml.tokens is not UTF-8",
        ),
        (
            with(gpt2(), "tokenizer.ggml.token_type", Value::i32s(&[1])),
            "has 1 items for 8 tokens",
        ),
        (without(gpt2(), merges), "it has no tokenizer.ggml.merges"),
        (
            with(gpt2(), merges, Value::texts(&["ab"])),
            "merge 0 is \"ab\"",
        ),
        (
            with(gpt2(), merges, Value::texts(&["a q"])),
            "merge 0 needs \"q\"",
        ),
        (
            with(gpt2(), merges, Value::texts(&["b a"])),
            "merge 0 needs \"ba\"",
        ),
        (
            without(
                with(gpt2(), "tokenizer.ggml.bos_token_id", Value::U32(99)),
                "x",
            ),
            "names no token",
        ),
        (
            with(gpt2(), "tokenizer.ggml.add_bos_token", Value::U32(1)),
            "is not a truth value",
        ),
    ];
    for (pairs, expected) in cases {
        let message = read(&pairs).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let mut twice = gpt2();
    twice.push(("half", Value::Bool(true)));
    let message = read(&twice).unwrap_err().to_string();
    assert!(
        message.contains("the key \"half\" is there twice"),
        "{message}"
    );
    let header = |version: u32, n_pairs: u64, rest: &[u8]| {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&n_pairs.to_le_bytes());
        bytes.extend_from_slice(rest);
        bytes
    };
    let mut deep = b"\x01\0\0\0\0\0\0\0k\x09\0\0\0".to_vec();
    (0..9).for_each(|_| deep.extend_from_slice(b"\x09\0\0\0\x01\0\0\0\0\0\0\0"));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"GGML".to_vec(), "byte 0: it does not begin with GGUF"),
        (header(4, 0, b""), "byte 4: version 4"),
        (header(0, 0, b""), "byte 4: version 0"),
        (
            header(3, u64::MAX, b""),
            "byte 16: 18446744073709551615 pairs",
        ),
        (header(3, 1, &u64::MAX.to_le_bytes()), "bytes in a key"),
        (header(3, 1, &[0; 12]), "a key is empty"),
        (
            header(3, 1, b"\x01\0\0\0\0\0\0\0k\x0d\0\0\0"),
            "a value of type 13",
        ),
        (
            header(3, 1, b"\x01\0\0\0\0\0\0\0k\x07\0\0\0\x02"),
            "a truth value of 2",
        ),
        (
            header(
                3,
                1,
                b"\x01\0\0\0\0\0\0\0k\x08\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
            ),
            "exceeds the limit",
        ),
        (
            header(
                3,
                1,
                b"\x01\0\0\0\0\0\0\0k\x09\0\0\0\x00\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
            ),
            "items in an array",
        ),
        (header(3, 1, &deep), "nested more than 8 deep"),
    ];
    for (bytes, expected) in cases {
        let message = from_gguf(&bytes).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn every_pattern_compiles_and_every_name_is_there_once() {
    let mut names = std::collections::HashSet::new();
    for pre in pre::ALL {
        for pattern in pre.patterns {
            let split = SplitConfig {
                pattern: (*pattern).to_owned(),
                dialect: Dialect::FancyRegex,
                unicode: UnicodeVersion::REFERENCES,
                behavior: Behavior::Isolated,
                invert: false,
                in_byte_alphabet: false,
            };
            assert!(split.compile().is_ok(), "{:?}: {pattern}", pre.names);
        }
        for name in pre.names.iter().chain(
            pre::NOT_BYTE_LEVEL
                .iter()
                .filter(|_| pre.names[0] == "default"),
        ) {
            assert!(names.insert(*name), "{name}");
        }
    }
}

fn pieces<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
    let splits: Vec<StepConfig> = pre::by_name(name)
        .unwrap()
        .patterns
        .iter()
        .map(|pattern| step(pattern))
        .collect();
    let mut out = Vec::new();
    crate::pretokenize::PreTokenizer::new(&splits)
        .unwrap()
        .split(text, |start, end| {
            out.push(&text[start..end]);
            Ok(())
        })
        .unwrap();
    out
}

#[test]
fn numbers_are_cut_as_llama_cpp_does() {
    assert_eq!(pieces("afmoe", "ab12345 6"), ["ab", "12", "345", " ", "6"]);
    assert_eq!(pieces("superbpe", "x1234567²"), ["x", "1", "234", "567²"]);
    assert_eq!(pieces("superbpe", "123456"), ["123", "456"]);
    assert_eq!(pieces("tiny_aya", "1234567"), ["1", "234", "567"]);
    assert_eq!(pieces("falcon", "1234567"), ["123", "456", "7"]);
    assert_eq!(pieces("llama-bpe", "1234567"), ["123", "456", "7"]);
    assert_eq!(pieces("qwen2", "123"), ["1", "2", "3"]);
    assert_eq!(pieces("default", "12a=="), ["12", "a", "=="]);
    // Every letter beyond ASCII is of both cases here; the original would cut before the capital.
    assert_eq!(pieces("gpt-4o", "aÉb"), ["aÉb"]);
    assert_eq!(pieces("gpt-4o", "aEb"), ["a", "Eb"]);
}

proptest! {
    #[test]
    fn the_patterns_are_the_published_ones_in_other_words(
        choices in prop::collection::vec(0usize..1000, 0..12),
    ) {
        // Without the long s, which only the originals take for an s.
        let text = jeton_testing::hostile_text(&choices).replace('\u{17f}', "s");
        for (name, published_name) in [("llama-bpe", "llama3"), ("qwen2", "qwen")] {
            let pattern = published::by_name(published_name).unwrap();
            let mut expected = Vec::new();
            crate::pretokenize::PreTokenizer::new(&[step(pattern)]).unwrap().split(&text, |start, end| {
                expected.push(&text[start..end]);
                Ok(())
            }).unwrap();
            prop_assert_eq!(pieces(name, &text), expected);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend_from_slice(&bytes);
        let _ = from_gguf(&file);
        let _ = header_bytes(&file);
        let _ = from_gguf(&bytes);
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        at: prop::sample::Index, byte: u8, cut: prop::sample::Index, model in 0..4usize,
    ) {
        let models = ["gpt2", "llama", "t5", "rwkv"];
        let mut bytes = Layout::default().write(&with(gpt2(), "tokenizer.ggml.model", Value::text(models[model])));
        let index = at.index(bytes.len());
        bytes[index] = byte;
        let _ = from_gguf(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = from_gguf(&bytes);
    }
}
