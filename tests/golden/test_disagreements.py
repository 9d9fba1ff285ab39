"""Each row of "Where references disagree" holds, with the references that are installed here."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from scripts.conformance import disagreements
from scripts.conformance.disagreements import Pair, Row, read_pairs
from scripts.conformance.references import Reference, reference_of
from scripts.conformance.sets import read_set
from scripts.conformance.smallest import is_smallest

PAIRS = read_pairs()
ROWS = [(pair, row) for pair in PAIRS for row in pair.rows]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "exactness.md"


@lru_cache(maxsize=2)
def load_reference(shared: Path, name: str) -> Reference | None:
    return reference_of(read_set(shared, name))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.first}-{pair.second}")
def test_as_many_golden_texts_differ(pair: Pair, shared: Path) -> None:
    first, second = read_set(shared, pair.first), read_set(shared, pair.second)
    assert [c.text for c in first.cases] == [c.text for c in second.cases]
    n_different = sum(a.ids != b.ids for a, b in zip(first.cases, second.cases, strict=True))
    assert n_different == pair.n_golden_different


@pytest.mark.rivals
@pytest.mark.parametrize(("pair", "row"), ROWS, ids=lambda x: getattr(x, "first", None))
def test_row(pair: Pair, row: Row, shared: Path) -> None:
    assert row.first_ids != row.second_ids
    first, second = load_reference(shared, pair.first), load_reference(shared, pair.second)
    if first is None or second is None:
        # Its text is a golden one then, whose ids the references gave when they were recorded.
        golden = read_set(shared, pair.first), read_set(shared, pair.second)
        ids = [next(c.ids for c in each.cases if c.text == row.text) for each in golden]
        assert ids == [row.first_ids, row.second_ids]
        return
    assert first.encode(row.text, special=False) == row.first_ids
    assert second.encode(row.text, special=row.special) == row.second_ids

    def differ(text: str) -> bool:
        return first.encode(text, special=False) != second.encode(text, special=row.special)

    assert is_smallest(row.text, differ)
    if not row.special:
        explaining = next(each for each in pair.rows if each.explains(row.text))
        assert explaining == row, "an earlier row explains the text too"


def test_the_table_is_that_of_the_rows(shared: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    table = disagreements.render(shared)
    assert disagreements.PART.replaced(text, table) == text
