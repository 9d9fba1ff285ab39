"""The second digest of a tokenizer: of the ids that it gives to a fixed text.

The fingerprint is the digest of how a tokenizer is *written down*: two files that say the same in
different ways (merges as ranks or as a list, one pattern spelled twice) have two. The probe
digest is of what it *does*: the ids of the texts in ``probe_1.json``, which never change. Equal
digests mean equal ids on these texts, and no more than that; different ones mean that some id
differs.

The texts were written for this purpose: many languages and scripts, code, numbers, white space of
all kinds, the edges of Unicode, long runs, look-alikes of special tokens, and a shuffled mixture
of these.

Layout of what is digested (SHA-256), for each text in order: the number of its ids as an unsigned
64-bit integer, then each id as an unsigned 32-bit integer, all little-endian. A text that the
tokenizer cannot encode (``EncodeError``) has the count 2**64 - 1 and no ids. No special tokens
are added, none are allowed: look-alikes are text. The digest is written ``probe1:`` and 64
hexadecimal digits, where 1 is the version of the texts and of this layout.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from jeton._core import Tokenizer
from jeton.errors import EncodeError
from jeton.registry import TokenizerLike, resolve

__all__ = ["PROBE_VERSION", "probe_digest", "probe_sections", "probe_texts"]

PROBE_VERSION = 1
"""Version of the texts and of the layout; another text or another layout is another version."""

_FILE = Path(__file__).with_name("probe_1.json")

_CANNOT_ENCODE = (2**64 - 1).to_bytes(8, "little")
"""Stands for a text without ids; no text has as many tokens."""


@cache
def probe_sections() -> dict[str, tuple[str, ...]]:
    """The texts by what they are for, in their order."""
    table: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return {name: tuple(texts) for name, texts in table["sections"].items()}


@cache
def probe_texts() -> tuple[str, ...]:
    """All texts, in their order. They are valid Unicode, each is there once, one is empty."""
    return tuple(text for texts in probe_sections().values() for text in texts)


def probe_digest(tokenizer: TokenizerLike) -> str:
    """Digest the ids that a tokenizer gives to the probe texts.

    Args:
        tokenizer: A name, a path or a tokenizer.

    Returns:
        ``"probe1:"`` and 64 hexadecimal digits, the same on every machine and in every release
        whose tokenizer gives the same ids.

    Example:
        >>> import jeton
        >>> jeton.probe_digest("jeton-general-32k-v1")[:7]
        'probe1:'
    """
    digest = hashlib.sha256()
    for ids in _ids(resolve(tokenizer), probe_texts()):
        if ids is None:
            digest.update(_CANNOT_ENCODE)
        else:
            digest.update(len(ids).to_bytes(8, "little"))
            digest.update(np.asarray(ids, dtype="<u4").tobytes())
    return f"probe{PROBE_VERSION}:{digest.hexdigest()}"


def _ids(tokenizer: Tokenizer, texts: tuple[str, ...]) -> Iterable[np.ndarray[Any, Any] | None]:
    try:
        return list(tokenizer.encode_batch(texts))
    except EncodeError:
        # Some text has no ids; only one by one does it show which.
        return [_ids_of_one(tokenizer, text) for text in texts]


def _ids_of_one(tokenizer: Tokenizer, text: str) -> np.ndarray[Any, Any] | None:
    try:
        return tokenizer.encode_array(text)
    except EncodeError:
        return None
