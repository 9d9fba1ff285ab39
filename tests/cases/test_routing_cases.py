"""Routing, case by case: ``routing/*.json``.

A case has ``endpoints`` (TOML) and ``error``, or ``requests`` in order with what is chosen for each
(``want``); ``finish`` is what came back of one. Or it has ``records`` of a log, and what replaying
them gives: dollars (added up by hand), counts, what is left out. ``ledger`` names the endpoint at
which everything costs what the ledger says of the same records.
"""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import JetonError
from jeton.planning.routing import Router, RoutingRequest, parse_endpoints, route_logs
from jeton.report.route import route_words

FOLDER = Path(__file__).with_name("routing")


def cases(*, having: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{file.stem}-{case['name']}")
        for file in sorted(FOLDER.glob("*.json"))
        for case in json.loads(file.read_text(encoding="utf-8"))
        if having in case
    ]


def toml_of(case: dict[str, Any]) -> str:
    text = case["endpoints"]
    return text if isinstance(text, str) else "\n".join(text)


@pytest.mark.parametrize("case", cases(having="error"))
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(JetonError) as caught:
        Router(parse_endpoints(toml_of(case), source="endpoints.toml"))
    for part in case["error"]:
        assert part in str(caught.value)


@pytest.mark.parametrize("case", cases(having="requests"))
def test_chosen(case: dict[str, Any]) -> None:
    router = Router(parse_endpoints(toml_of(case)), on=date(2026, 11, 1), clock=lambda: 0.0)
    for step in case["requests"]:
        given = dict(step["request"])
        request = RoutingRequest(tuple(given.pop("input_tokens")), **given)
        explained = router.explain(request)
        choice = router.choose(request)
        assert choice == explained.choice
        want = step["want"]
        assert choice.endpoint == want["endpoint"], explained
        if "usd" in want:
            assert choice.usd == pytest.approx(float(want["usd"]), rel=1e-9)
        for name in ("meets", "is_fallback", "is_sticky"):
            if name in want:
                assert getattr(choice, name) == want[name], name
        for name, parts in want.get("reasons", {}).items():
            found = next(c for c in explained.candidates if c.endpoint == name)
            said = "; ".join(found.reasons)
            assert all(part in said for part in parts), said
            assert bool(parts) == bool(said)
        for name, usd in want.get("candidates_usd", {}).items():
            found = next(c for c in explained.candidates if c.endpoint == name)
            assert found.usd == pytest.approx(float(usd), rel=1e-9)
        if "finish" in step:
            router.finished(choice, **step["finish"])


@pytest.mark.parametrize("case", cases(having="records"))
def test_replayed(case: dict[str, Any]) -> None:
    file = parse_endpoints(toml_of(case))
    records, options, want = case["records"], case.get("options", {}), case["want"]
    on = date(2026, 11, 1)
    if "refused" in want:
        with pytest.raises(JetonError) as caught:
            route_logs(records, file, on=on, **options)
        for part in want["refused"]:
            assert part in str(caught.value)
        return
    found = route_logs(records, file, on=on, **options)
    for name, usd in want.get("usd", {}).items():
        outcome = found.outcome(name)
        assert outcome.usd == pytest.approx(Decimal(usd), abs=Decimal("1e-11")), name
    for name, facts in want.get("outcomes", {}).items():
        outcome = found.outcome(name)
        for fact, value in facts.items():
            own = getattr(outcome, fact)
            assert own == (pytest.approx(value) if isinstance(value, float | dict) else value), fact
    for fact in ("n_requests", "left_out", "assumptions"):
        if fact in want:
            assert getattr(found, fact) == want[fact]
    said = route_words(found)
    for words in want.get("says", ()):
        assert any(words in one for one in said), said
    if "issues" in want:
        assert {issue.kind for issue in found.issues} >= set(want["issues"])
    if "ledger" in case:
        bill = jeton.ledger(records, on=on)
        assert found.outcome(f"always {case['ledger']}").usd == bill.usd
    assert found.outcome("oracle").usd <= min(
        found.outcome(name).usd for name in ("router", "litellm")
    ) + Decimal("1e-9")
