"""The optional evidence of an audit: domains, stability, request logs, trade-off, pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jeton.report.numbers import Kind, Numbers, Shown, below

N_DOMAINS = 50
"""Domains shown; the JSON report has all."""

N_MODELS = 20
"""Models of the logs shown; the JSON report has all."""

MODEL_COLUMNS = (
    ("n_requests", "Requests"),
    ("input_tokens", "Input tokens"),
    ("cache_read_tokens", "Read from a cache"),
    ("cache_write_tokens", "Written to one"),
    ("output_tokens", "Output tokens"),
    ("reasoning_tokens", "Reasoning"),
)
"""Columns of a model of the logs: field and heading."""

_LEVELS = (
    ("static", "sizes are fixed, whatever the text"),
    ("dynamic", "sizes follow the text as it comes"),
    ("predictive", "sizes are foreseen and planned for"),
)
_OBJECTIVES: dict[str, tuple[str, Kind]] = {
    "usd_per_month": ("USD a month", "usd"),
    "seconds_per_request": ("Time of a request", "seconds"),
    "memory_bytes": ("Memory", "bytes"),
    "bits_per_byte": ("Bits per byte", "rate"),
}
"""Less is better in each. Quality is bits per byte of held-out text."""

_STABILITY_WORDS = {
    "nfc": "Unicode form NFC",
    "nfd": "Unicode form NFD",
    "nfkc": "Unicode form NFKC",
    "nfkd": "Unicode form NFKD",
    "lower": "all lower case",
    "lower_case": "all lower case",
    "upper": "all upper case",
    "upper_case": "all upper case",
    "case": "another case",
    "leading_space": "a space before",
    "double_space": "doubled spaces",
    "double_spaces": "doubled spaces",
    "doubled_spaces": "doubled spaces",
    "tabs": "tabs for spaces",
}


@dataclass(frozen=True, slots=True)
class DomainRow:
    """A domain; ``share`` is its part of all tokens of the tokenizer in use.

    Attributes:
        index: Its place in the report.
        tokens: Tokens with the tokenizer in use.
        bar: ``share`` as percent of the largest domain, for the bar.
        p95: The 95th percentile of its tokens per document.
        bytes_per_token: With every tokenizer, in the report's order.
    """

    index: int
    documents: Shown | None
    size: Shown | None
    tokens: Shown | None
    share: Shown | None
    bar: float
    p95: Shown | None
    bytes_per_token: tuple[Shown | None, ...]


@dataclass(frozen=True, slots=True)
class MaturityStep:
    """A step of maturity."""

    name: str
    meaning: str
    is_reached: bool
    is_current: bool


@dataclass(frozen=True, slots=True)
class IssueView:
    """A kind of trouble in a log; ``path`` is where it stands in the report.

    ``name`` is the kind in words; ``meaning`` says what becomes of such records.
    """

    path: str
    name: str
    meaning: str
    n: Shown | None
    examples: int


@dataclass(frozen=True, slots=True)
class ModelRow:
    """Row of a model in the logs; the numbers are those of `MODEL_COLUMNS`."""

    path: str
    has_name: bool
    values: tuple[Shown | None, ...]


@dataclass(frozen=True, slots=True)
class PointRow:
    """A candidate of the trade-off with the objectives that are known of any.

    ``limits`` are those it breaks, in words.
    """

    index: int
    data: dict[str, Any]
    values: tuple[Shown | None, ...]
    is_best: bool
    limits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of the pipeline that the user gave."""

    label: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StabilityRow:
    """The share of ids that a change of the text leaves, with every tokenizer."""

    label: str
    values: tuple[Shown | None, ...]


def domain_rows(numbers: Numbers, *, current: int) -> tuple[DomainRow, ...]:
    """Return the domains in the order of the report; none where there is only one."""
    domains = numbers.data.get("domains") or []
    if len(domains) < 2:
        return ()
    names = [tokenizer["name"] for tokenizer in numbers.data["tokenizers"]]
    places = [_by_tokenizer(domain, names) for domain in domains]
    counts = [
        domain["tokenizers"][place[current]]["n_tokens"] if place[current] is not None else 0
        for domain, place in zip(domains, places, strict=True)
    ]
    top = max(counts) or 1
    rows = []
    for index, place in enumerate(places[:N_DOMAINS]):
        path = f"domains[{index}]"
        at = place[current]
        tokens = None if at is None else f"{path}.tokenizers[{at}].n_tokens"
        p95 = f"{path}.tokenizers[{at}].tokens_per_document.p95"
        rows.append(
            DomainRow(
                index,
                numbers.show(f"{path}.n_documents", "count"),
                numbers.show(f"{path}.n_bytes", "bytes"),
                None if tokens is None else numbers.show(tokens, "count"),
                None
                if tokens is None
                else numbers.share(tokens, f"tokenizers[{current}].n_tokens"),
                round(100 * counts[index] / top, 2),
                None if at is None else numbers.show(p95, "count"),
                tuple(
                    None
                    if other is None
                    else numbers.show(f"{path}.tokenizers[{other}].bytes_per_token", "ratio")
                    for other in place
                ),
            )
        )
    return tuple(rows)


def maturity_levels(numbers: Numbers) -> tuple[MaturityStep, ...]:
    """Return the ladder of maturity with the step that was reached; empty where not judged."""
    data = numbers.data.get("maturity")
    if data is None:
        return ()
    names = [name for name, _ in _LEVELS]
    reached = names.index(data["level"]) if data["level"] in names else -1
    return tuple(
        MaturityStep(name, meaning, position <= reached, position == reached)
        for position, (name, meaning) in enumerate(_LEVELS)
    )


def model_rows(numbers: Numbers) -> tuple[ModelRow, ...]:
    """Return what the logs say of each model, in the order of the report."""
    data = numbers.data.get("requests")
    models = (data.get("by_model") if data else None) or []
    return tuple(
        ModelRow(
            f"requests.by_model[{index}]",
            bool(model["name"]),
            tuple(
                numbers.show(f"requests.by_model[{index}].{key}", "count")
                for key, _ in MODEL_COLUMNS
            ),
        )
        for index, model in enumerate(models[:N_MODELS])
    )


def log_issues(numbers: Numbers) -> tuple[IssueView, ...]:
    """Return what was wrong in the logs, the most frequent first."""
    from jeton.corpus.requests.issues import ISSUE_KINDS

    data = numbers.data.get("requests")
    issues = data.get("issues") if data else None
    if not issues:
        return ()
    pairs = issues.items() if isinstance(issues, dict) else enumerate(issues)
    views = [
        IssueView(
            path := below("requests.issues", key),
            str(issue["kind"]).replace("_", " ").replace("-", " "),
            ISSUE_KINDS.get(issue["kind"], ""),
            numbers.show(f"{path}.n", "count"),
            len(issue["examples"]),
        )
        for key, issue in pairs
    ]
    return tuple(sorted(views, key=lambda view: (-int(view.n.raw) if view.n else 0, view.name)))


def objectives(numbers: Numbers) -> tuple[tuple[str, str, Kind], ...]:
    """Return what is known of at least one candidate, as (name, label, kind)."""
    data = numbers.data.get("tradeoff")
    if data is None:
        return ()
    return tuple(
        (name, label, kind)
        for name, (label, kind) in _OBJECTIVES.items()
        if any(point[name] is not None for point in data["points"])
    )


def point_rows(numbers: Numbers) -> tuple[PointRow, ...]:
    """Return the candidates of the trade-off: the best, then the front, then the others.

    One candidate is no choice: then there are none.
    """
    data = numbers.data.get("tradeoff")
    if data is None or len(data["points"]) < 2:
        return ()
    shown = objectives(numbers)
    rows = [
        PointRow(
            index,
            point,
            tuple(
                numbers.show(f"tradeoff.points[{index}].{name}", kind) for name, _, kind in shown
            ),
            point["name"] == data["best"],
            tuple(_limit_words(limit) for limit in point["violates"]),
        )
        for index, point in enumerate(data["points"])
    ]
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                not row.is_best,
                bool(row.data["violates"]),
                not row.data["is_on_front"],
            ),
        )
    )


def names_the_best(tradeoff: dict[str, Any]) -> bool:
    """True if the reason says who is the best, or nobody is."""
    best = tradeoff["best"]
    return best is None or str(tradeoff["reason"]).startswith(str(best))


def stability_rows(numbers: Numbers) -> tuple[StabilityRow, ...]:
    """Return how far ids stay when the text changes; empty where it was not measured."""
    tokenizers = numbers.data["tokenizers"]
    keys = list(
        dict.fromkeys(
            key for tokenizer in tokenizers for key in (_quality(tokenizer).get("stability") or {})
        )
    )
    return tuple(
        StabilityRow(
            _STABILITY_WORDS.get(key, key.replace("_", " ")),
            tuple(
                numbers.show(below(f"tokenizers[{index}].quality.stability", key), "share")
                if key in (_quality(tokenizer).get("stability") or {})
                else None
                for index, tokenizer in enumerate(tokenizers)
            ),
        )
        for key in keys
    )


def pipeline_settings(numbers: Numbers) -> tuple[Setting, ...]:
    """Return what the user said of the pipeline; nothing of what was not said."""
    data = numbers.data.get("pipeline") or {}
    return tuple(
        Setting(
            key.replace("_", " ").capitalize(),
            tuple(f"pipeline.{key}[{i}]" for i in range(len(value)))
            if isinstance(value, list)
            else (f"pipeline.{key}",),
        )
        for key, value in data.items()
        if value is not None and value != []
    )


def _limit_words(limit: str) -> str:
    """``"usd_per_month (unknown)"`` as people say it."""
    name, _, rest = limit.partition(" ")
    name = name.removeprefix("max_")
    words = _OBJECTIVES[name][0] if name in _OBJECTIVES else name.replace("_", " ")
    return f"{words} {rest}".strip()


def _quality(tokenizer: dict[str, Any]) -> dict[str, Any]:
    quality: dict[str, Any] = tokenizer.get("quality") or {}
    return quality


def _by_tokenizer(domain: dict[str, Any], names: list[str]) -> list[int | None]:
    places = {entry["tokenizer"]: index for index, entry in enumerate(domain["tokenizers"])}
    return [places.get(name) for name in names]
