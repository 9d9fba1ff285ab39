"""Strings that know where they come from.

A ``Text`` is a ``str`` with runs: ranges of it that carry flags. ``TRUSTED`` is what a chat
template wrote itself; whatever has no run is somebody's data. Every operation of ``str`` that
templates use carries runs along. Where one cannot, it returns a plain string, and a plain string
has no runs: provenance that gets lost makes text untrusted, never trusted. Nothing is marked in the
text itself.

Invariant: runs rise, do not overlap or touch with equal flags, have flags other than 0, and lie
inside the text. Cost: an operation costs what it costs on ``str``, and the number of runs on top.
"""

# ruff: noqa: D102 - the methods are those of str

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import Formatter
from typing import Any, SupportsIndex

TRUSTED = 1
"""Written by the template (or named by the caller as if it were)."""
GENERATED = 2
"""Inside a ``{% generation %}`` block: what the assistant said."""
TAIL = 4
"""Flag of the text behind a final message that is to be continued; it is cut off again."""

Run = tuple[int, int, int]
"""First code point, one past the last, flags."""


def runs_of(value: str) -> tuple[Run, ...]:
    """The runs of a string; a plain one has none."""
    return value._runs if isinstance(value, Text) else ()


def as_text(value: object) -> str:
    """``str(value)``, which keeps the runs of a ``Text``."""
    return value if isinstance(value, str) else str(value)


def joined(pieces: Iterable[str]) -> str:
    """Pieces put together. A value without any runs stays a plain string."""
    parts = list(pieces)
    runs: list[Run] = []
    at = 0
    for part in parts:
        if isinstance(part, Text):
            _append(runs, part._runs, at)
        at += len(part)
    whole = "".join(parts)
    return Text(whole, tuple(runs)) if runs else whole


def _append(runs: list[Run], more: Iterable[Run], shift: int) -> None:
    for start, end, flags in more:
        if runs and runs[-1][1] == start + shift and runs[-1][2] == flags:
            runs[-1] = (runs[-1][0], end + shift, flags)
        else:
            runs.append((start + shift, end + shift, flags))


def _clipped(runs: tuple[Run, ...], start: int, stop: int) -> tuple[Run, ...]:
    return tuple(
        (max(a, start) - start, min(b, stop) - start, flags)
        for a, b, flags in runs
        if a < stop and b > start and start < stop
    )


class Text(str):
    """A string with runs. See the module."""

    __slots__ = ("_runs",)
    _runs: tuple[Run, ...]

    def __new__(cls, value: str = "", runs: tuple[Run, ...] = ()) -> Text:
        """A text whose runs keep the invariant; they are not checked."""
        self = super().__new__(cls, str.__str__(value))
        self._runs = runs
        return self

    @classmethod
    def all_of(cls, value: str, flags: int) -> Text:
        """A text that is one run."""
        return cls(value, ((0, len(value), flags),) if value else ())

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, rising."""
        return self._runs

    def with_flags(self, flags: int) -> Text:
        """Return the text with further flags on all of it."""
        marked: list[Run] = []
        at = 0
        for start, end, known in self._runs:
            if at < start:
                _append(marked, [(at, start, flags)], 0)
            _append(marked, [(start, end, known | flags)], 0)
            at = end
        if at < len(self):
            _append(marked, [(at, len(self), flags)], 0)
        return Text(self, tuple(marked))

    def _part(self, start: int, stop: int) -> Text:
        return Text(str.__getitem__(self, slice(start, stop)), _clipped(self._runs, start, stop))

    def _located(self, parts: list[str], gap: int | None) -> list[str]:
        """Parts of this text, in order, as parts that know their runs.

        ``gap``: what lies between two of them; None: white space.
        """
        found: list[str] = []
        at = 0
        for part in parts:
            start = str.find(self, part, at) if gap is None else at
            found.append(self._part(start, start + len(part)))
            at = start + len(part) + (gap or 0)
        return found

    def _recased(self, plain: str, piece: Any) -> str:
        """Another writing of the text. Characters may become several, none becomes none."""
        if len(plain) == len(self):
            return Text(plain, self._runs)
        rebuilt = joined(
            Text.all_of(piece(str(part)), flags) if flags else piece(str(part))
            for part, flags in self.cut()
        )
        # Where a character depends on its neighbours the parts may read otherwise.
        return rebuilt if rebuilt == plain else plain

    def cut(self) -> Iterator[tuple[str, int]]:
        """The text in parts of equal flags, 0 included, as plain strings."""
        at = 0
        for start, end, flags in self._runs:
            if at < start:
                yield str.__getitem__(self, slice(at, start)), 0
            yield str.__getitem__(self, slice(start, end)), flags
            at = end
        if at < len(self):
            yield str.__getitem__(self, slice(at, None)), 0

    def __str__(self) -> str:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, (str.__str__(self), self._runs)

    def __add__(self, other: str) -> str:
        return joined((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> str:
        return joined((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> str:
        count = times.__index__()
        if count <= 0 or not self:
            return Text()
        whole = str.__mul__(self, count)
        runs: list[Run] = []
        if [run[:2] for run in self._runs] == [(0, len(self))]:
            runs.append((0, len(whole), self._runs[0][2]))
        elif self._runs:
            for index in range(count):
                _append(runs, self._runs, index * len(self))
        return Text(whole, tuple(runs))

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> str:
        return percent(self, values)

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._part(start, max(start, stop))
            return joined(self._part(at, at + 1) for at in range(start, stop, step))
        plain = str.__getitem__(self, key)
        at = key.__index__()
        at += len(self) if at < 0 else 0
        return Text(plain, _clipped(self._runs, at, at + 1))

    def __iter__(self) -> Iterator[str]:
        return (self._part(at, at + 1) for at in range(len(self)))

    def capitalize(self) -> str:
        return self._recased(str.capitalize(self), str.lower)

    def casefold(self) -> str:
        return self._recased(str.casefold(self), str.casefold)

    def lower(self) -> str:
        return self._recased(str.lower(self), str.lower)

    def swapcase(self) -> str:
        return self._recased(str.swapcase(self), str.swapcase)

    def title(self) -> str:
        return self._recased(str.title(self), str.title)

    def upper(self) -> str:
        return self._recased(str.upper(self), str.upper)

    def _padded(self, plain: str, fill: str, left: int) -> str:
        right = len(plain) - len(self) - left
        return joined((fill * left, self, fill * right))

    def center(self, width: SupportsIndex, fillchar: str = " ") -> str:
        plain = str.center(self, width, fillchar)
        # An odd part goes to one side or the other by a rule of its own.
        marked = str.center("\0" * len(self), width, "\1")
        return self._padded(plain, fillchar, len(marked) - len(marked.lstrip("\1")) if self else 0)

    def ljust(self, width: SupportsIndex, fillchar: str = " ") -> str:
        return self._padded(str.ljust(self, width, fillchar), fillchar, 0)

    def rjust(self, width: SupportsIndex, fillchar: str = " ") -> str:
        plain = str.rjust(self, width, fillchar)
        return self._padded(plain, fillchar, len(plain) - len(self))

    def strip(self, chars: str | None = None) -> str:
        start = len(self) - len(str.lstrip(self, chars))
        return self._part(start, max(start, len(str.rstrip(self, chars))))

    def lstrip(self, chars: str | None = None) -> str:
        return self._part(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None) -> str:
        return self._part(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str, /) -> str:
        return self._part(len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str, /) -> str:
        return self._part(0, len(str.removesuffix(self, suffix)))

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        before, found, after = self._located(list(str.partition(self, sep)), 0)
        return before, found, after

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        before, found, after = self._located(list(str.rpartition(self, sep)), 0)
        return before, found, after

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        parts = str.split(self, sep, maxsplit)
        return self._located(parts, None if sep is None else len(sep))

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        parts = str.rsplit(self, sep, maxsplit)
        return self._located(parts, None if sep is None else len(sep))

    def splitlines(
        self,
        keepends: bool = False,  # noqa: FBT001, FBT002 - as str
    ) -> list[str]:
        lines = self._located(str.splitlines(self, keepends=True), 0)
        if keepends:
            return lines
        return [line[: len(bare)] for line, bare in zip(lines, str.splitlines(self), strict=True)]

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        most = count.__index__()
        if most == 0:
            return self
        if not old:
            # The new text stands before each character and behind the last.
            gaps = len(self) + 1 if most < 0 else min(most, len(self) + 1)
            pieces: list[str] = []
            for at in range(gaps):
                pieces += [new, self._part(at, at + 1)]
            return joined([*pieces, self._part(gaps, len(self))])
        # Cut by hand: in order, without overlap, as str.replace goes.
        pieces = []
        at = 0
        while most != 0:
            found = str.find(self, old, at)
            if found < 0:
                break
            pieces += [self._part(at, found), new]
            at = found + len(old)
            most -= 1
        if not pieces:
            return self
        return joined([*pieces, self._part(at, len(self))])

    def join(self, iterable: Iterable[str], /) -> str:
        pieces: list[str] = []
        for index, piece in enumerate(iterable):
            if not isinstance(piece, str):
                raise TypeError(
                    f"sequence item {index}: expected str instance, {type(piece).__name__} found"
                )
            if index:
                pieces.append(self)
            pieces.append(piece)
        return joined(pieces)

    def format(self, *args: Any, **kwargs: Any) -> str:
        """Only through the sandbox, which checks the fields: `braces`."""
        raise TypeError("format is for the sandbox to call")

    def format_map(self, mapping: Any, /) -> str:
        """Only through the sandbox: `braces`."""
        raise TypeError("format_map is for the sandbox to call")


# Formatting is done twice: once by Python, which says what the result reads, and once piece by
# piece, which says where the pieces come from. If the two ever disagree, the result is Python's,
# without provenance.

_CONVERSION = re.compile(
    r"%(?:\((?P<key>(?:[^()]|\([^()]*\))*)\))?"
    r"(?P<flags>[#0\- +]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+)?)?[hlL]?(?P<kind>.)",
    re.DOTALL,
)


def percent(template: Text, values: Any) -> str:
    """``template % values``."""
    plain = str.__mod__(template, values)
    try:
        traced = _percent(template, values)
    except (IndexError, KeyError, TypeError, ValueError):
        return plain
    return traced if traced == plain else plain


def _percent(template: Text, values: Any) -> str:
    mapping = isinstance(values, Mapping)
    queue = list(values) if isinstance(values, tuple) else [values]
    pieces: list[str] = []
    at = 0
    for match in _CONVERSION.finditer(template):
        pieces.append(template[at : match.start()])
        at = match.end()
        if match["kind"] == "%":
            pieces.append(template[match.end() - 1 : match.end()])
            continue
        stars = sum(match[name] == "*" for name in ("width", "precision"))
        taken = [queue.pop(0) for _ in range(stars)]
        value = values[match["key"]] if match["key"] is not None and mapping else queue.pop(0)
        if match[0].endswith("s") and len(match[0].split(")")[-1].lstrip("%")) == 1:
            pieces.append(as_text(value))
        else:
            bare = match[0] if match["key"] is None else "%" + match[0].split(")")[-1]
            pieces.append(str(bare) % (*taken, value))
    pieces.append(template[at:])
    return joined(pieces)


def braces(
    template: str, formatter: Formatter, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> str:
    """``template.format(*args, **kwargs)`` with the fields that ``formatter`` lets through."""
    plain = str.__str__(formatter.vformat(template, args, kwargs))
    whole = len(template) > 0 and [run[:2] for run in runs_of(template)] == [(0, len(template))]
    literal: Callable[[str], str] = (
        (lambda text: Text.all_of(text, runs_of(template)[0][2])) if whole else str
    )
    pieces: list[str] = []
    automatic = 0
    for text, field, spec, conversion in formatter.parse(str.__str__(template)):
        pieces.append(literal(text))
        if field is None:
            continue
        if field == "" or field[0] in ".[":
            field = f"{automatic}{field}"
            automatic += 1
        try:
            value, _ = formatter.get_field(field, args, kwargs)
        except Exception:
            return plain
        if spec or conversion not in (None, "s"):
            inner = formatter.vformat(spec or "", args, kwargs)
            pieces.append(
                str(formatter.format_field(formatter.convert_field(value, conversion), inner))
            )
        else:
            pieces.append(as_text(value))
    traced = joined(pieces)
    return traced if traced == plain else plain
