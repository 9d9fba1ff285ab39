//! Writing the vocabulary of a model file: metadata only, no tensors.
//!
//! llama.cpp loads such a file with `vocab_only`; its converter puts the same before the tensors.

use super::pairs_out::Pairs;
use super::pre::{self, Pre};
use crate::codec::gpt2_alphabet;
use crate::config::{Config, ModelConfig};
use crate::format::writing::draft::{Draft, Words};
use crate::format::writing::ledger::Ledger;
use crate::format::writing::pairs;
use crate::format::writing::translate::to_sentencepiece;
use crate::inputs::template::Part;
use crate::models::wordpiece::DEFAULT_PREFIX;
use crate::normalize::NormalizerConfig;
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig, published};
use crate::sentencepiece::{ModelType, PieceKind, SpmModel};
use crate::special::AddedToken;
use crate::text::unicode::UnicodeVersion;
use crate::vocab::Vocab;

/// Types of tokens (`llama_token_type`).
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

/// Published patterns, and what llama.cpp takes for them; where its own pattern differs, that is a
/// loss.
const NEAREST: &[(&str, &str)] = &[
    ("gpt2", "gpt-2"),
    ("r50k_base", "gpt-2"),
    ("cl100k_base", "dbrx"),
    ("o200k_base", "gpt-4o"),
    ("llama3", "llama-bpe"),
    ("qwen", "qwen2"),
];

/// Mark of a token that begins a word.
const BEGINS: &[u8] = "\u{2581}".as_bytes();

/// The beginning of Mistral's pattern (`tekken.json` of Mistral Nemo), which is published in the
/// file alone.
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|";

/// Writes the file, and what stands in its way.
pub(in crate::format) fn to_gguf(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let mut pairs = Pairs::default();
    let mut words = Words::Own;
    match &config.model {
        ModelConfig::Bpe { .. } => bpe(config, &mut pairs, ledger)?,
        ModelConfig::WordPiece { .. } => bert(config, &mut pairs, ledger)?,
        ModelConfig::Greedy { tokens, opaque } => {
            let vocab = ledger.take(pairs::vocab(tokens, opaque))?;
            if too_sparse(&vocab, config) {
                ledger.refuse("most of its ids have no token");
                return None;
            }
            rwkv(config, &vocab, &mut pairs);
        }
        ModelConfig::SentencePiece(model) => {
            sentencepiece(config, &model.clone().into(), &mut pairs, ledger)?;
        }
        ModelConfig::CharacterBpe { .. } | ModelConfig::Unigram { .. } => {
            words = Words::Model;
            let model = to_sentencepiece(config, ledger)?;
            sentencepiece(config, &model, &mut pairs, ledger)?;
        }
        ModelConfig::Word { .. } | ModelConfig::Character { .. } | ModelConfig::RawBytes { .. } => {
            ledger.refuse("llama.cpp has no such model");
            return None;
        }
    }
    Some(Draft {
        words,
        ..Draft::of(pairs.finish())
    })
}

/// Tokens and their types, with added tokens among them; ids without a token get a name that stands
/// for nothing.
fn tokens(
    n: u32,
    added: &[AddedToken],
    token: impl Fn(u32) -> Option<(Vec<u8>, i32)>,
) -> (Vec<Vec<u8>>, Vec<i32>) {
    let n = added
        .iter()
        .map(|token| token.id + 1)
        .max()
        .unwrap_or(0)
        .max(n);
    let mut texts = Vec::with_capacity(n as usize);
    let mut kinds = Vec::with_capacity(n as usize);
    for id in 0..n {
        let (text, kind) = match added.binary_search_by_key(&id, |token| token.id) {
            Ok(at) => {
                let kind = if added[at].special {
                    CONTROL
                } else {
                    USER_DEFINED
                };
                (added[at].content.as_bytes().to_vec(), kind)
            }
            Err(_) => token(id).unwrap_or_else(|| (format!("[PAD{id}]").into_bytes(), UNUSED)),
        };
        texts.push(text);
        kinds.push(kind);
    }
    (texts, kinds)
}

/// True if most ids have no token: names for all of them would take more memory than the
/// vocabulary.
fn too_sparse(vocab: &Vocab, config: &Config) -> bool {
    const MAX_IDS_PER_TOKEN: u64 = 16;
    let added = config.added_tokens.iter().map(|token| token.id + 1).max();
    let n_ids = u64::from(vocab.size().max(added.unwrap_or(0)));
    let n_tokens = u64::from(vocab.n_tokens()) + config.added_tokens.len() as u64;
    n_ids > MAX_IDS_PER_TOKEN * n_tokens + 4096
}

fn bpe(config: &Config, out: &mut Pairs, ledger: &mut Ledger) -> Option<()> {
    let ModelConfig::Bpe {
        tokens: all,
        opaque,
        merges,
        whole_pretokens,
        ..
    } = &config.model
    else {
        return None;
    };
    let vocab = ledger.take(pairs::vocab(all, opaque))?;
    let list = match merges {
        Some(list) => list.clone(),
        None => pairs::all_pairs(&vocab),
    };
    if too_sparse(&vocab, config) {
        ledger.refuse("most of its ids have no token");
        return None;
    }
    let whole = *whole_pretokens && !pairs::unreached(&vocab, &list).is_empty();
    let Some(name) = pre_name(&config.pretokenizer, whole) else {
        ledger.refuse("llama.cpp has no name for the way in which it cuts text");
        return None;
    };
    let (texts, kinds) = tokens(vocab.size(), &config.added_tokens, |id| {
        let bytes = vocab.id_to_bytes(id)?;
        Some(if vocab.is_findable(id) {
            (gpt2_alphabet::write(bytes).into_bytes(), NORMAL)
        } else {
            (bytes.to_vec(), UNUSED)
        })
    });
    let mut merged = Vec::with_capacity(list.len());
    for (left, right) in list {
        let (Some(left), Some(right)) = (vocab.id_to_bytes(left), vocab.id_to_bytes(right)) else {
            ledger.refuse("a merge needs a token that is no text");
            return None;
        };
        let pair = format!(
            "{} {}",
            gpt2_alphabet::write(left),
            gpt2_alphabet::write(right)
        );
        merged.push(pair.into_bytes());
    }
    out.begin("gpt2", "gpt2");
    out.put_text("tokenizer.ggml.pre", name);
    out.put_texts("tokenizer.ggml.tokens", &texts);
    out.put_kinds(&kinds);
    out.put_texts("tokenizer.ggml.merges", &merged);
    out.around(&config.template);
    Some(())
}

/// The name under which llama.cpp cuts text in this way, or in the nearest way that it knows.
/// `whole`: some tokens are only found as whole pretokens.
fn pre_name(steps: &[StepConfig], whole: bool) -> Option<&'static str> {
    let as_step = |pattern: &&str| {
        StepConfig::Split(SplitConfig {
            pattern: (*pattern).to_owned(),
            dialect: Dialect::FancyRegex,
            unicode: UnicodeVersion::REFERENCES,
            behavior: Behavior::Isolated,
            invert: false,
            in_byte_alphabet: false,
        })
    };
    let alike = |pre: &&Pre| {
        let same = |(pattern, step): (&&str, &StepConfig)| as_step(pattern).works_like(step);
        pre.patterns.len() == steps.len() && pre.patterns.iter().zip(steps).all(same)
    };
    let mut exact = pre::ALL.iter().filter(alike);
    let first = exact.clone().next();
    if let Some(pre) = exact.find(|pre| pre.ignore_merges == whole).or(first) {
        return pre.names.first().copied();
    }
    let [StepConfig::Split(split)] = steps else {
        return None;
    };
    if split.pattern.starts_with(TEKKEN) {
        return Some("tekken");
    }
    NEAREST.iter().find_map(|(published, name)| {
        let pattern = published::by_name(published)?;
        (as_step(&pattern).works_like(&steps[0])).then_some(*name)
    })
}

fn bert(config: &Config, out: &mut Pairs, ledger: &mut Ledger) -> Option<()> {
    let ModelConfig::WordPiece {
        tokens: all,
        opaque,
        unknown,
        ..
    } = &config.model
    else {
        return None;
    };
    let vocab = ledger.take(pairs::vocab(all, opaque))?;
    if let Some((id, _)) = vocab
        .iter()
        .find(|(_, bytes)| std::str::from_utf8(bytes).is_err())
    {
        ledger.refuse(format!("the token of id {id} is not UTF-8"));
        return None;
    }
    if too_sparse(&vocab, config) {
        ledger.refuse("most of its ids have no token");
        return None;
    }
    let (texts, mut kinds) = tokens(vocab.size(), &config.added_tokens, |id| {
        let bytes = vocab.id_to_bytes(id)?;
        if !vocab.is_findable(id) {
            return Some((bytes.to_vec(), UNUSED));
        }
        // U+2581 marks tokens that begin a word; `##` marked the others.
        Some(match bytes.strip_prefix(DEFAULT_PREFIX.as_bytes()) {
            Some(inside) if !inside.is_empty() => (inside.to_vec(), NORMAL),
            _ => ([BEGINS, bytes].concat(), NORMAL),
        })
    });
    if let Some(kind) = unknown.and_then(|id| kinds.get_mut(id as usize)) {
        *kind = UNKNOWN;
    }
    out.begin("bert", "bert");
    out.put_texts("tokenizer.ggml.tokens", &texts);
    out.put_kinds(&kinds);
    if let Some(id) = unknown {
        out.put_id("tokenizer.ggml.unknown_token_id", *id);
    }
    let ends = [
        (
            config.template.single.first(),
            "bos_token_id",
            "cls_token_id",
        ),
        (
            config.template.single.last(),
            "eos_token_id",
            "seperator_token_id",
        ),
    ];
    for (part, key, old) in ends {
        // An id beyond the vocabulary counts as none.
        let id = match part {
            Some(Part::Token { id, .. }) => *id,
            _ => u32::MAX,
        };
        out.put_id(&format!("tokenizer.ggml.{old}"), id);
        out.put_id(&format!("tokenizer.ggml.{key}"), id);
    }
    if let Some(NormalizerConfig::Bert(bert)) = config.normalizer.first() {
        out.put_flag("tokenizer.ggml.normalizer.lowercase", bert.lowercase);
        out.put_flag(
            "tokenizer.ggml.normalizer.strip_accents",
            bert.strip_accents,
        );
    }
    Some(())
}

fn rwkv(config: &Config, vocab: &Vocab, out: &mut Pairs) {
    let (texts, kinds) = tokens(vocab.size(), &config.added_tokens, |id| {
        let bytes = vocab.id_to_bytes(id)?;
        Some(if vocab.is_findable(id) {
            (escaped(bytes), NORMAL)
        } else {
            (bytes.to_vec(), UNUSED)
        })
    });
    out.begin("rwkv7", "rwkv");
    out.put_texts("tokenizer.ggml.tokens", &texts);
    out.put_kinds(&kinds);
    out.around(&config.template);
}

/// Bytes as llama.cpp reads them: in ASCII, the rest escaped.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\t' => out.extend_from_slice(br"\t"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\\' => out.extend_from_slice(br"\\"),
            b' '..=b'~' => out.push(byte),
            _ => out.extend_from_slice(format!(r"\x{byte:02x}").as_bytes()),
        }
    }
    out
}

fn sentencepiece(
    config: &Config,
    model: &SpmModel,
    out: &mut Pairs,
    ledger: &mut Ledger,
) -> Option<()> {
    let is_bpe = match model.trainer.model_type {
        ModelType::Bpe => true,
        ModelType::Unigram => false,
        ModelType::Word | ModelType::Char => {
            ledger.refuse("llama.cpp has no model of words or characters");
            return None;
        }
    };
    if let Some(id) = model
        .pieces
        .iter()
        .position(|piece| std::str::from_utf8(&piece.bytes).is_err())
    {
        ledger.refuse(format!("piece {id} is not UTF-8"));
        return None;
    }
    let kinds: Vec<i32> = model
        .pieces
        .iter()
        .map(|piece| match piece.kind {
            PieceKind::Normal => NORMAL,
            PieceKind::Unknown => UNKNOWN,
            PieceKind::Control => CONTROL,
            PieceKind::UserDefined => USER_DEFINED,
            PieceKind::Unused => UNUSED,
            PieceKind::Byte => BYTE,
        })
        .collect();
    let texts: Vec<Vec<u8>> = model
        .pieces
        .iter()
        .map(|piece| piece.bytes.clone())
        .collect();
    let scores: Vec<f32> = model.pieces.iter().map(|piece| piece.score).collect();
    if is_bpe {
        out.begin("llama", "llama");
    } else {
        out.begin("t5", "t5");
    }
    out.put_texts("tokenizer.ggml.tokens", &texts);
    out.put_scores(&scores);
    out.put_kinds(&kinds);
    let unknown = model
        .pieces
        .iter()
        .position(|p| p.kind == PieceKind::Unknown);
    if let Some(id) = unknown {
        out.put_id("tokenizer.ggml.unknown_token_id", id as u32);
    }
    let spec = &model.normalizer;
    out.put_flag("tokenizer.ggml.add_space_prefix", spec.add_dummy_prefix);
    if !is_bpe {
        out.put_flag(
            "tokenizer.ggml.remove_extra_whitespaces",
            spec.remove_extra_whitespaces,
        );
        if !spec.precompiled_charsmap.is_empty() {
            out.put_bytes(
                "tokenizer.ggml.precompiled_charsmap",
                &spec.precompiled_charsmap,
            );
        }
    }
    out.around(&config.template);
    Some(())
}
