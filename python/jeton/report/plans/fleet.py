"""A plan of fleets in words and tables, made from `FleetPlan.to_dict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._plain import counted, less
from jeton.report.json_report import safe_json
from jeton.report.numbers import Numbers, Shown
from jeton.report.plans.page import PlanGrid, plan_html, plan_markdown

if TYPE_CHECKING:
    from jeton.planning.serving import FleetPlan

__all__ = ["fleet_grids", "fleet_html", "fleet_json", "fleet_markdown", "fleet_words"]

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


def fleet_grids(plan: FleetPlan) -> tuple[PlanGrid, ...]:
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
        PlanGrid(
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
    return plan_markdown(
        plan.to_dict(), title=_TITLE, words=fleet_words(plan), grids=fleet_grids(plan)
    )


def fleet_html(plan: FleetPlan) -> str:
    """The page; the figures as JSON in it."""
    return plan_html(
        plan.to_dict(),
        title=_TITLE,
        words=fleet_words(plan),
        plots=(),
        grids=fleet_grids(plan),
        basis=_BASIS,
    )
