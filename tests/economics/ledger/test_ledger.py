"""The ledger: rows in any order and number, corrected, merged, changed, and always adding up."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.catalog import price
from jeton.catalog.model_map import read_model_map
from jeton.economics import Ledger, ledger_of_lengths
from jeton.economics.ledger import LedgerBuilder, UsageRows, usage_rows
from jeton.errors import RecordError, UnknownPriceError, UsageError

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC).timestamp()

MODELS = ("gpt-4o-mini", "gpt-5.4", "claude-opus-4-8", "deepseek-v4-pro", "nobody-knows", "")
ROWS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "tariff": st.sampled_from(["standard", "batch", "flex"]),
        "domain": st.sampled_from(["", "support", "search"]),
        "input_tokens": st.integers(-1, 400_000),
        "cache_read_tokens": st.integers(-1, 100_000),
        "cache_write_tokens": st.integers(-1, 50_000),
        "output_tokens": st.integers(-1, 5_000),
        "web_searches": st.integers(0, 3),
        "from_gateway_cache": st.booleans(),
        "time_s": st.one_of(st.none(), st.integers(0, 10**6).map(lambda s: NOON + s)),
    }
)


def build(rows: list[dict[str, Any]], **options: Any) -> Ledger:
    builder = LedgerBuilder(on=date(2026, 11, 3))
    builder.add(usage_rows(rows))
    return builder.build(**options)


def check_sums(ledger: Ledger) -> None:
    for entries in (ledger.by_model, ledger.by_day, ledger.by_hour, ledger.by_domain):
        assert sum((entry.usd for entry in entries), Decimal(0)) == ledger.usd
    assert sum((entry.usd for entry in ledger.dimensions), Decimal(0)) == ledger.usd
    n_in = sum(use.n_requests for use in ledger.by_model)
    assert n_in == ledger.n_priced
    assert n_in == sum(use.n_requests for use in ledger.by_day)
    assert n_in == sum(use.n_requests for use in ledger.by_domain)
    shares = sum(entry.share_of_tokens for entry in ledger.not_priced)
    assert 0 <= shares <= 1 + 1e-9


@given(st.lists(ROWS, max_size=30), st.integers(1, 10))
@settings(deadline=None)
def test_batches_order_and_shards_do_not_show(rows: list[dict[str, Any]], size: int) -> None:
    whole = build(rows)
    check_sums(whole)
    assert whole.n_requests == len(rows)
    builders = []
    for start in range(0, len(rows), size):
        builder = LedgerBuilder(on=date(2026, 11, 3))
        builder.add(usage_rows(rows[start : start + size]))
        builders.append(builder)
    merged = LedgerBuilder(on=date(2026, 11, 3))
    for builder in reversed(builders):
        merged.merge(builder)
    assert merged.build() == whole


@given(st.lists(ROWS, min_size=1, max_size=20), st.data())
@settings(deadline=None)
def test_corrected_rows_are_as_if_they_had_been_right(
    rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    builder = LedgerBuilder(on=date(2026, 11, 3))
    half = len(rows) // 2
    builder.add(usage_rows(rows[:half]))
    builder.add(usage_rows(rows[half:]))
    right: list[dict[str, Any] | None] = list(rows)
    for _ in range(3):
        place = data.draw(st.integers(0, len(rows) - 1))
        change = data.draw(st.one_of(st.none(), ROWS))
        if right[place] is None:
            change = None
        if (before := right[place]) is not None:
            builder.add(usage_rows([before]), sign=-1)
        if change is not None:
            builder.add(usage_rows([change]))
        right[place] = change
    found, expected = builder.build(), build([row for row in right if row is not None])
    assert found.usd == expected.usd
    assert found.by_model == expected.by_model
    assert found.by_domain == expected.by_domain
    assert found.not_priced == expected.not_priced
    check_sums(found)


def test_strict_prices_name_all_at_once() -> None:
    builder = LedgerBuilder(strict=True)
    builder.add(
        usage_rows(
            {"model": model, "input_tokens": 10, "output_tokens": 1}
            for model in ("prod-a", "gpt-4o", "prod-b", "prod-a")
        )
    )
    with pytest.raises(UnknownPriceError, match="prod-a, prod-b") as caught:
        builder.build()
    assert "--model-map" in str(caught.value)


def test_a_rest_has_names_and_a_share() -> None:
    rows = [{"model": "gpt-4o-mini", "input_tokens": 900, "output_tokens": 0}]
    rows += [{"model": "gpt-4.1-minni", "input_tokens": 90, "output_tokens": 10}]
    (rest,) = build(rows).not_priced
    assert (rest.model, rest.n_requests, rest.n_tokens) == ("gpt-4.1-minni", 1, 100)
    assert rest.share_of_tokens == pytest.approx(0.1)
    assert "gpt-4.1-mini" in rest.nearest
    assert build(rows).is_lower_bound


def test_json_says_it_all() -> None:
    row = {"model": "claude-opus-4-8", "input_tokens": 900_012, "output_tokens": 2000}
    row |= {"cache_read_tokens": 500_000, "cache_write_tokens": 400_000, "time_s": NOON}
    row |= {"cache_write_1h_tokens": 300_000}
    plain = json.loads(json.dumps(build([row], joined={"same_answer_again": 3}).to_json()))
    assert plain["usd"] == "3.92506"
    assert plain["joined"] == {"same_answer_again": 3}
    (model,) = plain["by_model"]
    assert model["amounts"]["input_tokens"] == 900_012
    dimensions = {entry["name"]: entry for entry in plain["dimensions"]}
    assert dimensions["cache_write_tokens"]["amount"] == 100_000
    assert dimensions["cache_write_1h_tokens"]["usd"] == "3"
    assert dimensions["input_tokens"]["amount"] == 12
    assert sum(Decimal(entry["usd"]) for entry in plain["dimensions"]) == Decimal("3.92506")
    assert {"period", "by_day", "by_domain", "not_priced", "n_requests"} <= plain.keys()


def test_remedies_act_at_each_models_own_rates() -> None:
    rows: list[dict[str, Any]] = [
        {"model": "gpt-4o-mini", "input_tokens": 1_000_000, "output_tokens": 100_000},
        {"model": "claude-haiku-4-5", "input_tokens": 100_000, "output_tokens": 10_000},
    ]
    ledger = build(rows)
    assert ledger.usd == Decimal("0.36")
    # Half the input: 0.075 and 0.05 less.
    assert ledger.scaled({"input_tokens": Decimal("0.5")}).usd == Decimal("0.235")
    assert ledger.scaled({"output_tokens": 0}, model="claude-haiku-4-5").usd == Decimal("0.31")
    # Read from a cache: 0.075 for 0.15, and 0.1 for 1.
    moved = ledger.moved("input_tokens", "cache_read_tokens", 1)
    assert moved.usd == Decimal("0.075") + Decimal("0.06") + Decimal("0.01") + Decimal("0.05")
    check_sums(moved)
    assert ledger.without(model="gpt-4o-mini").usd == Decimal("0.15")
    assert ledger.usd_at_tariff("batch") == Decimal("0.18")
    assert ledger.usd_at_tariff("flex") is None
    assert ledger.usd_of("output_tokens") == Decimal("0.11")
    assert ledger.usd_of("input_tokens", model="gpt-4o-mini") == Decimal("0.15")
    with pytest.raises(UsageError, match="no dimension"):
        ledger.scaled({"inputs": 1})
    with pytest.raises(UsageError, match="0 to 1"):
        ledger.moved("input_tokens", "cache_read_tokens", 2)


def test_reasoning_costs_what_output_costs_where_it_has_no_rate() -> None:
    row = {"model": "gpt-5", "input_tokens": 0, "output_tokens": 1000}
    ledger = build([{**row, "output_reasoning_tokens": 400}])
    assert ledger.usd_of("output_reasoning_tokens") == Decimal("0.004")
    assert ledger.usd == Decimal("0.01")


def test_amounts_that_no_rate_covers_are_said() -> None:
    row = {"model": "deepseek-v4-pro", "input_tokens": 10, "output_tokens": 1, "web_searches": 4}
    (issue,) = build([{**row, "time_s": NOON}]).issues
    assert issue.kind == "amount_without_price"
    assert "4 web searches" in issue.text


def test_documents_have_a_ledger_too() -> None:
    ledger = ledger_of_lengths(
        price("gpt-4o"),
        input_tokens=[459, 460],
        requests=[569, 31],
        requests_per_day=50_000,
    )
    # 275,431 tokens x 2.50 / 1e6 of 600 requests, 50,000 a day
    assert ledger.usd == Decimal("0.6885775")
    assert ledger.n_requests == 600
    year = ledger.per_year()
    assert year is not None
    assert year.quantize(Decimal("0.01")) == Decimal("20944.23")
    half = ledger_of_lengths(
        price("gpt-4o"), input_tokens=[459, 460], requests=[569, 31], cached_share=1
    )
    assert half.usd == ledger.usd / 2
    steps = ledger_of_lengths(
        price("gemini-2.5-pro"), input_tokens=[252_001, 7_001], requests=[1, 1]
    )
    assert steps.per_request() == Decimal("0.319376875")
    with pytest.raises(UnknownPriceError, match="no output rate"):
        ledger_of_lengths(
            price("usd:1"), input_tokens=[1], requests=[1], output_tokens_per_request=1
        )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.json", '{"chat-prod": "azure:gpt-4o-mini", "b": "usd:1/2"}'),
        ("map.csv", "name,model\nchat-prod,azure:gpt-4o-mini\nb,usd:1/2\n"),
        ("map.toml", '"chat-prod" = "azure:gpt-4o-mini"\nb = "usd:1/2"\n'),
        ("map.txt", "# ours\nchat-prod = azure:gpt-4o-mini\nb = usd:1/2\n"),
    ],
)
def test_names_of_ones_own(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    model_map = read_model_map(path)
    rows = [
        {"model": model, "provider": "azure", "input_tokens": 1_000_000, "output_tokens": 0}
        for model in ("chat-prod", "CHAT-PROD", "b")
    ]
    ledger = jeton.ledger(usage_rows(rows), model_map=model_map)
    assert ledger.usd == Decimal("0.15") * 2 + 1
    assert jeton.ledger(usage_rows(rows), model_map=path).usd == ledger.usd


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "maps no name"),
        ("just words\n", "line 1 is not NAME = MODEL"),
        ("a,b,c\nd,e,f\n", "row 1 has 3 columns"),
        ('{"a": 3}', "expected the name of a model"),
        ("{", "is not JSON"),
        ("a = gpt-4o\na = gpt-4.1\n", "mapped to 'gpt-4o' and to 'gpt-4.1'"),
    ],
)
def test_a_map_that_is_none_says_why(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "map"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=message):
        read_model_map(path)
    path.write_text("a = gpt-4oo\n", encoding="utf-8")
    with pytest.raises(UnknownPriceError, match="gpt-4o"):
        read_model_map(path)


def test_a_log_is_read_and_priced(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    records = [
        {"model": model, "timestamp": "2026-11-03T12:00:00Z", "team": team, "usage": usage}
        for model, team in (("gpt-4o-mini", "a"), ("claude-sonnet-4-5", "b"))
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    ledger = jeton.ledger([path], domain_field="team")
    assert ledger.usd == Decimal("0.00471")
    assert {use.domain: use.usd for use in ledger.by_domain} == {
        "a": Decimal("0.00021"),
        "b": Decimal("0.0045"),
    }
    check_sums(ledger)


def million(n: int) -> UsageRows:
    rng = np.random.default_rng(7)
    prompt = rng.integers(100, 300_000, n)
    zeros = np.zeros(n, dtype=np.int64)
    return UsageRows(
        domain=rng.integers(-1, 20, n).astype(np.int32),
        model=rng.integers(0, 4, n).astype(np.int32),
        provider=np.full(n, -1, np.int32),
        tariff=rng.integers(0, 2, n).astype(np.int16),
        n_requests=zeros + 1,
        from_gateway_cache=np.zeros(n, np.bool_),
        time_s=NOON + np.sort(rng.random(n)) * 30 * 86_400,
        input_tokens=prompt,
        cache_read_tokens=prompt // 3,
        cache_write_tokens=zeros,
        cache_write_1h_tokens=zeros,
        output_tokens=rng.integers(0, 2000, n),
        reasoning_tokens=zeros - 1,
        models=MODELS[:4],
        tariffs=("standard", "batch"),
        domains=tuple(f"d{i}" for i in range(20)),
    )


def test_a_million_rows_are_priced_in_seconds() -> None:
    rows = million(1_000_000)
    build([{"model": "gpt-4o", "input_tokens": 1, "output_tokens": 1}])  # the list is loaded
    start = time.process_time()
    builder = LedgerBuilder()
    builder.add(rows)
    ledger = builder.build()
    assert time.process_time() - start < 5
    assert ledger.n_requests == 1_000_000
    assert ledger.amounts["input_tokens"] == int(rows.input_tokens.sum())
    check_sums(ledger)
