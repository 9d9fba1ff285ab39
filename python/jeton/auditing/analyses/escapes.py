r"""Characters written as escapes: ``\u00e9``, ``&eacute;``, ``%C3%A9``, JSON in a JSON string.

Each function is a `rewriting.Rewrite` that writes the character itself. In source code an escape
may be what is meant; the checks ask for a share of the tokens that code does not reach.
"""

from __future__ import annotations

import html
import re
from urllib.parse import unquote

from jeton.auditing.analyses.rewriting import substitute

MIN_PERCENT_ESCAPES = 3
"""Escaped bytes in a row: one letter of most scripts has two or three; ``%20`` in an address is
one and stays."""

# Only characters beyond ASCII: \\u0022 and the like must stay escaped inside a string.
_UNICODE_ESCAPES = re.compile(r"(?<!\\)(?:\\u[0-9a-fA-F]{4})+")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}){3,}")
_NESTED_QUOTE = re.compile(r'\\"(?:[^"\\\n]|\\[^"\n])*+\\"\s*:')
_ESCAPED = re.compile(r'\\(["\\/])')


def without_unicode_escapes(text: str) -> tuple[str, int]:
    """The characters that ``ensure_ascii`` of JSON writers escaped."""
    if "\\u" not in text:
        return text, 0

    def character(match: re.Match[str]) -> str | None:
        units = bytes.fromhex(match.group().replace("\\u", ""))
        try:
            found = units.decode("utf-16-be")
        except UnicodeDecodeError:
            return None
        # Controls, quotes and backslashes are escaped for a reason.
        return found if all(ord(c) > 0x9F for c in found) else None

    return substitute(_UNICODE_ESCAPES, character, text)


def without_entities(text: str) -> tuple[str, int]:
    """The characters of HTML's references."""
    if "&" not in text:
        return text, 0
    return substitute(_ENTITY, lambda match: html.unescape(match.group()), text)


def without_percent_escapes(text: str) -> tuple[str, int]:
    """The characters of percent-encoded text, where they are UTF-8 and not ASCII."""
    if "%" not in text:
        return text, 0

    def characters(match: re.Match[str]) -> str | None:
        try:
            found = unquote(match.group(), errors="strict")
        except UnicodeDecodeError:
            return None
        return found if not found.isascii() else None

    return substitute(_PERCENT, characters, text)


def without_nested_quotes(text: str) -> tuple[str, int]:
    r"""JSON inside a JSON string: one level of backslashes less.

    Only texts with escaped keys (``\"name\":``) are touched; all their escaped quotes and
    backslashes lose one backslash.
    """
    if '\\"' not in text or not _NESTED_QUOTE.search(text):
        return text, 0
    new, n_bytes = substitute(_ESCAPED, lambda match: match.group(1), text)
    return new, 2 * n_bytes
