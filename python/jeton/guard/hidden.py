"""Judging characters without ink: payloads in runs, and the rate of those that stand alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from jeton.guard.characters import CLASSES, properties
from jeton.guard.payloads import (
    carried,
    from_hidden,
    from_selectors,
    from_symbols,
    from_tags,
    line_around,
    meaning,
    reveals_instruction,
    text_of,
)
from jeton.guard.places import TextPlace
from jeton.guard.verdict import KINDS, GuardLevel, TextFinding, named, shortened

MIN_SCATTERED: Final = 16
"""Lone characters without ink from which on they are read as one row of bits, scattered over the
text: two bytes."""

MIN_MANY: Final = 8
"""Lone characters without a reason from which on their rate is judged."""

MANY_SHARE: Final = 1 / 50
"""Share of a text's characters from which on they are many. Words of a web page with a zero-width
space each are about as many; a row of bits between letters is more."""

_REACH: Final = 2
"""Characters from one bit of a scattered row to the next, where that is in its right place."""

_SPLIT_IN_WORD: Final = 2
"""Characters without ink inside one ASCII word from which on the word is split on purpose."""

_KIND_OF_CLASS: Final = {
    "zero-width-space": "zero-width",
    "non-joiner": "joiner",
    "joiner": "joiner",
    "byte-order-mark": "byte-order-mark",
    "soft-hyphen": "soft-hyphen",
    "selector": "variation-selector",
    "ideographic-selector": "variation-selector",
    "mongolian-selector": "variation-selector",
    "tag": "tag-payload",
    "bidi-mark": "bidi-mark",
    "ignorable": "invisible",
}

_BIDI_CHARS: Final = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_BIDI = re.compile(f"[{_BIDI_CHARS}]")
_BIDI_ONLY = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]+")
_MAX_DEPTH: Final = 125
"""Nesting that the bidirectional algorithm knows (UAX #9, max_depth)."""

_FLAG_TAGS = re.compile("[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")


def judge_hidden(text: str, found: Sequence[TextPlace]) -> Iterator[TextFinding]:
    """Yield the findings of the places ``Code.HIDDEN`` of one text."""
    alone: list[TextPlace] = []
    signs: list[TextPlace] = []
    for place in found:
        run = text[place.start : place.end]
        if len(run) == 1 and has_reason(text, place.start):
            signs += [place] if run in _OPERATORS else []
            continue
        if _BIDI_ONLY.fullmatch(run) and len(set(run)) < 3 and len(run) < MIN_SCATTERED:
            # Controls are judged by line; marks among marks have no further effect.
            yield from _marks_alone(run, place)
            continue
        if len(run) == 1:
            alone.append(place)
            continue
        yield from _run(text, run, place)
    yield from _alone(text, alone, signs)
    if any(char in text for char in _BIDI_CHARS):
        yield from _bidi(text)


def _marks_alone(run: str, place: TextPlace) -> Iterator[TextFinding]:
    marks = [char for char in run if char in "\u200e\u200f\u061c"]
    if marks:
        yield TextFinding(
            "bidi-mark",
            GuardLevel.INFO,
            place.start,
            place.end,
            f"{len(marks)} direction mark{'s' if len(marks) > 1 else ''} without effect",
            characters=named(marks),
        )


def _run(text: str, run: str, place: TextPlace) -> Iterator[TextFinding]:
    if place.start and text[place.start - 1] == "\U0001f3f4" and _FLAG_TAGS.fullmatch(run):
        yield TextFinding(
            "flag-tags",
            GuardLevel.INFO,
            place.start,
            place.end,
            f"flag of the region {from_tags(run)!r}, which few fonts draw",
            payload=from_tags(run),
            characters=named(run),
        )
        return
    parts = _parts(run)
    for start, part in parts:
        kind, payload = from_hidden(part)
        if len(part) == 1:
            kind = _KIND_OF_CLASS.get(CLASSES[properties(part).kind], "invisible")
        elif (
            len(set(part)) == 1
            and (kind == "selector-payload" or len(part) < 8)
            and kind[:3] != "tag"
        ):
            # One character again and again carries nothing: programs that drop emoji leave it.
            kind, payload = _KIND_OF_CLASS.get(CLASSES[properties(part[0]).kind], "invisible"), None
        at = place.start + start
        yield TextFinding(
            kind,
            _level_of_run(part, kind, payload),
            at,
            at + len(part),
            _what_of_run(part, kind, payload),
            payload=shortened(payload),
            characters=named(part),
        )


def _parts(run: str) -> list[tuple[int, str]]:
    """A run cut where its channel changes: tags, selectors, all others."""
    starts: list[int] = []
    before = ""
    for at, char in enumerate(run):
        name = CLASSES[properties(char).kind]
        channel = "selector" if name in ("selector", "ideographic-selector") else name
        channel = channel if channel in ("tag", "selector", "bidi-control") else "symbols"
        if channel != before:
            starts.append(at)
        before = channel
    parts = [(at, run[at:end]) for at, end in pairwise([*starts, len(run)])]
    return [part for part in parts if not _BIDI.match(part[1])]


def _level_of_run(part: str, kind: str, payload: str | None) -> GuardLevel:
    if payload is not None and meaning(payload) in ("special token", "instruction"):
        return GuardLevel.CRITICAL
    if kind in ("tag-payload", "selector-payload") and len(part) > 1:
        return GuardLevel.ERROR if len(part) >= 4 else GuardLevel.WARNING
    if kind == "hidden-bits":
        return GuardLevel.ERROR if payload is not None else GuardLevel.WARNING
    return GuardLevel.INFO


def _what_of_run(part: str, kind: str, payload: str | None) -> str:
    words = KINDS[kind].words
    if payload is None:
        return f"{words}: {len(part)} in a row" if len(part) > 1 else words
    return f"{words}: {len(part)} characters carry {carried(payload)}"


_OPERATORS: Final = "\u2061\u2062\u2063\u2064"
_MIN_OF_SIGNS: Final = 8
"""Characters, at least, of text that signs of mathematics carry: fewer come by chance."""

_SIDE = re.compile(r"[A-Za-z]*")


def has_reason(text: str, at: int) -> bool:
    """Return True if a lone character without ink stands where writing asks for it.

    Signs of mathematics between two operands or alone in an element of MathML (UTR #25, 2.14), and
    non-joiners behind a letter that would join, at the end of its word: Kurdish writes a vowel so.

    Example:
        >>> has_reason("f" + chr(0x2061) + "(x)", 1), has_reason("ig" + chr(0x2062) + "nore", 2)
        (True, False)
    """
    char, left, right = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if char in _OPERATORS:
        if left == ">" and right == "<":
            return True
        before = len(_SIDE.match(text[max(0, at - 12) : at][::-1])[0])  # type: ignore[index]
        behind = len(_SIDE.match(text, at + 1, at + 13)[0])  # type: ignore[index]
        is_left = left.isalnum() or (left != "" and left in ")]}|'>\u2032")
        is_right = right.isalnum() or (right != "" and right in "([{|<\\-+\u2212\u221a")
        is_name = char == "\u2061" and before <= 6
        return is_left and is_right and behind <= 2 and (before <= 2 or is_name)
    if char != "\u200c" or not left or (right and properties(right).kind in _WORD_KINDS):
        return False
    base = next((c for c in text[max(0, at - 4) : at][::-1] if properties(c).joining != 5), left)
    is_end = right == "" or (not properties(right).is_hidden)
    return is_end and properties(base).joining in (2, 3, 4)


_WORD_KINDS: Final = frozenset(
    CLASSES.index(name) for name in ("letter", "digit", "mark", "virama", "compatible")
)


def _alone(
    text: str, alone: Sequence[TextPlace], signs: Sequence[TextPlace]
) -> Iterator[TextFinding]:
    """Lone characters: scattered bits, words split on purpose, too many, or noise."""
    by_kind: dict[str, list[TextPlace]] = {}
    for place in alone:
        name = CLASSES[properties(text[place.start]).kind]
        kind = _KIND_OF_CLASS.get(name, "invisible")
        by_kind.setdefault("selectors" if "selector" in name else kind, []).append(place)
    carriers = [
        place
        for kind in ("zero-width", "joiner", "invisible", "byte-order-mark")
        for place in by_kind.get(kind, ())
        if place.start > 0
    ]
    scattered = _scattered(text, sorted([*carriers, *signs]), "hidden-bits")
    if scattered is not None and signs and not _is_long(scattered.payload or ""):
        scattered = _scattered(text, sorted(carriers), "hidden-bits")
    selectors = _scattered(text, by_kind.get("selectors", []), "selector-payload")
    tags = _scattered(text, by_kind.get("tag-payload", []), "tag-payload")
    yield from (one for one in (scattered, selectors, tags) if one is not None)
    in_words = _in_words(text, sorted(carriers))
    for kind, places_ in by_kind.items():
        name = "variation-selector" if kind == "selectors" else kind
        n_counted = sum(place.start > 0 for place in places_)
        is_much = n_counted >= MIN_MANY and n_counted >= MANY_SHARE * len(text)
        # One selector again and again is the rest of emoji that a program dropped.
        is_much = is_much and (kind != "selectors" or len({text[p.start] for p in places_}) > 1)
        for place in places_:
            char = text[place.start]
            n_in_word = in_words.get(place.start, 0)
            level = GuardLevel.INFO
            what = KINDS[name].words
            if name == "tag-payload" or n_in_word >= _SPLIT_IN_WORD:
                level = GuardLevel.WARNING
                if n_in_word >= _SPLIT_IN_WORD:
                    what += f", one of {n_in_word} inside one word"
            elif _splits_instruction(text, place):
                level = GuardLevel.ERROR
                what += ", which splits an instruction"
            elif is_much and name not in ("soft-hyphen", "bidi-mark"):
                level = GuardLevel.WARNING
                what += f", one of {n_counted:,} in {len(text):,} characters"
            elif name == "byte-order-mark" and place.start == 0:
                what += " at the start"
            yield TextFinding(name, level, place.start, place.end, what, characters=named(char))


def _is_long(payload: str) -> bool:
    n_known = sum(char.isalnum() or char in " .,\n" for char in payload)
    is_varied = len(payload) >= _MIN_OF_SIGNS and len(set(payload)) >= _MIN_OF_SIGNS // 2
    return is_varied and n_known >= 0.8 * len(payload)


def _splits_instruction(text: str, place: TextPlace) -> bool:
    """True if the text around is an instruction without its characters without ink, and only so."""
    before, behind = text[place.start - 1 : place.start], text[place.end : place.end + 1]
    if not (before.isascii() and before.isalpha() and behind.isascii() and behind.isalpha()):
        return False
    start, end = line_around(text, place.start)
    line = text[start:end]
    return reveals_instruction(line, _without_hidden(line))


@lru_cache(maxsize=64)
def _without_hidden(line: str) -> str:
    return "".join(char for char in line if not properties(char).is_hidden)


def _scattered(text: str, carriers: Sequence[TextPlace], kind: str) -> TextFinding | None:
    if len(carriers) < (MIN_SCATTERED if kind == "hidden-bits" else 4):
        return None
    # Bits may fall on places where their characters are right: all of them in the range count.
    symbols = {text[place.start] for place in carriers}
    start, end = carriers[0].start, carriers[-1].end
    while (at := _near(text[max(0, start - _REACH) : start][::-1], symbols)) >= 0:
        start -= at + 1
    while (at := _near(text[end : end + _REACH], symbols)) >= 0:
        end += at + 1
    run = "".join(char for char in text[start:end] if char in symbols)
    payload: str | None = None
    if kind == "selector-payload" and len(set(run)) > 1:
        payload = text_of(from_selectors(run))
    elif kind == "tag-payload":
        payload = from_tags(run)
    elif kind == "hidden-bits" and len(set(run)) > 1:
        # One symbol alone is a habit of a program, however often it comes.
        payload = from_symbols(run)
    if not payload:
        return None
    is_grave = meaning(payload) in ("special token", "instruction")
    return TextFinding(
        kind,
        GuardLevel.CRITICAL if is_grave else GuardLevel.ERROR,
        start,
        end,
        f"{KINDS[kind].words}: {len(run)} characters between letters carry {carried(payload)}",
        payload=shortened(payload),
        characters=named(run),
    )


def _near(chars: str, symbols: set[str]) -> int:
    """The place of the first symbol; -1: there is none."""
    return next((at for at, char in enumerate(chars) if char in symbols), -1)


def _in_words(text: str, carriers: Sequence[TextPlace]) -> dict[int, int]:
    """For each character between ASCII letters, how many stand in the same word."""
    words: list[list[int]] = []
    reached = -1
    for place in carriers:
        start, end = place.start, place.end
        between = text[start - 1 : start] + text[end : end + 1]
        if len(between) != 2 or not (between.isascii() and between.isalpha()):
            continue
        if words and reached >= start - 1:
            words[-1].append(start)
        else:
            words.append([start])
        while end < len(text) and end - start < 64 and text[end].isascii() and text[end].isalpha():
            end += 1
        reached = end - 1
    return {start: len(word) for word in words for start in word}


_OPEN = {
    "\u202a": "\u202c",
    "\u202b": "\u202c",
    "\u202d": "\u202c",
    "\u202e": "\u202c",
} | dict.fromkeys("\u2066\u2067\u2068", "\u2069")


def _bidi(text: str) -> Iterator[TextFinding]:
    """Overrides, and what a line leaves open: the controls end with their paragraph."""
    controls = [match.start() for match in _BIDI.finditer(text)]
    ends = [match.start() for match in re.finditer("[\n\r\x85\u2028\u2029]", text)]
    stack: list[int] = []
    line = -1
    for at in controls:
        own = bisect_right(ends, at)
        if own != line:
            yield from _left_open(text, stack)
            stack, line = [], own
        char = text[at]
        if char in _OPEN:
            if len(stack) < _MAX_DEPTH:
                stack.append(at)
            is_override = char in "\u202d\u202e"
            yield TextFinding(
                "bidi-override" if is_override else "bidi-control",
                GuardLevel.WARNING if is_override else GuardLevel.INFO,
                at,
                at + 1,
                KINDS["bidi-override" if is_override else "bidi-control"].words,
                seen=_reversed(text, at) if is_override else "",
                characters=named(char),
            )
            continue
        # A closing control ends everything that was opened inside.
        opener = next(
            (i for i in range(len(stack) - 1, -1, -1) if _OPEN[text[stack[i]]] == char), None
        )
        if opener is not None and (char == "\u2069" or opener == len(stack) - 1):
            del stack[opener:]
        yield TextFinding(
            "bidi-control",
            GuardLevel.INFO,
            at,
            at + 1,
            KINDS["bidi-control"].words,
            characters=named(char),
        )
    yield from _left_open(text, stack)


def _left_open(text: str, stack: Sequence[int]) -> Iterator[TextFinding]:
    for at in stack:
        is_isolate = text[at] in "\u2066\u2067\u2068"
        yield TextFinding(
            "bidi-open",
            # Embeddings that stay open are common in old documents; isolates come from attacks.
            GuardLevel.WARNING if is_isolate else GuardLevel.INFO,
            at,
            at + 1,
            KINDS["bidi-open"].words,
            characters=named(text[at]),
        )


def _reversed(text: str, at: int) -> str:
    """The text behind an override as it is shown: backwards, if from right to left."""
    end = at + 1
    while end < len(text) and end - at < 80 and text[end] not in "\n\r\u202c":
        end += 1
    part = _BIDI.sub("", text[at + 1 : end])
    return part[::-1] if text[at] == "\u202e" else part
