"""HTML and XML in texts: what comments, scripts, styles and attributes cost, and what all tags do.

Only text with clear signs of markup is looked at: ``a < b`` and generics of programming languages
are not tags, and an element's name must be one of HTML's or be closed again.
"""

from __future__ import annotations

import html
import re

__all__ = ["looks_like_markup", "without_markup", "without_markup_noise"]

MIN_CLOSING_TAGS_PER_KB = 2.0
"""Closing tags of HTML in 1,000 characters from which a text counts as markup. Our choice: prose
that mentions a tag has fewer, any page has more."""

MIN_CLOSING_TAGS = 3

_TAGS = (
    "a|abbr|article|aside|b|blockquote|body|button|caption|code|dd|div|dl|dt|em|figcaption|figure|"
    "font|footer|form|h[1-6]|head|header|html|i|label|li|main|nav|noscript|ol|option|p|pre|script|"
    "section|select|small|span|strong|style|sub|sup|svg|table|tbody|td|textarea|tfoot|th|thead|"
    "title|tr|u|ul"
)
_CLOSING = re.compile(rf"</(?:{_TAGS})\s*>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--(?:[^-]|-(?!->))*+-->")
_SCRIPT = re.compile(
    r"<(script|style|svg|noscript)\b[^<>]*>(?:[^<]|<(?!/\1\s*>))*+</\1\s*>", re.IGNORECASE
)
# Attributes that say how something looks or is scripted, not what it is.
_TAG = re.compile(r"<(/?[A-Za-z][\w:-]{0,40})(\s[^<>]{0,20000}?)?(\s*/?)>")
_KEPT_ATTRIBUTE = re.compile(
    r"\s(?:href|src|alt|title|colspan|rowspan|lang|datetime|value|name|type)"
    r"\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)",
    re.IGNORECASE,
)
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|li|tr|h[1-6]|table|ul|ol|section|article|br|blockquote|dd|dt)\b[^<>]*>",
    re.IGNORECASE,
)
_BLANK_LINES = re.compile(r"[ \t]*+\n\s*+\n")
_INNER_BLANKS = re.compile(r"[ \t]{2,}+")


def looks_like_markup(text: str) -> bool:
    """Whether a text is HTML or has much of it."""
    if "</" not in text:
        return False
    n_closing = len(_CLOSING.findall(text))
    return n_closing >= MIN_CLOSING_TAGS and n_closing * 1000 >= MIN_CLOSING_TAGS_PER_KB * len(text)


def without_markup_noise(text: str) -> tuple[str, int]:
    """Drop comments, scripts, styles and presentational attributes (a `rewriting.Rewrite`).

    Elements, links, texts and the attributes that carry meaning stay.
    """
    if not looks_like_markup(text):
        return text, 0
    new = _SCRIPT.sub("", _COMMENT.sub("", text))
    new = _TAG.sub(_without_noise, new)
    return new, 4 * max(0, len(text) - len(new))


def _without_noise(match: re.Match[str]) -> str:
    attributes = match.group(2) or ""
    kept = "".join(found.group() for found in _KEPT_ATTRIBUTE.finditer(attributes))
    return f"<{match.group(1)}{kept}{match.group(3) if match.group(3).strip() else ''}>"


def without_markup(text: str) -> tuple[str, int]:
    """Leave the text alone that a reader of the page sees (a `rewriting.Rewrite`)."""
    if not looks_like_markup(text):
        return text, 0
    new = _SCRIPT.sub(" ", _COMMENT.sub("", text))
    new = _TAG.sub("", _BLOCK_TAG.sub("\n", new))
    new = _INNER_BLANKS.sub(" ", _BLANK_LINES.sub("\n", html.unescape(new))).strip()
    return new, 4 * max(0, len(text) - len(new))
