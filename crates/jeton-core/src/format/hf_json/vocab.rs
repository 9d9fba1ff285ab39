//! The vocabulary of a model, written, and which added tokens stand in it.
//!
//! `tokenizers` gives an added token the id that its text has in the vocabulary, else the next free
//! one, whatever the file says. The model can find every token of the vocabulary. So an added token
//! is put there only if it would not get its id otherwise.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::inexpressible;
use super::model::is_symbol;
use crate::codec::base64::Base64Bytes;
use crate::codec::gpt2_alphabet;
use crate::config::{Config, ModelConfig};
use crate::error::Result;
use crate::special::AddedToken;

/// Token strings by id.
pub(super) struct Names(Vec<Option<String>>);

impl Names {
    /// Tokens of a model, as the file spells them; none where the file has no such model.
    pub(super) fn of_config(config: &Config) -> Result<Self> {
        match &config.model {
            ModelConfig::Bpe { tokens, opaque, .. } => {
                let opaque: HashSet<u32> = opaque.iter().copied().collect();
                let names = (0..).zip(tokens).map(|(id, token)| {
                    let Base64Bytes(bytes) = token.as_ref()?;
                    Some(if opaque.contains(&id) {
                        String::from_utf8_lossy(bytes).into_owned()
                    } else {
                        gpt2_alphabet::write(bytes)
                    })
                });
                Ok(Self(names.collect()))
            }
            ModelConfig::CharacterBpe { tokens, .. }
            | ModelConfig::WordPiece { tokens, .. }
            | ModelConfig::Word { tokens, .. } => {
                let names = tokens.iter().map(|token| {
                    let Some(Base64Bytes(bytes)) = token else {
                        return Ok(None);
                    };
                    let text = String::from_utf8(bytes.clone())
                        .map_err(|_| inexpressible("a token is not UTF-8"))?;
                    Ok(Some(text))
                });
                Ok(Self(names.collect::<Result<_>>()?))
            }
            ModelConfig::Unigram { pieces, .. } => {
                let names = pieces.iter().map(|(piece, _)| Some(piece.clone()));
                Ok(Self(names.collect()))
            }
            ModelConfig::Greedy { .. }
            | ModelConfig::Character { .. }
            | ModelConfig::RawBytes { .. }
            | ModelConfig::SentencePiece(_) => Ok(Self(Vec::new())),
        }
    }

    fn get(&self, id: u32) -> Option<&str> {
        self.0.get(id as usize)?.as_deref()
    }

    /// Returns the text of an id: an added token's, else the vocabulary's.
    pub(super) fn of_id(&self, id: u32, config: &Config) -> Option<String> {
        let mut added = config.added_tokens.iter();
        let added = added.find(|token| token.id == id);
        let text = added.map(|token| token.content.as_str());
        text.or_else(|| self.get(id)).map(str::to_owned)
    }

    /// The name of an unknown token, which may be an added one.
    pub(super) fn of(&self, id: Option<u32>, config: &Config) -> Result<Option<String>> {
        let Some(id) = id else { return Ok(None) };
        let name = self.get(id).map(str::to_owned);
        name.or_else(|| self.of_id(id, config))
            .map(Some)
            .ok_or_else(|| inexpressible(format!("its unknown token {id} has no text")))
    }

    pub(super) fn merges(&self, list: &[(u32, u32)]) -> Vec<[&str; 2]> {
        let name = |id| self.get(id).unwrap_or_default();
        list.iter()
            .map(|&(left, right)| [name(left), name(right)])
            .collect()
    }
}

/// The vocabulary: the model's tokens, its unknown token, and the added tokens that have to stand
/// there.
pub(super) fn write(names: &Names, config: &Config, unknown: Option<u32>) -> Map<String, Value> {
    let mut vocab = Map::with_capacity(names.0.len());
    for (id, name) in names.0.iter().enumerate() {
        if let Some(name) = name {
            vocab.insert(name.clone(), json!(id));
        }
    }
    let here = |token: &&AddedToken| Some(token.id) == unknown || is_left_out(token, config);
    let (here, rest): (Vec<_>, Vec<_>) = config.added_tokens.iter().partition(here);
    for token in here {
        vocab.insert(token.content.clone(), json!(token.id));
    }
    // Each token put there moves the ids of the tokens left out. The second round therefore takes
    // them all.
    if let Some(first) = misnumbered(&vocab, &config.added_tokens) {
        for token in rest {
            if first.contains(&token.id) {
                vocab.insert(token.content.clone(), json!(token.id));
            }
        }
    }
    if misnumbered(&vocab, &config.added_tokens).is_some() {
        for token in &config.added_tokens {
            vocab.insert(token.content.clone(), json!(token.id));
        }
    }
    vocab
}

/// True if the reader takes a token out of the vocabulary again, because no text becomes it.
fn is_left_out(token: &AddedToken, config: &Config) -> bool {
    match &config.model {
        ModelConfig::Bpe { .. } => token.special && !is_symbol(&token.content, "", "", false),
        ModelConfig::CharacterBpe {
            continuing_prefix,
            end_of_word_suffix,
            byte_fallback,
            ..
        } => {
            let (prefix, suffix) = (continuing_prefix, end_of_word_suffix);
            token.special && !is_symbol(&token.content, prefix, suffix, *byte_fallback)
        }
        _ => false,
    }
}

/// The ids of the tokens that would get another one ([`super::added_tokens::read`]); None where
/// there are none.
fn misnumbered(vocab: &Map<String, Value>, tokens: &[AddedToken]) -> Option<HashSet<u32>> {
    let mut next = vocab.len() as u64;
    let mut found = HashSet::new();
    for token in tokens {
        let id = vocab.get(&token.content).and_then(Value::as_u64);
        let id = id.unwrap_or(next);
        next = next.max(id + 1);
        if id != u64::from(token.id) {
            found.insert(token.id);
        }
    }
    (!found.is_empty()).then_some(found)
}
