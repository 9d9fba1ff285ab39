"""Spending of a log: by model, part of the request, kind of use, day; and what is left out."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from jeton.report.day_charts import day_charts
from jeton.report.numbers import Kind, Numbers, Shown, money_kind, write_number
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    TERMINAL,
    Block,
    Charts,
    Column,
    Fold,
    Gauge,
    Group,
    Heading,
    Items,
    Line,
    Only,
    Paragraph,
    Section,
    Styled,
    Table,
    TableRow,
    Words,
    measured,
    quoted,
    words_column,
)

N_MODELS, N_DAYS, N_UNPRICED, N_CHANGES, N_STATED = 10, 100, 10, 4, 10
_KINDS = {
    "input_tokens": "input",
    "input_text_tokens": "input",
    "cache_read_tokens": "input read from a cache",
    "cache_write_tokens": "input written to a cache",
    "cache_write_1h_tokens": "input written to a cache for an hour",
    "output_tokens": "output",
    "output_text_tokens": "output",
    "output_reasoning_tokens": "output, reasoning",
}
_JOINED = {
    "same_answer_again": "the same answer logged again",
    "stream_pieces": "pieces of streamed answers",
    "stream_events": "events of streamed answers",
    "running_totals": "running totals",
    "wrapping_span": "spans that only wrap other spans",
    "same_span_again": "the same span logged again",
}
"""Kinds of records that are no requests of their own."""

PARTS = MappingProxyType(
    {
        "tools": "Tool definitions",
        "system": "System prompt",
        "earlier": "Earlier turns",
        "passages": "Retrieved passages",
        "question": "Question",
        "prompt": "Prompts, parts not known",
        "unlogged": "Not in the log, or chat format",
        "answer": "Answers",
        "reasoning": "Reasoning",
    }
)
"""Names of the parts of a request, in the order in which they are sent."""


def spending(numbers: Numbers) -> Section | None:
    """Spending of the requests of a log, and the models outside the sum."""
    ledger = numbers.data.get("ledger")
    if not ledger or not numbers.data.get("requests"):
        return None
    show = numbers.show
    a_day = show("ledger.period.requests_per_day", "count")
    assumption = quoted(numbers, "ledger.period.assumption")
    rate: Words = (" A month and a year assume ", a_day, " requests a day: ") if a_day else " "
    has_models = bool(ledger["by_model"])
    changes = _changes(numbers)
    missing = tuple(_missing(numbers, ledger)) if has_models else ()
    stated, billed = _stated(numbers), _billed(numbers)
    return Section(
        "spending",
        "By model and by day",
        "Models and days",
        (
            _missing_line(numbers, ledger),
            Paragraph(
                (show("ledger.usd", "usd"), " in the period of the log, at list prices.", rate,
                 assumption, "."),
                forms=PAGE,
            ),
            _notice(numbers, ledger),
            Heading("Cost by model", MARKDOWN if has_models else ""),
            _models(numbers, ledger["by_model"]),
            stated,
            Items((*missing, *changes), forms=MARKDOWN if has_models else ""),
            Heading("Tokens by part of the request", MARKDOWN if billed else ""),
            billed,
            Heading("Since when?", PAGE if changes else ""),
            Items(changes, forms=PAGE, item_look="phrase"),
            Charts(lambda: day_charts(numbers)[:2], "charts days"),
            Items(tuple(_remarks(numbers, ledger)), "sentences where", PAGE),
            Fold(
                "Every day, and every kind of token",
                (
                    _kinds(numbers, ledger["dimensions"]),
                    Charts(lambda: day_charts(numbers)[2:], "charts days"),
                    _days(numbers, ledger["by_day"]),
                ),
            ),
        ),
    )  # fmt: skip


def _is_lower_bound(ledger: dict[str, Any]) -> bool:
    """True if something that was used is not in the sum."""
    return bool(ledger["not_priced"] or ledger["n_half_known"])


def _name(numbers: Numbers, path: str, otherwise: str) -> Words:
    name = quoted(numbers, f"{path}.model")
    return name if name.text not in ("", "None") else otherwise


def _missing_line(numbers: Numbers, ledger: dict[str, Any]) -> Line | None:
    """Requests without a price, or with half of their counts, for a terminal."""
    entries, parts = ledger["not_priced"], []
    if entries:
        names: list[Words] = []
        for index in range(min(3, len(entries))):
            names += [", " * (index > 0), _name(numbers, f"ledger.not_priced[{index}]",
                                                "no model named")]  # fmt: skip
        noun = "model" if len(entries) == 1 else "models"
        share = write_number(Decimal(str(sum(e["share_of_tokens"] for e in entries))), "share")
        words = (f"{len(entries)} {noun} (", *names, f"), {share} of the tokens, have no price")
        parts.append(words)
    if ledger["n_half_known"]:
        half = numbers.show("ledger.n_half_known", "count")
        parts.append(("; " * len(parts), half, " requests report only a part of their tokens"))
    return Line("Missing", tuple(parts)) if parts else None


def _missing(numbers: Numbers, ledger: dict[str, Any]) -> Iterable[Words]:
    for path in _unpriced_paths(ledger):
        requests = numbers.show(f"{path}.n_requests", "count")
        share = numbers.show(f"{path}.share_of_tokens", "share")
        yield ("Not in this sum: ", _name(numbers, path, "no model"), ", ", requests,
               " requests, ", share, " of the tokens")  # fmt: skip


def _unpriced_paths(ledger: dict[str, Any]) -> list[str]:
    return [f"ledger.not_priced[{i}]" for i in range(min(N_UNPRICED, len(ledger["not_priced"])))]


def _notice(numbers: Numbers, ledger: dict[str, Any]) -> Block | None:
    """The page's warning that the sum is a lower bound."""
    if not _is_lower_bound(ledger):
        return None
    half: Words = ""
    if ledger["n_half_known"]:
        half = (" ", numbers.show("ledger.n_half_known", "count"),
                " requests report only a part of their tokens.")  # fmt: skip
    unpriced = ledger["not_priced"]
    items: list[Words] = []
    for path in _unpriced_paths(ledger):
        items.append((
            _name(numbers, path, "no model named"), ": ",
            numbers.show(f"{path}.n_requests", "count"), " requests, ",
            numbers.show(f"{path}.n_tokens", "count"), " tokens (",
            numbers.show(f"{path}.share_of_tokens", "share"), " of all). ",
            quoted(numbers, f"{path}.why"),
        ))  # fmt: skip
    if len(unpriced) > len(items):
        items.append(f"{len(unpriced) - len(items)} more in the JSON report")
    first = Styled("Not everything is in this sum.", "strong")
    last = " These requests have no price:" if unpriced else ""
    return Group(
        "notice", (Paragraph((first, half, last), "", PAGE), Items(tuple(items), forms=PAGE))
    )


def _money(uses: list[dict[str, Any]]) -> Kind:
    return money_kind(use["usd"] for use in uses if use["usd"] is not None)


def _share(numbers: Numbers, path: str) -> Shown | None:
    if not Decimal(numbers.data["ledger"]["usd"]):
        return None
    return numbers.share(path, "ledger.usd")


_MODEL_COLUMNS = (
    Column("n_requests", "Requests"),
    Column("amounts.input_tokens", "Input tokens"),
    Column("amounts.output_tokens", "Output tokens"),
    Column("usd", "Cost"),
    Column("", "Share"),
)


def _models(numbers: Numbers, uses: list[dict[str, Any]]) -> Table:
    kind = _money(uses)
    top = max((Decimal(use["usd"]) for use in uses), default=Decimal(0)) or Decimal(1)
    rows = []
    for index, use in enumerate(uses[:N_MODELS]):
        path = f"ledger.by_model[{index}]"
        name: list[Words] = [quoted(numbers, f"{path}.logged_as")]
        if use["model"] and use["model"] != use["logged_as"]:
            name.append(Only(PAGE, Styled(quoted(numbers, f"{path}.model"), "hint")))
        if use["tariff"] != "standard":
            name.append(Styled(use["tariff"].replace("-", " "), "tag"))
        share = _share(numbers, f"{path}.usd")
        cells = (
            numbers.show(f"{path}.n_requests", "count"),
            *(
                numbers.show(f"{path}.amounts.{key}", "count") if key in use["amounts"] else None
                for key in ("input_tokens", "output_tokens")
            ),
            numbers.show(f"{path}.usd", kind, basis=use["basis"]),
            Gauge(share, round(float(100 * Decimal(use["usd"]) / top), 2)),
        )
        rows.append(TableRow(tuple(name), cells))
    return Table(
        "By model",
        "Model",
        _MODEL_COLUMNS,
        tuple(rows),
        heading="Cost by model, in the period of the log",
        label="Cost by model",
        n_all=len(uses),
    )


_BILLED_COLUMNS = (
    Column("n_tokens", "Billed tokens"),
    Column("cached", "From a cache"),
    Column("usd", "Cost", kind="usd"),
)


def _billed(numbers: Numbers) -> Table | None:
    """The parts of logged requests; None where one part is all."""
    parts = (numbers.data.get("billed") or {}).get("parts") or []
    if len(parts) < 3:
        return None
    basis = "exact" if numbers.data["billed"]["is_complete"] else "estimated"
    rows = []
    for index, part in enumerate(parts):
        tokens, cached, usd = measured(
            numbers, f"billed.parts[{index}]", _BILLED_COLUMNS, basis=basis
        )
        rows.append(
            TableRow(PARTS[part["part"]], (tokens, cached if part["cached"] else None, usd))
        )
    title = "Tokens by part of the request"
    return Table(title, "Part", _BILLED_COLUMNS, tuple(rows), style="stack")


def _stated(numbers: Numbers) -> Table | None:
    """The cost that a log states beside the price of the list."""
    entries = numbers.data["ledger"].get("stated") or []
    if not entries:
        return None
    kind = _money(entries)
    columns = (
        Column("n_requests", "Requests"),
        Column("stated_usd", ("Stated", Only(MARKDOWN, " by the log")), kind=kind),
        Column("usd", "List price", kind=kind),
        Column("difference_usd", "Difference", kind=kind),
    )
    rows = []
    for index, entry in enumerate(entries[:N_STATED]):
        path = f"ledger.stated[{index}]"
        name = (
            quoted(numbers, f"{path}.logged_as"),
            Styled("own key", "tag") if entry["payer"] == "own key" else "",
            Only(PAGE, Styled("differs", "tag")) if entry["differs"] else "",
        )
        rows.append(TableRow(name, measured(numbers, path, columns)))
    title = "The cost that the log states, and the price of the list for the same requests"
    return Table(title, "Model", columns, tuple(rows), forms=PAPER, label="Stated cost")


def _changes(numbers: Numbers) -> tuple[Words, ...]:
    found = (numbers.data.get("timeline") or {}).get("changes") or ()
    places = range(min(len(found), N_CHANGES))
    return tuple(quoted(numbers, f"timeline.changes[{index}].text") for index in places)


def _remarks(numbers: Numbers, ledger: dict[str, Any]) -> Iterable[Words]:
    counts = ledger["joined"]
    for kind in sorted(counts, key=lambda kind: (-counts[kind], kind)):
        if counts[kind]:
            words = _JOINED.get(kind, kind.replace("_", " "))
            n = numbers.show(f"ledger.joined.{kind}", "count")
            yield n, f" records are not counted as requests: {words}"
    if ledger["n_from_gateway_cache"]:
        n = numbers.show("ledger.n_from_gateway_cache", "count")
        yield n, " requests were answered by the gateway's own cache and cost nothing"
    yield from (quoted(numbers, f"ledger.issues[{i}].text") for i in range(len(ledger["issues"])))


def _kinds(numbers: Numbers, uses: list[dict[str, Any]]) -> Table:
    kind = _money(uses)
    rows = []
    for index, use in enumerate(uses):
        path = f"ledger.dimensions[{index}]"
        cells = (
            use["unit"],
            numbers.show(f"{path}.amount", "count"),
            numbers.show(f"{path}.usd", kind, basis=use["basis"]),
            _share(numbers, f"{path}.usd"),
        )
        rows.append(TableRow(_KINDS.get(use["name"], use["name"].replace("_", " ")), cells))
    columns = (words_column("Unit"), Column("", "Amount"), Column("", "Cost"), Column("", "Share"))
    return Table(
        "By kind of use",
        "Kind",
        columns,
        tuple(rows),
        forms=PAGE,
        label="Cost by kind",
        head_look="text phrase",
    )


def _days(numbers: Numbers, uses: list[dict[str, Any]]) -> Table:
    columns = (
        Column("n_requests", "Requests"),
        Column("input_tokens", "Input tokens"),
        Column("output_tokens", "Output tokens"),
        Column("usd", "Cost", kind=_money(uses)),
    )
    rows = []
    for index in range(max(0, len(uses) - N_DAYS), len(uses)):
        path = f"ledger.by_day[{index}]"
        day = quoted(numbers, f"{path}.day") if uses[index]["day"] else Styled("no time", "none")
        rows.append(TableRow(day, measured(numbers, path, columns)))
    last = f" (the last {len(rows)}; the JSON report has all)" if len(uses) > N_DAYS else ""
    title = f"By day, UTC{last}"
    return Table(title, "Day", columns, tuple(rows), forms=PAGE, label="Cost by day")


def since(numbers: Numbers) -> tuple[Line, ...]:
    """Since when something is different, for a terminal."""
    return tuple(Line("Since", words, TERMINAL) for words in _changes(numbers)[:3])
