//! Ids to text.

use std::borrow::Cow;

use super::Tokenizer;
use crate::byte_alphabet;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::measure::Outlines;
use crate::normalize::NormalizerConfig;
use crate::special::Allow;

impl Tokenizer {
    /// Appends the bytes of ids.
    ///
    /// A tokenizer whose file has decoders that work on strings gives valid UTF-8, with U+FFFD where they put
    /// it; any other gives the tokens' bytes, whatever they are.
    pub fn decode_into(
        &self,
        ids: &[u32],
        skip_special_tokens: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if let Engine::SentencePiece(engine) = &self.engine {
            out.extend(engine.processor.decode(ids)?);
            return Ok(());
        }
        let kept = ids
            .iter()
            .filter(|&&id| !(skip_special_tokens && self.is_special(id)));
        let Some(decoder) = &self.decoder else {
            if self.respelled.is_empty() && !skip_special_tokens {
                return self
                    .vocab()
                    .join(ids, out)
                    .map_err(|id| self.unknown_id(id));
            }
            for &id in kept {
                out.extend_from_slice(self.decoded_bytes(id)?);
            }
            return Ok(());
        };
        let tokens = kept
            .map(|&id| {
                self.decoded_bytes(id)?;
                Ok(self.token_string(id).into_owned())
            })
            .collect::<Result<Vec<_>>>()?;
        out.extend_from_slice(decoder.decode(tokens)?.as_bytes());
        Ok(())
    }

    /// The bytes that an id decodes to where decoding joins them.
    pub(super) fn decoded_bytes(&self, id: u32) -> Result<&[u8]> {
        let vocab = self.vocab();
        let bytes = self.respelled(id).or_else(|| vocab.id_to_bytes(id));
        bytes.ok_or_else(|| self.unknown_id(id))
    }

    /// The error for an id without a token.
    fn unknown_id(&self, id: u32) -> Error {
        let vocab_size = u64::from(self.vocab().size());
        let id = u64::from(id);
        ErrorKind::UnknownId { id, vocab_size }.into()
    }

    /// Whether decoding joins the tokens' bytes.
    pub(crate) fn joins_bytes(&self) -> bool {
        self.decoder.is_none() && !matches!(self.engine, Engine::SentencePiece(_))
    }

    /// Whether the model sees every text as it was given, so that bytes which decode to the text have kept it.
    pub(crate) fn keeps_text(&self) -> bool {
        let mut pretokenizer = self.engine.pretokenizer().into_iter();
        self.joins_bytes()
            && self.normalizer.is_identity()
            && !pretokenizer.any(crate::pretokenize::PreTokenizer::rewrites)
    }

    /// Whether every text comes back from its ids, byte by byte, by the way it is encoded: nothing is rewritten or
    /// left out, no added token takes white space with it, every byte is a token, and a merge joins the bytes of
    /// its two. What need not be decoded to be known.
    pub(crate) fn returns_every_text(&self) -> bool {
        let Engine::Bpe(pipeline) = &self.engine else {
            return false;
        };
        self.keeps_text()
            && pipeline.pretokenizer().keeps_all()
            && self.respelled.is_empty()
            && self.added.nothing_to_find(&Allow::None)
            && (0..=255u8).all(|byte| self.vocab().bytes_to_id(&[byte]).is_some())
    }

    /// What is in each token's bytes, found out when it is first asked for.
    pub(crate) fn outlines(&self) -> &Outlines {
        self.outlines.get_or_init(|| Outlines::of(self))
    }

    /// What a token is in the text as far as that can be said of the token alone: its bytes, or the text of
    /// an added token.
    pub(crate) fn token_text(&self, id: u32) -> Option<&[u8]> {
        self.respelled(id).or_else(|| self.vocab().id_to_bytes(id))
    }

    fn respelled(&self, id: u32) -> Option<&[u8]> {
        let index = self
            .respelled
            .binary_search_by_key(&id, |(id, _)| *id)
            .ok()?;
        Some(&self.respelled[index].1)
    }

    /// The string that a `tokenizer.json` has for an id: byte-level tokens in GPT-2's alphabet.
    pub(crate) fn token_string(&self, id: u32) -> Cow<'_, str> {
        match self.respelled(id) {
            Some(bytes) => String::from_utf8_lossy(bytes),
            None => self.model_string(id),
        }
    }

    /// The same of a token that the model made of text.
    pub(super) fn model_string(&self, id: u32) -> Cow<'_, str> {
        let vocab = self.vocab();
        let bytes = vocab.id_to_bytes(id).unwrap_or_default();
        match &self.engine {
            Engine::Bpe(_) if vocab.is_findable(id) => Cow::Owned(byte_alphabet::write(bytes)),
            _ => String::from_utf8_lossy(bytes),
        }
    }

    /// Whether the bytes that a text's ids decode to are the text that the model saw, and whether
    /// that is the text that was given.
    ///
    /// Tokenizers whose decoding is not plain concatenation write white space anew: theirs is compared
    /// without white space and without U+2581, which stands for it.
    pub fn fidelity(&self, text: &str, decoded: &[u8]) -> Result<Fidelity> {
        if let Engine::SentencePiece(engine) = &self.engine {
            engine.processor.normalizer().check(text)?;
            let expected = engine.expected_decoding(text);
            return Ok(Fidelity {
                round_trip: expected.as_bytes() == decoded,
                unchanged: expected == text,
            });
        }
        let mut normalized = self.normalizer.normalize(text)?;
        if self.normalizer_config.last() == Some(&NormalizerConfig::ByteLevel)
            && let Some(bytes) = byte_alphabet::spell(&normalized)
        {
            normalized = Cow::Owned(String::from_utf8_lossy(&bytes).into_owned());
        }
        let rewrites = self
            .engine
            .pretokenizer()
            .is_some_and(crate::pretokenize::PreTokenizer::rewrites);
        if self.decoder.is_none() && !rewrites {
            return Ok(Fidelity {
                round_trip: normalized.as_bytes() == decoded,
                unchanged: normalized == text,
            });
        }
        let visible = |text: &str| -> String {
            let shown = |c: &char| !c.is_whitespace() && *c != '\u{2581}';
            text.chars().filter(shown).collect()
        };
        let normalized = visible(&normalized);
        Ok(Fidelity {
            round_trip: normalized == visible(&String::from_utf8_lossy(decoded)),
            unchanged: normalized == visible(text),
        })
    }
}

/// What became of a text on the way to ids and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fidelity {
    /// The ids decode to the normalized text.
    pub round_trip: bool,
    /// Normalization left the text as it was.
    pub unchanged: bool,
}
