"""Contents of a log beside its text: usage, models, problems of the records."""

from __future__ import annotations

from typing import Any

from jeton.corpus.requests.issues import ISSUE_KINDS
from jeton.report.numbers import Kind, Numbers, below
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    Column,
    FactList,
    Fold,
    Line,
    Paragraph,
    Quoted,
    Section,
    Styled,
    Table,
    TableRow,
    Words,
    measured,
    quoted,
    words_column,
)

_N_MODELS, _N_EXAMPLES = 20, 3
_TITLE = "Contents of the log"
_WHOLE = "requests.n_requests"
_RATES: tuple[tuple[str, str, Kind], ...] = (
    ("requests_per_day", "Requests a day", "count"),
    ("peak_requests_per_hour", "In the busiest hour", "count"),
    ("output_tokens_mean", "Output, tokens", "count"),
    ("cached_share", "From a cache", "share"),
)
_MODEL_COLUMNS = (
    Column("n_requests", "Requests"),
    Column("input_tokens", "Input tokens"),
    Column("cache_read_tokens", "Read from a cache"),
    Column("cache_write_tokens", "Written to one"),
    Column("output_tokens", "Output tokens"),
    Column("reasoning_tokens", "Reasoning"),
)


def requests(numbers: Numbers) -> Section | None:
    """The log; None for documents."""
    data = numbers.data.get("requests")
    if not data:
        return None
    n_requests = numbers.show(_WHOLE, "count")
    usage, response = (numbers.share(f"requests.n_with_{k}", _WHOLE) for k in ("usage", "response"))
    issues = _issues(numbers, data)
    trouble: list[Words] = []
    for row in issues.rows:
        trouble += [", " if trouble else "; to check: ", row.head, " ", row.cells[0]]
    facts: list[tuple[Words, ...]] = [
        ("Requests", n_requests),
        ("With usage", usage),
        ("With response", response),
    ]
    facts += [
        (label, numbers.show(f"requests.{key}", kind))
        for key, label, kind in _RATES
        if data.get(key) is not None
    ]
    said = (n_requests, " requests, ", usage, " with usage, ", response, " with response.")
    blocks = (
        Line("Log", (n_requests, " requests, ", usage, " with usage", *trouble)),
        FactList(tuple(facts), "facts small"),
        FactList(tuple(_plain(numbers, data))),
        _models(numbers, data),
        Fold(_TITLE, (Paragraph(said, forms=MARKDOWN), issues), MARKDOWN),
    )
    hint = "models, usage, problems in the records"
    return Section("requests", _TITLE, "Log", blocks, is_open=False, hint=hint)


def _plain(numbers: Numbers, data: dict[str, Any]) -> list[tuple[Words, ...]]:
    found: list[tuple[Words, ...]] = []
    if data["first_time"] is not None and data["last_time"] is not None:
        first, last = (quoted(numbers, f"requests.{end}_time") for end in ("first", "last"))
        found.append(("From", (first, " to ", last)))
    if data.get("chat_format"):
        found.append(("Chats", quoted(numbers, "requests.chat_format")))
    shapes: list[Words] = []
    for shape in data.get("shapes") or {}:
        n = numbers.show(below("requests.shapes", shape), "count")
        shapes += [", " if shapes else "", Quoted("", shape), " ", n]
    if shapes:
        found.append(("Formats of the records", tuple(shapes)))
    return found


def _models(numbers: Numbers, data: dict[str, Any]) -> Table:
    models = data.get("by_model") or []
    n_all = len(models)
    rows = []
    for index, model in enumerate(models[:_N_MODELS]):
        path = f"requests.by_model[{index}]"
        name = quoted(numbers, f"{path}.name") if model["name"] else Styled("not stated", "none")
        rows.append(TableRow(name, measured(numbers, path, _MODEL_COLUMNS)))
    more = f" (the first {len(rows)} of {n_all}; the JSON report has all)"
    title = f"Models{more if n_all > len(rows) else ''}, as their provider counted"
    label = "Models of the logs"
    return Table(title, "Model", _MODEL_COLUMNS, tuple(rows), forms=PAGE, label=label)


def _issues(numbers: Numbers, data: dict[str, Any]) -> Table:
    """Problems of the records, the most frequent first."""
    issues = data.get("issues") or {}
    pairs = issues.items() if isinstance(issues, dict) else enumerate(issues)
    rows = []
    for key, issue in sorted(pairs, key=lambda pair: (-pair[1]["n"], _words(pair[1]["kind"]))):
        path = below("requests.issues", key)
        examples: list[Words] = []
        for index in range(min(_N_EXAMPLES, len(issue["examples"]))):
            examples += ["; " * bool(examples), quoted(numbers, f"{path}.examples[{index}]")]
        n, meaning = numbers.show(f"{path}.n", "count"), ISSUE_KINDS.get(issue["kind"], "")
        rows.append(TableRow(Quoted("", _words(issue["kind"])), (n, meaning, tuple(examples))))
    columns = (
        Column("", "Times"),
        words_column("Meaning", look="text wrap"),
        words_column("Example", look="text wrap", forms=PAGE),
    )
    title, label = "Problems in the log", "Trouble in the logs"
    return Table(title, "Problem", columns, tuple(rows), forms=PAPER, label=label)


def _words(kind: str) -> str:
    return kind.replace("_", " ").replace("-", " ")
