//! The bytes of token strings, where the decoded text would have lost some.

use super::{Decoder, DecoderConfig, STAGE, fallback_byte};
use crate::codec::gpt2_alphabet;
use crate::error::Result;
use crate::normalize::replace::ReplacePattern;

impl Decoder {
    /// Returns the bytes of the decoded text; parts of characters stay as they are.
    pub(crate) fn decode_bytes(&self, tokens: Vec<String>) -> Result<Vec<u8>> {
        let is_level = |step: &(DecoderConfig, _)| matches!(step.0, DecoderConfig::ByteLevel);
        let is_fuse = |step: &(DecoderConfig, _)| matches!(step.0, DecoderConfig::Fuse);
        if let Some(at) = self.steps.iter().position(is_level)
            && self.steps[..at].iter().all(is_fuse)
            && self.steps[at + 1..]
                .iter()
                .all(|step| is_fuse(step) || replaced_text(&step.0).is_some())
        {
            let mut out = Vec::new();
            for token in &tokens {
                match gpt2_alphabet::spell(token) {
                    Some(bytes) => out.extend_from_slice(&bytes),
                    None => out.extend_from_slice(token.as_bytes()),
                }
            }
            let room = self.growth.room(out.len() + tokens.len());
            for (from, to) in self.steps[at + 1..]
                .iter()
                .filter_map(|s| replaced_text(&s.0))
            {
                out = replace_bytes(&out, from.as_bytes(), to.as_bytes());
                room.check(STAGE, out.len())?;
            }
            return Ok(out);
        }
        let text = self.decode(tokens.clone())?;
        let falls_back = |step: &(DecoderConfig, _)| matches!(step.0, DecoderConfig::ByteFallback);
        if !text.contains(char::REPLACEMENT_CHARACTER) || !self.steps.iter().any(falls_back) {
            return Ok(text.into_bytes());
        }
        self.with_broken_bytes(tokens, text)
    }

    /// Decodes bytes that are no text as a character that no token has, and then puts them in its
    /// places.
    fn with_broken_bytes(&self, mut tokens: Vec<String>, text: String) -> Result<Vec<u8>> {
        let is_free = |c: &char| !tokens.iter().any(|token| token.contains(*c));
        let Some(mark) = ('\u{f0000}'..'\u{f0100}').find(is_free) else {
            return Ok(text.into_bytes());
        };
        let mut broken = Vec::new();
        let mut start = 0;
        while start < tokens.len() {
            let run = tokens[start..]
                .iter()
                .map_while(|token| fallback_byte(token));
            let bytes: Vec<u8> = run.collect();
            let end = start + bytes.len().max(1);
            if std::str::from_utf8(&bytes).is_err() {
                tokens[start..end].fill(mark.to_string());
                broken.extend(bytes);
            }
            start = end;
        }
        let marked = self.decode(tokens)?;
        if marked.matches(mark).count() != broken.len() {
            return Ok(text.into_bytes());
        }
        let mut out = Vec::with_capacity(marked.len());
        let mut broken = broken.into_iter();
        for piece in marked.split_inclusive(mark) {
            match piece.strip_suffix(mark) {
                Some(before) => {
                    out.extend_from_slice(before.as_bytes());
                    out.extend(broken.next());
                }
                None => out.extend_from_slice(piece.as_bytes()),
            }
        }
        Ok(out)
    }
}

/// Returns the text that a step replaces and the one it puts there; `None` for a pattern.
fn replaced_text(config: &DecoderConfig) -> Option<(&str, &str)> {
    match config {
        DecoderConfig::Replace {
            pattern: ReplacePattern::String(from),
            content,
        } if !from.is_empty() => Some((from, content)),
        _ => None,
    }
}

/// Returns `text` with every `from` replaced by `to`.
fn replace_bytes(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut position = 0;
    for at in memchr::memmem::find_iter(text, from) {
        out.extend_from_slice(&text[position..at]);
        out.extend_from_slice(to);
        position = at + from.len();
    }
    out.extend_from_slice(&text[position..]);
    out
}
