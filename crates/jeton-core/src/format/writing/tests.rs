//! Every format, written and read: what comes back, what is named as lost, what is refused and why.

use serde_json::json;

use super::*;
use crate::config::ModelConfig;
use crate::normalize::NormalizerConfig;
use crate::sentencepiece::{ModelType, NormalizerSpec, Piece, PieceKind, SpmModel, TrainerSpec};

/// Texts on which spaces, marks and unknown characters matter.
const TEXTS: [&str; 9] = [
    "",
    "ab ab",
    " ab  ba ",
    "\u{2581}ab\u{2581}",
    "xyz ab\u{e9}",
    "  ",
    "\n\tab",
    "aaaa bbbb abab",
    "\u{1f600}<unk><s>",
];

fn ids(tokenizer: &Tokenizer, text: &str) -> Option<Vec<u32>> {
    let mut ids = Vec::new();
    let done = tokenizer.encode_into(text, &Allow::None, true, &mut ids);
    done.is_ok().then_some(ids)
}

fn decoded(tokenizer: &Tokenizer, text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, &Allow::None, false, &mut ids)
        .ok()?;
    tokenizer.decode_into(&ids, false, &mut out).ok()?;
    Some(out)
}

fn assert_same(one: &Tokenizer, two: &Tokenizer) {
    for text in TEXTS.into_iter().chain([TRIED]) {
        assert_eq!(ids(one, text), ids(two, text), "{text:?}");
        assert_eq!(decoded(one, text), decoded(two, text), "{text:?}");
    }
}

/// SentencePiece's BPE with a piece for each byte, or with unknown characters.
pub(super) fn spm(byte_fallback: bool, change: impl FnOnce(&mut SpmModel)) -> Tokenizer {
    let piece = |text: &str, score: f32, kind| Piece {
        bytes: text.as_bytes().to_vec(),
        score,
        kind,
    };
    let mut pieces = vec![
        piece("<unk>", 0.0, PieceKind::Unknown),
        piece("<s>", 0.0, PieceKind::Control),
        piece("</s>", 0.0, PieceKind::Control),
    ];
    if byte_fallback {
        pieces.extend((0..=255u8).map(|b| piece(&format!("<0x{b:02X}>"), 0.0, PieceKind::Byte)));
    }
    for (place, text) in ["ab", "\u{2581}ab", "aba", "\u{2581}\u{2581}", "ba"]
        .iter()
        .enumerate()
    {
        pieces.push(piece(text, -(place as f32), PieceKind::Normal));
    }
    for text in ["\u{2581}", "a", "b", "x"] {
        pieces.push(piece(text, -10.0, PieceKind::Normal));
    }
    let mut model = SpmModel {
        pieces,
        trainer: TrainerSpec {
            model_type: ModelType::Bpe,
            byte_fallback,
            ..TrainerSpec::default()
        },
        normalizer: NormalizerSpec {
            remove_extra_whitespaces: false,
            ..NormalizerSpec::default()
        },
        denormalizer: None,
    };
    change(&mut model);
    Tokenizer::from_sentencepiece(model).unwrap()
}

#[test]
fn sentencepiece_becomes_a_tokenizer_json_with_equal_ids() {
    for byte_fallback in [false, true] {
        for (prefix, remove) in [(true, false), (false, false), (true, true), (false, true)] {
            let tokenizer = spm(byte_fallback, |model| {
                model.normalizer.add_dummy_prefix = prefix;
                model.normalizer.remove_extra_whitespaces = remove;
            });
            let written = write(&tokenizer, FileFormat::HfJson).unwrap();
            assert_eq!(written.read.reference(), Reference::Hf);
            if remove {
                // The library drops all spaces at the beginning: of the text for unknown tokens,
                // and of a piece that has several.
                let lost: Vec<_> = written.losses.iter().map(|loss| loss.component).collect();
                assert_eq!(lost, vec!["decoder"; 1 + usize::from(!byte_fallback)]);
                for text in TEXTS {
                    assert_eq!(ids(&tokenizer, text), ids(&written.read, text), "{text:?}");
                }
                continue;
            }
            assert_eq!(written.losses, [], "{prefix} {remove}");
            assert_same(&tokenizer, &written.read);
            // And back, with the same pieces.
            let again = write(&written.read, FileFormat::SentencePiece).unwrap();
            let lost: Vec<_> = again.losses.iter().map(|loss| loss.component).collect();
            assert_eq!(lost, Vec::<&str>::new(), "{:?}", again.losses);
            assert_same(&tokenizer, &again.read);
        }
    }
}

#[test]
fn what_sentencepiece_alone_does_is_named() {
    let changed = |change: fn(&mut SpmModel)| {
        let ledger = match write(&spm(true, change), FileFormat::HfJson) {
            Ok(written) => Ledger {
                losses: written.losses,
                ..Ledger::default()
            },
            Err(ledger) => ledger,
        };
        ledger.reasons().join("; ")
    };
    let unused = changed(|model| model.pieces[260].kind = PieceKind::Unused);
    assert!(unused.contains("switched off"), "{unused}");
    let user = changed(|model| model.pieces[260].kind = PieceKind::UserDefined);
    assert!(user.contains("part of its sentence"), "{user}");
    let tied = changed(|model| model.pieces[260].score = model.pieces[261].score);
    assert!(tied.contains("score of another"), "{tied}");
    let suffix = changed(|model| model.trainer.treat_whitespace_as_suffix = true);
    assert!(suffix.contains("end in the mark of a space"), "{suffix}");
    let spaces = changed(|model| {
        model.normalizer.remove_extra_whitespaces = true;
        model.pieces[262].bytes = "\u{2581}\u{2581}".into();
    });
    assert!(spaces.contains("several spaces"), "{spaces}");
    let word = changed(|model| model.trainer.model_type = ModelType::Word);
    assert!(word.contains("words are cut"), "{word}");
    let unigram = changed(|model| {
        model.trainer.model_type = ModelType::Unigram;
    });
    assert!(unigram.contains("32 bits"), "{unigram}");
    // The first problem does not hide the second.
    let both = changed(|model| {
        model.trainer.treat_whitespace_as_suffix = true;
        model.pieces[260].kind = PieceKind::Unused;
    });
    assert!(
        both.contains("end in the mark") && both.contains("switched off"),
        "{both}"
    );
}

#[test]
fn what_a_model_file_says_besides_is_kept() {
    use crate::format::sentencepiece::SpmFile;
    let written = write(&spm(true, |_| {}), FileFormat::SentencePiece).unwrap();
    let mut bytes = written.files[0].bytes.clone();
    // Field 200 of the whole, which nobody knows.
    bytes.extend_from_slice(&[0xC2, 0x0C, 3, b'a', b'b', b'c']);
    let again = from_sentencepiece(&bytes).unwrap();
    let rewritten = write(&again, FileFormat::SentencePiece).unwrap();
    assert_eq!(rewritten.files[0].bytes, bytes);
    assert!(rewritten.losses.is_empty());
    assert!(SpmFile::from_bytes(&bytes).is_ok());
    // Once it was anything else, it is written anew.
    let copy = Tokenizer::from_config(again.to_config()).unwrap();
    let anew = write(&copy, FileFormat::SentencePiece).unwrap();
    assert_ne!(anew.files[0].bytes, bytes);
    assert_eq!(anew.read.to_config(), again.to_config());
}

fn byte_level(more: &serde_json::Value) -> Tokenizer {
    let mut vocab = serde_json::Map::new();
    for byte in 0..=255u8 {
        let letter = crate::codec::gpt2_alphabet::byte_to_char(byte).to_string();
        vocab.insert(letter, json!(byte));
    }
    for (token, id) in [("ab", 256), ("Ġab", 257), ("ba", 258)] {
        vocab.insert(token.to_owned(), json!(id));
    }
    let mut file = json!({
        "added_tokens": [{"id": 259, "content": "<|end|>", "special": true, "normalized": false}],
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b", "Ġ ab", "b a"]},
    });
    if let Some(fields) = more.as_object() {
        for (key, value) in fields {
            file[key] = value.clone();
        }
    }
    from_hf_json(file.to_string().as_bytes()).unwrap()
}

#[test]
fn byte_level_bpe_is_written_in_all_its_formats() {
    let tokenizer = byte_level(&json!({}));
    for format in [
        FileFormat::Canonical,
        FileFormat::HfJson,
        FileFormat::Tiktoken,
        FileFormat::Gguf,
    ] {
        let written = write(&tokenizer, format).unwrap();
        assert_eq!(written.losses, [], "{format:?}");
        assert_same(&tokenizer, &written.read);
    }
    // The two files know nothing of special tokens.
    let written = write(&tokenizer, FileFormat::Gpt2Files).unwrap();
    assert_eq!(written.losses.len(), 1, "{:?}", written.losses);
    assert_eq!(written.losses[0].component, "added_tokens");
    // The special token comes first in tekken.json.
    let ledger = write(&tokenizer, FileFormat::Tekken).unwrap_err();
    assert!(ledger.obstacles[0].contains("has the id 259"), "{ledger:?}");
    // Claude's text is always in NFKC.
    let written = write(&tokenizer, FileFormat::Claude).unwrap();
    assert_eq!(written.losses[0].component, "normalizer");
    for format in [FileFormat::VocabTxt, FileFormat::Rwkv, FileFormat::Clip] {
        assert!(write(&tokenizer, format).is_err(), "{format:?}");
    }
}

#[test]
fn every_reason_is_told() {
    let tokenizer = byte_level(&json!({
        "normalizer": {"type": "NFC"},
        "truncation": {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|end|>", "type_id": 0}}],
            "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [259], "tokens": ["<|end|>"]}}},
    }));
    let written = write(&tokenizer, FileFormat::Tiktoken).unwrap();
    let mut lost: Vec<_> = written.losses.iter().map(|loss| loss.component).collect();
    lost.sort_unstable();
    assert_eq!(lost, ["normalizer", "template", "truncation"]);
    // Merges that are not in the order of ids cannot be ranks at all.
    let mut config = tokenizer.to_config();
    if let ModelConfig::Bpe { merges, .. } = &mut config.model {
        *merges = Some(vec![(98, 97), (97, 98), (32, 256)]);
    }
    let unordered = Tokenizer::from_config(config).unwrap();
    let ledger = write(&unordered, FileFormat::Tiktoken).unwrap_err();
    assert_eq!(ledger.obstacles, [pairs::NOT_BY_RANK]);
    let error = crate::format::to_tiktoken(&unordered).unwrap_err();
    assert!(error.to_string().contains(pairs::NOT_BY_RANK));
}

#[test]
fn a_step_that_no_file_has_is_named() {
    let mut config = byte_level(&json!({})).to_config();
    config.normalizer = vec![NormalizerConfig::Clip];
    let tokenizer = Tokenizer::from_config(config).unwrap();
    let written = write(&tokenizer, FileFormat::HfJson).unwrap();
    let components: Vec<_> = written.losses.iter().map(|loss| loss.component).collect();
    assert!(components.contains(&"normalizer"), "{components:?}");
    assert!(crate::format::to_hf_json(&tokenizer).is_err());
}

#[test]
fn words_are_written_as_a_list() {
    let file = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab\n##ab\nba\na\n##b\n";
    for lowercase in [false, true] {
        let options = BertOptions {
            lowercase,
            ..BertOptions::default()
        };
        let tokenizer = from_vocab_txt(file, &options).unwrap();
        let written = write(&tokenizer, FileFormat::VocabTxt).unwrap();
        assert_eq!(written.files[0].bytes, file);
        assert_eq!(written.losses, []);
        assert_eq!(written.options.lowercase, Some(lowercase));
        assert_eq!(written.read.to_config(), tokenizer.to_config());
        for format in [FileFormat::HfJson, FileFormat::Gguf] {
            let written = write(&tokenizer, format).unwrap();
            assert_same(&tokenizer, &written.read);
        }
        let written = write(&tokenizer, FileFormat::HfJson).unwrap();
        assert_eq!(written.losses, []);
        // llama.cpp knows no longest word.
        let written = write(&tokenizer, FileFormat::Gguf).unwrap();
        let what: Vec<_> = written
            .losses
            .iter()
            .map(|loss| loss.what.as_str())
            .collect();
        assert!(
            what.iter()
                .any(|what| what.contains("characters are unknown")),
            "{what:?}"
        );
    }
}

#[test]
fn characters_and_bytes_become_bpe() {
    let token = |text: &str| Some(crate::codec::base64::Base64Bytes(text.as_bytes().to_vec()));
    let mut config = byte_level(&json!({})).to_config();
    config.added_tokens.clear();
    config.pretokenizer.clear();
    config.reference = Reference::Jeton;
    config.decoder = Some(vec![crate::decode::DecoderConfig::Fuse]);
    config.model = ModelConfig::Character {
        tokens: ["<unk>", "a", "b", " "].map(token).to_vec(),
        opaque: vec![0],
        missing: crate::config::MissingCharacterConfig::Unknown(0),
    };
    let characters = Tokenizer::from_config(config.clone()).unwrap();
    let written = write(&characters, FileFormat::HfJson).unwrap();
    assert_eq!(written.losses, []);
    assert_same(&characters, &written.read);
    config.decoder = None;
    config.model = ModelConfig::RawBytes {
        tokens: std::iter::once(token("<pad>"))
            .chain((0..=255u8).map(|b| Some(crate::codec::base64::Base64Bytes(vec![b]))))
            .collect(),
        opaque: vec![0],
        offset: 1,
    };
    let bytes = Tokenizer::from_config(config).unwrap();
    let written = write(&bytes, FileFormat::HfJson).unwrap();
    assert_eq!(written.losses, []);
    assert_same(&bytes, &written.read);
}

#[test]
fn the_longest_token_that_fits_is_written_as_a_list_and_for_llama_cpp() {
    let mut lines: Vec<String> = (0..=255u8)
        .map(|byte| format!("{} b'\\x{byte:02x}' 1", u32::from(byte) + 1))
        .collect();
    lines.push("257 ' ab' 3".to_owned());
    lines.push("259 '\u{e9}\\n' 3".to_owned());
    let tokenizer = from_rwkv((lines.join("\n") + "\n").as_bytes()).unwrap();
    let written = write(&tokenizer, FileFormat::Rwkv).unwrap();
    assert_eq!(written.losses, []);
    assert_eq!(written.read.to_config(), tokenizer.to_config());
    let text = String::from_utf8(written.files[0].bytes.clone()).unwrap();
    assert!(
        text.contains("\n257 ' ab' 3\n259 '\u{e9}\\n' 3\n"),
        "{text}"
    );
    let written = write(&tokenizer, FileFormat::Gguf).unwrap();
    assert_same(&tokenizer, &written.read);
    let ledger = write(&tokenizer, FileFormat::HfJson).unwrap_err();
    assert!(
        ledger.reasons().join("; ").contains("longest token"),
        "{ledger:?}"
    );
}

/// Everything in which what was read differs is a loss or a rewording.
fn assert_accounted_for(tokenizer: &Tokenizer) {
    for format in FileFormat::ALL {
        let Ok(written) = write(tokenizer, format) else {
            continue;
        };
        let (before, after) = (tokenizer.to_config(), written.read.to_config());
        for component in account::changed(&before, &after) {
            let lost = written
                .losses
                .iter()
                .any(|loss| loss.component == component);
            let mut reworded = written.rewordings.iter();
            let reworded = reworded.any(|rewording| rewording.component == component);
            assert!(lost || reworded, "{format:?}: {component}");
        }
    }
}

#[test]
fn every_change_of_a_canonical_form_is_accounted_for() {
    let added = json!([
        {"id": 259, "content": "<|end|>", "special": true, "normalized": false},
        {"id": 260, "content": "[unused0]", "special": false, "normalized": true},
        {"id": 261, "content": "x", "special": true, "normalized": true, "single_word": true}]);
    let padding = json!({"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 259, "pad_type_id": 0, "pad_token": "<|end|>"});
    let mut all = vec![
        byte_level(&json!({})),
        byte_level(&json!({"added_tokens": added})),
        byte_level(&json!({"padding": padding, "normalizer": {"type": "NFC"}})),
        spm(true, |_| {}),
        spm(false, |model| model.trainer.bos_piece = "<go>".to_owned()),
        spm(false, |model| model.trainer.model_type = ModelType::Unigram),
    ];
    let mut config = byte_level(&json!({})).to_config();
    if let ModelConfig::Bpe { merges, .. } = &mut config.model {
        *merges = None;
    }
    all.push(Tokenizer::from_config(config).unwrap());
    for tokenizer in &all {
        assert_accounted_for(tokenizer);
    }
}

#[test]
fn a_change_that_no_rule_knows_is_a_loss() {
    let before = byte_level(&json!({})).to_config();
    let mut after = before.clone();
    after.template.trim_offsets = None;
    after
        .template
        .single
        .push(crate::inputs::template::Part::Token { id: 0, type_id: 0 });
    after.decoder = Some(Vec::new());
    let mut ledger = Ledger::default();
    account::check(&before, &after, &Words::Own, &mut ledger);
    let lost: Vec<_> = ledger.losses.iter().map(|loss| loss.component).collect();
    assert_eq!(lost, ["template", "decoder"]);
    // A translated model does not take along the tokens around texts.
    let mut ledger = Ledger::default();
    account::check(&before, &after, &Words::Model, &mut ledger);
    let lost: Vec<_> = ledger.losses.iter().map(|loss| loss.component).collect();
    assert_eq!(lost, ["template"]);
}

#[test]
fn a_hole_before_a_word_that_is_found_whole_is_a_loss() {
    // The token has to stand in the vocabulary, where the model finds it as a whole pretoken:
    // single words only are found as an added token.
    let mut config = byte_level(&json!({})).to_config();
    if let ModelConfig::Bpe {
        whole_pretokens, ..
    } = &mut config.model
    {
        *whole_pretokens = true;
    }
    config.added_tokens.push(AddedToken {
        special: false,
        single_word: true,
        ..AddedToken::special(300, "far".to_owned())
    });
    let written = write(&Tokenizer::from_config(config).unwrap(), FileFormat::HfJson).unwrap();
    let lost: Vec<_> = written.losses.iter().map(|loss| loss.component).collect();
    assert_eq!(lost, ["model"]);
}

#[test]
fn every_format_has_a_name() {
    for format in FileFormat::ALL {
        assert_eq!(FileFormat::by_name(format.name()), Some(format));
    }
    assert_eq!(FileFormat::by_name("json"), None);
}

#[test]
fn a_token_without_bytes_is_no_loss() {
    // Whisper's rank file has one: no text becomes it, whatever a format calls it.
    use base64::Engine as _;
    let mut lines: Vec<String> = (0..=255u8)
        .map(|byte| base64::prelude::BASE64_STANDARD.encode([byte]) + &format!(" {byte}\n"))
        .collect();
    lines.push("= 256\n".to_owned());
    let options = crate::format::TiktokenOptions {
        pattern: r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
            .to_owned(),
        special_tokens: Vec::new(),
        normalizer: Vec::new(),
        reference: Reference::Tiktoken,
    };
    let tokenizer = crate::format::from_tiktoken(lines.concat().as_bytes(), options).unwrap();
    let written = write(&tokenizer, FileFormat::HfJson).unwrap();
    assert_eq!(written.losses, []);
    assert_same(&tokenizer, &written.read);
    let again = write(&written.read, FileFormat::Tiktoken).unwrap();
    assert_eq!(again.losses, []);
    assert_same(&tokenizer, &again.read);
}
