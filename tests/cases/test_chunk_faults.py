"""Chunks: contexts and heads of tables case by case (``chunk_faults.json``), overlap, clusters.

``\\X`` of the package regex says which characters a reader sees as one.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex

import jeton
from jeton._core import scan_markdown
from jeton.chunking import chunk_text

CASES = json.loads(Path(__file__).with_name("chunk_faults.json").read_text(encoding="utf-8"))
TOKENIZER = "jeton-general-32k"
WAYS: Any = ("tokens", "sentences", "structure")
WHOLE = [
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ee\U0001f1f9\U0001f1ea\U0001f1f8" * 3,
    "\u1112\u1161\u11ab" * 12,
    "\u1100\u1161\u11a8 " * 9 + "\u1112\u1161\u11ab" * 9,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466" * 6,
    "\u0915\u094d\u0937\u093f" * 12,
    "e\u0301\u0323 a\u0308o\u0302" * 9,
    "\U0001f44d\U0001f3fd\u2764\ufe0f" * 9,
    "a\r\nb\r\n" * 20,
    "x \u0301y \u0308z" * 12,
]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    found = chunk_text(
        case["text"],
        tokenizer=TOKENIZER,
        max_tokens=case["max_tokens"],
        context=True,
        markup=case.get("markup", "auto"),
    )
    chunks = list(found.chunks)
    assert "".join(chunk.text for chunk in chunks) == case["text"]
    tokenizer = jeton.load(TOKENIZER)
    for chunk in chunks:
        sent = tokenizer.count(chunk.sent, add_special_tokens=True)
        assert sent == chunk.n_tokens <= case["max_tokens"]
    if "contexts" in case:
        met = [list(chunk.context) for chunk in chunks]
        assert [c for i, c in enumerate(met) if not i or c != met[i - 1]] == case["contexts"]
        return
    with_rows = [chunk for chunk in chunks if case["last"] in chunk.text]
    assert len(chunks) > 1
    assert all(chunk.sent.count(case["head"]) == 1 for chunk in with_rows)
    assert with_rows[0].head.endswith(case["head"])
    assert case["head"] not in chunks[0].head


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("text", WHOLE, ids=range(len(WHOLE)))
def test_no_cluster_that_fits_is_torn(text: str, by: Any) -> None:
    tokenizer = jeton.load(TOKENIZER)
    clusters = regex.findall(r"\X", text)
    ends = {0}
    for cluster in clusters:
        ends.add(max(ends) + len(cluster))
    largest = max(map(tokenizer.count, clusters))
    for budget in (largest + 1, largest + 5, 3 * largest):
        spans = chunk_text(text, tokenizer=TOKENIZER, max_tokens=budget, by=by).chunks.spans
        assert not {end for _, end in spans.tolist()} - ends


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("overlap", [1, 2, 7])
def test_overlap_is_at_most_so_many_tokens_of_the_chunk_that_is_sent(by: Any, overlap: int) -> None:
    tokenizer = jeton.load(TOKENIZER)
    text = (
        "One two. Three four five six. Seven eight nine. Ten eleven. Twelve red blue. Green gold "
        "gray. \u4eca\u65e5\u306f\u826f\u3044\u5929\u6c17\u3067\u3059\u3002 "
        "An antidisestablishmentarian's 3.14159; (quoted) text!\n\n"
    ) * 4
    for budget in (12, 20, 33):
        chunks = list(
            chunk_text(text, tokenizer=TOKENIZER, max_tokens=budget, by=by, overlap=overlap).chunks
        )
        n_repeated = 0
        for before, chunk in pairwise(chunks):
            assert before.start < chunk.start <= before.end < chunk.end
            n_bytes = before.end_bytes - chunk.start_bytes
            starts = tokenizer.encode_with_offsets(chunk.text).starts
            repeated = len(chunk.text.encode()[:n_bytes].decode())
            assert sum(int(start) < repeated for start in starts) <= overlap
            n_repeated += n_bytes > 0
            if n_bytes and by != "tokens":
                first = text[chunk.start]
                assert not first.isspace()
                assert text[chunk.start - 1].isspace() or first > "\u3000"
        assert overlap < 7 or n_repeated > len(chunks) // 3


def test_nested_headings_are_told_apart() -> None:
    text = "# a\n\n> # b\n\n- # c\n"
    assert [level for _, level, *_ in scan_markdown(text)[0]] == [1]
    assert [text[a:b] for _, _, a, b in scan_markdown(text, nested=True)[0]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text", ["[" * 4, "> " * 2, "- " * 2, "*a_ ", "<!--", "`", "|a", "![](", "\U0001f1e9", "\u0301"]
)
def test_hostile_markdown_takes_no_longer_than_its_length(text: str) -> None:
    """Finishes at all: a square of these lengths would take hours."""
    long = text * (200_000 // len(text.encode()))
    chunking = chunk_text(long, tokenizer=TOKENIZER, max_tokens=4096, context=True)
    assert "".join(chunk.text for chunk in chunking.chunks) == long
