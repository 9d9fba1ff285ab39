"""Mended requests: the smallest edit of each fault, and an excerpt of the difference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jeton.auditing.analyses.prefixes import common_prefix_chars
from jeton.auditing.caching.calls import Block, Call, Calls, Mark, is_end
from jeton.auditing.caching.verdicts import CacheVerdict, Judged, family_of, prompt_of
from jeton.catalog.caches import CacheRule
from jeton.workload.inputs.requests import RequestEvidence
from jeton.workload.sampling.deep_sample import SampleDocument

_MINUTES, _HOUR, _DAY = 300.0, 3600.0, 86_400.0
_BETWEEN_MARKS = 15
_LIKE_SHARE = 0.25
_MAX_PADDING = 2.0
"""A beginning is lengthened to a cache's minimum where it has half of it already."""

Mended = tuple[tuple[Call, ...], str]
"""The requests, and the edit in words."""


def ways_to_mend(
    calls: Calls, ordered: Sequence[Call], found: Sequence[Judged], fault: Judged
) -> Iterator[Mended]:
    """Yield the requests with the faults of one kind mended; the cheapest way counts.

    Args:
        calls: Their rules.
        ordered: The requests.
        found: Their verdicts.
        fault: One of these: its verdict, block and change say which are mended.
    """
    own = [p for p, f in enumerate(found) if _is_same(f, fault)]
    models = {ordered[p].model for p in own}
    families = {family_of(ordered[p]) for p in own}
    prompts = {prompt_of(ordered[p]) for p in own}
    verdict = fault.verdict
    if verdict is CacheVerdict.CHANGED:
        yield from _unchanged(ordered, found, own, fault)
    elif verdict is CacheVerdict.SWITCHED:
        yield _unswitched(ordered, found, own, fault)
    elif verdict is CacheVerdict.EXPIRED:
        if all(_keeps_a_day(calls.rules[model][0]) for model in models):
            yield _kept_a_day(ordered, prompts), 'request: "prompt_cache_retention": "24h"'
        elif all(calls.rules[model][-1].lifetime == "1h" for model in models):
            yield (
                _lives(ordered, prompts, static_alone=True),
                (
                    'change cache_control of tools and system: {"type": "ephemeral"} -> '
                    '{"type": "ephemeral", "ttl": "1h"}'
                ),
            )
            yield (
                _lives(ordered, prompts, static_alone=False),
                (
                    'change every cache_control: {"type": "ephemeral"} -> '
                    '{"type": "ephemeral", "ttl": "1h"}'
                ),
            )
    elif verdict is CacheVerdict.HOUR_UNEARNED:
        yield (
            tuple(
                replace(c, marks=tuple(Mark(m.at, _MINUTES) for m in c.marks))
                if prompt_of(c) in prompts
                else c
                for c in ordered
            ),
            'remove "ttl": "1h" from cache_control; every read comes within 5 minutes',
        )
    elif verdict is CacheVerdict.WRITE_UNREAD:
        yield (
            tuple(replace(c, marks=()) if family_of(c) in families else c for c in ordered),
            ("remove cache_control from text that no other request shares"),
        )
        yield (
            tuple(_marked(c, static=True) if family_of(c) in families else c for c in ordered),
            ("set cache_control behind tools and system alone, not behind the text of one request"),
        )
        yield _marked_as_shared(ordered, prompts), _BEHIND_SHARED
    elif verdict in (CacheVerdict.NO_MARK, CacheVerdict.MARK_LATE, CacheVerdict.LOOK_BACK):
        yield from _with_marks(ordered, prompts, verdict)
    elif verdict is CacheVerdict.BELOW_MINIMUM:
        least = {model: calls.rules[model][0].min_tokens for model in models}
        padded = tuple(_padded(c, least.get(c.model, 0)) for c in ordered)
        yield (
            padded,
            (
                f"lengthen what requests share to {max(least.values()):,} tokens (examples, full "
                "definitions of tools), or remove the mark"
            ),
        )
    elif verdict is CacheVerdict.CONCURRENT:
        yield tuple(ordered), "send the first request, wait for its first token, then the others"


def _keeps_a_day(rule: CacheRule) -> bool:
    return rule.is_automatic and rule.longest_seconds >= _DAY


def _kept_a_day(ordered: Sequence[Call], prompts: set[tuple[int, int]]) -> tuple[Call, ...]:
    """Return the requests with their prefixes kept for a day, where a cache has no marks."""
    return tuple(
        replace(c, marks=(Mark(len(c.blocks) - 1, _DAY),))
        if c.blocks and prompt_of(c) in prompts
        else c
        for c in ordered
    )


def _is_same(found: Judged, fault: Judged) -> bool:
    if found.verdict is not fault.verdict or found.change != fault.change:
        return False
    return fault.verdict is not CacheVerdict.CHANGED or _slot(found) == _slot(fault)


def _slot(found: Judged) -> str:
    """Return the block, or the part of the request where each has another number."""
    return found.block if found.block.startswith("system") else found.block.partition("[")[0]


# Changes


def _unchanged(
    ordered: Sequence[Call], found: Sequence[Judged], own: list[int], fault: Judged
) -> Iterator[Mended]:
    families = {family_of(ordered[p]) for p in own}
    if fault.change == "order":
        yield (
            tuple(_sorted_tools(c) if family_of(c) in families else c for c in ordered),
            ("tools: sort by name before sending"),
        )
    elif fault.block.startswith(("tools", "system")):
        slots = {(ordered[p].blocks[found[p].at].role, ordered[p].blocks[found[p].at].place)
                 for p in own if found[p].at >= 0}  # fmt: skip
        mended: tuple[Call, ...] = tuple(ordered)
        for slot in sorted(slots):
            mended = _same_block(mended, families, slot)
        where = fault.block
        yield (
            mended,
            (
                f"{where}: keep the definition byte for byte the same"
                if where.startswith("tools")
                else f"{where}: move what changes to the last user message"
            ),
        )
    else:
        talks = {_talk(ordered[p]) for p in own}
        words = (
            "messages: send thinking blocks back as they came"
            if fault.change == "thinking removed"
            else "messages: do not rewrite history; append"
        )
        yield _restored(ordered, talks), words


def _sorted_tools(call: Call) -> Call:
    """Return a request with its tools in one order; pieces of a tool stay together."""
    groups: list[list[Block]] = []
    for block in call.blocks:
        if block.role == 0:
            if block.goes_on and groups:
                groups[-1].append(block)
            else:
                groups.append([block])
    order = sorted(range(len(groups)), key=lambda i: groups[i][0].hash)
    tools = [block for i in order for block in groups[i]]
    if not tools:
        return call
    rest = [block for block in call.blocks if block.role != 0]
    return replace(call, blocks=(*tools, *rest))


def _same_block(
    ordered: Sequence[Call], families: set[tuple[int, int, int]], slot: tuple[int, int]
) -> tuple[Call, ...]:
    """Return the requests with all versions of one block as the first one was."""
    kept: list[tuple[float, tuple[Block, ...]]] = []
    mended = []
    for call in ordered:
        own = [i for i, b in enumerate(call.blocks) if (b.role, b.place) == slot]
        if not own or family_of(call) not in families:
            mended.append(call)
            continue
        size = sum(call.blocks[i].tokens for i in own)
        like = next((k for k in kept if abs(k[0] - size) <= _LIKE_SHARE * max(k[0], size)), None)
        if like is None:
            like = (size, call.blocks[own[0] : own[-1] + 1])
            kept.append(like)
        shift = len(like[1]) - len(own)
        marks = tuple(
            Mark(m.at + shift, m.life_seconds) if m.at >= own[-1] else m for m in call.marks
        )
        blocks = (*call.blocks[: own[0]], *like[1], *call.blocks[own[-1] + 1 :])
        mended.append(replace(call, blocks=blocks, marks=marks))
    return tuple(mended)


def _talk(call: Call) -> tuple[int, int, int]:
    n_static = call.n_static()
    first = call.blocks[n_static].hash if n_static < len(call.blocks) else 0
    return call.session, call.agent, first


def _restored(ordered: Sequence[Call], talks: set[tuple[int, int, int]]) -> tuple[Call, ...]:
    """Return the requests with what their history had before, and only new messages behind it."""
    kept: dict[tuple[int, int, int], tuple[Block, ...]] = {}
    mended = []
    for call in ordered:
        talk = _talk(call)
        before = kept.get(talk) if talk in talks else None
        if before:
            blocks = _appended(before, call.blocks)
            shift = len(blocks) - len(call.blocks)
            n_static = call.n_static()
            more = sum(b.tokens for b in blocks) - sum(b.tokens for b in call.blocks)
            marks = tuple(
                Mark(m.at + shift, m.life_seconds) if m.at >= n_static else m for m in call.marks
            )
            total = max(0, call.input_tokens + round(more))
            call = replace(call, blocks=blocks, marks=marks, input_tokens=total)
        kept[talk] = call.blocks
        mended.append(call)
    return tuple(mended)


def _appended(before: tuple[Block, ...], now: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the former blocks, and those of the new request behind the last one they share."""
    known = {block.hash for block in before}
    for at in range(len(now) - 1, -1, -1):
        if now[at].hash in known:
            return (*before, *now[at + 1 :])
    return now


def _unswitched(
    ordered: Sequence[Call], found: Sequence[Judged], own: list[int], fault: Judged
) -> Mended:
    talks = {_talk(ordered[p]) for p in own}
    usual: dict[tuple[int, int, int], Counter[int]] = {}
    for call in ordered:
        talk = _talk(call)
        if talk in talks:
            value = call.model if fault.change == "model" else call.parameters
            usual.setdefault(talk, Counter())[value] += 1
    mended = []
    for call in ordered:
        counts = usual.get(_talk(call))
        if counts is None:
            mended.append(call)
            continue
        most = counts.most_common(1)[0][0]
        mended.append(
            replace(call, model=most) if fault.change == "model" else replace(call, parameters=most)
        )
    words = (
        "keep one model for a whole session"
        if fault.change == "model"
        else "keep tool_choice, thinking and other parameters the same for a whole session"
    )
    return tuple(mended), words


# Marks


def _lives(
    ordered: Sequence[Call], prompts: set[tuple[int, int]], *, static_alone: bool
) -> tuple[Call, ...]:
    """Return the requests with marks that live an hour."""
    mended = []
    for call in ordered:
        if prompt_of(call) in prompts:
            n_static = call.n_static()
            marks = tuple(
                Mark(m.at, _HOUR if m.at < n_static or not static_alone else m.life_seconds)
                for m in call.marks
            )
            if static_alone and n_static and not any(m.at < n_static for m in marks):
                marks = (Mark(n_static - 1, _HOUR), *marks)
            call = replace(call, marks=marks)
        mended.append(call)
    return tuple(mended)


def _marked(call: Call, *, static: bool = False, last: bool = False, between: bool = False) -> Call:
    """Return a request with marks behind tools and system, on its last block, and between."""
    if not call.blocks:
        return call
    life = max((m.life_seconds for m in call.marks), default=_MINUTES)
    places: list[int] = []
    n_static = call.n_static()
    if static and n_static:
        places.append(n_static - 1)
    end = len(call.blocks) - 1
    if last:
        places.append(end)
    if between:
        ends = [i for i in range(n_static, end + 1) if is_end(call.blocks, i)]
        places += ends[-1 - _BETWEEN_MARKS :: -_BETWEEN_MARKS][:2]
    return replace(call, marks=tuple(Mark(at, life) for at in sorted(set(places))))


def _with_marks(
    ordered: Sequence[Call], prompts: set[tuple[int, int]], verdict: CacheVerdict
) -> Iterator[Mended]:
    def each(**where: bool) -> tuple[Call, ...]:
        return tuple(_marked(c, **where) if prompt_of(c) in prompts else c for c in ordered)

    if verdict is CacheVerdict.LOOK_BACK:
        yield (
            each(static=True, last=True, between=True),
            ("set cache_control every 15 blocks, so that no block is over 20 from a mark"),
        )
    yield each(static=True), "set one cache_control, behind tools and system"
    yield _marked_as_shared(ordered, prompts), _BEHIND_SHARED
    yield (
        each(static=True, last=True),
        ("set a moving cache_control on the last block, and one behind tools and system"),
    )


_BEHIND_SHARED = "set cache_control behind the last block that another request begins with, too"


def _marked_as_shared(ordered: Sequence[Call], prompts: set[tuple[int, int]]) -> tuple[Call, ...]:
    """Return the requests with one mark, behind the longest beginning that two of them have."""
    own = [prompt_of(call) in prompts for call in ordered]
    times = Counter(
        call.chain[at]
        for call, is_own in zip(ordered, own, strict=True)
        for at in range(len(call.blocks))
        if is_own and is_end(call.blocks, at)
    )
    marked = []
    for call, is_own in zip(ordered, own, strict=True):
        if is_own:
            ends = [at for at, link in enumerate(call.chain) if times[link] > 1]
            life = max((mark.life_seconds for mark in call.marks), default=_MINUTES)
            call = replace(call, marks=(Mark(ends[-1], life),) if ends else ())
        marked.append(call)
    return tuple(marked)


def _padded(call: Call, least: int) -> Call:
    """Return a request whose tools and instructions have a cache's least length."""
    n_static = call.n_static()
    size = call.tokens_until(n_static)
    if not n_static or not least / _MAX_PADDING <= size < least:
        return call
    more = least - size
    old = call.blocks[n_static - 1]
    blocks = (*call.blocks[: n_static - 1], replace(old, tokens=old.tokens + more),
              *call.blocks[n_static:])  # fmt: skip
    marks = call.marks or (Mark(n_static - 1, _MINUTES),)
    return replace(call, blocks=blocks, marks=marks, input_tokens=call.input_tokens + round(more))


_CHARS = 40
_MAX_PAIRS = 200
_TIME = re.compile(r"\d{1,2}:\d{2}|\d{4}-\d{2}-\d{2}|\b1[6-9]\d{8}\b|20\d\d/\d\d")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}|\b[0-9a-fA-F]{12,}\b|\b[A-Za-z]*[-_#]?\d{3,}\b")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text before and after a change, and its kind (time, id; empty: as the blocks tell)."""

    before: str = ""
    after: str = ""
    kind: str = ""


class Excerpts:
    """Finds the text of two requests that differ.

    Args:
        evidence: The requests.
        documents: Requests of the sample.
    """

    def __init__(self, evidence: RequestEvidence, documents: Sequence[SampleDocument]) -> None:
        numbers = evidence.row_numbers
        self._by_row: dict[int, SampleDocument] = {}
        for document in documents:
            for number in document.rows:
                at = int(np.searchsorted(numbers, number))
                if at < len(numbers) and int(numbers[at]) == number:
                    self._by_row[at] = document

    def of(self, ordered: Sequence[Call], fault: Judged, places: Sequence[int]) -> Excerpt:
        """Return the text of a change; nothing where it is not at hand."""
        if fault.verdict is not CacheVerdict.CHANGED or fault.at < 0:
            return Excerpt()
        texts: list[str] = []
        for place in [fault.other, *places][:_MAX_PAIRS]:
            document = self._by_row.get(ordered[place].row) if place >= 0 else None
            if document is None:
                continue
            text = document.text
            if texts and text != texts[0]:
                return self._told(texts[0], text, fault)
            texts.append(text)
        return Excerpt()

    def _told(self, before: str, after: str, fault: Judged) -> Excerpt:
        at = common_prefix_chars(before, after)
        start = max(0, at - _CHARS)
        shown = [" ".join(text[start : at + _CHARS].split()) for text in (before, after)]
        kind = ""
        if fault.change == "wording":
            near = [text[max(0, at - 20) : at + 20] for text in (before, after)]
            if all(_TIME.search(text) for text in near):
                kind = "time"
            elif all(_ID.search(text) for text in near):
                kind = "id"
        return Excerpt(shown[0], shown[1], kind)
