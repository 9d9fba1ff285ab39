//! From documents to pretokens: the part of a tokenizer that comes before its model, as training
//! needs it.
//!
//! Two families: the steps of a pipeline (normalizer, pre-tokenizer), and SentencePiece's own way.
//! Both are data, so that counts on disk can say what they were cut with.

use serde::{Deserialize, Serialize};

use jeton_core::error::{Error, Result};
use jeton_core::normalize::{Normalizer, NormalizerConfig};
use jeton_core::pretokenize::rewriting::Origin;
use jeton_core::pretokenize::{PreTokenizer, StepConfig, TextPieces};
use jeton_core::raw_words::RawCuts;

use super::sentences::{SentenceConfig, SentenceCutter};

/// How documents become pretokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum CutConfig {
    /// By a normalizer and a pre-tokenizer.
    Steps {
        /// Normalization steps, in order.
        normalizer: Vec<NormalizerConfig>,
        /// Steps of pre-tokenization, in order.
        pretokenizer: Vec<StepConfig>,
    },
    /// Line by line, as SentencePiece does.
    Sentences(SentenceConfig),
}

impl CutConfig {
    /// Reads what [`to_json`](Self::to_json) wrote.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| {
            Error::usage(format!(
                "the description of cutting cannot be read: {error}"
            ))
        })
    }

    /// As JSON in a fixed order: equal texts mean equal cutting.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::usage(error.to_string()))
    }
}

/// A compiled [`CutConfig`].
#[derive(Debug)]
pub struct Cutter {
    config: CutConfig,
    compiled: Compiled,
}

/// Compiled steps of a pipeline: what is counted at the encoder's speed.
#[derive(Debug)]
pub struct Steps {
    normalizer: Normalizer,
    pretokenizer: PreTokenizer,
    raw: Option<RawCuts>,
}

impl Steps {
    /// Compiles. Fails where a pattern or a charsmap is refused.
    pub fn new(normalizer: &[NormalizerConfig], pretokenizer: &[StepConfig]) -> Result<Self> {
        let compiled = Normalizer::new(normalizer)?;
        Ok(Self {
            raw: RawCuts::new(&compiled, normalizer, pretokenizer)?,
            normalizer: compiled,
            pretokenizer: PreTokenizer::new(pretokenizer)?,
        })
    }

    pub(crate) fn normalizer(&self) -> &Normalizer {
        &self.normalizer
    }

    pub(crate) fn pretokenizer(&self) -> &PreTokenizer {
        &self.pretokenizer
    }

    /// How raw text is cut where normalization and pre-tokenization start afresh, if that is known.
    pub(crate) fn raw_cuts(&self) -> Option<&RawCuts> {
        self.raw.as_ref()
    }

    /// The pretokens of a text that stays as it is, if one pattern cuts all of it.
    pub(crate) fn pieces_of_text<'s, 't>(&'s self, text: &'t str) -> Option<TextPieces<'s, 't>> {
        if self.normalizer.is_identity() {
            self.pretokenizer.pieces_of_text(text)
        } else {
            None
        }
    }

    /// Calls `each` with every pretoken of a text that was normalized, in order.
    pub(crate) fn cut_normalized(
        &self,
        text: &str,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let bytes = text.as_bytes();
        if !self.pretokenizer.rewrites() {
            return self
                .pretokenizer
                .split(text, |start, end| each(&bytes[start..end]));
        }
        let origin = Origin {
            begins: true,
            ..Origin::default()
        };
        let pieces = self.pretokenizer.pieces(text, origin, false)?;
        for &(start, end) in &pieces.ranges {
            each(&pieces.text.as_bytes()[start..end])?;
        }
        Ok(())
    }
}

#[derive(Debug)]
enum Compiled {
    Steps(Box<Steps>),
    Sentences(Box<SentenceCutter>),
}

impl Cutter {
    /// Compiles. Fails where a pattern or a charsmap is refused.
    pub fn new(config: CutConfig) -> Result<Self> {
        let compiled = match &config {
            CutConfig::Steps {
                normalizer,
                pretokenizer,
            } => Compiled::Steps(Box::new(Steps::new(normalizer, pretokenizer)?)),
            CutConfig::Sentences(sentences) => {
                Compiled::Sentences(Box::new(SentenceCutter::new(sentences)?))
            }
        };
        Ok(Self { config, compiled })
    }

    /// Returns the configuration that it was compiled from.
    pub fn config(&self) -> &CutConfig {
        &self.config
    }

    /// The steps of a pipeline, if that is what it cuts by.
    pub fn steps(&self) -> Option<&Steps> {
        match &self.compiled {
            Compiled::Steps(steps) => Some(steps),
            Compiled::Sentences(_) => None,
        }
    }

    /// Calls `each` with every pretoken of a document, in order.
    pub fn cut(&self, document: &str, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        match &self.compiled {
            Compiled::Sentences(cutter) => {
                cutter.cut(document, each);
                Ok(())
            }
            Compiled::Steps(steps) => {
                let text = steps.normalizer.normalize(document)?;
                steps.cut_normalized(&text, &mut |pretoken| {
                    each(pretoken);
                    Ok(())
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::pretokenize::metaspace::{MetaspaceConfig, PrependScheme};

    fn cut(config: CutConfig, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Cutter::new(config)
            .unwrap()
            .cut(text, &mut |piece| {
                found.push(String::from_utf8(piece.to_vec()).unwrap());
            })
            .unwrap();
        found
    }

    #[test]
    fn steps_that_rewrite_and_steps_that_do_not() {
        let steps = |pretokenizer| CutConfig::Steps {
            normalizer: vec![NormalizerConfig::Lowercase],
            pretokenizer,
        };
        let words: Vec<StepConfig> = jeton_core::pretokenize::components::bert_words().into();
        assert_eq!(cut(steps(words), "Ab, c"), ["ab", ",", "c"]);
        let metaspace = StepConfig::Metaspace(MetaspaceConfig {
            replacement: '\u{2581}',
            prepend_scheme: PrependScheme::Always,
            split: true,
        });
        assert_eq!(
            cut(steps(vec![metaspace]), "Ab c"),
            ["\u{2581}ab", "\u{2581}c"]
        );
        assert_eq!(cut(steps(vec![]), ""), Vec::<String>::new());
    }

    #[test]
    fn a_description_comes_back() {
        for config in [
            CutConfig::Steps {
                normalizer: vec![NormalizerConfig::Nmt],
                pretokenizer: vec![StepConfig::Scripts],
            },
            CutConfig::Sentences(SentenceConfig::default()),
        ] {
            let json = config.to_json().unwrap();
            assert_eq!(CutConfig::from_json(&json).unwrap(), config);
        }
        assert!(CutConfig::from_json("{}").is_err());
    }
}
