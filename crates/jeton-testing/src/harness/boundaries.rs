//! The target of boundaries: where pretokens end, found many at a time, against the automaton's
//! walk.

use jeton_core::cpu::dispatch::{Level, level, set_limit};
use jeton_core::format::from_tiktoken;
use jeton_core::special::Allow;
use jeton_core::tokenizer::Tokenizer;

use super::TEXTS;
use super::formats::{BYTE_RANKS, tiktoken_options};

/// Longest pattern that is compiled: more than the longest published one has (about 600 bytes).
const MAX_BYTES: usize = 1024;
/// Boundaries are worked out when an automaton has seen 32 KiB of text.
const ENOUGH_TEXT: usize = 33 << 10;

/// A pattern, a NUL, and text to cut: with each level of vector instructions that the machine has.
pub fn boundaries(data: &[u8]) -> bool {
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let Some(Ok(pattern)) = parts.next().map(std::str::from_utf8) else {
        return false;
    };
    if pattern.len() > MAX_BYTES {
        return false;
    }
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let together = [TEXTS[0], &text, TEXTS[1], &text].concat();
    let widest = level();
    let mut is_read = false;
    for tried in Level::ALL.into_iter().filter(|&tried| tried <= widest) {
        // It holds for what is worked out meanwhile, elsewhere too, where narrower is as right.
        set_limit(tried);
        let mut options = tiktoken_options(&[]);
        pattern.clone_into(&mut options.pattern);
        let Ok(tokenizer) = from_tiktoken(BYTE_RANKS.as_slice(), options) else {
            break;
        };
        is_read = true;
        see_enough(&tokenizer, &together);
        for text in [TEXTS[0], TEXTS[1], &text, &together] {
            check(&tokenizer, tried, text);
        }
    }
    set_limit(widest);
    is_read
}

/// Encodes the text again and again. A pattern that fails (its backtracking costs too much) fails
/// in the checks too.
fn see_enough(tokenizer: &Tokenizer, text: &str) {
    let mut ids = Vec::new();
    let mut seen = 0;
    while seen < ENOUGH_TEXT
        && tokenizer
            .encode_into(text, &Allow::None, false, &mut ids)
            .is_ok()
    {
        assert!(ids.len() == text.len(), "every byte is a token");
        ids.clear();
        seen += text.len();
    }
}

/// Words as the tokens know them are the pretokens that the pattern cuts.
fn check(tokenizer: &Tokenizer, level: Level, text: &str) {
    let Ok(pretokens) = tokenizer.pretokenize(text) else {
        return;
    };
    let lengths: Vec<usize> = pretokens.iter().map(Vec::len).collect();
    let Ok(found) = tokenizer.encode_with_offsets(text, &Allow::None, false, true) else {
        return;
    };
    let words: Vec<usize> = found
        .word_ids
        .chunk_by(|one, next| one == next)
        .map(<[_]>::len)
        .collect();
    assert_eq!(words, lengths, "{level:?}: {text:?}");
}
