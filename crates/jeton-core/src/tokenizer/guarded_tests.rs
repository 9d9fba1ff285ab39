//! Control tokens where they may stand and nowhere else: rule by rule, for every kind of model.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::format::from_hf_json;
use crate::sentencepiece::{ModelType, Piece, PieceKind, SpmModel};
use crate::tokenizer::Growing;

fn load(normalizer: &Value, pre_tokenizer: &Value, model: &Value, added: &Value) -> Tokenizer {
    let file = json!({
        "added_tokens": added, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
        "post_processor": null, "decoder": {"type": "Fuse"}, "model": model,
    });
    from_hf_json(&serde_json::to_vec(&file).unwrap()).unwrap()
}

fn token(id: usize, content: &str, special: bool, normalized: bool) -> Value {
    json!({"id": id, "content": content, "special": special, "normalized": normalized})
}

/// Letters, signs and a space, each a piece of its own, and a few more pieces.
fn unigram(more: &[(&str, f64)], normalizer: &Value, normalized: bool) -> Tokenizer {
    let mut vocab = vec![
        json!(["<unk>", -20.0]),
        json!(["<s>", 0.0]),
        json!(["</s>", 0.0]),
    ];
    vocab.extend(
        "abcnsk<>/0xA| ▁"
            .chars()
            .map(|c| json!([c.to_string(), -2.0])),
    );
    vocab.extend(more.iter().map(|(piece, score)| json!([piece, score])));
    let bytes = more.iter().any(|(piece, _)| piece.starts_with("<0x"));
    let model = json!({"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": bytes});
    let added = json!([
        token(0, "<unk>", true, false),
        token(1, "<s>", true, normalized),
        token(2, "</s>", true, normalized),
    ]);
    load(normalizer, &json!(null), &model, &added)
}

fn ids_of(tok: &Tokenizer, text: &str, ranges: &[(usize, usize)]) -> Vec<u32> {
    let trusted = Trusted::new(text, ranges.iter().copied()).unwrap();
    tok.encode_guarded(text, &trusted, &[])
        .unwrap()
        .encoding
        .ids
}

fn decoded(tok: &Tokenizer, ids: &[u32]) -> String {
    let mut bytes = Vec::new();
    tok.decode_into(ids, false, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn plain(tok: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tok.encode_into(text, &Allow::All, false, &mut ids).unwrap();
    ids
}

#[test]
fn ranges_are_sorted_joined_and_checked() {
    let made = Trusted::new("abcdé", [(3, 3), (2, 3), (0, 1), (1, 2)]).unwrap();
    assert!(made.covers(0, 3) && !made.covers(0, 4) && !made.covers(3, 4));
    assert!(Trusted::new("é", [(0, 1)]).is_err());
    assert!(Trusted::new("a", [(0, 2)]).is_err());
    assert!(Trusted::new("ab", [(2, 1)]).is_err());
    assert!(Trusted::new("", [(0, 0)]).unwrap().ranges.is_empty());
}

#[test]
fn a_unigram_model_makes_no_control_token_of_text() {
    let tok = unigram(&[], &json!(null), false);
    // The reference does: allowed or not, the piece is the most probable reading.
    let mut ids = Vec::new();
    tok.encode_into("a<s>b", &Allow::None, false, &mut ids)
        .unwrap();
    assert!(ids.contains(&1));
    let guarded = ids_of(&tok, "a<s>b", &[]);
    assert!(!guarded.contains(&1));
    assert_eq!(decoded(&tok, &guarded), "a<s>b");
    assert_eq!(ids_of(&tok, "a<s>b", &[(0, 5)]), plain(&tok, "a<s>b"));
    assert_eq!(ids_of(&tok, "a<s>b", &[(1, 4)]), plain(&tok, "a<s>b"));
    // Partly trusted is not trusted, on either side.
    for range in [(0, 3), (2, 5), (1, 3), (2, 4)] {
        assert_eq!(ids_of(&tok, "a<s>b", &[range]), guarded, "{range:?}");
    }
    // Two ranges that touch are one; two with a gap are not.
    assert_eq!(ids_of(&tok, "<s>", &[(0, 2), (2, 3)]), [1]);
    assert!(!ids_of(&tok, "<s>", &[(0, 1), (2, 3)]).contains(&1));
}

#[test]
fn the_name_of_the_unknown_token_is_text_and_unknown_text_is_unknown() {
    let tok = unigram(&[("k>", -1.0), ("u", -2.0)], &json!(null), false);
    assert!(!ids_of(&tok, "<unk>", &[]).contains(&0));
    assert_eq!(ids_of(&tok, "<unk>", &[(0, 5)]), [0]);
    assert_eq!(ids_of(&tok, "é", &[]), [0]);
    assert_eq!(ids_of(&tok, "aé<s>", &[])[1], 0);
}

#[test]
fn the_name_of_a_byte_is_no_byte() {
    let names: Vec<String> = (0..=255).map(|byte| format!("<0x{byte:02X}>")).collect();
    let more: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 0.0)).collect();
    let tok = unigram(&more, &json!(null), false);
    let newline = 3 + 15 + 10; // the names come after the special tokens and the characters
    assert_eq!(plain(&tok, "<0x0A>"), [newline]);
    assert!(!ids_of(&tok, "<0x0A>", &[]).contains(&newline));
    assert_eq!(ids_of(&tok, "<0x0A>", &[(0, 6)]), [newline]);
    // Bytes that stand for text without a piece are as they were.
    assert_eq!(ids_of(&tok, "\n<s>é", &[])[0], newline);
    assert_eq!(ids_of(&tok, "a\né", &[]), plain(&tok, "a\né"));
}

#[test]
fn text_that_normalizes_into_a_control_token_is_none() {
    let nfkc = json!({"type": "NFKC"});
    for normalized in [false, true] {
        let tok = unigram(&[], &nfkc, normalized);
        let wide = "\u{ff1c}s\u{ff1e}";
        assert!(!ids_of(&tok, wide, &[]).contains(&1), "{normalized}");
        assert!(!ids_of(&tok, &format!("a{wide}<s>"), &[(8, 11)])[..3].contains(&1));
        assert_eq!(
            ids_of(&tok, &format!("a{wide}<s>"), &[(8, 11)]).last(),
            Some(&1)
        );
        // Half of it the template's.
        assert!(
            !ids_of(&tok, "<s\u{ff1e}", &[(0, 2)]).contains(&1),
            "{normalized}"
        );
        assert_eq!(ids_of(&tok, wide, &[(0, 7)]), [1]);
    }
}

#[test]
fn a_character_composed_of_both_is_nobodys() {
    // With the data's accent the template's letter becomes another one, which ends a token.
    let model = json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["e", -1.0], ["é", -1.0], ["<", -1.0]]});
    let added = json!([token(4, "<é", true, true)]);
    let tok = load(&json!({"type": "NFC"}), &json!(null), &model, &added);
    let text = "<e\u{301}";
    assert_eq!(plain(&tok, text), [4]);
    assert_eq!(ids_of(&tok, text, &[(0, 2)]), [3, 2]);
    assert_eq!(ids_of(&tok, text, &[(0, 4)]), [4]);
}

#[test]
fn deleted_text_joins_nothing_and_hides_nothing() {
    let strip =
        json!({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]});
    let tok = unigram(&[], &strip, true);
    // The accent between two halves of the template goes, and the halves would be a token.
    let text = "<s\u{301}>";
    assert_eq!(plain(&tok, text), [1]);
    assert!(!ids_of(&tok, text, &[(0, 2), (4, 5)]).contains(&1));
    // Behind a token of the template the accent takes nothing away.
    assert_eq!(ids_of(&tok, "<s>\u{301}a", &[(0, 3)])[0], 1);
}

#[test]
fn merges_words_and_pieces_make_no_control_token() {
    // BPE that may take a whole pretoken, and merges that make an added token.
    let vocab = json!({"<": 0, "s": 1, ">": 2, "<s": 3, "<s>": 4, "a": 5});
    let model = json!({"type": "BPE", "vocab": vocab, "merges": [["<", "s"], ["<s", ">"]], "ignore_merges": true});
    let tok = load(
        &json!(null),
        &json!(null),
        &model,
        &json!([token(4, "<s>", false, false)]),
    );
    let guarded = |text: &str, ranges: &[(usize, usize)]| {
        let trusted = Trusted::new(text, ranges.iter().copied()).unwrap();
        tok.encode_guarded(text, &trusted, &[4]).unwrap()
    };
    assert_eq!(plain(&tok, "a<s>"), [5, 4]);
    let found = guarded("a<s>", &[]);
    assert_eq!(found.encoding.ids, [5, 3, 2]);
    assert_eq!(
        found.refused,
        [FoundToken {
            start: 1,
            end: 4,
            id: 4
        }]
    );
    assert_eq!(found.encoding.starts, [0, 1, 3]);
    assert_eq!(guarded("<s>a<s>", &[(0, 3)]).encoding.ids, [4, 5, 3, 2]);
    // Where it is no control token, text becomes it as ever.
    assert_eq!(ids_of(&tok, "a<s>", &[]), [5, 4]);

    let words = json!({"type": "WordLevel", "vocab": {"[SEP]": 0, "a": 1, "[UNK]": 2}, "unk_token": "[UNK]"});
    let split = json!({"type": "WhitespaceSplit"});
    let added = json!([token(0, "[SEP]", true, false)]);
    let tok = load(&json!(null), &split, &words, &added);
    assert_eq!(ids_of(&tok, "a [SEP] a", &[]), [1, 2, 1]);
    assert_eq!(ids_of(&tok, "a [SEP] a", &[(2, 7)]), [1, 0, 1]);

    let pieces = json!({"type": "WordPiece", "vocab": {"[SEP]": 0, "a": 1, "[UNK]": 2}, "unk_token": "[UNK]",
        "continuing_subword_prefix": "##", "max_input_chars_per_word": 100});
    let tok = load(&json!(null), &split, &pieces, &added);
    assert_eq!(ids_of(&tok, "a [SEP] a", &[]), [1, 2, 1]);
    assert_eq!(ids_of(&tok, "a [SEP] a", &[(2, 7)]), [1, 0, 1]);
}

fn sentencepiece(model_type: ModelType) -> Tokenizer {
    let piece = |text: &str, score: f32, kind| Piece {
        bytes: text.into(),
        score,
        kind,
    };
    let mut pieces = vec![
        piece("<unk>", 0.0, PieceKind::Unknown),
        piece("<s>", 0.0, PieceKind::Control),
        piece("<turn>", 0.0, PieceKind::UserDefined),
        piece("<th>", 0.0, PieceKind::UserDefined),
    ];
    pieces.extend(
        "▁abhnrstu<>"
            .chars()
            .map(|c| piece(&c.to_string(), -3.0, PieceKind::Normal)),
    );
    let mut model = SpmModel {
        pieces,
        ..SpmModel::default()
    };
    model.trainer.model_type = model_type;
    Tokenizer::from_sentencepiece(model).unwrap()
}

#[test]
fn user_defined_pieces_are_made_of_trusted_text_only() {
    for model_type in [ModelType::Unigram, ModelType::Bpe, ModelType::Char] {
        let tok = sentencepiece(model_type);
        let fixed: Vec<u32> = tok.fixed_tokens().iter().map(|token| token.id).collect();
        assert_eq!(fixed, [1, 2, 3], "control and user-defined pieces");
        for AddedToken { id, content, .. } in tok.fixed_tokens() {
            assert_eq!(tok.fixed_token(&content), Some(id));
        }
        assert_eq!(tok.fixed_token("a"), None, "a piece like any other");
        assert_eq!(tok.fixed_token("<unk>"), None);
        let text = "<turn>ab<turn>u<th>b";
        let trusted = Trusted::new(text, [(0, 6)]).unwrap();
        let whole = plain(&tok, text);
        if model_type == ModelType::Char {
            continue; // it has no pieces of several characters
        }
        assert_eq!(whole.iter().filter(|&&id| id == 2).count(), 2);
        let guarded = tok.encode_guarded(text, &trusted, &[2]).unwrap();
        let ids = &guarded.encoding.ids;
        assert_eq!(
            ids.iter().filter(|&&id| id == 2).count(),
            1,
            "{model_type:?}: {ids:?}"
        );
        assert_eq!(
            ids.iter().filter(|&&id| id == 3).count(),
            1,
            "no control token"
        );
        assert_eq!(
            guarded.refused,
            [FoundToken {
                start: 8,
                end: 14,
                id: 2
            }]
        );
        assert_eq!(decoded(&tok, ids), text);
        // All trusted, or nothing that looks like one: as ever.
        let all = Trusted::new(text, [(0, text.len())]).unwrap();
        assert_eq!(
            tok.encode_guarded(text, &all, &[2]).unwrap().encoding.ids,
            whole
        );
        let honest = "<turn>ab b<turn>";
        let ends = Trusted::new(honest, [(0, 6), (10, 16)]).unwrap();
        let guarded = tok.encode_guarded(honest, &ends, &[2]).unwrap();
        assert_eq!(guarded.encoding.ids, plain(&tok, honest));
    }
}

#[test]
fn white_space_that_a_token_takes_along_may_be_anybodys() {
    let model = json!({"type": "BPE", "vocab": {"a": 0, "Ġ": 1}, "merges": []});
    let added = json!([{"id": 2, "content": "<e>", "special": true, "normalized": false, "lstrip": true, "rstrip": true}]);
    let split = json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true});
    let tok = load(&json!(null), &split, &model, &added);
    let text = "a  <e> a";
    assert_eq!(ids_of(&tok, text, &[(3, 6)]), plain(&tok, text));
    assert_eq!(plain(&tok, text), [0, 2, 0]);
}

#[test]
fn twins_are_few_and_shared() {
    let tok = unigram(&[], &json!(null), false);
    let more = |n: u32| (0..n).map(|id| id + 3).collect::<Vec<u32>>();
    for n in (0..12).chain([11, 11]) {
        let trusted = Trusted::new("<s>", []).unwrap();
        let guarded = tok.encode_guarded("<s>", &trusted, &more(n)).unwrap();
        assert!(!guarded.encoding.ids.contains(&1));
    }
    assert!(tok.twins.len() <= 4);
}

proptest! {
    #[test]
    fn guarded_text_that_is_all_trusted_is_encoded_as_ever(
        parts in prop::collection::vec(0..10_usize, 0..12), normalized: bool,
    ) {
        let words = ["a", "<s>", "</s>", "<", "s>", "\u{ff1c}s\u{ff1e}", " ", "<unk>", "é", "e\u{301}"];
        let text: String = parts.iter().map(|&index| words[index]).collect();
        let tok = unigram(&[], &json!({"type": "NFKC"}), normalized);
        prop_assert_eq!(ids_of(&tok, &text, &[(0, text.len())]), plain(&tok, &text));
    }

    #[test]
    fn only_trusted_text_becomes_control_tokens(
        parts in prop::collection::vec((0..10_usize, any::<bool>()), 0..12), normalized: bool,
    ) {
        let words = ["a", "<s>", "</s>", "<", "s>", "\u{ff1c}s\u{ff1e}", " ", "<unk>", "/", "e\u{301}"];
        let tok = unigram(&[], &json!({"type": "NFKC"}), normalized);
        let mut text = String::new();
        let mut ranges = Vec::new();
        for (index, is_trusted) in parts {
            let start = text.len();
            text.push_str(words[index]);
            if is_trusted {
                ranges.push((start, text.len()));
            }
        }
        let trusted = Trusted::new(&text, ranges).unwrap();
        let encoding = tok.encode_guarded(&text, &trusted, &[]).unwrap().encoding;
        for (index, &id) in encoding.ids.iter().enumerate() {
            let (start, end) = (encoding.starts[index], encoding.ends[index]);
            if id == 1 || id == 2 {
                prop_assert!(trusted.covers(start, end), "{text:?} {trusted:?} {id} {start}..{end}");
            }
        }
    }
}

/// GPT-2's alphabet with a token for every byte. `added` tokens come on top; their ids may be
/// bytes' ids.
fn bytes_with(normalizer: &Value, prefix_space: bool, added: &[Value]) -> Result<Tokenizer> {
    let vocab: serde_json::Map<String, Value> = (0..=255u8)
        .map(|byte| (crate::codec::gpt2_alphabet::write(&[byte]), json!(byte)))
        .collect();
    let file = json!({
        "added_tokens": added, "normalizer": normalizer,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix_space, "use_regex": true},
        "post_processor": null, "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    });
    from_hf_json(&serde_json::to_vec(&file).unwrap())
}

/// Steps that move, drop and add characters.
fn normalizers() -> Vec<Value> {
    vec![
        json!(null),
        json!({"type": "NFKC"}),
        json!({"type": "NFD"}),
        json!({"type": "StripAccents"}),
        json!({"type": "Strip", "strip_left": true, "strip_right": true}),
        json!({"type": "Lowercase"}),
        json!({"type": "Prepend", "prepend": "▁"}),
        json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"}),
        json!({"type": "Replace", "pattern": {"Regex": "[ae]+"}, "content": "é🙂"}),
        json!({"type": "BertNormalizer"}),
    ]
}

#[test]
fn a_control_token_of_half_a_character_cuts_no_text() {
    // A file gives a special token the id of a byte, so that the model makes it inside of
    // characters.
    for id in [0x82, 0x9F, 0xF0] {
        let added = [token(id, "<x>", true, false)];
        let tok = bytes_with(&json!(null), false, &added).unwrap();
        let text = "🙂👨\u{200d}👩 🙂";
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for &end in &ends {
            let trusted = Trusted::new(text, [(0, end)]).unwrap();
            // The byte has no other token, so that an error is an answer.
            let _ = tok.encode_guarded(text, &trusted, &[]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn places_of_any_file_and_text_cut_no_character(
        choices in prop::collection::vec(any::<usize>(), 0..8),
        steps in prop::collection::vec(0..10_usize, 0..3),
        ids in prop::collection::vec(0..260_usize, 3),
        flags in prop::collection::vec(any::<bool>(), 12),
        prefix_space: bool,
        first in 0..20_usize, second in 0..20_usize,
    ) {
        let contents = ["<s>", "é", "a "];
        let mut added = Vec::new();
        for (index, &content) in contents.iter().enumerate() {
            let flag = |at: usize| flags[index * 4 + at];
            if !ids[..index].contains(&ids[index]) {
                added.push(json!({"id": ids[index], "content": content, "special": flag(0),
                    "normalized": flag(1), "lstrip": flag(2), "rstrip": flag(3)}));
            }
        }
        let all = normalizers();
        let chosen: Vec<&Value> = steps.iter().map(|&step| &all[step]).filter(|s| !s.is_null()).collect();
        let normalizer = json!({"type": "Sequence", "normalizers": chosen});
        let Ok(tok) = bytes_with(&normalizer, prefix_space, &added) else {
            return Ok(());
        };
        let mut text = jeton_testing::hostile_text(&choices);
        text.push_str(" <s> e\u{301}a <s>🙂👨\u{200d}👩");
        let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        ends.push(text.len());
        let place = |n: usize| ends[n * (ends.len() - 1) / 19];
        let (from, to) = (place(first.min(second)), place(first.max(second)));
        let trusted = Trusted::new(&text, [(from, to)]).unwrap();
        if let Ok(made) = tok.encode_guarded(&text, &trusted, &[ids[1] as u32]) {
            for (&start, &end) in made.encoding.starts.iter().zip(&made.encoding.ends) {
                prop_assert!(start <= end && end <= text.len());
            }
        }
        for allow in [Allow::None, Allow::All] {
            let _ = tok.encode_with_offsets(&text, &allow, true, true);
            let mut growing = Growing::new(&tok, allow.clone());
            for (at, c) in text.char_indices() {
                let _ = growing.append(c.encode_utf8(&mut [0; 4]));
                if at == from {
                    let _ = growing.take_stable();
                }
            }
            let half = growing.text().len() / 2;
            let between = growing.text().ceil_char_boundary(half);
            let _ = growing.truncate(between);
            let _ = tok.count_up_to(&text, &allow, 3);
        }
        let _ = tok.fidelity(&text, &[], text.as_bytes());
    }
}

#[test]
fn a_guarded_tokenizer_makes_what_guarding_makes() {
    let kinds = [
        unigram(&[], &json!(null), false),
        unigram(&[], &json!({"type": "NFKC"}), true),
        unigram(&[("<0x0A>", -9.0), ("ab", -1.0)], &json!(null), false),
    ];
    for tok in kinds {
        let guarded = tok.guarded(&[]).unwrap();
        let guarded = guarded.as_ref().unwrap_or(&tok);
        for text in [
            "",
            "a<s>b",
            "<s><s>",
            "ab \u{ff1c}s\u{ff1e} a",
            "<0x0A>",
            "a b",
        ] {
            let expected = tok.encode_guarded(text, &Trusted::default(), &[]).unwrap();
            let mut ids = Vec::new();
            guarded
                .encode_into(text, &Allow::None, false, &mut ids)
                .unwrap();
            assert_eq!(ids, expected.encoding.ids, "{text:?}");
        }
    }
}
