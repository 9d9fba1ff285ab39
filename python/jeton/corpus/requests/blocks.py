"""Blocks of a request: where each tool, instruction, message and passage stands in its text.

A request's text is its blocks in the order in which they are sent, a line break between two. A
block says which part of the request its tokens are; without blocks a prompt is of unknown parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch


class BlockKind(IntEnum):
    """Kind of a block, in the order in which the parts of a request are sent."""

    TOOL = 0
    """The definition of a tool."""
    SYSTEM = 1
    """Instructions beside the conversation, or at its head."""
    EARLIER = 2
    """A message that an answer follows, the answer included."""
    PASSAGE = 3
    """Retrieved text in the last turn: a passage of the message, or the result of a tool."""
    QUESTION = 4
    """The last turn without its passages."""
    PROMPT = 5
    """Text of which the log does not say what it is, or a document."""


_ASSISTANTS = frozenset(("assistant", "model", "gpt", "bot", "ai", "chatgpt"))
_SYSTEMS = frozenset(("system", "developer"))
_TOOLS = frozenset(("tool", "function", "toolresult", "tool_result"))
# Plain numbers: a log has millions of blocks, which go from process to process.
_SYSTEM, _EARLIER, _PASSAGE, _QUESTION = map(
    int, (BlockKind.SYSTEM, BlockKind.EARLIER, BlockKind.PASSAGE, BlockKind.QUESTION)
)

_MAX_SEARCHED = 1 << 20
"""Characters of a message in which passages are looked for: later ones stay in the question."""

_TAGS = "document|doc|passage|context|source|chunk|snippet|excerpt|search_result|article|reference"
_LABELS = "Document|Doc|Passage|Context|Source|Chunk|Snippet|Excerpt|Result|Article|Reference"
_START = re.compile(
    rf"(?:^|(?<=\n))[ \t]*(?:<(?P<tag>{_TAGS})\b[^>\n]{{0,200}}>"
    rf"|\[(?P<number>\d{{1,3}})\]"
    rf"|#{{0,4}}[ \t]*(?:{_LABELS})[ \t]*\#?(?P<label>\d{{1,3}})\b)",
    re.IGNORECASE,
)
_END = re.compile(
    r"\n[ \t]*#{0,4}[ \t]*\**(?:user[ \t]+)?(?:question|query|task|instruction)s?\**[ \t]*[:\n]",
    re.IGNORECASE,
)


def kinds_of_last_turn(roles: Sequence[str]) -> list[int]:
    """Return the kind of each message's block (`BlockKind`) by the roles of a chat.

    Messages up to the last answer are earlier turns; results of tools behind it are passages.

    Args:
        roles: The role of each message, in the order in which they are sent.

    Example:
        >>> kinds_of_last_turn(["system", "user"])
        [1, 4]
    """
    kinds: list[int] = []
    later = _QUESTION
    for role in reversed(roles):
        if role in _SYSTEMS:
            kinds.append(_SYSTEM)
        elif later == _EARLIER or role in _ASSISTANTS:
            later = _EARLIER
            kinds.append(_EARLIER)
        elif role == "user":
            kinds.append(_QUESTION)
        else:
            kinds.append(_PASSAGE if role.lower() in _TOOLS else _QUESTION)
    kinds.reverse()
    return kinds


def may_have_passages(text: str) -> bool:
    """Return False where a look at a message is enough to see that `passages_in` finds none."""
    return "<" in text or " 1" in text or "[1]" in text or "#1" in text


def passages_in(text: str) -> list[tuple[BlockKind, int, int]]:
    """Return the spans of a last message: retrieved passages, and the question around them.

    Passages are known by the marks that programs write in front of them: two or more numbers in
    brackets, numbered labels at the beginning of lines, or tags such as ``<document>``. A message
    without these is a question as a whole.

    Args:
        text: The message.

    Returns:
        Kind, first and last code point (half-open) of each span, in order and without a gap.
    """
    if not may_have_passages(text):
        return [(BlockKind.QUESTION, 0, len(text))]
    starts = [
        match
        for match in _START.finditer(text, 0, _MAX_SEARCHED)
        if match["tag"] is None or f"</{match['tag']}>" in text
    ]
    tagged = [match for match in starts if match["tag"]]
    starts = tagged or starts
    if not tagged and len(starts) < 2:
        return [(BlockKind.QUESTION, 0, len(text))]
    spans: list[tuple[BlockKind, int, int]] = []
    at = 0
    for match, following in zip(starts, [*starts[1:], None], strict=True):
        start = match.start()
        if start < at:
            continue  # inside the passage before it
        if start > at:
            spans.append((BlockKind.QUESTION, at, start))
        at = _end_of(text, match, None if following is None else following.start())
        spans.append((BlockKind.PASSAGE, start, at))
    if at < len(text):
        spans.append((BlockKind.QUESTION, at, len(text)))
    return spans


def _end_of(text: str, start: re.Match[str], following: int | None) -> int:
    """Return the end of a passage: its closing tag, the next passage, or the question."""
    if start["tag"]:
        closing = f"</{start['tag']}>"
        end = text.find(closing, start.end())
        return len(text) if end < 0 else end + len(closing)
    if following is not None:
        return following
    question = _END.search(text, start.end())
    if question is not None:
        return question.start() + 1
    # Without a label the question is the last paragraph.
    blank = text.rfind("\n\n", start.end())
    return len(text) if blank < 0 else blank + 2


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Blocks of many requests.

    Attributes:
        offsets: int64 (n_requests + 1,), the first block of each request.
        kinds: int8 (n_blocks,), values of `BlockKind`.
        starts: int64 (n_blocks,), first byte of each block in its request's text.
        ends: int64 (n_blocks,), the byte behind its last one.
    """

    offsets: NDArray[np.int64]
    kinds: NDArray[np.int8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.offsets) - 1

    @classmethod
    def of(cls, texts: Sequence[str], blocks: Sequence[Sequence[int]]) -> Blocks:
        """Return the blocks of texts, of which code points are known.

        Args:
            texts: The text of each request.
            blocks: Kind, start and end (code points) of each block, one after another; nothing
                for a text of unknown parts, which is one block.
        """
        rows = [
            own if text.isascii() else _in_bytes(text, own)
            for text, own in (
                (text, own or ((BlockKind.PROMPT, 0, len(text)) if text else ()))
                for text, own in zip(texts, blocks, strict=True)
            )
        ]
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64).reshape(-1, 3)
        sizes = np.fromiter((len(own) // 3 for own in rows), dtype=np.int64, count=len(rows))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return cls(offsets, flat[:, 0].astype(np.int8), flat[:, 1].copy(), flat[:, 2].copy())

    @classmethod
    def whole(cls, lengths: NDArray[np.int64]) -> Blocks:
        """Return one block of unknown kind for each text.

        Args:
            lengths: int64 (n,), bytes of each text.
        """
        n = len(lengths)
        kinds = np.full(n, BlockKind.PROMPT, dtype=np.int8)
        return cls(np.arange(n + 1), kinds, np.zeros(n, np.int64), lengths.astype(np.int64))

    def of_request(self, request: int) -> Iterator[tuple[BlockKind, int, int]]:
        """Yield kind, first byte and end of each block of a request."""
        for place in range(int(self.offsets[request]), int(self.offsets[request + 1])):
            yield BlockKind(int(self.kinds[place])), int(self.starts[place]), int(self.ends[place])

    def take(self, rows: NDArray[np.intp]) -> Blocks:
        """Return the blocks of some of the requests."""
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        kept = np.repeat(self.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Blocks(offsets, self.kinds[kept], self.starts[kept], self.ends[kept])

    @classmethod
    def concatenate(cls, parts: Sequence[Blocks]) -> Blocks:
        """Return the blocks of several batches, one after another."""
        sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(p.offsets) for p in parts)])
        return cls(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            np.concatenate([np.empty(0, np.int8), *(p.kinds for p in parts)]),
            np.concatenate([np.empty(0, np.int64), *(p.starts for p in parts)]),
            np.concatenate([np.empty(0, np.int64), *(p.ends for p in parts)]),
        )

    def texts(self, batch: TextBatch) -> list[bytes]:
        """Return the text of each block, in order.

        Args:
            batch: The texts of the requests.
        """
        first = np.repeat(np.asarray(batch.offsets)[:-1], np.diff(self.offsets))
        data = batch.data.data
        starts, ends = (first + self.starts).tolist(), (first + self.ends).tolist()
        return [bytes(data[a:b]) for a, b in zip(starts, ends, strict=True)]


def _in_bytes(text: str, blocks: Sequence[int]) -> list[int]:
    """Return blocks with bytes for code points."""
    found: list[int] = []
    place, n_bytes = 0, 0
    for at in range(0, len(blocks), 3):
        kind, start, end = blocks[at : at + 3]
        if start > place:
            n_bytes += _n_bytes(text[place:start])
        first = n_bytes
        n_bytes += _n_bytes(text[start:end])
        place = end
        found += (kind, first, n_bytes)
    return found


def _n_bytes(text: str) -> int:
    # A lone surrogate becomes U+FFFD, which has three bytes as well.
    return len(text) if text.isascii() else len(text.encode("utf-8", errors="surrogatepass"))
