//! What normalization makes of single characters, where neighbours do not matter.
//!
//! A *cut* between two characters is a place at which every step starts afresh: what it makes of the text is what it
//! makes of the two parts, put one after the other. For each step this holds beside a character of ASCII that has
//! an *image*: one character that the step makes of it, whatever stands beside it.
//! - Forms and BERT's steps: ASCII are starters that decompose to themselves, and nothing changes places across a
//!   starter. Nothing composes with a character before it *into* one of ASCII; with one behind it some do
//!   (`composes`).
//! - Steps that look at one character at a time.
//! - Replacing a text: a match goes across a place beside a character only if it has that character.
//! - Runs of two and more spaces that become one: a cut lies beside such a run or there is none.
//! - The rules of a SentencePiece model in `tokenizers`: clusters, which two characters of [`is_cluster`] never share.

use super::replace::ReplacePattern;
use super::{Form, Normalizer, NormalizerConfig, Step, is_cluster};
use crate::error::Result;

/// Runs of spaces, as published files write them.
const SPACES: &str = " {2,}";

/// What is known of a normalization, character by character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Separate {
    /// What each character of ASCII becomes, if neighbours do not matter.
    pub(crate) images: [Option<char>; 128],
    /// Whether a cut needs characters on both sides that never share a cluster.
    pub(crate) clusters: bool,
    /// Whether a character may join the one of ASCII before it.
    pub(crate) composes: bool,
    /// Characters of ASCII that stand in a text that is changed as one, but not at its beginning.
    pub(crate) inside: [bool; 128],
    /// Characters of ASCII with which such a text begins that goes on in ASCII.
    pub(crate) opens: [bool; 128],
    /// What is put in front of the whole text.
    pub(crate) prefix: Option<String>,
    /// Whether characters of several bytes may become white space, or nothing, without being `barred`.
    pub(crate) hides_spaces: bool,
    /// Whether nothing changes but spaces, each by itself.
    pub(crate) only_spaces: bool,
    /// Characters with which something ends that becomes nothing, or something with white space at its end;
    /// sorted. Those of ASCII have no image.
    pub(crate) barred: Vec<char>,
}

impl Separate {
    /// Of what is not normalized at all.
    pub(crate) fn identity() -> Self {
        let mut images = [None; 128];
        for (c, image) in ('\0'..).zip(&mut images) {
            *image = Some(c);
        }
        Self {
            images,
            clusters: false,
            composes: false,
            inside: [false; 128],
            opens: [false; 128],
            prefix: None,
            hides_spaces: false,
            only_spaces: true,
            barred: Vec::new(),
        }
    }

    /// Takes note of a rule: the text that it changes, and what to.
    pub(crate) fn bar(&mut self, from: &str, to: &str) {
        if !to.is_empty() && !to.ends_with(|c: char| c.is_whitespace() || c == '\u{2581}') {
            return;
        }
        if let Some(last) = from.chars().next_back() {
            // One character that becomes a space has that image; longer texts are another matter.
            if !last.is_ascii() || from.len() > 1 || to.is_empty() {
                self.barred.push(last);
            }
        }
    }

    /// Takes note of a text that is changed as one, or kept as one.
    pub(crate) fn join(&mut self, from: &[u8]) {
        for byte in from.iter().skip(1) {
            if let Some(inside) = self.inside.get_mut(usize::from(*byte)) {
                *inside = true;
            }
        }
        if let [first, second, ..] = from
            && let Some(opens) = self.opens.get_mut(usize::from(*first))
        {
            *opens |= second.is_ascii();
        }
    }

    /// Puts things in order.
    pub(crate) fn finish(&mut self) {
        self.barred.sort_unstable();
        self.barred.dedup();
        for c in self.barred.iter().filter(|c| c.is_ascii()) {
            self.images[*c as usize] = None;
        }
    }
}

impl Normalizer {
    /// What is known of the steps that were compiled from this; None: nothing that would be of use.
    pub(crate) fn separate(&self, configs: &[NormalizerConfig]) -> Result<Option<Separate>> {
        let mut known = Separate::identity();
        for (index, (step, config)) in self.steps.iter().zip(configs).enumerate() {
            known.only_spaces &= match config {
                NormalizerConfig::Replace(replace) => {
                    replace.pattern == ReplacePattern::String(" ".to_owned())
                        && replace.content == "\u{2581}"
                }
                config => matches!(config, NormalizerConfig::Prepend { .. }),
            };
            match config {
                NormalizerConfig::Bert(_)
                | NormalizerConfig::StripAccents
                | NormalizerConfig::Lowercase
                | NormalizerConfig::Nmt => known.hides_spaces = true,
                NormalizerConfig::Form { form, .. } => {
                    known.hides_spaces = true;
                    known.composes |= matches!(form, Form::Nfc | Form::Nfkc);
                }
                NormalizerConfig::Replace(replace) => match &replace.pattern {
                    ReplacePattern::String(text) if text.chars().nth(1).is_some() => {
                        for image in &mut known.images {
                            *image = image.filter(|&c| !text.contains(c));
                        }
                        known.bar(text, &replace.content);
                        continue;
                    }
                    ReplacePattern::String(text) if !text.is_empty() => {
                        known.bar(text, &replace.content);
                    }
                    ReplacePattern::Regex(pattern)
                        if pattern == SPACES && replace.content == " " =>
                    {
                        continue;
                    }
                    _ => return Ok(None),
                },
                NormalizerConfig::Prepend { prefix } if index == 0 => {
                    known.prefix = Some(prefix.clone());
                    continue;
                }
                NormalizerConfig::Precompiled { .. } => {
                    known.clusters = true;
                    for image in &mut known.images {
                        *image = image.filter(|&c| is_cluster(c));
                    }
                    if let Step::Precompiled(rules) = step {
                        rules.each_rule(|from, to| known.bar(&String::from_utf8_lossy(from), to));
                    }
                }
                NormalizerConfig::Prepend { .. }
                | NormalizerConfig::Strip { .. }
                | NormalizerConfig::ByteLevel
                | NormalizerConfig::Clip => return Ok(None),
            }
            for image in &mut known.images {
                *image = match *image {
                    // What is not ASCII any more may look at its neighbours, but to replace one character.
                    Some(c) if c.is_ascii() || matches!(step, Step::Replace(_)) => {
                        only(&step.normalize_char(c)?)
                    }
                    _ => None,
                };
            }
        }
        known.finish();
        Ok(Some(known))
    }
}

impl Step {
    fn normalize_char(&self, c: char) -> Result<String> {
        let mut buffer = [0; 4];
        let text: &str = c.encode_utf8(&mut buffer);
        Ok(self.normalize(text)?.unwrap_or_else(|| text.to_owned()))
    }
}

/// The character that a text is.
fn only(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}
