//! Writing CLIP's merges.

use crate::config::{Config, ModelConfig};
use crate::format::writing::draft::Draft;
use crate::format::writing::ledger::Ledger;

/// The published file's first line.
const FIRST_LINE: &str = "\"bpe_simple_vocab_16e6.txt#version: 0.2";

/// Writes the merges, and what stands in their way. Reading the merges shows if they make this
/// vocabulary.
pub(in crate::format) fn write(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let ModelConfig::CharacterBpe {
        tokens,
        merges,
        end_of_word_suffix,
        ..
    } = &config.model
    else {
        ledger.refuse("only BPE on characters has CLIP's merges");
        return None;
    };
    if end_of_word_suffix != super::END_OF_WORD {
        ledger.refuse("the last token of a word is not marked with </w>");
    }
    if merges.len() != super::N_MERGES {
        let (n, expected) = (merges.len(), super::N_MERGES);
        ledger.refuse(format!("it has {n} merges; CLIP has {expected}"));
    }
    if !ledger.obstacles.is_empty() {
        return None;
    }
    let text = |id: u32| {
        let token = tokens.get(id as usize).and_then(Option::as_ref);
        token.and_then(|token| std::str::from_utf8(&token.0).ok())
    };
    let mut out = FIRST_LINE.to_owned();
    out.push('\n');
    for &(left, right) in merges {
        let (Some(left), Some(right)) = (text(left), text(right)) else {
            ledger.refuse("its merges name tokens that are no text");
            return None;
        };
        out.extend([left, " ", right, "\n"]);
    }
    Some(Draft::of(out.into_bytes()))
}
