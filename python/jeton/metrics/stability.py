"""Do ids stay when the text changes in ways that readers do not see, or hardly?

Each change is applied to whole documents. The stable part is the share of the ids that both have,
with repetitions (the Dice coefficient of the two multisets). It is 1.0 when nothing changes, and a
shift of all ids by one place costs nothing. Documents that a change leaves as they are do not
count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve


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
    """Effect of one change on ids.

    Attributes:
        change: Its name in `CHANGES`.
        n_documents: Documents that it changes.
        kept_share: Share of the ids of these documents that both have, before and after, 0 to 1;
            1.0 where it changes no document.
        token_ratio: Tokens after over tokens before, of these documents; 1.0 without any.
    """

    change: str
    n_documents: int
    kept_share: float
    token_ratio: float


def stability(
    tokenizer: TokenizerLike,
    texts: Iterable[str],
    *,
    changes: Iterable[str] | None = None,
    num_threads: int | None = None,
) -> tuple[Stability, ...]:
    """Apply each change to each document and compare the ids.

    Args:
        tokenizer: The tokenizer, or its name or path.
        texts: Documents.
        changes: Names in `CHANGES`; None: all.
        num_threads: Threads of the core; None: all.

    Raises:
        UsageError: A change is not known.
    """
    tokenizer = resolve(tokenizer)
    names = list(CHANGES) if changes is None else list(changes)
    for name in names:
        if name not in CHANGES:
            raise UsageError(f"change {name!r} is not known; expected one of {', '.join(CHANGES)}")
    documents = list(texts)
    before = _Bags.of(tokenizer, documents, np.arange(len(documents)), num_threads)
    return tuple(_stability(tokenizer, name, documents, before, num_threads) for name in names)


@dataclass(frozen=True, slots=True, eq=False)
class _Bags:
    """The ids of documents, with repetitions.

    Attributes:
        keys: uint64, ascending: ``document << 32 | id`` of each different id of each document.
        counts: int64, how often it occurs there.
        n_ids: int64 (n_documents,), ids of each document.
    """

    keys: NDArray[np.uint64]
    counts: NDArray[np.int64]
    n_ids: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        texts: list[str],
        documents: NDArray[np.int64],
        num_threads: int | None,
    ) -> _Bags:
        """Encode texts; ``documents`` says which document each is."""
        encoded = tokenizer.encode_batch(TextBatch.from_texts(texts), num_threads=num_threads)
        n_ids = np.diff(encoded.offsets)
        keys = np.repeat(documents.astype(np.uint64) << np.uint64(32), n_ids)
        keys |= encoded.ids
        keys.sort()
        # Where a key differs from the one before it; the first does.
        starts = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
        return cls(keys[starts], np.diff(starts, append=len(keys)), n_ids)

    def n_common(self, other: _Bags) -> int:
        """How many ids both have in common, document by document, with repetitions."""
        if not len(other.keys):
            return 0
        places = np.minimum(np.searchsorted(other.keys, self.keys), len(other.keys) - 1)
        is_common = other.keys[places] == self.keys
        both = np.minimum(self.counts[is_common], other.counts[places[is_common]])
        return int(both.sum())


def _stability(
    tokenizer: Tokenizer,
    name: str,
    documents: list[str],
    before: _Bags,
    num_threads: int | None,
) -> Stability:
    change = CHANGES[name]
    changed = [(index, change(text)) for index, text in enumerate(documents)]
    changed = [(index, text) for index, text in changed if text != documents[index]]
    places = np.array([index for index, _ in changed], dtype=np.int64)
    after = _Bags.of(tokenizer, [text for _, text in changed], places, num_threads)
    n_before, n_after = int(before.n_ids[places].sum()), int(after.n_ids.sum())
    return Stability(
        change=name,
        n_documents=len(changed),
        kept_share=(
            2 * after.n_common(before) / (n_before + n_after) if n_before + n_after else 1.0
        ),
        token_ratio=n_after / n_before if n_before else 1.0,
    )
