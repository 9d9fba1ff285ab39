"""Prompt caches, sessions and agents of a log; a session is drawn as a timeline."""

from __future__ import annotations

from typing import Any

from jeton.report.axes import Scale
from jeton.report.numbers import Numbers
from jeton.report.svg import Drawing
from jeton.report.tree import (
    ALL,
    PAGE,
    TERMINAL,
    Charts,
    Column,
    Only,
    Paragraph,
    Plot,
    Section,
    Styled,
    Table,
    TableRow,
    Words,
    measured,
    quoted,
    words_column,
)

_WIDTH_PX, _HEIGHT_PX = 520.0, 150.0
_MAX_SESSIONS = 20
_MAX_AGENT_ROWS = 10
_MAX_BREAKS = 12
_KEPT = ("cold", "hit", "not-examinable")

VERDICT_WORDS = {
    "cold": "first of its kind",
    "hit": "read what could be read",
    "expired": "cache had ended",
    "changed": "beginning changed",
    "switched": "model or parameters switched",
    "below-minimum": "shorter than the minimum",
    "no-mark": "no mark",
    "mark-late": "mark behind changing text",
    "look-back": "more than 20 blocks between marks",
    "concurrent": "sent before the cache was written",
    "write-unread": "written, never read",
    "hour-unearned": "an hour where 5 minutes do",
    "provider": "missed by the provider",
    "not-examinable": "cannot be judged",
}
"""Verdicts in a few words."""

_USE = (
    Column("n_requests", "Requests"),
    Column("n_tokens", "Tokens"),
    Column("usd", "Cost", kind="usd"),
)
_SESSION = (
    Column("n_requests", "Requests"),
    Column("context_tokens", "Context"),
    Column("read_tokens", "Read"),
    Column("written_tokens", "Written", forms=PAGE),
    Column("fresh_tokens", "Fresh", forms=PAGE),
    Column("missed_tokens", "Missed"),
    Column("n_agents", "Agents", forms=PAGE),
    Column("agent_share", "Their share", kind="share", forms=PAGE),
    Column("usd", "Cost", kind="usd"),
    words_column("Breaks", look="text wrap", forms=PAGE),
)


def caches(numbers: Numbers) -> Section | None:
    """The caches of a log; None where nothing was examined."""
    cache: dict[str, Any] | None = numbers.data.get("cache")
    if not cache:
        return None
    rules = "; ".join(rule["rule"] for rule in cache["predicted_error"]["contradicted_rules"])
    error = numbers.show("cache.predicted_error.mean_share_of_input", "share")
    said = (
        "Each request is replayed by its provider's published cache rules. The replay's reads "
        "differ from those in the log by ",
        error,
        " of the input",
        f"; the log contradicts {rules}" if rules else "",
        ".",
    )
    blocks = (
        Paragraph(said, "hint", PAGE),
        _verdicts(numbers, cache["verdicts"]),
        _agents(numbers, cache["agents"]),
        _sessions(numbers, cache["sessions"]),
        Charts(lambda: _charts(numbers, cache["sessions"]), ""),
    )
    title = "Prompt caches, request by request"
    return Section("caches", title, "Prompt caches", blocks)


def _verdicts(numbers: Numbers, groups: list[dict[str, Any]]) -> Table:
    rows = []
    for index, group in enumerate(groups):
        path = f"cache.verdicts[{index}]"
        words = VERDICT_WORDS[group["verdict"]]
        if group.get("change"):
            words += f": {group['change']}"
        block = quoted(numbers, f"{path}.block")
        requests, tokens, usd = measured(numbers, path, _USE)
        where: list[Words] = [block]
        if group["before"] or group["after"]:
            before, after = (quoted(numbers, f"{path}.{key}") for key in ("before", "after"))
            where += [": ", before, " \u2192 ", after]
        if group["remedy"]:
            where.append(Styled(quoted(numbers, f"{path}.remedy"), "below"))
        cells = (
            requests,
            tokens if group["n_tokens"] else None,
            usd if float(group["usd"]) else None,
            tuple(where),
        )
        rows.append(
            TableRow((words, Only(TERMINAL, (" (", block, ")")) if block.text else ""), cells)
        )
    has_cost = any(float(group["usd"]) for group in groups)
    return Table(
        "Requests by verdict",
        "Verdict",
        (*_USE, words_column("Where, and what to edit", look="text wrap", forms=PAGE)),
        tuple(rows),
        forms="twh" if has_cost else PAGE,
        heading="Prompt cache, request by request",
        style="stack",
    )


def _agents(numbers: Numbers, uses: list[dict[str, Any]]) -> Table:
    rows = []
    for index, use in enumerate(uses[:_MAX_AGENT_ROWS]):
        path = f"cache.agents[{index}]"
        name, remedy = quoted(numbers, f"{path}.name"), quoted(numbers, f"{path}.remedy")
        rows.append(TableRow((f"{use['kind']} ", name), (*measured(numbers, path, _USE), remedy)))
    return Table(
        "Beside the cache: what agents send again",
        "What",
        (*_USE, words_column("What to edit", look="text wrap")),
        tuple(rows),
        forms=PAGE,
        label="Agents",
        style="stack",
    )


def _sessions(numbers: Numbers, found: list[dict[str, Any]]) -> Table:
    rows = []
    for index, session in enumerate(found[:_MAX_SESSIONS]):
        path = f"cache.sessions[{index}]"
        breaks = ", ".join(VERDICT_WORDS[v] for v in session["verdicts"] if v not in _KEPT)
        name = (quoted(numbers, f"{path}.session"), Only(TERMINAL, f": {breaks}" if breaks else ""))
        rows.append(TableRow(name, (*measured(numbers, path, _SESSION[:-1]), breaks)))
    return Table(
        "Sessions, those that missed most first",
        "Session",
        _SESSION,
        tuple(rows),
        forms=ALL.replace("m", ""),
        label=SESSIONS,
    )


SESSIONS = "Sessions"
"""Label of the table that a terminal shows where it was asked for."""


def _charts(numbers: Numbers, sessions: list[dict[str, Any]]) -> tuple[Plot, ...]:
    return tuple(
        _chart(numbers, index, session["turns"])
        for index, session in enumerate(sessions[:_MAX_SESSIONS])
        if session["turns"]
    )


def _chart(numbers: Numbers, number: int, turns: list[dict[str, Any]]) -> Plot:
    drawing = Drawing(f"session-{number}", width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
    sums = [turn["read"] + turn["written"] + turn["fresh"] for turn in turns]
    x = Scale(-0.5, len(turns) - 0.5, 0, _WIDTH_PX)
    y = Scale(0, (max(sums) or 1) * 1.05, 0.86 * _HEIGHT_PX, 0.1 * _HEIGHT_PX)
    breaks = []
    for place, turn in enumerate(turns):
        base = 0.0
        for key, look in (("read", "t0"), ("written", "t1"), ("fresh", "t2")):
            if turn[key]:
                upper = y(base + turn[key])
                drawing.bar(x(place - 0.4), upper, x(0.8) - x(0), y(base) - upper, look)
                base += turn[key]
        if turn["verdict"] not in _KEPT:
            top = y(base)
            drawing.line([(x(place), top - 8), (x(place), top - 1)], "ink", width=1.6)
            where = f" at {turn['block']}" if turn["block"] else ""
            breaks.append(
                f"request {place + 1}, after {turn['seconds']:,.0f} s: "
                f"{VERDICT_WORDS[turn['verdict']]}{where}"
            )
    drawing.line([(0, y.start_px), (_WIDTH_PX, y.start_px)], "rule", width=0.8)
    svg = drawing.svg(
        f"Context of each of {len(turns)} requests: read, written and fresh tokens; "
        f"{len(breaks)} breaks"
    )
    name = quoted(numbers, f"cache.sessions[{number}].session")
    how = ": tokens of each request, read (below), written, fresh (above); a stroke marks a break."
    return Plot(("Session ", name, how), "", svg, tuple(breaks[:_MAX_BREAKS]))
