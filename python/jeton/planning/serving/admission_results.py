"""Result of planning admission: policies over loads, the best, and settings for engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from jeton._core import __version__
from jeton._shown import NotebookResult
from jeton.economics.admission import PolicyName, QueueOrder
from jeton.planning.serving.replays import LatencyObjective, ReplayFigures, SeedFigure

ADMISSION_SCHEMA = "jeton.plan_admission/1"

_OVER_SEEDS = (
    "goodput_requests_per_second",
    "in_time_share",
    "utilisation_share",
    "reserved_share",
    "evictions_per_thousand",
    "ttft_p50_seconds",
    "ttft_p99_seconds",
    "tpot_p99_seconds",
    "tokens_per_second",
    "usd_per_mtok",
    "usd_per_mtok_in_time",
)


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """A policy at one load; the fields are those of `ReplayFigures`, over seeds.

    Attributes:
        load: Rate of the requests over the rate that the server sustains with never a want of work.
        requests_per_second: The rate.
        usd_per_mtok: None where a seed has no answer.
        usd_per_mtok_in_time: None where a seed has no answer in time.
        running_p99: The most requests side by side, over seeds.
        n_refused: Requests of all seeds that fit neither context nor memory.
        predicted_tokens_mean: Answer that the policy counted on, mean over seeds.
    """

    load: float
    requests_per_second: float
    goodput_requests_per_second: SeedFigure
    in_time_share: SeedFigure
    utilisation_share: SeedFigure
    reserved_share: SeedFigure
    evictions_per_thousand: SeedFigure
    ttft_p50_seconds: SeedFigure
    ttft_p99_seconds: SeedFigure
    tpot_p99_seconds: SeedFigure
    tokens_per_second: SeedFigure
    usd_per_mtok: SeedFigure | None
    usd_per_mtok_in_time: SeedFigure | None
    running_p99: int
    n_refused: int
    predicted_tokens_mean: float | None

    @classmethod
    def of(cls, load: float, runs: Sequence[ReplayFigures]) -> LoadFigures:
        """Return the figures of one load from the replays of its seeds."""
        found: dict[str, Any] = {}
        for name in _OVER_SEEDS:
            values = [getattr(run, name) for run in runs]
            missing = any(value is None for value in values)
            found[name] = None if missing else SeedFigure.of([float(value) for value in values])
        predicted = [
            run.predicted_tokens_mean for run in runs if run.predicted_tokens_mean is not None
        ]
        return cls(
            load=load,
            requests_per_second=sum(run.requests_per_second for run in runs) / len(runs),
            running_p99=max(run.running_p99 for run in runs),
            n_refused=sum(run.n_refused for run in runs),
            predicted_tokens_mean=sum(predicted) / len(predicted) if predicted else None,
            **found,
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            name: value.to_dict() if isinstance(value, SeedFigure) else value
            for name in self.__slots__
            for value in (getattr(self, name),)
        }


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """A policy over loads.

    Attributes:
        label: Name and order.
        name: The policy.
        order: The order of its queue.
        loads: Figures at each load, ascending.
        best_goodput: The most answers in time a second that it gives at any of the loads.
        best_load: The load at which they are most, by the mean of logarithms over seeds.
        rate_at_p99: Requests a second up to which 99 of 100 first tokens come in time; None where
            the lowest load is too much already.
        best_goodput_over: Ratio of that goodput to another policy's, by the other's label, paired
            by seed; None where one of them answers nothing in time.
        goodput_over: Ratio of the goodput at the plan's load to another policy's.
        rate_at_p99_over: Ratio of ``rate_at_p99`` to another policy's.
        utilisation_over: Ratio of the utilisation at the highest load to another policy's.
    """

    label: str
    name: PolicyName
    order: QueueOrder
    loads: tuple[LoadFigures, ...]
    best_goodput: SeedFigure
    best_load: float
    rate_at_p99: SeedFigure | None
    best_goodput_over: dict[str, SeedFigure | None]
    goodput_over: dict[str, SeedFigure | None]
    rate_at_p99_over: dict[str, SeedFigure | None]
    utilisation_over: dict[str, SeedFigure | None]

    def at(self, load: float) -> LoadFigures:
        """The figures at a load."""
        return next(one for one in self.loads if one.load == load)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "label": self.label,
            "policy": self.name,
            "order": self.order,
            "best_goodput": self.best_goodput.to_dict(),
            "best_load": self.best_load,
            "rate_at_p99": None if self.rate_at_p99 is None else self.rate_at_p99.to_dict(),
            "best_goodput_over": _ratios(self.best_goodput_over),
            "goodput_over": _ratios(self.goodput_over),
            "rate_at_p99_over": _ratios(self.rate_at_p99_over),
            "utilisation_over": _ratios(self.utilisation_over),
            "loads": [one.to_dict() for one in self.loads],
        }


@dataclass(frozen=True, slots=True)
class SettingAdvice:
    """One setting of an engine.

    Attributes:
        name: The setting, as its command line has it.
        value: Its value.
        reason: Why.
    """

    name: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class EngineAdvice:
    """Settings of an engine that come closest to a policy.

    Attributes:
        engine: ``vllm``, ``sglang``, ``tensorrt-llm`` or ``llama.cpp``.
        settings: The settings.
        lacks: Parts of the policy that the engine has no setting for.
    """

    engine: str
    settings: tuple[SettingAdvice, ...]
    lacks: tuple[str, ...]

    @property
    def command_line(self) -> str:
        """The settings as options."""
        return " ".join(f"--{one.name} {one.value}".rstrip() for one in self.settings)


@dataclass(frozen=True, slots=True)
class AdmissionPlan(NotebookResult):
    """Policies of admission, judged on one trace, model and GPU.

    Attributes:
        trace: Path of the trace.
        n_trace_requests: Its requests.
        n_out_of_order: Requests whose clock ran backwards; they were sorted in.
        rejected: Rows that cannot be meant, by reason.
        model: The model.
        gpu: The GPU.
        n_gpus: GPUs of the group.
        usd_per_hour: Price of one GPU and hour.
        usd_source: Where that price is from.
        capacity_tokens: Tokens that the cache holds.
        max_requests: Requests side by side at most.
        step_tokens: Tokens of a step at most.
        objective: Limits and aim.
        seeds: Number of seeds; each is one drawing of the trace's windows. As many others chose.
        n_requests: Requests of a drawing.
        window_seconds: Length of the windows.
        saturation_requests_per_second: Requests a second that the server answers with never a want
            of work, under ``dynamic``.
        loads: Loads that were tried.
        load: The load at which policies are compared: there the best one's goodput is highest.
        policies: Each policy, in the order of reports.
        best: Label of the policy that is advised under the objective.
        reasons: Why it is.
        beaten_by: Policies that have more beyond the interval on the drawings of the figures: the
            ratio of their figure to the advised policy's, by label.
        advice: Settings for engines.
        tuned_goodput: Answers in time a second of ``dynamic``, which vLLM has, with these settings,
            at the plan's load.
        notes: Limits of these figures.
    """

    _page = "jeton.report.plans.admission:admission_html"
    _table = "policies"
    _line = ("model", "gpu", "best")

    trace: str
    n_trace_requests: int
    n_out_of_order: int
    rejected: dict[str, int]
    model: str
    gpu: str
    n_gpus: int
    usd_per_hour: Decimal
    usd_source: str
    capacity_tokens: int
    max_requests: int
    step_tokens: int
    objective: LatencyObjective
    seeds: int
    n_requests: int
    window_seconds: float
    saturation_requests_per_second: float
    loads: tuple[float, ...]
    load: float
    policies: tuple[PolicyFigures, ...]
    best: str
    reasons: tuple[str, ...]
    beaten_by: dict[str, SeedFigure]
    advice: tuple[EngineAdvice, ...]
    tuned_goodput: SeedFigure
    notes: tuple[str, ...]

    @property
    def is_met(self) -> bool:
        """True if the best policy answers at least half of the requests in time at some load."""
        found = self.policy(self.best)
        return any(one.in_time_share.mean >= 0.5 for one in found.loads)

    def policy(self, label: str) -> PolicyFigures:
        """The figures of a policy."""
        return next(one for one in self.policies if one.label == label)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "schema_version": ADMISSION_SCHEMA,
            "jeton_version": __version__,
            "trace": {
                "path": self.trace,
                "n_requests": self.n_trace_requests,
                "n_out_of_order": self.n_out_of_order,
                "rejected": self.rejected,
            },
            "server": {
                "model": self.model,
                "gpu": self.gpu,
                "n_gpus": self.n_gpus,
                "usd_per_hour": float(self.usd_per_hour),
                "usd_source": self.usd_source,
                "capacity_tokens": self.capacity_tokens,
                "max_requests": self.max_requests,
                "step_tokens": self.step_tokens,
            },
            "objective": asdict(self.objective),
            "seeds": self.seeds,
            "requests_per_seed": self.n_requests,
            "window_seconds": self.window_seconds,
            "saturation_requests_per_second": self.saturation_requests_per_second,
            "loads": list(self.loads),
            "load": self.load,
            "policies": [one.to_dict() for one in self.policies],
            "best": self.best,
            "beaten_by": _ratios({**self.beaten_by}),
            "is_met": self.is_met,
            "reasons": list(self.reasons),
            "engines": [{**asdict(one), "command_line": one.command_line} for one in self.advice],
            "tuned_goodput": self.tuned_goodput.to_dict(),
            "notes": list(self.notes),
        }


def _ratios(found: dict[str, SeedFigure | None]) -> dict[str, Any]:
    return {label: None if one is None else one.to_dict() for label, one in found.items()}
