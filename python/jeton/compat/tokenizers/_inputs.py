"""Inputs of ``encode``: texts, words and pairs of them, in every form that is taken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jeton.compat.tokenizers._guarded import GuardedText

__all__ = ["batch_inputs", "one_input"]

# A text, or the words of one.
Sequence = str | list[str]
Input = tuple[Sequence, Sequence | None]

_WORDS = "PreTokenizedInputSequence must be Union[List[str], Tuple[str]]"
_WORDS_PAIR = (
    "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, "
    "Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]]"
)
_TEXT = "TextInputSequence must be str"
_TEXT_PAIR = "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
# The other library's own words for its single input, which its callers may look for.
_SEQUENCE = "InputSequence must be Union[List[str], Tuple[str]]"


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        # A lone surrogate: no text that any tokenizer could take.
        return False
    return True


def _text(value: Any) -> str:
    if not _is_text(value):
        raise TypeError(_TEXT)
    return value if isinstance(value, GuardedText) else str(value)


def _words(value: Any) -> list[str] | None:
    """Words, or None if it is something else."""
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple) or not all(_is_text(word) for word in value):
        return None
    return [str(word) for word in value]


def one_input(sequence: Any, pair: Any, *, is_pretokenized: bool) -> Input:
    """The input of ``encode``."""
    if not is_pretokenized:
        return _text(sequence), None if pair is None else _text(pair)
    first = _words(sequence)
    second = None if pair is None else _words(pair)
    if first is None or (pair is not None and second is None):
        raise TypeError(f"{_WORDS}; {_SEQUENCE}")
    return first, second


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, str | bytes | dict):
        return None
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else None


def _text_input(value: Any) -> Input:
    if isinstance(value, str):
        return _text(value), None
    parts = _listed(value)
    if parts is None or len(parts) != 2:
        raise TypeError(_TEXT_PAIR)
    return _text(parts[0]), _text(parts[1])


def _words_input(value: Any) -> Input:
    words = _words(value)
    if words is not None:
        return words, None
    parts = _listed(value)
    if parts is None or len(parts) != 2:
        raise TypeError(_WORDS_PAIR)
    first, second = _words(parts[0]), _words(parts[1])
    if first is None or second is None:
        raise TypeError(_WORDS)
    return first, second


def batch_inputs(inputs: Iterable[Any], *, is_pretokenized: bool) -> list[Input]:
    """The inputs of ``encode_batch``."""
    if isinstance(inputs, str | bytes | dict) or not hasattr(inputs, "__iter__"):
        raise TypeError(f"argument 'input': a list of inputs is needed, not {inputs!r}")
    if hasattr(inputs, "tolist"):
        inputs = inputs.tolist()
    read = _words_input if is_pretokenized else _text_input
    return [read(value) for value in inputs]
