"""Ids that stay whatever follows a text, its possible continuations, and bytes that are no text.

The rules are tiktoken's (0.14.0): only the tokens of the last pretoken can change, and those of
white space before it; a continuation is a token that begins inside the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jeton.compat.tiktoken._building import VocabularyTypeError

if TYPE_CHECKING:
    from jeton.compat.tiktoken.core import Encoding

_BLANKS = frozenset(b" \n\t")


def encode_with_unstable(
    encoding: Encoding, text: str, allowed: frozenset[str]
) -> tuple[list[int], list[list[int]]]:
    """Stable ids, and the sequences that may follow them, sorted."""
    ids = encoding.encode(text, allowed_special=allowed, disallowed_special=())
    n_unstable = _n_unstable(encoding, ids, _n_of_last_pretoken(encoding, text, ids, allowed))
    if n_unstable == 0:
        return ids, []
    stable, rest = ids[:-n_unstable], encoding.decode_bytes(ids[-n_unstable:])
    found = _Sequences(_encode_any(encoding, rest))
    for token in _beginning_with(encoding, rest):
        found.add([encoding._ids_of_bytes(token) or 0])
    # A token that begins with the rest from some place on is at least as long.
    longest = max(map(len, encoding._sorted_token_bytes))
    for at in range(max(1, len(rest) - longest), len(rest)):
        for token in _beginning_with(encoding, rest[at:]):
            ids = _encode_any(encoding, rest[:at] + token)
            found.add(_covering(encoding, ids, len(rest)))
    blank = _last_blank(rest)
    if blank:
        # More text may cut a run of white space before its last character.
        head = encoding.tokenizer.encode_pretoken(rest[:-blank])
        found.add(head + encoding.tokenizer.encode_pretoken(rest[-blank:]))
    return stable, found.sorted()


class _Sequences:
    """Different sequences of ids, nearly all of which begin as one of them does.

    Hashing and comparing go by what follows the shared beginning, so that long sequences cost
    little more than their copies.
    """

    def __init__(self, usual: list[int]) -> None:
        self._usual = usual
        self._known: dict[tuple[int, ...], list[int]] = {}

    def add(self, ids: list[int]) -> None:
        """Keep a sequence, once."""
        n_shared = self._n_shared(ids)
        self._known.setdefault((n_shared, *ids[n_shared:]), ids)

    def sorted(self) -> list[list[int]]:
        """All of them in the order of their ids."""
        n_shared = min((key[0] for key in self._known), default=0)
        return sorted(self._known.values(), key=lambda ids: ids[n_shared:])

    def _n_shared(self, ids: list[int]) -> int:
        """How many ids stand at the beginning of the usual sequence, too."""
        usual = self._usual
        # Differences are near the end: steps that double come to them first.
        known_apart = most = min(len(ids), len(usual))
        step = 1
        while most and ids[:most] != usual[:most]:
            known_apart, most = most, max(0, most - step)
            step *= 2
        while most < known_apart and ids[most] == usual[most]:
            most += 1
        return most


def encode_bytes(encoding: Encoding, data: bytes) -> list[int]:
    """Ids of bytes, which need not be UTF-8.

    The text that they begin with is cut as usual; its last pretoken and the rest are one.
    """
    if not isinstance(data, bytes):
        raise VocabularyTypeError(f"expected bytes, not {type(data).__name__}")
    try:
        return encoding.encode_ordinary(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        text, tail = data[: error.start].decode("utf-8"), data[error.start :]
    ids = encoding.encode_ordinary(text)
    n_last = _n_of_last_pretoken(encoding, text, ids, frozenset())
    n_unstable = _n_unstable(encoding, ids, n_last)
    if n_unstable:
        tail = encoding.decode_bytes(ids[-n_unstable:]) + tail
        ids = ids[:-n_unstable]
    return ids + encoding.tokenizer.encode_pretoken(tail)


def _n_of_last_pretoken(
    encoding: Encoding, text: str, ids: list[int], allowed: frozenset[str]
) -> int:
    """How many of the ids are those of the last pretoken; 0 if a special token ends the text."""
    if not ids or (allowed and ids[-1] in encoding._special_token_values):
        return 0
    # Only the part behind the last special token is ordinary.
    ends = [text.rfind(token) + len(token) for token in allowed if token in text]
    pretokens = encoding.tokenizer.pretokenize(text[max(ends, default=0) :])
    return len(encoding.tokenizer.encode_pretoken(pretokens[-1].encode())) if pretokens else 0


def _n_unstable(encoding: Encoding, ids: list[int], n_last: int) -> int:
    """Count the last tokens and the white space before them, which a longer text may join."""

    def is_blank(token_id: int) -> bool:
        special = token_id in encoding._special_token_values
        return not special and _BLANKS.issuperset(encoding.decode_single_token_bytes(token_id))

    if n_last and is_blank(ids[-n_last]):
        while n_last < len(ids) and is_blank(ids[-n_last - 1]):
            n_last += 1
    return n_last


def _beginning_with(encoding: Encoding, prefix: bytes) -> Iterator[bytes]:
    tokens = encoding._sorted_token_bytes
    for at in range(bisect_left(tokens, prefix), len(tokens)):
        if not tokens[at].startswith(prefix):
            return
        yield tokens[at]


def _encode_any(encoding: Encoding, data: bytes) -> list[int]:
    try:
        return encoding.tokenizer.encode(data.decode("utf-8"))
    except UnicodeDecodeError:
        return encoding.tokenizer.encode_pretoken(data)


def _covering(encoding: Encoding, ids: list[int], n_bytes: int) -> list[int]:
    """The first ids that together have so many bytes, or all."""
    # A pattern may drop text, so the bytes of the ids are counted, not those of the text.
    n_beyond = len(encoding.decode_bytes(ids)) - n_bytes
    n_ids = len(ids)
    while n_ids and n_beyond > 0:
        n_beyond -= len(encoding.decode_single_token_bytes(ids[n_ids - 1]))
        if n_beyond >= 0:
            n_ids -= 1
    return ids[:n_ids]


def _last_blank(data: bytes) -> int:
    """Bytes of the last character if it is white space and not the first; else 0."""
    for size in range(1, min(4, len(data) - 1) + 1):
        try:
            last = data[-size:].decode("utf-8")
        except UnicodeDecodeError:
            continue
        # White space as Unicode has it: Python also counts U+001C to U+001F.
        return size if last.isspace() and not "\x1c" <= last <= "\x1f" else 0
    return 0
