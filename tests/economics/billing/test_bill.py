"""A bill reconciled: exact where it agrees, and each cause named where it does not."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import ApiPrice, PriceTier
from jeton.corpus.bills.rows import CENT, Bill, BillItem
from jeton.economics import BillReport, reconcile
from jeton.economics.billing.bill import MAX_ROWS
from jeton.economics.ledger import usage_rows
from jeton.errors import UsageError
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


def at(day: date) -> float:
    return datetime.combine(day, time(), tzinfo=UTC).timestamp()


def use(model: str, **amounts: Any) -> dict[str, Any]:
    day = amounts.pop("day", None)
    amounts.setdefault("output_tokens", 0)
    return {"model": model, **amounts, **({} if day is None else {"time_s": at(day)})}


RECORD = use(
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
    assert report.usd_billed == report.usd_explained + report.usd_difference
    left = report.usd_difference - sum((c.usd for c in report.causes), Decimal(0))
    assert abs(left) <= CENT * (1 + len(report.causes))
    unknown = sum((c.usd for c in report.causes if c.id == "unknown"), Decimal(0))
    assert report.usd_unexplained == unknown.quantize(CENT)
    assert report.usd_explained == sum((x.usd_computed for x in report.lines), Decimal(0)).quantize(
        CENT
    )
    assert len(report.rows) <= MAX_ROWS
    assert sum(r.usd_computed for r in report.rows) == sum(m.usd_computed for m in report.models)


def test_a_bill_that_agrees() -> None:
    report = reconcile(usage_rows([RECORD]), bill=bill(("213", "m")), prices=PRICES)
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
        usage_rows([RECORD]),
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
            usage_rows([RECORD]),
            bill=bill((str(billed), "m" if by_model else None)),
            prices=PRICES,
        )
        check_sums(report)
        assert [(c.id, c.usd, c.basis) for c in report.causes] == [(cause, usd, Basis.ESTIMATED)]


def test_an_amount_that_nothing_fits_is_unknown() -> None:
    report = reconcile(usage_rows([RECORD]), bill=bill(("250", "m")), prices=PRICES)
    check_sums(report)
    assert [(c.id, c.usd) for c in report.causes] == [("unknown", Decimal(37))]
    assert "1.174 times" in report.causes[0].title
    assert report.usd_unexplained == 37


def test_long_prompts_at_the_dearer_rate() -> None:
    record = use("long", input_tokens=10_000_000, n_requests=1000)
    report = reconcile(usage_rows([record]), bill_total=Decimal(40), prices=PRICES)
    assert [(c.id, c.usd) for c in report.causes] == [("long-prompt-tier", Decimal(20))]


def test_what_only_one_side_has() -> None:
    records = [RECORD, use("n", input_tokens=1_000_000, day=DAY)]
    items = [
        BillItem(RECORD_USD, model="m"),
        BillItem(Decimal("5.50"), model="o3"),
        BillItem(Decimal("19"), description="tax", what="other"),
        BillItem(Decimal("-1.25"), description="credit"),
    ]
    report = reconcile(usage_rows(records), bill=bill(*items), prices=PRICES)
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

    records = [use("m", input_tokens=5_000_000, day=day(n)) for n in (1, 2, 3)]
    items = [BillItem(Decimal(10), model="m", day=day(n)) for n in (2, 3, 4, 5)]
    report = reconcile(usage_rows(records), bill=bill(*items), prices=PRICES)
    check_sums(report)
    assert {c.id: c.usd for c in report.causes} == {
        "day-not-in-records": 20,
        "day-not-on-bill": -10,
    }
    assert (report.first_day, report.last_day) == (day(1), day(5))


def test_a_rate_that_all_models_share_is_a_tax_or_discount() -> None:
    records = [RECORD, {**RECORD, "model": "n"}]
    taxed = str(RECORD_USD * Decimal("1.19"))
    report = reconcile(usage_rows(records), bill=bill((taxed, "m"), (taxed, "n")), prices=PRICES)
    check_sums(report)
    assert [c.id for c in report.causes] == ["common-rate"]
    assert "tax of 19.00%" in report.causes[0].title


def test_a_tariff_that_fits_every_model_is_named_before_a_discount() -> None:
    prices = {**PRICES, "n@batch": price_of("n", tariff="batch", factor=Decimal("0.5"))}
    records = [RECORD, {**RECORD, "model": "n"}]
    items = bill(("106.5", "m"), ("106.5", "n"))
    report = reconcile(usage_rows(records), bill=items, prices=prices)
    check_sums(report)
    assert [(c.id, c.model) for c in report.causes] == [
        ("batch-tariff", "m"),
        ("batch-tariff", "n"),
    ]


def test_rounding_of_rows_is_called_rounding() -> None:
    days = [date(2026, 9, n) for n in range(1, 11)]
    # Each day 2.004, billed as 2.00: ten rows of cents, four cents in all.
    rows = usage_rows([use("m", input_tokens=1_002_000, day=day) for day in days])
    items = [BillItem(Decimal("2.00"), model="m", day=day) for day in days]
    report = reconcile(rows, bill=bill(*items), prices=PRICES)
    check_sums(report)
    assert [(c.id, c.usd, c.model) for c in report.causes] == [("rounding", Decimal("-0.04"), None)]
    # Rows of four decimals are not rounded to the cent: the same difference has no cause.
    items = [BillItem(Decimal("2.0001"), model="m", day=day) for day in days]
    report = reconcile(rows, bill=bill(*items), prices=PRICES)
    assert [(c.id, c.usd) for c in report.causes] == [("unknown", Decimal("-0.0390"))]


def test_names_with_dates_meet_their_short_names() -> None:
    record = use("gpt-4o", input_tokens=1_000_000, day=DAY)
    report = reconcile(usage_rows([record]), bill=bill(("2.50", "gpt-4o-2024-08-06")))
    assert report.usd_unexplained == 0
    assert report.models[0].difference == 0


def test_records_that_contradict_themselves_are_counted() -> None:
    broken = use("m", input_tokens=5, cache_read_tokens=6, n_requests=3)
    report = reconcile(usage_rows([RECORD, broken]), bill_total=RECORD_USD, prices=PRICES)
    assert report.n_unusable == 3
    assert report.usd_unexplained == 0


def test_bad_input() -> None:
    with pytest.raises(UsageError, match="either"):
        reconcile(usage_rows([RECORD]), prices=PRICES)
    with pytest.raises(UsageError, match="finite"):
        reconcile(usage_rows([RECORD]), bill_total=Decimal("NaN"), prices=PRICES)
    with pytest.raises(UsageError, match="no record"):
        reconcile(usage_rows([]), bill_total=Decimal(1), prices=PRICES)
    unknown = {**RECORD, "model": "mm"}
    report = reconcile(usage_rows([unknown]), bill_total=Decimal(1), prices=PRICES)
    assert [(c.id, c.usd) for c in report.causes] == [("not-priced", Decimal(1))]


amounts = st.integers(0, 10**9)


@st.composite
def some_records(draw: st.DrawFn) -> dict[str, Any]:
    read, written, full = draw(amounts), draw(amounts), draw(amounts)
    output = draw(amounts)
    return use(
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
def test_causes_add_up_whatever_the_bill(
    records: list[dict[str, Any]], rows: list[BillItem]
) -> None:
    check_sums(reconcile(usage_rows(records), bill=Bill(tuple(rows)), prices=PRICES))


@given(st.lists(some_records(), min_size=1, max_size=8), st.randoms())
def test_sums_do_not_depend_on_the_order(records: list[dict[str, Any]], random: object) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = reconcile(usage_rows(records), bill_total=Decimal(1), prices=PRICES)
    other = reconcile(usage_rows(shuffled), bill_total=Decimal(1), prices=PRICES)
    assert one.usd_explained == other.usd_explained
    assert set(one.causes) == set(other.causes)


DAYS = [date(2026, 10, n) for n in range(1, 32)]
MONTH = [
    record
    for day in DAYS
    for record in (
        use(
            "gpt-4o-mini",
            input_tokens=111_000 + 97 * day.day,
            cache_read_tokens=42_579,
            output_tokens=2_411,
            n_requests=80,
            day=day,
        ),
        use("gpt-4o", input_tokens=3_000 + 13 * day.day, output_tokens=700, n_requests=30, day=day),
        use("claude-sonnet-4-5", input_tokens=110_957, output_tokens=7_480, n_requests=30, day=day),
    )
]
# 31 x 42,579 tokens read from the cache x (0.15 - 0.075) / 1e6
CACHE_USD = Decimal("0.0990")


def billed_rows(*, by_day: bool) -> Bill:
    """The month's bill with four decimals, cached tokens of gpt-4o-mini at the full rate."""
    rates = {
        "gpt-4o-mini": ("0.15", "0.6"),
        "gpt-4o": ("2.5", "10"),
        "claude-sonnet-4-5": ("3", "15"),
    }
    sums: dict[tuple[str, date | None], Decimal] = {}
    for record in MONTH:
        day = datetime.fromtimestamp(record["time_s"], tz=UTC).date() if by_day else None
        read, written = (Decimal(rate) for rate in rates[record["model"]])
        usd = (record["input_tokens"] * read + record["output_tokens"] * written) / 1_000_000
        key = (record["model"], day)
        sums[key] = sums.get(key, Decimal(0)) + usd
    step = Decimal("0.0001")
    return Bill(tuple(BillItem(u.quantize(step), day=d, model=m) for (m, d), u in sums.items()))


@pytest.mark.parametrize("form", ["by day", "by model", "total"])
def test_the_cause_is_found_in_the_one_model_that_has_it(form: str) -> None:
    items = billed_rows(by_day=form == "by day")
    if form == "total":
        items = Bill((BillItem(items.total_usd.quantize(CENT)),))
    report = reconcile(usage_rows(MONTH), bill=items)
    check_sums(report)
    (cause,) = report.causes
    assert (cause.id, cause.model) == ("cache-read-at-full-rate", "gpt-4o-mini")
    assert cause.usd.quantize(Decimal("0.001")) == CACHE_USD.quantize(Decimal("0.001"))
    assert report.usd_unexplained == 0
    if form != "total":
        assert cause.usd == CACHE_USD
        by_name = {row.model: row for row in report.rows}
        assert all(row.usd_billed is not None for row in report.rows)
        difference = by_name["gpt-4o-mini"].difference
        assert difference is not None
        assert abs(difference - CACHE_USD) < CENT / 2


def test_what_the_log_does_not_know_comes_before_what_fits() -> None:
    half = {k: v for k, v in RECORD.items() if k not in ("output_tokens", "reasoning_tokens")}
    rows = usage_rows([RECORD, {**half, "n_requests": 30_000}])
    # 40M read from the cache at the full rate would be 72 more; so may the unknown output be.
    report = reconcile(rows, bill=bill((str(RECORD_USD + 133 + 72), "m")), prices=PRICES)
    assert [(c.id, c.usd) for c in report.causes] == [("not-fully-known", Decimal(72))]


@pytest.mark.parametrize(
    ("kind", "billed", "cause"),
    [
        ("duplicate_id", RECORD_USD / 2, "log-issue"),
        ("inconsistent_usage", RECORD_USD + 100, "log-issue"),
        ("unknown_shape", RECORD_USD / 2, "batch-tariff"),
    ],
)
def test_no_cause_is_fitted_to_what_an_issue_explains(
    kind: str, billed: Decimal, cause: str
) -> None:
    issues = {kind: 40_000}
    for name in ("m", None):
        report = reconcile(
            usage_rows([RECORD]), bill=bill((str(billed), name)), prices=PRICES, log_issues=issues
        )
        assert [c.id for c in report.causes] == [cause]


def test_searches_of_the_log_are_priced() -> None:
    row = use("claude-sonnet-4-5", input_tokens=4_000_000, web_searches=500, n_requests=4000)
    # 4M x 3 + 500 x 10 / 1,000
    assert reconcile(usage_rows([row]), bill_total=Decimal(17)).causes == ()
    items = [
        BillItem(Decimal(12), model="claude-sonnet-4-5"),
        BillItem(Decimal("5.00"), what="search", description="web search"),
    ]
    report = reconcile(usage_rows([row]), bill=Bill(tuple(items)))
    assert report.causes == ()
    assert {row.model: row.difference for row in report.rows} == {
        "claude-sonnet-4-5": 0,
        "searches": 0,
    }
    report = reconcile(usage_rows([row]), bill_total=Decimal(12))
    assert [(c.id, c.usd) for c in report.causes] == [("searches-not-billed", Decimal(-5))]


def test_many_models_are_folded() -> None:
    rows = usage_rows([use(f"m{n}", input_tokens=1_000_000) for n in range(14)])
    prices = {f"m{n}": price_of(f"m{n}") for n in range(14)}
    report = reconcile(rows, bill=bill(*((str(2), f"m{n}") for n in range(14))), prices=prices)
    assert len(report.rows) == MAX_ROWS
    assert report.rows[-1].model == "5 others"
    assert report.rows[-1].usd_billed == 10
    assert report.price_source == "list of 2026-09-01"
