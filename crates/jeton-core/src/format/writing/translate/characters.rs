//! Models of characters and of bytes as BPE without merges.

use crate::config::{MissingCharacterConfig, MissingConfig, ModelConfig};
use crate::format::writing::ledger::Ledger;

/// Rewrites the model as BPE; None if it is neither of the two.
pub(super) fn as_bpe(model: &ModelConfig, ledger: &mut Ledger) -> Option<ModelConfig> {
    match model {
        ModelConfig::Character {
            tokens,
            opaque,
            missing,
        } => {
            let named = |ids: &[u32]| {
                ids.iter().enumerate().all(|(byte, &id)| {
                    let token = tokens.get(id as usize).and_then(Option::as_ref);
                    token.is_some_and(|token| token.0 == format!("<0x{byte:02X}>").as_bytes())
                })
            };
            let (missing, byte_fallback) = match missing {
                MissingCharacterConfig::Unknown(id) => (MissingConfig::Unknown(*id), false),
                MissingCharacterConfig::Fail => (MissingConfig::Fail, false),
                MissingCharacterConfig::Bytes(ids) if named(ids) => (MissingConfig::Skip, true),
                MissingCharacterConfig::Bytes(_) => {
                    ledger.refuse("the tokens of its bytes are not called <0x00> to <0xFF>");
                    return None;
                }
            };
            if opaque.iter().any(|&id| {
                let token = tokens.get(id as usize).and_then(Option::as_ref);
                let text = token.and_then(|token| std::str::from_utf8(&token.0).ok());
                text.is_some_and(|text| text.chars().nth(1).is_none())
            }) {
                ledger.lose(
                    "model",
                    "that some tokens of one character are never made from text",
                    "these characters become them",
                );
            }
            Some(ModelConfig::CharacterBpe {
                tokens: tokens.clone(),
                opaque: opaque.clone(),
                merges: Vec::new(),
                missing,
                fuse_unknown: false,
                byte_fallback,
                continuing_prefix: String::new(),
                end_of_word_suffix: String::new(),
                whole_pretokens: false,
            })
        }
        ModelConfig::RawBytes {
            tokens,
            opaque,
            offset,
        } => {
            let is_byte = |byte: u8| {
                let token = tokens.get(*offset as usize + usize::from(byte));
                matches!(token, Some(Some(token)) if token.0 == [byte])
            };
            if !(0..=255u8).all(is_byte) {
                ledger.refuse("its bytes are not tokens of their own");
                return None;
            }
            Some(ModelConfig::Bpe {
                tokens: tokens.clone(),
                opaque: opaque.clone(),
                merges: Some(Vec::new()),
                whole_pretokens: false,
                missing: MissingConfig::Skip,
            })
        }
        _ => None,
    }
}
