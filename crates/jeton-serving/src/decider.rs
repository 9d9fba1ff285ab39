//! Decisions of a policy: memory for a request, whether it starts now, and who is preempted.
//!
//! One type serves the simulator, which counts memory in bytes and goes many steps at once, and a
//! server, which goes token by token. So it holds no books of memory: it is told what is free.

use std::collections::BTreeMap;

use crate::forecasts::{Forecast, Quantile, QuantileByPrompt, Sample};
use crate::output_lengths::OutputLengths;
use crate::pages::Pages;
use crate::policy::{Policy, PolicyKind};
use crate::queue::RequestQueue;

const STATIC_QUANTILE: f64 = 0.95;
const MEDIAN: f64 = 0.5;

/// Finished requests before a conformal interval is believed, at the least.
const MIN_HISTORY: u64 = 32;

/// A request at the head of the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    /// The request.
    pub(crate) request: usize,
    /// Tokens of its prompt.
    pub(crate) prompt: i64,
    /// Tokens of its answer that it was given before it was preempted.
    pub(crate) given: i64,
    /// Names that like requests share.
    pub(crate) fields: &'a [Box<str>],
    /// Memory of its prompt that others hold already.
    pub(crate) shared: i64,
}

/// A request that runs.
#[derive(Clone, Copy, Debug)]
struct Running {
    request: usize,
    since: f64,
    prompt: i64,
    /// Answer that the look ahead expects.
    expected: i64,
}

/// The policy at work.
#[derive(Clone, Debug)]
pub(crate) struct Decider {
    policy: Policy,
    pages: Pages,
    budget: i64,
    context_tokens: Option<i64>,
    forecast: Forecast,
    order_forecast: Option<QuantileByPrompt>,
    // Requests that run, in the order of admission, and the number of each in that order.
    running: BTreeMap<u64, Running>,
    number_of: Vec<u64>,
    n_started: u64,
    // Answers of those that run, as long as each was expected to be: at least a page.
    expected: i64,
    // The head of the queue for which there was no room; until a request ends there is none.
    refused: Option<usize>,
    predicted: Option<i64>,
    n_looks: u64,
}

impl Decider {
    pub(crate) fn new(
        policy: Policy,
        pages: Pages,
        budget: i64,
        context_tokens: Option<i64>,
    ) -> Self {
        let conformal = || Box::new(OutputLengths::new(policy.quantile, MIN_HISTORY));
        let forecast = match policy.kind {
            PolicyKind::Mean => Forecast::Mean(0, 0),
            PolicyKind::P95 => Forecast::Quantile(Quantile::new(STATIC_QUANTILE)),
            PolicyKind::Prediction => Forecast::ByPrompt(QuantileByPrompt::new(policy.quantile)),
            PolicyKind::Conformal => Forecast::Upper(conformal()),
            PolicyKind::Refine => Forecast::Lower(conformal()),
            PolicyKind::Peak => Forecast::Sample(Sample::new(policy.seed)),
            PolicyKind::Static | PolicyKind::Maximum | PolicyKind::Dynamic => Forecast::None,
        };
        let is_shortest_first = policy.is_shortest_first;
        Self {
            policy,
            pages,
            budget,
            context_tokens,
            forecast,
            order_forecast: is_shortest_first.then(|| QuantileByPrompt::new(MEDIAN)),
            running: BTreeMap::new(),
            number_of: Vec::new(),
            n_started: 0,
            expected: 0,
            refused: None,
            predicted: None,
            n_looks: 0,
        }
    }

    /// Output tokens that the last decision counted on; `None`: nothing was foreseen.
    pub(crate) fn predicted(&self) -> Option<i64> {
        self.predicted
    }

    /// Requests that run.
    pub(crate) fn n_running(&self) -> usize {
        self.running.len()
    }

    /// How often the future peak was computed.
    pub(crate) fn n_looks(&self) -> u64 {
        self.n_looks
    }

    /// True if a request that comes may go before those that wait.
    pub(crate) fn heeds_arrivals(&self) -> bool {
        self.policy.is_shortest_first
    }

    /// Tokens that each request is reserved; 0: what it needs, or is foreseen to.
    pub(crate) fn fixed_tokens(&self) -> i64 {
        match self.policy.kind {
            PolicyKind::Static => self.policy.reserved_tokens,
            _ => 0,
        }
    }

    /// Returns an empty queue in the policy's order.
    pub(crate) fn queue(&self) -> RequestQueue {
        RequestQueue::new(self.policy.is_shortest_first)
    }

    /// Returns the place of a request in the queue: what it needs, less its age.
    ///
    /// All that wait grow older alike, so the difference of two requests never changes.
    ///
    /// Formula: `prompt + median output + ageing * arrival`.
    pub(crate) fn place(&self, prompt: i64, arrived: f64) -> f64 {
        let forecast = self.order_forecast.as_ref();
        let expected = forecast.and_then(|forecast| forecast.predict(prompt));
        let tokens = prompt + expected.unwrap_or(0);
        tokens as f64 + self.policy.ageing_tokens_per_second * arrived
    }

    /// Returns the tokens for which a request is given memory, and starts it; `None`: it waits.
    ///
    /// `free` is the memory for it; `given_of` says how many tokens a running request was given.
    pub(crate) fn start(
        &mut self,
        asking: &Asking<'_>,
        free: i64,
        now: f64,
        given_of: &dyn Fn(usize) -> i64,
    ) -> Option<i64> {
        let is_alone = self.running.is_empty();
        if !matches!(self.policy.kind, PolicyKind::Refine | PolicyKind::Peak) {
            let tokens = self.tokens(asking);
            if !is_alone && self.pages.of(tokens) - asking.shared > free {
                return None;
            }
            self.note_start(asking, now, 0);
            return Some(tokens);
        }
        if !is_alone && self.refused == Some(asking.request) {
            return None;
        }
        let tokens = asking.prompt + asking.given;
        let needed = self.pages.of(tokens) - asking.shared;
        if !is_alone && needed > free {
            return None;
        }
        self.predicted = self.forecast.predict(asking.prompt, asking.fields);
        let mut output = self.predicted.unwrap_or(1).max(self.pages.page_tokens);
        if output <= asking.given {
            output = longer_than(asking.given, &mut self.forecast, self.pages.page_tokens);
        }
        // Where all answers fit beside the memory in use, there is no peak to look for.
        let all = i128::from(self.pages.growth(0)) * i128::from(self.expected + output);
        let answers = all / i128::from(self.pages.page_tokens);
        if !is_alone
            && i128::from(needed) + answers > i128::from(free)
            && !self.fits_ahead(asking, output, given_of)
        {
            self.refused = Some(asking.request);
            return None;
        }
        self.expected += output;
        self.refused = None;
        self.note_start(asking, now, output);
        Some(tokens)
    }

    /// Learns from a request that has its last token; returns since when it ran.
    pub(crate) fn finish(
        &mut self,
        request: usize,
        prompt: i64,
        output: i64,
        fields: &[Box<str>],
    ) -> f64 {
        self.forecast.learn(prompt, output, fields);
        if let Some(forecast) = &mut self.order_forecast {
            forecast.learn(prompt, output);
        }
        self.leave(request)
    }

    /// Notes that a request runs no more; returns since when it ran.
    pub(crate) fn leave(&mut self, request: usize) -> f64 {
        let number = std::mem::take(&mut self.number_of[request]);
        self.running.remove(&number).map_or(0.0, |gone| {
            self.expected -= gone.expected;
            self.refused = None;
            gone.since
        })
    }

    /// True if a request runs.
    pub(crate) fn is_running(&self, request: usize) -> bool {
        self.number_of
            .get(request)
            .is_some_and(|&number| number > 0)
    }

    /// Returns the request to be preempted: the last admitted (arXiv:2309.06180), or that with the
    /// least answer so far (arXiv:2508.14544, under `Refine`).
    pub(crate) fn victim(&self, given_of: &dyn Fn(usize) -> i64) -> Option<usize> {
        let mut newest = self.running.values().rev().map(|one| one.request);
        if self.policy.kind == PolicyKind::Refine {
            newest.min_by_key(|&request| given_of(request))
        } else {
            newest.next()
        }
    }

    /// Tokens to reserve.
    fn tokens(&mut self, asking: &Asking<'_>) -> i64 {
        let bare = asking.prompt + asking.given;
        let wanted = match self.policy.kind {
            PolicyKind::Static => return self.policy.reserved_tokens,
            PolicyKind::Dynamic => return bare,
            PolicyKind::Maximum => {
                let longest = asking.prompt + self.policy.max_output_tokens.max(asking.given);
                self.context_tokens
                    .map_or(longest, |top| longest.min(top.max(bare)))
            }
            _ => {
                self.predicted = self.forecast.predict(asking.prompt, asking.fields);
                let Some(predicted) = self.predicted else {
                    return bare;
                };
                // The last token that is given is never read again: it needs no place.
                asking.prompt + (predicted - 1).max(asking.given)
            }
        };
        if self.pages.of(wanted) <= self.budget {
            wanted
        } else {
            bare
        }
    }

    fn note_start(&mut self, asking: &Asking<'_>, now: f64, expected: i64) {
        self.n_started += 1;
        if self.number_of.len() <= asking.request {
            self.number_of.resize(asking.request + 1, 0);
        }
        self.number_of[asking.request] = self.n_started;
        let started = Running {
            request: asking.request,
            since: now,
            prompt: asking.prompt,
            expected,
        };
        self.running.insert(self.n_started, started);
    }

    /// Says whether the memory's future peak fits, if every request ends when it is expected to.
    ///
    /// Formula: with the requests by what they have yet to be given, most first, r of the k-th:
    /// the peak is the largest `sum over the first k of (held + r x growth)`, since the k-th is
    /// there with those before it when it ends (arXiv:2507.10150, future required memory).
    fn fits_ahead(
        &mut self,
        asking: &Asking<'_>,
        output: i64,
        given_of: &dyn Fn(usize) -> i64,
    ) -> bool {
        self.n_looks += 1;
        let pages = self.pages;
        let row = |prompt: i64, given: i64, output: i64| {
            let context = prompt + given;
            (output - given, pages.of(context), pages.growth(context))
        };
        let mut rows = vec![row(asking.prompt, asking.given, output)];
        for one in self.running.values_mut() {
            let given = given_of(one.request);
            if given >= one.expected {
                let longer = longer_than(given, &mut self.forecast, pages.page_tokens);
                self.expected += longer - one.expected;
                one.expected = longer;
            }
            rows.push(row(one.prompt, given, one.expected));
        }
        rows.sort_unstable_by(|one, other| other.cmp(one));
        let (mut held, mut growth) = (0, 0);
        rows.iter().all(|&(rest, own, step)| {
            held += i128::from(own);
            growth += i128::from(step);
            held + growth * i128::from(rest) / i128::from(pages.page_tokens)
                <= i128::from(self.budget)
        })
    }
}

/// The answer to expect of a request that was given more than was expected.
fn longer_than(given: i64, forecast: &mut Forecast, page_tokens: i64) -> i64 {
    let drawn = match forecast {
        Forecast::Sample(sample) => sample.longer_than(given),
        _ => None,
    };
    drawn.unwrap_or(given + page_tokens)
}
