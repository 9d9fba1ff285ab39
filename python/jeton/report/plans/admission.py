"""A plan of admission in words, tables and plots.

All forms are made from `AdmissionPlan.to_dict`, so that they show the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jeton.report.json_report import safe_json
from jeton.report.numbers import Kind, Numbers, Shown
from jeton.report.plans.curves import Curve, curves_chart
from jeton.report.result_page import (
    Opening,
    PageTable,
    Sum,
    result_html,
    result_markdown,
)
from jeton.report.tree import Plot

if TYPE_CHECKING:
    from jeton.planning.serving import AdmissionPlan

_TITLE = "Admission of requests"

_BASIS = (
    "Times and money are estimated by replays of the trace; tokens are the trace's own. ★ marks "
    "the best policy, where no other beats it."
)

_DRAWN_FIRST = ("dynamic", "maximum", "static", "p95")
_MOST_CURVES = 6


def admission_json(plan: AdmissionPlan) -> str:
    """As JSON text with a line end."""
    return safe_json(plan.to_dict())


def admission_words(plan: AdmissionPlan) -> tuple[str, ...]:
    """Describe the plan in sentences."""
    data = plan.to_dict()
    server, objective = data["server"], data["objective"]
    gpus = "" if server["n_gpus"] == 1 else f"{server['n_gpus']} x "
    words = [
        f"{data['trace']['n_requests']:,} requests, {server['model']} on {gpus}{server['gpu']}: "
        f"{server['capacity_tokens']:,} tokens of cache, {server['max_requests']:,} requests side "
        f"by side, {server['step_tokens']:,} tokens a step",
        f"in time: {objective['ttft_seconds']:g} s to the first token, "
        f"{objective['tpot_seconds'] * 1e3:g} ms between tokens",
        f"each of {data['seeds']} seeds draws {data['requests_per_seed']:,} requests in windows of "
        f"{data['window_seconds']:g} s from the trace",
        f"loads are shares of {data['saturation_requests_per_second']:.4g} requests a second, the "
        "rate of a server that is never idle",
        *_choice(data),
    ]
    if not data["is_met"]:
        words.append(
            "the limits are not met: at every load that was tried half of the requests are late"
        )
    return (*words, *data["notes"])


def _opening(plan: AdmissionPlan) -> Opening:
    """The advised policy beside that of vLLM and SGLang, at the load of the comparison."""
    data = plan.to_dict()
    numbers = Numbers(data)
    place = data["loads"].index(data["load"])
    labels = [policy["label"] for policy in data["policies"]]

    def goodput(label: str) -> Shown | None:
        path = f"policies[{labels.index(label)}].loads[{place}].goodput_requests_per_second.mean"
        return numbers.show(path, "rate", basis="estimated")

    after = f"answers in time a second, at {plan.load:g} of saturation"
    others = [label for label in labels if label != plan.best]
    beside = (
        "dynamic"
        if "dynamic" in others
        else max(others, key=lambda label: plan.policy(label).best_goodput.mean, default="")
    )
    name = "Today, with dynamic, as engines have it" if beside == "dynamic" else f"With {beside}"
    sums = (
        *([Sum(name, goodput(beside) or "", after)] if beside else []),
        Sum(f"With {plan.best}", goodput(plan.best) or "", after),
    )
    if not plan.is_met:
        return Opening("Take a larger GPU, or more: the limits are not met at any load", sums)
    if plan.beaten_by:
        better = ", ".join(plan.beaten_by)
        return Opening(
            f"Take {plan.best}, or {better} if you can have it: that is better here", sums
        )
    if plan.best == "dynamic":
        return Opening("Keep dynamic: no policy is better beyond the error", sums)
    return Opening(f"Admit requests by the policy {plan.best}", sums)


def _choice(data: dict[str, Any]) -> list[str]:
    """The policy that is advised; it is called best only where no other beats it."""
    if not data["beaten_by"]:
        return [f"the best policy is {data['best']}", *data["reasons"]]
    words = [f"advised: {data['best']}, though another is better here", *data["reasons"]]
    for label, ratio in data["beaten_by"].items():
        words.append(
            f"on the other drawings, those of the figures, {label} has {ratio['mean']:.2f} times "
            f"its figure (95%: {ratio['low']:.2f} to {ratio['high']:.2f})"
        )
    return words


def admission_grids(plan: AdmissionPlan) -> tuple[PageTable, ...]:
    """Tables: policies at the compared load, goodput over loads, settings of each engine."""
    numbers = Numbers(plan.to_dict())
    return (
        _policies(numbers),
        _over_loads(numbers),
        *(_engine(numbers, number) for number in range(len(numbers.data["engines"]))),
    )


_COLUMNS: tuple[tuple[str, str, Kind], ...] = (
    ("In time per s", "goodput_requests_per_second", "rate"),
    ("Share in time", "in_time_share", "share"),
    ("Cache in use", "utilisation_share", "share"),
    ("Cache handed out", "reserved_share", "share"),
    ("Evictions per 1,000", "evictions_per_thousand", "count"),
    ("First token p50", "ttft_p50_seconds", "seconds"),
    ("p99", "ttft_p99_seconds", "seconds"),
    ("Between tokens p99", "tpot_p99_seconds", "seconds"),
    ("USD per million tokens", "usd_per_mtok", "usd"),
    ("of those in time", "usd_per_mtok_in_time", "usd"),
)


def _policies(numbers: Numbers) -> PageTable:
    data = numbers.data
    place = data["loads"].index(data["load"])
    found: list[tuple[Shown | str | None, ...]] = []
    for index, policy in enumerate(data["policies"]):
        at = f"policies[{index}].loads[{place}]"
        cells = [
            None
            if policy["loads"][place][name] is None
            else numbers.show(f"{at}.{name}.mean", kind, basis="estimated")
            for _, name, kind in _COLUMNS
        ]
        found.append((policy["label"], *cells))
    rate = data["policies"][0]["loads"][place]["requests_per_second"]
    return PageTable(
        f"Policies at {data['load']:g} of saturation, {rate:.4g} requests a second",
        ("Policy", *(title for title, _, _ in _COLUMNS)),
        tuple(found),
        _best(data),
    )


def _over_loads(numbers: Numbers) -> PageTable:
    data = numbers.data
    found: list[tuple[Shown | str | None, ...]] = []
    for index, policy in enumerate(data["policies"]):
        at = f"policies[{index}]"
        cells = [
            numbers.show(
                f"{at}.loads[{n}].goodput_requests_per_second.mean", "rate", basis="estimated"
            )
            for n in range(len(data["loads"]))
        ]
        best = numbers.show(f"{at}.best_goodput.mean", "rate", basis="estimated")
        found.append(
            (policy["label"], *cells, best, _interval(policy["best_goodput"]), _versus(policy))
        )
    return PageTable(
        "Answers in time a second over loads",
        (
            "Policy",
            *(f"{load:g}" for load in data["loads"]),
            "At the load chosen",
            "95%",
            "Over dynamic (95%)",
        ),
        tuple(found),
        _best(data),
    )


def _versus(policy: dict[str, Any]) -> str:
    ratio = policy["best_goodput_over"].get("dynamic")
    if ratio is None:
        return ""
    return f"{ratio['mean']:.2f} x{_in_brackets(_interval(ratio, digits=3))}"


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


def _interval(figure: dict[str, Any], *, digits: int = 4) -> str:
    if figure["low"] is None:
        return ""
    return f"{figure['low']:.{digits}g} to {figure['high']:.{digits}g}"


def _engine(numbers: Numbers, number: int) -> PageTable:
    engine = numbers.data["engines"][number]
    name = _ENGINES.get(engine["engine"], engine["engine"])
    return PageTable(
        f"Settings of {name}",
        ("Setting", "Value", "Reason"),
        tuple((f"--{one['name']}", one["value"], one["reason"]) for one in engine["settings"]),
        notes=(engine["command_line"], *engine["lacks"]),
        n_text=3,
    )


_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}


def _best(data: dict[str, Any]) -> int | None:
    if data["beaten_by"]:
        return None
    return [policy["label"] for policy in data["policies"]].index(data["best"])


def admission_markdown(plan: AdmissionPlan) -> str:
    """As GitHub-flavoured Markdown."""
    return result_markdown(
        plan.to_dict(), title=_TITLE, words=admission_words(plan), grids=admission_grids(plan)
    )


def admission_html(plan: AdmissionPlan) -> str:
    """The page: goodput and waits over loads, tables and settings; the figures as JSON in it."""
    data = plan.to_dict()
    return result_html(
        data,
        title=_TITLE,
        opening=_opening(plan),
        words=admission_words(plan),
        plots=(
            Plot(
                "Answers in time a second",
                "over the requests that come a second; bars are 95% intervals of the best",
                _chart(data, "goodput_requests_per_second", "goodput"),
            ),
            Plot(
                "Time to the first token, 99 of 100 requests",
                "over the requests that come a second; dashed is the limit",
                _chart(
                    data,
                    "ttft_p99_seconds",
                    "ttft",
                    is_log=True,
                    limit=data["objective"]["ttft_seconds"],
                ),
            ),
            Plot(
                "Cache in use",
                "share that holds tokens, over the requests that come a second",
                _chart(data, "utilisation_share", "utilisation"),
            ),
        ),
        grids=admission_grids(plan),
        basis=_BASIS,
    )


def _chart(
    data: dict[str, Any],
    figure: str,
    name: str,
    *,
    is_log: bool = False,
    limit: float | None = None,
) -> Any:
    by_label = {policy["label"]: policy for policy in data["policies"]}
    labels = [data["best"], *(label for label in _DRAWN_FIRST if label in by_label)]
    # Beside them those with the most answers in time.
    labels += sorted(by_label, key=lambda one: -by_label[one]["best_goodput"]["mean"])
    curves = []
    for label in dict.fromkeys(labels):
        points, ends = [], []
        for load in by_label[label]["loads"]:
            value = load[figure]
            if value is None or value["mean"] is None:
                continue
            points.append((load["requests_per_second"], value["mean"]))
            has_ends = label == data["best"] and value["low"] is not None
            ends.append((value["low"], value["high"]) if has_ends else None)
        curves.append(Curve(label, tuple(points), tuple(ends)))
    curves = curves[:_MOST_CURVES]
    return curves_chart(
        f"admission-{name}",
        curves,
        alt=f"{figure.replace('_', ' ')} by requests a second: "
        + "; ".join(
            f"{curve.name} " + ", ".join(f"{x:.3g}: {y:.3g}" for x, y in curve.points)
            for curve in curves
        ),
        write_x=lambda value: f"{value:.4g}",
        write_y=lambda value: f"{value:.4g}",
        is_log_y=is_log,
        limit=limit,
    )
