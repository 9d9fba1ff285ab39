"""A replayed trace as rows: what each policy and tokenizer made of the same traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jeton.report.numbers import Kind, Numbers, Shown

COLUMNS: tuple[tuple[str, Kind, str, str], ...] = (
    ("ttft_seconds.p50", "seconds", "First token, p50", "half of the requests had it by then"),
    ("ttft_seconds.p99", "seconds", "First token, p99", "99 of 100 requests had it by then"),
    ("usd_per_request", "usd", "USD a request", "GPUs rented from the first to the last request"),
    ("n_backlog", "count", "Behind", "requests under way when the last one came"),
    ("peak_bytes", "bytes", "Peak memory", "most that was given to requests"),
    ("n_preemptions", "count", "Preempted", "times a request lost its memory to others"),
    ("tpot_seconds.mean", "seconds", "Per output token", "mean time between tokens of an answer"),
    ("output_tokens_per_second", "rate", "Output tokens/s", "given, over the whole replay"),
    ("waste_share", "share", "Empty", "share of the given memory that held no token"),
    ("first_memory_out_seconds", "seconds", "Memory out at", "when memory first ran out"),
)
"""Key below a run, kind, label, meaning."""

_SHARED: tuple[str, Kind, str, str] = (
    "cached_tokens",
    "count",
    "From cache",
    "prompt tokens that were not read, because the prefix cache had them",
)
"""Shown where prompts that begin alike share memory."""

_NARROW = ("ttft_seconds.p50", "ttft_seconds.p99", "peak_bytes", "n_preemptions", "usd_per_request")
_POLICIES = {
    "static": "static: the longest is reserved",
    "dynamic": "dynamic: pages as needed",
    "prediction": "prediction: as foreseen",
}


@dataclass(frozen=True, slots=True)
class SimulationRow:
    """One run; ``index`` is its place in the report."""

    index: int
    tokenizer: str
    policy: str
    values: tuple[Shown | None, ...]


@dataclass(frozen=True, slots=True)
class SimulationView:
    """The replay: what was replayed, on what, and each run."""

    requests: Shown | None
    duration: Shown | None
    gpus: Shown | None
    rejected: Shown | None
    columns: tuple[tuple[str, Kind, str, str], ...]
    rows: tuple[SimulationRow, ...]
    covered: Shown | None

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the columns."""
        return tuple(column[2] for column in self.columns)

    def only_narrow(self) -> SimulationView:
        """The columns that fit 80 characters."""
        from dataclasses import replace

        places = [i for i, column in enumerate(self.columns) if column[0] in _NARROW]
        return replace(
            self,
            columns=tuple(self.columns[i] for i in places),
            rows=tuple(
                replace(row, values=tuple(row.values[i] for i in places)) for row in self.rows
            ),
        )


def simulation_view(numbers: Numbers) -> SimulationView | None:
    """Return the replay; None where no trace was given."""
    data = numbers.data.get("traffic")
    if not data:
        return None
    columns = (*COLUMNS, _SHARED) if data["prefix_cache"] else COLUMNS
    rows = []
    for index, run in enumerate(data["runs"]):
        path = f"traffic.runs[{index}]"
        rows.append(
            SimulationRow(
                index,
                run["tokenizer"],
                run["policy"],
                tuple(
                    # Times and rates rest on the roofline's assumed shares.
                    numbers.show(f"{path}.{key}", kind, basis="estimated")
                    for key, kind, _, _ in columns
                ),
            )
        )
    predicted = next((i for i, run in enumerate(data["runs"]) if run["prediction"]), None)
    rejected = None
    if data["trace"]["n_rejected"]:
        rejected = numbers.show("traffic.trace.n_rejected", "count")
    return SimulationView(
        requests=numbers.show("traffic.trace.n_requests", "count"),
        duration=numbers.show("traffic.trace.duration_seconds", "seconds"),
        gpus=numbers.show("traffic.n_gpus", "count"),
        rejected=rejected,
        columns=columns,
        rows=tuple(rows),
        covered=None
        if predicted is None
        else numbers.show(f"traffic.runs[{predicted}].prediction.covered_share", "share"),
    )


def policy_words(policy: str) -> str:
    """A policy with what it means."""
    return _POLICIES.get(policy, policy)


def first_runs(data: dict[str, Any]) -> list[int]:
    """Places of the runs of the tokenizer in use, one for each policy."""
    runs = data["runs"]
    return [i for i, run in enumerate(runs) if run["tokenizer"] == runs[0]["tokenizer"]]


def dynamic_runs(data: dict[str, Any]) -> list[int]:
    """Places of the runs of each tokenizer under one policy: ``dynamic``, or else the first."""
    runs = data["runs"]
    names = [run["policy"] for run in runs]
    policy = "dynamic" if "dynamic" in names else names[0]
    return [i for i, run in enumerate(runs) if run["policy"] == policy]
