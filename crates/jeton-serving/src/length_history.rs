//! Histories of output lengths: their quantiles, corrected online, and their drift.
//!
//! A history is two windows of counts in bins: the one that fills, and the one before it, which
//! grows to its full size first. So it forgets what is older than two windows. Where the two differ
//! by more than chance, the older one is forgotten at once.

use crate::length_bins::{Counts, longest_of, shortest_of};

/// Finished requests after which quantiles are looked up anew; early on, whenever their number grew
/// by an eighth.
const REFRESH: u64 = 32;

/// Step of the online correction (gamma of arXiv:2106.00072). Steps of 0.005 to 0.05 were tried;
/// this one came closest to 90% on the later halves of four public traces: 89.9 to 91.2%.
const STEP: f64 = 0.02;

/// Multiple of the nominal miss rate that the correction may reach: where one length is most of the
/// traffic, no interval misses as often as asked, and the correction would grow without end.
const LARGEST_MISS: f64 = 4.0;

/// Least miss rate that the correction may reach. Where even all of history misses too often, each
/// step below zero adds a bin: up to twice the longest length that history knows.
const LEAST_MISS: f64 = -0.32;

/// Standard deviations at which a changed share is called drift: one look in 100,000 by chance.
const DRIFT_SCORE: f64 = 4.5;

/// Requests of the window that fills before drift is looked for.
const DRIFT_REQUESTS: u64 = 64;

/// Requests of the first window; each later one has as many as there were, up to the full size.
const FIRST_WINDOW: u64 = 128;

/// Output tokens that a request is expected to have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Fewest.
    pub lower_tokens: i64,
    /// Most.
    pub upper_tokens: i64,
    /// One-sided bound: a share of the coverage does not exceed it.
    pub one_sided_tokens: i64,
    /// Finished requests that the interval was made of.
    pub n_history: u64,
}

/// A change of a group's output lengths against its own window before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Requests of the window before.
    pub n_before: u64,
    /// Requests since.
    pub n_now: u64,
    /// Share of the window before that was above its upper quantile.
    pub expected_longer_share: f64,
    /// Share since that is above the same length.
    pub longer_share: f64,
    /// Share of the window before that was below its lower quantile.
    pub expected_shorter_share: f64,
    /// Share since that is below the same length.
    pub shorter_share: f64,
    /// The larger change in standard deviations.
    pub score: f64,
}

/// Lengths of the window before that tell longer and shorter answers, and the shares that they had.
#[derive(Clone, Copy, Debug)]
struct Marks {
    low: usize,
    high: usize,
    shorter_share: f64,
    longer_share: f64,
}

/// Output lengths of one group of requests.
#[derive(Clone, Debug)]
pub(crate) struct History {
    n_believed: u64,
    window: u64,
    miss_wanted: f64,
    miss: f64,
    miss_above: f64,
    now: Counts,
    before: Counts,
    n_before: u64,
    n: u64,
    n_learned: u64,
    due: u64,
    low: usize,
    high: usize,
    top: usize,
    marks: Option<Marks>,
    n_longer: u64,
    n_shorter: u64,
    drift_ends: u64,
    interval: Option<Interval>,
    drift: Option<Drift>,
}

impl History {
    pub(crate) fn new(coverage: f64, n_believed: u64, window: u64) -> Self {
        let miss = 1.0 - coverage;
        Self {
            n_believed,
            window,
            miss_wanted: miss,
            miss,
            miss_above: miss,
            now: Counts::default(),
            before: Counts::default(),
            n_before: 0,
            n: 0,
            n_learned: 0,
            due: n_believed,
            low: 0,
            high: 0,
            top: 0,
            marks: None,
            n_longer: 0,
            n_shorter: 0,
            drift_ends: 0,
            interval: None,
            drift: None,
        }
    }

    /// Interval of the last look-up; `None` until there is enough history.
    pub(crate) fn interval(&self) -> Option<Interval> {
        self.interval
    }

    /// Drift that was last noticed, for a window of requests.
    pub(crate) fn drift(&self) -> Option<Drift> {
        self.drift
    }

    /// Takes the bin of a finished request's output in.
    pub(crate) fn add(&mut self, bin: usize) {
        if self.interval.is_some() {
            self.correct(bin);
        }
        if let Some(marks) = self.marks {
            self.n_longer += u64::from(bin > marks.high);
            self.n_shorter += u64::from(bin < marks.low);
        }
        self.now.add(bin);
        self.n += 1;
        self.n_learned += 1;
        if self.n >= self.due {
            self.look_up();
        }
    }

    /// Corrects the miss rates aimed at: a miss lowers them, a hit raises them.
    ///
    /// Formula: `a(t + 1) = a(t) + gamma (a - miss(t))` (adaptive conformal inference, Gibbs and
    /// Candes, arXiv:2106.00072).
    fn correct(&mut self, bin: usize) {
        let most = f64::min(0.5, LARGEST_MISS * self.miss_wanted);
        let step = STEP * self.miss_wanted;
        let corrected = |miss: f64, has_missed: bool| {
            if has_missed {
                f64::max(LEAST_MISS, miss + step - STEP)
            } else if miss < most {
                miss + step
            } else {
                miss
            }
        };
        self.miss = corrected(self.miss, bin < self.low || bin > self.high);
        self.miss_above = corrected(self.miss_above, bin > self.top);
    }

    /// Finds quantiles anew, and drift, and begins a new window where this one is full.
    fn look_up(&mut self) {
        let n = self.n;
        let mut counts = self.now.clone();
        counts.join(&self.before);
        // Finite-sample ranks: a new request is below the r-th smallest of n with a chance of at
        // most r / (n + 1), and above the k-th smallest with 1 - k / (n + 1) at most.
        let from_below = ((n + 1) as f64 * self.miss / 2.0).floor();
        let (mut low, mut n_below, mut kept_below) = (0, 0, 0);
        if from_below >= 1.0 {
            for (bin, count) in counts.ordered() {
                low = bin;
                if (n_below + count) as f64 >= from_below {
                    break;
                }
                n_below += count;
            }
            kept_below = n_below + 1;
        }
        // Equal lengths leave the lower side less than its half: the upper side has the rest.
        let kept = (n + 1) as f64 * (1.0 - self.miss) + kept_below as f64;
        self.low = low;
        self.high = counts.ranked(kept) + bins_beyond(self.miss);
        self.top = counts.ranked((n + 1) as f64 * (1.0 - self.miss_above));
        self.top += bins_beyond(self.miss_above);
        self.interval = Some(Interval {
            lower_tokens: shortest_of(low),
            upper_tokens: longest_of(self.high),
            one_sided_tokens: longest_of(self.top),
            n_history: n,
        });
        let n_now = n - self.n_before;
        if self.has_drifted(n_now) && n_now >= self.n_believed {
            self.turn(true);
        } else if n_now >= self.window.min(FIRST_WINDOW.max(self.n_before)) {
            self.turn(n > self.window);
        }
        self.due = self.n + REFRESH.min(self.n / 8 + 1);
    }

    /// Compares the window that fills with the one before.
    fn has_drifted(&mut self, n_now: u64) -> bool {
        if self.drift.is_some() && self.n_learned >= self.drift_ends {
            self.drift = None;
        }
        let Some(marks) = self.marks else {
            return false;
        };
        if n_now < DRIFT_REQUESTS {
            return false;
        }
        let longer_share = self.n_longer as f64 / n_now as f64;
        let shorter_share = self.n_shorter as f64 / n_now as f64;
        let score = f64::max(
            score(marks.longer_share, self.n_before, longer_share, n_now),
            score(marks.shorter_share, self.n_before, shorter_share, n_now),
        );
        if score < DRIFT_SCORE {
            return false;
        }
        self.drift = Some(Drift {
            n_before: self.n_before,
            n_now,
            expected_longer_share: marks.longer_share,
            longer_share,
            expected_shorter_share: marks.shorter_share,
            shorter_share,
            score,
        });
        self.drift_ends = self.n_learned + self.window;
        true
    }

    /// Makes the window that filled the one before, or joins it to that; an empty one begins.
    fn turn(&mut self, forget: bool) {
        let mut counts = std::mem::take(&mut self.now);
        if !forget {
            counts.join(&self.before);
        }
        let n: u64 = counts.ordered().map(|(_, count)| count).sum();
        let low = counts.ranked(n as f64 * self.miss_wanted / 2.0);
        let high = counts.ranked(n as f64 * (1.0 - self.miss_wanted / 2.0));
        let of = |chosen: &dyn Fn(usize) -> bool| {
            let chosen = counts.ordered().filter(|&(bin, _)| chosen(bin));
            chosen.map(|(_, count)| count).sum::<u64>() as f64 / n as f64
        };
        self.marks = Some(Marks {
            low,
            high,
            shorter_share: of(&|bin| bin < low),
            longer_share: of(&|bin| bin > high),
        });
        self.before = counts;
        self.n_before = n;
        self.n = n;
        self.n_longer = 0;
        self.n_shorter = 0;
    }
}

/// Bins to add where the correction asks for more than all of history.
fn bins_beyond(miss: f64) -> usize {
    if miss < 0.0 {
        (-miss / STEP).ceil() as usize
    } else {
        0
    }
}

/// The z score of two shares being one.
fn score(before: f64, n_before: u64, now: f64, n_now: u64) -> f64 {
    let (n_before, n_now) = (n_before as f64, n_now as f64);
    let pooled = (before * n_before + now * n_now) / (n_before + n_now);
    let variance = pooled * (1.0 - pooled) * (1.0 / n_before + 1.0 / n_now);
    if variance > 0.0 {
        (now - before).abs() / variance.sqrt()
    } else {
        0.0
    }
}
