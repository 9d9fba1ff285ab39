"""Jinja's filters that would lose provenance, written so that they keep it.

Each gives the text that Jinja 3.1.6 gives (``tojson``: that transformers 5.23.0 gives, read
2026-11-21). Filters that are not here work on strings with methods that carry provenance along
(``trim``, ``upper``, ``format``, ``first``, ``reverse`` ...), or lose it (``escape``,
``urlencode``, ``pprint``, ``wordwrap`` ...).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jinja2 import pass_eval_context
from jinja2.filters import do_join, make_attrgetter
from jinja2.nodes import EvalContext
from markupsafe import Markup

from jeton.chat.text import Text, as_text, joined

_WORD_BEGINNING = re.compile(r"([-\s({\[<]+)")


def _traced(value: object) -> Text:
    text = as_text(value)
    return text if isinstance(text, Text) else Text(text)


def _replace(s: Any, old: Any, new: Any, count: int | None = None) -> str:
    return _traced(s).replace(as_text(old), as_text(new), -1 if count is None else count)


@pass_eval_context
def _join(
    eval_ctx: EvalContext, value: Iterable[Any], d: Any = "", attribute: str | int | None = None
) -> str:
    if eval_ctx.autoescape:
        return str(do_join(eval_ctx, value, d, attribute))
    if attribute is not None:
        value = map(make_attrgetter(eval_ctx.environment, attribute), value)
    return _traced(d).join(map(as_text, value))


def _title(s: Any) -> str:
    text = _traced(s)
    pieces: list[str] = []
    at = 0
    for part in _WORD_BEGINNING.split(text):
        own = text[at : at + len(part)]
        at += len(part)
        if part:
            pieces += [own[0].upper(), own[1:].lower()]
    return joined(pieces)


def _indent(
    s: Any,
    width: int | str = 4,
    first: bool = False,  # noqa: FBT001, FBT002 - as Jinja calls it
    blank: bool = False,  # noqa: FBT001, FBT002 - as above
) -> str:
    if isinstance(s, Markup):
        s = str(s)
    indention = width if isinstance(width, str) else " " * width
    # Jinja adds a line feed first, so that one at the end counts as a line.
    lines = _traced(s + "\n").splitlines()
    pieces: list[str] = []
    for index, line in enumerate(lines):
        if index:
            pieces.append("\n")
        if (line or blank) if index else first:
            pieces.append(indention)
        pieces.append(line)
    return joined(pieces)


def tojson(
    x: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - templates pass it by place, too
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002 - as above
) -> str:
    """A value as JSON. Strings keep their provenance; what JSON puts around them has none."""
    plain = json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    if not _has_runs(x):
        return plain

    def string(text: str) -> Iterator[str]:
        yield '"'
        for part, flags in Text(text, getattr(text, "_runs", ())).cut():
            escaped = json.dumps(part, ensure_ascii=ensure_ascii)[1:-1]
            yield Text.all_of(escaped, flags) if flags else escaped
        yield '"'

    between, after_key = separators or (("," if indent is not None else ", "), ": ")
    step = " " * indent if isinstance(indent, int) else indent
    written = _Json(string, between, after_key, step, sort_keys=sort_keys)
    traced = joined(written.value(x, 0))
    return traced if traced == plain else plain


def _has_runs(value: Any) -> bool:
    if isinstance(value, str):
        return isinstance(value, Text) and bool(value.runs)
    if isinstance(value, Mapping):
        return any(_has_runs(key) or _has_runs(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(map(_has_runs, value))


class _Json:
    """Writes JSON piece by piece, as ``json.dumps`` does."""

    def __init__(
        self,
        string: Callable[[str], Iterator[str]],
        between: str,
        after_key: str,
        step: str | None,
        *,
        sort_keys: bool,
    ) -> None:
        self.string = string
        self.between = between
        self.after_key = after_key
        self.step = step
        self.sort_keys = sort_keys

    def value(self, value: Any, depth: int) -> Iterator[str]:
        if isinstance(value, str):
            yield from self.string(value)
        elif isinstance(value, Mapping):
            items = sorted(value.items()) if self.sort_keys else list(value.items())
            yield from self.items("{", [self.pair(k, v, depth + 1) for k, v in items], "}", depth)
        elif isinstance(value, list | tuple):
            yield from self.items("[", [self.value(v, depth + 1) for v in value], "]", depth)
        else:
            yield json.dumps(value)

    def pair(self, key: Any, value: Any, depth: int) -> Iterator[str]:
        yield from self.string(key if isinstance(key, str) else json.dumps(key))
        yield self.after_key
        yield from self.value(value, depth)

    def items(
        self, opening: str, items: list[Iterator[str]], closing: str, depth: int
    ) -> Iterator[str]:
        yield opening
        for index, item in enumerate(items):
            if index:
                yield self.between
            yield from self.line(depth + 1)
            yield from item
        if items:
            yield from self.line(depth)
        yield closing

    def line(self, depth: int) -> Iterator[str]:
        if self.step is not None:
            yield "\n" + self.step * depth


FILTERS: dict[str, Callable[..., Any]] = {
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "title": _title,
    "tojson": tojson,
}
"""Filters by name, to be put over Jinja's own."""
