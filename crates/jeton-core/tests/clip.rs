//! CLIP's parts give the ids of OpenAI's code, except where `ftfy` repairs an encoding.

use std::collections::HashMap;

use jeton_core::format::clip::{self, Cleaner, ClipParts};
use jeton_core::normalize::Normalizer;
use jeton_core::pretokenize::PreTokenizer;
use jeton_core::special::{AddedTokens, Allow};
use jeton_testing::shared;

/// Cases of the golden set, as its header says.
const N_CASES: usize = 985;

/// `ftfy` reads characters U+0080 to U+009F as those of Windows-1252.
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

/// BPE as the definition says it, quadratic and plain.
struct Naive {
    parts: ClipParts,
    ids: HashMap<String, u32>,
    ranks: HashMap<(u32, u32), usize>,
}

impl Naive {
    fn new(parts: ClipParts) -> Self {
        let ids = parts.tokens.iter().cloned().zip(0..).collect();
        let ranks = parts.merges.iter().copied().zip(0..).collect();
        Self { parts, ids, ranks }
    }

    fn encode(&self, pretoken: &str, out: &mut Vec<u32>) {
        // The printable bytes have the ids that their letters have; the table is in the parts.
        let n = pretoken.len();
        let mut word: Vec<u32> = pretoken
            .bytes()
            .enumerate()
            .map(|(at, byte)| letter(byte) + if at + 1 == n { 256 } else { 0 })
            .collect();
        loop {
            let pairs = word.windows(2).enumerate();
            let best = pairs
                .filter_map(|(at, pair)| Some((*self.ranks.get(&(pair[0], pair[1]))?, at)))
                .min();
            let Some((_, at)) = best else { break };
            let (left, right) = (word[at] as usize, word[at + 1] as usize);
            let made = format!("{}{}", self.parts.tokens[left], self.parts.tokens[right]);
            word.splice(at..at + 2, [self.ids[&made]]);
        }
        out.extend(word);
    }
}

/// The id of a byte inside a word.
fn letter(byte: u8) -> u32 {
    let printable = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let before = (0..byte)
        .filter(|&b| printable(b) == printable(byte))
        .count() as u32;
    if printable(byte) {
        before
    } else {
        188 + before
    }
}

#[test]
fn golden_cases() {
    if !shared::is_there() {
        return;
    }
    let parts = clip::read(&shared::read("vocab/bpe_simple_vocab_16e6.txt").unwrap()).unwrap();
    let model = Naive::new(parts);
    let cleaner = Cleaner::new().unwrap();
    let splits = PreTokenizer::new(std::slice::from_ref(&model.parts.split)).unwrap();
    let tokens = model.parts.added_tokens.clone();
    let added = AddedTokens::new(tokens, &Normalizer::default(), false).unwrap();
    let cases = shared::golden("clip_openai").unwrap();
    assert_eq!(cases.len(), N_CASES);
    let mut differing = Vec::new();
    let mut found = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let text = cleaner.clean(&case.text).unwrap();
        let mut ids = Vec::new();
        let mut at = 0;
        added.find_normalized(&text, &Allow::All, &mut found);
        let ends = found
            .iter()
            .map(|token| (token.start, token.end, Some(token.id)));
        for (start, end, id) in ends.chain([(text.len(), text.len(), None)]) {
            let part = &text[at..start];
            let each = |start, end| {
                model.encode(&part[start..end], &mut ids);
                Ok(())
            };
            splits.split(part, each).unwrap();
            ids.extend(id);
            at = end;
        }
        if ids != case.ids {
            differing.push(number);
        }
    }
    let known: Vec<usize> = DIFFERENCES.iter().map(|&(number, _)| number).collect();
    assert_eq!(differing, known);
}
