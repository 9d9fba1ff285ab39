//! The tokenizer: special tokens, normalization, pre-tokenization, model, template; the way back.

mod batches;
mod cache;
mod canonical;
mod decode;
mod encode;
mod excerpts;
mod generation;
mod growing;
mod guarded;
#[cfg(test)]
mod guarded_tests;
mod inner;
mod inputs;
mod nbest;
mod offsets;
mod sample;
mod shared_texts;
mod stream;
mod stretches;
mod token_bytes;
mod trim;
mod written_texts;

use std::borrow::Cow;
use std::sync::Arc;

use once_cell::race::OnceBox;

pub use crate::cache::budget::DEFAULT_CACHE_LIMIT;
pub use canonical::Noncanonical;
pub use decode::{Cause, Fidelity};
pub use excerpts::{Excerpt, ExcerptRoom};
pub use generation::{END_TOKENS, NeverGenerated};
pub use growing::{Growing, Growth};
pub(crate) use guarded::Twins;
pub use guarded::{GuardedEncoding, Trusted};
pub use inputs::SpanBatch;
pub use offsets::Encoding;
pub use sample::{DEFAULT_ALPHA, DEFAULT_DROPOUT, SamplingOptions};
pub use stream::DecodeStream;

pub use crate::engine::{Sampling, SamplingMethod};

use crate::cache::budget::CacheBudget;
use crate::cache::pool::{Pool, Pooled};
use crate::config::Reference;
use crate::decode::Decoder;
use crate::engine::{Engine, EngineScratch, Seams};
use crate::error::Result;
use crate::inputs::template::Template;
use crate::inputs::{Padding, Truncation};
use crate::models::uniform_sampling::UniformSampler;
use crate::normalize::{Normalizer, NormalizerConfig};
use crate::pretokenize::StepConfig;
use crate::pretokenize::rewriting::Origin;
use crate::raw_words::{RawScratch, RawWords};
use crate::special::{AddedToken, AddedTokens, Allow, FoundToken};
use crate::vocab::Vocab;

/// An immutable tokenizer; share it between threads by reference.
#[derive(Debug)]
pub struct Tokenizer {
    pub(crate) reference: Reference,
    pub(crate) normalizer_config: Vec<NormalizerConfig>,
    pub(crate) normalizer: Normalizer,
    pub(crate) added: AddedTokens,
    pub(crate) steps: Vec<StepConfig>,
    pub(crate) template: Template,
    /// From token strings to text; None where decoding joins the tokens' bytes.
    pub(crate) decoder: Option<Decoder>,
    pub(crate) truncation: Option<Truncation>,
    pub(crate) padding: Option<Padding>,
    pub(crate) dropout: Option<f64>,
    pub(crate) engine: Engine,
    /// Ids of special tokens, sorted: what a decoding that skips them leaves out.
    pub(crate) special_ids: Vec<u32>,
    /// Added tokens that do not decode to their own text, sorted by id.
    pub(crate) respelled: Vec<(u32, Vec<u8>)>,
    /// Compiled when it is first asked for.
    pub(crate) uniform: OnceBox<UniformSampler>,
    /// Engines that cannot make control tokens, built when a text asks for one.
    pub(crate) twins: Twins,
    /// Worked out when a text is first encoded.
    pub(crate) raw_words: OnceBox<Option<RawWords>>,
    /// Worked out when a text is to grow.
    pub(crate) seams: OnceBox<Seams>,
    /// Bytes of tokens, where the vocabulary does not have them. Worked out at the first use.
    pub(crate) pieces: OnceBox<Vocab>,
    pub(crate) pool: Pool<Scratch>,
}

/// State that one thread needs for one call.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    engine: EngineScratch,
    /// Words of the raw text.
    words: RawScratch,
    raw: Vec<FoundToken>,
    normalized: Vec<FoundToken>,
    /// The ids of one text.
    ids: Vec<u32>,
}

impl Scratch {
    /// After a text: gives back what only a long one needs.
    fn after_text(&mut self, bytes: usize) {
        self.engine.after_text(bytes);
        self.words.after_text();
        // Found tokens are listed at 24 bytes each, and the shortest is a byte.
        for found in [&mut self.raw, &mut self.normalized] {
            found.clear();
            found.shrink_to(MAX_KEPT_FOUND);
        }
    }

    /// After the ids of a text were used.
    fn after_ids(&mut self) {
        if self.ids.capacity() > MAX_KEPT_IDS {
            self.ids = Vec::new();
        }
    }
}

impl Pooled for Scratch {
    fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.engine.words.set_budget(budget);
        self.words.set_budget(budget);
    }

    fn shrink_to_budget(&mut self) {
        self.engine.words.shrink_to_budget();
        self.words.shrink_to_budget();
    }

    fn clear(&mut self) {
        self.engine.words.clear();
        self.words.clear();
        self.engine.give_back();
        (self.raw, self.normalized) = (Vec::new(), Vec::new());
        self.ids = Vec::new();
    }
}

/// Room for found tokens that is kept from text to text: 1.5 MB.
const MAX_KEPT_FOUND: usize = 1 << 16;

/// Room for ids that is kept from text to text: 256 KB.
const MAX_KEPT_IDS: usize = 1 << 16;

impl Tokenizer {
    /// Returns the reference whose ids these are.
    pub fn reference(&self) -> Reference {
        self.reference
    }

    /// The name of the model's algorithm (`bpe`, `unigram` ...).
    pub fn algorithm(&self) -> &'static str {
        self.engine.algorithm()
    }

    /// Token bytes and ids.
    pub fn vocab(&self) -> &Vocab {
        self.engine.vocab()
    }

    /// The id that stands for text without a token, if there is one.
    pub fn unknown(&self) -> Option<u32> {
        self.engine.unknown()
    }

    /// Special and added tokens by id.
    pub fn added_tokens(&self) -> &[AddedToken] {
        self.added.tokens()
    }

    /// True if an id is a special token's.
    pub fn is_special(&self, id: u32) -> bool {
        self.special_ids.binary_search(&id).is_ok()
    }

    /// True for each id that is a special token's.
    pub fn special_tokens_mask(&self, ids: &[u32]) -> Vec<bool> {
        ids.iter().map(|&id| self.is_special(id)).collect()
    }

    /// The steps of the pre-tokenizer.
    pub fn pretokenizer_steps(&self) -> &[StepConfig] {
        &self.steps
    }

    /// Returns the template of tokens around texts.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The file's setting for texts that are too long; `encode` does not apply it.
    pub fn truncation(&self) -> Option<&Truncation> {
        self.truncation.as_ref()
    }

    /// The file's setting for filling batches up; `encode` does not apply it.
    pub fn padding(&self) -> Option<&Padding> {
        self.padding.as_ref()
    }

    /// The share of merges that the file wants left out at random; `encode` never does.
    pub fn dropout(&self) -> Option<f64> {
        self.dropout
    }

    /// Turns names of special tokens into what the encoding functions take.
    pub fn allow<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Allow> {
        self.added.allow(names)
    }

    /// The text as the pre-tokenizer or the model sees it.
    pub fn normalize<'t>(&self, text: &'t str) -> Result<Cow<'t, str>> {
        match &self.engine {
            Engine::SentencePiece(engine) => {
                let normalizer = engine.processor.normalizer();
                normalizer.check(text)?;
                Ok(Cow::Owned(normalizer.normalize(text)))
            }
            _ => self.normalizer.normalize(text),
        }
    }

    /// The pretokens of a normalized text, as the model sees them. (A split of bytes may cut a
    /// character.)
    pub fn pretokenize(&self, normalized: &str) -> Result<Vec<Vec<u8>>> {
        let mut pretokens = Vec::new();
        match self.engine.pretokenizer() {
            Some(steps) if steps.rewrites() => {
                let origin = Origin {
                    begins: true,
                    ..Origin::default()
                };
                let pieces = steps.pieces(normalized, origin, false)?;
                let bytes = pieces.text.as_bytes();
                let cut = |&(start, end): &(usize, usize)| bytes[start..end].to_vec();
                pretokens.extend(pieces.ranges.iter().map(cut));
            }
            Some(steps) => steps.split(normalized, |start, end| {
                pretokens.push(normalized.as_bytes()[start..end].to_vec());
                Ok(())
            })?,
            None if normalized.is_empty() => {}
            None => pretokens.push(normalized.as_bytes().to_vec()),
        }
        Ok(pretokens)
    }
}
