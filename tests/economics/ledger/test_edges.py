"""Sums of the ledger at the places where a rule changes sides."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np

from jeton.economics import Ledger
from jeton.economics.ledger import LedgerBuilder, period_of, usage_rows
from jeton.economics.ledger.amounts import SumTable

DAY_S = 86_400
MIDNIGHT = datetime(2026, 10, 5, tzinfo=UTC).timestamp()


def test_a_table_keeps_its_sums_when_it_grows() -> None:
    table: SumTable[str] = SumTable()
    sums = {f"key {n}": {f"dim {n % 11}": n + 1, "requests": 1} for n in range(200)}
    for key, amounts in sums.items():
        table.add([key], list(amounts), np.array([list(amounts.values())]))
    found = {key: cell.amounts for key, cell in table.cells()}
    assert found == sums


def test_a_span_of_exactly_a_day_is_two_calendar_days() -> None:
    def days(span: float) -> Decimal | None:
        hours = {int(MIDNIGHT // 3600): 1, int((MIDNIGHT + span) // 3600): 1}
        return period_of(2, first_s=MIDNIGHT, last_s=MIDNIGHT + span, hours=hours).n_days

    assert days(DAY_S - 1) == 1
    assert days(DAY_S) == 2


def test_half_of_a_hundredth_is_stray_on_each_side() -> None:
    def days(n_stray: int) -> Decimal | None:
        """A day of 1,000 requests, and some that a wrong clock put years before."""
        noon = MIDNIGHT + DAY_S / 2
        early = noon - 4000 * DAY_S
        hours = {int(noon // 3600): 1000 - n_stray, int(early // 3600): n_stray}
        return period_of(1000, first_s=early, last_s=noon, hours=hours).n_days

    assert days(5) == 1  # half a hundredth of the thousand
    assert (days(6) or 0) > 4000


def _ledger(*rows: Mapping[str, object]) -> Ledger:
    builder = LedgerBuilder(on=date(2026, 11, 3))
    builder.add(usage_rows([{"model": "gpt-4o-mini", "output_tokens": 5, **row} for row in rows]))
    return builder.build()


def test_one_assumed_part_makes_a_model_estimated() -> None:
    known, unknown = {"input_tokens": 100}, {"input_tokens": -1}
    bases = [
        [use.basis.value for use in _ledger(*rows).by_model]
        for rows in ([known, known], [known, unknown], [unknown, unknown])
    ]
    assert bases == [["exact"], ["estimated"], ["estimated"]]


def test_a_prompt_of_exactly_the_step_is_charged_below_it() -> None:
    """The list of gemini-2.5-pro doubles above 200,000 prompt tokens, also when recomputed."""
    for n_tokens, rate in ((200_000, "1.25"), (200_001, "2.5")):
        row = {"model": "gemini-2.5-pro", "input_tokens": n_tokens, "output_tokens": 0}
        ledger = _ledger(row)
        expected = n_tokens * Decimal(rate) / 10**6
        assert ledger.usd == ledger.usd_at_tariff(None) == expected
