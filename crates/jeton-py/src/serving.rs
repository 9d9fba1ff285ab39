//! Requests on a server: lengths foreseen, admission, and traffic replayed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_serving as core;
use jeton_serving::{Fields, OutputLengths};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::door::{enter, quick};

/// Expert weights as Python has them: bytes of the rest, of the head, of the experts; the share
/// that a token leaves idle; seconds of a byte.
type ExpertWeights = (f64, f64, f64, f64, f64);

/// A term as Python has it: most tokens, bytes held, seconds of reading, decoding, and of a pair.
type ContextTerm = (i64, f64, f64, f64, f64);

/// An interval: fewest and most tokens, one-sided bound, requests, fields.
type FoundInterval = (i64, i64, i64, u64, usize);

/// A drift: fields, requests before and since, shares expected and seen, score.
type FoundDrift = (Vec<String>, u64, u64, f64, f64, f64, f64, f64);

/// A start: number, tokens reserved, tokens to read, tokens predicted.
type FoundStart = (usize, i64, i64, Option<i64>);

/// Blocks of prompts: offsets, numbers, tokens of a block, bytes of a block.
type GivenBlocks<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    i64,
    i64,
);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fields(given: Vec<String>) -> Fields {
    given.into_iter().map(String::into_boxed_str).collect()
}

/// The attributes of Python's ``Policy``.
#[derive(FromPyObject)]
pub(crate) struct GivenPolicy {
    name: String,
    reserved_tokens: Option<i64>,
    quantile: f64,
    max_output_tokens: Option<i64>,
    order: String,
    ageing_tokens_per_second: f64,
    seed: u64,
}

impl GivenPolicy {
    fn policy(&self) -> Result<core::Policy> {
        let kind = core::PolicyKind::of(&self.name)
            .ok_or_else(|| Error::usage(format!("the policy {:?} is not known", self.name)))?;
        Ok(core::Policy {
            kind,
            reserved_tokens: self.reserved_tokens.unwrap_or(1),
            quantile: self.quantile,
            max_output_tokens: self.max_output_tokens.unwrap_or(1),
            is_shortest_first: self.order == "shortest",
            ageing_tokens_per_second: self.ageing_tokens_per_second,
            seed: self.seed,
        })
    }
}

/// The attributes of Python's ``PageBytes``.
#[derive(FromPyObject)]
pub(crate) struct GivenPages {
    page_tokens: i64,
    full: i64,
    window: i64,
    window_pages: i64,
    state: i64,
}

impl GivenPages {
    fn pages(&self) -> core::Pages {
        core::Pages {
            page_tokens: self.page_tokens,
            full: self.full,
            window: self.window,
            window_pages: self.window_pages,
            state: self.state,
        }
    }
}

/// The attributes of Python's ``StepTimes``.
#[derive(FromPyObject)]
pub(crate) struct GivenTimes {
    terms: Vec<ContextTerm>,
    decode_flop_seconds: f64,
    prompt_flop_seconds: f64,
    head_flop_seconds: f64,
    state_bytes: f64,
    state_seconds: f64,
    overhead_seconds: f64,
    weight_seconds: f64,
    expert_weights: Option<ExpertWeights>,
}

impl GivenTimes {
    fn times(&self) -> core::StepTimes {
        let experts = self.expert_weights.map(
            |(rest_bytes, head_bytes, expert_bytes, idle_share, seconds_per_byte)| {
                core::ExpertWeights {
                    rest_bytes,
                    head_bytes,
                    expert_bytes,
                    idle_share,
                    seconds_per_byte,
                }
            },
        );
        let terms = self.terms.iter().map(
            |&(most_tokens, held_bytes, read_seconds, decode_seconds, prompt_seconds)| {
                core::ContextTerm {
                    most_tokens,
                    held_bytes,
                    read_seconds,
                    decode_seconds,
                    prompt_seconds,
                }
            },
        );
        core::StepTimes {
            terms: terms.collect(),
            decode_flop_seconds: self.decode_flop_seconds,
            prompt_flop_seconds: self.prompt_flop_seconds,
            head_flop_seconds: self.head_flop_seconds,
            state_bytes: self.state_bytes,
            state_seconds: self.state_seconds,
            overhead_seconds: self.overhead_seconds,
            weight_seconds: self.weight_seconds,
            experts,
        }
    }
}

/// The attributes of Python's ``EngineSettings``.
#[derive(FromPyObject)]
pub(crate) struct GivenSettings {
    max_requests: usize,
    step_tokens: i64,
    prefill: String,
    watermark_share: f64,
    clients: Option<usize>,
}

/// Replay requests on one serving group.
///
/// Lists have a place for each request; arrivals ascend. Request ``i`` has the fields
/// ``groups[group_of[i]]``. Times, pages, policy and settings are the objects of
/// ``jeton.economics``. Returns the fields of its ``Outcome``.
#[pyfunction]
#[pyo3(signature = (
    arrivals, prompts, outputs, is_refused, group_of, groups, *, times, pages, budget_bytes, policy,
    settings, bin_seconds, context_tokens=None, blocks=None,
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // extracted from Python
pub(crate) fn simulate_traffic<'py>(
    py: Python<'py>,
    arrivals: PyReadonlyArray1<'py, f64>,
    prompts: PyReadonlyArray1<'py, i64>,
    outputs: PyReadonlyArray1<'py, i64>,
    is_refused: PyReadonlyArray1<'py, bool>,
    group_of: PyReadonlyArray1<'py, i64>,
    groups: Vec<Vec<String>>,
    times: GivenTimes,
    pages: GivenPages,
    budget_bytes: i64,
    policy: GivenPolicy,
    settings: GivenSettings,
    bin_seconds: f64,
    context_tokens: Option<i64>,
    blocks: Option<GivenBlocks<'py>>,
) -> PyResult<Bound<'py, PyDict>> {
    let places = |given: &PyReadonlyArray1<'py, i64>| -> Vec<usize> {
        given
            .as_array()
            .iter()
            .map(|&place| usize::try_from(place).unwrap_or(usize::MAX))
            .collect()
    };
    let requests = core::Requests {
        arrivals: arrivals.as_array().to_vec(),
        prompts: prompts.as_array().to_vec(),
        outputs: outputs.as_array().to_vec(),
        is_refused: is_refused.as_array().to_vec(),
        group_of: places(&group_of),
        groups: groups.into_iter().map(fields).collect(),
    };
    let n = requests.arrivals.len();
    let lengths = [
        requests.prompts.len(),
        requests.outputs.len(),
        requests.is_refused.len(),
        requests.group_of.len(),
    ];
    let is_known = |&group: &usize| group < requests.groups.len();
    if lengths != [n; 4] || !requests.group_of.iter().all(is_known) {
        let reason = "each request must have an arrival, lengths, and one of the groups";
        return quick(py, Err(Error::usage(reason)));
    }
    let blocks = blocks.map(
        |(offsets, numbers, block_tokens, block_bytes)| core::PromptBlocks {
            offsets: places(&offsets),
            numbers: numbers.as_array().to_vec(),
            block_tokens,
            block_bytes,
        },
    );
    if blocks.as_ref().is_some_and(|blocks| !blocks.are_of(n)) {
        let reason = "the blocks of each prompt must follow those of the prompt before it";
        return quick(py, Err(Error::usage(reason)));
    }
    let setup = core::Setup {
        times: times.times(),
        pages: pages.pages(),
        budget_bytes,
        policy: quick(py, policy.policy())?,
        context_tokens,
        max_requests: settings.max_requests,
        step_tokens: settings.step_tokens,
        is_chunked: settings.prefill == "chunked",
        watermark_share: settings.watermark_share,
        clients: settings.clients,
        bin_seconds,
        blocks,
    };
    let out = enter(py, |keep_going| {
        core::simulate(requests, setup, keep_going).ok_or(ErrorKind::Interrupted.into())
    })?;
    outcome(py, out)
}

/// The fields of Python's ``Outcome``, and of its ``MemoryRecord``.
fn outcome(py: Python<'_>, out: core::Outcome) -> PyResult<Bound<'_, PyDict>> {
    let memory = PyDict::new(py);
    memory.set_item("width", out.memory.width)?;
    memory.set_item("allocated", out.memory.allocated)?;
    memory.set_item("peak", out.memory.peak)?;
    memory.set_item("held", out.memory.held)?;
    memory.set_item("seconds", out.memory.seconds)?;
    let found = PyDict::new(py);
    for (name, times) in [
        ("arrived", out.arrived),
        ("admitted", out.admitted),
        ("first_token", out.first_token),
        ("finished", out.finished),
        ("memory_out", out.memory_out),
    ] {
        found.set_item(name, times.into_pyarray(py))?;
    }
    for (name, (starts, ends)) in [("waits", out.waits), ("runs", out.runs)] {
        found.set_item(name, (starts.into_pyarray(py), ends.into_pyarray(py)))?;
    }
    for (name, lengths) in [
        ("predicted", out.predicted),
        ("predicted_actual", out.predicted_actual),
    ] {
        found.set_item(name, lengths.into_pyarray(py))?;
    }
    found.set_item("n_preempted", out.n_preempted.into_pyarray(py))?;
    for (name, seconds) in [
        ("end_seconds", out.end_seconds),
        ("prompt_seconds", out.prompt_seconds),
        ("decode_seconds", out.decode_seconds),
        ("blocked_seconds", out.blocked_seconds),
    ] {
        found.set_item(name, seconds)?;
    }
    for (name, count) in [
        ("prompt_tokens_read", out.prompt_tokens_read),
        ("cached_tokens", out.cached_tokens),
        ("recomputed_tokens", out.recomputed_tokens),
        ("output_tokens", out.output_tokens),
        ("n_steps", out.n_steps),
        ("allocated_bytes_at_end", out.allocated_bytes_at_end),
    ] {
        found.set_item(name, count)?;
    }
    found.set_item("memory", memory)?;
    Ok(found)
}

/// The books of a server: who waits, who runs, and whose the memory is.
///
/// Requests have numbers, which are used again once they have ended.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct AdmissionBooks(Mutex<core::Books>);

#[pymethods]
impl AdmissionBooks {
    #[new]
    #[pyo3(signature = (policy, *, capacity_tokens, max_requests, page_tokens, context_tokens, watermark_share))]
    #[allow(clippy::needless_pass_by_value)] // extracted from Python
    fn new(
        py: Python<'_>,
        policy: GivenPolicy,
        capacity_tokens: i64,
        max_requests: usize,
        page_tokens: i64,
        context_tokens: Option<i64>,
        watermark_share: f64,
    ) -> PyResult<Self> {
        let limits = core::ServerLimits {
            capacity_tokens,
            max_requests,
            page_tokens,
            context_tokens,
            watermark_share,
        };
        let policy = quick(py, policy.policy())?;
        Ok(Self(Mutex::new(core::Books::new(policy, limits))))
    }

    /// Put a request into the queue; its number, -1: it is too long, -2: too large.
    fn offer(&self, prompt_tokens: i64, at_seconds: f64, group: Vec<String>) -> i64 {
        match lock(&self.0).offer(prompt_tokens, at_seconds, fields(group)) {
            core::Offered::Queued(request) => request as i64,
            core::Offered::TooLong => -1,
            core::Offered::TooLarge => -2,
        }
    }

    /// Start the next request that can start: its number, tokens reserved, to read, predicted.
    fn decide(&self) -> Option<FoundStart> {
        let found = lock(&self.0).decide()?;
        Some((
            found.request,
            found.reserved_tokens,
            found.read_tokens,
            found.predicted_tokens,
        ))
    }

    /// Give each of these running requests a token; return those that lost their memory.
    #[allow(clippy::needless_pass_by_value)] // extracted from Python
    fn step(&self, requests: Vec<usize>) -> Vec<usize> {
        lock(&self.0).step(&requests)
    }

    /// Take a running request that is answered out, and learn from its length.
    fn finish(&self, request: usize) {
        lock(&self.0).finish(request);
    }

    /// Take a request out whose client went away.
    fn cancel(&self, request: usize) {
        lock(&self.0).cancel(request);
    }

    /// True if a request runs.
    fn is_running(&self, request: usize) -> bool {
        lock(&self.0).is_running(request)
    }

    /// Tokens that the cache holds, in whole pages.
    #[getter]
    fn capacity_tokens(&self) -> i64 {
        lock(&self.0).capacity_tokens()
    }

    /// Tokens of the pages that nobody has.
    #[getter]
    fn free_tokens(&self) -> i64 {
        lock(&self.0).free_tokens()
    }

    /// Requests that wait.
    #[getter]
    fn n_waiting(&self) -> usize {
        lock(&self.0).n_waiting()
    }

    /// Requests that run.
    #[getter]
    fn n_running(&self) -> usize {
        lock(&self.0).n_running()
    }

    /// How often the memory's future peak was computed.
    #[getter]
    fn n_looks(&self) -> u64 {
        lock(&self.0).n_looks()
    }
}

/// Intervals of output lengths, learned from finished requests, by group and prompt length.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct OutputHistory(Mutex<OutputLengths>);

#[pymethods]
impl OutputHistory {
    #[new]
    fn new(coverage: f64, min_history: u64) -> Self {
        Self(Mutex::new(OutputLengths::new(coverage, min_history)))
    }

    /// Fewest and most tokens, one-sided bound, requests and fields of the history; None without.
    fn foresee(&self, prompt_tokens: i64, group: Vec<String>) -> Option<FoundInterval> {
        let found = lock(&self.0).foresee(prompt_tokens, &fields(group))?;
        let interval = found.interval;
        Some((
            interval.lower_tokens,
            interval.upper_tokens,
            interval.one_sided_tokens,
            interval.n_history,
            found.n_fields,
        ))
    }

    /// Take a finished request in.
    fn learn(&self, prompt_tokens: i64, output_tokens: i64, group: Vec<String>) {
        lock(&self.0).learn(prompt_tokens, output_tokens, &fields(group));
    }

    /// Groups that have drifted of late, the largest change first.
    fn drifts(&self) -> Vec<FoundDrift> {
        let found = lock(&self.0).drifts().into_iter();
        found
            .map(|(group, drift)| {
                (
                    group.into_iter().map(String::from).collect(),
                    drift.n_before,
                    drift.n_now,
                    drift.expected_longer_share,
                    drift.longer_share,
                    drift.expected_shorter_share,
                    drift.shorter_share,
                    drift.score,
                )
            })
            .collect()
    }

    /// Another one that knows as much.
    fn copy(&self) -> Self {
        Self(Mutex::new(lock(&self.0).clone()))
    }

    /// Finished requests before a group is believed.
    #[getter]
    fn min_history(&self) -> u64 {
        lock(&self.0).min_history()
    }

    /// Groups that are remembered.
    #[getter]
    fn n_groups(&self) -> usize {
        lock(&self.0).n_groups()
    }
}
