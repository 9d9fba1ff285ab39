"""HTML and XML in texts: what comments, scripts, styles and attributes cost, and what all tags do.

Only text with clear signs of markup is looked at: ``a < b`` and generics of programming languages
are not tags, and an element's name must be one of HTML's or be closed again.
"""

from __future__ import annotations

import html
import re

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
_OPENING = re.compile(r"<(script|style|svg|noscript)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<(/?[A-Za-z][\w:-]{0,40})((?:\s[^<>]*)?)>")
# Attributes that say what something is; the others say how it looks or is scripted.
_KEPT_ATTRIBUTE = re.compile(
    r"\s(?:href|src|alt|title|colspan|rowspan|lang|datetime|value|name|type)"
    r"\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)",
    re.IGNORECASE,
)
# Signs of source code that makes pages (JSX, Vue, Jinja, Go, PHP): attributes are the program.
_TEMPLATE = re.compile(r"\bclassName=|=\{|\{\{|\{%|<\?php|\bv-(?:if|for|bind|on)\b|=> ?[({<]")
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|li|tr|h[1-6]|table|ul|ol|section|article|br|blockquote|dd|dt)\b[^<>]*>",
    re.IGNORECASE,
)
_BLANK_LINES = re.compile(r"(?<![ \t])[ \t]*+\n(?:[ \t]*+\n)+")
_INNER_BLANKS = re.compile(r"[ \t]{2,}+")


def looks_like_markup(text: str) -> bool:
    """True if a text is HTML or has much of it; templates and components are programs."""
    if "</" not in text or _TEMPLATE.search(text):
        return False
    n_closing = len(_CLOSING.findall(text))
    return n_closing >= MIN_CLOSING_TAGS and n_closing * 1000 >= MIN_CLOSING_TAGS_PER_KB * len(text)


def without_markup_noise(text: str) -> tuple[str, int]:
    """Drop comments, scripts, styles and presentational attributes (a `rewriting.Rewrite`).

    Elements, links, texts and the attributes that carry meaning stay.
    """
    if not looks_like_markup(text):
        return text, 0
    new = _TAG.sub(_without_noise, _without_scripts(without_comments(text)))
    return new, 4 * max(0, len(text) - len(new))


def without_comments(text: str) -> str:
    """Drop ``<!-- ... -->``; one that is not closed stays."""
    # Searching for the end once keeps text of nothing but beginnings linear.
    parts, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            break
        parts.append(text[position:start])
        position = end + 3
    return "".join([*parts, text[position:]])


def _without_scripts(text: str) -> str:
    parts, position, unclosed = [], 0, set[str]()
    for match in _OPENING.finditer(text):
        name = match.group(1).lower()
        if match.start() < position or name in unclosed:
            continue
        closing = re.compile(rf"</{name}\s*+>", re.IGNORECASE).search(text, match.end())
        if closing is None:
            unclosed.add(name)
            continue
        parts.append(text[position : match.start()])
        position = closing.end()
    return "".join([*parts, text[position:]])


def _without_noise(match: re.Match[str]) -> str:
    attributes = match.group(2)
    kept = "".join(found.group() for found in _KEPT_ATTRIBUTE.finditer(attributes))
    return f"<{match.group(1)}{kept}{'/' if attributes.endswith('/') else ''}>"


def without_markup(text: str) -> tuple[str, int]:
    """Leave the text alone that a reader of the page sees (a `rewriting.Rewrite`)."""
    if not looks_like_markup(text):
        return text, 0
    new = _BLOCK_TAG.sub("\n", _without_scripts(without_comments(text)))
    new = _TAG.sub("", new)
    new = _INNER_BLANKS.sub(" ", _BLANK_LINES.sub("\n", html.unescape(new))).strip()
    return new, 4 * max(0, len(text) - len(new))
