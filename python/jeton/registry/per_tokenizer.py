"""Values that follow from a tokenizer alone, computed once and kept as long as it lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from jeton._core import Tokenizer

_T = TypeVar("_T")


class PerTokenizer(Generic[_T]):
    """A value for each tokenizer object.

    Example:
        >>> import jeton
        >>> sizes = PerTokenizer[int]()
        >>> tokenizer = jeton.load("jeton-general-32k")
        >>> sizes.get(tokenizer, lambda: tokenizer.vocab_size)
        32000
    """

    def __init__(self) -> None:
        # By identity: equal tokenizers may be objects of their own.
        self._known: dict[int, tuple[weakref.ref[Tokenizer], _T]] = {}

    def get(self, tokenizer: Tokenizer, make: Callable[[], _T]) -> _T:
        """Return the value; the first call for a tokenizer makes it."""
        key = id(tokenizer)
        found = self._known.get(key)
        if found is not None and found[0]() is tokenizer:
            return found[1]
        value = make()
        self._known[key] = (weakref.ref(tokenizer, lambda _: self._known.pop(key, None)), value)
        return value
