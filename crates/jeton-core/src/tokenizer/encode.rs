//! Text to ids.

use super::{Scratch, Tokenizer};
use crate::engine::{Engine, EngineScratch};
use crate::error::Result;
use crate::inputs::template::Part;
use crate::models::{Counter, Sink};
use crate::pretokenize::PreTokenizer;
use crate::pretokenize::rewriting::Origin;
use crate::raw_words::{FullPath, RawWords};
use crate::special::Allow;
use crate::text::alignment::Alignment;

/// Receiver of the parts of a text: encodes, counts or samples them.
pub(super) trait Parts {
    /// A part in which nothing special is left, normalized.
    fn text(
        &mut self,
        engine: &Engine,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
    ) -> Result<()>;

    /// A special or added token.
    fn token(&mut self, id: u32);

    /// A part in which nothing special is left, as it was given, word by word; false if that cannot
    /// be done.
    fn raw_text(
        &mut self,
        _tokenizer: &Tokenizer,
        _text: &str,
        _begins: bool,
        _scratch: &mut Scratch,
    ) -> Result<bool> {
        Ok(false)
    }
}

impl<K: Sink> Parts for K {
    #[inline]
    fn text(
        &mut self,
        engine: &Engine,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
    ) -> Result<()> {
        engine.encode(text, origin, scratch, self)
    }

    #[inline]
    fn token(&mut self, id: u32) {
        self.take(&[id]);
    }

    fn raw_text(
        &mut self,
        tokenizer: &Tokenizer,
        text: &str,
        begins: bool,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let Some(raw_words) = tokenizer.raw_words() else {
            return Ok(false);
        };
        let slow = FullPath {
            normalizer: &tokenizer.normalizer,
            engine: &tokenizer.engine,
            begins,
        };
        let Scratch { engine, words, .. } = scratch;
        raw_words.encode(text, &slow, words, engine, self)?;
        Ok(true)
    }
}

impl Tokenizer {
    /// Appends the ids of a text.
    pub fn encode_into(
        &self,
        text: &str,
        allow: &Allow,
        add_special_tokens: bool,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.pool
            .with(|scratch| self.encode_with(text, allow, add_special_tokens, scratch, out))
    }

    /// Lends the ids of a text to a closure: they lie in memory that is used again for the next
    /// text.
    pub fn with_ids<R>(
        &self,
        text: &str,
        allow: &Allow,
        add_special_tokens: bool,
        use_ids: impl FnOnce(&[u32]) -> R,
    ) -> Result<R> {
        let mut lease = self.pool.lend();
        let scratch = lease.get();
        let mut ids = std::mem::take(&mut scratch.ids);
        ids.clear();
        let result = self.encode_with(text, allow, add_special_tokens, scratch, &mut ids);
        let used = result.map(|()| use_ids(&ids));
        scratch.ids = ids;
        scratch.after_ids();
        used
    }

    pub(super) fn encode_with(
        &self,
        text: &str,
        allow: &Allow,
        add_special_tokens: bool,
        scratch: &mut Scratch,
        out: &mut impl Parts,
    ) -> Result<()> {
        if !add_special_tokens {
            return self.encode_sections(text, allow, scratch, out);
        }
        for part in &self.template.single {
            match part {
                Part::Token { id, .. } => out.token(*id),
                Part::Text { .. } => self.encode_sections(text, allow, scratch, out)?,
            }
        }
        Ok(())
    }

    /// How raw text is cut into words, if it can be.
    fn raw_words(&self) -> Option<&RawWords> {
        let make = || {
            // If working the cuts out fails, there are none.
            let made = RawWords::new(
                &self.normalizer,
                &self.normalizer_config,
                &self.steps,
                &self.engine,
            );
            Box::new(made.unwrap_or_default())
        };
        self.raw_words.get_or_init(make).as_ref()
    }

    /// The number of ids of a text, without making them.
    pub fn count(&self, text: &str, allow: &Allow) -> Result<u64> {
        self.pool.with(|scratch| {
            let mut counter = Counter::default();
            self.encode_sections(text, allow, scratch, &mut counter)?;
            Ok(counter.0)
        })
    }

    /// Special tokens, then normalization, then the engine.
    pub(super) fn encode_sections<K: Parts>(
        &self,
        text: &str,
        allow: &Allow,
        scratch: &mut Scratch,
        sink: &mut K,
    ) -> Result<()> {
        if self.added.nothing_to_find(allow) {
            let result = self.encode_section(text, true, None, scratch, sink);
            scratch.after_text(text.len());
            return result;
        }
        let mut raw = std::mem::take(&mut scratch.raw);
        self.added.find_raw(text, allow, &mut raw);
        let mut position = 0;
        let mut encode = || -> Result<()> {
            for found in raw.iter().map(Some).chain([None]) {
                let end = found.map_or(text.len(), |found| found.start);
                if position < end {
                    let section = &text[position..end];
                    self.encode_section(section, position == 0, Some(allow), scratch, sink)?;
                }
                if let Some(found) = found {
                    sink.token(found.id);
                    position = found.end;
                }
            }
            Ok(())
        };
        let result = encode();
        scratch.raw = raw;
        scratch.after_text(text.len());
        result
    }

    /// A part of the raw text without tokens that are found there. `begins`: the given text begins
    /// with it. `allow`: None if no token can be found in the normalized text either.
    fn encode_section<K: Parts>(
        &self,
        section: &str,
        begins: bool,
        allow: Option<&Allow>,
        scratch: &mut Scratch,
        sink: &mut K,
    ) -> Result<()> {
        if allow.is_none_or(|_| self.added.nothing_in_normalized_text())
            && sink.raw_text(self, section, begins, scratch)?
        {
            return Ok(());
        }
        let Scratch {
            engine, normalized, ..
        } = scratch;
        let needs_alignment = !self.normalizer.is_identity()
            && self
                .engine
                .pretokenizer()
                .is_some_and(PreTokenizer::needs_origin);
        let (text, alignment): (_, Option<Alignment>) = if needs_alignment {
            let (text, alignment) = self.normalizer.normalize_aligned(section)?;
            (text, Some(alignment))
        } else {
            (self.normalizer.normalize(section)?, None)
        };
        let origin = Origin {
            begins,
            alignment: alignment.as_ref(),
            offset: 0,
            continues: false,
        };
        let part_at = |offset| Origin { offset, ..origin };
        let Some(allow) = allow else {
            return sink.text(&self.engine, &text, origin, engine);
        };
        self.added.find_normalized(&text, allow, normalized);
        let mut position = 0;
        for token in normalized.iter() {
            if position < token.start {
                let part = &text[position..token.start];
                sink.text(&self.engine, part, part_at(position), engine)?;
            }
            sink.token(token.id);
            position = token.end;
        }
        let part = &text[position..];
        sink.text(&self.engine, part, part_at(position), engine)
    }
}
