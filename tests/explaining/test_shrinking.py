"""Making texts smaller: what is left still shows the difference, and nothing can be left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.explaining.shrinking import shrink, size

Shows = Callable[[str], bool]

TEXTS = st.text(alphabet="abcdé \n日😀", max_size=60)


def places(shows: Shows) -> Callable[[Sequence[str]], list[int]]:
    return lambda texts: [place for place, text in enumerate(texts) if shows(text)]


def without_each(text: str) -> list[str]:
    return [text[:place] + text[place + 1 :] for place in range(len(text))]


CONDITIONS: dict[str, Shows] = {
    "two characters in order": lambda text: "é" in text and "日" in text[text.index("é") :],
    "an odd number": lambda text: text.count("b") % 2 == 1,
    "a run": lambda text: "bbb" in text,
    "long": lambda text: len(text) >= 5,
    "one at the end": lambda text: text.endswith("😀"),
    "either": lambda text: "é" in text or "bb" in text,
    "anything": lambda text: True,
}


@pytest.mark.parametrize("name", CONDITIONS)
@given(text=TEXTS)
def test_what_is_left_is_locally_minimal(name: str, text: str) -> None:
    shows = CONDITIONS[name]
    if not shows(text):
        return
    small, is_minimal = shrink(text, places(shows))
    assert is_minimal
    assert shows(small)
    assert size(small) <= size(text)
    assert not [shorter for shorter in without_each(small) if shows(shorter)]
    for place, char in enumerate(small):
        if char != "a":
            assert not shows(small[:place] + "a" + small[place + 1 :])


@given(text=TEXTS, wanted=st.sets(st.integers(min_value=0, max_value=59), max_size=4))
def test_characters_that_must_stay_stay_and_no_others(text: str, wanted: set[int]) -> None:
    chars = [text[place] for place in sorted(wanted) if place < len(text)]

    def shows(candidate: str) -> bool:
        rest = iter(candidate)
        return all(char in rest for char in chars)

    assert shrink(text, places(shows)) == ("".join(chars), True)


def test_a_needle_in_a_long_text_is_found_quickly() -> None:
    n_chars = 0

    def differing(texts: Sequence[str]) -> list[int]:
        nonlocal n_chars
        n_chars += sum(map(len, texts))
        return [place for place, text in enumerate(texts) if "x" in text]

    text = "abc " * 50_000 + "x" + "abc " * 20_000
    assert shrink(text, differing) == ("x", True)
    assert n_chars < 10 * len(text)


def test_it_gives_up_honestly() -> None:
    text = "b" * 3_000
    small, is_minimal = shrink(text, places(lambda t: len(t) >= 2_990), max_chars=1_000_000)
    assert not is_minimal
    assert 2_990 <= len(small) <= 3_000
