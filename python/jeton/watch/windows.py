"""Windows of requests: what is measured of each, and its sums."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Final

import numpy as np

from jeton._core import TextBatch, Tokenizer
from jeton.corpus.languages import language_class
from jeton.corpus.names import OTHER, printable
from jeton.errors import FormatError
from jeton.watch.signals import SIGNALS

# Default_Ignorable_Code_Point of Unicode, with the blocks that it fills.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)

_SCRIPT_CHARS: Final = 512
"""Characters read to tell the script: enough for a label."""


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Integers of one request; None: not known.

    Attributes:
        n_tokens: Tokens sent, overhead of a chat format included.
        n_bytes: UTF-8 bytes of the text; None without text.
        n_chars: Code points.
        n_single_byte: Tokens of one byte.
        n_unknown: Unknown tokens.
        n_special_hits: Special tokens that the text spells.
        n_invisible: Characters that nobody sees.
        n_padding: Tokens of padding beside ``n_tokens``.
        n_estimated: Tokens that were estimated before the request was counted.
        n_billed: Tokens that the service or the provider counted.
        script: Language or script of the text; empty without text.
    """

    n_tokens: int
    n_bytes: int | None = None
    n_chars: int | None = None
    n_single_byte: int | None = None
    n_unknown: int | None = None
    n_special_hits: int | None = None
    n_invisible: int | None = None
    n_padding: int | None = None
    n_estimated: int | None = None
    n_billed: int | None = None
    script: str = ""

    def levels(self) -> dict[str, int]:
        """Levels of the signals that the request has."""
        n, values = self.n_tokens, {"tokens_per_request": float(self.n_tokens)}
        if self.n_bytes:
            values["tokens_per_byte"] = n / self.n_bytes
        for name, part, whole in (
            ("single_byte_share", self.n_single_byte, n),
            ("unknown_share", self.n_unknown, n),
            ("invisible_share", self.n_invisible, self.n_chars or 0),
            ("padding_share", self.n_padding, n + (self.n_padding or 0)),
        ):
            if part is not None and whole:
                values[name] = part / whole
        if self.n_special_hits is not None:
            values["special_hit_share"] = float(self.n_special_hits > 0)
        counted = self.n_billed or n
        if self.n_estimated and counted:
            values["estimate_ratio"] = self.n_estimated / counted
        found = {}
        for name, value in values.items():
            level = SIGNALS[name].level(value)
            if level is not None:
                found[name] = level
        return found


class Measurer:
    """Measures texts under one tokenizer.

    Args:
        tokenizer: The tokenizer in use.

    Example:
        >>> import jeton
        >>> found = Measurer(jeton.load("jeton-general-32k")).measure(["It is late."])
        >>> next(found).n_chars
        11
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._is_single = np.zeros(tokenizer.vocab_size, dtype=bool)
        for id_ in _single_byte_ids(tokenizer):
            self._is_single[id_] = True
        names = sorted((name for name in tokenizer.special_tokens if name), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, names))) if names else None

    def measure(
        self, texts: Sequence[str], *, overheads: Sequence[int] | None = None
    ) -> Iterator[RequestCounts]:
        """Yield the integers of each text; ``overheads`` are tokens that a chat format adds."""
        batch = TextBatch.from_texts(texts)
        tokens = self.tokenizer.encode_batch(batch)
        ids, sizes = tokens.ids, np.diff(batch.offsets)
        unknown = self.tokenizer.unknown_id
        single = np.concatenate([[0], np.cumsum(self._is_single[ids])])
        strange = np.concatenate([[0], np.cumsum(ids == unknown)]) if unknown is not None else None
        for i, (first, last) in enumerate(pairwise(tokens.offsets.tolist())):
            text = texts[i]
            hits = 0 if self._special is None else sum(1 for _ in self._special.finditer(text))
            yield RequestCounts(
                n_tokens=last - first + (overheads[i] if overheads is not None else 0),
                n_bytes=int(sizes[i]),
                n_chars=len(text),
                n_single_byte=int(single[last] - single[first]),
                n_unknown=0 if strange is None else int(strange[last] - strange[first]),
                n_special_hits=hits,
                n_invisible=0 if text.isascii() else len(_INVISIBLE.findall(text)),
                script=language_class(text[:_SCRIPT_CHARS].lower()),
            )


def _single_byte_ids(tokenizer: Tokenizer) -> Iterator[int]:
    for id_ in range(tokenizer.vocab_size):
        try:
            if len(tokenizer.id_to_bytes(id_)) == 1:
                yield id_
        except LookupError:
            continue  # a row without a token


MAX_GROUPS: Final = 200
"""Groups kept apart, and so series of a metric. Junk in the place of a name adds none beyond it."""

_MAX_NAME: Final = 80

Group = tuple[str, str, str]
"""Route, source, script."""

AMOUNTS: Final = (
    "n_requests", "n_tokens", "n_bytes", "n_chars", "n_single_byte", "n_unknown",
    "n_special_hits", "n_invisible", "n_padding",
)  # fmt: skip


@dataclass(slots=True)
class TrafficSums:
    """Sums of one group; ``levels`` has a histogram for each signal that a request had."""

    n_requests: int = 0
    n_tokens: int = 0
    n_bytes: int = 0
    n_chars: int = 0
    n_single_byte: int = 0
    n_unknown: int = 0
    n_special_hits: int = 0
    n_invisible: int = 0
    n_padding: int = 0
    levels: dict[str, Counter[int]] = field(default_factory=dict)

    def count(self, request: RequestCounts, levels: Mapping[str, int]) -> None:
        """Add one request."""
        self.n_requests += 1
        for name in AMOUNTS[1:]:
            setattr(self, name, getattr(self, name) + (getattr(request, name) or 0))
        for name, level in levels.items():
            self.levels.setdefault(name, Counter())[level] += 1

    def add(self, other: TrafficSums) -> None:
        """Add other sums."""
        for name in AMOUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, levels in other.levels.items():
            self.levels.setdefault(name, Counter()).update(levels)

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in AMOUNTS}
        plain["levels"] = {
            name: [[level, levels[level]] for level in sorted(levels)]
            for name, levels in sorted(self.levels.items())
        }
        return plain

    @classmethod
    def from_plain(cls, plain: Any) -> TrafficSums:
        """From JSON values.

        Raises:
            FormatError: They are no sums.
        """
        try:
            amounts = {name: _count(plain[name]) for name in AMOUNTS}
            levels = {
                str(name): Counter({_whole(level): _count(n) for level, n in pairs})
                for name, pairs in plain["levels"].items()
                if name in SIGNALS
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"the sums of a group are damaged: {error!r}") from None
        return cls(**amounts, levels=levels)


@dataclass(slots=True)
class WatchSums:
    """Sums by group, of a window or of all requests."""

    groups: dict[Group, TrafficSums] = field(default_factory=dict)

    def key(self, route: str, source: str, script: str) -> Group:
        """The group under which a request is counted."""
        wanted = (_name(route), _name(source), _name(script))
        if wanted in self.groups or len(self.groups) < MAX_GROUPS - 1:
            return wanted
        return (OTHER, OTHER, OTHER)

    def count(
        self, request: RequestCounts, levels: Mapping[str, int], *, route: str, source: str
    ) -> None:
        """Add one request."""
        key = self.key(route, source, request.script)
        self.groups.setdefault(key, TrafficSums()).count(request, levels)

    def merge(self, other: WatchSums) -> WatchSums:
        """Return the sums of both; groups beyond the limit become one."""
        merged = WatchSums()
        for side in (self, other):
            for group, sums in sorted(side.groups.items()):
                merged.groups.setdefault(merged.key(*group), TrafficSums()).add(sums)
        return merged

    def total(self, *, route: str | None = None) -> TrafficSums:
        """Return the sums of one route, or of all."""
        whole = TrafficSums()
        for (name, _, _), sums in self.groups.items():
            if route is None or name == route:
                whole.add(sums)
        return whole

    @property
    def routes(self) -> tuple[str, ...]:
        """Names of the routes, sorted."""
        return tuple(sorted({route for route, _, _ in self.groups}))

    def to_plain(self) -> list[dict[str, Any]]:
        """As JSON values, in one order."""
        return [
            {"route": group[0], "source": group[1], "script": group[2], **sums.to_plain()}
            for group, sums in sorted(self.groups.items())
        ]

    @classmethod
    def from_plain(cls, plain: Any) -> WatchSums:
        """From JSON values.

        Raises:
            FormatError: They are no sums, or of too many groups.
        """
        if not isinstance(plain, list) or len(plain) > MAX_GROUPS:
            raise FormatError(f"expected a list of at most {MAX_GROUPS} groups")
        found = cls()
        for entry in plain:
            sums = TrafficSums.from_plain(entry)
            names = tuple(str(entry.get(name, "")) for name in ("route", "source", "script"))
            found.groups[(names[0], names[1], names[2])] = sums
        return found


def merged(windows: Iterable[WatchSums]) -> WatchSums:
    """Return the sums of all windows."""
    whole = WatchSums()
    for window in windows:
        whole = whole.merge(window)
    return whole


def _name(name: str) -> str:
    return printable(name[:_MAX_NAME])


def _whole(value: Any) -> int:
    if type(value) is not int or abs(value) > 1 << 32:
        raise ValueError(f"{value!r} where a level should be")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"{value!r} where a count should be")
    return value


assert set(AMOUNTS) < {item.name for item in fields(TrafficSums)}
