"""Differences that docs/concepts/exactness.md names and that random files leave out: still so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tokenizers import Tokenizer as HfTokenizer

from jeton._core import from_hf_json


def added(number: int, content: str, **flags: bool) -> dict[str, Any]:
    """An added token of a tokenizer.json that is not special."""
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": number, "content": content, **dict.fromkeys(names, False), **flags}


@pytest.mark.rivals
def test_added_tokens_that_normalization_makes_the_same() -> None:
    normalizers = [{"type": name} for name in ("NFKD", "StripAccents", "Lowercase")]
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(1, "\xe9", normalized=True), added(2, "\xc9", normalized=True)],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0}},
    }
    data = json.dumps(file)
    # By chance, each of 60 times: should all be equal one day, the reference has made up its mind.
    theirs = {HfTokenizer.from_str(data).encode("e").ids[0] for _ in range(60)}
    assert theirs == {1, 2}
    for _ in range(5):
        assert from_hf_json(data.encode()).encode("e") == [1]
