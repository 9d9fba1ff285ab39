//! Admission for a server: queue, memory and preemption, request by request and token by token.

use std::collections::BTreeSet;

use crate::decider::{Asking, Decider};
use crate::output_lengths::Fields;
use crate::pages::Pages;
use crate::policy::Policy;
use crate::queue::RequestQueue;

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Tokens that the KV cache holds.
    pub capacity_tokens: i64,
    /// Requests that run side by side at most.
    pub max_requests: usize,
    /// Tokens of a page of the cache.
    pub page_tokens: i64,
    /// The model's context; `None`: without end.
    pub context_tokens: Option<i64>,
    /// Share of the cache that stays free when a request starts.
    pub watermark_share: f64,
}

/// Answer to a request that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It waits, under this number.
    Queued(usize),
    /// It is longer than the model's context, or than what is reserved.
    TooLong,
    /// It needs more than the whole cache.
    TooLarge,
}

/// A request that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its number.
    pub request: usize,
    /// Tokens that it has memory for.
    pub reserved_tokens: i64,
    /// Tokens that it has to read first.
    pub read_tokens: i64,
    /// Answer that the policy counts on; `None`: nothing was foreseen.
    pub predicted_tokens: Option<i64>,
}

/// A request that was offered and has not ended.
#[derive(Clone, Debug, Default)]
struct Known {
    prompt: i64,
    given: i64,
    held: i64,
    fields: Fields,
}

/// The books of a server: who waits, who runs, and whose the memory is.
///
/// Requests have numbers, which are used again once they have ended.
#[derive(Clone, Debug)]
pub struct Books {
    limits: ServerLimits,
    capacity: i64,
    free: i64,
    watermark: i64,
    pages: Pages,
    requests: Vec<Known>,
    unused: Vec<usize>,
    decider: Decider,
    queue: RequestQueue,
    // Requests whose next token takes a page.
    due: BTreeSet<usize>,
}

impl Books {
    /// Returns the books of a server that is idle.
    pub fn new(policy: Policy, limits: ServerLimits) -> Self {
        // Only whole pages can be handed out.
        let capacity = limits.capacity_tokens / limits.page_tokens * limits.page_tokens;
        let pages = Pages::of_tokens(limits.page_tokens);
        let decider = Decider::new(policy, pages, capacity, limits.context_tokens);
        Self {
            limits,
            capacity,
            free: capacity,
            watermark: (capacity as f64 * limits.watermark_share) as i64,
            pages,
            requests: Vec::new(),
            unused: Vec::new(),
            queue: decider.queue(),
            decider,
            due: BTreeSet::new(),
        }
    }

    /// Tokens that the cache holds, in whole pages.
    pub fn capacity_tokens(&self) -> i64 {
        self.capacity
    }

    /// Tokens of the pages that nobody has.
    pub fn free_tokens(&self) -> i64 {
        self.free
    }

    /// Requests that wait.
    pub fn n_waiting(&self) -> usize {
        self.queue.len()
    }

    /// Requests that run.
    pub fn n_running(&self) -> usize {
        self.decider.n_running()
    }

    /// How often the future peak was computed.
    pub fn n_looks(&self) -> u64 {
        self.decider.n_looks()
    }

    /// True if a request runs.
    pub fn is_running(&self, request: usize) -> bool {
        self.decider.is_running(request)
    }

    /// Puts a request into the queue, or refuses what could never start.
    pub fn offer(&mut self, prompt: i64, arrived: f64, fields: Fields) -> Offered {
        let fixed = self.decider.fixed_tokens();
        let context = self.limits.context_tokens.unwrap_or(i64::MAX);
        if prompt > context || (fixed > 0 && prompt > fixed) {
            return Offered::TooLong;
        }
        if self.pages.of(if fixed > 0 { fixed } else { prompt }) > self.capacity {
            return Offered::TooLarge;
        }
        let known = Known {
            prompt,
            fields,
            ..Known::default()
        };
        let request = if let Some(unused) = self.unused.pop() {
            self.requests[unused] = known;
            unused
        } else {
            self.requests.push(known);
            self.requests.len() - 1
        };
        self.queue
            .push(request, self.decider.place(prompt, arrived));
        Offered::Queued(request)
    }

    /// Starts the next request that can start now; `None`: there is none, or it has to wait.
    pub fn decide(&mut self) -> Option<Started> {
        let head = self.queue.head()?;
        if self.decider.n_running() >= self.limits.max_requests {
            return None;
        }
        let known = &self.requests[head];
        // A request that runs gets its pages first.
        let kept = self.watermark.max(self.due_tokens(self.due.len()));
        let asking = Asking {
            request: head,
            prompt: known.prompt,
            given: known.given,
            fields: &known.fields,
            shared: 0,
        };
        let given_of = |request: usize| self.requests[request].given;
        let tokens = self
            .decider
            .start(&asking, self.free - kept, 0.0, &given_of)?;
        let read_tokens = known.prompt + known.given;
        self.queue.pop();
        let held = self.pages.of(tokens);
        self.requests[head].held = held;
        self.free -= held;
        Some(Started {
            request: head,
            reserved_tokens: tokens,
            read_tokens,
            predicted_tokens: self.decider.predicted(),
        })
    }

    /// Notes that each of these running requests is given a token, and makes room for all first.
    ///
    /// Returns the requests that lost their memory: they are back in the queue, before all others.
    /// One of them that is among `stepping` is not given its token.
    pub fn step(&mut self, stepping: &[usize]) -> Vec<usize> {
        let mut gone = Vec::new();
        let due = stepping.iter().filter(|one| self.due.contains(one));
        let mut wanted: Vec<usize> = due.copied().collect();
        while !wanted.is_empty() && self.due_tokens(wanted.len()) > self.free {
            let given_of = |request: usize| self.requests[request].given;
            let Some(victim) = self.decider.victim(&given_of) else {
                break;
            };
            self.decider.leave(victim);
            self.give_back(victim);
            self.queue.put_back(victim);
            gone.push(victim);
            wanted.retain(|&one| one != victim);
        }
        for request in wanted {
            self.requests[request].held += self.limits.page_tokens;
            self.free -= self.limits.page_tokens;
            self.due.remove(&request);
        }
        for &request in stepping {
            if gone.contains(&request) {
                continue;
            }
            let known = &mut self.requests[request];
            known.given += 1;
            // The token that was just given is not cached yet: the next step writes it.
            if known.prompt + known.given > known.held {
                self.due.insert(request);
            }
        }
        gone
    }

    /// Takes a running request that is answered out, and learns from its length.
    pub fn finish(&mut self, request: usize) {
        let known = &self.requests[request];
        let (prompt, given) = (known.prompt, known.given);
        self.decider.finish(request, prompt, given, &known.fields);
        self.forget(request);
    }

    /// Takes a request out whose client went away; nothing is learned. O(n) if it waits.
    pub fn cancel(&mut self, request: usize) {
        if self.decider.is_running(request) {
            self.decider.leave(request);
        } else {
            self.queue.remove(request);
        }
        self.forget(request);
    }

    fn forget(&mut self, request: usize) {
        self.give_back(request);
        self.requests[request] = Known::default();
        self.unused.push(request);
    }

    fn give_back(&mut self, request: usize) {
        self.free += std::mem::take(&mut self.requests[request].held);
        self.due.remove(&request);
    }

    fn due_tokens(&self, n_requests: usize) -> i64 {
        n_requests as i64 * self.limits.page_tokens
    }
}
