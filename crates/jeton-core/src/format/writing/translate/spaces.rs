//! The steps of `tokenizer.json` that are SentencePiece's rules in other words: charsmap and
//! spaces.

use super::{MARKS_AT_END, SPACE, SPACES, SPACES_AT_END, SPACES_AT_START};
use crate::config::Config;
use crate::format::writing::ledger::Ledger;
use crate::normalize::NormalizerConfig;
use crate::normalize::replace::{ReplaceConfig, ReplacePattern};
use crate::pretokenize::metaspace::{MetaspaceConfig, PrependScheme};
use crate::pretokenize::{StepConfig, components};
use crate::sentencepiece::{NormalizerSpec, Piece, PieceKind};

/// Rules about spaces, gathered from steps.
#[derive(Default)]
struct Spaces {
    charsmap: Vec<u8>,
    prefix: bool,
    escaped: bool,
    at_start: bool,
    runs: bool,
    at_end: bool,
}

pub(super) fn normalizer(config: &Config, pieces: &[Piece], ledger: &mut Ledger) -> NormalizerSpec {
    let mut spaces = Spaces::default();
    for step in &config.normalizer {
        if !spaces.take(step) {
            let name = serde_json::to_value(step).unwrap_or_default();
            let name = name["type"].as_str().unwrap_or("step").to_owned();
            ledger.refuse(format!("SentencePiece has no {name} among its rules"));
        }
    }
    if config
        .normalizer
        .iter()
        .any(|step| matches!(step, NormalizerConfig::Strip { .. }))
    {
        ledger.lose(
            "normalizer",
            "that all white space goes from the ends",
            "only spaces go from there",
        );
    }
    if !spaces.charsmap.is_empty() {
        ledger.lose(
            "normalizer",
            "its rules apply to any characters there, and to whole graphemes in tokenizers",
            "characters with combining marks that the rules change may get other ids",
        );
    }
    pretokenizer(config, pieces, &mut spaces, ledger);
    let removes = [spaces.at_start, spaces.runs, spaces.at_end];
    if removes.contains(&true) && removes.contains(&false) {
        ledger.lose(
            "normalizer",
            "which extra spaces go",
            "texts with spaces at their ends, or many in a row, get other ids",
        );
    }
    NormalizerSpec {
        name: String::new(),
        precompiled_charsmap: spaces.charsmap,
        add_dummy_prefix: spaces.prefix,
        remove_extra_whitespaces: spaces.runs,
        escape_whitespaces: spaces.escaped,
    }
}

impl Spaces {
    /// True if a step is one of SentencePiece's rules.
    fn take(&mut self, step: &NormalizerConfig) -> bool {
        match step {
            NormalizerConfig::Precompiled { charsmap } if self.charsmap.is_empty() => {
                self.charsmap.clone_from(&charsmap.0);
            }
            NormalizerConfig::Prepend { prefix } if prefix == SPACE || prefix == " " => {
                self.prefix = true;
            }
            NormalizerConfig::Strip { left, right } => {
                self.at_start |= left;
                self.at_end |= right;
            }
            NormalizerConfig::Replace(ReplaceConfig { pattern, content }) => match pattern {
                ReplacePattern::String(text) if text == " " && content == SPACE => {
                    self.escaped = true;
                }
                ReplacePattern::Regex(regex) if content.is_empty() => match regex.as_str() {
                    SPACES_AT_START => self.at_start = true,
                    MARKS_AT_END | SPACES_AT_END => self.at_end = true,
                    _ => return false,
                },
                ReplacePattern::Regex(regex) if regex == SPACES => {
                    if content != " " && content != SPACE {
                        return false;
                    }
                    self.runs = true;
                }
                _ => return false,
            },
            _ => return false,
        }
        true
    }
}

fn pretokenizer(config: &Config, pieces: &[Piece], spaces: &mut Spaces, ledger: &mut Ledger) {
    let (words, metaspace) = match config.pretokenizer.as_slice() {
        [] => return,
        [StepConfig::Metaspace(metaspace)] => (false, metaspace),
        [StepConfig::Split(split), StepConfig::Metaspace(metaspace)]
            if split.pattern == components::WHITE_SPACE =>
        {
            (true, metaspace)
        }
        _ => {
            ledger.refuse("SentencePiece does not cut text before its model sees it");
            return;
        }
    };
    let MetaspaceConfig {
        replacement,
        prepend_scheme,
        split,
    } = *metaspace;
    if !SPACE.starts_with(replacement) {
        ledger.refuse(format!(
            "SentencePiece does not write spaces as {replacement:?}"
        ));
    }
    if words {
        ledger.lose(
            "pretokenizer",
            "that any white space ends a word",
            "tabs and line ends stay in the text",
        );
        (spaces.at_start, spaces.runs, spaces.at_end) = (true, true, true);
    }
    spaces.escaped = true;
    if prepend_scheme != PrependScheme::Never {
        if prepend_scheme == PrependScheme::First {
            ledger.lose(
                "pretokenizer",
                "that a space is put before the whole text alone, and not behind special tokens",
                "text right behind a special token, as in every turn of a chat, begins with a space",
            );
        }
        if !(words || spaces.at_start && spaces.runs) {
            ledger.lose(
                "pretokenizer",
                "that no space is put before a text which begins with one",
                "texts that begin with a space get one more",
            );
        }
        spaces.prefix = true;
    }
    let goes_on = |piece: &Piece| {
        let text = String::from_utf8_lossy(&piece.bytes);
        piece.kind == PieceKind::Normal && text.chars().skip(1).any(|c| SPACE.starts_with(c))
    };
    if split && pieces.iter().any(goes_on) {
        ledger.lose(
            "pretokenizer",
            "that text is cut before each space",
            "pieces with spaces inside are found",
        );
    }
}
