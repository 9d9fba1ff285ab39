"""Choice among policies that were replayed: their figures over seeds, and the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from jeton.planning.serving.admission_results import LoadFigures, PolicyFigures
from jeton.planning.serving.replays import SeedFigure, ratio_over_seeds

if TYPE_CHECKING:
    from jeton.economics.admission import Policy
    from jeton.planning.serving.replays import LatencyObjective, ReplayFigures

_LEAST = 1e-12
"""A figure of 0, where its logarithm is taken."""

_LEAST_AIMS = ("ttft", "cost")
"""Aims of which less is better."""

_BASELINES = ("static", "maximum", "p95", "dynamic")


def best_policy(
    policies: Sequence[Policy],
    runs: Sequence[Sequence[Sequence[ReplayFigures]]],
    loads: Sequence[float],
    load: int,
    objective: LatencyObjective,
) -> tuple[int, tuple[str, ...]]:
    """Return the place of the best policy, and why it is the best.

    The replays are not those that its figures are from: the best of many has had some luck.

    Two policies cannot be told apart if the 95% interval of their paired ratio holds 1. The first
    that cannot be told from the best mean is taken: it is the simplest to have.
    """
    values = [_aimed(by_load, load, objective) for by_load in runs]
    is_least = objective.aim in _LEAST_AIMS

    def order(place: int) -> float:
        score = _score(values[place])
        if math.isnan(score):  # no answer at all
            return math.inf
        return score if is_least else -score

    top = min(range(len(policies)), key=order)
    what = _AIMS[objective.aim].format(load=loads[load])
    best = SeedFigure.of(values[top])
    reasons = [
        f"of the drawings that chose, {policies[top].label} has the {what}: "
        f"{best.mean:.4g}{_ends(best)}"
    ]
    chosen = top
    for place in range(top):
        ratio = ratio_over_seeds(values[place], values[top])
        if ratio is None or ratio.low is None or ratio.high is None:
            continue
        if ratio.low <= 1 <= ratio.high:
            reasons.append(
                f"{policies[place].label} cannot be told from it: {ratio.mean:.3f} times as much "
                f"(95%: {ratio.low:.3f} to {ratio.high:.3f}), and is simpler to have"
            )
            chosen = place
            break
    return chosen, tuple(reasons)


def beaten_by(
    policies: Sequence[Policy],
    runs: Sequence[Sequence[Sequence[ReplayFigures]]],
    choosing: Sequence[Sequence[Sequence[ReplayFigures]]],
    best: int,
    load: int,
    objective: LatencyObjective,
) -> dict[str, SeedFigure]:
    """Return the policies that the chosen one loses to beyond the interval, on other replays.

    Returns:
        By label the ratio of its figure to that of the chosen policy, the largest lead first.
    """
    values = [
        _best_goodput(*both) if objective.aim == "goodput" else _aimed(both[1], load, objective)
        for both in zip(choosing, runs, strict=True)
    ]
    found = {}
    for place, policy in enumerate(policies):
        ratio = None if place == best else ratio_over_seeds(values[place], values[best])
        if ratio is None or ratio.low is None or ratio.high is None:
            continue
        if ratio.high < 1 if objective.aim in _LEAST_AIMS else ratio.low > 1:
            found[policy.label] = ratio
    return dict(sorted(found.items(), key=lambda one: -abs(math.log(one[1].mean))))


_AIMS = {
    "goodput": "most answers in time a second at its best load",
    "ttft": "shortest time to the first token of 99 in 100 requests at {load:g} of saturation",
    "cost": "fewest dollars a million tokens of answers in time at {load:g} of saturation",
    "utilisation": "fullest cache at {load:g} of saturation",
}


def _aimed(
    by_load: Sequence[Sequence[ReplayFigures]], load: int, objective: LatencyObjective
) -> list[float]:
    """The figure that is sought, one of each seed."""
    if objective.aim == "goodput":
        return _best_goodput(by_load, by_load)
    name = {
        "ttft": "ttft_p99_seconds",
        "cost": "usd_per_mtok_in_time",
        "utilisation": "utilisation_share",
    }[objective.aim]
    found = [getattr(run, name) for run in by_load[load]]
    return [float("nan") if value is None else float(value) for value in found]


def _best_goodput(
    choosing: Sequence[Sequence[ReplayFigures]], by_load: Sequence[Sequence[ReplayFigures]]
) -> list[float]:
    """Goodput of each seed, at the load at which it is highest over the seeds that choose."""
    return [run.goodput_requests_per_second for run in by_load[_best_load(choosing)]]


def _best_load(by_load: Sequence[Sequence[ReplayFigures]]) -> int:
    scores = [_score([run.goodput_requests_per_second for run in found]) for found in by_load]
    return scores.index(max(scores))


def _score(values: Sequence[float]) -> float:
    """Mean of the logarithms: policies and loads are ordered as their paired ratios are."""
    if any(math.isnan(value) for value in values):
        return math.nan
    return sum(math.log(max(value, _LEAST)) for value in values) / len(values)


def compared_load(runs: Sequence[Sequence[Sequence[ReplayFigures]]], loads: Sequence[float]) -> int:
    """Place of the load at which some policy's goodput is the highest of all."""
    by_load = [
        max(_score([run.goodput_requests_per_second for run in policy[number]]) for policy in runs)
        for number in range(len(loads))
    ]
    return by_load.index(max(by_load))


def policy_figures(
    policies: Sequence[Policy],
    runs: Sequence[Sequence[Sequence[ReplayFigures]]],
    choosing: Sequence[Sequence[Sequence[ReplayFigures]]],
    loads: Sequence[float],
    objective: LatencyObjective,
) -> list[PolicyFigures]:
    """Return the figures of each policy from its replays, by load and seed.

    Loads that are the best of several are chosen on other replays, ``choosing``.
    """
    places = {policy.label: place for place, policy in enumerate(policies)}
    baselines = [label for label in _BASELINES if label in places]
    goodput = [_best_goodput(*both) for both in zip(choosing, runs, strict=True)]
    load = compared_load(choosing, loads)
    equal = [[run.goodput_requests_per_second for run in by_load[load]] for by_load in runs]
    # With never a want of work, memory in use tells policies apart; below, the load does.
    held = [[run.utilisation_share for run in by_load[-1]] for by_load in runs]
    rates = [_rates_in_time(by_load, objective.ttft_seconds) for by_load in runs]

    def over(values: Sequence[Sequence[float] | None], place: int) -> dict[str, SeedFigure | None]:
        return {
            label: _ratio(values[place], values[places[label]])
            for label in baselines
            if places[label] != place
        }

    found = []
    for place, (policy, by_load) in enumerate(zip(policies, runs, strict=True)):
        rate = rates[place]
        found.append(
            PolicyFigures(
                label=policy.label,
                name=policy.name,
                order=policy.order,
                loads=tuple(
                    LoadFigures.of(one, rows) for one, rows in zip(loads, by_load, strict=True)
                ),
                best_goodput=SeedFigure.of(goodput[place]),
                best_load=loads[_best_load(choosing[place])],
                rate_at_p99=None if rate is None else SeedFigure.of(rate),
                best_goodput_over=over(goodput, place),
                goodput_over=over(equal, place),
                rate_at_p99_over=over(rates, place),
                utilisation_over=over(held, place),
            )
        )
    return found


def _ratio(values: Sequence[float] | None, over: Sequence[float] | None) -> SeedFigure | None:
    return None if values is None or over is None else ratio_over_seeds(values, over)


def _rates_in_time(
    by_load: Sequence[Sequence[ReplayFigures]], limit_seconds: float
) -> list[float] | None:
    """Rate of each seed up to which 99 of 100 first tokens come in time.

    Between two loads the logarithm of the quantile is taken for a straight line. None: of some
    seed, not even the lowest load is in time.
    """
    found = []
    for seed in range(len(by_load[0])):
        runs = [rows[seed] for rows in by_load]
        if not runs[0].ttft_p99_seconds <= limit_seconds:
            return None
        rate = runs[-1].requests_per_second
        for below, above in pairwise(runs):
            if not above.ttft_p99_seconds <= limit_seconds:
                low, high = (math.log(max(run.ttft_p99_seconds, 1e-9)) for run in (below, above))
                share = (math.log(limit_seconds) - low) / (high - low)
                step = above.requests_per_second - below.requests_per_second
                rate = below.requests_per_second + share * step
                break
        found.append(rate)
    return found


def _ends(figure: SeedFigure) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return f" (95%: {figure.low:.4g} to {figure.high:.4g})"
