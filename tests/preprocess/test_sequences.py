"""Word sequences of long texts as numbers: what sets of strings tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.preprocess import losses
from jeton.preprocess.losses import LossCount, LossTally, sequence_loss

WORDS = st.sampled_from(["a", "b", "B", "Ä", "東京", "x1", "-", "İ"])
TEXTS = st.lists(WORDS, max_size=40).map(" ".join)


def twin(before: str, after: str, n_examples: int) -> tuple[int, int, list[str]]:
    old, new = (losses.things_of(text, ["n_grams"])["n_grams"] for text in (before, after))
    gone = [sequence for sequence in old if sequence not in new]
    return len(old), len(gone), gone[:n_examples]


@given(TEXTS, TEXTS, st.integers(0, 5))
def test_numbers_tell_what_sets_of_strings_tell(before: str, after: str, n: int) -> None:
    assert sequence_loss(before, after, n_examples=n) == twin(before, after, n)
    assert sequence_loss(before, before, n_examples=n) == twin(before, before, n)


def test_a_long_document_is_compared_by_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [
        ("one two three four five six " * 3, "one two three four 5 six"),
        ("short", "short"),
        ("Mail Ada Lovelace these 12 letters now " * 2, "these 13 letters"),
    ]

    def counts() -> tuple[LossCount, ...]:
        tally = LossTally()
        for before, after in pairs:
            tally.add(before, after)
        return tally.counts()

    wanted = counts()
    assert wanted[-1].n_lost > 10
    monkeypatch.setattr(losses, "MIN_NUMBERED_CHARS", 20)
    monkeypatch.setattr(losses, "_sequences", None)
    assert counts() == wanted
