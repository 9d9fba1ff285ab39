"""Do ids stay when the text changes in ways that readers do not see, or hardly?

Each change is applied to whole documents. What stays is the share of the ids that both have, with
repetitions (the Dice coefficient of the two multisets): 1.0 when nothing changes, and a shift of
all ids by one place costs nothing. Documents that a change leaves as they are do not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.errors import UsageError

__all__ = ["CHANGES", "Stability", "stability"]


def _leading_space(text: str) -> str:
    return " " + text


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


# A single space between visible characters, so that indentation stays.
_SINGLE_SPACE = re.compile(r"(?<=\S) (?=\S)")
_INDENTATION = re.compile(r"^(?: {4})+", re.MULTILINE)


def _doubled_spaces(text: str) -> str:
    return _SINGLE_SPACE.sub("  ", text)


def _tabs(text: str) -> str:
    return _INDENTATION.sub(lambda found: "\t" * (len(found[0]) // 4), text)


def _windows_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


CHANGES: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "nfc": _nfc,
        "nfd": _nfd,
        "leading_space": _leading_space,
        "doubled_spaces": _doubled_spaces,
        "tabs": _tabs,
        "windows_line_ends": _windows_line_ends,
        "lower_case": str.lower,
        "upper_case": str.upper,
    }
)
"""Composed and decomposed accents; a space before the text; every single space doubled; indentation
by tabs instead of four spaces; ``\\r\\n`` at line ends; all letters small, or capital."""


@dataclass(frozen=True, slots=True)
class Stability:
    """What one change does to ids.

    Attributes:
        change: Its name in `CHANGES`.
        n_documents: Documents that it changes.
        kept_share: Of the ids of these documents, before and after, the share that both have, 0
            to 1; 1.0 where it changes no document.
        token_ratio: Tokens after over tokens before, of these documents; 1.0 without any.
    """

    change: str
    n_documents: int
    kept_share: float
    token_ratio: float


def stability(
    tokenizer: Tokenizer,
    texts: Iterable[str],
    *,
    changes: Iterable[str] | None = None,
    num_threads: int | None = None,
) -> tuple[Stability, ...]:
    """Apply each change to each document and compare the ids.

    Args:
        tokenizer: The tokenizer.
        texts: Documents.
        changes: Names in `CHANGES`; None: all.
        num_threads: Threads of the core; None: all.

    Raises:
        UsageError: A change is not known.
    """
    names = list(CHANGES) if changes is None else list(changes)
    for name in names:
        if name not in CHANGES:
            raise UsageError(f"change {name!r} is not known; expected one of {', '.join(CHANGES)}")
    documents = list(texts)
    before = _ids(tokenizer, documents, num_threads)
    return tuple(_stability(tokenizer, name, documents, before, num_threads) for name in names)


def _stability(
    tokenizer: Tokenizer,
    name: str,
    documents: list[str],
    before: list[NDArray[np.uint32]],
    num_threads: int | None,
) -> Stability:
    change = CHANGES[name]
    changed = [(index, change(text)) for index, text in enumerate(documents)]
    changed = [(index, text) for index, text in changed if text != documents[index]]
    after = _ids(tokenizer, [text for _, text in changed], num_threads)
    n_both = n_before = n_after = 0
    for (index, _), ids in zip(changed, after, strict=True):
        n_both += _n_common(before[index], ids)
        n_before += len(before[index])
        n_after += len(ids)
    return Stability(
        change=name,
        n_documents=len(changed),
        kept_share=2 * n_both / (n_before + n_after) if n_before + n_after else 1.0,
        token_ratio=n_after / n_before if n_before else 1.0,
    )


def _n_common(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> int:
    """How many ids two lists have in common, with repetitions."""
    ids, counts = np.unique(one, return_counts=True)
    other_ids, other_counts = np.unique(other, return_counts=True)
    _, at, other_at = np.intersect1d(ids, other_ids, assume_unique=True, return_indices=True)
    return int(np.minimum(counts[at], other_counts[other_at]).sum())


def _ids(
    tokenizer: Tokenizer, documents: list[str], num_threads: int | None
) -> list[NDArray[np.uint32]]:
    encoded = tokenizer.encode_batch(TextBatch.from_texts(documents), num_threads=num_threads)
    edges = encoded.offsets.tolist()
    return [encoded.ids[start:end] for start, end in pairwise(edges)]
