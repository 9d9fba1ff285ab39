//! GGUF: the vocabulary in the header of a model file of llama.cpp.
//!
//! Only the header is read; the tensors may be missing. Ids are llama.cpp's (`src/llama-vocab.cpp`,
//! commit 00ad355, read in November 2026). For the vocabularies that its own tests cover, they
//! equal the original libraries' ids. Where the two differ, llama.cpp is followed: the patterns of
//! [`pre`] are its own, `llama` vocabularies are not normalized, words of `bert` vocabularies may
//! have any length.
//!
//! Known differences from llama.cpp, all on purpose:
//!
//! - Text never becomes a control or unused token unless the caller allows it. llama.cpp finds
//!   `<|channel|>`, `<|message|>`, `<|start|>` and `<|constrain|>` in any text. It also makes a
//!   control token where merges or greedy matching happen to spell it.
//! - If tokens overlap in a text, the leftmost counts, and among equal starts the longest.
//!   llama.cpp looks for the longest of all tokens first, wherever it stands.
//! - A byte without a token is left out before merging, as in `tokenizers`; llama.cpp leaves it out
//!   after, so that it keeps its neighbours apart.
//! - `t5` vocabularies add scores up in 32 bits, as `sentencepiece` does; llama.cpp in 64.
//! - Tokens and keys that are not UTF-8 are refused.

mod bpe;
mod fields;
mod models;
mod pairs_out;
mod pre;
mod wire;
mod write;

use fields::{Fields, Kind, Tokens, fail};
use wire::{FORMAT, Metadata};
pub use wire::{HeaderBytes, header_bytes};
pub(super) use write::to_gguf;

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::inputs::template::Template;
use crate::special::AddedToken;
use crate::tokenizer::Tokenizer;

/// Reads a file or its beginning; [`header_bytes`] says how much of it is needed.
pub fn from_gguf(bytes: &[u8]) -> Result<Tokenizer> {
    let fields = Fields(Metadata::from_bytes(bytes)?);
    let Some(model) = fields.text("tokenizer.ggml.model")? else {
        return fail(
            "it has no tokenizer.ggml.model; is it a part of a model other than the first?",
        );
    };
    match model {
        "gpt2" => bpe::read(&fields),
        "llama" => models::read_llama(&fields),
        "t5" => models::read_t5(&fields),
        "bert" => models::read_bert(&fields),
        "rwkv" => models::read_rwkv(&fields),
        "no_vocab" | "none" => fail("it has no vocabulary (tokenizer.ggml.model says so)"),
        other => Err(Error::unsupported(FORMAT, "tokenizer.ggml.model", other)),
    }
}

/// Tokens that end a generation, by their text; llama.cpp takes them for control tokens whatever
/// type the file gives them.
const ENDS: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
];

/// Tokens for filling in the middle, by their text, and the keys under which a file may name them
/// instead.
const INFILL: &[(&[&str], &[&str])] = &[
    (
        &["fim_pre_token_id", "prefix_token_id"],
        &[
            "<|fim_prefix|>",
            "<fim-prefix>",
            "<fim_prefix>",
            "<｜fim▁begin｜>",
            "<PRE>",
            "▁<PRE>",
            "<|code_prefix|>",
            "<|prefix|>",
        ],
    ),
    (
        &["fim_suf_token_id", "suffix_token_id"],
        &[
            "<|fim_suffix|>",
            "<fim-suffix>",
            "<fim_suffix>",
            "<｜fim▁hole｜>",
            "<SUF>",
            "▁<SUF>",
            "<|code_suffix|>",
            "<|suffix|>",
        ],
    ),
    (
        &["fim_mid_token_id", "middle_token_id"],
        &[
            "<|fim_middle|>",
            "<fim-middle>",
            "<fim_middle>",
            "<｜fim▁end｜>",
            "<MID>",
            "▁<MID>",
            "<|code_middle|>",
            "<|middle|>",
        ],
    ),
    (
        &["fim_pad_token_id"],
        &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"],
    ),
    (
        &["fim_rep_token_id"],
        &[
            "<|fim_repo|>",
            "<|repo_name|>",
            "<fim-repo>",
            "<REPO>",
            "<reponame>",
        ],
    ),
    (&["fim_sep_token_id"], &["<|file_sep|>"]),
];

/// Keys of tokens that have a role, and whether they end a text or a turn.
const ROLES: &[(&str, bool)] = &[
    ("eos_token_id", true),
    ("eot_token_id", true),
    ("eom_token_id", true),
    ("bos_token_id", false),
    ("padding_token_id", false),
    ("seperator_token_id", false),
    ("separator_token_id", false),
    ("cls_token_id", false),
    ("mask_token_id", false),
];

/// Ids that have a role, each with whether it ends something.
fn roles(fields: &Fields<'_>, n_tokens: usize) -> Result<HashMap<u32, bool>> {
    let mut found = HashMap::new();
    for &(key, ends) in ROLES {
        if let Some(id) = fields.id(&format!("tokenizer.ggml.{key}"), None, n_tokens)? {
            *found.entry(id).or_insert(false) |= ends;
        }
    }
    Ok(found)
}

/// True if a token is written for machines: brackets and the like around a name.
fn is_markup(text: &str) -> bool {
    text.chars().count() > 2
        && !text
            .chars()
            .all(|c| c.is_alphanumeric() || c.is_whitespace())
}

/// Special and added tokens, by id, with what llama.cpp knows of them by name.
fn added_tokens(fields: &Fields<'_>, tokens: &Tokens) -> Result<Vec<AddedToken>> {
    let unnamed = INFILL.iter().filter(|(keys, _)| {
        let given = |key: &&str| fields.has(&format!("tokenizer.ggml.{key}"));
        !keys.iter().any(given)
    });
    let infill: Vec<&str> = unnamed.flat_map(|(_, texts)| *texts).copied().collect();
    let name = fields.text("general.name")?.unwrap_or_default();
    let name = name.to_lowercase();
    let architecture = fields.text("general.architecture")?.unwrap_or_default();
    let pre = fields.text("tokenizer.ggml.pre")?.unwrap_or_default();
    let any = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
    // The white space that goes along with a token, which files do not say.
    let (mut lstrip, mut rstrip) = (None, false);
    if any(pre, &["jina-v2-de", "jina-v2-es", "jina-v2-code"])
        || any(architecture, &["nomic-bert-moe", "jina-bert-v3"])
    {
        lstrip = Some("<mask>");
    } else if any(&name, &["phi-3", "phi3"]) {
        rstrip = true;
    } else if name.contains("modern-bert") {
        lstrip = Some("[MASK]");
    }
    let roles = roles(fields, tokens.texts.len())?;
    let mut added = Vec::new();
    for (id, (text, &kind)) in (0..).zip(tokens.texts.iter().zip(&tokens.kinds)) {
        let known = ENDS.contains(&text.as_str()) || infill.contains(&text.as_str());
        let role = roles.get(&id);
        let special = match kind {
            Kind::Control | Kind::Unknown => true,
            Kind::Normal | Kind::UserDefined if known => true,
            // A token with a role is written by templates alone, whatever its type says.
            Kind::UserDefined if role.is_some() => true,
            Kind::Normal if role == Some(&true) && is_markup(text) => true,
            Kind::UserDefined => false,
            Kind::Normal | Kind::Unused | Kind::Byte => continue,
        };
        added.push(AddedToken {
            special,
            lstrip: lstrip == Some(text.as_str()),
            rstrip: rstrip && !matches!(text.as_str(), "<unk>" | "<s>" | "<|endoftext|>"),
            ..AddedToken::special(id, text.as_str())
        });
    }
    Ok(added)
}

/// True if the tokens of beginning and end are put around a text, and which they are, where a file
/// does not say.
#[derive(Clone, Copy, Debug)]
struct Around {
    bos: Option<u32>,
    add_bos: bool,
    eos: Option<u32>,
    add_eos: bool,
}

/// Template of the tokens around a text.
fn template(fields: &Fields<'_>, n_tokens: usize, default: Around) -> Result<Template> {
    let one = |id_key: &str, id: Option<u32>, add_key: &str, add: bool| -> Result<Vec<u32>> {
        let id = fields.id(id_key, id, n_tokens)?;
        if !fields.flag(add_key, add)? {
            return Ok(Vec::new());
        }
        match id {
            Some(id) => Ok(vec![id]),
            None => fail(format!("{add_key} is true and {id_key} names no token")),
        }
    };
    let before: Vec<u32> = one(
        "tokenizer.ggml.bos_token_id",
        default.bos,
        "tokenizer.ggml.add_bos_token",
        default.add_bos,
    )?;
    let after: Vec<u32> = one(
        "tokenizer.ggml.eos_token_id",
        default.eos,
        "tokenizer.ggml.add_eos_token",
        default.add_eos,
    )?;
    Ok(Template::around(&before, &after))
}

#[cfg(test)]
mod tests;
