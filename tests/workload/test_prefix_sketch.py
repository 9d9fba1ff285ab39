"""Shared beginnings of whole workloads: exact while small, even draws after that, and mergeable."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from jeton._core import Surveyor, TextBatch, Tokenizer
from jeton.workload.counting.prefix_sketch import BLOCK_BYTES, MAX_BLOCKS, PrefixSketch
from tests.auditing.checks.findings_of import only
from tests.auditing.checks.test_repetition import words
from tests.auditing.conftest import EvidenceOf


def sketch_of(texts: list[str], *, max_kept: int = 50_000) -> PrefixSketch:
    sketch = PrefixSketch(max_kept=max_kept)
    surveyor = Surveyor([], block_bytes=BLOCK_BYTES, max_blocks=MAX_BLOCKS)
    for start in range(0, len(texts), 7):
        sketch.add(surveyor.survey(TextBatch.from_texts(texts[start : start + 7])))
    return sketch


def rows(sketch: PrefixSketch) -> list[tuple[int, int]]:
    shared = sketch.shared()
    return sorted(zip(shared.depths.tolist(), shared.counts.tolist(), strict=True))


def naive(texts: list[str]) -> list[tuple[int, int]]:
    counts: Counter[bytes] = Counter()
    for text in texts:
        data = text.encode()
        counts.update(data[:end] for end in range(BLOCK_BYTES, len(data) + 1, BLOCK_BYTES))
    return sorted((len(k) // BLOCK_BYTES, n) for k, n in counts.items() if n > 1)


def conversations(n: int, n_turns: int) -> list[str]:
    """Each is sent again with every turn."""
    sent = []
    for conversation in range(n):
        turns = [words(400, conversation * 100 + turn) for turn in range(n_turns)]
        sent += ["\n".join(turns[: turn + 1]) for turn in range(n_turns)]
    return sent


def test_shared_blocks_are_those_of_the_definition() -> None:
    texts = [*conversations(6, 5), "short", "", "é" * BLOCK_BYTES, "é" * BLOCK_BYTES]
    assert rows(sketch_of(texts)) == naive(texts)
    assert sketch_of(texts).shared().weight == 1
    assert sketch_of(texts).shared().n_documents == len(texts)


@pytest.mark.parametrize("max_kept", [5, 40, 50_000])
def test_shards_make_the_whole_in_any_order(max_kept: int) -> None:
    texts = conversations(12, 5)
    whole = sketch_of(texts, max_kept=max_kept)
    mixed = random.Random(1).sample(texts, len(texts))
    parts = [sketch_of(mixed[i::3], max_kept=max_kept) for i in range(3)]
    for order in ((0, 1, 2), (2, 0, 1)):
        a, b, c = (parts[i] for i in order)
        merged = a.merge(b).merge(c)
        assert rows(merged) == rows(whole)
        assert merged.shared().weight == whole.shared().weight
        assert merged.shared().n_documents == len(texts)


def test_a_draw_stands_for_all_blocks() -> None:
    texts = [f"{i}" + "x" * (3 * BLOCK_BYTES) for i in range(3000) for _ in range(1 + i % 3)]
    shared = sketch_of(texts, max_kept=500).shared()
    assert shared.weight > 4
    exact = naive(texts)
    assert shared.weight * len(shared.counts) == pytest.approx(len(exact), rel=0.15)
    assert shared.weight * np.sum(shared.counts) == pytest.approx(
        sum(n for _, n in exact), rel=0.15
    )


def test_conversations_larger_than_the_sample_are_seen(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    texts = conversations(24, 8)
    n_bytes = sum(len(text.encode()) for text in texts)
    options = {"price_model": "openai:gpt-4o", "requests_per_day": 1_000_000}
    whole = evidence_of(texts, tokenizers=[good], **options)
    assert whole.sample.is_whole
    exact = only(whole, "prompt-prefix-cacheable")
    drawn = evidence_of(texts, tokenizers=[good], sample_bytes=n_bytes // 20, **options)
    assert not drawn.sample.is_whole
    # Of a twentieth of the requests hardly two are of one conversation.
    finding = only(drawn, "prompt-prefix-cacheable")
    assert finding.figure.value == pytest.approx(exact.figure.value, rel=0.2)
    assert finding.saving_usd_per_year is not None
    assert exact.saving_usd_per_year is not None
    assert float(finding.saving_usd_per_year) == pytest.approx(
        float(exact.saving_usd_per_year), rel=0.2
    )
