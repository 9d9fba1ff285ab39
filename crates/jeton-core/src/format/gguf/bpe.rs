//! `gpt2` vocabularies: byte-level BPE, tokens and merges written in GPT-2's alphabet.

use std::collections::{HashMap, HashSet};

use super::fields::{Fields, Kind, Tokens, fail};
use super::wire::FORMAT;
use super::{Around, added_tokens, pre, template};
use crate::assembly::{ModelParts, Parts};
use crate::codec::gpt2_alphabet;
use crate::config::Reference;
use crate::error::{Error, Result};
use crate::models::bpe::{Merges, Missing};
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig};
use crate::special::AddedToken;
use crate::text::unicode::UnicodeVersion;
use crate::tokenizer::Tokenizer;
use crate::vocab::Vocab;

/// Token of beginning and end that llama.cpp assumes (Falcon's).
const DEFAULT_AROUND: u32 = 11;

pub(super) fn read(fields: &Fields<'_>) -> Result<Tokenizer> {
    let name = match fields.text("tokenizer.ggml.pre")? {
        None | Some("") => "default",
        Some(name) => name,
    };
    if pre::NOT_BYTE_LEVEL.contains(&name) {
        return Err(Error::unsupported(FORMAT, "tokenizer.ggml.pre", name));
    }
    let Some(pre) = pre::by_name(name) else {
        return Err(Error::unsupported(FORMAT, "tokenizer.ggml.pre", name));
    };
    let tokens = fields.tokens()?;
    let added_tokens = added_tokens(fields, &tokens)?;
    let n_tokens = tokens.texts.len();
    let bos = (!pre::WITHOUT_BOS.contains(&name)).then_some(DEFAULT_AROUND);
    let template = template(
        fields,
        n_tokens,
        Around {
            bos,
            add_bos: pre.add_bos,
            eos: Some(DEFAULT_AROUND),
            add_eos: false,
        },
    )?;
    let Some(merges) = fields.texts("tokenizer.ggml.merges")? else {
        return fail("it has no tokenizer.ggml.merges");
    };
    let (merges, used) = read_merges(&merges, &tokens)?;
    let split = |pattern: &&str| {
        StepConfig::Split(SplitConfig {
            pattern: (*pattern).to_owned(),
            dialect: Dialect::FancyRegex,
            unicode: UnicodeVersion::REFERENCES,
            behavior: Behavior::Isolated,
            invert: false,
            in_byte_alphabet: false,
        })
    };
    let model = ModelParts::Bpe {
        vocab: vocab(&tokens, &added_tokens, &used)?,
        merges: Merges::List(merges),
        whole_pretokens: pre.ignore_merges,
        missing: Missing::Skip,
    };
    Tokenizer::from_parts(Parts {
        pretokenizer: pre.patterns.iter().map(split).collect(),
        template,
        added_tokens,
        ..Parts::new(Reference::LlamaCpp, model)
    })
}

/// Token bytes and ids. Tokens that are not text are found only where a merge uses or makes them.
fn vocab(tokens: &Tokens, added: &[AddedToken], used: &HashSet<u32>) -> Result<Vocab> {
    let mut vocab = Vocab::with_capacity(tokens.texts.len());
    let added: HashSet<u32> = added.iter().map(|token| token.id).collect();
    for (id, (text, &kind)) in (0..).zip(tokens.texts.iter().zip(&tokens.kinds)) {
        let is_text = !added.contains(&id) && matches!(kind, Kind::Normal | Kind::Byte);
        match gpt2_alphabet::spell(text) {
            Some(bytes) if is_text || used.contains(&id) => vocab.insert(id, &bytes)?,
            _ => vocab.insert_opaque(id, text.as_bytes())?,
        }
    }
    Ok(vocab)
}

/// Pairs of ids in merge order.
type Pairs = Vec<(u32, u32)>;

/// The merges as pairs of ids, and the ids that they use or make. If a merge is listed twice the
/// first counts, as in llama.cpp.
fn read_merges(merges: &[&str], tokens: &Tokens) -> Result<(Pairs, HashSet<u32>)> {
    let ids: HashMap<&str, u32> = tokens.texts.iter().map(String::as_str).zip(0..).collect();
    let mut pairs = Vec::with_capacity(merges.len());
    let mut seen = HashSet::with_capacity(merges.len());
    let mut used = HashSet::with_capacity(merges.len());
    let mut made = String::new();
    for (number, merge) in merges.iter().enumerate() {
        // The first character may itself be a space.
        let first = merge.chars().next().map_or(0, char::len_utf8);
        let Some(space) = merge[first..].find(' ').map(|at| at + first) else {
            return fail(format!(
                "merge {number} is {merge:?}; expected two tokens with a space between"
            ));
        };
        let (left, right) = (&merge[..space], &merge[space + 1..]);
        made.clear();
        made.push_str(left);
        made.push_str(right);
        let id_of = |token: &str| match ids.get(token) {
            Some(&id) => Ok(id),
            None => fail(format!(
                "merge {number} needs {token:?}, which is not in the vocabulary"
            )),
        };
        let pair = (id_of(left)?, id_of(right)?);
        let merged = id_of(&made)?;
        for (token, id) in [(left, pair.0), (right, pair.1), (&*made, merged)] {
            if gpt2_alphabet::spell(token).is_none() {
                return fail(format!(
                    "merge {number} needs {token:?}, which spells no bytes"
                ));
            }
            // Single characters are no less text for being merged; special ones of one character
            // stay special.
            if token.chars().nth(1).is_some() {
                used.insert(id);
            }
        }
        if seen.insert(pair) {
            pairs.push(pair);
        }
    }
    Ok((pairs, used))
}
