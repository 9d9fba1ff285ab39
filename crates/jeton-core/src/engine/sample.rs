//! Drawn segmentations, whatever the kind of tokenizer. No word cache: a word is drawn anew each
//! time.

use super::{Engine, EngineScratch};
use crate::error::{ErrorKind, Result};
use crate::models::Model;
use crate::models::bpe::DropoutScratch;
use crate::models::uniform_sampling::{UniformSampler, UniformScratch};
use crate::models::unigram::{SpannedId, SplitMix64};
use crate::pretokenize::PreTokenizer;
use crate::pretokenize::rewriting::Origin;
use crate::sentencepiece::SpmEncoder;
use crate::vocab::Vocab;

/// A way to draw segmentations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingMethod {
    /// BPE that leaves merges out at random.
    Dropout,
    /// All segmentations into tokens alike.
    Uniform,
    /// Segmentations by their probability in a unigram language model.
    Unigram,
    /// The best of these by their probability.
    Nbest,
}

impl SamplingMethod {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Dropout, Self::Uniform, Self::Unigram, Self::Nbest];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dropout => "dropout",
            Self::Uniform => "uniform",
            Self::Unigram => "unigram",
            Self::Nbest => "nbest",
        }
    }
}

/// A method with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// BPE-dropout. In the variant of `tokenizers` a dropped merge may come again; in
    /// SentencePiece's it is gone for good.
    Dropout {
        /// How often a merge is left out when its turn comes, 0 to 1.
        probability: f64,
    },
    /// Each segmentation of a pretoken with the same probability.
    Uniform,
    /// Each segmentation in proportion to its probability to the power of `alpha`.
    Unigram {
        /// 0: all alike; 1: as the model has it; beyond that, the probable ones more often.
        alpha: f64,
    },
    /// The `n` best segmentations, each in proportion to its probability to the power of `alpha`.
    Nbest {
        /// How many.
        n: usize,
        /// As above.
        alpha: f64,
    },
}

/// Memory reused between draws.
#[derive(Debug, Default)]
pub(crate) struct SampleScratch {
    dropout: DropoutScratch,
    uniform: UniformScratch,
    spans: Vec<SpannedId>,
    piece: Vec<u32>,
}

/// A text's draw.
pub(crate) struct Draw<'a> {
    pub(crate) sampling: Sampling,
    /// The tokenizer's, if that is how to draw.
    pub(crate) uniform: Option<&'a UniformSampler>,
    pub(crate) random: SplitMix64,
    pub(crate) scratch: &'a mut SampleScratch,
}

impl Draw<'_> {
    /// Any of the segmentations of a pretoken. One that has none becomes what the model makes of
    /// it.
    fn uniform<M: Model>(
        &mut self,
        model: &M,
        pretoken: &[u8],
        scratch: &mut M::Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let SampleScratch { uniform, piece, .. } = &mut *self.scratch;
        if let Some(sampler) = self.uniform {
            piece.clear();
            let drawn = sampler.sample(pretoken, &mut self.random, uniform, |id, _| piece.push(id));
            match drawn {
                Ok(()) => {
                    out.extend_from_slice(piece);
                    return Ok(());
                }
                Err(error) if !matches!(error.kind(), ErrorKind::Unencodable { .. }) => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        model.encode_pretoken(pretoken, scratch, out)
    }
}

impl Engine {
    /// The ways to draw segmentations that there are for this kind, the usual one first.
    pub(crate) fn sampling_methods(&self) -> &'static [SamplingMethod] {
        use SamplingMethod::{Dropout, Nbest, Uniform, Unigram};
        match self {
            Self::Bpe(_) | Self::CharacterBpe(_) => &[Dropout, Uniform],
            Self::WordPiece(_) | Self::Greedy(_) => &[Uniform],
            Self::Unigram(_) => &[Unigram, Nbest],
            Self::Word(_) | Self::Character(_) | Self::RawBytes(_) => &[],
            Self::SentencePiece(engine) => match engine.processor.encoder() {
                SpmEncoder::Unigram(_) => &[Unigram, Nbest],
                SpmEncoder::Bpe(_) => &[Dropout],
                SpmEncoder::Words(_) | SpmEncoder::Chars(_) => &[],
            },
        }
    }

    /// A sampler of all segmentations into the model's own tokens. Added tokens (`is_added`), the
    /// unknown token and byte tokens are never drawn. None for kinds without it.
    pub(crate) fn uniform_sampler(
        &self,
        is_added: impl Fn(u32) -> bool,
    ) -> Result<Option<UniformSampler>> {
        let (prefix, suffix, spells_bytes) = match self {
            Self::Bpe(_) | Self::Greedy(_) => ("", "", false),
            Self::CharacterBpe(pipeline) => {
                let options = pipeline.model().options();
                let affixes = (&options.continuing_prefix, &options.end_of_word_suffix);
                (
                    affixes.0.as_str(),
                    affixes.1.as_str(),
                    options.byte_fallback,
                )
            }
            Self::WordPiece(pipeline) => (pipeline.model().prefix(), "", false),
            _ => return Ok(None),
        };
        let unknown = self.unknown();
        let mut drawn = Vocab::default();
        for (id, token) in self.vocab().iter() {
            let stands_for_byte =
                spells_bytes && crate::models::unigram::piece::byte_of(token).is_some();
            let not_drawn = is_added(id)
                || unknown == Some(id)
                || stands_for_byte
                || self.vocab().bytes_to_id(token) != Some(id);
            if not_drawn {
                drawn.insert_opaque(id, token)?;
            } else {
                drawn.insert(id, token)?;
            }
        }
        UniformSampler::new(&drawn, prefix.as_bytes(), suffix.as_bytes()).map(Some)
    }

    /// Appends the ids of a drawn segmentation of text in which nothing special is left.
    pub(crate) fn sample(
        &self,
        text: &str,
        origin: Origin<'_>,
        draw: &mut Draw<'_>,
        scratch: &mut EngineScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let models = &mut scratch.models;
        match (self, draw.sampling) {
            (Self::Bpe(pipeline), Sampling::Dropout { probability }) => {
                let model = pipeline.model();
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    let (random, scratch) = (&mut draw.random, &mut draw.scratch.dropout);
                    let each = |id, _| out.push(id);
                    model.encode_with_dropout(pretoken, probability, random, scratch, each)
                })
            }
            (Self::CharacterBpe(pipeline), Sampling::Dropout { probability }) => {
                let model = pipeline.model();
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    let (random, scratch) = (&mut draw.random, &mut draw.scratch.dropout);
                    let each = |id, _| out.push(id);
                    model.encode_with_dropout(pretoken, probability, random, scratch, each)
                })
            }
            (Self::Bpe(pipeline), Sampling::Uniform) => {
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    draw.uniform(pipeline.model(), pretoken, &mut models.bpe, out)
                })
            }
            (Self::CharacterBpe(pipeline), Sampling::Uniform) => {
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    let scratch = &mut models.character_bpe;
                    draw.uniform(pipeline.model(), pretoken, scratch, out)
                })
            }
            (Self::Greedy(pipeline), Sampling::Uniform) => {
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    draw.uniform(pipeline.model(), pretoken, &mut models.greedy, out)
                })
            }
            (Self::WordPiece(pipeline), Sampling::Uniform) => {
                let model = pipeline.model();
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    // A word that is too long is unknown, whatever it could be cut into.
                    if n_chars(pretoken) > model.max_chars() {
                        return model.encode_pretoken(pretoken, &mut models.wordpiece, out);
                    }
                    draw.uniform(model, pretoken, &mut models.wordpiece, out)
                })
            }
            (Self::Unigram(pipeline), Sampling::Unigram { alpha }) => {
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    let random = &mut draw.random;
                    pipeline.model().sample(pretoken, alpha, random, out)
                })
            }
            (Self::Unigram(pipeline), Sampling::Nbest { n, alpha }) => {
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    let random = &mut draw.random;
                    pipeline
                        .model()
                        .sample_nbest(pretoken, n, alpha, random, out)
                })
            }
            (Self::SentencePiece(engine), sampling) => {
                let (n, alpha) = match sampling {
                    Sampling::Dropout { probability } => (None, probability),
                    Sampling::Unigram { alpha } => (None, alpha),
                    Sampling::Nbest { n, alpha } => (Some(n), alpha),
                    Sampling::Uniform => (None, 0.0),
                };
                engine.processor.normalizer().check(text)?;
                let normalized = engine.processor.normalizer().normalize(text);
                let spans = &mut draw.scratch.spans;
                spans.clear();
                engine.processor.encoder().sample(
                    normalized.as_bytes(),
                    n,
                    alpha,
                    &mut draw.random,
                    &mut scratch.spm,
                    spans,
                )?;
                out.extend(spans.iter().map(|span| span.id));
                Ok(())
            }
            // Methods are checked before; what is left has but one segmentation.
            _ => self.encode(text, origin, scratch, out),
        }
    }
}

/// Code points of UTF-8: bytes that do not continue one.
fn n_chars(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

/// The pretokens of a text, one after the other.
pub(super) fn for_each_pretoken(
    pretokenizer: &PreTokenizer,
    text: &str,
    origin: Origin<'_>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if pretokenizer.rewrites() {
        let pieces = pretokenizer.pieces(text, origin, false)?;
        let bytes = pieces.text.as_bytes();
        return pieces
            .ranges
            .iter()
            .try_for_each(|&(start, end)| each(&bytes[start..end]));
    }
    pretokenizer.split(text, |start, end| each(&text.as_bytes()[start..end]))
}
