"""Text around chunks: prefix, context, template; shortened so that it leaves room for the chunk."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jeton._core import Tokenizer
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.chunking.boundaries import TextTable

Summarize = Callable[[str, int], str]
"""Shortens a text to at most so many tokens."""

_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Frame:
    """Heads of chunks by their first byte, and the tail of all.

    Attributes:
        starts: Bytes from which on each head is used, rising, the first 0.
        heads: Heads.
        contexts: Context in each head.
        tail: Text behind each chunk.
        n_tokens: Tokens of a chunk without context and without text.
    """

    starts: list[int]
    heads: list[str]
    contexts: list[tuple[str, ...]]
    tail: str
    n_tokens: int

    def within(self, start: int, end: int) -> Frame:
        """The heads of a part of the text, whose bytes count from its first."""
        first = bisect_right(self.starts, start) - 1
        last = max(bisect_left(self.starts, end), first + 1)
        starts = [0, *(place - start for place in self.starts[first + 1 : last])]
        return replace(
            self,
            starts=starts,
            heads=self.heads[first:last],
            contexts=self.contexts[first:last],
        )


def heading_contexts(headings: Iterable[tuple[int, int, str]]) -> list[tuple[int, tuple[str, ...]]]:
    """The headings above each place: byte from which on, headings from the outermost on.

    A chunk that begins with a heading has those above it only.
    """
    found: list[tuple[int, tuple[str, ...]]] = []
    path: list[tuple[int, str]] = []
    for place, level, words in headings:
        path = [(other, text) for other, text in path if other < level]
        found.append((place, tuple(text for _, text in path)))
        if words:
            path.append((level, words))
        found.append((place + 1, tuple(text for _, text in path)))
    return found


def make_frame(
    contexts: list[tuple[int, tuple[str, ...]]],
    tables: Sequence[TextTable] = (),
    *,
    tokenizer: Tokenizer,
    max_tokens: int,
    prefix: str,
    template: str | None,
    add_special_tokens: bool,
    summarize: Summarize | None,
) -> Frame:
    """The heads of all places of a text: context, and the head of a table whose rows go on.

    Raises:
        UsageError: The template has no place for the text, or prefix and special tokens leave no
            room for it.
    """
    before, after = _parts(template, prefix)

    def count(text: str) -> int:
        return tokenizer.count(text, add_special_tokens=add_special_tokens)

    base = count(_filled(before, "") + after)
    if base >= max_tokens:
        raise UsageError(
            f"max_tokens is {max_tokens}, and prefix, template and special tokens take {base} "
            "of them; nothing is left for the text\nhint: raise --max-tokens, or shorten the prefix"
        )
    room = (max_tokens - base) // 2

    def fits(parts: tuple[str, ...], table: str) -> bool:
        return count(_filled(before, _SEPARATOR.join(parts)) + table + after) - base <= room

    shortened: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}

    def fitting(context: tuple[str, ...], table: str) -> tuple[str, ...]:
        if not context:
            return ()
        if (context, table) not in shortened:
            shortened[context, table] = _shortened(
                context, lambda parts: fits(parts, table), room, summarize
            )
        return shortened[context, table]

    starts = [0]
    kept: list[tuple[tuple[str, ...], str]] = [((), "")]
    for start, context, table in _changes(contexts, tables):
        head = table if table and fits((), table) else ""
        new = (fitting(context, head), head)
        if start <= 0:
            kept[0] = new
        elif new != kept[-1]:
            starts.append(start)
            kept.append(new)
    heads = [_filled(before, _SEPARATOR.join(context)) + table for context, table in kept]
    return Frame(starts, heads, [context for context, _ in kept], after, base)


def _changes(
    contexts: list[tuple[int, tuple[str, ...]]], tables: Sequence[TextTable]
) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Places at which context or table change, with both from there on; "" in no table."""
    heads = [change for t in tables for change in ((t.start, t.head), (t.end, ""))]
    marks: list[tuple[int, int, Any]] = [
        *((start, 0, context) for start, context in contexts),
        *((start, 1, head) for start, head in heads),
    ]
    now: list[Any] = [(), ""]
    for start, which, value in sorted(marks, key=lambda mark: mark[0]):
        now[which] = value
        yield start, now[0], now[1]


def _parts(template: str | None, prefix: str) -> tuple[str, str]:
    """The template before and behind the text; it names the context as ``{context}``."""
    if template is None:
        return f"{_escaped(prefix)}{{context}}", ""
    if template.count("{text}") != 1:
        raise UsageError(
            f"the template {template!r} has {template.count('{text}')} places for the text; "
            "expected one\nhint: 'passage: {context}\\n{text}'"
        )
    before, after = template.split("{text}")
    if "{context}" in after:
        raise UsageError(
            f"the template {template!r} has the context behind the text; expected it before"
        )
    return f"{_escaped(prefix)}{before}", after


def _escaped(prefix: str) -> str:
    if "{context}" in prefix:
        raise UsageError("the prefix has {context}, which belongs into a template")
    return prefix


def _filled(before: str, context: str) -> str:
    # A head that ends with its context is set off from the text.
    if context and before.endswith("{context}"):
        context += "\n\n"
    return before.replace("{context}", context)


def _shortened(
    context: tuple[str, ...],
    fits: Callable[[tuple[str, ...]], bool],
    room: int,
    summarize: Summarize | None,
) -> tuple[str, ...]:
    """The context without its outermost parts, so that it fits; the last one may be summarised."""
    while context and not fits(context):
        if len(context) == 1:
            if summarize is None:
                return ()
            short = (summarize(context[0], room),)
            return short if short[0] and fits(short) else ()
        context = context[1:]
    return context
