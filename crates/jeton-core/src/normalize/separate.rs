//! Normalization of single characters, where neighbours do not matter.
//!
//! A *cut* between two characters is a place at which every step starts afresh: its result is the
//! results of the two parts, one after the other. For each step this holds beside a character of
//! ASCII that has an *image*. The image is the one character that the step makes of it, whatever
//! stands beside it.
//! - Forms and BERT's steps: ASCII are starters that decompose to themselves, and nothing changes
//!   places across a starter. No character composes with one before it *into* ASCII; some compose
//!   with an ASCII one before them (`composes`).
//! - Steps that look at one character at a time.
//! - Replacing a text: a match goes across a place beside a character only if it has that
//!   character.
//! - Runs of two and more spaces that become one: no cut lies inside such a run.
//! - The rules of a SentencePiece model in `tokenizers`: they replace clusters, and two characters
//!   of [`is_cluster`] never share one. A cluster with such a character begins with it, or with a
//!   mark that takes the text behind it ([`prepended`]). There is no rule for such marks.
//!
//! The ASCII character *behind* a cut may still change together with the text behind it (`leads`).

use super::charsmap::Part;
use super::replace::ReplacePattern;
use super::{Form, Normalizer, NormalizerConfig, Step, is_cluster};
use crate::error::Result;
use crate::text::growth::{DEFAULT_MAX_GROWTH, Room};

/// Runs of spaces, as published files write them.
const SPACES: &str = " {2,}";

/// Facts about a normalization, character by character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Separate {
    /// Image of each ASCII character, if neighbours do not matter.
    pub(crate) images: [Option<char>; 128],
    /// True if a cut needs characters on both sides that never share a cluster.
    pub(crate) clusters: bool,
    /// True if a character may join the one of ASCII before it.
    pub(crate) composes: bool,
    /// Characters of ASCII that stand in a text that is changed as one, but not at its beginning.
    pub(crate) inside: [bool; 128],
    /// Characters of ASCII with which such a text begins that goes on in ASCII.
    pub(crate) opens: [bool; 128],
    /// Characters of ASCII with which such a text begins: their result depends on the text behind
    /// them.
    pub(crate) leads: [bool; 128],
    /// Prefix of the whole text.
    pub(crate) prefix: Option<String>,
    /// True if characters of several bytes may become white space, or nothing, without being
    /// `barred`.
    pub(crate) hides_spaces: bool,
    /// True if nothing changes but spaces, each by itself.
    pub(crate) only_spaces: bool,
    /// Last characters of texts that become nothing or a text with white space at its end; sorted.
    /// Barred ASCII characters have no image.
    pub(crate) barred: Vec<char>,
}

impl Separate {
    /// Facts about a text that is not normalized at all.
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
            leads: [false; 128],
            prefix: None,
            hides_spaces: false,
            only_spaces: true,
            barred: Vec::new(),
        }
    }

    /// Takes note of a rule: the last character of the text that it changes, `alone` if that is all
    /// of the text, and its replacement. `later`: the characters that later steps bar, sorted.
    fn bar(&mut self, last: char, alone: bool, to: &str, later: &[char]) {
        let is_space = |c: char| c.is_whitespace() || c == '\u{2581}';
        let is_barred = match to.chars().next_back() {
            None => true,
            // One character that becomes a space has that image; longer texts are another matter.
            Some(end) if is_space(end) => !last.is_ascii() || !alone,
            Some(end) => later.binary_search(&end).is_ok(),
        };
        if is_barred {
            self.barred.push(last);
        }
    }

    /// Bars the characters at both ends of a text.
    fn bar_text(&mut self, from: &str, to: &str, later: &[char]) {
        if let Some(last) = from.chars().next_back() {
            self.bar(last, from.len() == last.len_utf8(), to, later);
        }
    }

    /// Takes note of a part of a text that is changed as one.
    pub(crate) fn join(&mut self, part: Part<'_>) {
        match part {
            Part::Opening(first, second) => {
                if let Some(leads) = self.leads.get_mut(usize::from(first)) {
                    *leads = true;
                    self.opens[usize::from(first)] |= second.is_ascii();
                }
            }
            Part::Inside(byte) => {
                if let Some(inside) = self.inside.get_mut(usize::from(byte)) {
                    *inside = true;
                }
            }
            Part::Ending { last, alone, to } => self.bar(last, alone, to, &[]),
        }
    }

    /// Takes note of a text that is kept as one.
    pub(crate) fn join_text(&mut self, kept: &[u8]) {
        for &byte in kept.iter().skip(1) {
            self.join(Part::Inside(byte));
        }
        if let [first, second, ..] = kept {
            self.join(Part::Opening(*first, *second));
        }
        let kept = String::from_utf8_lossy(kept);
        self.bar_text(&kept, &kept, &[]);
    }

    fn sort(&mut self) {
        self.barred.sort_unstable();
        self.barred.dedup();
    }

    /// Puts things in order.
    pub(crate) fn finish(&mut self) {
        self.sort();
        for c in self.barred.iter().filter(|c| c.is_ascii()) {
            self.images[*c as usize] = None;
        }
    }
}

impl Normalizer {
    /// Returns the facts about the steps that were compiled from `configs`; None if none would be
    /// of use.
    pub(crate) fn separate(&self, configs: &[NormalizerConfig]) -> Result<Option<Separate>> {
        // Words apart from one another are not held to what the whole text may become.
        if self.most_times(configs) > u64::from(DEFAULT_MAX_GROWTH) {
            return Ok(None);
        }
        let mut known = Separate::identity();
        let mut leads = [false; 128];
        for (step, config) in self.steps.iter().zip(configs).rev() {
            let later = known.barred.clone();
            match (config, step) {
                (NormalizerConfig::Replace(replace), _) => {
                    if let ReplacePattern::String(text) = &replace.pattern {
                        known.bar_text(text, &replace.content, &later);
                    }
                }
                (NormalizerConfig::Precompiled { .. }, Step::Precompiled(rules)) => {
                    let is_all = rules.each_part_of_rules(|part| match part {
                        Part::Ending { last, alone, to } => known.bar(last, alone, to, &later),
                        // ASCII characters share no cluster (but for a carriage return and a line
                        // feed).
                        Part::Opening(first, second) if !second.is_ascii() => {
                            if let Some(leads) = leads.get_mut(usize::from(first)) {
                                *leads = true;
                            }
                        }
                        Part::Opening(..) | Part::Inside(_) => {}
                    });
                    let takes_over = |c: char| rules.is_cut_off(c.encode_utf8(&mut [0; 4]));
                    if !is_all || prepended().any(takes_over) {
                        return Ok(None);
                    }
                }
                _ => {}
            }
            known.sort();
        }
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
                        continue;
                    }
                    ReplacePattern::String(text) if !text.is_empty() => {}
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
                    for (is_lead, image) in known.leads.iter_mut().zip(known.images) {
                        *is_lead |= image.is_some_and(|c| leads.get(c as usize) == Some(&true));
                    }
                }
                NormalizerConfig::Prepend { .. }
                | NormalizerConfig::Strip { .. }
                | NormalizerConfig::ByteLevel
                | NormalizerConfig::Clip => return Ok(None),
            }
            for image in &mut known.images {
                *image = match *image {
                    // An image outside ASCII may depend on its neighbours, except where one
                    // character is replaced.
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

impl Normalizer {
    /// Largest growth of a text from the steps' changes of single places, as a factor.
    /// Decompositions by Unicode's tables, or by rules made of them, happen only once.
    fn most_times(&self, configs: &[NormalizerConfig]) -> u64 {
        let (mut forms, mut others) = (1u64, 1u64);
        for (step, config) in self.steps.iter().zip(configs) {
            match (config, step) {
                (NormalizerConfig::Form { .. } | NormalizerConfig::Bert(_), _) => {
                    forms = forms.max(11);
                }
                (_, Step::Precompiled(rules)) => {
                    forms = forms.max(rules.longest_replacement() as u64 / 3);
                }
                (NormalizerConfig::Replace(replace), _) => {
                    let matched = match &replace.pattern {
                        ReplacePattern::String(text) => text.len().max(1),
                        ReplacePattern::Regex(_) => 1,
                    };
                    let times = replace.content.len().div_ceil(matched).max(1);
                    others = others.saturating_mul(times as u64);
                }
                (NormalizerConfig::Lowercase | NormalizerConfig::ByteLevel, _) => {
                    others = others.saturating_mul(2);
                }
                _ => {}
            }
        }
        forms.saturating_mul(others)
    }
}

impl Step {
    fn normalize_char(&self, c: char) -> Result<String> {
        let mut buffer = [0; 4];
        let text: &str = c.encode_utf8(&mut buffer);
        let made = self.normalize(text, Room::ENDLESS)?;
        Ok(made.unwrap_or_else(|| text.to_owned()))
    }
}

/// The character that a text is.
fn only(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// Marks that share a cluster with the character behind them (UAX #29, `Prepend`, Unicode 17).
fn prepended() -> impl Iterator<Item = char> {
    [
        '\u{600}'..='\u{605}',
        '\u{6dd}'..='\u{6dd}',
        '\u{70f}'..='\u{70f}',
        '\u{890}'..='\u{891}',
        '\u{8e2}'..='\u{8e2}',
        '\u{d4e}'..='\u{d4e}',
        '\u{110bd}'..='\u{110bd}',
        '\u{110cd}'..='\u{110cd}',
        '\u{111c2}'..='\u{111c3}',
        '\u{113d1}'..='\u{113d1}',
        '\u{1193f}'..='\u{1193f}',
        '\u{11941}'..='\u{11941}',
        '\u{11a84}'..='\u{11a89}',
        '\u{11d46}'..='\u{11d46}',
        '\u{11f02}'..='\u{11f02}',
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation as _;

    use super::*;

    /// Clusters that end in a character of `is_cluster` begin with it, or with a mark of the list.
    #[test]
    fn the_list_of_marks_is_whole() {
        let takes = |first: char, c: char| {
            let text = format!("{first}{c}");
            // Rules look at clusters of fewer than six bytes only.
            text.len() < 6 && text.graphemes(true).count() == 1
        };
        let found: Vec<char> = ('\0'..=char::MAX)
            .filter(|&c| {
                ['a', '\u{e4}', '\u{4e00}', '\u{ac00}']
                    .iter()
                    .any(|&last| takes(c, last))
            })
            .collect();
        let expected: Vec<char> = prepended().collect();
        assert_eq!(found, expected);
    }
}
