//! Texts to what a model takes: encoded once, in parallel, then laid out in rows.

use super::{Encoding, Scratch, Tokenizer};
use crate::documents::parallel::map_texts;
use crate::documents::texts::Documents;
use crate::documents::token_batch::TokenBatch;
use crate::error::Result;
use crate::inputs::template::{Template, TemplateSize};
use crate::special::Allow;
use crate::text::code_points::{CodePointRanges, code_point_ranges};

/// Ids of many texts with where each comes from, in code points of its own text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanBatch {
    /// The ids and where each text's begin.
    pub tokens: TokenBatch,
    /// First code point of each token.
    pub starts: Vec<i64>,
    /// One past the last.
    pub ends: Vec<i64>,
    /// First positions of tokens that open a window; empty where that makes no difference.
    pub opening_starts: Vec<i64>,
    /// One past the last of a token that opens a window.
    pub opening_ends: Vec<i64>,
    /// Index of the pretoken; -1 for special and added tokens.
    pub word_ids: Vec<i64>,
}

impl Tokenizer {
    /// Returns the size of what `add_special_tokens` puts around one text.
    pub fn template_size(&self) -> TemplateSize {
        self.template.single_size()
    }

    /// Returns the tokenizer with another template; its rule for trimming offsets stays.
    pub fn with_template(&self, template: Template) -> Result<Self> {
        let mut config = self.to_config();
        config.template = Template {
            trim_offsets: self.template.trim_offsets,
            ..template
        };
        Self::from_config(config)
    }

    /// Encodes many texts, without the template, and says where each token comes from.
    ///
    /// White space is left out of the places as the file wants it. Where one space at the beginning
    /// may be one that was put there, `tokenizers` 0.23.3 takes the first token of every window for
    /// the beginning.
    pub fn encode_spans_batch(
        &self,
        documents: &dyn Documents,
        allow: &Allow,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<SpanBatch> {
        let parts = map_texts(documents, threads, keep_going, &|range| {
            let mut part = SpanBatch::default();
            let mut room = Vec::new();
            self.pool.with(|scratch| -> Result<()> {
                for index in range {
                    let text = documents.text(index, &mut room)?;
                    self.append_spans(text, allow, scratch, &mut part)?;
                }
                Ok(())
            })?;
            Ok(part)
        })?;
        let mut whole = SpanBatch::default();
        whole.tokens.offsets.push(0);
        for part in parts {
            let base = whole.tokens.ids.len() as i64;
            let offsets = part.tokens.offsets.iter().map(|offset| base + offset);
            whole.tokens.offsets.extend(offsets);
            whole.tokens.ids.extend(part.tokens.ids);
            whole.starts.extend(part.starts);
            whole.ends.extend(part.ends);
            whole.opening_starts.extend(part.opening_starts);
            whole.opening_ends.extend(part.opening_ends);
            whole.word_ids.extend(part.word_ids);
        }
        Ok(whole)
    }

    fn append_spans(
        &self,
        text: &str,
        allow: &Allow,
        scratch: &mut Scratch,
        part: &mut SpanBatch,
    ) -> Result<()> {
        let how = self.template.trim_offsets;
        let mut encoding = Encoding::default();
        let white = self.align_untrimmed(text, allow, how.is_some(), scratch, &mut encoding)?;
        let CodePointRanges {
            mut starts,
            mut ends,
        } = code_point_ranges(text, &encoding.starts, &encoding.ends);
        if let (Some(how), Some(white)) = (how, white) {
            let places = starts.iter_mut().zip(&mut ends).zip(white);
            for (index, ((start, end), white)) in places.enumerate() {
                if how.add_prefix_space {
                    let (start, end) = white.trim(*start, *end, how, true);
                    part.opening_starts.push(start);
                    part.opening_ends.push(end);
                }
                (*start, *end) = white.trim(*start, *end, how, index == 0);
            }
        }
        part.starts.extend(starts);
        part.ends.extend(ends);
        part.word_ids.extend(encoding.word_ids);
        part.tokens.ids.extend(encoding.ids);
        part.tokens.offsets.push(part.tokens.ids.len() as i64);
        Ok(())
    }
}
