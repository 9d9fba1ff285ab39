//! Bytes of a token: the bytes that it adds to a decoded text with other tokens before and behind
//! it.
//!
//! Files spell tokens in ways of their own (`▁the`, `Ġthe`, `the</w>`, `##ing`, `<0xE2>`); the
//! bytes are the same in all of them. A decoded text leaves three things open, which are decided
//! here:
//!
//! - Special tokens, and the one that stands for unknown text, have the bytes of their own text.
//!   (SentencePiece decodes control pieces to nothing, and text is decoded without special tokens
//!   as a rule.)
//! - A suffix that ends words (CLIP's `</w>`) is a space, though `tokenizers` leaves it standing in
//!   decoded text.
//! - If several tokens have equal bytes, the way back gives the first that is no byte of last
//!   resort and no special one.

use std::collections::HashMap;

use super::Tokenizer;
use crate::codec::gpt2_alphabet;
use crate::decode::DecoderConfig;
use crate::engine::Engine;
use crate::sentencepiece::{Piece, PieceKind};
use crate::vocab::Vocab;

/// Precedence of a token among tokens of equal bytes, for the way back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    Text,
    Byte,
    Special,
}

impl Tokenizer {
    /// The bytes of a token; None where an id has none.
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        if self.joins_bytes() {
            return self.token_text(id);
        }
        self.pieces().id_to_bytes(id)
    }

    /// The id whose token has exactly these bytes.
    pub fn bytes_to_token(&self, bytes: &[u8]) -> Option<u32> {
        if self.joins_bytes() {
            return self.vocab().bytes_to_id(bytes);
        }
        self.pieces().bytes_to_id(bytes)
    }

    /// The string that the tokenizer's file has for an id, byte-level tokens in GPT-2's alphabet,
    /// SentencePiece's with U+2581.
    pub fn token_name(&self, id: u32) -> Option<String> {
        self.vocab().id_to_bytes(id)?;
        Some(match &self.engine {
            Engine::SentencePiece(engine) => {
                let piece = engine.model.pieces.get(id as usize);
                let piece = piece.map_or(&[][..], |piece| piece.bytes.as_slice());
                String::from_utf8_lossy(piece).into_owned()
            }
            _ => {
                let added = self.added.tokens().iter().find(|token| token.id == id);
                added.map_or_else(
                    || self.model_string(id).into_owned(),
                    |token| token.content.clone(),
                )
            }
        })
    }

    /// The id of such a string: of several the first, but added tokens before others.
    pub fn name_to_token(&self, name: &str) -> Option<u32> {
        let mut added = self.added.tokens().iter();
        if let Some(token) = added.find(|token| token.content == name) {
            return Some(token.id);
        }
        let found = match &self.engine {
            Engine::SentencePiece(engine) => {
                let mut pieces = (0..).zip(&engine.model.pieces);
                let is_it = |(_, piece): &(u32, &Piece)| piece.bytes == name.as_bytes();
                pieces.find(is_it).map(|(id, _)| id)
            }
            Engine::Bpe(_) => {
                let spelled = gpt2_alphabet::spell(name);
                spelled.and_then(|bytes| self.vocab().bytes_to_id(&bytes))
            }
            _ => self.vocab().bytes_to_id(name.as_bytes()),
        };
        // The table does not find a token that is only decoded; few files have such tokens.
        let is_it = |&id: &u32| self.token_name(id).as_deref() == Some(name);
        found.filter(is_it).or_else(|| {
            let opaque = |id: &u32| !self.vocab().is_findable(*id);
            (0..self.vocab().size()).filter(opaque).find(is_it)
        })
    }

    /// All ids with their strings. Unless `with_added_tokens` is set, added tokens that the model
    /// does not have are left out.
    pub fn token_names(&self, with_added_tokens: bool) -> Vec<(u32, String)> {
        let texts: HashMap<u32, &str> = self
            .added
            .tokens()
            .iter()
            .map(|token| (token.id, token.content.as_str()))
            .collect();
        let mut names = Vec::with_capacity(self.vocab().n_tokens() as usize);
        for (id, _) in self.vocab().iter() {
            let added = texts.get(&id);
            if added.is_some() && !with_added_tokens {
                continue;
            }
            let name = match (added, &self.engine) {
                (Some(text), _) => (*text).to_owned(),
                (None, Engine::SentencePiece(engine)) => {
                    let piece = engine.model.pieces.get(id as usize);
                    let bytes = piece.map_or(&[][..], |piece| piece.bytes.as_slice());
                    String::from_utf8_lossy(bytes).into_owned()
                }
                _ => self.model_string(id).into_owned(),
            };
            names.push((id, name));
        }
        names
    }

    /// The bytes of all tokens that differ from the vocabulary's.
    fn pieces(&self) -> &Vocab {
        self.pieces.get_or_init(|| Box::new(self.make_pieces()))
    }

    fn make_pieces(&self) -> Vocab {
        let vocab = self.vocab();
        let mut all: Vec<(u32, Vec<u8>, Rank)> = Vec::with_capacity(vocab.n_tokens() as usize);
        for (id, bytes) in vocab.iter() {
            let (bytes, rank) = self.bytes_of(id, bytes);
            all.push((id, bytes, rank));
        }
        let mut made = Vocab::with_capacity(all.len());
        for wanted in [Rank::Text, Rank::Byte, Rank::Special] {
            for (id, bytes, _) in all.iter().filter(|(_, _, rank)| *rank == wanted) {
                // Bytes of a token can be more than its string; what cannot be kept is not told.
                if bytes.is_empty() {
                    let _ = made.insert_opaque(*id, bytes);
                } else {
                    let _ = made.insert(*id, bytes);
                }
            }
        }
        made
    }

    fn bytes_of(&self, id: u32, bytes: &[u8]) -> (Vec<u8>, Rank) {
        if let Engine::SentencePiece(engine) = &self.engine {
            if let Some(byte) = engine.processor.decoder().byte(id) {
                return (vec![byte], Rank::Byte);
            }
            let kind = engine.model.pieces.get(id as usize).map(|piece| piece.kind);
            let rank = match kind {
                Some(PieceKind::Control | PieceKind::Unknown) => Rank::Special,
                _ if self.is_special(id) => Rank::Special,
                _ => Rank::Text,
            };
            return (bytes.to_vec(), rank);
        }
        let string = self.token_string(id);
        if self.is_special(id) || self.unknown() == Some(id) {
            return (string.into_owned().into_bytes(), Rank::Special);
        }
        let Some(decoder) = &self.decoder else {
            return (bytes.to_vec(), Rank::Text);
        };
        let word = self.suffix_left_standing().and_then(|suffix| {
            let is_added = self.added.tokens().iter().any(|token| token.id == id);
            string.strip_suffix(suffix).filter(|_| !is_added)
        });
        let (mut bytes, is_byte) = decoder.bytes_in_mid_text(word.unwrap_or(&string));
        if word.is_some() {
            bytes.push(b' ');
        }
        (bytes, if is_byte { Rank::Byte } else { Rank::Text })
    }

    /// Suffix of tokens at the end of words, where the decoder does not take it for a space.
    fn suffix_left_standing(&self) -> Option<&str> {
        let Engine::CharacterBpe(pipeline) = &self.engine else {
            return None;
        };
        let suffix = pipeline.model().options().end_of_word_suffix.as_str();
        let takes = |config: &DecoderConfig| matches!(config, DecoderConfig::Bpe { .. });
        let is_taken = self
            .decoder
            .as_ref()
            .is_some_and(|d| d.config().iter().any(takes));
        (!suffix.is_empty() && !is_taken).then_some(suffix)
    }
}
