//! Differences between a canonical form and the one that came back from a file.

use std::collections::HashSet;

use super::bpe;
use super::ledger::{Ledger, some_of};
use crate::codec::base64::Base64Bytes;
use crate::config::{Config, ModelConfig};
use crate::pretokenize::StepConfig;
use crate::sentencepiece::{NormalizerSpec, PieceKind, SpmModel};
use crate::special::AddedToken;

/// Compares everything but the settings of [`settings`].
///
/// `reached`: whether text becomes an added token though it is not allowed, because the model has
/// it too. `stays`: whether normalization leaves a text as it is.
pub(super) fn losses(
    before: &Config,
    after: &Config,
    reached: &dyn Fn(&AddedToken) -> bool,
    stays: &dyn Fn(&str) -> bool,
    ledger: &mut Ledger,
) {
    if before.normalizer != after.normalizer {
        ledger.lose(
            "normalizer",
            changed(&before.normalizer, &after.normalizer),
            "texts that it changes get other ids",
        );
    }
    let alike = |one: &[StepConfig], two: &[StepConfig]| {
        one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.works_like(two))
    };
    if !alike(&before.pretokenizer, &after.pretokenizer) {
        ledger.lose(
            "pretokenizer",
            changed(&before.pretokenizer, &after.pretokenizer),
            "texts that it cuts elsewhere get other ids",
        );
    } else if before.pretokenizer != after.pretokenizer {
        ledger.reword(
            "pretokenizer",
            "its patterns are spelled otherwise and cut alike",
        );
    }
    added_tokens(before, after, ledger);
    if before.decoder != after.decoder {
        ledger.lose(
            "decoder",
            changed_option(before.decoder.as_deref(), after.decoder.as_deref()),
            "decode gives other texts",
        );
    }
    model(before, after, reached, stays, ledger);
}

/// Compares what decides nothing about the ids of a text, and what is put around it.
pub(super) fn settings(before: &Config, after: &Config, ledger: &mut Ledger) {
    if before.template != after.template {
        let trims = before.template.trim_offsets != after.template.trim_offsets;
        if before.template.single != after.template.single
            || before.template.pair != after.template.pair
        {
            ledger.lose(
                "template",
                "what is put around texts",
                "encode(..., add_special_tokens=True) puts other tokens around a text",
            );
        } else if trims {
            ledger.lose(
                "template",
                "that offsets leave out the white space of tokens",
                "offsets differ by white space; ids do not",
            );
        }
    }
    if before.truncation != after.truncation {
        ledger.lose(
            "truncation",
            "the length to cut texts to",
            "whoever cuts texts by the file's setting does not any more",
        );
    }
    if before.padding != after.padding {
        ledger.lose(
            "padding",
            "how batches are filled up",
            "whoever fills batches by the file's setting does not any more",
        );
    }
    if before.dropout != after.dropout {
        ledger.lose(
            "dropout",
            "the share of merges to leave out",
            "sampling has another default",
        );
    }
}

fn changed<T: serde::Serialize>(before: &[T], after: &[T]) -> String {
    match (before.is_empty(), after.is_empty()) {
        (_, true) => format!("{}, which the format does not hold", names(before)),
        (true, false) => format!("there is none, and the format brings {}", names(after)),
        _ => fields(before, after)
            .unwrap_or_else(|| format!("{} becomes {}", names(before), names(after))),
    }
}

/// The fields in which steps of the same kinds differ; None where the kinds differ.
fn fields<T: serde::Serialize>(before: &[T], after: &[T]) -> Option<String> {
    let value = |step: &T| serde_json::to_value(step).unwrap_or_default();
    let alike = |(one, two): (&T, &T)| value(one)["type"] == value(two)["type"];
    if before.len() != after.len() || !before.iter().zip(after).all(alike) {
        return None;
    }
    let mut told = Vec::new();
    for (one, two) in before.iter().zip(after) {
        let (one, two) = (value(one), value(two));
        let (Some(old), Some(new)) = (one.as_object(), two.as_object()) else {
            return None;
        };
        let unlike = |name: &&String| old.get(*name) != new.get(*name);
        let names = old
            .keys()
            .chain(new.keys().filter(|name| !old.contains_key(*name)));
        let names: Vec<&String> = names.filter(unlike).collect();
        let is_short = |name: &&String| {
            let side = |fields: &serde_json::Map<String, serde_json::Value>| {
                fields
                    .get(*name)
                    .is_none_or(|value| value.to_string().len() <= 60)
            };
            side(old) && side(new)
        };
        let tag = one["type"].as_str().unwrap_or("step");
        for name in names {
            told.push(if is_short(&name) {
                let shown = |fields: &serde_json::Map<String, serde_json::Value>| {
                    fields
                        .get(name)
                        .map_or("none".to_owned(), ToString::to_string)
                };
                format!(
                    "{tag}'s {name}, {} in the file and {} here",
                    shown(new),
                    shown(old)
                )
            } else {
                format!("{tag}'s {name}")
            });
        }
    }
    (!told.is_empty()).then(|| told.join("; "))
}

fn changed_option<T: serde::Serialize>(before: Option<&[T]>, after: Option<&[T]>) -> String {
    let name = |steps: Option<&[T]>| match steps {
        None => "joining the tokens' bytes".to_owned(),
        Some([]) => "joining tokens by spaces".to_owned(),
        Some(steps) => names(steps),
    };
    if let (Some(before), Some(after)) = (before, after)
        && let Some(told) = fields(before, after)
    {
        return told;
    }
    format!("{} becomes {}", name(before), name(after))
}

/// The names of steps, by the tag that the canonical form gives them.
fn names<T: serde::Serialize>(steps: &[T]) -> String {
    let name = |step: &T| {
        let value = serde_json::to_value(step).unwrap_or_default();
        let tag = value["type"].as_str().unwrap_or("step").to_owned();
        if let Some(form) = value["form"].as_str() {
            let version = value["unicode"].as_str().unwrap_or_default();
            return format!("{form} of Unicode {version}");
        }
        match value["pattern"].as_str() {
            Some(pattern) => {
                let shown: String = pattern.chars().take(40).collect();
                format!("{tag} {shown}")
            }
            None => tag,
        }
    };
    let all: Vec<String> = steps.iter().map(name).collect();
    all.join(", ")
}

fn added_tokens(before: &Config, after: &Config, ledger: &mut Ledger) {
    // Where nothing is normalized, it makes no difference before or after what tokens are found, if
    // they agree.
    let normalized = |config: &Config| -> HashSet<bool> {
        let tokens = config.added_tokens.iter();
        tokens.map(|token| token.normalized).collect()
    };
    let plain = before.normalizer.is_empty()
        && after.normalizer.is_empty()
        && normalized(before).len() <= 1
        && normalized(after).len() <= 1;
    let find = |id: u32| after.added_tokens.iter().find(|token| token.id == id);
    let mut gone = Vec::new();
    let mut special = Vec::new();
    let mut flags = Vec::new();
    for token in &before.added_tokens {
        match find(token.id) {
            Some(same) if same == token => {}
            Some(other) if other.content == token.content => {
                let mut like = AddedToken {
                    special: token.special,
                    ..other.clone()
                };
                if plain {
                    like.normalized = token.normalized;
                }
                if other.special != token.special {
                    special.push(token.content.clone());
                }
                if like != *token {
                    flags.push(token.content.clone());
                }
            }
            _ => gone.push(token.content.clone()),
        }
    }
    if !gone.is_empty() {
        ledger.lose(
            "added_tokens",
            format!("{} no longer among them", some_of(&gone)),
            "their texts are not found, or not apart from other text",
        );
    }
    if !special.is_empty() {
        ledger.lose(
            "added_tokens",
            format!("whether {} is special", some_of(&special)),
            "text that spells them is found, or is not, where it was the other way round",
        );
    }
    if !flags.is_empty() {
        ledger.lose(
            "added_tokens",
            format!(
                "how {} is found (white space, words, normalization)",
                some_of(&flags)
            ),
            "they are found in other places, or take other white space along",
        );
    }
    // A special token is found where it is allowed by name, so that another one changes nothing.
    let new = |token: &&AddedToken| {
        !token.special && !before.added_tokens.iter().any(|old| old.id == token.id)
    };
    let new: Vec<String> = after
        .added_tokens
        .iter()
        .filter(new)
        .map(|token| token.content.clone())
        .collect();
    if before.added_tokens != after.added_tokens
        && [&gone, &special, &flags, &new]
            .iter()
            .all(|names| names.is_empty())
    {
        ledger.reword(
            "added_tokens",
            "special tokens that are only found where they are allowed by name, or a flag that changes nothing \
             without a normalizer",
        );
    }
    if !new.is_empty() {
        let user_defined = match &before.model {
            ModelConfig::SentencePiece(model) => {
                let model: SpmModel = model.clone().into();
                let pieces = model.pieces.iter();
                let chosen = pieces.filter(|piece| piece.kind == PieceKind::UserDefined);
                chosen.map(|piece| piece.bytes.clone()).collect()
            }
            _ => HashSet::new(),
        };
        let all = new
            .iter()
            .all(|name| user_defined.contains(name.as_bytes()));
        let how = if all {
            "user-defined pieces become added tokens: "
        } else {
            "the format adds tokens: "
        };
        ledger.lose(
            "added_tokens",
            format!("{how}{}", some_of(&new)),
            "text that spells them may become them",
        );
    }
}

/// True if no text that holds an added token ever comes to the model: it is found wherever it
/// stands, and steps that come later do not make it.
fn is_always_found(token: &AddedToken, stays: &dyn Fn(&str) -> bool) -> bool {
    let begins = |c: char| c.is_whitespace() || c == '\u{2581}' || c == '\u{120}';
    // A normalized token is looked for as normalization writes it.
    let as_written = !token.normalized || stays(&token.content);
    !token.single_word && as_written && !token.content.starts_with(begins)
}

fn model(
    before: &Config,
    after: &Config,
    reached: &dyn Fn(&AddedToken) -> bool,
    stays: &dyn Fn(&str) -> bool,
    ledger: &mut Ledger,
) {
    const EFFECT: &str = "texts get other ids";
    const SAME_MERGES: &str =
        "its merges, or its added tokens, are listed otherwise and do the same";
    const SAME_WORDS: &str =
        "its added tokens stand in its vocabulary, or do not, and no text becomes them";
    // Added tokens may stand in the vocabulary too, which matters only where text becomes them.
    let made = bpe::Made::by(&before.model, &after.model);
    let is_apart = |token: &AddedToken| {
        token.special || is_always_found(token, stays) || made.never(&token.content)
    };
    let added: HashSet<u32> = before
        .added_tokens
        .iter()
        .filter(|token| !reached(token) && is_apart(token))
        .map(|token| token.id)
        .collect();
    let unlike_tokens = |one: &[Option<Base64Bytes>], two: &[Option<Base64Bytes>]| -> Vec<String> {
        let ids = 0..one.len().max(two.len());
        let get = |list: &[Option<Base64Bytes>], id: usize| list.get(id).cloned().flatten();
        ids.into_iter()
            .filter(|&id| !added.contains(&(id as u32)))
            .filter(|&id| get(one, id) != get(two, id))
            .filter_map(|id| get(one, id).or_else(|| get(two, id)))
            .map(|Base64Bytes(bytes)| String::from_utf8_lossy(&bytes).into_owned())
            .collect()
    };
    match (&before.model, &after.model) {
        (one, two) if one == two => {}
        (ModelConfig::Bpe { .. }, ModelConfig::Bpe { .. })
        | (ModelConfig::CharacterBpe { .. }, ModelConfig::CharacterBpe { .. }) => {
            match bpe::difference(&before.model, &after.model, &added, &unlike_tokens) {
                Some((what, effect)) => ledger.lose("model", what, effect),
                None => ledger.reword("model", SAME_MERGES),
            }
        }
        (
            ModelConfig::WordPiece {
                tokens,
                opaque,
                prefix,
                unknown,
                max_chars,
            },
            ModelConfig::WordPiece {
                tokens: new_tokens,
                opaque: new_opaque,
                prefix: new_prefix,
                unknown: new_unknown,
                max_chars: new_max,
            },
        ) => {
            let unlike_names = unlike_tokens(tokens, new_tokens);
            let unlike = opaque != new_opaque
                || !unlike_names.is_empty()
                || prefix != new_prefix
                || max_chars != new_max
                || unknown != new_unknown;
            if !unlike {
                ledger.reword("model", SAME_WORDS);
            }
            if opaque != new_opaque {
                ledger.lose("model", "which of its tokens no text becomes", EFFECT);
            }
            if !unlike_names.is_empty() {
                let what = format!("of its vocabulary {}", some_of(&unlike_names));
                ledger.lose("model", what, EFFECT);
            }
            if prefix != new_prefix {
                ledger.lose(
                    "model",
                    format!("tokens inside words begin with {prefix:?}"),
                    EFFECT,
                );
            }
            if max_chars != new_max {
                ledger.lose(
                    "model",
                    format!("words of more than {max_chars} characters are unknown"),
                    "long words get other ids",
                );
            }
            if unknown != new_unknown {
                ledger.lose(
                    "model",
                    "its unknown token",
                    "words that are not in the vocabulary get another id, or none",
                );
            }
        }
        (ModelConfig::SentencePiece(one), ModelConfig::SentencePiece(two)) => {
            sentencepiece(&one.clone().into(), &two.clone().into(), ledger);
        }
        // The other fields of the model may matter: no rule says that they do not.
        _ => ledger.lose("model", "parts of it", EFFECT),
    }
}

fn sentencepiece(before: &SpmModel, after: &SpmModel, ledger: &mut Ledger) {
    let (one, two) = (&before.normalizer, &after.normalizer);
    let rules = |spec: &NormalizerSpec| spec.precompiled_charsmap.clone();
    let at_ends = "texts with spaces at their ends, or many in a row, get other ids";
    let spaces = [
        (
            rules(one) != rules(two),
            "its rules, which rewrite characters",
            "texts that they change get other ids",
        ),
        (
            one.remove_extra_whitespaces != two.remove_extra_whitespaces,
            "whether extra spaces go",
            at_ends,
        ),
        (
            one.add_dummy_prefix != two.add_dummy_prefix,
            "whether a space is put before a text",
            "the beginning of a text gets other ids",
        ),
        (
            one.escape_whitespaces != two.escape_whitespaces,
            "how a space is written in pieces",
            "texts with spaces get other ids",
        ),
    ];
    for (is_lost, what, effect) in spaces {
        if is_lost {
            ledger.lose("normalizer", what, effect);
        }
    }
    let denormalizer = |model: &SpmModel| model.denormalizer.as_ref().map(rules);
    if denormalizer(before) != denormalizer(after)
        || before.trainer.unk_surface != after.trainer.unk_surface
    {
        ledger.lose(
            "decoder",
            "how decoded text is changed, or unknown text is shown",
            "decode gives other texts",
        );
    }
    let pieces = |model: &SpmModel| -> Vec<(Vec<u8>, u32, PieceKind)> {
        let pieces = model.pieces.iter();
        pieces
            .map(|piece| (piece.bytes.clone(), piece.score.to_bits(), piece.kind))
            .collect()
    };
    if before.trainer.byte_fallback && !after.trainer.byte_fallback {
        ledger.lose(
            "model",
            "that characters without a piece become bytes",
            "such characters become the unknown token, and their text is gone",
        );
    }
    let settings = |model: &SpmModel| {
        let trainer = &model.trainer;
        (
            trainer.model_type,
            trainer.byte_fallback && !before.trainer.byte_fallback,
            trainer.treat_whitespace_as_suffix,
        )
    };
    let (one, two) = (pieces(before), pieces(after));
    if one != two {
        let longest = one.len().max(two.len());
        let unlike = (0..longest).filter(|&id| one.get(id) != two.get(id));
        let names: Vec<String> = unlike
            .filter_map(|id| one.get(id).or_else(|| two.get(id)))
            .map(|(bytes, ..)| String::from_utf8_lossy(bytes).into_owned())
            .collect();
        let what = format!("what its pieces are for: {}", some_of(&names));
        ledger.lose("model", what, "texts get other ids");
    }
    if settings(before) != settings(after) {
        ledger.lose("model", "how its pieces are chosen", "texts get other ids");
    }
    let names = |model: &SpmModel| {
        let trainer = &model.trainer;
        [&trainer.bos_piece, &trainer.eos_piece, &trainer.pad_piece].map(Clone::clone)
    };
    if names(before) != names(after) {
        ledger.lose(
            "model",
            "which of its pieces begin and end texts, or fill them up",
            "a library that puts them around texts by the model's own names puts others, or none",
        );
    }
}
