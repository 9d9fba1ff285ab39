"""Which tokenizers an audit compares, and under which names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from jeton._core import Tokenizer
from jeton.errors import UsageError
from jeton.registry import load

__all__ = ["Chosen", "TokenizerLike", "choose_tokenizers"]

TokenizerLike = str | os.PathLike[str] | Tokenizer
"""A name, a path, or a tokenizer."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A tokenizer with the name that the report gives it; ``asked`` is what the user wrote."""

    name: str
    tokenizer: Tokenizer
    asked: TokenizerLike


def choose_tokenizers(
    tokenizers: Iterable[TokenizerLike] | TokenizerLike, *, current: TokenizerLike | None
) -> tuple[list[Chosen], int]:
    """Load all tokenizers; ``(chosen, index of the current one)``.

    The current one is the first unless ``current`` says otherwise; it is added in front where it
    is not among the others. A name is the tokenizer's own, or what was asked for where two have
    the same.

    Raises:
        UnknownTokenizerError: A name is not known.
        UsageError: None was given, or one was given twice.
    """
    if isinstance(tokenizers, str | os.PathLike | Tokenizer):
        tokenizers = [tokenizers]
    asked = list(tokenizers)
    loaded = [_load(item) for item in asked]
    index = 0
    if current is not None:
        now = _load(current)
        same = [i for i, item in enumerate(loaded) if item.fingerprint == now.fingerprint]
        if same:
            index = same[0]
        else:
            asked.insert(0, current)
            loaded.insert(0, now)
    if not loaded:
        raise UsageError("no tokenizer was given; expected at least one")
    _refuse_duplicates(asked, loaded)
    own_names = [
        tokenizer.name or _written(item) for item, tokenizer in zip(asked, loaded, strict=True)
    ]
    chosen = [
        Chosen(name if own_names.count(name) == 1 else _written(item), tokenizer, item)
        for item, tokenizer, name in zip(asked, loaded, own_names, strict=True)
    ]
    names = [item.name for item in chosen]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two different tokenizers are both called {name!r}\n"
                "hint: give one another name with tokenizer.with_name(...)"
            )
    return chosen, index


def _load(item: TokenizerLike) -> Tokenizer:
    return item if isinstance(item, Tokenizer) else load(item)


def _written(item: TokenizerLike) -> str:
    """Name that the user wrote; a tokenizer without a name is called by its fingerprint."""
    if isinstance(item, Tokenizer):
        return item.name or f"unnamed-{item.fingerprint[:8]}"
    return os.fspath(item)


def _refuse_duplicates(asked: list[TokenizerLike], loaded: list[Tokenizer]) -> None:
    first: dict[str, TokenizerLike] = {}
    for item, tokenizer in zip(asked, loaded, strict=True):
        if tokenizer.fingerprint in first:
            written, earlier = _written(item), _written(first[tokenizer.fingerprint])
            also = "" if earlier == written else f" (it is the same as {earlier!r})"
            raise UsageError(f"tokenizer {written!r} was given twice{also}; expected each one once")
        first[tokenizer.fingerprint] = item
