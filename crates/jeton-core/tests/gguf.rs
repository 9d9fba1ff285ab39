//! Published vocabularies, written as GGUF the way llama.cpp's converter does. They give the ids of
//! their reference libraries, and the ids of llama.cpp's own test files.

// A panic in a test's helper is a failed test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{HashMap, HashSet};

use base64::prelude::{BASE64_STANDARD, Engine};
use jeton_core::format::from_gguf;
use jeton_core::format::sentencepiece::SpmFile;
use jeton_core::sentencepiece::PieceKind;
use jeton_core::special::Allow;
use jeton_core::tokenizer::Tokenizer;
use jeton_testing::gguf::{Layout, Value};
use jeton_testing::shared::{self, Case};
use serde_json::Value as Json;

/// Cases of every golden set, as each header says.
const N_CASES: usize = 985;

type Pairs = Vec<(&'static str, Value)>;

fn base(model: &str, texts: &[String], kinds: &[i32]) -> Pairs {
    vec![
        ("general.alignment", Value::U32(32)),
        ("tokenizer.ggml.model", Value::text(model)),
        ("tokenizer.ggml.tokens", Value::texts(texts)),
        ("tokenizer.ggml.token_type", Value::i32s(kinds)),
    ]
}

fn load(pairs: &[(&str, Value)]) -> Tokenizer {
    from_gguf(&Layout::default().write(pairs)).unwrap()
}

/// A `tokenizer.json` of byte-level BPE as GGUF. The converter gives ids without a token a filler.
fn from_json(file: &str, pre: &str) -> Pairs {
    let json: Json = serde_json::from_slice(&shared::read(file).unwrap()).unwrap();
    let mut texts: Vec<Option<(String, i32)>> = Vec::new();
    let mut put = |id: &Json, text: &str, kind: i32| {
        let id = id.as_u64().unwrap() as usize;
        texts.resize(texts.len().max(id + 1), None);
        texts[id] = Some((text.to_owned(), kind));
    };
    for (text, id) in json["model"]["vocab"].as_object().unwrap() {
        put(id, text, 1);
    }
    for token in json["added_tokens"].as_array().unwrap() {
        let kind = if token["special"] == Json::Bool(true) {
            3
        } else {
            4
        };
        put(&token["id"], token["content"].as_str().unwrap(), kind);
    }
    let filled = texts.into_iter().enumerate();
    let (texts, kinds): (Vec<String>, Vec<i32>) = filled
        .map(|(id, token)| token.unwrap_or_else(|| (format!("[PAD{id}]"), 5)))
        .unzip();
    let merges: Vec<String> = json["model"]["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|merge| match merge {
            Json::String(joined) => joined.clone(),
            pair => format!(
                "{} {}",
                pair[0].as_str().unwrap(),
                pair[1].as_str().unwrap()
            ),
        })
        .collect();
    let mut pairs = base("gpt2", &texts, &kinds);
    pairs.push(("tokenizer.ggml.pre", Value::text(pre)));
    pairs.push(("tokenizer.ggml.merges", Value::texts(&merges)));
    pairs
}

/// The character of a byte in GPT-2's alphabet.
fn letter(byte: u8) -> char {
    let printable = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&other| !printable(other)).count();
    char::from_u32(0x100 + before as u32).unwrap()
}

fn spell(bytes: &[u8]) -> String {
    bytes.iter().copied().map(letter).collect()
}

/// A rank file as GGUF. Every way to cut a token in two tokens is a merge, in the order of the
/// ranks, as the converters of rank files have it.
fn from_ranks(file: &str, pre: &str) -> Pairs {
    let file = shared::read(file).unwrap();
    let tokens: Vec<Vec<u8>> = std::str::from_utf8(&file)
        .unwrap()
        .lines()
        .map(|line| {
            BASE64_STANDARD
                .decode(line.split_once(' ').unwrap().0)
                .unwrap()
        })
        .collect();
    let ranks: HashMap<&[u8], usize> = tokens.iter().map(Vec::as_slice).zip(0..).collect();
    let mut merges = Vec::new();
    for token in &tokens {
        let mut cuts: Vec<(usize, usize, usize)> = (1..token.len())
            .filter_map(|at| Some((*ranks.get(&token[..at])?, *ranks.get(&token[at..])?, at)))
            .collect();
        cuts.sort_unstable();
        for (_, _, at) in cuts {
            merges.push(format!("{} {}", spell(&token[..at]), spell(&token[at..])));
        }
    }
    let texts: Vec<String> = tokens.iter().map(|token| spell(token)).collect();
    let mut pairs = base("gpt2", &texts, &vec![1; texts.len()]);
    pairs.push(("tokenizer.ggml.pre", Value::text(pre)));
    pairs.push(("tokenizer.ggml.merges", Value::texts(&merges)));
    pairs.push(("tokenizer.ggml.add_bos_token", Value::Bool(false)));
    pairs
}

/// A SentencePiece model as GGUF.
fn from_spm(file: &str, model: &str) -> Pairs {
    let spm = SpmFile::from_bytes(&shared::read(file).unwrap())
        .unwrap()
        .model;
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    let texts: Vec<String> = spm.pieces.iter().map(|piece| text(&piece.bytes)).collect();
    let scores: Vec<f32> = spm.pieces.iter().map(|piece| piece.score).collect();
    let kinds: Vec<i32> = spm
        .pieces
        .iter()
        .map(|piece| match piece.kind {
            PieceKind::Normal => 1,
            PieceKind::Unknown => 2,
            PieceKind::Control => 3,
            PieceKind::UserDefined => 4,
            PieceKind::Unused => 5,
            PieceKind::Byte => 6,
        })
        .collect();
    let mut pairs = base(model, &texts, &kinds);
    let unknown = kinds.iter().position(|&kind| kind == 2).unwrap();
    let rules = &spm.normalizer;
    pairs.extend([
        ("tokenizer.ggml.scores", Value::f32s(&scores)),
        (
            "tokenizer.ggml.unknown_token_id",
            Value::U32(unknown as u32),
        ),
        (
            "tokenizer.ggml.add_space_prefix",
            Value::Bool(rules.add_dummy_prefix),
        ),
        (
            "tokenizer.ggml.remove_extra_whitespaces",
            Value::Bool(rules.remove_extra_whitespaces),
        ),
    ]);
    if model == "t5" {
        let charsmap = Value::bytes(&rules.precompiled_charsmap);
        pairs.push(("tokenizer.ggml.precompiled_charsmap", charsmap));
    }
    pairs
}

/// A `vocab.txt` as GGUF: U+2581 before the tokens that begin a word, `##` gone from the others.
fn from_bert(file: &str) -> Pairs {
    let file = shared::read(file).unwrap();
    let lines: Vec<&str> = std::str::from_utf8(&file).unwrap().lines().collect();
    let special: HashSet<&str> = HashSet::from(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
    let (texts, kinds): (Vec<String>, Vec<i32>) = lines
        .iter()
        .map(|line| match line.strip_prefix("##") {
            _ if special.contains(line) => ((*line).to_owned(), 3),
            Some(rest) if !rest.is_empty() => (rest.to_owned(), 1),
            _ => (format!("\u{2581}{line}"), 1),
        })
        .unzip();
    base("bert", &texts, &kinds)
}

/// RWKV's list as GGUF: id 0 and what Python prints for each token's bytes.
fn from_rwkv(file: &str) -> Pairs {
    let list = jeton_core::format::from_rwkv(&shared::read(file).unwrap()).unwrap();
    let vocab = list.vocab();
    let mut texts = vec!["<s>".to_owned()];
    let mut kinds = vec![3];
    for id in 1..vocab.size() {
        let bytes = vocab.id_to_bytes(id).unwrap();
        texts.push(bytes.iter().map(|&byte| printed(byte)).collect());
        kinds.push(1);
    }
    base("rwkv", &texts, &kinds)
}

fn printed(byte: u8) -> String {
    match byte {
        b'\t' => "\\t".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b'\'' => "\\'".to_owned(),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}

fn encode(tokenizer: &Tokenizer, text: &str, allow: &Allow) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer.encode_into(text, allow, false, &mut ids).unwrap();
    ids
}

/// Where llama.cpp, which is followed, differs from the library of a golden set: set, cases, which
/// texts, why.
type Difference = (&'static str, usize, fn(&str) -> bool);
const DIFFERENCES: &[Difference] = &[
    // llama.cpp does not normalize; the library puts text in NFC first.
    ("qwen", 22, |text| !unicode_normalization::is_nfc(text)),
    // The ideographic space is no punctuation to llama.cpp.
    ("deepseek-llm_recon_hf", 1, |text| text.contains('\u{3000}')),
    // Text after a user's token begins anew.
    ("pegasus_spm", 1, |text| text == "[SEP] x"),
];

/// The ids of all texts equal the golden set, or differ where they should.
fn check(name: &str, mut ids_of: impl FnMut(&str) -> Vec<u32>) {
    let cases = shared::golden(name).unwrap();
    assert_eq!(cases.len(), N_CASES);
    let differs = |case: &&Case| ids_of(&case.text) != case.ids;
    let texts: Vec<&str> = cases
        .iter()
        .filter(differs)
        .map(|case| case.text.as_str())
        .collect();
    let known = DIFFERENCES.iter().find(|(set, ..)| *set == name);
    let (n, explained) = known.map_or((0, (|_| false) as fn(&str) -> bool), |&(_, n, which)| {
        (n, which)
    });
    let unexplained: Vec<&&str> = texts.iter().filter(|text| !explained(text)).collect();
    assert!(unexplained.is_empty(), "{name}: {unexplained:?}");
    assert_eq!(texts.len(), n, "{name}");
}

/// The 47 texts that llama.cpp tests this vocabulary with.
fn check_own_cases(name: &str, mut ids_of: impl FnMut(&str) -> Vec<u32>) {
    let archive = shared::read("crosscheck/llama_cpp_vocab_inp_out.tar").unwrap();
    let read = |suffix: &str| {
        let file = shared::member(&archive, &format!("/ggml-vocab-{name}.gguf.{suffix}")).unwrap();
        String::from_utf8(file.to_vec()).unwrap()
    };
    let (texts, expected) = (read("inp"), read("out"));
    let texts: Vec<&str> = texts.split("\n__ggml_vocab_test__\n").collect();
    let mut n = 0;
    for (text, line) in texts.iter().zip(expected.split('\n')) {
        let ids: Vec<u32> = line
            .split_whitespace()
            .map(|id| id.parse().unwrap())
            .collect();
        assert_eq!(ids_of(text), ids, "{name}: {text:?}");
        n += 1;
    }
    assert!(n >= 40, "{n} cases");
}

#[test]
fn byte_level_vocabularies() {
    if !shared::is_there() {
        return;
    }
    for (file, pre, golden, own) in [
        ("gpt2", "gpt-2", "gpt2_hf", Some("gpt-2")),
        (
            "roberta-base",
            "roberta-bpe",
            "roberta-base_hf",
            Some("roberta-bpe"),
        ),
        (
            "starcoder.recon",
            "starcoder",
            "starcoder_recon_hf",
            Some("starcoder"),
        ),
        ("refact.recon", "refact", "refact_recon_hf", Some("refact")),
        (
            "deepseek-coder.recon",
            "deepseek-coder",
            "deepseek-coder_recon_hf",
            Some("deepseek-coder"),
        ),
        (
            "deepseek-llm.recon",
            "deepseek-llm",
            "deepseek-llm_recon_hf",
            Some("deepseek-llm"),
        ),
        (
            "deepseek_v3.recon",
            "deepseek-v3",
            "deepseek_v3_recon_hf",
            None,
        ),
        ("falcon", "falcon", "falcon_hf", Some("falcon")),
        ("phi-2", "phi-2", "phi-2_hf", None),
    ] {
        let tokenizer = load(&from_json(&format!("vocab/{file}.json"), pre));
        let ids_of = |text: &str| encode(&tokenizer, text, &Allow::None);
        check(golden, ids_of);
        if let Some(own) = own {
            check_own_cases(own, ids_of);
        }
    }
}

#[test]
fn rank_vocabularies() {
    if !shared::is_there() {
        return;
    }
    for (file, pre, golden, own) in [
        ("llama3", "llama-bpe", "llama3", "llama-bpe"),
        ("qwen", "qwen2", "qwen", "qwen2"),
    ] {
        let tokenizer = load(&from_ranks(&format!("vocab/{file}.tiktoken"), pre));
        let ids_of = |text: &str| encode(&tokenizer, text, &Allow::None);
        check(golden, ids_of);
        check_own_cases(own, ids_of);
    }
}

#[test]
fn sentencepiece_vocabularies() {
    if !shared::is_there() {
        return;
    }
    for (file, model, golden, own) in [
        ("llama2.model", "llama", "llama2_spm", Some("llama-spm")),
        ("mistral_v3.model", "llama", "mistral_v3_spm", None),
        ("nai-t5.model", "t5", "nai-t5_spm", None),
        ("pegasus.model", "t5", "pegasus_spm", None),
    ] {
        let mut pairs = from_spm(&format!("vocab/{file}"), model);
        pairs.push(("tokenizer.ggml.add_eos_token", Value::Bool(false)));
        let tokenizer = load(&pairs);
        let ids_of = |text: &str| encode(&tokenizer, text, &Allow::None);
        check(golden, ids_of);
        if let Some(own) = own {
            check_own_cases(own, ids_of);
        }
    }
}

#[test]
fn word_piece_vocabulary() {
    if !shared::is_there() {
        return;
    }
    let pairs = from_bert("vocab/bert_base_uncased.vocab.txt");
    let tokenizer = load(&pairs);
    let original = jeton_core::format::from_vocab_txt(
        &shared::read("vocab/bert_base_uncased.vocab.txt").unwrap(),
        &jeton_core::format::BertOptions::default(),
    )
    .unwrap();
    assert_eq!(tokenizer.template(), original.template());
    let (ours, theirs) = (tokenizer.vocab(), original.vocab());
    for (id, token) in theirs.iter().filter(|&(_, token)| !token.starts_with(b"[")) {
        assert_eq!(ours.id_to_bytes(id), Some(token));
        assert_eq!(ours.bytes_to_id(token), Some(id));
    }
    // The reference makes a word of more than 100 characters unknown; llama.cpp does not count.
    let is_long = |text: &str| {
        text.split_whitespace()
            .any(|word| word.chars().count() > 100)
    };
    let cases = shared::golden("bert_base_uncased_wordpiece").unwrap();
    let differing = cases
        .iter()
        .filter(|case| encode(&tokenizer, &case.text, &Allow::None) != case.ids);
    let differing: Vec<&str> = differing.map(|case| case.text.as_str()).collect();
    assert!(
        differing.iter().all(|text| is_long(text)) && differing.len() == 4,
        "{differing:?}"
    );
}

#[test]
fn rwkv_vocabulary() {
    if !shared::is_there() {
        return;
    }
    let pairs = from_rwkv("vocab/rwkv_vocab_v20230424.txt");
    let tokenizer = load(&pairs);
    assert_eq!(tokenizer.added_tokens().len(), 1);
    check("rwkv_world", |text| encode(&tokenizer, text, &Allow::None));
}
