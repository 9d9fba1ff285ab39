//! Text to ids with where each comes from.

use std::borrow::Cow;
use std::ops::Range;

use super::trim::{Runs, White, trim};
use super::{Scratch, Tokenizer};
use crate::documents::parallel::map_texts;
use crate::documents::texts::Documents;
use crate::engine::EngineScratch;
use crate::error::Result;
use crate::inputs::template::{Part, TrimOffsets};
use crate::pretokenize::rewriting::Origin;
use crate::special::{AddedTokens, Allow, FoundToken};
use crate::text::alignment::Alignment;

/// Ids of one text with where each comes from, in bytes of the original text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    /// The ids.
    pub ids: Vec<u32>,
    /// First byte of each token in the original text.
    pub starts: Vec<usize>,
    /// One past the last byte.
    pub ends: Vec<usize>,
    /// Index of the pretoken; -1 for special and added tokens.
    pub word_ids: Vec<i64>,
    /// True if a token was put around the text. A special token that stood in the text was not, as
    /// `tokenizers` 0.23.3 has it.
    pub special_tokens_mask: Vec<bool>,
    /// Token-type ids, as the template has them.
    pub type_ids: Vec<u32>,
}

/// Takes what the engine tells of a token: its id, its place, its word, what the model saw there.
pub(super) type Each<'e> = dyn FnMut(u32, usize, usize, i64, &[u8]) + 'e;

/// Finder of the added tokens of a text; the rest is left to the model.
pub(super) trait Gate {
    /// Tokens in the raw text.
    fn find_raw(&mut self, added: &AddedTokens, text: &str, out: &mut Vec<FoundToken>);

    /// Tokens in a section of it that begins at `base`, normalized.
    fn find_normalized(
        &mut self,
        added: &AddedTokens,
        normalized: &str,
        base: usize,
        alignment: &Alignment,
        out: &mut Vec<FoundToken>,
    );

    /// Encodes a part without such tokens, as the engine tells it.
    fn encode(
        &mut self,
        tokenizer: &Tokenizer,
        text: &str,
        base: usize,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
        each: &mut Each<'_>,
    ) -> Result<i64>;
}

impl Gate for &Allow {
    fn find_raw(&mut self, added: &AddedTokens, text: &str, out: &mut Vec<FoundToken>) {
        added.find_raw(text, self, out);
    }

    fn find_normalized(
        &mut self,
        added: &AddedTokens,
        normalized: &str,
        _: usize,
        _: &Alignment,
        out: &mut Vec<FoundToken>,
    ) {
        added.find_normalized(normalized, self, out);
    }

    fn encode(
        &mut self,
        tokenizer: &Tokenizer,
        text: &str,
        _: usize,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
        each: &mut Each<'_>,
    ) -> Result<i64> {
        tokenizer
            .engine
            .encode_known_spans(text, origin, scratch, each)
    }
}

impl Tokenizer {
    /// Returns the ids of a text with the source of each. The template's tokens have no source:
    /// before the text their range is 0..0, after it the empty range at its end.
    ///
    /// `trim`: ranges leave out white space as the file wants it (`trim_offsets`).
    pub fn encode_with_offsets(
        &self,
        text: &str,
        allow: &Allow,
        add_special_tokens: bool,
        trim: bool,
    ) -> Result<Encoding> {
        let mut encoding = Encoding::default();
        let how = self.template.trim_offsets.filter(|_| trim);
        self.pool.with(|scratch| -> Result<()> {
            if !add_special_tokens {
                self.align_text(text, allow, how, scratch, &mut encoding)?;
                let type_of = |part: &Part| match *part {
                    Part::Text { type_id, .. } => Some(type_id),
                    Part::Token { .. } => None,
                };
                let type_id = self.template.single.iter().find_map(type_of);
                encoding.mark(false, type_id.unwrap_or(0));
                return Ok(());
            }
            let mut place = 0;
            for part in &self.template.single {
                match *part {
                    Part::Token { id, type_id } => {
                        encoding.push(id, place, place, -1);
                        encoding.mark(true, type_id);
                    }
                    Part::Text { type_id, .. } => {
                        self.align_text(text, allow, how, scratch, &mut encoding)?;
                        encoding.mark(false, type_id);
                        place = text.len();
                    }
                }
            }
            Ok(())
        })?;
        Ok(encoding)
    }

    /// Encodes many texts with offsets on several threads, and makes something of each encoding.
    ///
    /// `how`: allowed special tokens, `add_special_tokens` and `trim` of
    /// [`Self::encode_with_offsets`].
    pub fn encode_batch_with_offsets<T: Send>(
        &self,
        documents: &dyn Documents,
        (allow, add_special_tokens, trim): (&Allow, bool, bool),
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
        make: &(dyn Fn(Encoding, &str) -> T + Sync),
    ) -> Result<Vec<T>> {
        let parts = map_texts(documents, threads, keep_going, &|range| {
            let mut room = Vec::new();
            range
                .map(|index| {
                    let text = documents.text(index, &mut room)?;
                    let encoding =
                        self.encode_with_offsets(text, allow, add_special_tokens, trim)?;
                    Ok(make(encoding, text))
                })
                .collect::<Result<Vec<T>>>()
        })?;
        Ok(parts.into_iter().flatten().collect())
    }

    pub(super) fn align_text(
        &self,
        text: &str,
        gate: impl Gate,
        how: Option<TrimOffsets>,
        scratch: &mut Scratch,
        encoding: &mut Encoding,
    ) -> Result<()> {
        let white = self.align_untrimmed(text, gate, how.is_some(), scratch, encoding)?;
        if let (Some(how), Some(white)) = (how, white) {
            trim(text, how, &white, encoding);
        }
        Ok(())
    }

    /// Aligns a text; if `notes_white`, gives the white space of each token instead of leaving it
    /// out.
    pub(super) fn align_untrimmed(
        &self,
        text: &str,
        mut gate: impl Gate,
        notes_white: bool,
        scratch: &mut Scratch,
        encoding: &mut Encoding,
    ) -> Result<Option<Vec<White>>> {
        let mut out = Aligned {
            encoding,
            words: 0,
            white: notes_white.then(Vec::new),
        };
        let mut runs = Runs::new(text);
        let mut found = Vec::new();
        gate.find_raw(&self.added, text, &mut found);
        let mut position = 0;
        for token in found.iter().map(Some).chain([None]) {
            let end = token.map_or(text.len(), |token| token.start.max(position));
            self.align_section(text, position..end, &mut gate, scratch, &mut out)?;
            if let Some(token) = token {
                out.encoding.push(token.id, token.start, token.end, -1);
                out.white(|| runs.white(token.start..token.end));
                position = token.end;
            }
        }
        scratch.after_text(text.len());
        Ok(out.white)
    }

    /// Encodes one section of raw text and notes where its tokens come from.
    fn align_section(
        &self,
        text: &str,
        range: Range<usize>,
        gate: &mut impl Gate,
        scratch: &mut Scratch,
        out: &mut Aligned<'_>,
    ) -> Result<()> {
        let base = range.start;
        let section = &text[range];
        if section.is_empty() {
            return Ok(());
        }
        let (normalized, alignment) = if self.normalizer.is_identity() {
            (Cow::Borrowed(section), Alignment::identity(section.len()))
        } else {
            self.normalizer.normalize_aligned(section)?
        };
        let origin = Origin {
            begins: base == 0,
            alignment: Some(&alignment),
            offset: 0,
            continues: false,
        };
        let mut lookup = alignment.lookup();
        let mut runs = Runs::new(&normalized);
        gate.find_normalized(
            &self.added,
            &normalized,
            base,
            &alignment,
            &mut scratch.normalized,
        );
        let found = std::mem::take(&mut scratch.normalized);
        let mut position = 0;
        for token in found.iter().map(Some).chain([None]) {
            let end = token.map_or(normalized.len(), |token| token.start.max(position));
            let first_word = out.words;
            let found_words = gate.encode(
                self,
                &normalized[position..end],
                base,
                Origin {
                    offset: position,
                    ..origin
                },
                &mut scratch.engine,
                &mut |id, start, end, word, surface| {
                    let (from, to) = lookup.source_range(position + start, position + end);
                    out.encoding
                        .push(id, base + from, base + to, first_word + word);
                    out.white(|| self.white_of_token(id, surface));
                },
            )?;
            out.words += found_words;
            if let Some(token) = token {
                let (from, to) = lookup.source_range(token.start, token.end);
                out.encoding.push(token.id, base + from, base + to, -1);
                out.white(|| runs.white(token.start..token.end));
                position = token.end;
            }
        }
        scratch.normalized = found;
        Ok(())
    }
}

/// Writer of a text's sections into an encoding, one after another.
struct Aligned<'e> {
    encoding: &'e mut Encoding,
    /// Pretokens so far.
    words: i64,
    /// The white space of each token of this text, if it is to be left out.
    white: Option<Vec<White>>,
}

impl Aligned<'_> {
    /// Notes the white space of the token that was pushed last.
    fn white(&mut self, of_token: impl FnOnce() -> White) {
        if let Some(white) = &mut self.white {
            white.push(of_token());
        }
    }
}

impl Encoding {
    pub(super) fn push(&mut self, id: u32, start: usize, end: usize, word: i64) {
        self.ids.push(id);
        self.starts.push(start);
        self.ends.push(end);
        self.word_ids.push(word);
    }

    /// Says of all ids that it has not been said of whether they were put around the text, and
    /// their type.
    pub(super) fn mark(&mut self, is_special: bool, type_id: u32) {
        self.special_tokens_mask.resize(self.ids.len(), is_special);
        self.type_ids.resize(self.ids.len(), type_id);
    }
}
