"""Tokens of an answer: its own usage, in JSON or in the events of a stream, else its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from jeton._foreign import json_of

_MAX_KEPT: Final = 4 << 20
"""Bytes of an answer that are looked at; longer ones are counted by their usage alone."""
_MAX_EVENT: Final = 1 << 20
_INPUT: Final = ("prompt_tokens", "input_tokens")
_OUTPUT: Final = ("completion_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """Tokens of an answer.

    Attributes:
        input_tokens: Prompt tokens as the answer states them; None: it does not.
        output_tokens: Answer tokens as it states them; None: it does not.
        text: Text of the answer, for counting where it states none.
    """

    input_tokens: int | None
    output_tokens: int | None
    text: str


class AnswerReader:
    """Reads an answer as it passes, in bounded memory.

    Args:
        is_stream: True for server-sent events, False for one JSON value.
    """

    def __init__(self, *, is_stream: bool) -> None:
        self._is_stream = is_stream
        self._kept = bytearray()
        self._is_cut = False
        self._input: int | None = None
        self._output: int | None = None
        self._texts: list[str] = []
        self._n_chars = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self._is_stream:
            if len(self._kept) + len(data) > _MAX_KEPT:
                self._is_cut = True
            else:
                self._kept += data
            return
        self._kept += data
        *lines, rest = bytes(self._kept).split(b"\n")
        self._kept = bytearray(rest[-_MAX_EVENT:])
        for line in lines:
            if line.startswith(b"data:"):
                self._value(line[5:])

    def usage(self) -> AnswerUsage:
        """Return the tokens, when the answer has ended."""
        if not self._is_stream and not self._is_cut:
            self._value(bytes(self._kept))
        return AnswerUsage(self._input, self._output, "".join(self._texts))

    def _value(self, data: bytes) -> None:
        try:
            value = json_of(data)
        except (ValueError, RecursionError):
            return  # "[DONE]", or no JSON at all
        if not isinstance(value, dict):
            return
        # Events of the responses' stream hold the response.
        inner = value.get("response")
        usage = value.get("usage") or (inner.get("usage") if isinstance(inner, dict) else None)
        if isinstance(usage, dict):
            self._input = _first(usage, _INPUT, self._input)
            self._output = _first(usage, _OUTPUT, self._output)
        for text in _texts(value):
            if self._n_chars < _MAX_KEPT:
                self._texts.append(text)
                self._n_chars += len(text)


def _first(usage: dict[str, Any], names: tuple[str, ...], before: int | None) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return before


def _texts(value: dict[str, Any]) -> list[str]:
    """Return the answer's text in one JSON value: a message, a delta, or a completion."""
    found: list[Any] = []
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            for holder in (choice.get("message"), choice.get("delta")):
                if isinstance(holder, dict):
                    found.append(holder.get("content"))
            found.append(choice.get("text"))
    if value.get("type") == "response.output_text.delta":
        found.append(value.get("delta"))
    return [text for text in found if isinstance(text, str)]
