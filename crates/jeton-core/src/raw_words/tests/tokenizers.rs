//! Small tokenizers, in which each thing that makes a cut wrong is there once.

use serde_json::{Value, json};

use super::Pair;
use crate::format::from_hf_json;
use crate::sentencepiece::{ModelType, Piece, PieceKind, SpmModel};
use crate::tokenizer::Tokenizer;

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
    character_bpe_with(more, byte_fallback, false)
}

/// Builds the vocabulary, with tokens for line ends and tabulators where `line_ends` is set.
fn character_bpe_with(more: &[(&str, &str)], byte_fallback: bool, line_ends: bool) -> Value {
    let mut tokens: Vec<String> = vec!["<unk>".to_owned()];
    if byte_fallback {
        tokens.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    }
    tokens.extend(" ▁abcdefghijklmnopqrstuvw.,'1".chars().map(String::from));
    if line_ends {
        tokens.extend(["\n", "\t"].map(String::from));
    }
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

/// Adds pieces that are not there already.
fn add(model: &mut SpmModel, texts: &[&str]) {
    for text in texts {
        if model
            .pieces
            .iter()
            .all(|piece| piece.bytes != text.as_bytes())
        {
            model.pieces.push(Piece {
                bytes: (*text).into(),
                score: -5.0,
                kind: PieceKind::Normal,
            });
        }
    }
}

/// Rules that share a tail, as SentencePiece writes them. Rules that begin with a character behind
/// a cut, and rules that end with a character before one. The pieces join the results.
fn rewriting() -> Vec<(Vec<u8>, &'static [&'static str])> {
    use crate::normalize::charsmap::parts_tests::shared;
    use crate::normalize::charsmap_rules::compile;
    let made = |rules: &[(&'static str, &'static str)]| compile(rules.iter().copied()).unwrap();
    vec![
        (shared(), &["Z.", "aZ"]),
        (made(&[(".b", "Z")]), &["aZ"]),
        (made(&[(" b", "Z"), (" \u{301}", "Z")]), &["aZ", ".Z"]),
        (made(&[("ab", "Z"), ("cb", "")]), &["Z▁", "Z.", "Zc"]),
        (made(&[("\nb", "Z"), ("\n", "\n")]), &["\n", "aZ"]),
        (
            made(&[("e\u{301}", "é"), ("a\u{301}", "Z")]),
            &[".é", "é.", ",Z", "'Z"],
        ),
        (made(&[("\r\n", " ")]), &["\n", "\r"]),
    ]
}

/// Tokenizers of all kinds that are cut, and tokenizers that must not be.
pub(super) fn tokenizers() -> Vec<Pair> {
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
            llama.clone(),
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
            null.clone(),
            character_bpe(&[(" ", "a")], false),
        ),
    ];
    let mut all: Vec<Pair> = made
        .iter()
        .map(|(name, normalizer, pre, model)| Pair::new(name, || hf(normalizer, pre, model)))
        .collect();
    // Line ends that nothing joins, that something joins from one side or both, and that are joined
    // as bytes.
    let ends: [&[(&str, &str)]; 10] = [
        &[],
        &[("\n", "\n")],
        &[("\n", "a")],
        &[("a", "\n")],
        &[("\n", "▁")],
        &[("▁", "\n")],
        &[("\n", "\t"), ("\n\t", "the")],
        &[("th", "\n"), ("th\n", "e")],
        &[(".", "\n"), ("\n", "b")],
        &[("\t", "\n")],
    ];
    for (n, pairs) in ends.iter().enumerate() {
        for fallback in [false, true] {
            let model = character_bpe_with(pairs, fallback, true);
            all.push(Pair::new(&format!("line ends {n} {fallback}"), || {
                hf(&llama, &null, &model)
            }));
            all.push(Pair::new(
                &format!("line ends first {n} {fallback}"),
                || hf(&null, &meta("first", false), &model),
            ));
        }
    }
    let of_bytes: [&[(&str, &str)]; 6] = [
        &[("<0x0A>", "<0x0A>")],
        &[("<0x0A>", "a")],
        &[("a", "<0x0A>")],
        // The last byte of a Chinese character and the first of the next; of one, and a space.
        &[("<0xAD>", "<0xE6>")],
        &[("<0xAD>", "▁")],
        &[("<0x23>", "▁")],
    ];
    for (n, pairs) in of_bytes.iter().enumerate() {
        let model = character_bpe_with(pairs, true, false);
        all.push(Pair::new(&format!("bytes {n}"), || {
            hf(&llama, &null, &model)
        }));
    }
    // Unknown tokens that merge, beside spaces and marks.
    let of_unknown: [&[(&str, &str)]; 4] = [
        &[("<unk>", "▁")],
        &[("a", "<unk>")],
        &[("<unk>", ".")],
        &[("<unk>", "a"), ("<unk>a", ".")],
    ];
    for (n, pairs) in of_unknown.iter().enumerate() {
        let model = character_bpe(pairs, false);
        all.push(Pair::new(&format!("unknown {n}"), || {
            hf(&llama, &null, &model)
        }));
    }
    // Unknown characters are left out, and what is beside them merges.
    let mut left_out = character_bpe(&[("b", "▁"), ("a", ".")], false);
    left_out["unk_token"] = Value::Null;
    all.push(Pair::new("left out", || hf(&llama, &null, &left_out)));
    // Only spaces merge with a space behind them here: a character between two spaces may be left
    // out.
    let mut left_out = character_bpe(&[], false);
    left_out["unk_token"] = Value::Null;
    all.push(Pair::new("left out between spaces", || {
        hf(&llama, &null, &left_out)
    }));
    // A later step removes the result of an earlier one, or changes it together with its
    // neighbours.
    let space = replace(" ", "▁");
    let steps: [&[&Value]; 4] = [
        &[&replace("中", "文"), &replace("文", ""), &space],
        &[&replace("#", "\u{301}"), &rules, &space],
        &[&replace("中", "x"), &rules, &space],
        &[&rules, &replace("Z", "\n"), &replace("q", " "), &space],
    ];
    for (n, steps) in steps.iter().enumerate() {
        let steps: Vec<&Value> = [&prepend]
            .into_iter()
            .chain(steps.iter().copied())
            .collect();
        let model = character_bpe_with(&[], true, true);
        all.push(Pair::new(&format!("steps {n}"), || {
            hf(&sequence("normalizers", &steps), &null, &model)
        }));
    }
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
        for text in ["a.b", "▁<m>", "c▁d", "\n\n"] {
            model.pieces.push(Piece {
                bytes: text.into(),
                score: 0.0,
                kind: PieceKind::UserDefined,
            });
        }
    };
    for model_type in [ModelType::Bpe, ModelType::Unigram] {
        for (n, (charsmap, pieces)) in rewriting().iter().enumerate() {
            for bits in 0..4u8 {
                let name = format!("rewriting {model_type:?} {n} {bits:02b}");
                all.push(Pair::new(&name, || {
                    spm(model_type, |model| {
                        model.normalizer.remove_extra_whitespaces = bits & 1 != 0;
                        model.normalizer.precompiled_charsmap.clone_from(charsmap);
                        add(model, pieces);
                        if bits & 2 != 0 {
                            bytes(model);
                        }
                    })
                }));
            }
        }
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
                    // Line ends with a piece of their own, and some that others join.
                    let ends: [&[&str]; 4] = [&["\n", "\t"], &["\n", "\n\n"], &["\n", "a\n"], &[]];
                    add(model, ends[usize::from(bits / 3 % 4)]);
                    if is(5) {
                        nearly_equal(model);
                    }
                })
            }));
        }
    }
    all
}
