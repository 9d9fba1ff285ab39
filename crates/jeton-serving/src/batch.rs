//! Requests that decode: the sums that a step's time and memory need, and what is due when.
//!
//! Every decoding request goes one token a step. So its context is a fixed number plus the step's,
//! and whatever happens to it - it passes its window, outgrows what was reserved, ends - has a step
//! that is known when it begins. Events wait in a heap; between two of them all sums grow evenly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::pages::Pages;
use crate::step_times::StepTimes;

const NEVER: i64 = i64::MAX;

/// Kinds of events, in the order in which those of one step are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// The context reaches the most tokens of a term.
    Most,
    /// The pages of the windowed layers do.
    WindowPages,
    /// The reserved memory is used up.
    Outgrown,
    /// The last token is given.
    Finish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    step: i64,
    kind: EventKind,
    request: usize,
    stay: u32,
}

/// A request as the batch knows it.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Its context less the step's number.
    base: i64,
    /// Memory that it takes with each page; 0: it has what it needs.
    growth: i64,
    /// How often it has left, which tells its events from those of an earlier stay.
    stay: u32,
}

/// Requests that are decoding, and their sums.
#[derive(Clone, Debug)]
pub(crate) struct DecodingBatch {
    times: StepTimes,
    pages: Pages,
    members: Vec<Member>,
    events: BinaryHeap<Reverse<Event>>,
    /// How many.
    pub(crate) n: i64,
    /// Steps so far.
    pub(crate) step: i64,
    /// Their cached tokens, each request up to the most of a term.
    pub(crate) tokens: Vec<i64>,
    /// Tokens that a step adds.
    pub(crate) growth: Vec<i64>,
    // Memory of the pages that a step takes, by its number modulo the page's size, and its sum.
    page_demand: Vec<i64>,
    cycle_demand: i64,
}

impl DecodingBatch {
    pub(crate) fn new(n_requests: usize, times: StepTimes, pages: Pages) -> Self {
        let zeros = vec![0; times.terms.len()];
        Self {
            times,
            pages,
            members: vec![Member::default(); n_requests],
            events: BinaryHeap::new(),
            n: 0,
            step: 0,
            tokens: zeros.clone(),
            growth: zeros,
            page_demand: vec![0; pages.page_tokens as usize],
            cycle_demand: 0,
        }
    }

    /// Step of the next event; perhaps of a request that is gone.
    pub(crate) fn due(&self) -> i64 {
        self.events
            .peek()
            .map_or(NEVER, |Reverse(event)| event.step)
    }

    /// Cached tokens of a request.
    pub(crate) fn context(&self, request: usize) -> i64 {
        self.members[request].base + self.step
    }

    /// Memory of the pages that the next step takes.
    pub(crate) fn next_demand(&self) -> i64 {
        self.page_demand[self.phase(self.step)]
    }

    /// Lets a request decode `rest` more tokens; it has memory for `held` tokens.
    pub(crate) fn add(&mut self, request: usize, context: i64, rest: i64, held: i64) {
        let step = self.step;
        self.members[request].base = context - step;
        self.push(request, EventKind::Finish, step + rest);
        self.n += 1;
        for k in 0..self.times.terms.len() {
            let term = self.times.terms[k];
            self.tokens[k] += term.tokens(context);
            let to_most = term.most_tokens - context;
            if to_most > 0 {
                self.growth[k] += 1;
                if to_most <= rest {
                    self.push(request, EventKind::Most, step + to_most);
                }
            }
        }
        let beyond = held - context;
        if beyond < self.pages.page_tokens {
            self.grow(request, held.max(context));
        } else if beyond < rest {
            self.push(request, EventKind::Outgrown, step + beyond);
        }
    }

    /// Takes a request out of all sums; returns its context.
    pub(crate) fn remove(&mut self, request: usize) -> i64 {
        let context = self.context(request);
        self.n -= 1;
        self.members[request].stay += 1;
        for (k, term) in self.times.terms.iter().enumerate() {
            self.tokens[k] -= term.tokens(context);
            self.growth[k] -= i64::from(context < term.most_tokens);
        }
        self.grow_less(request, self.members[request].growth);
        context
    }

    /// Handles what is due by now; returns the requests that end, each with its context.
    pub(crate) fn finished(&mut self) -> Vec<(usize, i64)> {
        let mut ended = Vec::new();
        while self.due() <= self.step {
            let Some(Reverse(event)) = self.events.pop() else {
                break;
            };
            let request = event.request;
            if event.stay != self.members[request].stay {
                continue;
            }
            match event.kind {
                EventKind::Finish => ended.push((request, self.remove(request))),
                EventKind::Most => self.reach_most(self.context(request)),
                EventKind::WindowPages => self.grow_less(request, self.pages.window),
                EventKind::Outgrown => self.grow(request, self.context(request)),
            }
        }
        ended
    }

    /// Memory of the pages that the next steps take.
    pub(crate) fn demand(&self, n_steps: i64) -> i64 {
        if self.cycle_demand == 0 {
            return 0;
        }
        let page = self.pages.page_tokens;
        let cycles = n_steps / page * self.cycle_demand;
        let rest = (0..n_steps % page).map(|n| self.page_demand[self.phase(self.step + n)]);
        cycles + rest.sum::<i64>()
    }

    /// Steps whose pages `free` holds, at most `most`.
    pub(crate) fn steps_that_fit(&self, most: i64, free: i64) -> i64 {
        let page = self.pages.page_tokens;
        if self.cycle_demand == 0 || (most / page + 1) * self.cycle_demand <= free {
            return most;
        }
        let mut left = free % self.cycle_demand;
        let mut n = free / self.cycle_demand * page;
        while n < most {
            left -= self.page_demand[self.phase(self.step + n)];
            if left < 0 {
                break;
            }
            n += 1;
        }
        n.min(most)
    }

    /// Lets a term grow no more with a request whose context is as long as its most.
    fn reach_most(&mut self, context: i64) {
        for (growth, term) in self.growth.iter_mut().zip(&self.times.terms) {
            *growth -= i64::from(context == term.most_tokens);
        }
    }

    /// Lets a request take a page whenever its context passes a page's end, from now on.
    fn grow(&mut self, request: usize, held: i64) {
        let growth = self.pages.growth(held);
        self.members[request].growth = growth;
        let phase = self.phase(-self.members[request].base);
        self.page_demand[phase] += growth;
        self.cycle_demand += growth;
        if growth != self.pages.full {
            // Until its windowed layers hold all the pages that they ever do.
            let last = self.pages.window_pages * self.pages.page_tokens;
            let step = last - self.members[request].base;
            self.push(request, EventKind::WindowPages, step);
        }
    }

    fn grow_less(&mut self, request: usize, by: i64) {
        let member = &mut self.members[request];
        member.growth -= by;
        let base = member.base;
        let phase = self.phase(-base);
        self.page_demand[phase] -= by;
        self.cycle_demand -= by;
    }

    fn push(&mut self, request: usize, kind: EventKind, step: i64) {
        let stay = self.members[request].stay;
        self.events.push(Reverse(Event {
            step,
            kind,
            request,
            stay,
        }));
    }

    fn phase(&self, step: i64) -> usize {
        step.rem_euclid(self.pages.page_tokens) as usize
    }
}
