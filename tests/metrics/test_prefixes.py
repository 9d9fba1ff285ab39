"""Shared beginnings: the index equals comparing every document with every other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton._core import PrefixIndex, TextBatch
from jeton.errors import JetonError

BLOCK = 16
blocks = st.sampled_from(["a" * BLOCK, "b" * BLOCK, "ab" * 8, "short"])
documents = st.lists(st.lists(blocks, max_size=4).map("".join), max_size=10)


def naive(texts: list[str]) -> set[tuple[int, int, int]]:
    def first_and_count(start: bytes) -> tuple[int, int]:
        places = [i for i, text in enumerate(texts) if text.encode().startswith(start)]
        return places[0], len(places)

    starts = {
        text.encode()[:n] for text in texts for n in range(BLOCK, len(text.encode()) + 1, BLOCK)
    }
    found = set()
    for start in starts:
        first, count = first_and_count(start)
        longer = [s for s in starts if len(s) == len(start) + BLOCK and s.startswith(start)]
        if count >= 2 and all(first_and_count(s)[1] < count for s in longer):
            found.add((len(start), count, first))
    return found


@given(texts=documents, parts=st.integers(1, 3), num_threads=st.sampled_from([1, 8]))
def test_equals_comparing_all(texts: list[str], parts: int, num_threads: int) -> None:
    index = PrefixIndex(BLOCK)
    for start in range(0, len(texts), parts):
        batch = TextBatch.from_texts(texts[start : start + parts])
        index.add(batch, num_threads=num_threads)
    found = index.shared_prefixes()
    assert set(found) == naive(texts)
    repeated = [n_bytes * (n - 1) for n_bytes, n, _ in found]
    assert repeated == sorted(repeated, reverse=True)
    assert (index.n_documents, index.max_undercount) == (len(texts), 0)


def test_break_points_of_a_prompt() -> None:
    system, tools = "You are helpful. " * 200, "Tools: ... " * 300
    texts = [system + tools + f"Question {i}" * 40 for i in range(30)]
    texts += [system + f"Other {i} " * 100 for i in range(20)]
    index = PrefixIndex()
    index.add(TextBatch.from_texts(texts))
    longest, system_only = index.shared_prefixes(min_documents=20)
    assert longest == ((len(system) + len(tools)) // 1024 * 1024, 30, 0)
    assert system_only == (len(system) // 1024 * 1024, 50, 0)
    assert index.shared_prefixes(limit=1) == [longest]
    assert index.shared_prefixes(min_documents=51) == []


def test_blocks_too_small() -> None:
    with pytest.raises(JetonError, match="block_bytes is 8; expected at least 16"):
        PrefixIndex(8)
