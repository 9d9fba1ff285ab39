//! Ids to text.

use std::borrow::Cow;

use super::{DecodeStream, Tokenizer};
use crate::codec::gpt2_alphabet;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::normalize::NormalizerConfig;
use crate::special::Allow;

/// Ids whose strings are decoded together.
const MAX_STRINGS: usize = 1 << 16;

impl Tokenizer {
    /// Appends the bytes of ids.
    ///
    /// A tokenizer whose file has decoders that work on strings gives valid UTF-8, with U+FFFD
    /// where they put it; any other gives the tokens' bytes, whatever they are.
    pub fn decode_into(
        &self,
        ids: &[u32],
        skip_special_tokens: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if let Engine::SentencePiece(engine) = &self.engine {
            let kept = self.kept(ids, skip_special_tokens);
            out.extend(engine.processor.decode(&kept)?);
            return Ok(());
        }
        if self.decoder.is_some() && ids.len() > MAX_STRINGS {
            return self.decode_one_by_one(ids, skip_special_tokens, out);
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

    /// Decodes to bytes; bytes that are no text stay as they are, whatever the tokenizer.
    pub fn decode_bytes_into(
        &self,
        ids: &[u32],
        skip_special_tokens: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let kept = self.kept(ids, skip_special_tokens);
        match (&self.engine, &self.decoder) {
            (Engine::SentencePiece(engine), _) => {
                out.extend(engine.processor.decoder().decode_bytes(&kept)?);
                Ok(())
            }
            (_, Some(decoder)) => {
                if ids.len() > MAX_STRINGS {
                    let start = out.len();
                    self.decode_one_by_one(ids, skip_special_tokens, out)?;
                    let made = out.get(start..).unwrap_or_default();
                    if memchr::memmem::find(made, "\u{fffd}".as_bytes()).is_none() {
                        return Ok(());
                    }
                    out.truncate(start);
                }
                let tokens = kept
                    .iter()
                    .map(|&id| {
                        self.decoded_bytes(id)?;
                        Ok(self.token_string(id).into_owned())
                    })
                    .collect::<Result<Vec<_>>>()?;
                out.extend(decoder.decode_bytes(tokens)?);
                Ok(())
            }
            _ => self.decode_into(ids, skip_special_tokens, out),
        }
    }

    /// The ids that are decoded.
    fn kept<'i>(&self, ids: &'i [u32], skip_special_tokens: bool) -> Cow<'i, [u32]> {
        if skip_special_tokens && ids.iter().any(|&id| self.is_special(id)) {
            let kept = ids.iter().copied().filter(|&id| !self.is_special(id));
            return Cow::Owned(kept.collect());
        }
        Cow::Borrowed(ids)
    }

    /// As a stream does it: strings of millions of ids take twenty times the memory of their text.
    fn decode_one_by_one(
        &self,
        ids: &[u32],
        skip_special_tokens: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut stream = DecodeStream::new(self, skip_special_tokens);
        let mut text = String::new();
        for some in ids.chunks(MAX_STRINGS) {
            stream.push(some, &mut text)?;
            out.extend_from_slice(text.as_bytes());
            text.clear();
        }
        stream.finish(&mut text)?;
        out.extend_from_slice(text.as_bytes());
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

    /// True if decoding joins the tokens' bytes.
    pub fn joins_bytes(&self) -> bool {
        self.decoder.is_none() && !matches!(self.engine, Engine::SentencePiece(_))
    }

    /// True if the model sees every text as it was given, so that bytes which decode to the text
    /// have kept it.
    pub fn keeps_text(&self) -> bool {
        let mut pretokenizer = self.engine.pretokenizer().into_iter();
        self.joins_bytes()
            && self.normalizer.is_identity()
            && !pretokenizer.any(crate::pretokenize::PreTokenizer::rewrites)
    }

    /// True if every text comes back from its ids, byte by byte. Nothing may be rewritten or left
    /// out, and no added token may take white space with it. Every byte must be a token, and a
    /// merge joins the bytes of its two tokens. If so, a round trip need not be tried.
    pub fn returns_every_text(&self) -> bool {
        let Engine::Bpe(pipeline) = &self.engine else {
            return false;
        };
        self.keeps_text()
            && pipeline.pretokenizer().keeps_all()
            && self.respelled.is_empty()
            && self.added.nothing_to_find(&Allow::None)
            && (0..=255u8).all(|byte| self.vocab().bytes_to_id(&[byte]).is_some())
    }

    /// Returns the text of a token as far as the token alone decides it: its bytes, or the text of
    /// an added token.
    pub fn token_text(&self, id: u32) -> Option<&[u8]> {
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

    /// Returns the text of a token that the model made of text.
    pub(super) fn model_string(&self, id: u32) -> Cow<'_, str> {
        let vocab = self.vocab();
        let bytes = vocab.id_to_bytes(id).unwrap_or_default();
        match &self.engine {
            Engine::Bpe(_) if vocab.is_findable(id) => Cow::Owned(gpt2_alphabet::write(bytes)),
            _ => String::from_utf8_lossy(bytes),
        }
    }

    /// Compares a text with the bytes that its ids decode to.
    pub fn fidelity(&self, text: &str, ids: &[u32], decoded: &[u8]) -> Result<Fidelity> {
        let expected = self.expected_decoding(text)?;
        let cause = if text.as_bytes() == decoded {
            None
        } else {
            Some(self.cause_of_change(text, ids, decoded)?)
        };
        Ok(Fidelity {
            round_trip: expected.as_bytes() == decoded,
            unchanged: expected == text,
            cause,
        })
    }

    /// The text that ids of a text decode to if nothing but its normalization changes it: spaces as
    /// spaces, without what normalization put in front.
    fn expected_decoding<'t>(&self, text: &'t str) -> Result<Cow<'t, str>> {
        if let Engine::SentencePiece(engine) = &self.engine {
            engine.processor.normalizer().check(text)?;
            return Ok(Cow::Owned(engine.expected_decoding(text)));
        }
        let normalized = self.normalizer.normalize(text)?;
        let steps = &self.normalizer_config;
        if steps.last() == Some(&NormalizerConfig::ByteLevel)
            && let Some(bytes) = gpt2_alphabet::spell(&normalized)
        {
            return Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()));
        }
        if self.decoder.is_none() {
            return Ok(normalized);
        }
        let marks = |step: &NormalizerConfig| match step {
            NormalizerConfig::Replace(replace) => replace.content == MARK,
            NormalizerConfig::Prepend { prefix } => prefix == MARK,
            _ => false,
        };
        if !steps.iter().any(marks) {
            return Ok(normalized);
        }
        let spaced = normalized.replace(MARK, " ");
        let is_prefixed = steps.iter().any(
            |step| matches!(step, NormalizerConfig::Prepend { prefix } if prefix == MARK || prefix == " "),
        );
        match spaced.strip_prefix(' ') {
            Some(rest) if is_prefixed => Ok(Cow::Owned(rest.to_owned())),
            _ => Ok(Cow::Owned(spaced)),
        }
    }

    /// Why a text does not come back: the first of the causes that explains it, the worst before
    /// others.
    fn cause_of_change(&self, text: &str, ids: &[u32], decoded: &[u8]) -> Result<Cause> {
        if self.unknown().is_some_and(|unknown| ids.contains(&unknown)) {
            return Ok(Cause::Unknown);
        }
        let decoded = String::from_utf8_lossy(decoded);
        let without = |text: &str, drop: fn(char) -> bool| -> String {
            text.chars().filter(|&c| !drop(c)).collect()
        };
        let is_mark = |c: char| c == '\u{2581}';
        let is_blank = |c: char| c.is_whitespace() || c == '\u{2581}';
        let has_mark = text.contains(is_mark);
        if !has_mark && without(text, char::is_whitespace) == without(&decoded, char::is_whitespace)
        {
            return Ok(Cause::WhiteSpace);
        }
        if without(text, is_blank) == without(&decoded, is_blank) {
            // A text may lose both; the mark is what nobody expects.
            return Ok(Cause::Mark);
        }
        let normalized = self.normalize(text)?;
        if without(&normalized, is_blank) == without(&decoded, is_blank) {
            return Ok(Cause::NormalForm);
        }
        Ok(Cause::Other)
    }
}

/// The character that stands for a space inside tokens.
const MARK: &str = "\u{2581}";

/// Why a text does not come back from its ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// White space was left out, put in or changed, and nothing else.
    WhiteSpace,
    /// U+2581, which stands for spaces in tokens, came back as a space.
    Mark,
    /// Normalization changed characters: their form, their case, their accents.
    NormalForm,
    /// A part of the text has no token but the unknown one.
    Unknown,
    /// Anything else.
    Other,
}

impl Cause {
    /// All of them, in the order of their counts.
    pub const ALL: [Self; 5] = [
        Self::WhiteSpace,
        Self::Mark,
        Self::NormalForm,
        Self::Unknown,
        Self::Other,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::WhiteSpace => "white_space",
            Self::Mark => "u2581",
            Self::NormalForm => "normal_form",
            Self::Unknown => "unknown",
            Self::Other => "other",
        }
    }
}

/// Result of a round trip: text to ids and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fidelity {
    /// The ids decode to the normalized text.
    pub round_trip: bool,
    /// Normalization left the text as it was.
    pub unchanged: bool,
    /// Why the ids do not decode to the text itself; None if they do.
    pub cause: Option<Cause>,
}
