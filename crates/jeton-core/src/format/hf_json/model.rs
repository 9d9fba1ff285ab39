//! `model`, read.

use std::collections::HashSet;

use serde::Deserialize;

use super::entries::{Entries, Kind, Pair, Reading, WrittenVocab, cuts_at_spaces};
use super::{FORMAT, bad};
use crate::assembly::ModelParts;
use crate::codec::gpt2_alphabet;
use crate::error::{Error, ErrorKind, Result};
use crate::models::bpe::{CharacterBpeOptions, Merges, Missing};
use crate::models::wordpiece::{DEFAULT_MAX_CHARS, DEFAULT_PREFIX};
use crate::special::AddedToken;
use crate::vocab::{Staged, Vocab};

#[derive(Deserialize)]
pub(super) struct Written<'v> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    dropout: Option<f64>,
    #[serde(default)]
    unk_token: Option<String>,
    #[serde(default)]
    unk_id: Option<u64>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    max_input_chars_per_word: Option<u64>,
    #[serde(default)]
    fuse_unk: bool,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
    #[serde(borrow)]
    pub(super) vocab: WrittenVocab<'v>,
    #[serde(borrow, default)]
    merges: Option<Vec<Pair<'v>>>,
}

impl<'v> Written<'v> {
    /// The share of merges to leave out at random.
    pub(super) fn dropout(&self) -> Option<f64> {
        self.dropout.filter(|&dropout| dropout > 0.0)
    }

    fn merges(&self) -> &[Pair<'v>] {
        self.merges.as_deref().unwrap_or_default()
    }
}

impl Kind {
    /// The kind by its name, or by its fields in files that do not name it.
    pub(super) fn of(model: &Written<'_>) -> Result<Self> {
        match model.kind.as_deref() {
            Some("BPE") => Ok(Self::Bpe),
            Some("WordPiece") => Ok(Self::WordPiece),
            Some("WordLevel") => Ok(Self::WordLevel),
            Some("Unigram") => Ok(Self::Unigram),
            Some(name) => Err(Error::unsupported(FORMAT, "model", name)),
            None if model.merges.is_some() => Ok(Self::Bpe),
            None if model.vocab.is_list() => Ok(Self::Unigram),
            None if model.max_input_chars_per_word.is_some() => Ok(Self::WordPiece),
            None if model.unk_token.is_some() => Ok(Self::WordLevel),
            None => Err(Error::unsupported(
                FORMAT,
                "model",
                "a model without a type",
            )),
        }
    }
}

/// True if a BPE model in GPT-2's alphabet equals one on bytes. Nothing is put around characters,
/// and no character is unknown, or unknown ones are handled byte by byte.
pub(super) fn works_on_bytes(model: &Written<'_>, entries: &Entries<'_>) -> bool {
    let empty = |affix: &Option<String>| affix.as_deref().is_none_or(str::is_empty);
    let complete = || {
        (0..=255u8).all(|byte| {
            let letter = gpt2_alphabet::byte_to_char(byte);
            entries.id(letter.encode_utf8(&mut [0; 4])).is_some()
        })
    };
    empty(&model.continuing_subword_prefix)
        && empty(&model.end_of_word_suffix)
        && ((!model.byte_fallback && (!model.fuse_unk || model.unk_token.is_none())) || complete())
}

pub(super) fn read(
    model: &Written<'_>,
    kind: Kind,
    entries: &Entries<'_>,
    added_tokens: &[AddedToken],
    on_bytes: bool,
) -> Result<ModelParts> {
    let unknown = |default: &str| {
        let token = model.unk_token.as_deref().unwrap_or(default);
        entries.id(token)
    };
    Ok(match kind {
        Kind::Bpe if on_bytes => read_bpe_on_bytes(model, entries, added_tokens)?,
        Kind::Bpe => read_bpe(model, entries, added_tokens)?,
        Kind::WordPiece => ModelParts::WordPiece {
            vocab: read_vocab(entries, &HashSet::new())?,
            prefix: model
                .continuing_subword_prefix
                .clone()
                .unwrap_or_else(|| DEFAULT_PREFIX.to_owned()),
            max_chars: match model.max_input_chars_per_word {
                Some(chars) => usize::try_from(chars).unwrap_or(usize::MAX),
                None => DEFAULT_MAX_CHARS,
            },
            unknown: unknown("[UNK]"),
        },
        Kind::WordLevel => ModelParts::Word {
            vocab: read_vocab(entries, &HashSet::new())?,
            unknown: unknown("<unk>"),
        },
        Kind::Unigram => ModelParts::Unigram {
            pieces: entries
                .listed
                .iter()
                .zip(&entries.scores)
                .map(|(&(piece, _), &score)| (piece.to_owned(), score))
                .collect(),
            unknown: model.unk_id.map(|id| u32::try_from(id).unwrap_or(u32::MAX)),
            byte_fallback: model.byte_fallback,
        },
    })
}

fn read_vocab(entries: &Entries<'_>, left_out: &HashSet<&str>) -> Result<Vocab> {
    let mut vocab = Staged::with_capacity(entries.len());
    let kept = entries
        .listed
        .iter()
        .filter(|(token, _)| !left_out.contains(token));
    for &(token, id) in kept {
        vocab
            .insert(id, token.as_bytes())
            .map_err(|error| of_token(token, error))?;
    }
    Ok(vocab.finish()?.0)
}

/// The error of a token: what is too large stays that.
fn of_token(token: &str, error: Error) -> Error {
    if matches!(error.kind(), ErrorKind::TooLarge { .. }) {
        return error;
    }
    let shown: String = token.chars().take(60).collect();
    bad(format!("the token {shown:?}: {error}"))
}

fn read_bpe_on_bytes(
    model: &Written<'_>,
    entries: &Entries<'_>,
    added_tokens: &[AddedToken],
) -> Result<ModelParts> {
    let mut vocab = Staged::with_capacity(entries.len());
    let mut bytes = Vec::new();
    let left_out = unreachable_special_tokens(model, added_tokens);
    let kept = entries
        .listed
        .iter()
        .filter(|(token, _)| !left_out.contains(token));
    for &(token, id) in kept {
        if gpt2_alphabet::spell_into(token, &mut bytes) {
            vocab.insert(id, &bytes)
        } else {
            vocab.insert_opaque(id, token.as_bytes())
        }
        .map_err(|error| of_token(token, error))?;
    }
    Ok(ModelParts::Bpe {
        vocab: vocab.finish()?.0,
        merges: Merges::List(read_merges(model, entries)?),
        whole_pretokens: model.ignore_merges,
        missing: match read_unknown(model, entries)? {
            Some(id) => Missing::Unknown(id),
            None => Missing::Skip,
        },
    })
}

fn read_bpe(
    model: &Written<'_>,
    entries: &Entries<'_>,
    added_tokens: &[AddedToken],
) -> Result<ModelParts> {
    let left_out = unreachable_special_tokens(model, added_tokens);
    Ok(ModelParts::CharacterBpe {
        vocab: read_vocab(entries, &left_out)?,
        merges: read_merges(model, entries)?,
        options: CharacterBpeOptions {
            missing: match &model.unk_token {
                None => Missing::Skip,
                Some(token) => entries.id(token).map_or(Missing::Fail, Missing::Unknown),
            },
            fuse_unknown: model.fuse_unk,
            byte_fallback: model.byte_fallback,
            continuing_prefix: model.continuing_subword_prefix.clone().unwrap_or_default(),
            end_of_word_suffix: model.end_of_word_suffix.clone().unwrap_or_default(),
            whole_pretokens: model.ignore_merges,
        },
    })
}

fn read_unknown(model: &Written<'_>, entries: &Entries<'_>) -> Result<Option<u32>> {
    let Some(token) = &model.unk_token else {
        return Ok(None);
    };
    let id = entries.id(token);
    id.map(Some).ok_or_else(|| {
        bad(format!(
            "the unknown token {token:?} is not in the vocabulary"
        ))
    })
}

/// Special tokens of the vocabulary that no merge makes or uses. Ordinary text never becomes them,
/// so they are special tokens only. (With `ignore_merges`, `tokenizers` would find one that is a
/// whole pretoken. Text that looks like a special token stays text here.)
fn unreachable_special_tokens<'t>(
    model: &Written<'_>,
    added_tokens: &'t [AddedToken],
) -> HashSet<&'t str> {
    let affixes = [&model.continuing_subword_prefix, &model.end_of_word_suffix];
    let [prefix, suffix] = affixes.map(|affix| affix.as_deref().unwrap_or_default());
    let special = added_tokens.iter().filter(|token| {
        token.special && !is_symbol(&token.content, prefix, suffix, model.byte_fallback)
    });
    let mut special: HashSet<&str> = special.map(|token| token.content.as_str()).collect();
    // Merges are many and special tokens few: lengths tell most of them apart.
    let longest = special.iter().map(|text| text.len()).max().unwrap_or(0);
    let mut lengths = vec![false; longest + 1];
    special.iter().for_each(|text| lengths[text.len()] = true);
    let may_be = |length: usize| lengths.get(length).copied().unwrap_or(false);
    for (left, right) in model.merges().iter().flat_map(Pair::parts) {
        for part in [left, right] {
            if may_be(part.len()) {
                special.remove(part);
            }
        }
        if may_be(left.len() + right.len()) {
            special.remove([left, right].concat().as_str());
        }
    }
    special
}

/// True if a token is one where every pretoken starts: a single character, affixes aside, or a
/// byte.
pub(super) fn is_symbol(content: &str, prefix: &str, suffix: &str, byte_fallback: bool) -> bool {
    let inside = content.strip_prefix(prefix).unwrap_or(content);
    let inside = inside.strip_suffix(suffix).unwrap_or(inside);
    let is_byte = byte_fallback && content.starts_with("<0x");
    inside.chars().nth(1).is_none() || is_byte
}

/// Merges that are looked up together: the places of all their tokens are on their way from memory
/// by then. Half and twice as many do the same (docs/log/2026-11-28-tuning-constants.md).
const MERGES_IN_FLIGHT: usize = 16;

fn read_merges(model: &Written<'_>, entries: &Entries<'_>) -> Result<Vec<(u32, u32)>> {
    let id = |prepared: u64, token: &str, number: usize| -> Result<u32> {
        entries.id_prepared(prepared, token).ok_or_else(|| {
            bad(format!(
                "merge {number} names {token:?}, which is not in the vocabulary"
            ))
        })
    };
    let prefix = model
        .continuing_subword_prefix
        .as_deref()
        .unwrap_or_default();
    let mut merges = Vec::with_capacity(model.merges().len());
    for pairs in model.merges().chunks(MERGES_IN_FLIGHT) {
        let mut prepared = [const { None }; MERGES_IN_FLIGHT];
        for (number, (prepared, pair)) in prepared.iter_mut().zip(pairs).enumerate() {
            let (left, right) = match pair.reading() {
                Reading::One(left, right) => (left, right),
                Reading::Several(joined) => {
                    only_reading(joined, prefix, entries, merges.len() + number)?
                }
                Reading::None => continue,
            };
            *prepared = Some((left, right, [entries.prepare(left), entries.prepare(right)]));
        }
        for prepared in &prepared[..pairs.len()] {
            let number = merges.len();
            let Some((left, right, [of_left, of_right])) = *prepared else {
                return Err(bad(format!(
                    "merge {number} is not two tokens with a space between"
                )));
            };
            merges.push((id(of_left, left, number)?, id(of_right, right, number)?));
        }
    }
    Ok(merges)
}

/// The two tokens of a merge of which the string has several spaces: the only cut of it whose parts
/// are tokens, as is what they make.
fn only_reading<'p>(
    joined: &'p str,
    prefix: &str,
    entries: &Entries<'_>,
    number: usize,
) -> Result<(&'p str, &'p str)> {
    let is_merge = |&(left, right): &(&str, &str)| {
        let rest = right.strip_prefix(prefix).unwrap_or(right);
        entries.id(left).is_some()
            && entries.id(right).is_some()
            && entries.id(&[left, rest].concat()).is_some()
    };
    let mut readings = cuts_at_spaces(joined).filter(is_merge);
    match (readings.next(), readings.next()) {
        (Some(only), None) => Ok(only),
        (Some(first), Some(second)) => Err(bad(format!(
            "merge {number}, {joined:?}, can be read as {first:?} and as {second:?}; a file that lists merges \
             as pairs says which"
        ))),
        (None, _) => Err(bad(format!(
            "merge {number}, {joined:?}, is not two tokens of the vocabulary with a space between"
        ))),
    }
}
