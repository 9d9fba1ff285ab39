"""Requests as ordered blocks: tools, instructions, each part of each message, in the order sent.

A block is a hash, a length and a few facts, never a text, so that a million requests stay small. A
long text is cut into pieces, because automatic caches find beginnings inside a block as well.
"""

from __future__ import annotations

import hashlib
import json
import struct
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

PIECE_CHARS: Final = 1024
"""Characters of a text that is one piece: some 256 tokens, two steps of OpenAI's cache."""

_LEAST_BYTES: Final = 256
_MOST_BYTES: Final = 3072
_CUT_MASK: Final = 0x1FF
"""One place in 512 may end a piece: the bytes before it say so, wherever in a text they stand. Two
texts that share a passage share its pieces, though one begins with another name or time."""

MAX_PARTS: Final = 20_000
"""Blocks of a request that are kept; real ones have a few hundred."""

N_FACTS: Final = 4
"""Words in front of a request's blocks: its parameters, its agent, the provider's reason, and seven
bits of each parameter."""

_ROLES: Final = ("tools", "system", "user", "assistant", "tool")
_ROLE_OF: Final = {"developer": 1, "model": 3, "ai": 3, "function": 4, "tool_result": 4} | {
    role: number for number, role in enumerate(_ROLES)
}
_DAY: Final = 3
"""Mark of a prefix that is kept for a day."""
_MAX_WORD: Final = (1 << 32) - 1
_CONTENT: Final = (1 << 44) - 1


class PartKind(IntEnum):
    """Kind of a block."""

    TEXT = 0
    TOOL = 1
    CALL = 2
    RESULT = 3
    THINKING = 4
    PICTURE = 5
    FILE = 6


class Reason(IntEnum):
    """Reason of a miss that Anthropic states (``diagnostics.cache_miss_reason``)."""

    NONE = 0
    model_changed = 1
    system_changed = 2
    tools_changed = 3
    messages_changed = 4
    previous_message_not_found = 5
    unavailable = 6


_KINDS: Final = {
    "tool_use": PartKind.CALL, "function_call": PartKind.CALL, "tool_call": PartKind.CALL,
    "server_tool_use": PartKind.CALL, "tool_result": PartKind.RESULT,
    "function_call_output": PartKind.RESULT, "tool_call_response": PartKind.RESULT,
    "thinking": PartKind.THINKING, "redacted_thinking": PartKind.THINKING,
    "reasoning": PartKind.THINKING, "image": PartKind.PICTURE, "image_url": PartKind.PICTURE,
    "input_image": PartKind.PICTURE, "document": PartKind.FILE, "file": PartKind.FILE,
    "input_file": PartKind.FILE, "audio": PartKind.FILE, "input_audio": PartKind.FILE,
}  # fmt: skip
PARAMETERS: Final = (
    "tool_choice", "thinking", "reasoning", "reasoning_effort", "response_format", "output_format",
    "prompt_cache_key", "speed", "service_tier",
)  # fmt: skip
"""Fields beside the text whose change ends a prefix, or sends it to other servers; nine at most."""

_PARAMETER_BITS: Final = 7


@dataclass(slots=True)
class SentChat:
    """A chat as it stands in the log.

    Attributes:
        messages: Messages of any shape.
        system: Instructions beside them.
        tools: Definitions of tools.
        request: The request around them, for its parameters and a mark of its own.
    """

    messages: Sequence[Any] = ()
    system: Any = None
    tools: Any = None
    request: Mapping[str, Any] | None = None


def packed(chat: SentChat | None, agent: str, reason: str) -> bytes:
    """Return facts and blocks of a request as words of 64 bits.

    A block has two words: its hash; and, from the lowest bit on, 32 bits of length in UTF-8 bytes,
    4 of role, 4 of kind, 2 of mark (0: none, 1: 5 minutes, 2: an hour, 3: a day), 1 that is set
    for a piece that goes on the block before it, and 20 of the message's number. The highest 20
    bits of the hash of a tool's definition, and of a call, are a hash of the tool's name.

    Args:
        chat: Messages and tools; None: the log does not show it.
        agent: Id of the sub-agent that sent it; empty: none.
        reason: The provider's reason of a miss; empty: none.
    """
    number = Reason.__members__.get(reason, Reason.NONE)
    if chat is None:
        if not agent and not number:
            return b""
        return struct.pack(f"<{N_FACTS}Q", 0, _hash(agent) if agent else 0, number, 0)
    request = chat.request or {}
    given = [(name, request[name]) for name in PARAMETERS if request.get(name) is not None]
    words = [
        _hash(repr(given)) if given else 0,
        _hash(agent) if agent else 0,
        int(number),
        sum(
            (_hash(repr(value)) % ((1 << _PARAMETER_BITS) - 1) + 1)
            << _PARAMETER_BITS * PARAMETERS.index(name)
            for name, value in given
        ),
    ]
    for count, words_of_block in enumerate(_blocks(chat)):
        if count >= MAX_PARTS:
            break
        if len(words_of_block) > 1:
            words += words_of_block
        elif len(words) > N_FACTS:
            words[-1] |= words_of_block[0] << 40  # Bedrock's mark is a part of its own
    mark = _mark(request) or _DAY * (request.get("prompt_cache_retention") == "24h")
    if mark and len(words) > N_FACTS:
        words[-1] |= mark << 40  # automatic caching marks the last block
    return struct.pack(f"<{len(words)}Q", *words)


def changed_parameters(before: int, after: int) -> list[str]:
    """Return the parameters whose bits differ in the last words of two requests' facts."""
    differ = before ^ after
    bits = (1 << _PARAMETER_BITS) - 1
    return [
        name for place, name in enumerate(PARAMETERS) if differ >> _PARAMETER_BITS * place & bits
    ]


def _blocks(chat: SentChat) -> Iterator[tuple[int, ...]]:
    if isinstance(chat.tools, list):
        for place, tool in enumerate(chat.tools):
            if isinstance(tool, dict) and "cachePoint" in tool:
                yield (_mark(tool),)
            elif isinstance(tool, dict):
                words = _words(compact_json(_bare(tool)), 0, PartKind.TOOL, _mark(tool), place)
                yield _named(words, tool)
    if chat.system:
        parts = chat.system if isinstance(chat.system, list) else [chat.system]
        for place, part in enumerate(parts):
            yield _part(part, 1, place)
    for place, message in enumerate(chat.messages):
        if not isinstance(message, dict):
            yield _part(message, 2, place)
            continue
        role = _ROLE_OF.get(str(message.get("role") or message.get("from") or "user").lower(), 2)
        content = message.get("content")
        if content is None:
            content = message.get("parts")
        if content is None and "role" not in message:
            yield _part(message, role, place)  # an item of OpenAI's responses
            continue
        thought = message.get("reasoning_content")
        if isinstance(thought, str) and thought:
            yield _words(thought, role, PartKind.THINKING, 0, place)
        mark = _mark(message)
        parts = content if isinstance(content, list) else [content] if content else []
        for last, part in enumerate(parts, start=1):
            words = _part(part, role, place)
            yield (*words[:-1], words[-1] | mark << 40) if mark and last == len(parts) else words
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            yield _named(_words(compact_json(call), role, PartKind.CALL, 0, place), call)


def _part(part: Any, role: int, place: int) -> tuple[int, ...]:
    """Return the words of one part of a content."""
    if isinstance(part, str):
        return _words(part, role, PartKind.RESULT if role == 4 else PartKind.TEXT, 0, place)
    if not isinstance(part, dict):
        return _words(compact_json(part), role, PartKind.TEXT, 0, place)
    if "cachePoint" in part:
        return (_mark(part),)
    given = part.get("type")
    kind = _KINDS.get(given, PartKind.TEXT) if isinstance(given, str) else PartKind.TEXT
    if kind is PartKind.TEXT and role == 4:
        kind = PartKind.RESULT
    for name in ("text", "thinking", "content", "input_text"):
        text = part.get(name)
        if isinstance(text, str) and (kind is not PartKind.CALL):
            # Ids of calls differ from run to run, and are part of what is sent.
            own = part.get("tool_use_id") or part.get("call_id") or ""
            return _words(f"{own}{text}" if own else text, role, kind, _mark(part), place)
    words = _words(compact_json(_bare(part)), role, kind, _mark(part), place)
    return _named(words, part) if kind is PartKind.CALL else words


def _named(words: tuple[int, ...], tool: Any) -> tuple[int, ...]:
    """Return the words of a block with the name of its tool in the first one."""
    if not isinstance(tool, dict):
        return words
    inner = tool.get("function")
    name = (inner if isinstance(inner, dict) else tool).get("name")
    if not isinstance(name, str):
        return words
    return (words[0] & _CONTENT | name_key(name) << 44, *words[1:])


def name_key(name: str) -> int:
    """Return 20 bits for a tool's name."""
    return _digest(name)[0] & 0xFFFFF


def _words(text: str, role: int, kind: PartKind, mark: int, place: int) -> tuple[int, ...]:
    facts = role << 32 | kind << 36 | min(place, (1 << 20) - 1) << 43
    if len(text) <= PIECE_CHARS or kind >= PartKind.PICTURE:
        digest, size = _digest(text)
        return digest, size | facts | mark << 40
    words: list[int] = []
    for digest, size in _pieces(text):
        words += (digest, size | facts)
        facts |= 1 << 42
    words[-1] |= mark << 40
    return tuple(words)


@lru_cache(maxsize=512)
def _pieces(text: str) -> tuple[tuple[int, int], ...]:
    data = text.encode("utf-8", errors="surrogatepass")
    letters = np.frombuffer(data, dtype=np.uint8).astype(np.uint32)
    mixed = letters[:-3] * 31 + letters[1:-2] * 1009 + letters[2:-1] * 131 + letters[3:] * 7919
    cuts = (np.flatnonzero((mixed >> 3) & _CUT_MASK == 0) + 4).tolist()
    found, start, at = [], 0, 0
    while start < len(data):
        at = bisect_left(cuts, start + _LEAST_BYTES, at)
        most = min(start + _MOST_BYTES, len(data))
        end = cuts[at] if at < len(cuts) and cuts[at] < most else most
        found.append(_digest_of(data[start:end]))
        start = end
    return tuple(found)


def _digest(text: str) -> tuple[int, int]:
    return _digest_of(text.encode("utf-8", errors="surrogatepass"))


def _digest_of(data: bytes) -> tuple[int, int]:
    digest = hashlib.blake2b(data, digest_size=8).digest()
    return int.from_bytes(digest, "little"), min(len(data), _MAX_WORD)


def _hash(text: str) -> int:
    return _digest(text)[0] or 1


def _mark(part: Mapping[str, Any]) -> int:
    """Return the mark of a block: 0 none, 1 five minutes, 2 an hour, 3 a day."""
    given = part.get("cache_control") or part.get("cachePoint")
    if not isinstance(given, dict):
        return 0
    return {"1h": 2, "24h": _DAY}.get(str(given.get("ttl")), 1)


def _bare(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a block without its mark, which is no part of the text."""
    if "cache_control" in part:
        return {key: value for key, value in part.items() if key != "cache_control"}
    return part


def compact_json(value: Any) -> str:
    """JSON without spaces, as clients send it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain_value)


def plain_value(value: Any) -> str:
    """Write a value that JSON has no form for: bytes, times and decimals of a Parquet file."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def path_of(role: int, place: int) -> str:
    """Return the path of a block: ``tools[0]``, ``system[1]``, ``messages[4]``."""
    return f"{_ROLES[role] if role < 2 else 'messages'}[{place}]"


@dataclass(frozen=True, slots=True, eq=False)
class SentBlocks:
    """Blocks of many requests, as `packed` wrote them.

    Attributes:
        offsets: int64 (n + 1,), the first word of each request.
        words: uint64, facts and blocks; a request whose log shows nothing has no word.
    """

    offsets: NDArray[np.int64]
    words: NDArray[np.uint64]

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.offsets) - 1

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> SentBlocks:
        """Return the blocks of packed requests."""
        sizes = np.fromiter((len(row) >> 3 for row in rows), dtype=np.int64, count=len(rows))
        return cls(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            np.frombuffer(b"".join(rows), dtype="<u8"),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[SentBlocks]) -> SentBlocks:
        """Return the blocks of several batches, one after another."""
        sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(p.offsets) for p in parts)])
        return cls(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            np.concatenate([np.empty(0, np.uint64), *(p.words for p in parts)]),
        )

    def take(self, rows: NDArray[np.intp]) -> SentBlocks:
        """Return some of the requests."""
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        kept = np.repeat(self.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return SentBlocks(offsets, self.words[kept])

    def of_request(self, row: int) -> NDArray[np.uint64]:
        """uint64, the words of a request."""
        return self.words[self.offsets[row] : self.offsets[row + 1]]
