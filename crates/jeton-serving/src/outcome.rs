//! Outcome of one run: request by request, and the memory over time.

/// Outcome of the requests, and the work of the group. Times are seconds; NaN: never.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// When each request came.
    pub arrived: Vec<f64>,
    /// When it first left the queue.
    pub admitted: Vec<f64>,
    /// When its first token came.
    pub first_token: Vec<f64>,
    /// When it ended; NaN: it was refused.
    pub finished: Vec<f64>,
    /// How often it lost its cache.
    pub n_preempted: Vec<u32>,
    /// Stretches of waiting, each from and to: those after a preemption too.
    pub waits: (Vec<f64>, Vec<f64>),
    /// Stretches in the batch, each from and to.
    pub runs: (Vec<f64>, Vec<f64>),
    /// Moments at which a request had to be preempted.
    pub memory_out: Vec<f64>,
    /// When the last request ended.
    pub end_seconds: f64,
    /// Prompt tokens read, those that were read again included.
    pub prompt_tokens_read: i64,
    /// Prompt tokens that were not read, because the cache had them.
    pub cached_tokens: i64,
    /// Tokens of the read ones that were read again after a preemption.
    pub recomputed_tokens: i64,
    /// Tokens given.
    pub output_tokens: i64,
    /// Time of steps that read prompts.
    pub prompt_seconds: f64,
    /// Time of steps that only decode.
    pub decode_seconds: f64,
    /// Time in which the head of the queue waited for memory.
    pub blocked_seconds: f64,
    /// Steps.
    pub n_steps: i64,
    /// Memory still handed out; 0, or the books are wrong.
    pub allocated_bytes_at_end: i64,
    /// Predicted output lengths, of the requests that had a prediction.
    pub predicted: Vec<i64>,
    /// Their actual ones.
    pub predicted_actual: Vec<i64>,
    /// Memory over time.
    pub memory: Recorder,
}

impl Outcome {
    /// Before the run, when all that is known is when requests come.
    pub(crate) fn new(arrivals: &[f64], bin_seconds: f64) -> Self {
        let never = vec![f64::NAN; arrivals.len()];
        Self {
            arrived: arrivals.to_vec(),
            admitted: never.clone(),
            first_token: never.clone(),
            finished: never,
            n_preempted: vec![0; arrivals.len()],
            memory: Recorder::new(bin_seconds),
            ..Self::default()
        }
    }
}

/// Bins beyond which each two become one: a run may last longer than its trace.
const MAX_BINS: usize = 4096;

/// Bytes handed out and held, by equally wide stretches of time.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Seconds of a bin.
    pub width: f64,
    /// Integral of the bytes handed out, byte seconds, by bin.
    pub allocated: Vec<f64>,
    /// The most bytes handed out, by bin.
    pub peak: Vec<i64>,
    /// Integral of the bytes that hold tokens and states of requests, by bin.
    pub held: Vec<f64>,
    /// Seconds covered, by bin; less than `width` only in the last.
    pub seconds: Vec<f64>,
    end: f64,
}

/// Memory in a stretch of time, in which it grows evenly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// When it begins.
    pub(crate) start: f64,
    /// How long it is.
    pub(crate) seconds: f64,
    /// Bytes handed out when it begins.
    pub(crate) allocated: i64,
    /// Bytes that are handed out in it.
    pub(crate) taken: i64,
    /// Bytes that hold something when it begins.
    pub(crate) held: f64,
    /// Bytes that come to hold something in it.
    pub(crate) gained: f64,
}

impl Recorder {
    fn new(width: f64) -> Self {
        Self {
            width,
            allocated: vec![0.0],
            peak: vec![0],
            held: vec![0.0],
            seconds: vec![0.0],
            end: width,
        }
    }

    /// Adds a stretch, which may reach over several bins.
    pub(crate) fn add(&mut self, one: &Stretch) {
        let (mut at, end) = (one.start, one.start + one.seconds);
        if end <= self.end || one.seconds <= 0.0 {
            self.add_part(one, one.seconds, 0.5, 1.0);
            return;
        }
        loop {
            let upto = end.min(self.end);
            let part = (upto - at).max(0.0);
            let middle = (f64::midpoint(at, upto) - one.start) / one.seconds;
            self.add_part(one, part, middle, (upto - one.start) / one.seconds);
            if end <= self.end {
                return;
            }
            at = upto;
            self.next_bin();
        }
    }

    /// Adds seconds of a stretch to the last bin: its middle and its end, as shares of the stretch.
    fn add_part(&mut self, one: &Stretch, seconds: f64, middle: f64, reached: f64) {
        let last = self.seconds.len() - 1;
        self.allocated[last] += seconds * (one.allocated as f64 + one.taken as f64 * middle);
        self.held[last] += seconds * (one.held + one.gained * middle);
        self.seconds[last] += seconds;
        let most = one.allocated + (one.taken as f64 * reached).round_ties_even() as i64;
        self.peak[last] = self.peak[last].max(most);
    }

    fn next_bin(&mut self) {
        if self.seconds.len() >= MAX_BINS {
            // An even number of them.
            for values in [&mut self.allocated, &mut self.held, &mut self.seconds] {
                *values = values.chunks(2).map(|pair| pair.iter().sum()).collect();
            }
            let highest = |pair: &[i64]| pair.iter().copied().max().unwrap_or(0);
            self.peak = self.peak.chunks(2).map(highest).collect();
            self.width *= 2.0;
            self.end = self.width * self.seconds.len() as f64;
        }
        self.end += self.width;
        self.allocated.push(0.0);
        self.held.push(0.0);
        self.seconds.push(0.0);
        self.peak.push(0);
    }
}
