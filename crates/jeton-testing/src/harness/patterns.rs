//! The target of split patterns: parse, compile, split.

use jeton_core::pretokenize::{Behavior, Dialect, PreTokenizer, SplitConfig, StepConfig};
use jeton_core::text::unicode::UnicodeVersion;

use super::TEXTS;

/// Longest pattern that is compiled: more than the longest published one has (about 600 bytes).
const MAX_BYTES: usize = 1024;

const BEHAVIORS: [Behavior; 5] = [
    Behavior::Isolated,
    Behavior::Removed,
    Behavior::MergedWithPrevious,
    Behavior::MergedWithNext,
    Behavior::Contiguous,
];

/// The first byte chooses dialect and behaviour; then come the pattern, a NUL, and text to split.
pub fn patterns(data: &[u8]) -> bool {
    let Some((&choice, rest)) = data.split_first() else {
        return false;
    };
    let mut parts = rest.splitn(2, |&byte| byte == 0);
    let Some(Ok(pattern)) = parts.next().map(std::str::from_utf8) else {
        return false;
    };
    if pattern.len() > MAX_BYTES {
        return false;
    }
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let bit = |n: u8| choice >> n & 1 == 1;
    let behavior = BEHAVIORS[usize::from(choice >> 3) % BEHAVIORS.len()];
    let config = SplitConfig {
        pattern: pattern.to_owned(),
        dialect: if bit(0) {
            Dialect::Oniguruma
        } else {
            Dialect::FancyRegex
        },
        unicode: UnicodeVersion::REFERENCES,
        behavior,
        invert: bit(1),
        in_byte_alphabet: bit(2),
    };
    let Ok(pretokenizer) = PreTokenizer::new(&[StepConfig::Split(config)]) else {
        return false;
    };
    for text in [TEXTS[0], TEXTS[1], &text] {
        check(&pretokenizer, behavior, bit(2), text);
    }
    true
}

/// Pieces lie in order, overlap nowhere, and but for what is removed leave nothing out. Giving up
/// on the cost of a backtracking pattern is an error, and fine.
fn check(pretokenizer: &PreTokenizer, behavior: Behavior, may_cut: bool, text: &str) {
    let mut position = 0;
    let split = pretokenizer.split(text, |start, end| {
        assert!(start < end && end <= text.len(), "piece {start}..{end}");
        assert!(
            may_cut || text.is_char_boundary(start),
            "a character is cut at {start}"
        );
        assert!(
            may_cut || text.is_char_boundary(end),
            "a character is cut at {end}"
        );
        if behavior == Behavior::Removed {
            assert!(position <= start, "piece {start}..{end} after {position}");
        } else {
            assert_eq!(position, start, "text is left out or cut twice");
        }
        position = end;
        Ok(())
    });
    if pretokenizer.is_linear() {
        assert!(split.is_ok(), "an automaton gave up");
    }
    if split.is_ok() && behavior != Behavior::Removed {
        assert_eq!(position, text.len(), "the end of the text is left out");
    }
}
