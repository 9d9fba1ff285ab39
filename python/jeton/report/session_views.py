"""Prompt caches, sessions and agents of a log as rows, and a session as a drawn timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from jeton.report.axes import Scale
from jeton.report.numbers import Numbers, Shown
from jeton.report.svg import Drawing

_WIDTH_PX, _HEIGHT_PX = 520.0, 150.0
_MAX_SESSIONS = 20
_MAX_AGENT_ROWS = 10
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


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One group of requests: its path, its words, and its numbers."""

    path: str
    verdict: str
    words: str
    has_texts: bool
    requests: Shown | None
    tokens: Shown | None
    usd: Shown | None


@dataclass(frozen=True, slots=True)
class AgentRow:
    """Waste of one kind beside caches."""

    path: str
    kind: str
    requests: Shown | None
    tokens: Shown | None
    usd: Shown | None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session."""

    path: str
    values: tuple[Shown | None, ...]
    verdicts: str


@dataclass(frozen=True, slots=True)
class SessionChart:
    """A session as a timeline, with the places where its cache broke."""

    path: str
    svg: Markup
    breaks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CacheView:
    """All that is shown of caches."""

    error: Shown | None
    contradicted: tuple[str, ...]
    verdicts: tuple[VerdictRow, ...]
    agents: tuple[AgentRow, ...]
    sessions: tuple[SessionRow, ...]
    charts: tuple[SessionChart, ...]


SESSION_LABELS = (
    ("n_requests", "Requests", "count"),
    ("context_tokens", "Context", "count"),
    ("read_tokens", "Read", "count"),
    ("written_tokens", "Written", "count"),
    ("fresh_tokens", "Fresh", "count"),
    ("missed_tokens", "Missed", "count"),
    ("n_agents", "Agents", "count"),
    ("agent_share", "Their share", "share"),
    ("usd", "Cost", "usd"),
)
"""Keys, headings and kinds of a session's numbers."""


def cache_view(numbers: Numbers, *, charts: bool = False) -> CacheView | None:
    """Return the caches' part of the report; None where nothing was examined.

    Args:
        numbers: The report's numbers.
        charts: True if timelines are drawn.
    """
    cache: dict[str, Any] | None = numbers.data.get("cache")
    if not cache:
        return None
    show = numbers.show
    verdicts = []
    for i, group in enumerate(cache["verdicts"]):
        path = f"cache.verdicts[{i}]"
        words = VERDICT_WORDS[group["verdict"]]
        if group.get("change"):
            words += f": {group['change']}"
        verdicts.append(
            VerdictRow(
                path,
                group["verdict"],
                words,
                bool(group["before"] or group["after"]),
                show(f"{path}.n_requests", "count"),
                show(f"{path}.n_tokens", "count") if group["n_tokens"] else None,
                show(f"{path}.usd", "usd") if float(group["usd"]) else None,
            )
        )
    agents = [
        AgentRow(
            f"cache.agents[{i}]",
            use["kind"],
            show(f"cache.agents[{i}].n_requests", "count"),
            show(f"cache.agents[{i}].n_tokens", "count"),
            show(f"cache.agents[{i}].usd", "usd"),
        )
        for i, use in enumerate(cache["agents"][:_MAX_AGENT_ROWS])
    ]
    sessions = []
    drawn = []
    for i, session in enumerate(cache["sessions"][:_MAX_SESSIONS]):
        path = f"cache.sessions[{i}]"
        values = tuple(show(f"{path}.{key}", kind) for key, _, kind in SESSION_LABELS)  # type: ignore[arg-type]
        faults = [v for v in session["verdicts"] if v not in _KEPT]
        sessions.append(SessionRow(path, values, ", ".join(VERDICT_WORDS[v] for v in faults)))
        if charts and session["turns"]:
            drawn.append(_chart(path, i, session["turns"]))
    return CacheView(
        show("cache.predicted_error.mean_share_of_input", "share"),
        tuple(rule["rule"] for rule in cache["predicted_error"]["contradicted_rules"]),
        tuple(verdicts),
        tuple(agents),
        tuple(sessions),
        tuple(drawn),
    )


def _chart(path: str, number: int, turns: list[dict[str, Any]]) -> SessionChart:
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
    return SessionChart(path, svg, tuple(breaks[:12]))
