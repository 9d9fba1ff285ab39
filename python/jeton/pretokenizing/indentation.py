"""Indentation as tokens: INDENT and DEDENT instead of the spaces at the beginning of lines.

Where a line is deeper than the one before, an indent token stands; where it is less deep, one
dedent token for each level that ends; lines of the same depth carry nothing. Text between the
tokens is encoded as it is, so any tokenizer that has two special tokens to spare will do.

Decoding gives the same source back, byte for byte, whatever it is: tabs and spaces mixed, levels of
different widths, dedents to nowhere, blank lines with or without spaces. An indent token means the
width of the last level that was written out; a level of another width has its spaces behind the
token. Blank lines keep their spaces and end no level.

Cost: O(characters) plus encoding. Memory O(characters).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve

INDENT_TOKEN: Final = "<|indent|>"
"""Stands where a deeper level begins."""

DEDENT_TOKEN: Final = "<|dedent|>"
"""Stands where one level ends."""

DEFAULT_INDENT: Final = "    "
"""First level if nothing else is written: four spaces (PEP 8; the most frequent indentation in most
languages)."""

_WIDTH = re.compile(r"[ \t]*")
_LINE_END = re.compile(r"(?<=\n)")


@dataclass(frozen=True, slots=True)
class Level:
    """A token in the stream: one level more (``is_deeper``) or one less."""

    is_deeper: bool


_INDENT = Level(is_deeper=True)
_DEDENT = Level(is_deeper=False)


def _is_blank(line: str) -> bool:
    return not line.strip(" \t\r\n")


def mark_levels(source: str) -> Iterator[str | Level]:
    """Levels and the text between them, which is never empty."""
    stack = [""]
    unit = DEFAULT_INDENT
    waiting: list[str] = []
    for line in _LINE_END.split(source):
        if _is_blank(line):
            waiting.append(line)
            continue
        found = _WIDTH.match(line)
        width = found.group() if found else ""
        rest = line[len(width) :]
        marks: list[Level] = []
        while not width.startswith(stack[-1]):
            stack.pop()
            marks.append(_DEDENT)
        # A shorter line that begins a level that is open ends those above it.
        extra = width[len(stack[-1]) :]
        if extra:
            marks.append(_INDENT)
            stack.append(width)
            if extra != unit:
                unit = extra
                rest = extra + rest
        if marks:
            text = "".join(waiting)
            waiting = []
            if text:
                yield text
            yield from marks
        waiting.append(rest)
    text = "".join(waiting)
    if text:
        yield text


def restore_levels(stream: Sequence[str | Level] | Iterator[str | Level]) -> str:
    """The source of a stream: what ``mark_levels`` was given.

    A stream that it did not give (a model's own) is read as far as it means something: a dedent
    with no level to end does nothing.
    """
    stack = [""]
    unit = DEFAULT_INDENT
    found: list[str] = []
    is_new = False  # True if the last token began a level; its width may follow.
    is_marked = False
    is_line_start = True
    for event in stream:
        if isinstance(event, Level):
            if event.is_deeper:
                stack.append(stack[-1] + unit)
            elif len(stack) > 1:
                stack.pop()
            is_new = event.is_deeper
            is_marked = True
            continue
        text = event
        if not text:
            continue
        if is_new:
            width = _WIDTH.match(text)
            extra = width.group() if width else ""
            if extra:
                unit = extra
                stack[-1] = stack[-2] + extra
                text = text[len(extra) :]
        for line in _LINE_END.split(text):
            if not line:
                continue  # Behind the last line end.
            if is_line_start and (is_marked or not _is_blank(line)):
                found.append(stack[-1])
            found.append(line)
            is_line_start = line.endswith("\n")
            is_marked = False
        is_new = False
        is_marked = False
    return "".join(found)


def texts_between_levels(source: str) -> list[str]:
    """Texts of a source that a tokenizer sees: to be counted, or encoded."""
    return [event for event in mark_levels(source) if isinstance(event, str)]


class IndentationTokenizer:
    r"""A tokenizer that writes indentation with two special tokens of another one.

    Example:
        >>> import jeton
        >>> source = "if x:\n    y()\n    z()\nw()\n"
        >>> inner = jeton.train(iter([source] * 3), vocab_size=300, pattern="code", indents=True)
        >>> tokenizer = IndentationTokenizer(inner)
        >>> tokenizer.decode(tokenizer.encode(source)) == source
        True
    """

    def __init__(
        self,
        tokenizer: TokenizerLike,
        *,
        indent_token: str = INDENT_TOKEN,
        dedent_token: str = DEDENT_TOKEN,
    ) -> None:
        """Wrap a tokenizer.

        Args:
            tokenizer: Any whose decoding returns the text encoded.
            indent_token: Its special token for a level more.
            dedent_token: Its special token for a level less.

        Raises:
            UsageError: It has no such special token.
        """
        tokenizer = resolve(tokenizer)
        ids = []
        for token in (indent_token, dedent_token):
            if token not in tokenizer.special_tokens:
                raise UsageError(
                    f"the tokenizer has no special token {token!r}\n"
                    "hint: train it with indents=True, or add the token to special_tokens"
                )
            ids.append(tokenizer.special_tokens[token])
        if ids[0] == ids[1]:
            raise UsageError("indent_token and dedent_token are the same token")
        self.tokenizer = tokenizer
        self.indent_id, self.dedent_id = ids

    def encode(self, source: str) -> list[int]:
        """The ids of a source. Text that looks like one of the two tokens stays text."""
        (ids,) = self.encode_batch([source])
        return ids

    def encode_batch(
        self, sources: Sequence[str], *, num_threads: int | None = None
    ) -> list[list[int]]:
        """The ids of each source."""
        marked = [list(mark_levels(source)) for source in sources]
        texts = [event for events in marked for event in events if isinstance(event, str)]
        encoded = iter(self.tokenizer.encode_batch(texts, num_threads=num_threads).to_lists())
        rows: list[list[int]] = []
        for events in marked:
            ids: list[int] = []
            for event in events:
                if isinstance(event, Level):
                    ids.append(self.indent_id if event.is_deeper else self.dedent_id)
                else:
                    ids.extend(next(encoded))
            rows.append(ids)
        return rows

    def count(self, source: str) -> int:
        """How many ids a source has."""
        return len(self.encode(source))

    def decode(self, ids: Sequence[int] | Any) -> str:
        """The source of ids.

        Raises:
            UnknownTokenIdError: An id that the tokenizer does not have.
        """
        events: list[str | Level] = []
        start = 0
        row = [int(id) for id in ids]
        for place, id in enumerate([*row, self.indent_id]):
            if id not in (self.indent_id, self.dedent_id):
                continue
            if start < place:
                events.append(self.tokenizer.decode(row[start:place]))
            if place < len(row):
                events.append(_INDENT if id == self.indent_id else _DEDENT)
            start = place + 1
        return restore_levels(events)
