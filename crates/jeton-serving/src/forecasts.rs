//! Output lengths that policies count on: means, quantiles, and draws from recent answers.
//!
//! A request teaches when it has finished. Predicting and learning cost constant time, whatever the
//! history.

use std::collections::VecDeque;

use crate::length_bins::{Counts, bin_of, longest_of};
use crate::output_lengths::{OutputLengths, octave_of};

/// Finished requests of about the same prompt length before they are believed; until then all
/// finished requests speak, and before there are as many of these, nobody does.
const MIN_HISTORY: u64 = 32;

/// Finished requests after which a quantile is looked up anew: early on, whenever their number grew
/// by an eighth.
const REFRESH: u64 = 64;

/// Recent answers that lengths are drawn from: the window of arXiv:2507.10150.
const SAMPLE: usize = 1000;

/// Counts of output lengths, and the quantile they had when it was last looked up.
#[derive(Clone, Debug)]
pub(crate) struct Quantile {
    share: f64,
    counts: Counts,
    n: u64,
    due: u64,
    value: i64,
}

impl Quantile {
    pub(crate) fn new(share: f64) -> Self {
        Self {
            share,
            counts: Counts::default(),
            n: 0,
            due: 1,
            value: 0,
        }
    }

    fn predict(&self) -> Option<i64> {
        (self.n >= MIN_HISTORY).then_some(self.value)
    }

    fn add(&mut self, bin: usize) {
        self.counts.add(bin);
        self.n += 1;
        if self.n < self.due {
            return;
        }
        self.due = self.n + REFRESH.min(self.n / 8 + 1);
        let needed = self.share * self.n as f64;
        let mut seen = 0;
        for (bin, count) in self.counts.ordered() {
            seen += count;
            if seen as f64 >= needed {
                self.value = longest_of(bin);
                return;
            }
        }
    }
}

/// A quantile by the octave of the prompt's length.
#[derive(Clone, Debug)]
pub(crate) struct QuantileByPrompt {
    all: Quantile,
    by_prompt: Vec<Option<Quantile>>,
}

impl QuantileByPrompt {
    pub(crate) fn new(quantile: f64) -> Self {
        Self {
            all: Quantile::new(quantile),
            by_prompt: vec![None; octave_of(i64::MAX) + 1],
        }
    }

    /// Output tokens that are exceeded with a chance of 1 - quantile; `None` without history.
    pub(crate) fn predict(&self, prompt_tokens: i64) -> Option<i64> {
        let own = self.by_prompt[octave_of(prompt_tokens)].as_ref();
        own.and_then(Quantile::predict).or(self.all.predict())
    }

    pub(crate) fn learn(&mut self, prompt_tokens: i64, output_tokens: i64) {
        let bin = bin_of(output_tokens);
        self.all.add(bin);
        let share = self.all.share;
        self.by_prompt[octave_of(prompt_tokens)]
            .get_or_insert_with(|| Quantile::new(share))
            .add(bin);
    }
}

/// The last 1,000 answers, from which lengths are drawn by seed.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    recent: VecDeque<i64>,
    ordered: Vec<i64>,
    state: u64,
}

impl Sample {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            recent: VecDeque::new(),
            ordered: Vec::new(),
            state: seed,
        }
    }

    /// Draws a recent answer with more than `given` tokens; `None`: none has more.
    pub(crate) fn longer_than(&mut self, given: i64) -> Option<i64> {
        let start = self.ordered.partition_point(|&length| length <= given);
        let longer = &self.ordered[start..];
        if longer.is_empty() {
            return None;
        }
        // SplitMix64 (Steele, Lea and Flood, 2014); the high half of a product is a place.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let place = (u128::from(mixed) * longer.len() as u128) >> 64;
        Some(longer[place as usize])
    }

    fn learn(&mut self, output_tokens: i64) {
        let place = self
            .ordered
            .partition_point(|&length| length <= output_tokens);
        self.ordered.insert(place, output_tokens);
        self.recent.push_back(output_tokens);
        if self.recent.len() > SAMPLE
            && let Some(oldest) = self.recent.pop_front()
        {
            let place = self.ordered.partition_point(|&length| length < oldest);
            self.ordered.remove(place);
        }
    }
}

/// Forecast of a policy that counts on what it foresees.
#[derive(Clone, Debug)]
pub(crate) enum Forecast {
    /// Nothing is foreseen.
    None,
    /// The mean of all answers: their number and their sum.
    Mean(i64, i64),
    /// One quantile of all answers, whatever the prompt.
    Quantile(Quantile),
    /// A quantile of the answers to prompts of like length.
    ByPrompt(QuantileByPrompt),
    /// The upper end of the conformal interval.
    Upper(Box<OutputLengths>),
    /// The lower end of it.
    Lower(Box<OutputLengths>),
    /// A recent answer.
    Sample(Sample),
}

impl Forecast {
    /// Returns the output tokens to count on; `None` without history.
    pub(crate) fn predict(&mut self, prompt_tokens: i64, fields: &[Box<str>]) -> Option<i64> {
        match self {
            Self::None => None,
            Self::Mean(n, total) => {
                (*n >= MIN_HISTORY as i64).then(|| (*total + *n - 1).div_euclid(*n))
            }
            Self::Quantile(quantile) => quantile.predict(),
            Self::ByPrompt(quantiles) => quantiles.predict(prompt_tokens),
            Self::Upper(lengths) => {
                let found = lengths.foresee(prompt_tokens, fields)?;
                Some(found.interval.one_sided_tokens)
            }
            Self::Lower(lengths) => {
                let found = lengths.foresee(prompt_tokens, fields)?;
                Some(found.interval.lower_tokens)
            }
            Self::Sample(sample) => {
                let has_history = sample.ordered.len() >= MIN_HISTORY as usize;
                has_history.then(|| sample.longer_than(0)).flatten()
            }
        }
    }

    /// Takes a finished request into the history.
    pub(crate) fn learn(&mut self, prompt_tokens: i64, output_tokens: i64, fields: &[Box<str>]) {
        match self {
            Self::None => {}
            Self::Mean(n, total) => {
                *n += 1;
                *total += output_tokens;
            }
            Self::Quantile(quantile) => quantile.add(bin_of(output_tokens)),
            Self::ByPrompt(quantiles) => quantiles.learn(prompt_tokens, output_tokens),
            Self::Upper(lengths) | Self::Lower(lengths) => {
                lengths.learn(prompt_tokens, output_tokens, fields);
            }
            Self::Sample(sample) => sample.learn(output_tokens),
        }
    }
}
