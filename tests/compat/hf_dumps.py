"""Dump of an encoding for comparison: everything, windows included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def dump(encoding: Any, *, depth: int = 1) -> dict[str, Any]:
    return {
        "ids": encoding.ids,
        "type_ids": encoding.type_ids,
        "tokens": encoding.tokens,
        "word_ids": encoding.word_ids,
        "offsets": encoding.offsets,
        "special_tokens_mask": encoding.special_tokens_mask,
        "attention_mask": encoding.attention_mask,
        "sequence_ids": encoding.sequence_ids,
        "n_sequences": encoding.n_sequences,
        "overflowing": [dump(part, depth=depth - 1) for part in encoding.overflowing]
        if depth
        else None,
    }


def outcome(call: Callable[..., Any], *arguments: Any) -> tuple[Any, BaseException | None]:
    """Return a call's value and its error; the other library's panics are no ``Exception``."""
    try:
        return call(*arguments), None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return None, error


def same_outcome(
    theirs: tuple[Any, BaseException | None],
    ours: tuple[Any, BaseException | None],
    what: object = "",
) -> None:
    """Equal results, or both an error: of the same class where the other library has one."""
    assert (theirs[1] is None) == (ours[1] is None), (what, theirs, ours)
    assert theirs[0] == ours[0], what
    if theirs[1] is None:
        return
    # Panics of theirs are errors of ours; ours are never anything but an Exception.
    assert isinstance(ours[1], Exception)
    if type(theirs[1]).__name__ != "PanicException":
        assert isinstance(ours[1], type(theirs[1])), (what, theirs, ours)
