"""Tokenizers that differ from a tiny one in one component, each made by the means of a user."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from jeton import Tokenizer
from jeton._core import from_canonical, from_hf_json, from_tiktoken
from tests.formats import small

SPECIAL_ID = small.SPECIAL["<|end|>"]


def ranks(*, merges: Sequence[bytes] = tuple(small.MERGES), **options: Any) -> Tokenizer:
    """The bytes and these merges, by rank."""
    tokens = [bytes([b]) for b in range(256)] + list(merges)
    lines = [f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens)]
    settings: dict[str, Any] = {"pattern": small.PATTERN, "special_tokens": small.SPECIAL}
    return from_tiktoken("".join(lines).encode(), **{**settings, **options})


def as_hf(tokenizer: Tokenizer, **changes: Any) -> Tokenizer:
    """Through ``tokenizer.json``, with keys of that file changed."""
    value = json.loads(tokenizer.to_hf_json())
    return from_hf_json(json.dumps({**value, **changes}).encode())


def with_template(tokenizer: Tokenizer) -> Tokenizer:
    """The end token stands after each text."""
    special = {"id": "<|end|>", "ids": [SPECIAL_ID], "tokens": ["<|end|>"]}
    parts = [
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "<|end|>", "type_id": 0}},
    ]
    template = {
        "type": "TemplateProcessing",
        "single": parts,
        "pair": [*parts, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|end|>": special},
    }
    return as_hf(tokenizer, post_processor=template)


def with_merges(merges: Sequence[tuple[bytes, bytes]], *, order: Sequence[int]) -> Tokenizer:
    """Build equal tokens in any order; the order of merges alone decides."""
    tokens = [bytes([b]) for b in range(256)] + [left + right for left, right in merges]
    tree = json.loads(as_hf(ranks()).to_canonical())
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    tree["added_tokens"] = []
    tree["model"]["tokens"] = [base64.b64encode(token).decode() for token in tokens]
    pairs = [[ids[left], ids[right]] for left, right in merges]
    tree["model"]["merges"] = [pairs[index] for index in order]
    return from_canonical(json.dumps(tree).encode())


def without_byte(byte: int, *, missing: str) -> Tokenizer:
    """A byte that is no token, and what becomes of it: ``skip`` or ``fail``."""
    tree = json.loads(ranks(special_tokens={}).to_canonical())
    tree["model"]["tokens"][byte] = None
    tree["model"]["missing"] = missing
    return from_canonical(json.dumps(tree).encode())
