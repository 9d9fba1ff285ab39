"""Billed tokens by part: integers that add up, whatever the counts say."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jeton.economics.billed import (
    INPUT_PARTS,
    KINDS,
    BilledTable,
    BilledTokens,
    TextCount,
    cut_by_cache,
    decompose,
    in_proportion,
)

Rows = list[tuple[list[int], int, int, int, int, int]]
COUNTS = st.integers(0, 10_000)
ROWS = st.lists(
    st.tuples(
        st.lists(COUNTS, min_size=6, max_size=6),
        st.integers(-1, 60_000),
        st.integers(-1, 60_000),
        st.integers(-1, 60_000),
        st.integers(-1, 5_000),
        st.integers(-1, 5_000),
    ),
    min_size=1,
    max_size=20,
)


def _of(rows: Rows, count: TextCount) -> BilledTokens:
    counted, billed, read, written, output, reasoning = (
        np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
    )
    return decompose(
        counted,
        input_tokens=billed,
        read=read,
        written=written,
        output_tokens=output,
        reasoning=reasoning,
        count=count,
    )


@given(ROWS, st.floats(0.5, 2.0), st.integers(0, 5_000))
def test_parts_add_up_to_the_bill(rows: Rows, slope: float, frame: int) -> None:
    found = _of(rows, TextCount(slope, frame, is_exact=False))
    assert (found.parts >= 0).all()
    assert (found.output >= 0).all()
    for place, (_, billed, read, written, output, _) in enumerate(rows):
        assert found.parts[place].sum() == max(0, billed)
        assert found.output[place].sum() == max(0, output)
        cached = min(max(0, read), max(0, billed))
        assert found.parts[place, :, KINDS.index("cached")].sum() == cached
        most = max(0, billed) - cached
        assert found.parts[place, :, KINDS.index("written")].sum() == min(max(0, written), most)


@given(ROWS)
def test_exact_text_keeps_its_count_where_the_bill_has_room(rows: Rows) -> None:
    found = _of(rows, TextCount())
    for place, (counted, billed, *_) in enumerate(rows):
        if billed >= sum(counted):
            assert found.parts[place, :-1].sum(axis=1).tolist() == counted
            assert found.parts[place, -1].sum() == billed - sum(counted)


@given(
    st.lists(st.lists(COUNTS, min_size=3, max_size=3), min_size=1, max_size=9),
    st.data(),
)
def test_proportions_are_whole_and_sum(counts: list[list[int]], data: st.DataObject) -> None:
    totals = data.draw(st.lists(COUNTS, min_size=len(counts), max_size=len(counts)))
    parts = in_proportion(np.array(counts), np.array(totals))
    for own, total, part in zip(counts, totals, parts.tolist(), strict=True):
        assert sum(part) == (total if sum(own) else 0)
        assert all(p >= 0 for p in part)


def test_a_cache_holds_the_beginning() -> None:
    """MONEY_TRIAL M10: 3,456 of 3,675 tokens are read, and they are the system prompt."""
    cut = cut_by_cache(np.array([[3_500, 175]]), np.array([3_456]), np.array([0]))
    assert cut.tolist() == [[[44, 0, 3_456], [175, 0, 0]]]


@given(ROWS, ROWS)
def test_tables_merge_as_if_counted_at_once(first: Rows, second: Rows) -> None:
    count = TextCount()
    both = BilledTable.of([("m", _of([*first, *second], count), 3, 5)])
    apart = BilledTable.of([("m", _of(first, count), 1, 5)]).merge(
        BilledTable.of([("m", _of(second, count), 2, 0)])
    )
    assert apart.to_dict() == both.to_dict()
    again = BilledTable.from_dict(json.loads(json.dumps(both.to_dict())))
    assert again.to_dict() == both.to_dict()
    assert both.input_tokens == sum(both.part(part) for part in INPUT_PARTS)
