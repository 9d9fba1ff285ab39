"""A bill reconciled: exact where it agrees, and each cause named where it does not."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import ApiPrice, PriceTier
from jeton.economics import Bill, BillItem, BillReport, UsageRecord, reconcile, usage_records
from jeton.economics.bill_items import CENT
from jeton.errors import UnknownPriceError, UsageError
from jeton.findings import Basis

DAY = date(2026, 9, 1)


def price_of(
    name: str,
    *,
    tariff: str = "standard",
    factor: Decimal | int = 1,
    long_prompts: bool = False,
) -> ApiPrice:
    base = PriceTier(
        above_input_tokens=0,
        usd_per_mtok_input=Decimal(2) * factor,
        usd_per_mtok_cached_input=Decimal("0.2") * factor,
        usd_per_mtok_output=Decimal(8) * factor,
        usd_per_mtok_cache_write=Decimal("2.5") * factor,
        usd_per_mtok_cache_write_1h=Decimal(4) * factor,
    )
    tiers: tuple[PriceTier, ...] = (base,)
    if long_prompts:
        dear = dataclasses.replace(base, above_input_tokens=200_000, usd_per_mtok_input=Decimal(4))
        tiers = (base, dear)
    return ApiPrice(
        provider="test",
        model=name,
        usd_per_mtok_input=base.usd_per_mtok_input,
        usd_per_mtok_cached_input=base.usd_per_mtok_cached_input,
        usd_per_mtok_output=base.usd_per_mtok_output,
        usd_per_request=Decimal(0),
        tiers=tiers,
        price_date=DAY,
        valid_on=DAY,
        source="list of 2026-09-01",
        tariff=tariff,
    )


PRICES = {
    "m": price_of("m"),
    "m@batch": price_of("m", tariff="batch", factor=Decimal("0.5")),
    "n": price_of("n"),
    "long": price_of("long", long_prompts=True),
}

RECORD = UsageRecord(
    "m",
    input_tokens=100_000_000,
    cache_read_tokens=40_000_000,
    cache_write_tokens=10_000_000,
    output_tokens=10_000_000,
    reasoning_tokens=4_000_000,
    n_requests=50_000,
    day=DAY,
)
# 50 x 2 + 40 x 0.2 + 10 x 2.5 + 10 x 8
RECORD_USD = Decimal(213)


def bill(*items: tuple[str, str | None] | BillItem) -> Bill:
    return Bill(
        tuple(
            item if isinstance(item, BillItem) else BillItem(Decimal(item[0]), model=item[1])
            for item in items
        )
    )


def check_sums(report: BillReport) -> None:
    assert report.usd_billed == report.usd_explained + report.usd_unexplained
    assert sum((c.usd for c in report.causes), Decimal(0)) == report.usd_unexplained
    assert report.usd_explained == sum((x.usd_computed for x in report.lines), Decimal(0)).quantize(
        CENT
    )


def test_a_bill_that_agrees() -> None:
    report = reconcile([RECORD], bill=bill(("213", "m")), prices=PRICES)
    check_sums(report)
    assert report.usd_explained == RECORD_USD
    assert report.usd_unexplained == 0
    assert report.causes == ()
    by_what = {line.what: line for line in report.lines}
    assert {what: line.n_tokens for what, line in by_what.items()} == {
        "input": 50_000_000,
        "cache_read": 40_000_000,
        "cache_write": 10_000_000,
        "output": 10_000_000,
    }
    assert {what: line.usd_computed for what, line in by_what.items()} == {
        "input": 100,
        "cache_read": 8,
        "cache_write": 25,
        "output": 80,
    }
    assert by_what["cache_write"].usd_per_mtok == Decimal("2.5")
    assert report.price_source == "list of 2026-09-01"
    assert report.n_requests == 50_000


def test_lines_are_compared_where_the_bill_goes_into_detail() -> None:
    report = reconcile(
        [RECORD],
        bill=bill(
            BillItem(Decimal(133), model="m", what="input"),
            BillItem(Decimal(80), model="m", what="output"),
        ),
        prices=PRICES,
    )
    by_what = {line.what: line for line in report.lines}
    assert by_what["output"].difference == 0
    assert by_what["input"].usd_billed == 133
    assert by_what["cache_read"].usd_billed is None


@pytest.mark.parametrize(
    ("billed", "cause", "usd"),
    [
        (RECORD_USD + 72, "cache-read-at-full-rate", 72),  # 40M x (2 - 0.2)
        (RECORD_USD - 5, "cache-write-without-surcharge", -5),
        (RECORD_USD + 15, "cache-write-for-an-hour", 15),  # 10M x (4 - 2.5)
        (RECORD_USD + 100, "cached-beside-input", 100),  # 50M x 2
        (RECORD_USD + 32, "reasoning-beside-output", 32),  # 4M x 8
        (RECORD_USD / 2, "batch-tariff", Decimal("-106.5")),
    ],
)
def test_a_cause_that_fits_the_amount_is_named(billed: Decimal, cause: str, usd: Decimal) -> None:
    for by_model in (True, False):
        report = reconcile(
            [RECORD],
            bill=bill((str(billed), "m" if by_model else None)),
            prices=PRICES,
        )
        check_sums(report)
        assert [(c.id, c.usd, c.basis) for c in report.causes] == [(cause, usd, Basis.ESTIMATED)]


def test_an_amount_that_nothing_fits_is_unknown() -> None:
    report = reconcile([RECORD], bill=bill(("250", "m")), prices=PRICES)
    check_sums(report)
    assert [(c.id, c.usd) for c in report.causes] == [("unknown", Decimal(37))]
    assert "1.174 times" in report.causes[0].title
    assert report.usd_without_cause == 37


def test_long_prompts_at_the_dearer_rate() -> None:
    record = UsageRecord("long", input_tokens=10_000_000, n_requests=1000)
    report = reconcile([record], bill_total=Decimal(40), prices=PRICES)
    assert [(c.id, c.usd) for c in report.causes] == [("long-prompt-tier", Decimal(20))]


def test_what_only_one_side_has() -> None:
    records = [RECORD, UsageRecord("n", input_tokens=1_000_000, day=DAY)]
    items = [
        BillItem(RECORD_USD, model="m"),
        BillItem(Decimal("5.50"), model="o3"),
        BillItem(Decimal("19"), description="tax", what="other"),
        BillItem(Decimal("-1.25"), description="credit"),
    ]
    report = reconcile(records, bill=bill(*items), prices=PRICES)
    check_sums(report)
    assert [c.id for c in report.causes] == [
        "other-charge",
        "not-in-records",
        "not-on-bill",
        "other-charge",
    ]
    assert [c.usd for c in report.causes] == [19, Decimal("5.50"), -2, Decimal("-1.25")]
    assert all(c.basis is Basis.EXACT for c in report.causes)
    assert {m.model: m.usd_billed for m in report.models} == {
        "m": 213,
        "n": 0,
        "o3": Decimal("5.5"),
    }


def test_days_that_only_one_side_has() -> None:
    def day(n: int) -> date:
        return date(2026, 9, n)

    records = [UsageRecord("m", input_tokens=5_000_000, day=day(n)) for n in (1, 2, 3)]
    items = [BillItem(Decimal(10), model="m", day=day(n)) for n in (2, 3, 4, 5)]
    report = reconcile(records, bill=bill(*items), prices=PRICES)
    check_sums(report)
    assert {c.id: c.usd for c in report.causes} == {
        "day-not-in-records": 20,
        "day-not-on-bill": -10,
    }
    assert (report.first_day, report.last_day) == (day(1), day(5))


def test_a_rate_that_all_models_share_is_a_tax_or_discount() -> None:
    records = [RECORD, dataclasses.replace(RECORD, model="n")]
    taxed = str(RECORD_USD * Decimal("1.19"))
    report = reconcile(records, bill=bill((taxed, "m"), (taxed, "n")), prices=PRICES)
    check_sums(report)
    assert [c.id for c in report.causes] == ["common-rate"]
    assert "tax of 19.00%" in report.causes[0].title


def test_a_tariff_that_fits_every_model_is_named_before_a_discount() -> None:
    prices = {**PRICES, "n@batch": price_of("n", tariff="batch", factor=Decimal("0.5"))}
    records = [RECORD, dataclasses.replace(RECORD, model="n")]
    report = reconcile(records, bill=bill(("106.5", "m"), ("106.5", "n")), prices=prices)
    check_sums(report)
    assert [(c.id, c.model) for c in report.causes] == [
        ("batch-tariff", "m"),
        ("batch-tariff", "n"),
    ]


def test_rounding_of_rows_is_called_rounding() -> None:
    record = dataclasses.replace(RECORD, input_tokens=100_003_000)  # 0.006 more
    report = reconcile([record], bill=bill(("213.00", "m")), prices=PRICES)
    check_sums(report)
    assert [(c.id, c.usd) for c in report.causes] == [("rounding", Decimal("-0.01"))]


def test_names_with_dates_meet_their_short_names() -> None:
    record = UsageRecord("gpt-4o", input_tokens=1_000_000, day=DAY)
    report = reconcile([record], bill=bill(("2.50", "gpt-4o-2024-08-06")))
    assert report.usd_unexplained == 0
    assert report.models[0].difference == 0


def test_records_that_contradict_themselves_are_counted() -> None:
    broken = UsageRecord("m", input_tokens=5, cache_read_tokens=6, n_requests=3)
    report = reconcile([RECORD, broken], bill_total=RECORD_USD, prices=PRICES, n_unusable=4)
    assert report.n_unusable == 7
    assert report.usd_unexplained == 0


def test_bad_input() -> None:
    with pytest.raises(UsageError, match="either"):
        reconcile([RECORD], prices=PRICES)
    with pytest.raises(UsageError, match="finite"):
        reconcile([RECORD], bill_total=Decimal("NaN"), prices=PRICES)
    with pytest.raises(UsageError, match="no record"):
        reconcile([], bill_total=Decimal(1), prices=PRICES)
    unknown = dataclasses.replace(RECORD, model="mm")
    with pytest.raises(UnknownPriceError, match="the nearest are m"):
        reconcile([unknown], bill_total=Decimal(1), prices=PRICES)


amounts = st.integers(0, 10**9)


@st.composite
def some_records(draw: st.DrawFn) -> UsageRecord:
    read, written, full = draw(amounts), draw(amounts), draw(amounts)
    output = draw(amounts)
    return UsageRecord(
        draw(st.sampled_from(["m", "n", "long"])),
        input_tokens=read + written + full,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=output,
        reasoning_tokens=draw(st.integers(0, output)),
        day=draw(st.one_of(st.none(), st.dates(date(2026, 9, 1), date(2026, 9, 5)))),
    )


items = st.builds(
    BillItem,
    usd=st.decimals(-1000, 10**6, places=4),
    model=st.sampled_from(["m", "n", "zz", None]),
    day=st.one_of(st.none(), st.dates(date(2026, 9, 1), date(2026, 9, 5))),
    what=st.sampled_from(["input", "output", "other", None]),
)


@given(st.lists(some_records(), min_size=1, max_size=6), st.lists(items, min_size=1, max_size=8))
def test_causes_add_up_whatever_the_bill(records: list[UsageRecord], rows: list[BillItem]) -> None:
    check_sums(reconcile(records, bill=Bill(tuple(rows)), prices=PRICES))


@given(st.lists(some_records(), min_size=1, max_size=8), st.randoms())
def test_sums_do_not_depend_on_the_order(records: list[UsageRecord], random: object) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = reconcile(records, bill_total=Decimal(1), prices=PRICES)
    other = reconcile(shuffled, bill_total=Decimal(1), prices=PRICES)
    assert one.usd_explained == other.usd_explained
    assert set(one.causes) == set(other.causes)


def test_arrays_of_requests_add_up_by_model_day_and_tier() -> None:
    time = datetime(2026, 9, 1, 23, 59, 59, tzinfo=UTC).timestamp()
    records, n_unusable = usage_records(
        models=["m", "long"],
        model=np.array([0, 0, 0, 1, 1, -1, 0, 0]),
        input_tokens=np.array([10, 20, 30, 200_000, 200_001, 5, -1, 5]),
        output_tokens=np.array([1, 2, 3, 4, 5, 6, 7, 8]),
        cache_read_tokens=np.array([5, -1, 0, 0, 0, 0, 0, 9]),
        time_s=np.array([time, time, time + 1, np.nan, np.inf, time, time, time]),
        prices=PRICES,
    )
    assert n_unusable == 3  # no model; no input count; more cached than sent
    assert {
        (r.model, r.day, r.above_input_tokens): (r.n_requests, r.input_tokens) for r in records
    } == {
        ("m", date(2026, 9, 1), 0): (2, 30),
        ("m", date(2026, 9, 2), 0): (1, 30),
        ("long", None, 0): (1, 200_000),
        ("long", None, 200_000): (1, 200_001),
    }
    assert sum(r.cache_read_tokens for r in records) == 5
    report = reconcile(records, bill_total=Decimal(0), prices=PRICES)
    one_by_one = PRICES["long"].usd_for(200_000, 4) + PRICES["long"].usd_for(200_001, 5)
    assert sum(line.usd_computed for line in report.lines if line.model == "long") == one_by_one


def test_absurd_counts_are_left_out_and_counted() -> None:
    records, n_unusable = usage_records(
        models=["m"],
        model=np.zeros(4, np.int32),
        input_tokens=np.array([5, 2**62, 10**9 + 1, 7]),
        output_tokens=np.array([1, 1, 1, 2**63 - 1]),
    )
    assert n_unusable == 3
    assert [r.input_tokens for r in records] == [5]
    none, n_unusable = usage_records(
        models=["m"],
        model=np.array([-1]),
        input_tokens=np.array([5]),
        output_tokens=np.array([5]),
    )
    assert (none, n_unusable) == ((), 1)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 10**6)), max_size=30)
)
def test_arrays_add_up_as_single_records_do(rows: list[tuple[int, int, int]]) -> None:
    records, _ = usage_records(
        models=["m", "long"],
        model=np.array([model for model, _, _ in rows], dtype=np.int32),
        input_tokens=np.array([tokens for _, _, tokens in rows], dtype=np.int64),
        output_tokens=np.zeros(len(rows), np.int64),
        time_s=np.array([day * 86_400.0 for _, day, _ in rows]),
        prices=PRICES,
    )
    assert sum(r.n_requests for r in records) == len(rows)
    if rows:
        singles = [UsageRecord(["m", "long"][m], input_tokens=tokens) for m, _, tokens in rows]
        together = reconcile(records, bill_total=Decimal(0), prices=PRICES)
        apart = reconcile(singles, bill_total=Decimal(0), prices=PRICES)
        assert together.usd_explained == apart.usd_explained


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="output_tokens has 1 values for 2"):
        usage_records(
            models=["m"],
            model=np.zeros(2, np.int32),
            input_tokens=np.ones(2, np.int64),
            output_tokens=np.ones(1, np.int64),
        )
