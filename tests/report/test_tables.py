"""Which numbers stand side by side, which is best, and what is said first."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import get_args

import pytest

from jeton.auditing.result import AuditReport
from jeton.report.numbers import Kind, Numbers
from jeton.report.summary import headline, worst_terms
from jeton.report.tables import (
    columns_of,
    economics_table,
    fidelity_table,
    quality_table,
    tokens_table,
)
from jeton.report.tree import ALL, Better, Marked, Table
from tests.report.sample_report import make_report


def numbers_of(report: AuditReport) -> Numbers:
    return Numbers(report.to_dict())


def best(table: Table, key: str) -> list[int]:
    position = [column.key for column in table.columns].index(key)
    return [index for index, cells in enumerate(marks(table)) if cells[position].is_best]


def marks(table: Table) -> list[list[Marked]]:
    """The cells of each row, all of which are numbers of a column."""
    rows = [[cell for cell in row.cells if isinstance(cell, Marked)] for row in table.rows]
    assert all(len(row) == len(table.columns) for row in rows)
    return rows


@pytest.mark.parametrize(
    "table", ["tokens", "fidelity", "economics", "quality", "comparison", "traffic"]
)
def test_columns_are_listed_with_what_they_may_hold(table: str) -> None:
    for column in columns_of(table):
        assert column.kind in get_args(Kind)
        assert column.better in get_args(Better)
        assert column.forms in ALL[ALL.index(column.forms[0]) :]
        assert column.meaning


def test_the_best_of_each_column() -> None:
    table = tokens_table(numbers_of(make_report()), current=0)
    assert best(table, "n_tokens") == [2]
    assert best(table, "bytes_per_token") == [2]
    assert best(table, "change") == []


def test_who_loses_text_is_not_the_best() -> None:
    report = make_report()
    losing = dataclasses.replace(
        report.tokenizers[2], n_round_trip_failures=5, unreturned_by_cause={"unknown": 5}
    )
    report = dataclasses.replace(
        report, tokenizers=(*report.tokenizers[:2], losing, *report.tokenizers[3:])
    )
    numbers = numbers_of(report)
    assert best(tokens_table(numbers, current=0), "n_tokens") == [1]
    assert best(fidelity_table(numbers), "n_round_trip_failures") == [0, 1, 3, 4]


def test_equal_values_have_no_best() -> None:
    assert best(fidelity_table(numbers_of(make_report())), "n_round_trip_failures") == []
    assert best(fidelity_table(numbers_of(make_report())), "vocab_size") == []


def test_one_tokenizer_is_compared_with_nothing() -> None:
    table = tokens_table(numbers_of(make_report(n_tokenizers=1)), current=0)
    assert "change" not in [column.key for column in table.columns]
    assert not any(cell.is_best for row in marks(table) for cell in row)


def test_what_is_not_known_has_no_table() -> None:
    numbers = numbers_of(make_report(price=False, gpu=False))
    assert economics_table(numbers, part="money") is None
    memory = economics_table(numbers, part="memory")
    assert memory is not None
    assert "concurrent_requests_mean" not in [column.key for column in memory.columns]
    bare = numbers_of(make_report(price=False, gpu=False, model=False))
    assert economics_table(bare, part="memory") is None
    assert economics_table(bare, part="compute") is None


def test_the_headline_is_the_yearly_sum_and_the_largest_saving() -> None:
    numbers = numbers_of(make_report(more=False))
    first = headline(numbers)
    assert (first.is_money, first.period, first.tokenizer) == (True, "a year", 0)
    assert first.total.path == "tokenizers[0].economics.usd_per_year.value"
    assert first.finding is not None
    savings = [Decimal(f["saving_usd_per_year"] or 0) for f in numbers.data["findings"]]
    assert savings[first.finding] == max(savings)
    assert first.saving_share is not None
    assert first.saving_share.share_of == first.total.path


def test_with_a_waterfall_the_headline_is_what_all_remedies_save() -> None:
    numbers = numbers_of(make_report())
    first = headline(numbers)
    data = numbers.data["waterfall"]
    naive, engineered = (
        Decimal(data[key]) * 12 for key in ("naive_usd_per_month", "engineered_usd_per_month")
    )
    assert first.total.text == f"${naive:,.0f}"
    assert first.saving is not None
    assert first.remaining is not None
    assert first.saving_share is not None
    assert first.saving.text == f"${naive - engineered:,.0f}"
    assert first.remaining.text == f"${engineered:,.0f}"
    assert first.saving_share.text == f"{100 * (1 - engineered / naive):.1f}%"
    assert (first.total.basis, first.saving.basis) == ("exact", "estimated")
    assert (first.n_remedies, first.finding) == (4, None)


def test_a_waterfall_without_savings_leaves_the_headline() -> None:
    report = make_report()
    assert report.waterfall is not None
    flat = dataclasses.replace(
        report.waterfall,
        steps=(),
        engineered_usd_per_month=report.waterfall.naive_usd_per_month,
    )
    first = headline(numbers_of(dataclasses.replace(report, waterfall=flat, provider_count=None)))
    assert first.total.path == "tokenizers[0].economics.usd_per_year.value"
    assert first.n_remedies == 0


def test_intervals_stand_beside_their_numbers() -> None:
    table = tokens_table(numbers_of(make_report(n_tokenizers=1)), current=0)
    keys = [column.key for column in table.columns]
    intervals = dict(zip(keys, (cell.interval for cell in marks(table)[0]), strict=True))
    mean = intervals["tokens_per_document.mean"]
    assert mean is not None
    assert [shown.path for shown in mean] == [
        "tokenizers[0].tokens_per_document_interval.low",
        "tokenizers[0].tokens_per_document_interval.high",
    ]
    assert intervals["n_tokens"] is None


def test_quality_is_a_table_where_it_was_measured() -> None:
    table = quality_table(numbers_of(make_report()))
    assert table is not None
    assert best(table, "bits_per_byte") == [0]
    position = [column.key for column in table.columns].index("bits_per_byte")
    interval = marks(table)[1][position].interval
    assert interval is not None
    assert [shown.text for shown in interval] == ["1.007", "1.050"]
    assert best(table, "words_kept_share") == [4]
    assert best(table, "gini") == []
    assert quality_table(numbers_of(make_report(more=False))) is None


def test_without_money_the_headline_is_tokens() -> None:
    first = headline(numbers_of(make_report(price=False)))
    assert (first.is_money, first.finding, first.candidate) == (False, None, 2)
    assert first.saving is not None
    assert first.saving.text == "−26.4%"
    alone = headline(numbers_of(make_report(price=False, n_tokenizers=1)))
    assert alone.saving is None


def test_without_traffic_the_headline_is_a_request() -> None:
    first = headline(numbers_of(make_report(traffic=False)))
    assert (first.is_money, first.period, first.saving_share) == (True, "a request", None)


def test_the_current_tokenizer_need_not_be_the_first() -> None:
    report = make_report(n_tokenizers=3)
    tokenizers = tuple(
        dataclasses.replace(t, is_current=i == 2) for i, t in enumerate(report.tokenizers)
    )
    first = headline(numbers_of(dataclasses.replace(report, tokenizers=tokenizers)))
    assert first.tokenizer == 2


def test_terms_are_ranked_by_what_their_pieces_cost() -> None:
    numbers = numbers_of(make_report())
    terms = worst_terms(numbers, limit=3)
    assert terms[0].data["term"] == "hydroxychloroquine"
    costs = [t.data["n_occurrences"] * (t.data["cuts"][0]["n_tokens"] - 1) for t in terms]
    assert costs == sorted(costs, reverse=True)
    assert len(terms) == 3
