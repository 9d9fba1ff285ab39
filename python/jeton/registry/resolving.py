"""A tokenizer from an argument: an object, a name or a path; one function for all features.

Values that follow from a tokenizer alone, computed once and kept as long as it lives.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from jeton._core import Tokenizer
from jeton.errors import UsageError
from jeton.registry.loading import load

TokenizerLike: TypeAlias = Tokenizer | str | os.PathLike[str]
"""A tokenizer, or the name, file or folder of one."""


def resolve(given: TokenizerLike, *, argument: str = "tokenizer") -> Tokenizer:
    """Return the tokenizer of an argument; an object is returned as it is.

    Args:
        given: A tokenizer, or whatever `jeton.load` takes.
        argument: Name of the argument, for the message.

    Raises:
        UsageError: It is neither a tokenizer, nor a name, nor a path.
        UnknownTokenizerError: The name is not known.
        FormatError: The file holds no tokenizer.

    Example:
        >>> tokenizer = resolve("jeton-general-32k")
        >>> resolve(tokenizer) is tokenizer
        True
    """
    check_kind(given, argument)
    return given if isinstance(given, Tokenizer) else load(given)


def check_kind(given: Any, argument: str) -> None:
    """Refuse an argument that is neither a tokenizer, nor a name, nor a path.

    Raises:
        UsageError: It is neither.
    """
    if not isinstance(given, Tokenizer | str | os.PathLike):
        raise wrong_kind(given, argument)


def several(
    given: Iterable[TokenizerLike] | TokenizerLike | None, *, argument: str = "tokenizers"
) -> list[TokenizerLike]:
    """Return the arguments of a function that takes one or more tokenizers, unresolved.

    Example:
        >>> several("cl100k_base")
        ['cl100k_base']
        >>> several(None)
        []
    """
    if given is None:
        return []
    if isinstance(given, Tokenizer | str | os.PathLike):
        return [given]
    found: Any = given
    # Bytes are an iterable, of integers.
    if isinstance(found, bytes | bytearray) or not isinstance(found, Iterable):
        raise wrong_kind(found, argument)
    return list(found)


def written(given: TokenizerLike) -> str:
    """Return the name that the user wrote; without one, a name made of the fingerprint."""
    if isinstance(given, Tokenizer):
        return given.name or f"unnamed-{given.fingerprint[:8]}"
    return os.fspath(given)


def wrong_kind(given: Any, argument: str) -> UsageError:
    """Return the error for an argument that is no tokenizer."""
    shown = repr(given)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    kind = type(given)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return UsageError(
        f"{argument} is {shown} ({name}); expected the name of a tokenizer, the path of its file "
        "or folder, or a jeton.Tokenizer\n"
        "hint: save a tokenizer of another library, and give its file"
    )


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
