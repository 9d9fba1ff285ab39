"""A replay of routes as a table, a page and JSON; all forms are made from `RouteReplay.to_dict`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from jeton._plain import counted, less, strict_json
from jeton.report.axes import Scale, linear_ticks
from jeton.report.bars import WIDTH_PX, Bar, bars_chart
from jeton.report.json_report import safe_json
from jeton.report.numbers import Numbers, Shown
from jeton.report.result_page import Opening, PageTable, Sum, result_html
from jeton.report.svg import N_LOOKS, Drawing
from jeton.report.tree import Plot
from jeton.report.visible import visible

if TYPE_CHECKING:
    from jeton.planning.routing import RouteReplay

_ROW_PX, _FOOT_PX = 38.0, 24.0
_MAX_NAME_CHARS = 40


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
    missing = _missing(found)
    return f"{words}; not comparable: {', '.join(missing)}" if missing else words


def _missing(found: RouteReplay) -> list[str]:
    """Reasons why today's bill and the router's are of different requests."""
    return [
        f"{counted(n, 'request')} {what}"
        for n, what in (
            (found.as_logged.n_not_priced, "of the log without a price"),
            (found.outcomes[0].n_refused, "that the router refuses"),
            (found.outcomes[0].n_not_priced, "routed without a price"),
        )
        if n
    ]


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
    data = found.to_dict()
    numbers = Numbers(data)
    table = route_grid(numbers)
    shown = [n for n in range(len(table.header)) if any(row[n] for row in table.rows)]
    ways = PageTable(
        "Ways of routing: money, time and quality of the whole log",
        ("Way", *(table.header[n] for n in shown)),
        tuple(
            (name, *(row[n] for n in shown))
            for name, row in zip(table.names, table.rows, strict=True)
        ),
        notes=(
            "Missed: sent, and beyond a limit of latency or quality. Too long: sent, and longer "
            "than a limit of the endpoint. Refused: no endpoint takes it.",
        ),
    )
    outcomes = data["outcomes"]
    bars = []
    if found.as_logged.n_not_priced < found.n_requests:
        bars.append(Bar("As logged", float(data["as_logged"]["usd"]), table.rows[0][0]))
    bars += [
        Bar(_name(one), float(one["usd"]), row[0])
        for one, row in zip(outcomes, table.rows[1:], strict=True)
    ]
    return result_html(
        {**data, "schema_version": data["schema"]},
        title="Routing",
        opening=_opening(found),
        words=route_words(found),
        plots=(
            Plot("The bill of the log", "by way of routing", bars_chart("route-bill", bars)),
            Plot(
                "Bill above the oracle's",
                "the line is the interval of 95%, by drawing conversations; the oracle knows every "
                "answer beforehand",
                _regret_chart(data),
            ),
        ),
        grids=(ways, _endpoints(numbers)),
        basis="Bills are the ledger's exact sums, the oracle's is a sum of floats.",
    )


def _opening(found: RouteReplay) -> Opening:
    """Today's bill beside the router's."""
    numbers = Numbers(found.to_dict())
    sums = tuple(
        Sum(label, shown, "for this log")
        for label, shown in (
            ("Today, as logged", numbers.show("as_logged.usd", "usd")),
            ("With the router", numbers.show("outcomes[0].usd", "usd")),
        )
        if shown is not None
    )
    if found.saved_share is None:
        missing = _missing(found)
        known = sums if found.as_logged.n_not_priced < found.n_requests else sums[1:]
        return Opening(f"Not comparable yet: {missing[0] if missing else 'no bill'}", known)
    if found.saved_share <= 0:
        return Opening("Leave the routes as they are: the router would not be cheaper", sums)
    return Opening(f"Let the router choose: it costs {found.saved_share:.1%} less", sums)


def _name(outcome: dict[str, Any]) -> str:
    names = {"router": "Router", "litellm": "Least price sum (LiteLLM)", "oracle": "Oracle"}
    name = str(outcome["name"])
    return visible(names.get(name, f"Always {name.removeprefix('always ')}"))


def _endpoints(numbers: Numbers) -> PageTable:
    return PageTable(
        "Endpoints; prices are for a million tokens of the endpoint's own tokenizer",
        (
            "Endpoint", "Model", "Tokenizer", "Input", "Output", "Context", "Latency",
            "Requests of the log", "The router sends",
        ),
        tuple(
            (
                str(one["name"]),
                str(one["model"]),
                str(one["tokenizer"]),
                numbers.show(f"endpoints[{index}].usd_per_mtok_input", "usd"),
                numbers.show(f"endpoints[{index}].usd_per_mtok_output", "usd"),
                numbers.show(f"endpoints[{index}].context_tokens", "count"),
                str(one["latency"]),
                numbers.show(f"endpoints[{index}].n_own", "count"),
                numbers.show(f"outcomes[0].shares[{_quoted(one['name'])}]", "share"),
            )
            for index, one in enumerate(numbers.data["endpoints"])
        ),
    )  # fmt: skip


def _quoted(name: str) -> str:
    return strict_json(name)


def _regret_chart(data: dict[str, Any]) -> Markup:
    """Draw each way's regret with its interval below its name; the oracle is the line at 0."""
    shown = [one for one in data["outcomes"] if one["regret_share"] is not None]
    bottom = _ROW_PX * len(shown)
    drawing = Drawing("route-regret", width_px=WIDTH_PX, height_px=bottom + _FOOT_PX)
    values = [0.0]
    for one in shown:
        values += [
            100 * one[key]
            for key in ("regret_share", "regret_low", "regret_high")
            if one[key] is not None
        ]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 1.0
    x = Scale(low - room, high + room, 8.0, WIDTH_PX - 24.0)
    for tick in linear_ticks(x, 4):
        for index in range(len(shown)):
            top = _ROW_PX * index
            drawing.line([(x(tick), top + 19), (x(tick), top + 33)], "rule" if tick else "ink")
        drawing.text(
            x(tick), bottom + 16.0, f"{tick:+g}%" if tick else "0", anchor="middle", color="muted"
        )
    said = []
    for index, one in enumerate(shown):
        top = _ROW_PX * index
        name = _name(one)
        if len(name) > _MAX_NAME_CHARS:
            name = name[: _MAX_NAME_CHARS - 1] + "\u2026"
        drawing.text(8.0, top + 14.0, name)
        color, y = f"t{index % N_LOOKS}", top + 26.0
        if one["regret_low"] is not None:
            ends = [(x(100 * one["regret_low"]), y), (x(100 * one["regret_high"]), y)]
            drawing.line(ends, color, width=2.0)
        drawing.dot(x(100 * one["regret_share"]), y, color)
        said.append(f"{name} {one['regret_share']:+.2%}")
    return drawing.svg("Bill above the oracle's, in percent: " + "; ".join(said))
