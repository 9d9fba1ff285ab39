//! Compiled tokenizers: what is written comes back, and what is damaged does no harm.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::config::Reference;
use crate::format::{TiktokenOptions, from_canonical, from_hf_json, from_tiktoken, to_canonical};
use crate::special::Allow;

fn ids(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>> {
    let mut ids = Vec::new();
    tokenizer.encode_into(text, &Allow::All, true, &mut ids)?;
    Ok(ids)
}

fn ranks(tokens: &[Vec<u8>]) -> Tokenizer {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let lines: Vec<String> = bytes
        .chain(tokens.iter().cloned())
        .enumerate()
        .map(|(rank, token)| format!("{} {rank}\n", BASE64_STANDARD.encode(token)))
        .collect();
    let options = TiktokenOptions {
        pattern: r"\w+|\s+(?!\S)|\W+".to_owned(),
        special_tokens: vec![("<|end|>".to_owned(), 256 + tokens.len() as u32 + 3)],
        normalizer: Vec::new(),
        reference: Reference::Tiktoken,
    };
    from_tiktoken(lines.concat().as_bytes(), options).unwrap()
}

/// One of each kind of model that a tokenizer.json may have.
fn of_every_kind() -> Vec<Tokenizer> {
    let added = json!([{"id": 9, "content": "<s>", "special": true, "normalized": false}]);
    let file = |pre: serde_json::Value, model: serde_json::Value| {
        let file = json!({"added_tokens": added, "pre_tokenizer": pre, "model": model});
        from_hf_json(&serde_json::to_vec(&file).unwrap()).unwrap()
    };
    let words = json!({"type": "Whitespace"});
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": true, "use_regex": true});
    let merges = json!([["a", "b"], ["ab", "a"], ["a", "b"], ["b", "a"]]);
    let letters = json!({"a": 0, "b": 1, "ab": 2, "aba": 3, "ba": 4, "<unk>": 5, "##b": 6});
    vec![
        file(
            bytes,
            json!({"type": "BPE", "vocab": letters, "merges": merges}),
        ),
        file(
            words.clone(),
            json!({"type": "BPE", "vocab": letters, "merges": merges, "unk_token": "<unk>", "fuse_unk": true}),
        ),
        file(
            words.clone(),
            json!({"type": "WordPiece", "vocab": letters, "unk_token": "<unk>", "max_input_chars_per_word": 9}),
        ),
        file(
            words.clone(),
            json!({"type": "WordLevel", "vocab": letters, "unk_token": "<unk>"}),
        ),
        file(
            words,
            json!({"type": "Unigram", "unk_id": 0, "byte_fallback": true,
                   "vocab": [["<unk>", 0.0], ["a", -1.5], ["b", -2.0], ["ab", -2.25], ["<0x41>", -9.0]]}),
        ),
    ]
}

fn same(tokenizer: &Tokenizer, again: &Tokenizer, text: &str) {
    assert_eq!(again.to_config(), tokenizer.to_config());
    assert_eq!(
        to_canonical(again).unwrap(),
        to_canonical(tokenizer).unwrap()
    );
    let (found, expected) = (ids(again, text), ids(tokenizer, text));
    assert_eq!(
        found.map_err(|e| e.to_string()),
        expected.map_err(|e| e.to_string())
    );
}

#[test]
fn every_kind_comes_back() {
    for tokenizer in of_every_kind() {
        let bytes = to_bytes(&tokenizer, Some("näme")).unwrap();
        assert!(is_compiled(&bytes));
        let (again, name) = from_bytes(&bytes).unwrap();
        assert_eq!(name.as_deref(), Some("näme"));
        same(&tokenizer, &again, "abab ba aba <s>c AbA");
        assert_eq!(to_bytes(&again, Some("näme")).unwrap(), bytes);
        // A canonical form of it is what it was before.
        let canonical = from_canonical(&to_canonical(&again).unwrap()).unwrap();
        same(&tokenizer, &canonical, "abab<s>");
    }
}

#[test]
fn sentencepiece_models_stay_what_they_are() {
    let piece = |text: &str, kind: u8| {
        let mut piece = vec![10, text.len() as u8];
        piece.extend_from_slice(text.as_bytes());
        piece.extend_from_slice(&[24, kind]);
        let mut field = vec![10, piece.len() as u8];
        field.extend(piece);
        field
    };
    let file = [piece("<unk>", 2), piece("a", 1)].concat();
    let tokenizer = crate::format::from_sentencepiece(&file).unwrap();
    let error = to_bytes(&tokenizer, None).unwrap_err();
    assert!(error.to_string().contains("SentencePiece"), "{error}");
}

#[test]
fn other_releases_and_damage_are_refused() {
    let bytes = to_bytes(&ranks(&[b"ab".to_vec()]), None).unwrap();
    for n in [0, 4, 8, 39, 40, 41, bytes.len() - 1] {
        assert!(from_bytes(&bytes[..n]).is_err(), "{n}");
    }
    assert!(from_bytes(&[&bytes[..], b"\0"].concat()).is_err());
    // A length that nothing can hold is refused before anything is reserved.
    let mut huge = bytes[HEADER_BYTES..].to_vec();
    huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(from_bytes(&sealed(&huge)).is_err());
    let release = bytes
        .windows(RELEASE.len())
        .position(|window| window == RELEASE.as_bytes());
    let mut other = bytes.clone();
    other[release.unwrap()] ^= 1;
    let error = from_bytes(&sealed(&other[HEADER_BYTES..]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("compile the original file again"), "{error}");
}

proptest! {
    #[test]
    fn ranks_come_back(
        tokens in prop::collection::hash_set(prop::collection::vec(97..101u8, 2..6), 0..40),
        text in "[a-d ]{0,40}",
        flip in any::<prop::sample::Index>(),
        bit in 0..8,
    ) {
        let mut tokens: Vec<_> = tokens.into_iter().collect();
        tokens.sort();
        let tokenizer = ranks(&tokens);
        let mut bytes = to_bytes(&tokenizer, None).unwrap();
        let (again, name) = from_bytes(&bytes).unwrap();
        prop_assert_eq!(name, None);
        prop_assert!(again.vocab().is_packed());
        same(&tokenizer, &again, &text);
        // Any bit that is another one is noticed.
        let at = flip.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        prop_assert!(from_bytes(&bytes).is_err());
    }

    /// A file that is damaged on purpose is an error, or a tokenizer that can be used.
    #[test]
    fn hostile_files_do_no_harm(
        kind in 0..6usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        text in "[abA<s> ]{0,20}",
    ) {
        let tokenizer = match kind {
            5 => ranks(&[b"ab".to_vec(), b"abab".to_vec()]),
            kind => of_every_kind().swap_remove(kind),
        };
        let mut bytes = to_bytes(&tokenizer, None).unwrap();
        if let Some(cut) = cut {
            bytes.truncate(HEADER_BYTES + cut.index(bytes.len() - HEADER_BYTES));
        }
        for (at, value) in flips {
            if bytes.len() > HEADER_BYTES {
                let at = HEADER_BYTES + at.index(bytes.len() - HEADER_BYTES);
                bytes[at] = value;
            }
        }
        if let Ok((tokenizer, _)) = from_bytes(&sealed(&bytes[HEADER_BYTES..])) {
            if let Ok(ids) = ids(&tokenizer, &text) {
                let mut out = Vec::new();
                let _ = tokenizer.decode_into(&ids, false, &mut out);
            }
            let _ = to_canonical(&tokenizer);
            let _ = to_bytes(&tokenizer, None);
        }
    }
}
