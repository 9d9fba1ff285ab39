"""Hard bounds, case by case: ``bounds/*.json``.

A case has parts of a ``tokenizer.json`` and a text; its bounds were worked out by hand. The model
is one token for each byte unless the case names another.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jeton._core import from_hf_json

FOLDER = Path(__file__).with_name("bounds")
CASES = [
    pytest.param(case, id=case["name"])
    for file in sorted(FOLDER.glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))
]
PRINTED = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))


def alphabet() -> list[str]:
    """GPT-2's alphabet of bytes."""
    moved = [byte for byte in range(256) if byte not in PRINTED]
    return [*map(chr, PRINTED), *(chr(0x100 + place) for place in range(len(moved)))]


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    vocab = {char: place for place, char in enumerate(alphabet())}
    added = []
    if "added" in case:
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
        added = [{"id": len(vocab), "content": case["added"], **flags}]
    file = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": case.get("normalizer"),
        "pre_tokenizer": case["pre_tokenizer"],
        "model": case.get("model", {"type": "BPE", "vocab": vocab, "merges": []}),
    }
    tokenizer = from_hf_json(json.dumps(file).encode())
    found = tokenizer.bounds(case["text"])
    assert [found.lower_tokens, found.upper_tokens] == case["bounds"]
    assert found.lower_tokens <= tokenizer.count(case["text"]) <= found.upper_tokens
