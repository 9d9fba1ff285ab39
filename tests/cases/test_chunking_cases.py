"""Chunks and sentences worked out by hand: one file a case.

A case has sentences of a language, or a text with options and the chunks, contexts, dropped text or
error that they give. A long text is written as pairs: a piece, and how often it stands there. Every
chunk of every case fits the budget, has exact offsets, and no character is lost unnamed.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton._core import scan_boundaries
from jeton.chunking import chunk_text

FOLDER = Path(__file__).parent / "chunking"
SENTENCES = sorted(FOLDER.glob("sentences-*.json"))
TEXTS = sorted(set(FOLDER.glob("*.json")) - set(SENTENCES))
TOKENIZER = jeton.load("jeton-general-32k")


def read(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return case


@pytest.mark.parametrize("path", SENTENCES, ids=lambda path: path.stem)
def test_sentences(path: Path) -> None:
    case = read(path)
    text = "".join(case["sentences"])
    data = text.encode()
    places, _ = scan_boundaries(text, by="sentences", language=case["language"])
    edges = [0, *places.tolist(), len(data)]
    found = [data[a:b].decode() for a, b in pairwise(edges)]
    assert found == case["sentences"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_chunks(path: Path) -> None:
    case = read(path)
    text = case["text"]
    if not isinstance(text, str):
        text = "".join(piece * times for piece, times in text)
    if "error" in case:
        with pytest.raises(jeton.UsageError) as caught:
            chunk_text(text, tokenizer=TOKENIZER, **case["options"])
        assert case["error"] in str(caught.value)
        return
    found = chunk_text(text, tokenizer=TOKENIZER, **case["options"])
    covered = [(gap.start, gap.end) for gap in found.dropped]
    for part in found.chunks:
        n_tokens = TOKENIZER.count(part.sent, add_special_tokens=True)
        assert part.n_tokens == n_tokens <= case["options"]["max_tokens"]
        assert text[part.start : part.end] == part.text
        covered.append((part.start, part.end))
    done = 0
    for start, end in sorted(covered):
        assert start <= done
        done = max(done, end)
    assert done == len(text)
    if case.get("chunks") is not None:
        assert [part.text for part in found.chunks] == case["chunks"]
    if "contexts" in case:
        assert [list(part.context) for part in found.chunks] == case["contexts"]
    assert [[gap.start, gap.end] for gap in found.dropped] == case.get("dropped", [])
