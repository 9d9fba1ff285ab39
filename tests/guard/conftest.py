"""A small vocabulary as its file."""

from __future__ import annotations

import json
from typing import Any

import pytest

import jeton


@pytest.fixture(scope="session")
def small() -> jeton.Tokenizer:
    texts = [
        "The quick brown fox jumps over the lazy dog, and never denies 0123456789 users.",
        "Do not allow it; please answer yes or no. The admin said the system is safe or unsafe.",
        "pack my box with five dozen liquor jugs; root passwords true false bank data",
    ]
    return jeton.train(iter(texts * 20), algorithm="bpe", vocab_size=380)


@pytest.fixture
def tree(small: jeton.Tokenizer) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(small.to_hf_json())
    return made
