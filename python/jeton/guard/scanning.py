"""Scanning one text: the core names places, the judges decide.

>>> verdict = scan("Hello" + 3 * chr(0x200B) + "world")
>>> [(finding.kind, finding.start, finding.end) for finding in verdict.findings]
[('zero-width', 5, 8)]
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from jeton.errors import InvalidTextError, UsageError
from jeton.guard.characters import table
from jeton.guard.hidden import judge_hidden
from jeton.guard.places import Code, places
from jeton.guard.verdict import MAX_KEPT, GuardLevel, TextFinding, Verdict, verdict_of
from jeton.guard.visible import judge_visible
from jeton.guard.wordlist import MARKERS, NEWER_MARKERS
from jeton.registry import resolve

if TYPE_CHECKING:
    from jeton._core import Tokenizer
    from jeton.registry import TokenizerLike

MIN_MARKER_BYTES = 3
"""Bytes of a special token that is looked for in text: a shorter one would be found everywhere."""


def unicode_version() -> str:
    """Return the version of Unicode whose properties the guard knows."""
    version: str = table()["unicode"]
    return version


@lru_cache(maxsize=16)
def _markers(own: frozenset[str]) -> frozenset[str]:
    return own | frozenset(MARKERS) | frozenset(NEWER_MARKERS)


def special_texts(tokenizer: Tokenizer) -> frozenset[str]:
    """Return the special tokens of a tokenizer that are looked for in text."""
    return frozenset(
        token
        for token in tokenizer.special_tokens
        if len(token.encode("utf-8", "surrogatepass")) >= MIN_MARKER_BYTES and token.strip()
    )


def scan(text: str | bytes, *, tokenizer: TokenizerLike | None = None) -> Verdict:
    """Look for what a text hides, forges or disguises.

    Args:
        text: Text, or its UTF-8. Halves of surrogate pairs in a string are findings.
        tokenizer: The tokenizer whose special tokens are looked for besides those of public chat
            formats.

    Returns:
        The findings, positions in code points. Decoded payloads are shown, never acted upon.

    Raises:
        InvalidTextError: Bytes are not UTF-8.
        UsageError: The text is neither text nor bytes.

    Example:
        >>> scan("<|im_end|>").worst
        <GuardLevel.ERROR: 'error'>
    """
    own = frozenset() if tokenizer is None else special_texts(resolve(tokenizer))
    return scan_for(text, own)


def scan_for(text: str | bytes, own: frozenset[str], *, max_kept: int | None = MAX_KEPT) -> Verdict:
    """Scan with special tokens that ``special_texts`` gave: for many texts of one tokenizer."""
    if not isinstance(text, str):
        if not isinstance(text, bytes | bytearray | memoryview):
            raise UsageError(f"the text is of type {type(text).__name__}; expected str or bytes")
        try:
            text = bytes(text).decode()
        except UnicodeDecodeError as error:
            raise InvalidTextError(
                f"byte {error.start} is not UTF-8 ({error.reason})\n"
                "hint: decode the text first; the command replaces such bytes",
                byte_offset=error.start,
            ) from None
    findings = _findings(text, own, _markers(own))
    return verdict_of([_within(one, own) for one in findings], len(text), max_kept=max_kept)


_MAX_LAYERS: Final = 3
_LAYERED: Final = frozenset({"special-token", "hidden-payload", "encoded", "compatible"})


def _within(finding: TextFinding, own: frozenset[str], layer: int = 1) -> TextFinding:
    """A finding whose payload is encoded once more, as grave as what lies within."""
    payload = finding.payload
    is_layered = finding.group == "encoded" and finding.severity is GuardLevel.INFO
    if not is_layered or payload is None or layer > _MAX_LAYERS or "..." in payload[-3:]:
        return finding
    inner = [
        _within(one, own, layer + 1)
        for one in _findings(payload, own, _markers(own))
        if one.group in _LAYERED
    ]
    worst = max(inner, key=lambda one: one.severity.rank, default=None)
    if worst is None or worst.severity is GuardLevel.INFO:
        return finding
    return replace(
        finding,
        severity=GuardLevel.WARNING,
        what=f"{finding.what}; within it: {worst.what}",
        payload=worst.payload or payload,
    )


def _findings(text: str, own: frozenset[str], known: frozenset[str]) -> list[TextFinding]:
    whole, findings = _without_surrogates(text)
    found = places(whole, known)
    if found:
        hidden = [place for place in found if place.code is Code.HIDDEN]
        findings.extend(judge_hidden(whole, hidden))
        findings.extend(judge_visible(whole, found, own, known))
    return findings


def _without_surrogates(text: str) -> tuple[str, list[TextFinding]]:
    """The text with U+FFFD for halves of surrogate pairs, which the core cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text, []
    found = [
        TextFinding(
            "surrogate",
            GuardLevel.WARNING,
            at,
            at + 1,
            "half of a surrogate pair",
            characters=((f"U+{ord(char):04X}", "SURROGATE"),),
        )
        for at, char in enumerate(text)
        if "\ud800" <= char <= "\udfff"
    ]
    return re.sub("[\ud800-\udfff]", "\ufffd", text), found
