"""Text around chunks: prefix, context, template; shortened so that it leaves room for the chunk."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from jeton._core import Tokenizer
from jeton.errors import UsageError

__all__ = ["Frame", "Summarize", "heading_contexts", "make_frame"]

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
    *,
    tokenizer: Tokenizer,
    max_tokens: int,
    prefix: str,
    template: str | None,
    add_special_tokens: bool,
    summarize: Summarize | None,
) -> Frame:
    """The heads of all places of a text.

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
    shortened: dict[tuple[str, ...], tuple[str, ...]] = {(): ()}

    def fitting(context: tuple[str, ...]) -> tuple[str, ...]:
        if context not in shortened:
            shortened[context] = _shortened(
                context,
                lambda parts: count(_filled(before, _SEPARATOR.join(parts)) + after) - base <= room,
                room,
                summarize,
            )
        return shortened[context]

    starts, used = [0], [()]
    kept: list[tuple[str, ...]] = list(used)
    for start, context in contexts:
        short = fitting(context)
        if start <= 0:
            kept[0] = short
        elif short != kept[-1]:
            starts.append(start)
            kept.append(short)
    heads = [_filled(before, _SEPARATOR.join(context)) for context in kept]
    return Frame(starts, heads, kept, after, base)


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
