"""A replay of routes as a table, a page and JSON; all forms are made from `RouteReplay.to_dict`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from jeton._plain import counted, less, strict_json
from jeton.report.axes import Scale, linear_ticks
from jeton.report.json_report import embed_json, safe_json
from jeton.report.numbers import Numbers, Shown
from jeton.report.svg import N_LOOKS, Drawing
from jeton.report.visible import visible

if TYPE_CHECKING:
    from jeton.planning.routing import RouteReplay

__all__ = ["RouteGrid", "route_grid", "route_html", "route_json", "route_words"]

_WIDTH_PX = 640.0
_ROW_PX, _TOP_PX, _FOOT_PX = 26.0, 10.0, 30.0
_LEFT_PX, _RIGHT_PX = 190.0, 620.0
_MAX_NAME_CHARS = 26


@dataclass(frozen=True, slots=True)
class RouteGrid:
    """A table; a row is a way of routing."""

    header: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[Shown | None, ...], ...]


def route_grid(numbers: Numbers) -> RouteGrid:
    """Return the outcomes as a table."""
    outcomes = numbers.data["outcomes"]
    logged = numbers.show("as_logged.usd", "usd")
    rows: list[tuple[Shown | None, ...]] = [(logged, *[None] * 10)]
    for index in range(len(outcomes)):
        path = f"outcomes[{index}]"
        rows.append(
            (
                numbers.show(f"{path}.usd", "usd"),
                numbers.show(f"{path}.regret_share", "change"),
                numbers.show(f"{path}.regret_low", "change"),
                numbers.show(f"{path}.regret_high", "change"),
                numbers.show(f"{path}.mean_seconds", "seconds"),
                numbers.show(f"{path}.p95_seconds", "seconds"),
                numbers.show(f"{path}.mean_quality", "rate"),
                numbers.show(f"{path}.n_missed", "count"),
                numbers.show(f"{path}.n_too_long", "count"),
                numbers.show(f"{path}.n_refused", "count"),
                numbers.show(f"{path}.n_failed", "count"),
            )
        )
    return RouteGrid(
        (
            "Bill", "Regret", "95% from", "to", "Mean time", "95th percentile", "Quality",
            "Missed", "Too long", "Refused", "Failed",
        ),
        ("As logged", *(_name(outcome) for outcome in outcomes)),
        tuple(rows),
    )  # fmt: skip


def route_json(found: RouteReplay) -> str:
    """As JSON text with a line end."""
    return safe_json(found.to_dict())


def route_words(found: RouteReplay) -> tuple[str, ...]:
    """Describe the replay in sentences for people."""
    data = found.to_dict()
    n = data["n_requests"]
    words = [_today(found), f"{counted(n, 'request')} {'was' if n == 1 else 'were'} replayed"]
    words += [f"{n:,} left out: {reason}" for reason, n in data["left_out"].items()]
    words += [f"{counted(n, 'request')}, {what}" for what, n in data["assumptions"].items()]
    routed = data["outcomes"][0]
    shares = [
        f"{share:.1%} to {name}"
        for name, share in sorted(routed["shares"].items(), key=lambda one: (-one[1], one[0]))
        if share
    ]
    words.append(f"the router sends {', '.join(shares) or 'nothing'}")
    if routed["mean_quality"] is None and data["policy"]["rule"] == "cheapest":
        words.append(
            "no endpoint has a score of quality, so each request goes to the cheapest that takes "
            "it: state [endpoint.quality]"
        )
    if routed["n_failed"]:
        words.append(
            f"{counted(routed['n_failed'], 'attempt')} of the router failed, and went elsewhere"
        )
    words += _unknown_limits(data)
    if routed["regret_low"] is None:
        words.append("fewer than 20 conversations: no intervals")
    words += [f"{one['n']:,} {one['meaning']}" for one in data["issues"]]
    return tuple(words)


def _today(found: RouteReplay) -> str:
    """Today's bill beside the router's."""
    numbers = Numbers(found.to_dict())
    logged, routed = numbers.show("as_logged.usd", "usd"), numbers.show("outcomes[0].usd", "usd")
    words = f"as logged {logged.text}; routed {routed.text}" if logged and routed else ""
    if found.saved_share is not None:
        return f"{words}, {less(found.as_logged.usd, found.outcomes[0].usd)}"
    missing = [
        f"{counted(n, 'request')} {what}"
        for n, what in (
            (found.as_logged.n_not_priced, "of the log without a price"),
            (found.outcomes[0].n_refused, "that the router refuses"),
            (found.outcomes[0].n_not_priced, "routed without a price"),
        )
        if n
    ]
    return f"{words}; not comparable: {', '.join(missing)}" if missing else words


def _unknown_limits(data: dict[str, Any]) -> list[str]:
    """Limits of the policy that no endpoint can be held to."""
    policy, endpoints = data["policy"], data["endpoints"]
    has_time = policy["max_seconds"] is not None or policy["max_ttft_seconds"] is not None
    found = []
    if has_time and all(one["latency"] == "unknown" for one in endpoints):
        found.append(
            "no endpoint states its latency, so none meets the limit of time: "
            "state [endpoint.latency] or [endpoint.gpu]"
        )
    if policy["min_quality"] is not None and data["outcomes"][0]["mean_quality"] is None:
        found.append(
            "no endpoint has a score for these tasks, so none meets the least quality: "
            "state [endpoint.quality]"
        )
    return found


def route_html(found: RouteReplay) -> str:
    """The page: plots, tables and assumptions; the figures as JSON in it."""
    from jeton.report.page import asset, environment

    data = found.to_dict()
    numbers = Numbers(data)
    context = {
        "data": data,
        "numbers": numbers,
        "words": [visible(words) for words in route_words(found)],
        "grid": route_grid(numbers),
        "endpoints": _endpoints(numbers),
        "regret": _regret_chart(data),
        "css": asset("report.css"),
        "embedded": embed_json(data),
        "version": data["jeton_version"],
    }
    return environment().get_template("route.html.j2").render(context)


def _name(outcome: dict[str, Any]) -> str:
    names = {"router": "Router", "litellm": "Least price sum (LiteLLM)", "oracle": "Oracle"}
    name = str(outcome["name"])
    return visible(names.get(name, f"Always {name.removeprefix('always ')}"))


def _endpoints(numbers: Numbers) -> list[dict[str, Any]]:
    return [
        {
            "name": visible(one["name"]),
            "model": visible(one["model"]),
            "tokenizer": visible(one["tokenizer"]),
            "latency": one["latency"],
            "input": numbers.show(f"endpoints[{index}].usd_per_mtok_input", "usd"),
            "output": numbers.show(f"endpoints[{index}].usd_per_mtok_output", "usd"),
            "context": numbers.show(f"endpoints[{index}].context_tokens", "count"),
            "own": numbers.show(f"endpoints[{index}].n_own", "count"),
            "share": numbers.show(f"outcomes[0].shares[{_quoted(one['name'])}]", "share"),
        }
        for index, one in enumerate(numbers.data["endpoints"])
    ]


def _quoted(name: str) -> str:
    return strict_json(name)


def _regret_chart(data: dict[str, Any]) -> Markup:
    """Draw each way's regret with its interval; the oracle is the line at 0."""
    shown = [one for one in data["outcomes"] if one["regret_share"] is not None]
    height = _TOP_PX + _ROW_PX * len(shown) + _FOOT_PX
    drawing = Drawing("route-regret", width_px=_WIDTH_PX, height_px=height)
    values = [0.0]
    for one in shown:
        values += [
            100 * one[key]
            for key in ("regret_share", "regret_low", "regret_high")
            if one[key] is not None
        ]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 1.0
    x = Scale(low - room, high + room, _LEFT_PX, _RIGHT_PX)
    bottom = _TOP_PX + _ROW_PX * len(shown)
    for tick in linear_ticks(x, 6):
        drawing.line([(x(tick), _TOP_PX), (x(tick), bottom)], "rule", width=0.6)
        drawing.text(
            x(tick), bottom + 14.0, f"{tick:+g}%" if tick else "0", anchor="middle",
            size_px=10.5, color="muted",
        )  # fmt: skip
    drawing.line([(x(0.0), _TOP_PX), (x(0.0), bottom)], "ink", width=1.0)
    said = []
    for index, one in enumerate(shown):
        y = _TOP_PX + _ROW_PX * (index + 0.5)
        name = _name(one)
        if len(name) > _MAX_NAME_CHARS:
            name = name[: _MAX_NAME_CHARS - 1] + "…"
        drawing.text(_LEFT_PX - 8.0, y + 4.0, name, anchor="end", size_px=11.0, color="ink")
        color = f"t{index % N_LOOKS}"
        if one["regret_low"] is not None:
            ends = [(x(100 * one["regret_low"]), y), (x(100 * one["regret_high"]), y)]
            drawing.line(ends, color, width=2.0)
        drawing.dot(x(100 * one["regret_share"]), y, color)
        said.append(f"{name} {one['regret_share']:+.2%}")
    return drawing.svg("Bill above the oracle's, in percent: " + "; ".join(said))
