"""Formatting that carries provenance: ``%`` and ``format``.

Both are done twice: once by Python, which says what the result reads, and once piece by piece,
which says where the pieces come from. If the two ever disagree, the result is Python's, without
provenance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from jeton.chat.text import Text, as_text, joined, runs_of

__all__ = ["braces", "percent"]

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
