"""Values that nobody reads digit by digit: over-precise numbers, identifiers, long addresses.

Each function is a `rewriting.Rewrite`.
"""

from __future__ import annotations

import re

from jeton.auditing.analyses.rewriting import substitute

MAX_DECIMALS = 6
"""Digits after the point that are kept: the precision of a 32-bit float for numbers below 10, and
0.1 m in degrees of latitude."""

MIN_URL_CHARS = 80
"""Addresses up to here are written for people."""

_DECIMALS = re.compile(r"(?<![\w.])(-?\d{1,15}\.\d{6})\d{2,}(?![\w.])")
_EIGHT_DECIMALS = re.compile(r"\.\d{8}")
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# MD5 (32), SHA-1 (40), SHA-256 (64) digits, and MongoDB's 24; all of one case, with both letters
# and digits.
_DIGEST = (
    r"(?=[0-9a-fA-F]{0,12}[a-fA-F])(?=[0-9a-fA-F]{0,12}[0-9])"
    r"(?:[0-9a-f]{64}|[0-9A-F]{64}|[0-9a-f]{40}|[0-9A-F]{40}|[0-9a-f]{32}|[0-9A-F]{32}|[0-9a-f]{24})"
)
_IDENTIFIER = re.compile(rf"(?<![\w-])(?:{_UUID}|{_DIGEST})(?![\w-])")
# In any of them; it begins with a digit, not with what stands in front, so it is found far faster.
_MAYBE_IDENTIFIER = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}-|[0-9a-fA-F]{16})")
_URL = re.compile(r"\bhttps?://[^\s<>\"'`\])}]{72,}")


def with_rounded_numbers(text: str) -> tuple[str, int]:
    """Numbers with eight or more decimals, cut to six."""
    if not _EIGHT_DECIMALS.search(text):
        return text, 0
    return substitute(_DECIMALS, lambda match: match.group(1), text)


def with_aliases(text: str) -> tuple[str, int]:
    """``id1``, ``id2`` ... in place of UUIDs and digests, the same for the same one in a text.

    The application keeps the table and puts the identifiers back into the answer.
    """
    if not _MAYBE_IDENTIFIER.search(text):
        return text, 0
    aliases: dict[str, str] = {}

    def alias(match: re.Match[str]) -> str:
        return aliases.setdefault(match.group(), f"id{len(aliases) + 1}")

    return substitute(_IDENTIFIER, alias, text)


def with_short_urls(text: str) -> tuple[str, int]:
    """Addresses of 80 characters and more without their query and fragment."""
    if "://" not in text:
        return text, 0

    def short(match: re.Match[str]) -> str | None:
        url = match.group()
        if len(url) < MIN_URL_CHARS:
            return None
        cut = min((at for at in (url.find("?"), url.find("#")) if at > 0), default=-1)
        return url[:cut] if cut > 0 else None

    return substitute(_URL, short, text)
