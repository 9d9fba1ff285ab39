//! Raw words without a model: what a trainer counts, so that each distinct word is normalized and
//! cut once.

use super::plan::is_cut_at_white_space;
use super::scan::{ODD, Scan, WORD, WordBounds};
use super::{Inside, LOOKUP_PARTS, RawWords};
use crate::error::Result;
use crate::normalize::{Normalizer, NormalizerConfig};
use crate::pretokenize::StepConfig;

/// Callback that gets some words of a text: their beginnings, and their ends.
pub type EachWords<'f> = dyn FnMut(&[usize], &[usize]) -> Result<()> + 'f;

/// How raw text is cut into words that lie apart.
#[derive(Debug)]
pub struct RawCuts(RawWords);

impl RawCuts {
    /// The cuts of these steps; None if they are not known, or words do not lie apart.
    pub fn new(
        normalizer: &Normalizer,
        configs: &[NormalizerConfig],
        steps: &[StepConfig],
    ) -> Result<Option<Self>> {
        if !is_cut_at_white_space(steps) {
            return Ok(None);
        }
        match normalizer.separate(configs)? {
            Some(known) => Ok(RawWords::apart(normalizer, configs, &known, steps)?.map(Self)),
            None => Ok(None),
        }
    }

    /// Calls `each` with where the words of a text begin and end, some at a time, in order.
    pub fn each(&self, text: &str, each: &mut EachWords<'_>) -> Result<()> {
        let mut found = WordBounds::default();
        let mut scan = Scan::new(&self.0.scanner, text, &mut found);
        loop {
            let n = scan.more(&mut found);
            if n == 0 {
                return Ok(());
            }
            each(&found.starts[..n], &found.ends[..n])?;
        }
    }

    /// True if a long word may have parts that are words themselves.
    pub fn has_parts(&self, word: &str) -> bool {
        !matches!(self.0.inside, Inside::Nowhere) && !word.is_ascii()
    }

    /// Calls `each` with every part of a word, in order.
    pub fn parts(&self, word: &str, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let mut ends = [0; LOOKUP_PARTS];
        let mut from = 0;
        loop {
            let n = self.0.inside.ends(word, from, &mut ends);
            if n == 0 {
                return Ok(());
            }
            for &end in &ends[..n] {
                each(&word[from..end])?;
                from = end;
            }
        }
    }

    /// Replaces a text by the only pretoken of a word, where a table knows it; says whether it did.
    pub fn pretoken(&self, word: &[u8], pretoken: &mut String) -> bool {
        self.0.spell(word, pretoken)
    }

    /// The first place at or behind another at which a text can be cut in two: white space between
    /// characters of ASCII that join nothing.
    pub fn place(&self, text: &[u8], from: usize) -> Option<usize> {
        let members = &self.0.scanner.members;
        let is_word = |byte: u8| {
            let member = members[usize::from(byte)];
            byte.is_ascii() && member & WORD != 0 && member & ODD == 0
        };
        let is_between = |byte: u8| byte.is_ascii() && members[usize::from(byte)] == 0;
        let behind = text.get(from..)?;
        let cut = behind
            .windows(3)
            .position(|near| is_word(near[0]) && is_between(near[1]) && is_word(near[2]))?;
        Some(from + cut + 1)
    }
}
