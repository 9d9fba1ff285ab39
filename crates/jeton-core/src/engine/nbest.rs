//! The best segmentations of a text, part by part, where the model knows which are better.

use super::Engine;
use super::sample::for_each_pretoken;
use crate::error::Result;
use crate::models::unigram::SpannedId;
use crate::pretokenize::rewriting::Origin;
use crate::sentencepiece::SpmEncoder;

/// A segmentation of a part of a text, and its score.
pub(crate) type Alternative = (Vec<u32>, f64);

impl Engine {
    /// True if the model scores segmentations.
    pub(crate) fn has_scores(&self) -> bool {
        match self {
            Self::Unigram(_) => true,
            Self::SentencePiece(engine) => {
                matches!(engine.processor.encoder(), SpmEncoder::Unigram(_))
            }
            _ => false,
        }
    }

    /// The `n` best segmentations of each part of a text that the model sees by itself: pretokens,
    /// or all of it. Nothing from models without scores.
    pub(crate) fn nbest(
        &self,
        text: &str,
        origin: Origin<'_>,
        n: usize,
        mut each: impl FnMut(Vec<Alternative>),
    ) -> Result<()> {
        let ids = |found: Vec<(Vec<SpannedId>, f64)>| {
            let id_of = |spans: &[SpannedId]| spans.iter().map(|span| span.id).collect();
            let alternatives = found.iter().map(|(spans, score)| (id_of(spans), *score));
            alternatives.collect()
        };
        match self {
            Self::Unigram(pipeline) => {
                for_each_pretoken(pipeline.pretokenizer(), text, origin, |pretoken| {
                    each(ids(pipeline.model().nbest(pretoken, n)?));
                    Ok(())
                })
            }
            Self::SentencePiece(engine) => {
                if let SpmEncoder::Unigram(model) = engine.processor.encoder() {
                    engine.processor.normalizer().check(text)?;
                    let normalized = engine.processor.normalizer().normalize(text);
                    each(ids(model.nbest(normalized.as_bytes(), n)?));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
