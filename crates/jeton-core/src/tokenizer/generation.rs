//! Ids that a model must never generate.

use std::collections::HashSet;

use super::Tokenizer;
use crate::engine::Engine;
use crate::sentencepiece::PieceKind;

/// Special tokens that end a text or a turn, as published tokenizers name them (Llama 2 and T5;
/// Gemma; GPT-2 and Qwen; Llama 3; Llama 4; Qwen 2; Phi 3; gpt-oss; `OpenChat`; Cohere;
/// `DeepSeek`), as of 2026-11.
pub const END_TOKENS: [&str; 17] = [
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|end_of_turn|>",
    "<EOS_TOKEN>",
    "<|END_OF_TURN_TOKEN|>",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
];

/// Prefixes of reserved tokens' names, before a number: `[unused12]` (BERT), `<unused12>` (Gemma),
/// `<|reserved_special_token_12|>` (Llama 3), `<|dummy_12|>` (Phi 4), `<|placeholder12|>` (Phi 3),
/// `<SPECIAL_12>` (Mistral's tekken), as of 2026-11.
const RESERVED: [&str; 6] = [
    "unused",
    "reserved",
    "reserved_special_token",
    "dummy",
    "placeholder",
    "special",
];

/// Further tokens that a model must not generate.
#[derive(Clone, Debug, Default)]
pub struct NeverGenerated {
    /// Special ids that may be generated all the same.
    pub allowed: Vec<u32>,
    /// True if the token for unknown text may be.
    pub unknown: bool,
    /// True if tokens of single bytes (`<0x0A>`) may be.
    pub bytes: bool,
}

impl Tokenizer {
    /// The ids of [`END_TOKENS`] that are special tokens here, and a SentencePiece model's end of
    /// sentence.
    pub fn end_ids(&self) -> Vec<u32> {
        let tokens = self.added_tokens().iter();
        let named = tokens
            .filter(|token| token.special && END_TOKENS.contains(&token.content.as_str()))
            .map(|token| token.id);
        let of_model = match &self.engine {
            Engine::SentencePiece(engine) => engine.processor.eos(),
            _ => None,
        };
        let mut ids: Vec<u32> = named.chain(of_model).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// True for each of the first `size` rows of an output layer that must never be chosen. These
    /// are special tokens, ids without a token (also rows behind the vocabulary), and tokens that
    /// are reserved by name or marked as unused. `how` adds to them.
    pub fn never_generated(&self, size: usize, how: &NeverGenerated) -> Vec<bool> {
        let vocab = self.vocab();
        let unknown = self.unknown();
        let allowed: HashSet<u32> = how.allowed.iter().copied().collect();
        let forbidden = |id: u32| {
            if allowed.contains(&id) {
                return false;
            }
            let Some(bytes) = vocab.id_to_bytes(id) else {
                return true;
            };
            if unknown == Some(id) {
                return !how.unknown;
            }
            self.is_special(id)
                || is_reserved(bytes)
                || self.is_unused_piece(id)
                || (!how.bytes && self.is_byte_token(id, bytes))
        };
        let known = u32::try_from(size).unwrap_or(u32::MAX).min(vocab.size());
        let mut mask: Vec<bool> = (0..known).map(forbidden).collect();
        mask.resize(size, true);
        mask
    }

    fn is_unused_piece(&self, id: u32) -> bool {
        matches!(self.piece_kind(id), Some(PieceKind::Unused))
    }

    fn is_byte_token(&self, id: u32, bytes: &[u8]) -> bool {
        match self.piece_kind(id) {
            Some(kind) => kind == PieceKind::Byte,
            None => {
                matches!(bytes, [b'<', b'0', b'x', a, b, b'>'] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
            }
        }
    }

    fn piece_kind(&self, id: u32) -> Option<PieceKind> {
        let Engine::SentencePiece(engine) = &self.engine else {
            return None;
        };
        let piece = engine.model.pieces.get(usize::try_from(id).ok()?)?;
        Some(piece.kind)
    }
}

/// True if a token's text says that it is kept for later: a word of [`RESERVED`] and a number, in
/// brackets.
fn is_reserved(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let brackets = [("<|", "|>"), ("<", ">"), ("[", "]")];
    let inner = brackets
        .iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let Some(inner) = inner else {
        return false;
    };
    let stem = inner.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = stem.trim_end_matches(['_', '-', ' ']);
    stem.len() < inner.len() && RESERVED.iter().any(|word| name.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::from_hf_json;

    #[test]
    fn names_of_reserved_tokens() {
        for name in [
            "[unused1]",
            "<unused99>",
            "<|reserved_special_token_0|>",
            "<|dummy_85|>",
            "<|placeholder1|>",
            "<SPECIAL_20>",
        ] {
            assert!(is_reserved(name.as_bytes()), "{name}");
        }
        for name in [
            "unused1",
            "[unused]",
            "<1>",
            "[12]",
            "<h1>",
            "<|user|>",
            "<s>",
            "[]",
            "<extra_id_0>",
        ] {
            assert!(!is_reserved(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn every_reason_by_itself() {
        let file = json!({
            "added_tokens": [
                {"id": 5, "content": "<s>", "special": true},
                {"id": 6, "content": "</s>", "special": true},
                {"id": 9, "content": "<think>", "special": false},
            ],
            "normalizer": null, "post_processor": null, "pre_tokenizer": null, "decoder": null,
            "model": {
                "type": "BPE", "merges": [], "unk_token": "<unk>", "byte_fallback": true,
                "vocab": {
                    "<unk>": 0, "a": 1, "<0x0A>": 2, "<unused0>": 3, "b": 4, "<s>": 5, "</s>": 6, "<think>": 9,
                },
            },
        });
        let tokenizer = from_hf_json(&serde_json::to_vec(&file).unwrap()).unwrap();
        assert_eq!(tokenizer.end_ids(), [6]);
        let forbidden = |size, how: &NeverGenerated| -> Vec<usize> {
            let mask = tokenizer.never_generated(size, how);
            assert_eq!(mask.len(), size);
            (0..size).filter(|&id| mask[id]).collect()
        };
        let usual = NeverGenerated {
            allowed: tokenizer.end_ids(),
            unknown: false,
            bytes: true,
        };
        assert_eq!(forbidden(12, &usual), [0, 3, 5, 7, 8, 10, 11]);
        assert_eq!(forbidden(4, &usual), [0, 3]);
        let strict = NeverGenerated::default();
        assert_eq!(forbidden(10, &strict), [0, 2, 3, 5, 6, 7, 8]);
        let lax = NeverGenerated {
            allowed: vec![3, 5],
            unknown: true,
            bytes: true,
        };
        assert_eq!(forbidden(10, &lax), [6, 7, 8]);
    }
}
