//! Text to ids by chance: one text in many segmentations, which makes a model robust.
//!
//! A draw depends on the seed, the text's number in its batch and the text alone: each text has a
//! stream of random numbers of its own.

use super::Tokenizer;
use super::encode::Parts;
use crate::documents::parallel::map_texts;
use crate::documents::texts::Documents;
use crate::documents::token_batch::TokenBatch;
use crate::engine::{Draw, Engine, EngineScratch, SampleScratch, Sampling, SamplingMethod};
use crate::error::{Error, Result};
use crate::models::uniform_sampling::UniformSampler;
use crate::models::unigram::{MAX_NBEST, SplitMix64};
use crate::pretokenize::rewriting::Origin;
use crate::special::Allow;

/// Share of merges left out, unless the file or the caller says otherwise. Provilkov, Emelianenko
/// and Voita, "BPE-Dropout" (ACL 2020), use it for all languages but Chinese and Japanese.
pub const DEFAULT_DROPOUT: f64 = 0.1;
/// The exponent of probabilities unless the caller says otherwise: segmentations as probable as the
/// model has them.
pub const DEFAULT_ALPHA: f64 = 1.0;

/// Sampling settings of a caller; missing ones are filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SamplingOptions {
    /// None: the method that the parameters belong to, or the model's usual one.
    pub method: Option<SamplingMethod>,
    /// How often a merge is left out, 0 to 1. None: as the file says, or [`DEFAULT_DROPOUT`].
    pub dropout: Option<f64>,
    /// The exponent of probabilities, 0 or more. None: [`DEFAULT_ALPHA`].
    pub alpha: Option<f64>,
    /// Number of best segmentations to draw from, 1 to [`MAX_NBEST`]; the method `nbest` needs it.
    pub nbest: Option<usize>,
}

/// Ids of drawn segmentations.
struct Drawn<'a> {
    draw: Draw<'a>,
    ids: &'a mut Vec<u32>,
}

impl Parts for Drawn<'_> {
    fn text(
        &mut self,
        engine: &Engine,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
    ) -> Result<()> {
        engine.sample(text, origin, &mut self.draw, scratch, self.ids)
    }

    fn token(&mut self, id: u32) {
        self.ids.push(id);
    }
}

impl Tokenizer {
    /// The ways to draw segmentations that this tokenizer has, the usual one first; none if every
    /// text has but one segmentation.
    pub fn sampling_methods(&self) -> &'static [SamplingMethod] {
        self.engine.sampling_methods()
    }

    /// Fills in and checks what a caller asked for.
    pub fn sampling(&self, options: SamplingOptions) -> Result<Sampling> {
        let SamplingOptions {
            method,
            dropout,
            alpha,
            nbest,
        } = options;
        let methods = self.sampling_methods();
        let Some(&usual) = methods.first() else {
            return Err(Error::usage(format!(
                "this is a {} tokenizer, which has one segmentation of each text: nothing can be drawn",
                self.algorithm()
            )));
        };
        let implied = match (dropout, nbest) {
            (Some(_), _) => SamplingMethod::Dropout,
            (None, Some(_)) => SamplingMethod::Nbest,
            (None, None) if alpha.is_some() => SamplingMethod::Unigram,
            (None, None) => usual,
        };
        let method = method.unwrap_or(implied);
        if !methods.contains(&method) {
            let names: Vec<_> = methods.iter().map(|method| method.name()).collect();
            return Err(Error::usage(format!(
                "this {} tokenizer cannot draw by {:?}; it has {}",
                self.algorithm(),
                method.name(),
                names.join(" and ")
            )));
        }
        let takes = |name: &str, given: bool, taken: bool| {
            if taken || !given {
                return Ok(());
            }
            Err(Error::usage(format!(
                "{name} is no parameter of the method {:?}",
                method.name()
            )))
        };
        let has_alpha = matches!(method, SamplingMethod::Unigram | SamplingMethod::Nbest);
        takes(
            "dropout",
            dropout.is_some(),
            method == SamplingMethod::Dropout,
        )?;
        takes("alpha", alpha.is_some(), has_alpha)?;
        takes("nbest", nbest.is_some(), method == SamplingMethod::Nbest)?;
        let alpha = alpha.unwrap_or(DEFAULT_ALPHA);
        if !(alpha >= 0.0 && alpha.is_finite()) {
            return Err(Error::usage(format!(
                "alpha is {alpha}; expected a finite number of 0 or more"
            )));
        }
        Ok(match method {
            SamplingMethod::Uniform => Sampling::Uniform,
            SamplingMethod::Unigram => Sampling::Unigram { alpha },
            SamplingMethod::Dropout => {
                let probability = dropout.or(self.dropout).unwrap_or(DEFAULT_DROPOUT);
                if !(0.0..=1.0).contains(&probability) {
                    return Err(Error::usage(format!(
                        "dropout is {probability}; expected a number from 0 to 1"
                    )));
                }
                Sampling::Dropout { probability }
            }
            SamplingMethod::Nbest => match nbest {
                Some(n) if (1..=MAX_NBEST).contains(&n) => Sampling::Nbest { n, alpha },
                Some(n) => {
                    let reason = format!("nbest is {n}; expected 1 to {MAX_NBEST}");
                    return Err(Error::usage(reason));
                }
                None => {
                    return Err(Error::usage(format!(
                        "the method \"nbest\" needs nbest, from 1 to {MAX_NBEST}: among how many to draw"
                    )));
                }
            },
        })
    }

    /// Appends the ids of a drawn segmentation: the draw of the text with this `index` in a batch.
    ///
    /// Special and added tokens, normalization and template are as in encoding.
    pub fn sample_into(
        &self,
        text: &str,
        (seed, index): (u64, u64),
        sampling: Sampling,
        allow: &Allow,
        add_special_tokens: bool,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let uniform = self.uniform_for(sampling)?;
        let mut memory = SampleScratch::default();
        self.pool.with(|scratch| {
            let mut drawn = Drawn {
                draw: Draw {
                    sampling,
                    uniform,
                    random: SplitMix64::stream(seed, index),
                    scratch: &mut memory,
                },
                ids: out,
            };
            self.encode_with(text, allow, add_special_tokens, scratch, &mut drawn)
        })
    }

    /// Draws a segmentation of each of many texts, which must be valid UTF-8: text `i` as
    /// [`Self::sample_into`] with the index `i`, whatever the number of threads.
    #[allow(clippy::too_many_arguments)] // those of encoding a batch, and how to draw
    pub fn sample_batch(
        &self,
        documents: &dyn Documents,
        seed: u64,
        sampling: Sampling,
        allow: &Allow,
        add_special_tokens: bool,
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<TokenBatch> {
        let uniform = self.uniform_for(sampling)?;
        let parts = map_texts(documents, threads, keep_going, &|range| {
            let mut part = TokenBatch::default();
            let mut memory = SampleScratch::default();
            let mut room = Vec::new();
            self.pool.with(|scratch| -> Result<()> {
                for index in range {
                    let mut drawn = Drawn {
                        draw: Draw {
                            sampling,
                            uniform,
                            random: SplitMix64::stream(seed, index as u64),
                            scratch: &mut memory,
                        },
                        ids: &mut part.ids,
                    };
                    let text = documents.text(index, &mut room)?;
                    self.encode_with(text, allow, add_special_tokens, scratch, &mut drawn)?;
                    part.offsets.push(part.ids.len() as i64);
                }
                Ok(())
            })?;
            Ok(part)
        })?;
        Ok(TokenBatch::concat(parts, documents.len()))
    }

    /// The sampler of all segmentations, compiled the first time.
    fn uniform_for(&self, sampling: Sampling) -> Result<Option<&UniformSampler>> {
        if sampling != Sampling::Uniform {
            return Ok(None);
        }
        if self.uniform.get().is_none() {
            let tokens = self.added_tokens();
            let is_added = |id| tokens.binary_search_by_key(&id, |token| token.id).is_ok();
            if let Some(made) = self.engine.uniform_sampler(is_added)? {
                // Another thread may have been faster; its sampler is the same.
                let _ = self.uniform.set(Box::new(made));
            }
        }
        Ok(self.uniform.get())
    }
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
