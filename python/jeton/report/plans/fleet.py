"""A plan of fleets in words and tables, made from `FleetPlan.to_dict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._plain import counted, less
from jeton.report.json_report import safe_json
from jeton.report.numbers import Numbers, Shown
from jeton.report.result_page import (
    Opening,
    PageTable,
    Sum,
    result_html,
    result_markdown,
)
from jeton.report.tree import Plot

if TYPE_CHECKING:
    from jeton.planning.serving import FleetPlan
    from jeton.planning.serving.fleet import FleetOption

_TITLE = "Fleets"
_BASIS = (
    "Every server of a fleet is replayed; times are estimated, prices are list prices of the "
    "catalog unless given. ★ marks the cheapest."
)


def fleet_json(plan: FleetPlan) -> str:
    """As JSON text with a line end."""
    return safe_json(plan.to_dict())


def fleet_words(plan: FleetPlan) -> tuple[str, ...]:
    """Describe the plan in sentences."""
    limits = plan.objective
    words = [
        f"{plan.n_requests:,} requests in {plan.duration_seconds:,.0f} s: "
        f"{plan.requests_per_second:.4g} a second, {plan.peak_requests_per_second:.4g} in the "
        f"busiest {min(plan.window_seconds, plan.duration_seconds):g} s",
        f"99 of 100 have their first token in {limits.ttft_seconds:g} s, and "
        f"{limits.tpot_seconds * 1e3:g} ms between tokens",
    ]
    best = next((one for one in plan.options if one.gpu == plan.best), None)
    if best is None:
        words.append("no fleet keeps these limits")
    else:
        words.append(
            f"the cheapest is {best.servers:,} x {best.n_gpus} x {best.gpu}: "
            f"${best.usd_per_month:,.2f} a month of 730 hours"
        )
        if plan.today is not None and best.usd_per_month is not None:
            today = plan.today
            words.append(
                f"today {today.total_gpus:,} x {today.gpu} ${today.usd_per_month:,.2f} a month; "
                f"planned ${best.usd_per_month:,.2f}, "
                f"{less(today.usd_per_month, best.usd_per_month)}"
            )
        if best.usd_per_month_scaled is not None:
            starts = (
                f"each started {plan.startup_seconds:g} s ahead and paid from then on"
                if plan.startup_seconds
                else "if servers started at once"
            )
            words.append(
                f"with another number of servers each {plan.window_seconds:g} s it would be "
                f"${best.usd_per_month_scaled:,.2f}, {starts}"
            )
        if best.cached_share:
            dealt = "in turn" if plan.spread == "turns" else "by their beginnings"
            words.append(
                f"{best.cached_share:.1%} of the prompt tokens are read from caches of prefixes, "
                f"with requests dealt out {dealt}"
            )
    words += [f"{one.gpu}: {one.reason}" for one in plan.options if one.reason]
    words += [
        f"{one.gpu}: {counted(one.n_refused, 'request')} beyond context or memory"
        for one in plan.options
        if one.n_refused and not one.reason
    ]
    return tuple(words)


def _opening(plan: FleetPlan) -> Opening:
    """The cheapest fleet beside today's, or beside the next one that keeps the limits."""
    if plan.best is None:
        return Opening("No fleet keeps these limits: allow more time, or other GPUs")
    numbers = Numbers(plan.to_dict())
    able = [place for place, one in enumerate(plan.options) if one.servers is not None]
    sums = [
        Sum(
            _name(plan.options[place]),
            numbers.show(f"options[{place}].usd_per_month", "cents", basis="estimated") or "",
            "a month",
        )
        for place in [*([] if plan.today else able[1:2]), able[0]]
    ]
    if plan.today is not None:
        rented = numbers.show("today.usd_per_month", "cents", basis="estimated")
        name = f"Today, {plan.today.total_gpus:,} x {plan.today.gpu}"
        sums.insert(0, Sum(name, rented or "", "a month"))
    best = plan.options[able[0]]
    noun = "server" if best.servers == 1 else "servers"
    each = "" if best.n_gpus == 1 else f" of {best.n_gpus}"
    return Opening(
        f"Rent {best.servers:,} {noun}{each} {best.gpu}: the cheapest that is in time", tuple(sums)
    )


def _name(one: FleetOption) -> str:
    each = "" if one.n_gpus == 1 else f"{one.n_gpus} x "
    return f"{one.servers or 0:,} x {each}{one.gpu}"


def _plots(plan: FleetPlan) -> tuple[Plot, ...]:
    from jeton.report.bars import Bar, bars_chart

    numbers = Numbers(plan.to_dict())
    bars = [
        Bar(
            _name(one),
            float(one.usd_per_month),
            numbers.show(f"options[{place}].usd_per_month", "cents", basis="estimated"),
        )
        for place, one in enumerate(plan.options)
        if one.usd_per_month is not None
    ]
    return (
        (Plot("Dollars a month", "of each fleet that is in time", bars_chart("fleet", bars)),)
        if bars
        else ()
    )


def fleet_grids(plan: FleetPlan) -> tuple[PageTable, ...]:
    """The table of fleets, the cheapest first."""
    numbers = Numbers(plan.to_dict())
    rows: list[tuple[Shown | str | None, ...]] = []
    for place in range(len(plan.options)):
        at = f"options[{place}]"
        less = plan.options[place]
        rows.append(
            (
                less.gpu,
                numbers.show(f"{at}.servers", "count", basis="estimated"),
                numbers.show(f"{at}.total_gpus", "count", basis="estimated"),
                numbers.show(f"{at}.peak_servers", "count", basis="estimated"),
                numbers.show(f"{at}.ttft_p99_seconds", "seconds", basis="estimated"),
                numbers.show(f"{at}.tpot_p99_seconds", "seconds", basis="estimated"),
                _one_less(less.ttft_p99_with_one_less_seconds, less.tpot_p99_with_one_less_seconds),
                numbers.show(f"{at}.usd_per_hour", "usd"),
                numbers.show(f"{at}.usd_per_hour_fleet", "cents", basis="estimated"),
                numbers.show(f"{at}.usd_per_month", "cents", basis="estimated"),
                numbers.show(f"{at}.usd_per_month_scaled", "cents", basis="estimated"),
                numbers.show(f"{at}.usd_per_mtok", "usd", basis="estimated"),
            )
        )
    return (
        PageTable(
            f"Fleets of {plan.model}",
            (
                "GPU",
                "Servers",
                "GPUs",
                "Servers at the peak",
                "First token p99",
                "Between tokens p99",
                "With one server less",
                "USD per GPU and hour",
                "USD per hour",
                "USD per month",
                "scaled by window",
                "USD per million tokens",
            ),
            tuple(rows),
            None if plan.best is None else 0,
        ),
    )


def _one_less(ttft: float | None, tpot: float | None) -> str:
    if ttft is None or tpot is None:
        return ""
    return f"{ttft:.3g} s, {tpot * 1e3:.3g} ms"


def fleet_markdown(plan: FleetPlan) -> str:
    """As GitHub-flavoured Markdown."""
    return result_markdown(
        plan.to_dict(), title=_TITLE, words=fleet_words(plan), grids=fleet_grids(plan)
    )


def fleet_html(plan: FleetPlan) -> str:
    """The page; the figures as JSON in it."""
    return result_html(
        plan.to_dict(),
        title=_TITLE,
        opening=_opening(plan),
        words=fleet_words(plan),
        plots=_plots(plan),
        grids=fleet_grids(plan),
        basis=_BASIS,
    )
