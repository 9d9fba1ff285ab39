//! Word by word against all at once: the same tokenizer twice, one of them without cuts.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::format::{from_hf_json, from_sentencepiece};
use crate::special::Allow;
use crate::spm::{ModelType, Piece, PieceKind, SpmModel};
use crate::tokenizer::Tokenizer;
use jeton_testing::shared;

/// A tokenizer, and the same without cuts.
struct Pair {
    name: String,
    cutting: Tokenizer,
    whole: Tokenizer,
}

impl Pair {
    fn new(name: &str, make: impl Fn() -> Tokenizer) -> Self {
        let (cutting, whole) = (make(), make());
        whole.raw_words.set(None).unwrap();
        let pair = Self {
            name: name.to_owned(),
            cutting,
            whole,
        };
        ids(&pair.cutting, "a");
        pair
    }

    fn cuts(&self) -> bool {
        self.cutting.raw_words.get().is_some_and(Option::is_some)
    }

    fn check(&self, text: &str) {
        let expected = ids(&self.whole, text);
        // The second time words are known.
        for _ in 0..2 {
            assert_eq!(
                ids(&self.cutting, text),
                expected,
                "{}: {text:?}",
                self.name
            );
        }
    }
}

fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, &Allow::None, false, &mut ids)
        .unwrap();
    ids
}

/// A charsmap that makes spaces, makes nothing, and has rules of several bytes.
fn charsmap() -> Vec<u8> {
    crate::normalize::charsmap::tests::compile(&[
        ("\t", " "),
        ("\n", " "),
        ("x", ""),
        ("yz", "y "),
        ("Q", "q"),
        ("~", "~ ~"),
    ])
}

fn hf(normalizer: &Value, pre_tokenizer: &Value, model: &Value) -> Tokenizer {
    let file = json!({
        "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
        "post_processor": null, "decoder": null, "model": model,
    });
    from_hf_json(&serde_json::to_vec(&file).unwrap()).unwrap()
}

fn wordpiece() -> Value {
    let mut vocab = serde_json::Map::new();
    let tokens = ["[UNK]", "the", "##e", "th", "##s", "中", ".", "'", "don"];
    let letters = ('a'..='z').flat_map(|c| [c.to_string(), format!("##{c}")]);
    for token in tokens.map(str::to_owned).into_iter().chain(letters) {
        let n = vocab.len();
        vocab.entry(token).or_insert(json!(n));
    }
    json!({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 9, "vocab": vocab})
}

fn unigram() -> Value {
    let mut vocab = vec![json!(["<unk>", 0.0])];
    for (n, piece) in [
        "▁", "▁the", "▁a", "the", "e", ".", "aa", "\u{301}", "中", "▁▁",
    ]
    .iter()
    .enumerate()
    {
        vocab.push(json!([piece, -1.5 - n as f64]));
    }
    for c in ('a'..='w').filter(|c| *c != 'e') {
        vocab.push(json!([c.to_string(), -9.0]));
    }
    json!({"type": "Unigram", "unk_id": 0, "vocab": vocab})
}

/// Merges as Llama 2 has them; `more`: pairs beyond those.
fn character_bpe(more: &[(&str, &str)], byte_fallback: bool) -> Value {
    let mut tokens: Vec<String> = vec!["<unk>".to_owned()];
    if byte_fallback {
        tokens.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    }
    tokens.extend(" ▁abcdefghijklmnopqrstuvw.,'1".chars().map(String::from));
    let mut merges = vec![
        ("t", "h"),
        ("th", "e"),
        ("▁", "the"),
        ("▁", "a"),
        ("a", "b"),
        ("▁", "▁"),
        (".", "."),
    ];
    merges.extend(more);
    tokens.extend(merges.iter().map(|(left, right)| format!("{left}{right}")));
    let mut vocab = serde_json::Map::new();
    for token in tokens {
        let n = vocab.len();
        vocab.entry(token).or_insert(json!(n));
    }
    let merges: Vec<Value> = merges.iter().map(|(l, r)| json!([l, r])).collect();
    json!({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": byte_fallback,
        "vocab": vocab, "merges": merges})
}

fn spm(model_type: ModelType, change: impl Fn(&mut SpmModel)) -> Tokenizer {
    let mut model = SpmModel::default();
    model.trainer.model_type = model_type;
    let piece = |text: &str, score: f32, kind| Piece {
        bytes: text.into(),
        score,
        kind,
    };
    model.pieces.push(piece("<unk>", 0.0, PieceKind::Unknown));
    for (n, text) in ["▁", "▁the", "th", "the", "▁a", "▁t", "ab", "▁▁", "..", "qq"]
        .iter()
        .enumerate()
    {
        model
            .pieces
            .push(piece(text, -1.0 - n as f32, PieceKind::Normal));
    }
    for c in "abcdefghijklmnopqrstuvwy.,'1Z中".chars() {
        model
            .pieces
            .push(piece(&c.to_string(), -12.0, PieceKind::Normal));
    }
    change(&mut model);
    Tokenizer::from_sentencepiece(model).unwrap()
}

fn tokenizers() -> Vec<Pair> {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    let rules =
        json!({"type": "Precompiled", "precompiled_charsmap": BASE64_STANDARD.encode(charsmap())});
    let bert = |strip: bool, lower: bool| {
        json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": strip, "lowercase": lower})
    };
    let sequence = |key: &str, steps: &[&Value]| json!({"type": "Sequence", key: steps});
    let white = json!({"type": "WhitespaceSplit"});
    let meta = |scheme: &str, split: bool| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split});
    let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
    let runs = json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "});
    let form = |name: &str| json!({"type": name});
    let prepend = json!({"type": "Prepend", "prepend": "▁"});
    let llama = sequence("normalizers", &[&prepend, &replace(" ", "▁")]);
    let xlnet = sequence(
        "normalizers",
        &[
            &replace("``", "\""),
            &replace("''", "\""),
            &form("NFKD"),
            &json!({"type": "StripAccents"}),
            &rules,
        ],
    );
    let words = sequence("pretokenizers", &[&white, &meta("always", true)]);
    let null = Value::Null;
    let bert_words = json!({"type": "BertPreTokenizer"});
    let whitespace = json!({"type": "Whitespace"});
    let digits = sequence(
        "pretokenizers",
        &[
            &white,
            &json!({"type": "Digits", "individual_digits": true}),
        ],
    );
    let made: Vec<(&str, Value, Value, Value)> = vec![
        (
            "bert uncased",
            bert(true, true),
            bert_words.clone(),
            wordpiece(),
        ),
        (
            "bert cased",
            bert(false, false),
            bert_words.clone(),
            wordpiece(),
        ),
        (
            "bert and NFC",
            sequence("normalizers", &[&form("NFC"), &bert(false, true)]),
            bert_words,
            wordpiece(),
        ),
        ("whitespace", form("NFD"), whitespace, wordpiece()),
        ("digits", form("NFKC"), digits, wordpiece()),
        ("t5", rules.clone(), words.clone(), unigram()),
        ("xlnet", xlnet, words, unigram()),
        (
            "metaspace",
            sequence("normalizers", &[&rules, &runs]),
            meta("always", true),
            unigram(),
        ),
        (
            "metaspace first",
            null.clone(),
            meta("first", true),
            unigram(),
        ),
        (
            "metaspace never",
            null.clone(),
            meta("never", true),
            character_bpe(&[], true),
        ),
        (
            "llama",
            llama.clone(),
            null.clone(),
            character_bpe(&[], true),
        ),
        (
            "llama across",
            llama.clone(),
            null.clone(),
            character_bpe(&[("b", "▁"), ("a", "."), ("th", "'")], true),
        ),
        (
            "llama unknown",
            llama,
            null.clone(),
            character_bpe(&[], false),
        ),
        (
            "mistral",
            null.clone(),
            meta("first", false),
            character_bpe(&[], true),
        ),
        (
            "plain",
            null.clone(),
            null,
            character_bpe(&[(" ", "a")], false),
        ),
    ];
    let mut all: Vec<Pair> = made
        .iter()
        .map(|(name, normalizer, pre, model)| Pair::new(name, || hf(normalizer, pre, model)))
        .collect();
    let bytes = |model: &mut SpmModel| {
        model.trainer.byte_fallback = true;
        model.pieces.extend((0..=255u8).map(|byte| Piece {
            bytes: format!("<0x{byte:02X}>").into_bytes(),
            score: 0.0,
            kind: PieceKind::Byte,
        }));
    };
    // All ways to cut a text have the same score, but for some pieces by very little.
    let nearly_equal = |model: &mut SpmModel| {
        for (n, piece) in model.pieces.iter_mut().enumerate() {
            let chars = String::from_utf8_lossy(&piece.bytes).chars().count();
            piece.score = -0.7 * chars as f32 + [0.0, 0.0, 1e-5, 1e-3][n % 4];
        }
    };
    let user = |model: &mut SpmModel| {
        for text in ["a.b", "▁<m>", "c▁d"] {
            model.pieces.push(Piece {
                bytes: text.into(),
                score: 0.0,
                kind: PieceKind::UserDefined,
            });
        }
    };
    for model_type in [ModelType::Bpe, ModelType::Unigram] {
        for bits in 0..64u8 {
            if bits >= 32 && model_type == ModelType::Bpe {
                break;
            }
            let is = |bit: u8| bits >> bit & 1 != 0;
            all.push(Pair::new(&format!("spm {model_type:?} {bits:06b}"), || {
                spm(model_type, |model| {
                    model.normalizer.remove_extra_whitespaces = is(0);
                    model.normalizer.add_dummy_prefix = is(1);
                    if is(2) {
                        model.normalizer.precompiled_charsmap = charsmap();
                    }
                    if is(3) {
                        bytes(model);
                    }
                    if is(4) {
                        user(model);
                    }
                    if is(5) {
                        nearly_equal(model);
                    }
                })
            }));
        }
    }
    all
}

const WORDS: &[&str] = &[
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "the",
    "The",
    "a",
    "ab",
    "b",
    "abthe",
    "don't",
    ".",
    "..",
    ",",
    "''",
    "``",
    "'",
    "1",
    "12",
    "x",
    "yz",
    "y",
    "z",
    "Q",
    "~",
    "▁",
    "▁the",
    "é",
    "e\u{301}",
    "\u{301}",
    "中",
    "中文",
    "слово",
    "\u{a0}",
    "\u{3000}",
    "\u{200b}",
    "\u{600}",
    "\u{1f1e9}",
    "\u{fe0f}",
    "\0",
    "\u{7f}",
    "Z",
    "c d",
    "<m>",
    "a.b",
    "abcdefghijklmnop",
    "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc",
];

#[test]
fn most_tokenizers_cut() {
    let never = ["bert and NFC", "plain", "llama across"];
    for pair in tokenizers() {
        if !pair.name.starts_with("spm") && !never.contains(&pair.name.as_str()) {
            assert!(pair.cuts(), "{}", pair.name);
        }
    }
}

/// A single space, or what becomes one, at the beginning: it goes, stays, or a second one comes before it.
#[test]
fn a_text_may_begin_with_a_space() {
    for pair in tokenizers() {
        for text in [" a", " the a", "\ta", "\n the", "  a", " ", " .", " 中"] {
            pair.check(text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn words_together_are_the_text(
        choices in prop::collection::vec((0usize..3, any::<usize>()), 0..60),
        times in prop_oneof![4 => Just(1usize), 1 => Just(30usize)],
    ) {
        thread_local!(static ALL: Vec<Pair> = tokenizers());
        let mut text = String::new();
        for _ in 0..times {
            for &(kind, choice) in &choices {
                match kind {
                    0 => text.push_str(&jeton_testing::hostile_text(&[choice])),
                    _ => text.push_str(WORDS[choice % WORDS.len()]),
                }
            }
        }
        ALL.with(|all| all.iter().for_each(|pair| pair.check(&text)));
    }
}

/// Published vocabularies, on hostile text and on the texts of the golden sets.
#[test]
fn published_tokenizers_cut_and_agree() {
    if !shared::is_there() {
        return;
    }
    let sets = [
        ("bert_base_uncased.json", "bert_base_uncased_hf"),
        ("bert_base_cased.json", "bert_base_cased_hf"),
        ("t5-small.json", "t5-small_hf"),
        ("xlnet_base_cased.json", "xlnet_base_cased_hf"),
        ("llama2.json", "llama2_hf"),
        ("mistral01.json", "mistral01_hf"),
        ("llama2.model", "llama2_spm"),
        ("xlnet_base_cased.model", "xlnet_base_cased_spm"),
    ];
    for (file, set) in sets {
        let bytes = shared::read(&format!("vocab/{file}")).unwrap();
        let pair = Pair::new(file, || {
            let read = if file.ends_with("json") {
                from_hf_json
            } else {
                from_sentencepiece
            };
            read(&bytes).unwrap()
        });
        assert!(pair.cuts(), "{file}");
        for case in shared::golden(set).unwrap().iter().step_by(7) {
            pair.check(&case.text);
        }
        let mut all = String::new();
        for first in 0..140 {
            let text =
                jeton_testing::hostile_text(&[first, first * 7 + 3, 16, first * 31 + 5, first * 3]);
            pair.check(&text);
            all.push_str(&text);
        }
        pair.check(&all);
    }
}
