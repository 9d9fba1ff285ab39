"""Dollars and savings of an audit: figures of a trial, each with its arithmetic."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jeton import errors
from jeton.auditing import AuditReport, audit
from jeton.registry import load
from tests.cases.places import load_cases

CASES = load_cases("audit")


def _records(case: dict[str, Any], key: str = "generate") -> list[Any]:
    if "records" in case:
        return list(case["records"])
    made = case[key]
    first = dt.datetime.fromisoformat(made["first"].replace("Z", "+00:00"))
    rows = []
    for i in range(made["n"]):
        record = made["then"] if i >= made.get("from", made["n"]) else made["record"]
        row = json.loads(json.dumps(record).replace("{i}", str(i)))
        when = first + dt.timedelta(seconds=i * made["every_s"])
        rows.append({**row, "timestamp": when.isoformat().replace("+00:00", "Z")})
    return rows


def _run(case: dict[str, Any], **arguments: Any) -> AuditReport:
    given = arguments or case["arguments"]
    if "terms" in given:
        given = {**given, "terms": list(given["terms"])}
    inputs = iter(case["texts"]) if "texts" in case else _records(case)
    return audit(inputs, quality=False, **given)


def _at(data: Any, path: str) -> Any:
    keys = path.split(".")
    if keys[0] == "finding":
        data = next(f for f in data["findings"] if f["id"] == keys[1])
        keys = keys[2:]
    for key in keys:
        data = data[int(key)] if isinstance(data, list) else data[key]
    return data


@pytest.fixture
def vocabularies(monkeypatch: pytest.MonkeyPatch, shared: Path) -> None:
    monkeypatch.setenv("JETON_VOCAB_DIR", str(shared / "data" / "vocab"))


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any], request: pytest.FixtureRequest) -> None:
    if case["vocab"]:
        request.getfixturevalue("vocabularies")
    expect = dict(case["expect"])
    if "error" in expect:
        with pytest.raises(getattr(errors, expect["error"]), match=expect["message"]):
            _run(case)
        return
    report = _run(case)
    data = json.loads(json.dumps(report.to_dict(), default=str))
    for path, wanted in expect.items():
        _check(case, report, data, path, wanted)
    check_sums(data)


def _check(
    case: dict[str, Any], report: AuditReport, data: dict[str, Any], path: str, wanted: Any
) -> None:
    ids = [finding["id"] for finding in data["findings"]]
    waterfall = data["waterfall"]
    if path == "notice":
        assert any(wanted in notice for notice in data["notices"]), data["notices"]
    elif path == "has_finding":
        assert wanted in ids
    elif path.startswith("no_finding"):
        assert wanted not in ids
    elif path == "no_saving":
        assert all(f["saving_usd_per_year"] is None for f in data["findings"])
    elif path == "steps":
        assert [step["id"] for step in waterfall["steps"]] == wanted
    elif path == "settled":
        _check_settled(data)
    elif path == "saved_like_twin":
        twin = audit(_records(case, "twin"), quality=False, **case["arguments"])
        less = Decimal(data["waterfall"]["naive_usd_per_month"])
        assert twin.waterfall is not None
        less -= twin.waterfall.naive_usd_per_month
        steps = {s["id"]: -Decimal(s["delta_usd_per_month"]) for s in waterfall["steps"]}
        assert float(sum(steps[id] for id in wanted)) == pytest.approx(float(less), rel=1e-3)
        assert not {f.id for f in twin.findings} & set(wanted)
    elif path == "same_usd_as":
        other = _run(case, **wanted).to_dict()
        assert data["ledger"]["usd"] == other["ledger"]["usd"]
    elif path == "saved_share":
        saved = 1 - float(waterfall["engineered_usd_per_month"]) / float(
            waterfall["naive_usd_per_month"]
        )
        assert saved == pytest.approx(wanted["approx"], abs=1e-4)
    elif path == "what_if_start":
        assert what_if_start(data["what_if"]) == pytest.approx(wanted["approx"], rel=1e-6)
    elif path == "models_are_ledgers":
        for entry, name in zip(data["models"], case["arguments"]["price_model"], strict=True):
            alone = _run(case, **{**case["arguments"], "price_model": name}).ledger
            assert alone is not None
            each = alone.per_request()
            assert each is not None
            assert float(entry["usd_per_document"]["value"]) == pytest.approx(float(each))
    elif isinstance(wanted, dict) and wanted.get("share_of_before"):
        tokenizer = load(case["arguments"]["tokenizers"][0])
        before, now = (int(tokenizer.count_batch(case[k]).sum()) for k in ("before", "texts"))
        assert _at(data, path) == pytest.approx(1 - before / now, abs=wanted["abs"])
    elif isinstance(wanted, dict) and "approx" in wanted:
        found = float(_at(data, path))
        assert found == pytest.approx(wanted["approx"], rel=1e-6, abs=wanted.get("abs", 1e-12))
    else:
        value: Any = _at(data, path)
        if isinstance(wanted, str) and re.fullmatch(r"\d+(\.\d+)?", wanted):
            value, wanted = Decimal(value), Decimal(wanted)
        assert value == wanted


def _check_settled(data: dict[str, Any]) -> None:
    """Savings of findings equal those of the waterfall, each once; the headline is their sum."""
    steps = {s["id"]: -Decimal(s["delta_usd_per_month"]) * 12 for s in data["waterfall"]["steps"]}
    savings = {
        f["id"]: Decimal(f["saving_usd_per_year"])
        for f in data["findings"]
        if f["saving_usd_per_year"] is not None
    }
    assert savings.keys() == steps.keys()
    for name, saved in savings.items():
        assert abs(saved - steps[name]) <= Decimal("0.005")
    total = Decimal(data["waterfall"]["naive_usd_per_month"])
    total -= Decimal(data["waterfall"]["engineered_usd_per_month"])
    assert abs(sum(steps.values()) - total * 12) < Decimal("0.0001")
    for finding in data["findings"]:
        if finding["id"] in steps:
            assert finding["effort"]
            assert finding["risk"]


def what_if_start(given: dict[str, Any]) -> float:
    """The bill at which the sliders start."""
    rates = {k: float(given[f"usd_per_mtok_{k}"] or 0) for k in ("input", "cache_read", "output")}
    cached = given["cached_input_share"]
    prompt = given["input_tokens_per_request"] * (
        (1 - cached) * rates["input"] + cached * rates["cache_read"]
    )
    each = (prompt + given["output_tokens_per_request"] * rates["output"]) / 1e6
    return float(given["requests_per_month"] * (each + float(given["usd_per_request_other"] or 0)))


def check_sums(data: dict[str, Any]) -> None:
    """Every sum of dollars in a report is the ledger's, to the cent."""
    ledger = data["ledger"]
    if ledger is None or not Decimal(ledger["usd"]):
        return
    usd = Decimal(ledger["usd"])
    for part in ("by_model", "by_day", "by_domain", "dimensions"):
        assert sum((Decimal(e["usd"]) for e in ledger[part]), Decimal(0)) == usd, part
    bills = [Decimal(b["usd"]) for b in data["domain_bills"]]
    if bills:
        assert abs(sum(bills) - usd) < Decimal("0.005")
    if data["timeline"]:
        days = sum((Decimal(d["usd"]) for d in data["timeline"]["days"]), Decimal(0))
        untimed = [d for d in ledger["by_day"] if d["day"] is None]
        assert abs(days + sum(Decimal(d["usd"]) for d in untimed) - usd) < Decimal("0.005")
    if data["bill"]:
        assert abs(Decimal(data["bill"]["usd_explained"]) - usd) <= Decimal("0.005")
    month = ledger["usd_per_month"]
    if month is None:
        return
    cent = Decimal("0.005")
    assert abs(Decimal(data["waterfall"]["naive_usd_per_month"]) - Decimal(month)) < cent
    for tokenizer in data["tokenizers"]:
        if tokenizer["is_current"]:
            for unit in ("month", "year"):
                figure = tokenizer["economics"][f"usd_per_{unit}"]["value"]
                assert abs(Decimal(str(figure)) - Decimal(ledger[f"usd_per_{unit}"])) < cent
    if data["what_if"] and data["what_if"]["usd_per_mtok_input"] is not None:
        assert what_if_start(data["what_if"]) == pytest.approx(float(month), rel=1e-9)
    if data["comparison"]:
        rows = {row["name"]: row for row in data["comparison"]["rows"]}
        bill = rows["bill per month"]
        assert abs(Decimal(str(bill["naive"]["value"])) - Decimal(month)) < cent
        parts = [n for n in rows if n.endswith("per month") and n not in ("requests per month",)]
        parts.remove("bill per month")
        summed = sum(Decimal(str(rows[n]["naive"]["value"])) for n in parts)
        assert abs(summed - Decimal(month)) < cent
    count = data["provider_count"]
    if count and count["usd_per_month"]:
        assert abs(Decimal(str(count["usd_per_month"]["value"])) - Decimal(month)) < cent
    saved = sum(
        (Decimal(f["saving_usd_per_year"] or 0) for f in data["findings"]),
        Decimal(0),
    )
    waterfall = data["waterfall"]
    headline = 12 * (
        Decimal(waterfall["naive_usd_per_month"]) - Decimal(waterfall["engineered_usd_per_month"])
    )
    assert abs(saved - headline) <= cent * max(1, len(data["findings"]))


def test_cases_name_their_source() -> None:
    assert len(CASES) > 30
