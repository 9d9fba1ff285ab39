"""Tokenizers for tests: small ones that are trained here, and published ones."""

from __future__ import annotations

import functools
import os
import pydoc_data.topics
from pathlib import Path

import jeton
from jeton import TextBatch, Tokenizer, _core

SPECIAL = "<|end|>"
TINY_VOCAB_SIZE = 800

# One quick custom pattern, one with look-ahead, which the fastest engine cannot run.
CUSTOM_PATTERN = r"[A-Za-z]+|\d|[^A-Za-z\d]+"
LOOKAHEAD_PATTERN = r"\p{L}+(?=\s)|\p{L}|\s+(?!\S)|\s|[^\s\p{L}]{1,4}"

_SPLITS: dict[str, tuple[str, bool]] = {
    "tiny-gpt2": ("gpt2", False),
    "tiny-cl100k_base": ("cl100k_base", False),
    "tiny-o200k_base": ("o200k_base", False),
    "tiny-qwen-nfc": ("qwen", True),
    "tiny-custom": (CUSTOM_PATTERN, False),
    "tiny-lookahead": (LOOKAHEAD_PATTERN, False),
}
TINY = tuple(_SPLITS)
PUBLISHED = ("cl100k_base", "o200k_base", "gpt2_hf")

THOROUGH = os.environ.get("JETON_HYPOTHESIS") == "thorough"
"""True if tests that make their own random texts make many more of them."""


@functools.cache
def prose() -> tuple[str, ...]:
    """English and code: the reference manual that comes with Python."""
    topics = pydoc_data.topics.topics
    return tuple(topics[name] for name in sorted(topics))[:30]


@functools.cache
def tiny(name: str) -> Tokenizer:
    """Train a tokenizer on `prose`; "tiny-qwen-nfc" normalizes, the others do not."""
    pattern, nfc = _SPLITS[name]
    counts = _core.PretokenCounts(pattern=pattern, normalizer="nfc" if nfc else None)
    counts.add(TextBatch.from_texts(prose()))
    return _core.train_bpe(
        counts,
        vocab_size=TINY_VOCAB_SIZE,
        min_frequency=2,
        special_tokens=[SPECIAL],
        name=name,
    )


def published(shared: Path, name: str) -> Tokenizer:
    """A published vocabulary, as a user loads it."""
    suffix = ".json.zst" if name.endswith("_hf") else ".tiktoken.zst"
    return load(shared / "data" / "vocab" / f"{name.removesuffix('_hf')}{suffix}")


@functools.cache
def load(path: Path) -> Tokenizer:
    """Load a file once for all tests."""
    return jeton.load(path)
