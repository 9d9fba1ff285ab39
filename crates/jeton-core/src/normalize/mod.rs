//! Normalization: the text as the model sees it, with a map back to the text as it was given.

pub mod bert;
pub mod case;
pub mod charsmap;
pub mod charsmap_rules;
pub mod clip;
mod forms;
pub mod precompiled;
pub mod replace;
mod resume;
mod separate;
pub mod strip;

use std::borrow::Cow;

pub use forms::{Form, FormNormalizer};
pub(crate) use resume::is_cluster;
pub(crate) use separate::Separate;
use serde::{Deserialize, Serialize};

use self::bert::{BertConfig, BertNormalizer};
use self::clip::Cleaner;
use self::precompiled::Precompiled;
use self::replace::{Replace, ReplaceConfig, ReplacePattern};
use self::strip::{Strip, StripMarks};
use crate::codec::base64::Base64Bytes;
use crate::error::Result;
use crate::text::alignment::{Alignment, compose};
use crate::text::growth::{GrowthLimit, Room, check_written};
use crate::text::unicode::UnicodeVersion;

/// How a normalization step is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum NormalizerConfig {
    /// A Unicode normalization form (UAX #15), with the tables of a version.
    Form {
        /// The form.
        form: Form,
        /// The version whose characters it knows; later ones are left alone.
        unicode: UnicodeVersion,
    },
    /// BERT's clean-up.
    Bert(BertConfig),
    /// White space goes from the ends.
    Strip {
        /// From the beginning.
        left: bool,
        /// From the end.
        right: bool,
    },
    /// Combining marks go.
    StripAccents,
    /// Characters become lower case, one by one.
    Lowercase,
    /// The clean-up of Google's neural machine translation.
    Nmt,
    /// Matches of a string or pattern become a text.
    Replace(ReplaceConfig),
    /// A text is put in front, unless there is none to put it in front of.
    Prepend {
        /// The text.
        prefix: String,
    },
    /// Bytes are written in GPT-2's alphabet.
    ByteLevel,
    /// The rules of a SentencePiece model, as `tokenizers` applies them: grapheme by grapheme.
    Precompiled {
        /// The rules.
        charsmap: Base64Bytes,
    },
    /// The cleaning of OpenAI's CLIP.
    Clip,
}

/// A compiled sequence of normalization steps.
#[derive(Debug, Default)]
pub struct Normalizer {
    steps: Vec<Step>,
    growth: GrowthLimit,
}

/// A text that steps are tried on at load: a letter that all forms take apart.
const PROBE: &str = " a\u{fdfa}";

/// The stage that errors name.
const STAGE: &str = "normalization";

#[derive(Debug)]
enum Step {
    Form(FormNormalizer),
    Bert(Box<BertNormalizer>),
    Strip(Strip),
    StripAccents(StripMarks),
    Lowercase,
    Nmt,
    Replace(Box<Replace>),
    Prepend(String),
    ByteLevel,
    Precompiled(Box<Precompiled>),
    Clip(Box<Cleaner>),
}

impl Step {
    fn new(config: &NormalizerConfig) -> Result<Self> {
        Ok(match config {
            NormalizerConfig::Form { form, unicode } => {
                Self::Form(FormNormalizer::new(*form, *unicode)?)
            }
            NormalizerConfig::Bert(config) => Self::Bert(Box::new(BertNormalizer::new(*config)?)),
            &NormalizerConfig::Strip { left, right } => Self::Strip(Strip { left, right }),
            NormalizerConfig::StripAccents => Self::StripAccents(StripMarks::new()?),
            NormalizerConfig::Lowercase => Self::Lowercase,
            NormalizerConfig::Nmt => Self::Nmt,
            NormalizerConfig::Replace(config) => {
                check_written("bytes of a normalizer's replacement", &config.content)?;
                Self::Replace(Box::new(Replace::new(config)?))
            }
            NormalizerConfig::Prepend { prefix } => {
                check_written("bytes that a normalizer prepends", prefix)?;
                Self::Prepend(prefix.clone())
            }
            NormalizerConfig::ByteLevel => Self::ByteLevel,
            NormalizerConfig::Precompiled { charsmap } => {
                Self::Precompiled(Box::new(Precompiled::new(charsmap)?))
            }
            NormalizerConfig::Clip => Self::Clip(Box::new(Cleaner::new()?)),
        })
    }

    /// The normalized text; None if it is the same. `room`: bytes that it may have.
    fn normalize(&self, text: &str, room: Room) -> Result<Option<String>> {
        let made = match self {
            Self::Form(form) => form.normalize(text),
            Self::Bert(bert) => bert.normalize(text),
            Self::Strip(strip) => strip.normalize(text),
            Self::StripAccents(marks) => marks.normalize(text),
            Self::Lowercase => case::normalize(text),
            Self::Nmt => strip::nmt::normalize(text),
            Self::Replace(replace) => replace.normalize(text, room)?,
            Self::Prepend(prefix) => strip::prepend::normalize(text, prefix),
            Self::ByteLevel => strip::byte_level::normalize(text),
            Self::Precompiled(rules) => rules.normalize(text, room)?,
            Self::Clip(cleaner) => Some(cleaner.clean(text)?).filter(|cleaned| cleaned != text),
        };
        if let Some(made) = &made {
            room.check(STAGE, made.len())?;
        }
        Ok(made)
    }

    /// True if text may come from elsewhere though it reads the same.
    fn may_move(&self) -> bool {
        matches!(self, Self::Replace(_) | Self::Precompiled(_))
    }

    /// Where each stretch of the normalized text comes from.
    fn align(&self, text: &str) -> Result<Alignment> {
        Ok(match self {
            Self::Form(form) => form.align(text),
            Self::Bert(bert) => bert.align(text),
            Self::Strip(strip) => strip.align(text),
            Self::StripAccents(marks) => marks.align(text),
            Self::Lowercase => case::align(text),
            Self::Nmt => strip::nmt::align(text),
            Self::Replace(replace) => replace.align(text)?,
            Self::Prepend(prefix) => strip::prepend::align(text, prefix),
            Self::ByteLevel => strip::byte_level::align(text),
            Self::Precompiled(rules) => rules.align(text),
            Self::Clip(cleaner) => cleaner.align(text)?,
        })
    }
}

impl Normalizer {
    /// Compiles a sequence of steps. The steps are tried on the texts that they replace and on a
    /// probe. A sequence that makes a book of them is refused.
    pub fn new(configs: &[NormalizerConfig]) -> Result<Self> {
        let made = Self {
            steps: configs.iter().map(Step::new).collect::<Result<_>>()?,
            growth: GrowthLimit::at_load(),
        };
        for config in configs {
            if let NormalizerConfig::Replace(ReplaceConfig {
                pattern: ReplacePattern::String(text),
                ..
            }) = config
            {
                made.normalize(text)?;
            }
        }
        if !configs.is_empty() {
            made.normalize(PROBE)?;
        }
        Ok(Self {
            growth: GrowthLimit::default(),
            ..made
        })
    }

    /// How much longer texts may become.
    pub(crate) fn growth(&self) -> &GrowthLimit {
        &self.growth
    }

    /// True if this never changes any text.
    pub fn is_identity(&self) -> bool {
        self.steps.is_empty()
    }

    /// The normalized text. Fails only where a pattern gives up on a text.
    pub fn normalize<'t>(&self, text: &'t str) -> Result<Cow<'t, str>> {
        let room = self.growth.room(text.len());
        let mut text = Cow::Borrowed(text);
        for step in &self.steps {
            if let Some(changed) = step.normalize(&text, room)? {
                text = Cow::Owned(changed);
            }
        }
        Ok(text)
    }

    /// The normalized text and where each stretch of it came from.
    pub fn normalize_aligned<'t>(&self, text: &'t str) -> Result<(Cow<'t, str>, Alignment)> {
        let room = self.growth.room(text.len());
        let mut result = Cow::Borrowed(text);
        let mut alignment = Alignment::identity(text.len());
        for step in &self.steps {
            let changed = step.normalize(&result, room)?;
            if changed.is_some() || step.may_move() {
                alignment = compose(&alignment, &step.align(&result)?);
            }
            if let Some(changed) = changed {
                result = Cow::Owned(changed);
            }
        }
        Ok((result, alignment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nfc() -> Normalizer {
        Normalizer::new(&[NormalizerConfig::Form {
            form: Form::Nfc,
            unicode: UnicodeVersion(16, 0),
        }])
        .unwrap()
    }

    #[test]
    fn ranges_lead_back_to_the_original() {
        let (text, alignment) = nfc().normalize_aligned("ae\u{301}b").unwrap();
        assert_eq!(text, "aéb");
        let mut lookup = alignment.lookup();
        assert_eq!(lookup.source_range(0, 1), (0, 1));
        // A composed character comes from the first of its parts, as in the reference.
        assert_eq!(lookup.source_range(1, 3), (1, 2));
        assert_eq!(lookup.source_range(1, 2), (1, 2));
        assert_eq!(lookup.source_range(3, 4), (4, 5));
        let mut lookup = alignment.lookup();
        assert_eq!(lookup.covering_range(0, 1), (0, 1));
        assert_eq!(lookup.covering_range(0, 3), (0, 4));
        assert_eq!(lookup.covering_range(1, 3), (1, 4));
        assert_eq!(lookup.covering_range(3, 4), (4, 5));
    }

    proptest! {
        #[test]
        fn alignment_covers_both_texts(choices in prop::collection::vec(any::<usize>(), 0..20)) {
            let text = jeton_testing::hostile_text(&choices);
            let steps = [
                NormalizerConfig::Prepend { prefix: " ".to_owned() },
                NormalizerConfig::Form { form: Form::Nfd, unicode: UnicodeVersion(16, 0) },
                NormalizerConfig::Form { form: Form::Nfc, unicode: UnicodeVersion(16, 0) },
            ];
            let normalizer = Normalizer::new(&steps).unwrap();
            let (normalized, alignment) = normalizer.normalize_aligned(&text).unwrap();
            prop_assert_eq!(&normalized, &normalizer.normalize(&text).unwrap());
            prop_assert_eq!(alignment.stretches.iter().map(|s| s.target_bytes).sum::<usize>(), normalized.len());
            let mut lookup = alignment.lookup();
            let mut previous = 0;
            for (start, c) in normalized.char_indices() {
                let (from, to) = lookup.source_range(start, start + c.len_utf8());
                prop_assert!(from <= to && to <= text.len() && from >= previous);
                prop_assert!(text.is_char_boundary(from) && text.is_char_boundary(to));
                previous = from;
            }
        }
    }
}
