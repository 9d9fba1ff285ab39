"""Bills and usage reports in the shapes in which providers give them."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus.bills.files import parse_bill, read_bill
from jeton.corpus.bills.rows import read_amount
from jeton.economics.ledger.logs import parse_usage, read_usage
from jeton.errors import JetonError, LimitError, RecordError, UsageError

FOCUS = """\
BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargeDescription,\
ConsumedQuantity,ConsumedUnit,ResourceName
1.2345678901,USD,Usage,2026-09-01T00:00:00Z,gpt-4o input tokens,493.827,1K tokens,gpt-4o
0.50,USD,Tax,2026-09-01T00:00:00Z,VAT,,,
-2,USD,Credit,2026-09-01T00:00:00Z,,,,
"""

OPENAI_COSTS = {
    "object": "page",
    "data": [
        {
            "object": "bucket",
            "start_time": 1788220800,
            "end_time": 1788307200,
            "results": [
                {
                    "object": "organization.costs.result",
                    "amount": {"value": 0.06, "currency": "usd"},
                    "line_item": "gpt-4o-2024-08-06, cached input",
                    "project_id": None,
                },
                {
                    "object": "organization.costs.result",
                    "amount": {"value": 1.1, "currency": "usd"},
                    "line_item": "gpt-4o-2024-08-06, output",
                    "project_id": None,
                },
            ],
        }
    ],
    "has_more": False,
}

ANTHROPIC_COSTS = {
    "data": [
        {
            "starting_at": "2026-09-01T00:00:00Z",
            "ending_at": "2026-09-02T00:00:00Z",
            "results": [
                {
                    "currency": "USD",
                    "amount": "123.78912",
                    "cost_type": "tokens",
                    "model": "claude-sonnet-4-5",
                    "service_tier": "batch",
                    "token_type": "cache_creation.ephemeral_5m_input_tokens",
                    "description": "Claude Sonnet 4.5 Usage - Input Tokens, Cache Write",
                },
                {
                    "currency": "USD",
                    "amount": "40",
                    "cost_type": "web_search",
                    "model": None,
                    "token_type": None,
                    "description": "Web Search Usage",
                },
            ],
        }
    ],
    "has_more": False,
}

ANTHROPIC_USAGE = {
    "data": [
        {
            "starting_at": "2026-09-01T00:00:00Z",
            "ending_at": "2026-09-02T00:00:00Z",
            "results": [
                {
                    "model": "claude-sonnet-4-5",
                    "uncached_input_tokens": 1500,
                    "cache_creation": {
                        "ephemeral_1h_input_tokens": 1000,
                        "ephemeral_5m_input_tokens": 500,
                    },
                    "cache_read_input_tokens": 200,
                    "output_tokens": 700,
                    "service_tier": "batch",
                    "context_window": "200k-1M",
                }
            ],
        }
    ]
}

OPENAI_USAGE = {
    "object": "page",
    "data": [
        {
            "object": "bucket",
            "start_time": 1788220800,
            "end_time": 1788307200,
            "results": [
                {
                    "object": "organization.usage.completions.result",
                    "input_tokens": 5000,
                    "output_tokens": 1000,
                    "input_cached_tokens": 4000,
                    "num_model_requests": 5,
                    "model": "gpt-4o-mini-2024-07-18",
                    "batch": True,
                }
            ],
        }
    ],
}


def test_plain_table() -> None:
    bill = parse_bill('date,model,usd\n2026-09-01,gpt-4o,"$1,234.56"\n2026-09-02,gpt-4o,0\n')
    assert [(i.day, i.model, i.usd) for i in bill.items] == [
        (date(2026, 9, 1), "gpt-4o", Decimal("1234.56"))
    ]
    assert bill.issues == ("1 row(s) without an amount left out",)
    assert bill.total_usd == Decimal("1234.56")


@pytest.mark.parametrize(
    ("cell", "usd"),
    [("1.234,56", "1234.56"), ("0,5", "0.5"), ("(3,25)", "-3.25"), ("12", "12")],
)
def test_tables_with_semicolons_have_decimal_commas(cell: str, usd: str) -> None:
    assert parse_bill(f"model;usd\na;{cell}\n").total_usd == Decimal(usd)


def test_a_comma_that_may_be_either_is_not_guessed() -> None:
    with pytest.raises(RecordError, match="row 2 has the amount '1,234'"):
        parse_bill("model;usd\na;1,234\n")


def test_rows_that_add_up_the_others_are_left_out_and_said() -> None:
    bill = parse_bill("date,model,usd\n2026-09-01,a,1\n2026-09-02,b,2\nTotal:,,3\n")
    assert bill.total_usd == 3
    assert bill.issues == ("1 row(s) that are totals left out",)


@pytest.mark.parametrize(
    ("unit", "tokens"),
    [
        ("Tokens", 3),
        ("1K Tokens", 3000),
        ("1000 tokens", 3000),
        ("M tokens", 3_000_000),
        ("Hours", None),
    ],
)
def test_quantities_come_in_units(unit: str, tokens: int | None) -> None:
    (item,) = parse_bill(f"model,usd,ConsumedQuantity,ConsumedUnit\na,1,3,{unit}\n").items
    assert item.n_tokens == tokens


def test_focus() -> None:
    usage, tax, credit = parse_bill(FOCUS).items
    assert usage.usd == Decimal("1.2345678901")
    assert (usage.model, usage.what, usage.n_tokens) == ("gpt-4o", "input", 493_827)
    assert usage.day == date(2026, 9, 1)
    assert (tax.model, tax.what, tax.description) == (None, "other", "VAT")
    assert (credit.usd, credit.description) == (Decimal(-2), "Credit")


def test_openai_costs() -> None:
    cached, output = parse_bill(json.dumps(OPENAI_COSTS)).items
    assert (cached.model, cached.what, cached.usd) == (
        "gpt-4o-2024-08-06",
        "cache_read",
        Decimal("0.06"),  # not the float's 0.059999...
    )
    assert (output.what, output.day) == ("output", date(2026, 9, 1))


def test_anthropic_costs_are_in_cents() -> None:
    tokens, search = parse_bill(json.dumps(ANTHROPIC_COSTS)).items
    assert tokens.usd == Decimal("1.2378912")
    assert (tokens.what, tokens.tariff) == ("cache_write", "batch")
    assert (search.usd, search.what, search.model) == (Decimal("0.40"), "search", None)


def test_usage_reports_come_in_one_convention() -> None:
    anthropic = parse_usage(json.dumps(ANTHROPIC_USAGE))
    assert anthropic.input_tokens.tolist() == [1500 + 1000 + 500 + 200]
    assert anthropic.cache_read_tokens.tolist() == [200]
    assert anthropic.cache_write_tokens.tolist() == [1500]
    assert anthropic.cache_write_1h_tokens.tolist() == [1000]
    assert anthropic.tariffs[anthropic.tariff[0]] == "batch"
    assert anthropic.prompt_tokens is not None
    assert anthropic.prompt_tokens.tolist() == [200_001]
    openai = parse_usage(json.dumps(OPENAI_USAGE))
    assert openai.input_tokens.tolist() == [5000]
    assert openai.cache_read_tokens.tolist() == [4000]
    assert openai.n_requests.tolist() == [5]
    assert openai.tariffs[openai.tariff[0]] == "batch"
    day = datetime(2026, 9, 1, tzinfo=UTC)
    assert openai.time_s.tolist() == [day.timestamp()]


@pytest.mark.parametrize(
    ("text", "usd"),
    [
        ("14.89", "14.89"),
        ("$14.89", "14.89"),
        ("US$ 1,234.50", "1234.50"),
        ("14.89 USD", "14.89"),
        ("usd 14", "14"),
        ("12 dollars", "12"),
    ],
)
def test_amounts_as_people_write_them(text: str, usd: str) -> None:
    assert read_amount(text) == Decimal(usd)


@pytest.mark.parametrize("text", ["bill.csv", "october", "2026-10.csv", "14.89.csv", "a/14.89"])
def test_names_of_files_are_no_amounts(text: str) -> None:
    assert read_amount(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("14,89 EUR", "in EUR; expected USD"),
        ("\u20ac14.89", "in EUR; expected USD"),
        ("14.89\u00a3", "in GBP; expected USD"),
        ("14,89", "with a decimal point"),
        ("1.234,56", "with a decimal point"),
        ("-3", "at least 0"),
        ("nan", "at least 0"),
    ],
)
def test_amounts_that_are_none_say_why(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_amount(text)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "bill.csv"
    path.write_bytes("\ufeffdate,model,usd\n2026-09-01,sku-7,2\n".encode())
    assert read_bill(path, model_names={"sku-7": "gpt-4o"}).items[0].model == "gpt-4o"
    lines = tmp_path / "usage.jsonl"
    lines.write_text('{"model": "a", "input_tokens": 3}\n\n{"model": "b", "input_tokens": 4}\n')
    assert read_usage(lines).input_tokens.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no row has an amount"),
        ("model,tokens\na,5\n", "no row has an amount"),
        ("date,usd\n2026-13-01,5\n", "row 2 has the date '2026-13-01'"),
        ("date,usd\nyesterday,5\n", "expected YYYY-MM-DD"),
        ("model,usd\na,NaN\n", "row 2 has the amount 'NaN'"),
        ("model,usd\na,five\n", "row 2 has the amount 'five'"),
        ("model,usd,currency\na,5,EUR\n", "row 2 is in EUR; expected USD"),
        ("Day;Model;Cost in EUR\n2026-10-01;a;0,62\n", "row 2 is in EUR; expected USD"),
        ("model,usd\na,5,6\n", "line 2 has more fields"),
        ('{"model": "a", "usd": 1}\n{"model": \n', "line 2 is not JSON"),
        ("[1, 2]", "found int in JSON"),
        ('[{"usd": true}]', "has the amount True"),
        ('[{"usd": NaN}]', "is not JSON"),
        ("[" * 100_000, "nested too deeply|is not JSON"),
    ],
)
def test_bad_bills_say_what_and_where(text: str, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        parse_bill(text)


def test_bad_usage() -> None:
    with pytest.raises(RecordError, match="names no model"):
        parse_usage('[{"input_tokens": 1}]')
    with pytest.raises(RecordError, match="neither input_tokens nor"):
        parse_usage('[{"model": "a", "tokens": 1}]')
    with pytest.raises(RecordError, match="no row of use"):
        parse_usage("[]")


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(300 * 1024 * 1024)  # sparse
    with pytest.raises(LimitError, match="314,572,800 bytes"):
        read_bill(path)


@given(st.text(max_size=300))
def test_any_text_is_a_bill_or_a_clear_error(text: str) -> None:
    for read in (parse_bill, parse_usage):
        with contextlib.suppress(JetonError):
            read(text)


rows = st.dictionaries(
    st.sampled_from(
        ["date", "model", "usd", "amount", "currency", "starting_at", "results", "data"]
    ),
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(max_size=8),
        st.just([]),
        st.just({"value": 1}),
        st.just("2026-09-01"),
    ),
)


@given(st.one_of(rows, st.lists(rows, max_size=4)))
def test_any_json_is_a_bill_or_a_clear_error(document: object) -> None:
    for read in (parse_bill, parse_usage):
        with contextlib.suppress(JetonError):
            read(json.dumps(document))
