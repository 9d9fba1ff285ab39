"""One line for every bar: the least ratio among its cases, against whom, whether it is reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benches.remarks import REMARKS
from benches.targets import BY_KEY, TARGETS, Target

__all__ = ["SCALES", "Verdict", "case_table", "figure", "judge", "line", "path_table", "table"]

US = "jeton"
HOSTILE_SECONDS = 0.010
"""A hostile text of 1 MB that takes less is fast enough, whoever is faster."""

SCALES = {"s": 1.0, "MB": 1e6, "instructions": 1.0, "nats": 1.0}
"""Unit -> what one of it is in recorded values (seconds, bytes, instructions)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one case stands against one bar.

    Attributes:
        case: the case as it is recorded.
        ratio: the peer's figure over ours (times, bytes); None where there is nothing to compare.
        peer: the row it is compared with, or None.
        ours: our row, or None.
        met: whether the bar is reached; None when that cannot be said.
    """

    case: Mapping[str, Any]
    ratio: float | None
    peer: Mapping[str, Any] | None
    ours: Mapping[str, Any] | None
    met: bool | None


def figure(case: Mapping[str, Any], row: Mapping[str, Any] | None) -> str:
    """The row's median as a reader wants it: MB/s, microseconds a text, milliseconds, MB."""
    if row is None or row["median_value"] is None:
        return ""
    value, unit = row["median_value"], case.get("figure", "MB/s")
    if unit == "us":
        return f"{value / case['n_texts'] * 1e6:.2f}"
    if unit == "ms":
        return f"{value * 1e3:.1f}"
    if unit == "MB":
        return f"{value / 1e6:,.1f}"
    if unit == "s":
        return f"{value:.2f}"
    if unit == "nats":
        return f"{value:.4f}"
    if unit == "instructions":
        return f"{value:,.0f}"
    speed = row["megabytes_per_second"]
    return "" if speed is None else f"{speed:.4g}"


def _is_ours(row: Mapping[str, Any]) -> bool:
    return str(row["name"]).startswith(US)


def _peers(case: Mapping[str, Any], target: Target) -> list[Mapping[str, Any]]:
    rows = [row for row in case["rows"] if row["values"] and not _is_ours(row)]
    if target.inexact:
        return [row for row in rows if row["wrong"] is not None]
    right = [row for row in rows if row["wrong"] is None]
    if target.against is not None:
        return [row for row in right if row["name"] in target.against]
    return right


def judge(case: Mapping[str, Any], target: Target) -> Verdict:
    """Compare our row of one case with the best peer that counts for this bar."""
    mine = [row for row in case["rows"] if _is_ours(row) and row["values"] and not row["wrong"]]
    ours = min(mine, key=lambda row: row["median_value"], default=None)
    peer = min(_peers(case, target), key=lambda row: row["median_value"], default=None)
    if ours is None:
        return Verdict(case, ratio=None, peer=peer, ours=None, met=False)
    if target.rule in ("growth", "flat"):
        value = case.get("growth")
        met = None if value is None else value <= target.least
        return Verdict(case, value, None, ours, met)
    if target.rule == "seconds":
        return Verdict(case, None, None, ours, ours["median_value"] <= target.least)
    if peer is None:
        return Verdict(case, None, None, ours, None)
    ratio = peer["median_value"] / ours["median_value"]
    met = ratio >= target.least
    if target.rule == "hostile":
        met = met or ours["median_value"] <= HOSTILE_SECONDS
    return Verdict(case, ratio, peer, ours, met)


def verdicts(cases: Iterable[Mapping[str, Any]], target: Target) -> list[Verdict]:
    """Verdicts of all cases of a bar."""
    return [judge(case, target) for case in cases if target.key in case.get("targets", ())]


def _by_machine(found: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Verdicts of each machine, by its name; machines in the order of their names."""
    machines: dict[str, list[Verdict]] = {}
    for verdict in found:
        machines.setdefault(_machine(verdict), []).append(verdict)
    return dict(sorted(machines.items()))


def _machine(verdict: Verdict) -> str:
    return str(verdict.case.get("machine", ""))


def _worst(found: Sequence[Verdict], target: Target) -> Verdict:
    """The case furthest from the bar; those that cannot be judged last."""
    sign = -1 if target.rule in ("growth", "flat") else 1
    failed = [verdict for verdict in found if verdict.met is False]
    judged = [verdict for verdict in failed or found if verdict.ratio is not None]
    return min(judged, key=lambda verdict: sign * (verdict.ratio or 0.0), default=found[0])


def _place(verdict: Verdict) -> str:
    case = verdict.case
    return f"{case['operation']}: {case['vocabulary']}, {case['text']}"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|")


def _lines(target: Target, found: Sequence[Verdict]) -> list[list[object]]:
    """One for each machine."""
    if not found:
        return [[target.case, target.words, "", "", "", "", "not measured", ""]]
    return [
        [target.case, target.words, machine, *_line(target, there)]
        for machine, there in _by_machine(found).items()
    ]


def _line(target: Target, found: Sequence[Verdict]) -> list[object]:
    worst = _worst(found, target)
    ratios = [verdict.ratio for verdict in found if verdict.ratio is not None]
    n_met = sum(verdict.met is True for verdict in found)
    n_judged = sum(verdict.met is not None for verdict in found)
    if not ratios:
        return [
            "",
            "no peer does this" if worst.ours else "",
            f"{figure(worst.case, worst.ours)} {worst.case.get('figure', 'MB/s')}".strip(),
            "no comparison" if n_judged == 0 else "met" if n_met == n_judged else "**not met**",
            _remark(target, worst, met=n_met == n_judged > 0, several=len(found) > 1),
        ]
    span = f"{min(ratios):.2f}x" if len(ratios) == 1 else f"{min(ratios):.2f}-{max(ratios):.2f}x"
    met = n_met == n_judged
    reached = "met" if met else "**not met**" if n_met == 0 else f"**met in {n_met} of {n_judged}**"
    return [
        span,
        "" if worst.peer is None else worst.peer["name"],
        f"{figure(worst.case, worst.ours)} {worst.case.get('figure', 'MB/s')}",
        reached,
        _remark(target, worst, met=met, several=len(found) > 1),
    ]


def _remark(target: Target, worst: Verdict, *, met: bool, several: bool = True) -> str:
    words = [] if met and not several else [f"least: {_place(worst)}"]
    if worst.ours is None:
        words = [f"jeton's result is wrong or missing: {_place(worst)}"]
    tried = REMARKS.get(target.key)
    if tried and not met:
        words.append(f"tried: {tried}")
    return "; ".join(words)


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "|" + " --- |" * len(headings)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join([*lines, ""])


def table(cases: Sequence[Mapping[str, Any]]) -> str:
    """The table at the head: a line for every bar and machine, whatever has been measured."""
    headings = (
        "case",
        "target",
        "machine",
        "ratio to the best peer",
        "best peer",
        "Jeton",
        "target met",
        "remark",
    )
    rows = [line for target in TARGETS for line in _lines(target, verdicts(cases, target))]
    return _markdown(headings, rows)


def case_table(cases: Sequence[Mapping[str, Any]]) -> str:
    """Every case on its own, in the order of the bars, one of several machines below the other."""
    headings = (
        "case",
        "vocabulary",
        "text",
        "target",
        "machine",
        "ratio",
        "best peer",
        "its figure",
        "Jeton",
        "unit",
        "met",
    )
    rows = []
    for target in TARGETS:
        # Cases of one name come together, in the order of the first of them.
        found = verdicts(cases, target)
        order = {place: n for n, place in enumerate(dict.fromkeys(map(_place, found)))}
        for verdict in sorted(found, key=lambda one: (order[_place(one)], _machine(one))):
            case = verdict.case
            rows.append(
                [
                    case["operation"],
                    case["vocabulary"],
                    case["text"],
                    target.words,
                    _machine(verdict),
                    "" if verdict.ratio is None else f"{verdict.ratio:.2f}x",
                    "" if verdict.peer is None else verdict.peer["name"],
                    figure(case, verdict.peer),
                    figure(case, verdict.ours),
                    case.get("figure", "MB/s"),
                    {True: "yes", False: "**no**", None: ""}[verdict.met],
                ]
            )
    return _markdown(headings, rows)


def path_table(cases: Sequence[Mapping[str, Any]]) -> str:
    """Our SIMD paths side by side, in MB/s, and the best peer beside the fastest of them."""
    paths = ("portable", "avx2", "avx512")
    headings = (
        "vocabulary",
        "text",
        *(f"Jeton, {path} (MB/s)" for path in paths),
        "best peer",
        "its MB/s",
        "ratio of the fastest",
    )
    rows = []
    for case in cases:
        mine = {row["name"].removeprefix(f"{US}, "): row for row in case["rows"] if _is_ours(row)}
        verdict = judge(case, BY_KEY["warm"])
        rows.append(
            [
                case["vocabulary"],
                case["text"],
                *(figure(case, mine.get(path)) for path in paths),
                "" if verdict.peer is None else verdict.peer["name"],
                figure(case, verdict.peer),
                "" if verdict.ratio is None else f"{verdict.ratio:.2f}x",
            ]
        )
    return _markdown(headings, rows)


def line(case: Mapping[str, Any]) -> str:
    """One case in one line, for a terminal."""
    verdict = judge(case, BY_KEY[case["targets"][0]])
    ratio = "no comparison" if verdict.ratio is None else f"{verdict.ratio:.2f}x"
    peer = "" if verdict.peer is None else verdict.peer["name"]
    theirs = figure(case, verdict.peer)
    unit = case.get("figure", "MB/s")
    return (
        f"{_place(verdict)}: jeton {figure(case, verdict.ours) or 'wrong'}, {peer} {theirs} "
        f"{unit}: {ratio} (target {verdict_target(case).words})"
    )


def verdict_target(case: Mapping[str, Any]) -> Target:
    """The first bar that a case names."""
    return BY_KEY[case["targets"][0]]
