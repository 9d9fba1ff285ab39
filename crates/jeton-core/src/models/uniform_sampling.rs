//! Unbiased sampling: every way to cut a text into tokens of a vocabulary is drawn with the same
//! probability.
//!
//! BPE-dropout prefers some segmentations by far and never draws others; here all are alike,
//! whatever algorithm the vocabulary was made for. Cognetta, Zouhar and Okazaki, "Distributional
//! Properties of Subword Regularization" (EMNLP 2024). How many ways there are to go on from each
//! place is counted from the end of the text, and a walk from its beginning chooses each token in
//! proportion.
//!
//! Counts grow exponentially with the text, so each is kept as a fraction and a power of two. An
//! addition rounds once, so the relative error of a count is below 2^-53 for each addition behind
//! it. Time is linear in the text times the bytes that a search reads at each place (the longest
//! token at most), memory 16 bytes for each byte of text.

#[cfg(test)]
#[path = "uniform_sampling_tests.rs"]
mod tests;

use crate::error::{ErrorKind, Result};
use crate::models::unigram::trie::Trie;
use crate::models::unigram::{SplitMix64, check_length};
use crate::vocab::Vocab;

/// A vocabulary compiled for unbiased sampling.
#[derive(Debug)]
pub struct UniformSampler {
    tries: Vec<Trie>,
    /// The trie of tokens for each place: inside, at the beginning, at the end, the whole text.
    by_place: [usize; 4],
    /// Bytes of text that the longest token covers.
    longest: usize,
}

/// Memory reused between texts.
#[derive(Debug, Default)]
pub struct UniformScratch {
    counts: Vec<Count>,
}

/// A number of segmentations: `fraction * 2^exponent`. The fraction is 0 or in `[1, 2)`.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    fraction: f64,
    exponent: i64,
}

impl Count {
    const ONE: Self = Self {
        fraction: 1.0,
        exponent: 0,
    };

    /// The number in units of `2^exponent`; what is too small to matter there is 0.
    fn scaled(self, exponent: i64) -> f64 {
        self.fraction * power_of_two(self.exponent - exponent)
    }

    /// Returns the number with the fraction in its range.
    fn normal(fraction: f64, exponent: i64) -> Self {
        if fraction == 0.0 {
            return Self::default();
        }
        // The fraction is a sum of a few numbers: normal, positive and far from overflow.
        let power = (fraction.to_bits() >> 52) as i64 - 1023;
        Self {
            fraction: fraction * power_of_two(-power),
            exponent: exponent + power,
        }
    }

    fn plus(self, other: Self) -> Self {
        let (small, large) =
            if self.fraction == 0.0 || other.fraction != 0.0 && self.exponent < other.exponent {
                (self, other)
            } else {
                (other, self)
            };
        Self::normal(
            large.fraction + small.scaled(large.exponent),
            large.exponent,
        )
    }
}

/// `2^power`; 0 below the range of normal numbers. Made from bits, so that it is the same on every
/// machine.
fn power_of_two(power: i64) -> f64 {
    if power < -1022 {
        return 0.0;
    }
    f64::from_bits(((power.min(1023) + 1023).cast_unsigned()) << 52)
}

impl UniformSampler {
    /// Compiles the tokens that can be found in a vocabulary.
    ///
    /// `prefix` marks tokens that continue a text (`##` of `WordPiece`), and `suffix` tokens that
    /// end one (`</w>`). The text has neither, and a token with one covers its bytes without it.
    /// Both may be empty. As in these models, a token without the prefix stands at the beginning
    /// only, one without the suffix anywhere but at the end.
    pub fn new(vocab: &Vocab, prefix: &[u8], suffix: &[u8]) -> Result<Self> {
        let mut affixes = Vec::with_capacity(4);
        let by_place = [(false, false), (true, false), (false, true), (true, true)].map(
            |(is_first, is_last)| {
                let before = if is_first { &[] } else { prefix };
                let after = if is_last { suffix } else { &[] };
                let known = affixes.iter().position(|&known| known == (before, after));
                known.unwrap_or_else(|| {
                    affixes.push((before, after));
                    affixes.len() - 1
                })
            },
        );
        let mut longest = 0;
        let mut tries = Vec::with_capacity(affixes.len());
        for (before, after) in affixes {
            let mut keys = Vec::new();
            for (id, token) in vocab.iter() {
                let covered = token
                    .strip_prefix(before)
                    .and_then(|rest| rest.strip_suffix(after));
                if let Some(covered) = covered
                    && vocab.bytes_to_id(token) == Some(id)
                {
                    longest = longest.max(covered.len());
                    keys.push((covered, id));
                }
            }
            tries.push(Trie::new(keys)?);
        }
        Ok(Self {
            tries,
            by_place,
            longest,
        })
    }

    /// Tokens that may stand at `start`: (id, end).
    fn candidates<'a>(
        &'a self,
        text: &'a [u8],
        start: usize,
    ) -> impl Iterator<Item = (u32, usize)> + 'a {
        let first = usize::from(start == 0);
        let rest = &text[start..];
        let [inside, ending] = [self.by_place[first], self.by_place[first + 2]];
        let same = inside == ending;
        // No token reaches the end from further away than the longest.
        let last = (!same && rest.len() <= self.longest).then(|| self.tries[ending].get(rest));
        self.tries[inside]
            .prefixes(rest)
            .filter(move |&(length, _)| same || length < rest.len())
            .chain(last.flatten().map(|id| (rest.len(), id)))
            .map(move |(length, id)| (id, start + length))
    }

    /// Counts, for each place, the ways to go on from there.
    fn count(&self, text: &[u8], counts: &mut Vec<Count>) -> Result<()> {
        check_length(text)?;
        counts.clear();
        counts.resize(text.len() + 1, Count::default());
        counts[text.len()] = Count::ONE;
        for start in (0..text.len()).rev() {
            counts[start] = self
                .candidates(text, start)
                .fold(Count::default(), |sum, (_, end)| sum.plus(counts[end]));
        }
        Ok(())
    }

    /// The binary logarithm of the number of segmentations: what a uniform choice among them tells,
    /// in bits. Negative infinity if there is none.
    pub fn log2_segmentations(&self, text: &[u8], scratch: &mut UniformScratch) -> Result<f64> {
        self.count(text, &mut scratch.counts)?;
        let all = scratch.counts[0];
        Ok(all.fraction.log2() + all.exponent as f64)
    }

    /// Draws a segmentation: calls `each` with each token's id and the bytes of the text that it
    /// covers.
    ///
    /// Fails with `Unencodable` if the text cannot be cut into tokens; `each` is not called then.
    pub fn sample(
        &self,
        text: &[u8],
        random: &mut SplitMix64,
        scratch: &mut UniformScratch,
        mut each: impl FnMut(u32, usize),
    ) -> Result<()> {
        let counts = &mut scratch.counts;
        self.count(text, counts)?;
        let mut start = 0;
        while start < text.len() {
            let all = counts[start];
            let mut left = random.next_unit() * all.fraction;
            let mut chosen = None;
            for (id, end) in self.candidates(text, start) {
                let weight = counts[end].scaled(all.exponent);
                if weight > 0.0 {
                    chosen = Some((id, end));
                    if left < weight {
                        break;
                    }
                    left -= weight;
                }
            }
            // Only the beginning can be without a choice: every token chosen leads to a place that
            // has one.
            let Some((id, end)) = chosen else {
                let piece = String::from_utf8_lossy(text).into_owned();
                return Err(ErrorKind::Unencodable { piece }.into());
            };
            each(id, end - start);
            start = end;
        }
        Ok(())
    }
}
