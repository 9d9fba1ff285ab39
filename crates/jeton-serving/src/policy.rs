//! Policies of admission: how much memory a request is given, and in which order requests start.

/// How memory is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// A fixed length for each request, in one piece.
    Static,
    /// The prompt and the longest answer, in pages.
    Maximum,
    /// Pages as tokens come.
    Dynamic,
    /// The prompt and the mean answer.
    Mean,
    /// The prompt and the 95% quantile of answers.
    P95,
    /// The prompt and a quantile of the answers to prompts of like length.
    Prediction,
    /// The prompt and the upper end of the conformal interval.
    Conformal,
    /// Pages, if the future peak fits with answers at the lower end of the interval.
    Refine,
    /// Pages, if the future peak fits with answers drawn from recent ones.
    Peak,
}

impl PolicyKind {
    /// Returns the policy of a name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "static" => Self::Static,
            "maximum" => Self::Maximum,
            "dynamic" => Self::Dynamic,
            "mean" => Self::Mean,
            "p95" => Self::P95,
            "prediction" => Self::Prediction,
            "conformal" => Self::Conformal,
            "refine" => Self::Refine,
            "peak" => Self::Peak,
            _ => return None,
        })
    }
}

/// A policy and its settings.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How memory is handed out.
    pub kind: PolicyKind,
    /// Tokens that `Static` reserves.
    pub reserved_tokens: i64,
    /// Quantile of `Prediction`; coverage of the intervals of `Conformal` and `Refine`.
    pub quantile: f64,
    /// Answer that `Maximum` reserves.
    pub max_output_tokens: i64,
    /// The shortest predicted request starts first, not the one that came first.
    pub is_shortest_first: bool,
    /// Tokens that a second of waiting takes off a request's predicted length.
    pub ageing_tokens_per_second: f64,
    /// Seed of the lengths that `Peak` draws.
    pub seed: u64,
}
