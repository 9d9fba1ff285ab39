"""Tokenizers that count a workload, each with its name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jeton._core import Tokenizer
from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve, several, written


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
    asked = several(tokenizers)
    loaded = [resolve(item, argument="tokenizers") for item in asked]
    index = 0
    if current is not None:
        now = resolve(current, argument="current")
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
        tokenizer.name or written(item) for item, tokenizer in zip(asked, loaded, strict=True)
    ]
    chosen = [
        Chosen(name if own_names.count(name) == 1 else written(item), tokenizer, item)
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


def _refuse_duplicates(asked: list[TokenizerLike], loaded: list[Tokenizer]) -> None:
    first: dict[str, TokenizerLike] = {}
    for item, tokenizer in zip(asked, loaded, strict=True):
        if tokenizer.fingerprint in first:
            given, earlier = written(item), written(first[tokenizer.fingerprint])
            also = "" if earlier == given else f" (it is the same as {earlier!r})"
            raise UsageError(f"tokenizer {given!r} was given twice{also}; expected each one once")
        first[tokenizer.fingerprint] = item
