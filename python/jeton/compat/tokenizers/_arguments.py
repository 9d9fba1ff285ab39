"""Arguments from Python, checked as the other library checks them: the same classes of errors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")

# Ids are 32 bits wide, positions 64, in both libraries.
MAX_ID: Final = (1 << 32) - 1
MAX_POSITION: Final = (1 << 64) - 1


def as_kind(value: Any, kind: type[T], name: str) -> T:
    """The value, if it is of the kind; ``TypeError`` with the argument's name otherwise."""
    checked: Any = value
    if kind is bool:
        if type(value).__name__ not in {"bool", "bool_"}:
            raise _not_of(kind, value, name)
        checked = bool(value)
    elif kind is int:
        checked = unsigned(value, name)
    elif kind is float and not isinstance(value, bool | str) and hasattr(value, "__float__"):
        checked = float(value)
    elif not isinstance(value, kind):
        raise _not_of(kind, value, name)
    if kind is str:
        # A lone surrogate is no text: UnicodeEncodeError, as there.
        checked.encode()
    return cast("T", checked)


def _not_of(kind: type[Any], value: Any, name: str) -> TypeError:
    return TypeError(f"argument {name!r}: {value!r} cannot be converted to {kind.__name__}")


def unsigned(value: Any, name: str, *, most: int = MAX_POSITION) -> int:
    """A whole number from 0; ``TypeError`` for anything else, ``OverflowError`` out of range."""
    try:
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        message = f"argument {name!r}: {kind!r} object cannot be interpreted as an integer"
        raise TypeError(message) from None
    if number < 0:
        raise OverflowError(f"argument {name!r}: {number} is negative; 0 or more is needed")
    if number > most:
        raise OverflowError(f"argument {name!r}: {number} is too large; at most {most} is possible")
    return number


def unsigned_or_none(value: Any, name: str) -> int | None:
    """A whole number from 0, or None."""
    return None if value is None else unsigned(value, name)


def one_character(value: Any) -> str:
    """A text of one character; ``ValueError`` for more or fewer, ``TypeError`` for no text."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} cannot be converted to a character")
    if len(value) != 1:
        raise ValueError("expected a string of length 1")
    value.encode()
    return value


def direction(value: Any) -> str:
    """``"left"`` or ``"right"``."""
    if not isinstance(value, str):
        raise TypeError(f"argument 'direction': {value!r} cannot be converted to str")
    if value not in {"left", "right"}:
        raise ValueError(f"Unknown `direction`: `{value}`. Use one of `left` or `right`")
    return value


# A text in which only some parts may hold control tokens: a chat as its template wrote it.


class GuardedText(str):
    """A text that is encoded with control tokens found in its trusted parts alone.

    It is a ``str``, so that it goes through the calls of ``transformers`` to the backend, which
    knows it. A call that makes another string of it loses the guard: ``n_tokens`` stays None then.

    Attributes:
        trusted_spans: The parts, as (start, end) in code points.
        control_tokens: Tokens that are guarded besides the special ones.
        marked_spans: Parts whose tokens are marked.
        n_tokens: How many tokens it became; None: it was not encoded.
        marks: For each of these tokens whether it has text of a marked part, 0 or 1.
        refused: Control tokens that stayed text, as (start, end, id).
    """

    trusted_spans: Sequence[tuple[int, int]]
    control_tokens: Sequence[str]
    marked_spans: Sequence[tuple[int, int]]
    n_tokens: int | None
    marks: list[int]
    refused: list[tuple[int, int, int]]

    __slots__ = (
        "control_tokens",
        "marked_spans",
        "marks",
        "n_tokens",
        "refused",
        "trusted_spans",
    )

    @classmethod
    def of(
        cls,
        text: str,
        trusted_spans: Sequence[tuple[int, int]],
        *,
        control_tokens: Sequence[str],
        marked_spans: Sequence[tuple[int, int]],
    ) -> GuardedText:
        """A text with its parts."""
        guarded = cls(text)
        guarded.trusted_spans = trusted_spans
        guarded.control_tokens = control_tokens
        guarded.marked_spans = marked_spans
        guarded.n_tokens = None
        guarded.marks = []
        guarded.refused = []
        return guarded

    def note(self, places: Sequence[tuple[int, int]], refused: list[tuple[int, int, int]]) -> None:
        """Keep what became of it; ``places`` are those of its tokens, with all white space."""
        self.n_tokens = len(places)
        self.refused = refused
        spans = list(self.marked_spans)
        # Both rise, so that one pass is enough.
        marks, at = [], 0
        for start, end in places:
            while at < len(spans) and spans[at][1] <= start:
                at += 1
            marks.append(int(at < len(spans) and spans[at][0] < end))
        self.marks = marks
