"""Merges of minbpe as a tokenizer of the core."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from jeton._core import Tokenizer, from_canonical, published_patterns
from jeton.errors import VocabularyError

__all__ = ["compile_merges", "split_step"]


def compile_merges(merges: Mapping[tuple[int, int], int], pattern: str) -> Tokenizer | None:
    """A tokenizer that merges like this; None where two ids stand for the same bytes.

    Raises:
        VocabularyError: A merge is of an id that there is not.
        PatternError: The pattern cannot be compiled.
    """
    tokens = {byte: bytes([byte]) for byte in range(256)}
    ordered = sorted(merges.items(), key=lambda row: row[1])
    for (left, right), new in ordered:
        if left not in tokens or right not in tokens or new in tokens:
            raise VocabularyError(
                f"the merge of {left} and {right} to {new} is not of ids made before it"
            )
        tokens[new] = tokens[left] + tokens[right]
    if len(set(tokens.values())) < len(tokens):
        return None
    size = max(tokens) + 1
    listed = [base64.b64encode(tokens[i]).decode() if i in tokens else None for i in range(size)]
    text = {"text": {"segment": "first", "type_id": 0}}
    second = {"text": {"segment": "second", "type_id": 1}}
    form = {
        "jeton": 1,
        "reference": "jeton",
        "normalizer": [],
        "added_tokens": [],
        "pretokenizer": [split_step(pattern)] if pattern else [],
        "template": {"single": [text], "pair": [text, second], "trim_offsets": None},
        "decoder": None,
        "truncation": None,
        "padding": None,
        "dropout": None,
        "model": {
            "type": "bpe",
            "tokens": listed,
            "opaque": [],
            "merges": [list(pair) for pair, _ in ordered],
            "whole_pretokens": False,
            "missing": "fail",
        },
    }
    return from_canonical(json.dumps(form).encode(), name="minbpe")


def split_step(pattern: str) -> dict[str, Any]:
    """The step that cuts text; what the pattern does not match is dropped, as by `findall`."""
    # Published patterns match any text, and have a faster way.
    whole = pattern in published_patterns().values()
    return {
        "type": "split",
        "pattern": pattern,
        "dialect": "fancy_regex",
        "unicode": "16.0",
        "behavior": "isolated" if whole else "removed",
        "invert": not whole,
        "in_byte_alphabet": False,
    }
