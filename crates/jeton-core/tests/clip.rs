//! CLIP's parts give the ids of `OpenAI`'s code, except where `ftfy` repairs an encoding.

// A panic in a test's helper is a failed test.
#![allow(clippy::unwrap_used, clippy::panic)]

use jeton_core::format::from_clip;
use jeton_core::special::Allow;
use jeton_testing::shared;

/// Cases of the golden set, as its header says.
const N_CASES: usize = 985;

/// `ftfy` reads characters U+0080 to U+009F as Windows-1252's.
const WINDOWS_1252: &str = "ftfy: transcode fix_c1_controls, or latin-1 to windows-1252";
/// `ftfy` takes the text for UTF-8 that was read as something else.
const UTF_8: &str = "ftfy: encode sloppy-windows-1252 or latin-1, decode utf-8";
/// `ftfy` does so with parts of the text.
const PARTS: &str = "ftfy: decode_inconsistent_utf8";
/// Not of `ftfy`: the `regex` module takes the unassigned U+3F110 for a letter.
const REGEX: &str = "regex 2026.11.15: U+3F110 is a letter";

/// The texts whose ids differ, by their place in the golden set, and why (found by asking
/// `ftfy.fix_and_explain` of ftfy 6.3.1 and `regex.findall`).
const DIFFERENCES: &[(usize, &str)] = &[
    (501, WINDOWS_1252),
    (724, WINDOWS_1252),
    (844, UTF_8),
    (845, UTF_8),
    (874, REGEX),
    (920, WINDOWS_1252),
    (921, WINDOWS_1252),
    (922, PARTS),
    (923, PARTS),
    (924, PARTS),
    (925, WINDOWS_1252),
    (926, WINDOWS_1252),
    (927, WINDOWS_1252),
    (929, PARTS),
];

#[test]
fn golden_cases() {
    if !shared::is_there() {
        return;
    }
    let file = shared::read("vocab/bpe_simple_vocab_16e6.txt").unwrap();
    let tokenizer = from_clip(&file).unwrap();
    let cases = shared::golden("clip_openai").unwrap();
    assert_eq!(cases.len(), N_CASES);
    let mut differing = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let mut ids = Vec::new();
        tokenizer
            .encode_into(&case.text, &Allow::All, false, &mut ids)
            .unwrap();
        if ids != case.ids {
            differing.push(number);
        }
    }
    let known: Vec<usize> = DIFFERENCES.iter().map(|&(number, _)| number).collect();
    assert_eq!(differing, known);
}
