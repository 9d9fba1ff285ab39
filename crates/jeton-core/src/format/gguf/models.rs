//! The vocabularies without merges: `llama` and `t5` (SentencePiece), `bert` (`WordPiece`), `rwkv`.

use super::fields::{Fields, Kind, Tokens, fail};
use super::{Around, added_tokens, template};
use crate::assembly::{ModelParts, Parts};
use crate::config::Reference;
use crate::decode::DecoderConfig;
use crate::error::Result;
use crate::inputs::template::Template;
use crate::models::wordpiece::DEFAULT_PREFIX;
use crate::normalize::NormalizerConfig;
use crate::normalize::bert::BertConfig;
use crate::pretokenize::components::bert_words;
use crate::sentencepiece::{ModelType, NormalizerSpec, Piece, PieceKind, SpmModel, TrainerSpec};
use crate::tokenizer::Tokenizer;
use crate::vocab::Vocab;

/// Mark of a token that begins a word: U+2581.
const WORD_START: char = '\u{2581}';

/// `llama`: SentencePiece's BPE. Text is not normalized but for spaces.
pub(super) fn read_llama(fields: &Fields<'_>) -> Result<Tokenizer> {
    let tokens = fields.tokens()?;
    let unknown = fields.id(
        "tokenizer.ggml.unknown_token_id",
        Some(0),
        tokens.texts.len(),
    )?;
    let around = Around {
        bos: Some(1),
        add_bos: true,
        eos: Some(2),
        add_eos: false,
    };
    let n_bytes = tokens.kinds.iter().filter(|&&k| k == Kind::Byte).count();
    let model = SpmModel {
        pieces: pieces(&tokens, unknown),
        trainer: TrainerSpec {
            model_type: ModelType::Bpe,
            byte_fallback: n_bytes > 0,
            ..TrainerSpec::default()
        },
        normalizer: NormalizerSpec {
            add_dummy_prefix: fields.flag("tokenizer.ggml.add_space_prefix", true)?,
            remove_extra_whitespaces: false,
            ..NormalizerSpec::default()
        },
        denormalizer: None,
    };
    sentencepiece(fields, &tokens, around, model)
}

/// `t5`: SentencePiece's Unigram, with its normalization.
pub(super) fn read_t5(fields: &Fields<'_>) -> Result<Tokenizer> {
    let tokens = fields.tokens()?;
    let unknown = fields.id(
        "tokenizer.ggml.unknown_token_id",
        Some(2),
        tokens.texts.len(),
    )?;
    let around = Around {
        bos: None,
        add_bos: false,
        eos: Some(1),
        add_eos: true,
    };
    let prefix = fields.flag("tokenizer.ggml.add_space_prefix", false)?;
    let merge_spaces = fields.flag("tokenizer.ggml.remove_extra_whitespaces", false)?;
    let charsmap = fields.bytes("tokenizer.ggml.precompiled_charsmap")?;
    let model = SpmModel {
        pieces: pieces(&tokens, unknown),
        trainer: TrainerSpec {
            model_type: ModelType::Unigram,
            ..TrainerSpec::default()
        },
        normalizer: NormalizerSpec {
            precompiled_charsmap: charsmap.unwrap_or_default(),
            // Where llama.cpp makes one space of many, it begins the text with one too.
            add_dummy_prefix: prefix || merge_spaces,
            remove_extra_whitespaces: merge_spaces,
            ..NormalizerSpec::default()
        },
        denormalizer: None,
    };
    sentencepiece(fields, &tokens, around, model)
}

/// The pieces of a vocabulary. Unknown pieces beside the one and control pieces are the same to the
/// model: it never makes them. Nor does it make bytes where text does not fall back to them; they
/// are decoded all the same.
fn pieces(tokens: &Tokens, unknown: Option<u32>) -> Vec<Piece> {
    let is_unknown = |id: u32| tokens.kinds.get(id as usize) == Some(&Kind::Unknown);
    let unknown = unknown.filter(|&id| is_unknown(id)).or_else(|| {
        let first = tokens.kinds.iter().position(|&kind| kind == Kind::Unknown);
        first.map(|id| id as u32)
    });
    let kind = |id: u32, kind| match kind {
        Kind::Normal => PieceKind::Normal,
        Kind::Unknown if unknown == Some(id) => PieceKind::Unknown,
        Kind::Byte => PieceKind::Byte,
        Kind::Unknown | Kind::Control => PieceKind::Control,
        Kind::UserDefined => PieceKind::UserDefined,
        Kind::Unused => PieceKind::Unused,
    };
    let all = tokens.texts.iter().zip(&tokens.kinds).zip(&tokens.scores);
    (0..)
        .zip(all)
        .map(|(id, ((text, &written), &score))| Piece {
            bytes: text.as_bytes().to_vec(),
            score,
            kind: kind(id, written),
        })
        .collect()
}

fn sentencepiece(
    fields: &Fields<'_>,
    tokens: &Tokens,
    around: Around,
    model: SpmModel,
) -> Result<Tokenizer> {
    Tokenizer::from_parts(Parts {
        added_tokens: added_tokens(fields, tokens)?,
        template: template(fields, tokens.texts.len(), around)?,
        ..Parts::new(Reference::LlamaCpp, ModelParts::SentencePiece(model))
    })
}

/// Reads `bert`: `WordPiece` with U+2581 before tokens that begin a word, not `##` before the
/// others.
pub(super) fn read_bert(fields: &Fields<'_>) -> Result<Tokenizer> {
    let tokens = fields.tokens()?;
    let n = tokens.texts.len();
    let added_tokens = added_tokens(fields, &tokens)?;
    let mut vocab = Vocab::with_capacity(n);
    let mut written = String::new();
    for (id, (text, &kind)) in (0..).zip(tokens.texts.iter().zip(&tokens.kinds)) {
        let is_added = added_tokens
            .binary_search_by_key(&id, |token| token.id)
            .is_ok();
        if is_added || kind == Kind::Unused {
            vocab.insert_opaque(id, text.as_bytes())?;
            continue;
        }
        written.clear();
        match text.strip_prefix(WORD_START) {
            Some(begins) => written.push_str(begins),
            None => {
                written.push_str(DEFAULT_PREFIX);
                written.push_str(text);
            }
        }
        if written.is_empty() {
            vocab.insert_opaque(id, text.as_bytes())?;
        } else {
            vocab.insert(id, written.as_bytes())?;
        }
    }
    // Older files have the beginning under the key of the class.
    let class = fields.id("tokenizer.ggml.cls_token_id", Some(101), n)?;
    let before = fields.id("tokenizer.ggml.bos_token_id", class, n)?;
    let after = fields.id("tokenizer.ggml.seperator_token_id", Some(102), n)?;
    let unknown = fields.id("tokenizer.ggml.unknown_token_id", Some(100), n)?;
    let lowercase = fields.flag("tokenizer.ggml.normalizer.lowercase", true)?;
    let normalizer = BertConfig {
        clean_text: true,
        handle_chinese_chars: true,
        strip_accents: fields.flag("tokenizer.ggml.normalizer.strip_accents", lowercase)?,
        lowercase,
    };
    let template = match before.zip(after) {
        Some((cls, sep)) => Template::bert(cls, sep),
        None => Template::default(),
    };
    let model = ModelParts::WordPiece {
        vocab,
        prefix: DEFAULT_PREFIX.to_owned(),
        max_chars: usize::MAX,
        unknown,
    };
    Tokenizer::from_parts(Parts {
        normalizer: vec![NormalizerConfig::Bert(normalizer)],
        added_tokens,
        pretokenizer: bert_words().into(),
        template,
        decoder: Some(vec![DecoderConfig::WordPiece {
            prefix: DEFAULT_PREFIX.to_owned(),
            cleanup: true,
        }]),
        ..Parts::new(Reference::LlamaCpp, model)
    })
}

/// `rwkv`: the longest token that fits, on bytes, which the tokens write as Python does.
pub(super) fn read_rwkv(fields: &Fields<'_>) -> Result<Tokenizer> {
    let tokens = fields.tokens()?;
    let mut vocab = Vocab::with_capacity(tokens.texts.len());
    for (id, (text, &kind)) in (0..).zip(tokens.texts.iter().zip(&tokens.kinds)) {
        if kind == Kind::Normal {
            let bytes = unescape(text).or_else(|reason| fail(format!("token {id}: {reason}")))?;
            if let Some(other) = vocab.bytes_to_id(&bytes) {
                return fail(format!("the tokens {other} and {id} are the same bytes"));
            }
            vocab.insert(id, &bytes)?;
        } else {
            vocab.insert_opaque(id, text.as_bytes())?;
        }
    }
    let mut added_tokens = added_tokens(fields, &tokens)?;
    added_tokens.retain(|token| tokens.kinds.get(token.id as usize) != Some(&Kind::Normal));
    Tokenizer::from_parts(Parts {
        added_tokens,
        ..Parts::new(Reference::LlamaCpp, ModelParts::Greedy { vocab })
    })
}

/// The bytes of a token: `\t`, `\n`, `\r`, `\x41`; any other character after a backslash is itself.
fn unescape(text: &str) -> std::result::Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let [escape, after @ ..] = rest else {
            return Err("it ends in a backslash".to_owned());
        };
        rest = after;
        out.push(match escape {
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            b'x' => {
                let digit = |at: usize| rest.get(at).and_then(|&d| char::from(d).to_digit(16));
                let (Some(high), Some(low)) = (digit(0), digit(1)) else {
                    return Err("\\x needs two hexadecimal digits".to_owned());
                };
                rest = &rest[2..];
                (high << 4 | low) as u8
            }
            other => *other,
        });
    }
    if out.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_unescaped_as_llama_cpp_does() {
        assert_eq!(
            unescape(r"\t\n\r\x41\xff\\\'a").unwrap(),
            b"\t\n\rA\xff\\'a"
        );
        assert_eq!(unescape("é").unwrap(), "é".as_bytes());
        for bad in ["\\", r"\x", r"\x4", r"\xg0", ""] {
            assert!(unescape(bad).is_err(), "{bad}");
        }
    }
}
