"""Many strings in a long text: what ``in`` tells of each, and no time that grows with both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.preprocess import losses
from jeton.preprocess.losses import LossTally

CHARACTERS = st.text(st.sampled_from("abB 東\ud800\U0001f600"), max_size=40)


@given(CHARACTERS, st.lists(st.text(st.sampled_from("abB 東\ud800\U0001f600"), max_size=5)))
def test_sums_tell_what_in_tells(text: str, strings: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "MIN_WORK", 0)
        patch.setattr(losses, "BLOCK_CHARS", 4)
        found = losses.strings_within(strings, text)
    assert found == {string for string in strings if string in text}


def test_names_of_a_long_document_are_not_each_looked_for_in_all_of_it() -> None:
    """Half a minute, if the text were scanned for each of 40,000 names."""
    before = " ".join(f"we met Anna{i:06d} at noon, late" for i in range(80_000))
    after = before[: len(before) // 2]
    tally = LossTally()
    tally.add(before, after)
    names = {count.kind: count for count in tally.counts()}["names"]
    assert (names.n_before, names.n_lost) == (80_000, 40_000)
