"""The ledger against the list's own reckoning, request by request and in sum."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.data_units import unit_data
from genai_prices.types import ModelInfo, Provider

from jeton.dimensions import DIMENSIONS, SCALE
from jeton.economics.ledger import Ledger, LedgerBuilder, usage_rows

N_LOGS = 5
N_RECORDS = 60
BY_THE_HOUR = Decimal("1e-12")
"""Rates by the hour do not divide into seconds: the list rounds each request, the ledger none."""

CONTEXTS: dict[str, dict[str, str]] = {
    "standard": {},
    "batch": {"processing": "batch"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
    "fast": {"service_tier": "fast", "speed": "fast"},
    "batch+fast": {"processing": "batch", "service_tier": "fast", "speed": "fast"},
    "search_type=fast": {"search_type": "fast"},
    "route=mistral/eu": {"route": "mistral/eu"},
}


def price_keys(model: ModelInfo) -> set[str]:
    prices = model.prices if isinstance(model.prices, list) else None
    entries = [entry.prices for entry in prices] if prices is not None else [model.prices]
    return {k for own in entries for k, v in own.__dict__.items() if v is not None}


def entries() -> list[tuple[Provider, ModelInfo]]:
    return [(p, m) for p in get_snapshot().providers for m in p.models if price_keys(m)]


def record(rng: random.Random, provider: Provider, model: ModelInfo) -> dict[str, Any]:
    """A request with everything stated that the model's price asks for."""
    keys = price_keys(model)
    stated = {name for name, unit in unit_data.items() if unit["price_key"] in keys}
    found: dict[str, Any] = {}
    whole = rng.choice([rng.randrange(1, 3_000), rng.randrange(1, 600_000)])
    found["input_tokens"], found["output_tokens"] = whole, rng.randrange(0, 5_000)
    if "cache_read_tokens" in stated:
        found["cache_read_tokens"] = rng.randrange(0, whole // 3 + 1)
    if "cache_write_tokens" in stated:
        found["cache_write_tokens"] = rng.randrange(0, whole // 3 + 1)
    if "cache_write_1h_tokens" in stated:
        found["cache_write_1h_tokens"] = rng.randrange(0, found["cache_write_tokens"] + 1)
    for kind in ("audio", "image", "video"):
        if f"input_{kind}_tokens" in stated:
            own = rng.randrange(0, whole // 12 + 1)
            found[f"input_{kind}_tokens"] = own
            if f"cache_{kind}_read_tokens" in stated:
                # At least one, for a log cannot tell none from not stated.
                read = min(own, found.get("cache_read_tokens", 0))
                found[f"cache_{kind}_read_tokens"] = rng.randrange(0, read // 3 + 1)
        if f"output_{kind}_tokens" in stated:
            found[f"output_{kind}_tokens"] = rng.randrange(0, found["output_tokens"] // 4 + 1)
    for kind in ("reasoning", "citation"):
        if f"output_{kind}_tokens" in stated:
            found[f"output_{kind}_tokens"] = rng.randrange(0, found["output_tokens"] // 3 + 1)
    for name in stated:
        if DIMENSIONS[name].unit == "tokens" or name == "requests":
            continue
        found[name] = rng.randrange(0, 60_000) if SCALE[name] > 1 else rng.randrange(0, 9)
    for whole_name, part in (
        ("audio_seconds", "input_audio_seconds"),
        ("input_document_pages", "input_annotated_document_pages"),
    ):
        if part in found:
            found[part] = found[whole_name] = max(found[part], 1)
    moment = datetime(2026, rng.randrange(3, 12), rng.randrange(1, 28), rng.randrange(24), 31)
    return {
        **found,
        "provider": provider.id,
        "model": f"{provider.id}:{model.id}",
        "tariff": rng.choice(list(CONTEXTS)),
        "time_s": moment.replace(tzinfo=UTC).timestamp(),
        "domain": rng.choice(["", "support", "search"]),
    }


def by_the_list(row: dict[str, Any], provider: Provider, model: ModelInfo) -> Decimal:
    usage = {k: v for k, v in row.items() if k in DIMENSIONS and k != "requests"}
    usage = {k: Decimal(v) / SCALE[k] if SCALE[k] > 1 else v for k, v in usage.items()}
    moment = datetime.fromtimestamp(row["time_s"], tz=UTC)
    # The list dates a tariff by the day on which it learnt of it.
    for variant in model.price_variants or []:
        first = getattr(variant.constraint, "start_date", None)
        if first is None or not variant.when.items() <= CONTEXTS[row["tariff"]].items():
            continue
        first_day = datetime.combine(first, moment.timetz())
        if moment < first_day and model.get_prices(moment) == model.get_prices(first_day):
            moment = first_day
    return model.calc_price(
        Usage(**usage),
        provider,
        genai_request_timestamp=moment,
        price_context=CONTEXTS[row["tariff"]] or None,
    ).total_price


def ledger_of(rows: list[dict[str, Any]]) -> Ledger:
    builder = LedgerBuilder()
    builder.add(usage_rows(rows))
    return builder.build()


def assert_sums_agree(ledger: Ledger) -> None:
    for entries_ in (ledger.by_model, ledger.by_day, ledger.by_hour, ledger.by_domain):
        assert sum((e.usd for e in entries_), Decimal(0)) == ledger.usd
    assert sum((e.usd for e in ledger.dimensions), Decimal(0)) == ledger.usd
    for use in ledger.by_model:
        assert sum((d.usd for d in use.dimensions), Decimal(0)) == use.usd
    n_priced = sum(use.n_requests for use in ledger.by_model)
    assert n_priced + sum(e.n_requests for e in ledger.not_priced) == ledger.n_requests


@pytest.mark.parametrize("seed", range(N_LOGS))
def test_a_log_of_mixed_providers_costs_what_the_list_says(seed: int) -> None:
    rng = random.Random(seed)
    chosen = rng.choices(entries(), k=N_RECORDS)
    rows = [record(rng, provider, model) for provider, model in chosen]
    total = Decimal(0)
    for row, (provider, model) in zip(rows, chosen, strict=True):
        right = by_the_list(row, provider, model)
        own = ledger_of([row])
        assert not own.not_priced, (row, own.not_priced)
        assert abs(own.usd - right) < BY_THE_HOUR, (row, own.dimensions)
        if not any(SCALE[d.name] > 1 for d in own.dimensions):
            assert own.usd == right, row
        total += right
    ledger = ledger_of(rows)
    assert abs(ledger.usd - total) < BY_THE_HOUR * N_RECORDS
    assert ledger.n_requests == N_RECORDS
    assert_sums_agree(ledger)


def test_every_price_of_the_list_is_found_by_its_own_name() -> None:
    rng = random.Random(1)
    right: dict[str, Decimal] = {}
    rows = []
    for provider, model in entries():
        row = record(rng, provider, model)
        # Each record is a domain of its own: one ledger tells the money of each.
        row["domain"] = f"{provider.id}:{model.id}"
        right[row["domain"]] = by_the_list(row, provider, model)
        rows.append(row)
    ledger = ledger_of(rows)
    assert not ledger.not_priced
    own = {use.domain: use.usd for use in ledger.by_domain}
    assert own.keys() == right.keys()
    wrong = {name: (own[name], usd) for name, usd in right.items() if own[name] != usd}
    assert not {n: pair for n, pair in wrong.items() if abs(pair[0] - pair[1]) >= BY_THE_HOUR}


@pytest.mark.parametrize("seed", range(30))
def test_the_dearest_reading_is_taken_where_cached_kinds_are_not_stated(seed: int) -> None:
    rng = random.Random(seed)
    kinds = ("audio", "image")
    chosen = [
        (provider, model, kind)
        for provider, model in entries()
        for kind in kinds
        if f"cache_{kind}_read_mtok" in price_keys(model)
    ]
    provider, model, kind = rng.choice(chosen)
    whole = rng.randrange(1, 60)
    own, read = rng.randrange(0, whole + 1), rng.randrange(0, whole + 1)
    row: dict[str, Any] = {
        "model": f"{provider.id}:{model.id}",
        "input_tokens": whole,
        "output_tokens": 0,
        f"input_{kind}_tokens": own,
        "cache_read_tokens": read,
        "time_s": datetime(2026, 11, 3, tzinfo=UTC).timestamp(),
        "tariff": "standard",
    }
    readings = [
        by_the_list({**row, f"cache_{kind}_read_tokens": both}, provider, model)
        for both in range(max(own + read - whole, 0), min(own, read) + 1)
    ]
    ledger = ledger_of([row])
    assert ledger.usd == max(readings)
    is_open = bool(own and read)
    assert [issue.kind for issue in ledger.issues] == ["cached_kind_not_stated"] * is_open
