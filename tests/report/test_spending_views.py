"""Spending, models outside the sum, and the facts of the header."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from jeton.report.day_charts import day_charts
from jeton.report.numbers import Kind, Numbers, money_kind, write_number
from jeton.report.sections.bill import price_lists
from jeton.report.sections.spending import spending
from jeton.report.tree import Items, Line, Section
from jeton.report.workload import day_words, period_words, title_of_inputs
from tests.report.trees import column, tables, texts


def _use(model: str, usd: str, n: int, tariff: str = "standard") -> dict[str, Any]:
    return {
        "provider": "openai", "model": model, "logged_as": model, "tariff": tariff,
        "n_requests": n, "amounts": {"input_tokens": 1000 * n}, "usd": usd, "dimensions": [],
        "basis": "exact",
    }  # fmt: skip


def _day(day: str | None, usd: str) -> dict[str, Any]:
    return {"day": day, "n_requests": 1, "input_tokens": 10, "output_tokens": 0, "usd": usd}


def _data(**ledger: Any) -> dict[str, Any]:
    whole = {
        "usd": "10.00",
        "n_requests": 12,
        "period": {"requests_per_day": 6, "assumption": "12 requests on 2 days"},
        "by_model": [_use("large", "9.50", 2), _use("small", "0.50", 10, "batch")],
        "by_day": [_day("2026-10-01", "4"), _day("2026-10-02", "5.5"), _day(None, "0.5")],
        "dimensions": [],
        "amounts": {"input_tokens": 12000},
        "joined": {"stream_pieces": 7, "nothing": 0},
        "not_priced": [],
        "n_half_known": 0,
        "n_from_gateway_cache": 0,
        "issues": [],
    }
    return {"requests": {"n_requests": 12}, "ledger": whole | ledger}


def _said(section: Section | None, kind: type[Line | Items]) -> list[str]:
    assert section is not None
    found = [block for block in section.blocks if isinstance(block, kind)]
    return [
        text
        for block in found
        for text in texts(list(block.items) if isinstance(block, Items) else [block.words])
    ]


def test_models_have_their_share_and_their_tariff() -> None:
    section = spending(Numbers(_data()))
    table = tables(section)["By model"]
    assert texts([row.head for row in table.rows]) == ["large", "small, batch"]
    assert texts(column(table, "Share")) == ["95%", "5%"]
    assert texts(column(table, "Cost")) == ["$9.50", "$0.50"]
    said = _said(section, Items)
    assert said == ["7 records are not counted as requests: pieces of streamed answers"]
    assert _said(section, Line) == []


def test_what_is_not_in_the_sum_is_named() -> None:
    entry = {
        "model": "house-model", "provider": "", "kind": "unknown_model", "why": "not in the list",
        "nearest": [], "n_requests": 3, "n_tokens": 30, "share_of_tokens": 0.012,
    }  # fmt: skip
    section = spending(Numbers(_data(not_priced=[entry], n_half_known=2)))
    assert _said(section, Line) == [
        "1 model (house-model), 1.2% of the tokens, have no price; "
        "2 requests report only a part of their tokens"
    ]
    assert "Not in this sum: house-model, 3 requests, 1.2% of the tokens" in _said(section, Items)


def test_without_a_log_there_is_nothing_to_show() -> None:
    assert spending(Numbers(_data() | {"requests": None})) is None
    assert spending(Numbers({"requests": {"n_requests": 1}, "ledger": None})) is None


def test_days_are_drawn_from_zero_with_their_peak() -> None:
    charts = day_charts(Numbers(_data()))
    assert [chart.title for chart in charts] == ["Cost by day", "Input tokens by day"]
    assert 'data-path="ledger.by_day[1].usd"' in charts[0].svg
    assert "2 October 2026" in charts[0].svg
    assert day_charts(Numbers(_data(by_day=[_day("2026-10-01", "4")]))) == ()


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["logs/october.jsonl"], "october.jsonl"),
        (["notes/a.txt", "notes/b.txt", "notes/c/d.txt"], "notes, 3 files"),
        (["/x/a.txt", "b.txt"], "a.txt and 1 more file"),
        (["-"], "standard input"),
        ([], "Workload"),
        (["a\x1b.txt"], "a\u241b.txt"),
    ],
)
def test_a_workload_is_named_after_its_inputs(paths: list[str], name: str) -> None:
    assert title_of_inputs(paths) == name


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2026-10-01", "2026-10-31", "1 to 31 October 2026"),
        ("2026-10-05", "2026-10-05", "5 October 2026"),
        ("2026-09-30", "2026-10-02", "30 September to 2 October 2026"),
        ("2025-12-31", "2026-01-01", "31 December 2025 to 1 January 2026"),
    ],
)
def test_a_period_says_once_what_its_ends_share(first: str, last: str, words: str) -> None:
    assert period_words(datetime.fromisoformat(first), datetime.fromisoformat(last)) == words


def test_a_day_is_written_out() -> None:
    assert day_words(date(2026, 11, 3)) == "3 November 2026"


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("4691899", "about", "4.69\u00a0million"),
        ("1200000000", "about", "1.20\u00a0billion"),
        ("950", "about", "950"),
        ("-0.00007", "cents_change", "$0.00"),
        ("0.098", "cents_change", "+$0.10"),
        ("0", "change", "0%"),
    ],
)
def test_numbers_as_people_write_them(value: str, kind: Kind, text: str) -> None:
    assert write_number(Decimal(value), kind) == text


def test_a_column_of_money_has_cents_where_dollars_are() -> None:
    assert money_kind(["13.80", "0.521", None]) == "cents"
    assert money_kind(["0.52", "0.0123"]) == "usd"


def test_a_price_list_is_named_once_for_all_its_days() -> None:
    source = "; ".join(
        f"list of 2026-11-03; price of a for b in force on 2026-10-{day:02d}; https://x"
        for day in range(1, 32)
    )
    assert price_lists(source) == ("list of 2026-11-03", "price of a for b", "https://x")
