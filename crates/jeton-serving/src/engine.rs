//! The discrete-event simulation of one serving group: continuous batching over a paged KV cache.
//!
//! Requests wait in the order of the policy. A step gives each decoding request one token and reads
//! prompt tokens of those that were admitted. Memory is handed out by the policy; where it runs
//! out, the request that the policy names loses its cache, waits at the head of the queue and reads
//! everything again (vLLM's recompute, arXiv:2309.06180). Between two events - a request ends, one
//! comes, memory runs out - the batch stays as it is, and its steps are one sum in closed form.
//!
//! Cost: O(log n) an event, a handful of events a request, whatever the lengths.

use std::collections::VecDeque;

use crate::KeepGoing;
use crate::batch::DecodingBatch;
use crate::decider::{Asking, Decider};
use crate::outcome::{Outcome, Stretch};
use crate::output_lengths::Fields;
use crate::pages::Pages;
use crate::policy::{Policy, PolicyKind};
use crate::prefixes::{PrefixCache, PromptBlocks};
use crate::queue::RequestQueue;
use crate::step_times::{StepTimes, StepWork};

/// Turns of the loop between two questions to [`KeepGoing`].
const ASK_EVERY: u64 = 1 << 14;

/// Requests that come, one place each in all lists.
#[derive(Clone, Debug)]
pub struct Requests {
    /// When each comes, ascending.
    pub arrivals: Vec<f64>,
    /// Tokens of its prompt.
    pub prompts: Vec<i64>,
    /// Tokens of its answer.
    pub outputs: Vec<i64>,
    /// True if the engine never admits it.
    pub is_refused: Vec<bool>,
    /// Which of `groups` it belongs to.
    pub group_of: Vec<usize>,
    /// Fields of the groups.
    pub groups: Vec<Fields>,
}

impl Requests {
    fn fields(&self, request: usize) -> &[Box<str>] {
        &self.groups[self.group_of[request]]
    }
}

/// The engine and its settings.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Time of a step.
    pub times: StepTimes,
    /// Memory of a sequence.
    pub pages: Pages,
    /// Memory of all sequences.
    pub budget_bytes: i64,
    /// Policy of admission, and of memory.
    pub policy: Policy,
    /// The model's context; `None`: without end.
    pub context_tokens: Option<i64>,
    /// Requests in a batch at most.
    pub max_requests: usize,
    /// Tokens of a step at most, prompts and output together.
    pub step_tokens: i64,
    /// Prompts are read in parts beside decoding; else each in one step, and decoding waits.
    pub is_chunked: bool,
    /// Share of the cache that stays free when a request is admitted.
    pub watermark_share: f64,
    /// Requests under way at once, in a closed loop; `None`: requests come when they come.
    pub clients: Option<usize>,
    /// Seconds of a bin of the memory over time.
    pub bin_seconds: f64,
    /// Blocks of prompts that share memory; `None`: none do.
    pub blocks: Option<PromptBlocks>,
}

/// Runs until every request has ended; `None`: the caller did not want to go on.
pub fn simulate(requests: Requests, setup: Setup, keep_going: KeepGoing<'_>) -> Option<Outcome> {
    Engine::new(requests, setup).run(keep_going)
}

/// How far the requests are.
#[derive(Debug)]
struct Progress {
    /// Tokens of an admitted request that it was given before: again after a preemption.
    given: Vec<i64>,
    /// Tokens that it has memory for, in whole pages.
    held: Vec<i64>,
    /// Tokens of it that were read, while it is read; else none.
    read: Vec<Option<i64>>,
    batch: DecodingBatch,
}

impl Progress {
    /// Tokens that a running request has been given.
    fn given_of(&self, requests: &Requests, request: usize) -> i64 {
        if self.read[request].is_some() {
            self.given[request]
        } else {
            self.batch.context(request) + 1 - requests.prompts[request]
        }
    }
}

/// One run: made, run once, and thrown away.
#[derive(Debug)]
struct Engine {
    requests: Requests,
    setup: Setup,
    watermark: i64,
    free: i64,
    now: f64,
    /// The request that comes next.
    next: usize,
    n_under_way: usize,
    decider: Decider,
    waiting: RequestQueue,
    queued_at: Vec<f64>,
    progress: Progress,
    /// Prompts that are being read, and the rest of all of them.
    prefilling: VecDeque<usize>,
    unread: i64,
    prefixes: Option<PrefixCache>,
    out: Outcome,
}

impl Engine {
    fn new(requests: Requests, mut setup: Setup) -> Self {
        let n = requests.arrivals.len();
        // Requests that are reserved a place in one piece share none of it.
        let blocks = setup.blocks.take();
        let shared = blocks.filter(|_| setup.policy.kind != PolicyKind::Static);
        let Setup {
            policy,
            pages,
            budget_bytes,
            context_tokens,
            ..
        } = setup;
        let decider = Decider::new(policy, pages, budget_bytes, context_tokens);
        Self {
            watermark: (budget_bytes as f64 * setup.watermark_share) as i64,
            free: budget_bytes,
            now: 0.0,
            next: 0,
            n_under_way: 0,
            waiting: decider.queue(),
            decider,
            queued_at: vec![0.0; n],
            progress: Progress {
                given: vec![0; n],
                held: vec![0; n],
                read: vec![None; n],
                batch: DecodingBatch::new(n, setup.times.clone(), pages),
            },
            prefilling: VecDeque::new(),
            unread: 0,
            prefixes: shared.map(PrefixCache::new),
            out: Outcome::new(&requests.arrivals, setup.bin_seconds),
            requests,
            setup,
        }
    }

    fn run(mut self, keep_going: KeepGoing<'_>) -> Option<Outcome> {
        let mut turns: u64 = 0;
        loop {
            turns += 1;
            if turns.is_multiple_of(ASK_EVERY) && !keep_going() {
                return None;
            }
            let following = self.requests.arrivals.get(self.next).copied();
            if following.is_some_and(|at| at <= self.now) {
                self.receive();
            }
            if !self.waiting.is_empty() {
                self.admit();
            }
            if !self.prefilling.is_empty() {
                self.mixed_step();
            } else if self.progress.batch.n > 0 {
                self.decode_steps(false);
            } else if let Some(&at) = self.requests.arrivals.get(self.next) {
                self.idle_until(at);
            } else {
                break;
            }
        }
        self.out.end_seconds = self.now;
        self.out.allocated_bytes_at_end = self.setup.budget_bytes - self.free;
        self.out.n_steps += self.progress.batch.step;
        Some(self.out)
    }

    // Arrivals and admission

    /// Puts what has come by now into the queue.
    fn receive(&mut self) {
        while let Some(&at) = self.requests.arrivals.get(self.next) {
            if at > self.now {
                break;
            }
            let request = self.next;
            if let Some(clients) = self.setup.clients {
                if self.n_under_way >= clients {
                    break;
                }
                self.out.arrived[request] = self.now;
            }
            if !self.requests.is_refused[request] {
                let arrived = self.out.arrived[request];
                let place = self.decider.place(self.requests.prompts[request], arrived);
                self.waiting.push(request, place);
                self.queued_at[request] = arrived;
                self.n_under_way += 1;
            }
            self.next += 1;
        }
    }

    /// Admits from the queue as long as memory, the batch and the step have room.
    fn admit(&mut self) {
        let n_decoding = self.progress.batch.n;
        let mut room = self.setup.step_tokens - self.unread;
        if self.setup.is_chunked {
            room -= n_decoding;
        }
        while room > 0 && self.decider.n_running() < self.setup.max_requests {
            let Some(request) = self.waiting.head() else {
                return;
            };
            let prompt = self.requests.prompts[request];
            let given = self.progress.given[request];
            let context = prompt + given;
            let (mut n_found, mut start, mut shared) = (0, 0, 0);
            if let Some(prefixes) = &self.prefixes {
                let n_in_use;
                (n_found, n_in_use) = prefixes.find(request, prompt, context);
                start = n_found * prefixes.block_tokens();
                shared = n_in_use * prefixes.block_bytes();
            }
            let rest = context - start;
            if !self.setup.is_chunked && rest > room && !self.prefilling.is_empty() {
                return;
            }
            // A decoding request gets its pages first.
            let kept = self.progress.batch.next_demand().max(self.watermark);
            let asking = Asking {
                request,
                prompt,
                given,
                fields: self.requests.fields(request),
                shared,
            };
            let (requests, progress) = (&self.requests, &self.progress);
            let given_of = |one: usize| progress.given_of(requests, one);
            let free = self.free - kept;
            let Some(tokens) = self.decider.start(&asking, free, self.now, &given_of) else {
                return;
            };
            self.waiting.pop();
            self.free -= self.setup.pages.of(tokens) - shared;
            self.note_prediction(request);
            if let Some(prefixes) = &mut self.prefixes {
                prefixes.take(request, n_found);
                prefixes.evict(self.free);
                self.out.cached_tokens += start;
            }
            // Whole pages are held, so that a page's end is where the next one is needed.
            self.progress.held[request] = self.setup.pages.whole_tokens(tokens);
            self.progress.read[request] = Some(start);
            self.prefilling.push_back(request);
            room -= rest;
            self.unread += rest;
            self.out.waits.0.push(self.queued_at[request]);
            self.out.waits.1.push(self.now);
            if self.out.n_preempted[request] == 0 {
                self.out.admitted[request] = self.now;
            }
        }
    }

    fn note_prediction(&mut self, request: usize) {
        if let Some(predicted) = self.decider.predicted()
            && self.progress.given[request] == 0
        {
            self.out.predicted.push(predicted);
            self.out
                .predicted_actual
                .push(self.requests.outputs[request]);
        }
    }

    // Steps

    /// One step that reads prompts, and decodes beside them if prompts are read in chunks.
    fn mixed_step(&mut self) {
        let is_chunked = self.setup.is_chunked;
        if is_chunked && self.progress.batch.next_demand() > self.free {
            self.make_room();
            if self.prefilling.is_empty() {
                // The prompts lost their places. A step follows all the same, or they would be
                // admitted and preempted in turn for ever.
                if self.progress.batch.n > 0 {
                    self.decode_steps(true);
                }
                return;
            }
        }
        let mut work = self.setup.times.no_work();
        if is_chunked {
            work.n_decoding = self.progress.batch.n;
            work.tokens.clone_from(&self.progress.batch.tokens);
            work.growth.clone_from(&self.progress.batch.growth);
        }
        let mut room = self.setup.step_tokens - work.n_decoding;
        let (mut parts, mut ended) = (Vec::new(), Vec::new());
        for &request in &self.prefilling {
            let given = self.progress.given[request];
            let whole = self.requests.prompts[request] + given;
            let start = self.progress.read[request].unwrap_or(0);
            let rest = whole - start;
            let take = if is_chunked { rest.min(room) } else { rest };
            let end = start + take;
            self.setup.times.add_part(&mut work, start, end);
            self.progress.read[request] = Some(end);
            parts.push((request, start, end));
            if given > 0 {
                self.out.recomputed_tokens += take;
            }
            room -= take;
            if end == whole {
                ended.push(request);
            }
            if room <= 0 {
                break;
            }
        }
        work.n_scored = ended.len() as i64;
        let seconds = self.setup.times.seconds(&work);
        self.unread -= work.n_prompt_tokens;
        self.out.prompt_tokens_read += work.n_prompt_tokens;
        self.out.prompt_seconds += seconds;
        if work.n_decoding > 0 {
            self.advance(1, seconds, &work);
        } else {
            self.stand_still(seconds, &work);
        }
        if let Some(prefixes) = &mut self.prefixes {
            for (request, start, end) in parts {
                prefixes.store(request, self.requests.prompts[request], start, end);
            }
        }
        for request in ended {
            self.prefilling.retain(|&one| one != request);
            self.progress.read[request] = None;
            self.start_decoding(request);
        }
    }

    /// As many steps as pass without an event; `is_fresh`: somebody was preempted just now.
    fn decode_steps(&mut self, is_fresh: bool) {
        let batch = &self.progress.batch;
        let mut most = batch.due() - batch.step;
        if most < 1 {
            // An event of a request that is gone.
            self.handle_events();
            return;
        }
        if is_fresh && self.prefixes.is_some() {
            // It may need less than it gave back: others have stored what it had for itself.
            most = 1;
        }
        let steps = self
            .setup
            .times
            .decoding(batch.n, &batch.tokens, &batch.growth);
        let is_blocked = !self.waiting.is_empty();
        let has_place = self.decider.n_running() < self.setup.max_requests;
        let has_client = |clients: usize| self.n_under_way < clients;
        if (!is_blocked || self.decider.heeds_arrivals())
            && has_place
            && self.setup.clients.is_none_or(has_client)
            && let Some(&at) = self.requests.arrivals.get(self.next)
        {
            most = steps.until(at - self.now, most);
        }
        let fitting = batch.steps_that_fit(most, self.free);
        if fitting == 0 {
            self.make_room();
            if self.progress.batch.n > 0 {
                // Another batch, whose next step has its pages.
                self.decode_steps(true);
            }
            return;
        }
        let seconds = steps.seconds(fitting);
        self.out.decode_seconds += seconds;
        if is_blocked && has_place {
            self.out.blocked_seconds += seconds;
        }
        self.advance(fitting, seconds, &StepWork::default());
    }

    /// Lets the decoding requests go on by some steps, beside which prompts are read.
    fn advance(&mut self, n_steps: i64, seconds: f64, prompts: &StepWork) {
        let held = self.present(prompts);
        let batch = &mut self.progress.batch;
        let demand = batch.demand(n_steps);
        let growth = batch.growth.iter().zip(or_zeros(&prompts.gained));
        let gained = growth.map(|(growth, gained)| growth * n_steps + gained);
        self.out.memory.add(&Stretch {
            start: self.now,
            seconds,
            allocated: self.setup.budget_bytes - self.free,
            taken: demand,
            held,
            gained: self.setup.times.held(gained),
        });
        self.free -= demand;
        self.now += seconds;
        self.out.output_tokens += batch.n * n_steps;
        for (tokens, growth) in batch.tokens.iter_mut().zip(&batch.growth) {
            *tokens += growth * n_steps;
        }
        batch.step += n_steps;
        let is_due = batch.due() <= batch.step;
        if let Some(prefixes) = &mut self.prefixes {
            prefixes.evict(self.free);
        }
        if is_due {
            self.handle_events();
        }
    }

    /// A step that only reads prompts.
    fn stand_still(&mut self, seconds: f64, prompts: &StepWork) {
        self.out.memory.add(&Stretch {
            start: self.now,
            seconds,
            allocated: self.setup.budget_bytes - self.free,
            taken: 0,
            held: self.present(prompts),
            gained: self.setup.times.held(prompts.gained.iter().copied()),
        });
        self.now += seconds;
        // Not a step of the decoding requests, whose events are counted in their own steps.
        self.out.n_steps += 1;
    }

    /// Memory that holds tokens and states, those shared once, before prompts gain some.
    fn present(&self, prompts: &StepWork) -> f64 {
        let (times, batch) = (&self.setup.times, &self.progress.batch);
        let both = batch.tokens.iter().zip(or_zeros(&prompts.past));
        let held = times.held(both.map(|(tokens, past)| tokens + past))
            + times.state_bytes * (batch.n + prompts.n_prompts) as f64;
        let Some(prefixes) = &self.prefixes else {
            return held;
        };
        // Prefixes are shared where every layer keeps all tokens.
        let shared = prefixes.n_shared() * prefixes.block_tokens();
        (held - times.held(times.terms.iter().map(|_| shared))).max(0.0)
    }

    fn idle_until(&mut self, time: f64) {
        if time <= self.now {
            return;
        }
        self.out.memory.add(&Stretch {
            start: self.now,
            seconds: time - self.now,
            allocated: self.setup.budget_bytes - self.free,
            taken: 0,
            held: 0.0,
            gained: 0.0,
        });
        self.now = time;
    }

    /// The prompt is read, which gives a token; the rest comes by steps.
    fn start_decoding(&mut self, request: usize) {
        let given = self.progress.given[request];
        let context = self.requests.prompts[request] + given;
        let output = self.requests.outputs[request];
        let mut rest = output - given;
        if output > 0 {
            self.out.output_tokens += 1;
            if given == 0 {
                self.out.first_token[request] = self.now;
            }
            self.progress.given[request] += 1;
            rest -= 1;
        }
        if rest <= 0 {
            self.release(request, context);
            self.end(request);
        } else {
            let held = self.progress.held[request];
            self.progress.batch.add(request, context, rest, held);
        }
    }

    fn handle_events(&mut self) {
        for (request, context) in self.progress.batch.finished() {
            self.progress.given[request] = self.requests.outputs[request];
            self.release(request, context);
            self.end(request);
        }
    }

    fn end(&mut self, request: usize) {
        self.out.finished[request] = self.now;
        let (prompt, output) = (
            self.requests.prompts[request],
            self.requests.outputs[request],
        );
        let fields = self.requests.fields(request);
        let since = self.decider.finish(request, prompt, output, fields);
        self.out.runs.0.push(since);
        self.out.runs.1.push(self.now);
        self.n_under_way -= 1;
    }

    // Memory

    /// Gives a request's memory back, but for what others use too.
    fn release(&mut self, request: usize, context: i64) {
        let held = self.progress.held[request].max(context);
        self.free += self.setup.pages.of(held);
        if let Some(prefixes) = &mut self.prefixes {
            self.free -= prefixes.release(request);
        }
    }

    /// Preempts requests until the pages of the next step are free.
    fn make_room(&mut self) {
        while self.progress.batch.next_demand() > self.free {
            let (requests, progress) = (&self.requests, &self.progress);
            let given_of = |one: usize| progress.given_of(requests, one);
            let Some(victim) = self.decider.victim(&given_of) else {
                return;
            };
            self.preempt(victim);
        }
    }

    /// Takes a request's cache away: it reads everything again, before all that wait.
    fn preempt(&mut self, request: usize) {
        let prompt = self.requests.prompts[request];
        if let Some(read) = self.progress.read[request].take() {
            self.prefilling.retain(|&one| one != request);
            self.unread -= prompt + self.progress.given[request] - read;
            self.release(request, 0);
        } else {
            self.progress.given[request] = self.progress.batch.context(request) + 1 - prompt;
            let context = self.progress.batch.remove(request);
            self.release(request, context);
        }
        self.out.runs.0.push(self.decider.leave(request));
        self.out.runs.1.push(self.now);
        self.out.n_preempted[request] += 1;
        self.out.memory_out.push(self.now);
        self.waiting.put_back(request);
        self.queued_at[request] = self.now;
    }
}

/// The numbers, and zeros after them: a step that reads no prompts has none.
fn or_zeros(numbers: &[i64]) -> impl Iterator<Item = i64> {
    numbers.iter().copied().chain(std::iter::repeat(0))
}
