//! Vocabularies of the smaller formats give the ids of their reference libraries.

// A panic in a test's helper is a failed test.
#![allow(clippy::unwrap_used, clippy::panic)]

use jeton_core::format::{Gpt2Options, from_claude, from_gpt2_files, from_tekken};
use jeton_core::special::Allow;
use jeton_core::tokenizer::Tokenizer;
use jeton_testing::shared;

/// Cases of every golden set, as each header says.
const N_CASES: usize = 985;

fn check(tokenizer: &Tokenizer, name: &str) {
    let cases = shared::golden(name).unwrap();
    assert_eq!(cases.len(), N_CASES);
    let mut ids = Vec::new();
    for case in &cases {
        for (allow, expected) in [
            (Allow::None, Some(&case.ids)),
            (Allow::All, case.ids_special_on.as_ref()),
        ] {
            let Some(expected) = expected else { continue };
            ids.clear();
            tokenizer
                .encode_into(&case.text, &allow, false, &mut ids)
                .unwrap();
            assert_eq!(ids, *expected, "{name}: {:?}", case.text);
        }
    }
}

#[test]
fn tekken() {
    if shared::is_there() {
        let file = shared::read("vocab/tekken_240718.json").unwrap();
        let tokenizer = from_tekken(&file).unwrap();
        assert_eq!(tokenizer.vocab().size(), 131_072);
        check(&tokenizer, "tekken_240718");
    }
}

#[test]
fn claude() {
    if shared::is_there() {
        let file = shared::read("vocab/claude.json").unwrap();
        let tokenizer = from_claude(&file).unwrap();
        assert_eq!(tokenizer.vocab().size(), 65_000);
        check(&tokenizer, "claude");
    }
}

#[test]
fn vocab_and_merges() {
    if shared::is_there() {
        for (files, set) in [
            ("gpt2", "gpt2_vocab_merges"),
            ("roberta-base", "roberta_vocab_merges"),
        ] {
            let vocab = shared::read(&format!("vocab/{files}.vocab.json")).unwrap();
            let merges = shared::read(&format!("vocab/{files}.merges.txt")).unwrap();
            let tokenizer = from_gpt2_files(&vocab, &merges, &Gpt2Options::default()).unwrap();
            check(&tokenizer, set);
        }
    }
}
