//! Texts that grow, beside encoding everything again.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Growing;
use crate::codec::gpt2_alphabet::byte_to_char;
use crate::format::from_hf_json;
use crate::special::Allow;
use crate::tokenizer::Tokenizer;

const WORDS: &[&str] = &[
    "the",
    "aaaa",
    "aa",
    "an",
    "ab",
    "abab",
    "é",
    "ing",
    "12",
    "123",
    "中文",
    "\u{2581}the",
    "\u{2581}\u{2581}",
    "\u{2581}a",
    "  ",
    " the",
    " a",
    "\n\n",
    "e\u{301}",
    "''",
];

/// Words with their beginnings, and the merges that make them; `spelled`: each character in the
/// model's alphabet.
fn merged(spelled: impl Fn(&str) -> Vec<String>) -> (Vec<String>, Vec<Value>) {
    let (mut tokens, mut merges) = (Vec::<String>::new(), Vec::new());
    for word in WORDS {
        let symbols = spelled(word);
        let mut made = symbols[0].clone();
        for symbol in &symbols[1..] {
            let pair = json!([made, symbol]);
            made.push_str(symbol);
            if !tokens.contains(&made) {
                tokens.push(made.clone());
                merges.push(pair);
            }
        }
    }
    (tokens, merges)
}

fn vocab(tokens: impl IntoIterator<Item = String>) -> Value {
    let mut vocab = serde_json::Map::new();
    for token in tokens {
        let id = vocab.len();
        vocab.entry(token).or_insert(json!(id));
    }
    Value::Object(vocab)
}

fn characters() -> Vec<String> {
    let mut all: Vec<String> = (' '..='~')
        .chain("\né\u{301}\u{2581}中".chars())
        .map(String::from)
        .collect();
    all.extend((0..=255u8).map(|byte| format!("<0x{byte:02X}>")));
    all
}

fn byte_level_bpe() -> Value {
    let spell = |word: &str| word.bytes().map(|b| byte_to_char(b).to_string()).collect();
    let (tokens, merges) = merged(spell);
    let bytes = (0..=255u8).map(|byte| byte_to_char(byte).to_string());
    json!({"type": "BPE", "vocab": vocab(bytes.chain(tokens)), "merges": merges})
}

fn character_bpe(byte_fallback: bool, fuse: bool) -> Value {
    let (tokens, merges) = merged(|word| word.chars().map(String::from).collect());
    let first = ["<unk>".to_owned()].into_iter();
    json!({"type": "BPE", "unk_token": "<unk>", "byte_fallback": byte_fallback, "fuse_unk": fuse,
        "vocab": vocab(first.chain(characters()).chain(tokens)), "merges": merges})
}

fn unigram(byte_fallback: bool) -> Value {
    let (tokens, _) = merged(|word| word.chars().map(String::from).collect());
    let mut pieces = vec![json!(["<unk>", 0.0])];
    let mut seen = vec!["<unk>".to_owned()];
    for (index, token) in characters().into_iter().chain(tokens).enumerate() {
        if !seen.contains(&token) {
            pieces.push(json!([token, -1.0 - (index % 7) as f64 * 0.37]));
            seen.push(token);
        }
    }
    json!({"type": "Unigram", "unk_id": 0, "byte_fallback": byte_fallback, "vocab": pieces})
}

fn wordpiece() -> Value {
    let (tokens, _) = merged(|word| word.chars().map(String::from).collect());
    let first = ["[UNK]".to_owned()]
        .into_iter()
        .chain(characters())
        .chain(tokens.clone());
    let inner = characters()
        .into_iter()
        .chain(tokens)
        .map(|token| format!("##{token}"));
    json!({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100, "vocab": vocab(first.chain(inner))})
}

fn split(pattern: &str, behavior: &str, invert: bool) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert})
}

fn sequence(kind: &str, name: &str, parts: &[Value]) -> Value {
    json!({"type": "Sequence", (kind.to_owned() + name): parts})
}

fn pre_tokenizers() -> Vec<Value> {
    let gpt2 = r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
    let metaspace = |scheme: &str, split: bool| json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": scheme, "split": split});
    let mut all = vec![
        Value::Null,
        split(gpt2, "Isolated", false),
        split(" ", "MergedWithPrevious", false),
        split(" ", "MergedWithNext", false),
        split(r"\s+", "Removed", false),
        split(r"\w+|[^\w\s]+", "Removed", true),
        split(r"\d", "Contiguous", false),
        split("a*b|a", "Isolated", false),
        split("aa(?=b)|a", "MergedWithNext", true),
        split(r"(?<=a)b", "Isolated", false),
        split(r"\s+$", "Isolated", false),
        json!({"type": "BertPreTokenizer"}),
        json!({"type": "Whitespace"}),
        json!({"type": "UnicodeScripts"}),
        json!({"type": "FixedLength", "length": 3}),
        json!({"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}),
        json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}),
    ];
    for scheme in ["first", "always", "never"] {
        all.push(metaspace(scheme, true));
        all.push(metaspace(scheme, false));
    }
    let name = "tokenizers";
    all.push(sequence(
        "pre",
        name,
        &[json!({"type": "UnicodeScripts"}), metaspace("first", true)],
    ));
    all.push(sequence(
        "pre",
        name,
        &[
            json!({"type": "Digits", "individual_digits": true}),
            split(gpt2, "Isolated", false),
        ],
    ));
    all.push(sequence(
        "pre",
        name,
        &[
            split("[^0-9]+", "Isolated", false),
            split(gpt2, "Isolated", false),
        ],
    ));
    all.push(sequence(
        "pre",
        name,
        &[
            metaspace("always", true),
            split("[a-c]", "MergedWithNext", false),
        ],
    ));
    all
}

fn normalizers() -> Vec<Value> {
    let to_mark = json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"});
    let prepend = json!({"type": "Prepend", "prepend": "\u{2581}"});
    let strip = json!({"type": "Strip", "strip_left": true, "strip_right": true});
    vec![
        Value::Null,
        Value::Null,
        json!({"type": "NFC"}),
        json!({"type": "NFKD"}),
        strip.clone(),
        json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true}),
        sequence("normal", "izers", &[prepend, to_mark.clone()]),
        sequence("normal", "izers", &[json!({"type": "NFC"}), strip, to_mark]),
        json!({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}),
    ]
}

fn token(id: usize, content: &str, flags: [bool; 5]) -> Value {
    let [special, single_word, lstrip, rstrip, normalized] = flags;
    json!({"id": id, "content": content, "special": special, "single_word": single_word,
        "lstrip": lstrip, "rstrip": rstrip, "normalized": normalized})
}

/// A tokenizer of parts chosen by number, if they go together.
fn made(choice: [usize; 4], flags: [[bool; 5]; 3]) -> Option<Tokenizer> {
    let models = [
        byte_level_bpe(),
        character_bpe(false, false),
        character_bpe(true, true),
        character_bpe(false, true),
        unigram(false),
        unigram(true),
        wordpiece(),
    ];
    let pick = |all: &[Value], index: usize| all[index % all.len()].clone();
    let model = pick(&models, choice[0]);
    let n = match &model["vocab"] {
        Value::Object(vocab) => vocab.len(),
        other => other.as_array().map_or(0, Vec::len),
    };
    let contents = [
        ["<s>", "<s><s>", "the"],
        ["  ", "ab", "\n"],
        ["<mask>", "<m", "a"],
    ];
    let added: Vec<Value> = contents[choice[3] % 3]
        .iter()
        .zip(flags)
        .enumerate()
        .map(|(index, (content, flags))| token(n + index, content, flags))
        .collect();
    let file = json!({"version": "1.0", "added_tokens": if choice[3] % 4 == 3 { vec![] } else { added },
        "normalizer": pick(&normalizers(), choice[1]), "pre_tokenizer": pick(&pre_tokenizers(), choice[2]),
        "post_processor": null, "decoder": null, "model": model});
    from_hf_json(file.to_string().as_bytes()).ok()
}

fn full(tokenizer: &Tokenizer, text: &str, allow: &Allow) -> Option<Vec<u32>> {
    let mut ids = Vec::new();
    tokenizer.encode_into(text, allow, false, &mut ids).ok()?;
    Some(ids)
}

fn check(
    tokenizer: &Tokenizer,
    pieces: &[&str],
    later: &[&str],
    allow: &Allow,
    edit: (usize, usize),
) {
    let mut growing = Growing::new(tokenizer, allow.clone());
    let mut taken = Growing::new(tokenizer, allow.clone());
    let mut handed = Vec::new();
    let mut text = String::new();
    for piece in pieces {
        let Some(expected) = full(tokenizer, &format!("{text}{piece}"), allow) else {
            assert!(growing.append(piece).is_err());
            break;
        };
        text.push_str(piece);
        let before = growing.ids().to_vec();
        let growth = growing.append(piece).unwrap();
        assert_eq!(growing.ids(), expected, "{text:?}");
        assert_eq!(growth.n_before, before.len());
        assert_eq!(before[..growth.n_kept], growing.ids()[..growth.n_kept]);
        taken.append(piece).unwrap();
        handed.extend(taken.take_stable());
        let all: Vec<u32> = handed.iter().chain(taken.ids()).copied().collect();
        assert_eq!(all, expected, "in parts: {text:?}");
    }
    let stable = growing.ids()[..growing.stable().0].to_vec();
    for more in later {
        if let Some(longer) = full(tokenizer, &format!("{text}{more}"), allow) {
            assert_eq!(longer[..stable.len()], stable, "{text:?} and then {more:?}");
            let mut branch = growing.clone();
            branch.append(more).unwrap();
            assert_eq!(branch.ids(), longer);
        }
    }
    let place = |at: usize| super::boundary(&text, at % (text.len() + 1));
    let (start, end) = (
        place(edit.0).min(place(edit.1)),
        place(edit.0).max(place(edit.1)),
    );
    for with in later {
        let wanted = format!("{}{with}{}", &text[..start], &text[end..]);
        let mut changed = growing.clone();
        if let Some(expected) = full(tokenizer, &wanted, allow) {
            changed.replace(start..end, with).unwrap();
            assert_eq!(changed.ids(), expected, "{text:?} {start}..{end} {with:?}");
            assert_eq!(changed.text(), wanted);
        }
    }
    let n = growing.ids().len();
    for limit in [0, n / 2, n.saturating_sub(1), n, n + 1] {
        let counted = tokenizer.count_up_to(&text, allow, limit).unwrap();
        assert_eq!(counted, n.min(limit + 1));
    }
}

/// Cases of the longer run: `JETON_GROWING_CASES=100000 cargo test -p jeton-core growing`.
fn cases() -> u32 {
    let asked = std::env::var("JETON_GROWING_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn ids_are_those_of_a_full_encoding(
        choice in any::<[usize; 4]>(),
        flags in any::<[[bool; 5]; 3]>(),
        words in prop::collection::vec(any::<usize>(), 0..12),
        ends in prop::collection::vec(1usize..9, 0..60),
        later in any::<[usize; 3]>(),
        edit in any::<(usize, usize)>(),
        all: bool,
    ) {
        let Some(tokenizer) = made(choice, flags) else { return Ok(()) };
        let text: String = words.iter().map(|&word| match word % 3 {
            0 => WORDS[word / 3 % WORDS.len()],
            1 => ["<s>", "<s", "ab ", "  ", "<mask>", " ", "a", "\u{301}", "b", "0"][word / 3 % 10],
            _ => jeton_testing::FRAGMENTS[word / 3 % jeton_testing::FRAGMENTS.len()],
        }).collect();
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        for length in ends {
            let (piece, after) = rest.split_at(super::boundary(rest, length));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        let fragment = |at: usize| jeton_testing::FRAGMENTS[at % jeton_testing::FRAGMENTS.len()];
        let later = [fragment(later[0]), fragment(later[1]), WORDS[later[2] % WORDS.len()], "s>", "\u{301}", " ", "a"];
        let allow = if all { Allow::All } else { Allow::None };
        check(&tokenizer, &pieces, &later, &allow, edit);
    }
}

/// The unstable end of a text stays short where the page on growing texts says so.
#[test]
fn ordinary_text_becomes_stable() {
    let never = ["(?<=a)b"];
    let text = "The quick brown fox, 12 of them, jumps over the lazy dog. ".repeat(20);
    for (index, pre_tokenizer) in pre_tokenizers().iter().enumerate() {
        for model in [0, 4] {
            for normalizer in [1, 2, 4, 6] {
                let Some(tokenizer) = made([model, normalizer, index, 3], [[false; 5]; 3]) else {
                    continue;
                };
                let mut growing = Growing::new(&tokenizer, Allow::None);
                growing.append(&text).unwrap();
                let written = pre_tokenizer.to_string();
                let left = text.len() - growing.stable().1;
                if !never.iter().any(|pattern| written.contains(pattern)) {
                    assert!(
                        left < 200,
                        "{left} bytes: {model} {written} {}",
                        normalizers()[normalizer]
                    );
                }
            }
        }
    }
}
