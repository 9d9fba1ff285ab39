//! How two BPE models differ, where they do.

use std::collections::HashSet;

use super::ledger::some_of;
use super::pairs;
use crate::codec::base64::Base64Bytes;
use crate::config::{MissingConfig, ModelConfig};

const PARTS: &str = "parts of it";
const EFFECT: &str = "texts get other ids";
const OPAQUE: &str = "which of its tokens no text becomes";
const OPAQUE_EFFECT: &str = "text that spells them gets other ids";

/// Names of the tokens in which two lists differ.
type Different<'a> = dyn Fn(&[Option<Base64Bytes>], &[Option<Base64Bytes>]) -> Vec<String> + 'a;

/// How two BPE models differ, both on bytes or both on characters; None: they do the same.
///
/// `added`: ids of tokens that may be in the one and not in the other, because no text becomes
/// them.
pub(super) fn difference(
    before: &ModelConfig,
    after: &ModelConfig,
    added: &HashSet<u32>,
    different: &Different<'_>,
) -> Option<(String, &'static str)> {
    if matches!(before, ModelConfig::CharacterBpe { .. }) {
        return on_characters(before, after, added, different);
    }
    let (
        ModelConfig::Bpe {
            tokens,
            opaque,
            merges,
            whole_pretokens,
            missing,
        },
        ModelConfig::Bpe {
            tokens: new_tokens,
            opaque: new_opaque,
            merges: new_merges,
            whole_pretokens: new_whole,
            missing: new_missing,
        },
    ) = (before, after)
    else {
        return None;
    };
    let ids = |ids: &[u32]| -> HashSet<u32> {
        let ids = ids.iter().copied();
        ids.filter(|id| !added.contains(id)).collect()
    };
    let unlike_names = different(tokens, new_tokens);
    if !unlike_names.is_empty() {
        let what = format!("of its tokens {}", some_of(&unlike_names));
        return Some((what, "text that became them gets other ids"));
    }
    let reach = Reach::new(tokens, [merges.as_deref(), new_merges.as_deref()]);
    let whole = *whole_pretokens || *new_whole;
    let (opaque_ids, new_opaque_ids) = (ids(opaque), ids(new_opaque));
    let mut unlike = opaque_ids.symmetric_difference(&new_opaque_ids);
    if unlike.any(|&id| !reach.is_empty(id) && (whole || reach.has(id, |token| token.len() <= 1))) {
        return Some((OPAQUE.to_owned(), OPAQUE_EFFECT));
    }
    let Ok(vocab) = pairs::vocab(tokens, opaque) else {
        return Some((PARTS.to_owned(), EFFECT));
    };
    let complete = (0..=255u8).all(|byte| vocab.bytes_to_id(&[byte]).is_some());
    if missing != new_missing && !complete {
        let what = match missing {
            MissingConfig::Unknown(_) => "its unknown token",
            MissingConfig::Skip => "that bytes without a token are left out",
            MissingConfig::Fail => "that bytes without a token are an error",
        };
        return Some((
            what.to_owned(),
            "bytes without a token become something else",
        ));
    }
    let one = pairs::Model {
        vocab: &vocab,
        merges: merges.as_deref(),
        whole: *whole_pretokens,
    };
    let two = pairs::Model {
        vocab: &vocab,
        merges: new_merges.as_deref(),
        whole: *new_whole,
    };
    one.differs_from(&two).map(|what| (what, EFFECT))
}

/// Tokens that merges can make of text.
struct Reach<'m> {
    tokens: &'m [Option<Base64Bytes>],
    /// Texts of pairs; None: any token may be made.
    made: Option<HashSet<Vec<u8>>>,
}

impl<'m> Reach<'m> {
    fn new(tokens: &'m [Option<Base64Bytes>], lists: [Option<&[(u32, u32)]>; 2]) -> Self {
        let text = |id: u32| {
            let token = tokens.get(id as usize)?.as_ref();
            token.map(|Base64Bytes(bytes)| bytes.as_slice())
        };
        let mut made = Some(HashSet::new());
        for list in lists {
            let Some(list) = list else {
                made = None;
                break;
            };
            let pairs = list.iter().filter_map(|&(left, right)| {
                let (left, right) = (text(left)?, text(right)?);
                Some([left, right].concat())
            });
            if let Some(made) = &mut made {
                made.extend(pairs);
            }
        }
        Self { tokens, made }
    }

    /// True if a token has no bytes, as one of Whisper's: no text, merge or pretoken becomes it.
    fn is_empty(&self, id: u32) -> bool {
        matches!(self.tokens.get(id as usize), Some(Some(Base64Bytes(bytes))) if bytes.is_empty())
    }

    /// True if a token may be made; `is_symbol`: whether text begins as it, before any merge.
    fn has(&self, id: u32, is_symbol: impl Fn(&[u8]) -> bool) -> bool {
        let Some(Some(Base64Bytes(bytes))) = self.tokens.get(id as usize) else {
            return true;
        };
        is_symbol(bytes) || self.made.as_ref().is_none_or(|made| made.contains(bytes))
    }
}

/// Texts that the merges of two BPE models can make; None: of anything that cannot be said.
pub(super) struct Made(Option<HashSet<Vec<u8>>>);

impl Made {
    pub(super) fn by(one: &ModelConfig, two: &ModelConfig) -> Self {
        let mut made = HashSet::new();
        for model in [one, two] {
            let (tokens, merges) = match model {
                ModelConfig::Bpe {
                    tokens,
                    merges: Some(merges),
                    whole_pretokens: false,
                    ..
                } => (tokens, merges),
                ModelConfig::CharacterBpe {
                    tokens,
                    merges,
                    whole_pretokens: false,
                    continuing_prefix,
                    end_of_word_suffix,
                    ..
                } if continuing_prefix.is_empty() && end_of_word_suffix.is_empty() => {
                    (tokens, merges)
                }
                _ => return Self(None),
            };
            match Reach::new(tokens, [Some(merges.as_slice()); 2]).made {
                Some(more) => made.extend(more),
                None => return Self(None),
            }
        }
        Self(Some(made))
    }

    /// True if no text becomes a token by merges, and none begins as it.
    pub(super) fn never(&self, content: &str) -> bool {
        let is_symbol = content.chars().nth(1).is_none() || content.starts_with("<0x");
        !is_symbol && matches!(&self.0, Some(made) if !made.contains(content.as_bytes()))
    }
}

/// How two BPE models on characters differ.
fn on_characters(
    before: &ModelConfig,
    after: &ModelConfig,
    added: &HashSet<u32>,
    different: &Different<'_>,
) -> Option<(String, &'static str)> {
    let (
        ModelConfig::CharacterBpe {
            tokens,
            opaque,
            merges,
            missing,
            fuse_unknown,
            byte_fallback,
            continuing_prefix,
            end_of_word_suffix,
            whole_pretokens,
        },
        ModelConfig::CharacterBpe {
            tokens: new_tokens,
            opaque: new_opaque,
            merges: new_merges,
            missing: new_missing,
            fuse_unknown: new_fuse,
            byte_fallback: new_fallback,
            continuing_prefix: new_prefix,
            end_of_word_suffix: new_suffix,
            whole_pretokens: new_whole,
        },
    ) = (before, after)
    else {
        return Some((PARTS.to_owned(), EFFECT));
    };
    let unlike_names = different(tokens, new_tokens);
    if !unlike_names.is_empty() {
        let what = format!("of its tokens {}", some_of(&unlike_names));
        return Some((what, EFFECT));
    }
    // Affixes are no part of what merges make; with them, every token counts as one that may be
    // made.
    let plain = continuing_prefix.is_empty() && end_of_word_suffix.is_empty();
    let reach = Reach::new(
        tokens,
        [Some(merges.as_slice()), Some(new_merges.as_slice())],
    );
    let is_symbol = |token: &[u8]| match std::str::from_utf8(token) {
        Ok(text) => text.chars().nth(1).is_none() || (*byte_fallback && text.starts_with("<0x")),
        Err(_) => true,
    };
    let of = |ids: &[u32]| -> HashSet<u32> {
        let ids = ids.iter().copied();
        ids.filter(|id| !added.contains(id)).collect()
    };
    let (opaque, new_opaque) = (of(opaque), of(new_opaque));
    let mut unlike = opaque.symmetric_difference(&new_opaque);
    if unlike
        .any(|&id| !reach.is_empty(id) && (*whole_pretokens || !plain || reach.has(id, is_symbol)))
    {
        return Some((OPAQUE.to_owned(), OPAQUE_EFFECT));
    }
    if missing != new_missing {
        return Some((
            "what becomes of characters without a token".to_owned(),
            EFFECT,
        ));
    }
    let settings = (fuse_unknown, byte_fallback, whole_pretokens);
    if settings != (new_fuse, new_fallback, new_whole)
        || (continuing_prefix, end_of_word_suffix) != (new_prefix, new_suffix)
    {
        return Some(("how its tokens are put together".to_owned(), EFFECT));
    }
    (merges != new_merges).then(|| ("the order of its merges".to_owned(), EFFECT))
}
