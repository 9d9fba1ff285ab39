//! Time of an engine's steps, by the roofline: memory and arithmetic run at once.
//!
//! While a batch stays as it is, both grow by the same number each step, so that many steps have a
//! closed form.

/// Weights that a step reads, where experts choose: `(rest - idle + head) x seconds`, with
/// `idle = experts x idle_share ^ tokens`.
#[derive(Clone, Copy, Debug)]
pub struct ExpertWeights {
    /// Bytes of all weights but the tables.
    pub rest_bytes: f64,
    /// Bytes of the head.
    pub head_bytes: f64,
    /// Bytes of the routed experts.
    pub expert_bytes: f64,
    /// Share of the experts that one token leaves idle.
    pub idle_share: f64,
    /// Time of reading a byte.
    pub seconds_per_byte: f64,
}

/// Work of all layers that look back equally far, for each token of a sequence up to the most.
#[derive(Clone, Copy, Debug)]
pub struct ContextTerm {
    /// Tokens that count at most.
    pub most_tokens: i64,
    /// Memory that a token keeps.
    pub held_bytes: f64,
    /// Reading a cached token, to generate one.
    pub read_seconds: f64,
    /// Arithmetic of a generated token with one before it.
    pub decode_seconds: f64,
    /// Arithmetic of one pair of prompt positions.
    pub prompt_seconds: f64,
}

impl ContextTerm {
    /// Tokens of a sequence that count.
    pub(crate) fn tokens(&self, context: i64) -> i64 {
        context.min(self.most_tokens)
    }

    /// Pairs of positions that the first tokens of a sequence attend.
    fn pairs(&self, tokens: i64) -> i64 {
        // Beyond the most, each token attends as many as that.
        let within = self.tokens(tokens);
        attended_pairs(within) + (tokens - within) * within
    }
}

/// Coefficients of a step's time, in seconds for one group of GPUs.
#[derive(Clone, Debug)]
pub struct StepTimes {
    /// Work that grows with the context, by how far back layers look.
    pub terms: Vec<ContextTerm>,
    /// Arithmetic of one output token without attention.
    pub decode_flop_seconds: f64,
    /// Arithmetic of one prompt token without attention and head.
    pub prompt_flop_seconds: f64,
    /// Scores over the vocabulary at one position.
    pub head_flop_seconds: f64,
    /// Recurrent states of one request.
    pub state_bytes: f64,
    /// Reading them.
    pub state_seconds: f64,
    /// Time of each step beside.
    pub overhead_seconds: f64,
    /// Reading the weights of a model without experts.
    pub weight_seconds: f64,
    /// Weights of a model with experts.
    pub experts: Option<ExpertWeights>,
}

/// Work of a step: it reads and computes. Lists have a place for each term.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepWork {
    /// Requests that get a token.
    pub(crate) n_decoding: i64,
    /// Their cached tokens before the step.
    pub(crate) tokens: Vec<i64>,
    /// Tokens that the step adds to them.
    pub(crate) growth: Vec<i64>,
    /// Prompt tokens read.
    pub(crate) n_prompt_tokens: i64,
    /// Prompts that end in this step: scores are computed at their last token.
    pub(crate) n_scored: i64,
    /// Pairs of positions that these tokens attend.
    pub(crate) pairs: Vec<i64>,
    /// Cached tokens of the parts of those prompts read before.
    pub(crate) past: Vec<i64>,
    /// Tokens that the prompts gain.
    pub(crate) gained: Vec<i64>,
    /// Prompts of which tokens are read.
    pub(crate) n_prompts: i64,
}

impl StepTimes {
    /// Work of nothing.
    pub(crate) fn no_work(&self) -> StepWork {
        let zeros = vec![0; self.terms.len()];
        StepWork {
            tokens: zeros.clone(),
            growth: zeros.clone(),
            pairs: zeros.clone(),
            past: zeros.clone(),
            gained: zeros,
            ..StepWork::default()
        }
    }

    /// Seconds of reading the weights for so many tokens; of experts those that they choose.
    pub(crate) fn weights(&self, n_tokens: i64) -> f64 {
        self.experts.map_or(self.weight_seconds, |experts| {
            let idle = experts.expert_bytes * experts.idle_share.powf(n_tokens as f64);
            experts.seconds_per_byte * (experts.rest_bytes - idle + experts.head_bytes)
        })
    }

    /// Memory that tokens keep.
    pub(crate) fn held(&self, tokens: impl Iterator<Item = i64>) -> f64 {
        let each = self.terms.iter().zip(tokens);
        each.fold(0.0, |held, (term, n)| held + term.held_bytes * n as f64)
    }

    /// Adds the tokens `start` to `end` of a prompt to the work of a step.
    pub(crate) fn add_part(&self, work: &mut StepWork, start: i64, end: i64) {
        for (k, term) in self.terms.iter().enumerate() {
            let past = term.tokens(start);
            work.pairs[k] += term.pairs(end) - term.pairs(start);
            work.past[k] += past;
            work.gained[k] += term.tokens(end) - past;
        }
        work.n_prompt_tokens += end - start;
        work.n_prompts += 1;
    }

    /// Seconds of one step.
    pub(crate) fn seconds(&self, work: &StepWork) -> f64 {
        let has_past = work.past.iter().any(|&past| past > 0);
        let n_states = work.n_decoding + if has_past { work.n_prompts } else { 0 };
        let mut memory = self.weights(work.n_decoding + work.n_prompt_tokens)
            + self.state_seconds * n_states as f64;
        let mut arithmetic = self.decode_flop_seconds * work.n_decoding as f64
            + self.prompt_flop_seconds * work.n_prompt_tokens as f64
            + self.head_flop_seconds * work.n_scored as f64;
        for (k, term) in self.terms.iter().enumerate() {
            memory += term.read_seconds * (work.tokens[k] + work.past[k]) as f64;
            arithmetic += term.decode_seconds * (work.tokens[k] + work.growth[k]) as f64;
            arithmetic += term.prompt_seconds * work.pairs[k] as f64;
        }
        memory.max(arithmetic) + self.overhead_seconds
    }

    /// Returns the times of steps that only decode; `tokens` are cached before the first one.
    pub(crate) fn decoding(&self, n: i64, tokens: &[i64], growth: &[i64]) -> SteadySteps {
        let mut steps = SteadySteps {
            a: self.weights(n) + self.state_seconds * n as f64,
            b: 0.0,
            c: self.decode_flop_seconds * n as f64,
            d: 0.0,
        };
        for (term, (&tokens, &growth)) in self.terms.iter().zip(tokens.iter().zip(growth)) {
            steps.a += term.read_seconds * tokens as f64;
            steps.b += term.read_seconds * growth as f64;
            steps.c += term.decode_seconds * (tokens + growth) as f64;
            steps.d += term.decode_seconds * growth as f64;
        }
        steps.a += self.overhead_seconds;
        steps.c += self.overhead_seconds;
        steps
    }
}

/// Pairs of positions that the first tokens of a sequence attend.
fn attended_pairs(tokens: i64) -> i64 {
    tokens * (tokens + 1) / 2
}

/// Steps of a batch that stays as it is: step j takes `max(a + b j, c + d j)` seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SteadySteps {
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) c: f64,
    pub(crate) d: f64,
}

impl SteadySteps {
    /// The line that leads in all of `n` steps; `None`: the two cross.
    fn leading(&self, n: i64) -> Option<(f64, f64)> {
        let Self { a, b, c, d } = *self;
        let last = (n - 1) as f64;
        if a >= c && a + b * last >= c + d * last {
            Some((a, b))
        } else if a <= c && a + b * last <= c + d * last {
            Some((c, d))
        } else {
            None
        }
    }

    /// Returns the seconds of the first `n` steps.
    ///
    /// Two straight lines cross once at most, so the sum has at most two arithmetic series.
    pub(crate) fn seconds(&self, n: i64) -> f64 {
        let half = (n * (n - 1)) as f64 / 2.0;
        if let Some((first, more)) = self.leading(n) {
            return n as f64 * first + more * half;
        }
        let Self {
            mut a,
            mut b,
            mut c,
            mut d,
        } = *self;
        if a < c {
            ((a, b), (c, d)) = ((c, d), (a, b));
        }
        // The first line leads until they cross.
        let crossing = ((a - c) / (d - b)).ceil().max(0.0);
        let first = if crossing < n as f64 {
            crossing as i64
        } else {
            n
        };
        let rest = n - first;
        let before = first as f64;
        before * a
            + b * before * (first - 1) as f64 / 2.0
            + rest as f64 * c
            + d * (half - (first * (first - 1)) as f64 / 2.0)
    }

    /// Returns the fewest steps, at least 1 and at most `most`, that take so many seconds or more.
    pub(crate) fn until(&self, seconds: f64, most: i64) -> i64 {
        if most <= 1 || seconds <= 0.0 {
            return 1;
        }
        let Some((p, q)) = self.leading(most) else {
            return self.until_by_halves(seconds, most);
        };
        // q/2 k^2 + (p - q/2) k = seconds
        let linear = p - q / 2.0;
        let root = if q * seconds >= 1e-12 * linear * linear {
            (((linear * linear + 2.0 * q * seconds).sqrt() - linear) / q).ceil()
        } else if p > 0.0 {
            (seconds / p).ceil()
        } else {
            most as f64
        };
        let mut k = if root < most as f64 {
            (root as i64).max(1)
        } else {
            most
        };
        // The root is rounded: the last bit decides by the sum itself.
        let sum = |k: i64| k as f64 * p + q * k as f64 * (k - 1) as f64 / 2.0;
        while k > 1 && sum(k - 1) >= seconds {
            k -= 1;
        }
        while k < most && sum(k) < seconds {
            k += 1;
        }
        k
    }

    fn until_by_halves(&self, seconds: f64, most: i64) -> i64 {
        let (mut low, mut high) = (0, most);
        while high - low > 1 {
            let middle = i64::midpoint(low, high);
            if self.seconds(middle) < seconds {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::SteadySteps;

    fn naive(steps: &SteadySteps, n: i64) -> f64 {
        let each = |j: i64| {
            let j = j as f64;
            f64::max(steps.a + steps.b * j, steps.c + steps.d * j)
        };
        (0..n).map(each).sum()
    }

    #[test]
    fn sums_and_their_inverse() {
        for (a, b, c, d) in [
            (1.0, 0.0, 0.5, 0.0),
            (1.0, 0.1, 3.0, 0.0),
            (3.0, 0.0, 1.0, 0.5),
            (0.0, 1.0, 0.0, 2.0),
        ] {
            let steps = SteadySteps { a, b, c, d };
            for n in 1..60 {
                let sum = naive(&steps, n);
                assert!((steps.seconds(n) - sum).abs() <= 1e-9 * sum.max(1.0));
                let fewest = steps.until(sum - 1e-6, 100);
                assert!(naive(&steps, fewest) >= sum - 1e-6);
                assert!(fewest == 1 || naive(&steps, fewest - 1) < sum - 1e-6);
            }
        }
    }
}
