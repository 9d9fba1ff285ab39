"""The bill taken apart: factors, bars that join, and a real bill beside it."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import pytest

from jeton.economics.billing.bill import BillReport
from jeton.economics.billing.causes import BillCause
from jeton.economics.waterfall import Remedy, waterfall
from jeton.findings import Basis
from jeton.report import to_html, to_markdown
from jeton.report.numbers import Numbers
from jeton.report.sections.bill import bill
from jeton.report.sections.waterfall import WaterfallRow, falls, products
from jeton.report.sections.waterfall import waterfall as section_of
from jeton.report.summary import weakest_basis
from tests.report.sample_report import make_report
from tests.report.trees import column, tables, texts


def numbers_of(**parts: Any) -> Numbers:
    return Numbers(dataclasses.replace(make_report(), **parts).to_dict())


def rows_of(numbers: Numbers) -> tuple[WaterfallRow, ...]:
    return falls(numbers, numbers.data["waterfall"])


def test_the_factors_multiply_to_the_parts_of_the_bill() -> None:
    numbers = numbers_of()
    made, others = products(numbers, numbers.data["waterfall"])
    assert [product.part for product in made] == ["input", "output"]
    for product in made:
        assert product.total is not None
        result = Decimal(1)
        for factor in product.factors:
            result *= Decimal(factor.number.raw)
        assert abs(result / 10**6 - Decimal(product.total.raw)) < Decimal("0.001")
    assert others == ()


def test_a_part_that_costs_nothing_is_no_product() -> None:
    made = waterfall(
        requests_per_month=1000,
        bytes_per_request=2000,
        tokens_per_byte=0.25,
        usd_per_mtok_input=2,
        cached_input_share=0.5,
        usd_per_mtok_cached_input=1,
    )
    numbers = numbers_of(waterfall=made)
    parts, others = products(numbers, numbers.data["waterfall"])
    assert [product.part for product in parts] == ["input"]
    assert [factor.words for factor in others][-2:] == [
        "of the input read from a cache",
        "a million cached tokens",
    ]
    assert len(rows_of(numbers)) == 1
    assert "Together:" not in to_html(dataclasses.replace(make_report(), waterfall=made))


def test_every_bar_begins_where_the_former_ended() -> None:
    first, *steps, last = rows_of(numbers_of())
    assert (first.left, first.width) == (0, 100)
    edge = first.width
    for row in steps:
        assert row.is_saving
        assert row.left + row.width == pytest.approx(edge, abs=0.002)
        edge = row.left
    assert last.width == pytest.approx(edge, abs=0.002)


def test_a_remedy_that_costs_more_rises_above_the_naive_bill() -> None:
    made = waterfall(
        requests_per_month=1000,
        bytes_per_request=4000,
        tokens_per_byte=0.25,
        usd_per_mtok_input=1000,
        remedies=[Remedy("dear", "Dear", token_factor=2), Remedy("good", "Good", token_factor=0.1)],
    )
    first, dear, good, last = rows_of(numbers_of(waterfall=made))
    assert (first.width, dear.left, dear.width, dear.is_saving) == (50, 50, 50, False)
    assert dear.delta is not None
    assert dear.delta.text == "+$1,000"
    assert (good.left, good.width, good.is_saving, last.width) == (10, 90, True, 10)
    assert '<li class="more">' in to_html(dataclasses.replace(make_report(), waterfall=made))


def test_steps_lead_to_the_findings_that_propose_them() -> None:
    report = make_report()
    for row in rows_of(numbers_of())[1:-1]:
        assert row.index is not None
        assert report.waterfall is not None
        assert row.finding is not None
        assert report.findings[row.finding - 1].id == report.waterfall.steps[row.index].id


def test_a_chain_is_as_good_as_its_weakest_part() -> None:
    assert weakest_basis([]) == "exact"
    assert weakest_basis(["exact", "estimated", "calibrated"]) == "estimated"


def test_no_waterfall_and_no_bill() -> None:
    numbers = numbers_of(waterfall=None, bill=None)
    assert section_of(numbers) is None
    assert bill(numbers) is None


def test_the_causes_of_a_bill_stand_with_their_money() -> None:
    report = make_report()
    assert report.bill is not None
    made = BillReport(
        lines=(),
        usd_billed=Decimal("10.00"),
        usd_explained=Decimal("12.50"),
        usd_unexplained=Decimal("-0.50"),
        usd_difference=Decimal("-2.50"),
        causes=(
            BillCause("batch-tariff", "half of it was batched", Decimal("-2.00"), Basis.ESTIMATED),
            BillCause("unknown", "no cause was found", Decimal("-0.50"), Basis.EXACT),
        ),
        issues=("3 rows without a date",),
        source="usage.csv",
    )
    report = dataclasses.replace(report, bill=made)
    found = tables(bill(Numbers(report.to_dict())))["Where the difference comes from"]
    assert texts(column(found, "Amount")) == ["~−$2.00", "−$0.50"]
    html, markdown = to_html(report), to_markdown(report)
    for text in ("half of it was batched", "3 rows without a date", "usage.csv"):
        assert text in html
    assert "half of it was batched: \\~−\\$2.00" in markdown
    assert "difference **−\\$2.50**" in markdown
