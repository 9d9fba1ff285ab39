"""Passages that one text holds more than once: whole prompts, paragraphs, quoted mail.

A repeated passage begins at a cut (the beginning of a line or sentence, or behind a colon, quote
or bracket) and ends at one, so that what is left still reads. Greedy from left to right, as LZ77
copies (Ziv and Lempel 1977): each passage is compared with its first occurrence, whatever its
length.
"""

from __future__ import annotations

import re

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

__all__ = ["MIN_PASSAGE_CHARS", "MIN_UNIT_CHARS", "without_repeated_passages"]

MIN_PASSAGE_CHARS = 120
"""Characters of a passage that does not come twice in one document by chance."""

MIN_UNIT_CHARS = 16
"""Characters of a text that is sent several times over as a whole; shorter ones may be meant so."""

_MAX_SEPARATOR_CHARS = 16
"""Characters between the copies of a text that is nothing else."""

_KEY_CHARS = 48
"""Characters that must be equal for a place to be compared at all."""

_CUTS = re.compile(r"""\n\s*|[.!?]["')\]]*\s+|[。！？]|: |[>"“(\[{]""")  # noqa: RUF001
_ENDS = re.compile(r"""\n|[.!?]["')\]]*(?=\s|$)|[。！？]""")  # noqa: RUF001


def without_repeated_passages(text: str) -> tuple[str, int]:
    """Keep the first of equal passages of a text (a `rewriting.Rewrite`)."""
    if len(text) < 2 * MIN_UNIT_CHARS:
        return text, 0
    unit = _unit(text)
    if unit:
        return unit, MAX_UTF8_BYTES * (len(text) - len(unit))
    if len(text) < 2 * MIN_PASSAGE_CHARS:
        return text, 0
    shorter, n_bytes = _without_copies(text)
    quoted, more = _without_quoted_lines(shorter)
    return quoted, n_bytes + more


def _unit(text: str) -> str:
    """What a text is two or more copies of, alike separated; empty where it is not."""
    body = text.strip()
    key = body[:MIN_UNIT_CHARS]
    place = body.find(key, MIN_UNIT_CHARS)
    for _ in range(3):
        if place < 0 or 2 * place > len(body) + _MAX_SEPARATOR_CHARS:
            return ""
        for unit in (body[:place].rstrip(), body[:place]):
            separator = body[len(unit) : place]
            n_copies, rest = divmod(len(body) + len(separator), len(unit) + len(separator))
            if (
                len(separator) <= _MAX_SEPARATOR_CHARS
                and not rest
                and n_copies > 1
                and max(map(len, unit.split("\n"))) >= MIN_UNIT_CHARS
                and len(set(unit)) > 4
                and body == separator.join([unit] * n_copies)
            ):
                return unit
        place = body.find(key, place + 1)
    return ""


def _without_copies(text: str) -> tuple[str, int]:
    cuts = [0, *(match.end() for match in _CUTS.finditer(text))]
    first: dict[str, int] = {}
    kept: list[str] = []
    done = n_bytes = 0
    for cut in cuts:
        if cut < done or len(text) - cut < _KEY_CHARS:
            continue
        key = text[cut : cut + _KEY_CHARS]
        known = first.setdefault(key, cut)
        # What comes again sooner is a pattern of data or code, not a passage.
        if cut - known < MIN_PASSAGE_CHARS or len(set(key)) <= 4:
            continue
        end = _last_end(text, cut, cut + _common_chars(text, cut, known))
        if end - cut < MIN_PASSAGE_CHARS:
            continue
        kept.append(text[done:cut])
        n_bytes += MAX_UTF8_BYTES * (end - cut)
        done = end
    if not n_bytes:
        return text, 0
    kept.append(text[done:])
    return "".join(kept), n_bytes


def _common_chars(text: str, place: int, known: int) -> int:
    """How many characters a text has in common behind two places, the later one first."""
    low, limit, step = 0, len(text) - place, 64
    # Doubling, then halving: slices compare at the speed of memory.
    while low < limit:
        end = min(low + step, limit)
        if text[place + low : place + end] == text[known + low : known + end]:
            low, step = end, step * 2
        elif end - low == 1:
            break
        else:
            limit, step = end - 1, max(1, (end - low) // 2)
    return low


def _last_end(text: str, start: int, end: int) -> int:
    """The last place up to ``end`` where a line or sentence ends."""
    if end == len(text):
        return end
    ends = [match.end() for match in _ENDS.finditer(text, start, end)]
    # A match that is cut by the limit itself must end where the text goes on.
    while ends and ends[-1] > end:
        ends.pop()
    return ends[-1] if ends else start


def _without_quoted_lines(text: str) -> tuple[str, int]:
    """Drop long lines that stood before, quotation marks of mail ignored."""
    seen: set[str] = set()
    kept, n_bytes = [], 0
    for line in text.split("\n"):
        # Quotation marks of mail do not make a passage another one.
        passage = line.lstrip("> \t").rstrip()
        if len(passage) >= MIN_PASSAGE_CHARS and len(set(passage)) > 4:
            if passage in seen:
                n_bytes += MAX_UTF8_BYTES * (len(line) + 1)
                continue
            seen.add(passage)
        kept.append(line)
    return ("\n".join(kept), n_bytes) if n_bytes else (text, 0)
