"""HTML: pages as text or Markdown, by a library that the user chooses.

Nesting and size are bounded before a library sees a page: some of them recurse.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any, Final

from jeton.errors import MissingExtraError, UsageError
from jeton.preprocess.steps import BaseStep, LossClass

MAX_DEPTH = 200
"""Open elements up to which a page is converted; pages of people stay below 50."""

MAX_CHARS = 4 << 20
"""Characters up to which a page is converted: the libraries hold a tree of many times its size."""

# Possessive: a page may begin with any number of comments.
_DOCUMENT = re.compile(
    r"(?:\ufeff|\s|<\?xml[^>]*>|(?>\<!--.*?-->))*+<(?:!doctype\s+html|html)\b", re.I | re.S
)
_ELEMENT = re.compile(
    r"</(?:p|div|span|a|ul|ol|li|table|tr|td|h[1-6]|section|article|body|head|script|style|"
    r"nav|main|footer|header|b|i|em|strong|pre|code|blockquote|dl|dd|dt)\s*>",
    re.IGNORECASE,
)
MIN_ELEMENTS = 3
"""Closed elements from which on a text that begins with a tag is HTML."""

_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*+)>")
_VOID: Final = frozenset(
    (
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    )
)
_HIDDEN: Final = frozenset(("script", "style", "noscript", "template", "head", "svg"))


def looks_like_html(text: str) -> bool:
    """True if a document is a page or a part of one, rather than a text that has some tags."""
    if _DOCUMENT.match(text):
        return True
    if not text.lstrip().startswith("<"):
        return False
    return sum(1 for _ in _ELEMENT.finditer(text)) >= MIN_ELEMENTS


def nesting(text: str) -> int:
    """Largest number of elements that are open at once; what is never closed stays open."""
    depth = deepest = 0
    for tag in _TAG.finditer(text):
        if tag[2].lower() in _VOID or tag[3].endswith("/"):
            continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        deepest = max(deepest, depth)
    # Unclosed tags of paragraphs and list items do not nest, but a library may nest them.
    return deepest


_CODE = ("code", "kbd", "samp", "tt")
_FENCE = "~" * 3


class _VisibleText(HTMLParser):
    """Collects text outside of scripts and styles, the targets of links, and code in its marks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden: list[str] = []
        self._n_pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        if self._hidden:
            return
        if tag == "pre":
            self._n_pre += 1
            if self._n_pre == 1:
                self.pieces.append(f"\n{_FENCE}\n")
        elif tag in _CODE and not self._n_pre:
            self.pieces.append("`")
        elif tag == "br" or not self._n_pre:
            self.pieces.append(" " if tag in ("a", "b", "i", "em", "strong", "span") else "\n")
            for name, value in attrs:
                if tag == "a" and name == "href" and value:
                    self.pieces.append(f"\n{value}\n")
                if tag == "img" and name == "alt" and value:
                    self.pieces.append(value)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        elif self._hidden:
            pass
        elif tag == "pre" and self._n_pre:
            self._n_pre -= 1
            if not self._n_pre:
                self.pieces.append(f"\n{_FENCE}\n")
        elif tag in _CODE and not self._n_pre:
            self.pieces.append("`")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def visible_text(text: str) -> str:
    """Return the text that a page shows, with the targets of its links: what may be lost."""
    parser = _VisibleText()
    parser.feed(text)
    parser.close()
    return "".join(parser.pieces)


Convert = Callable[[str], "str | None"]


class HtmlStep(BaseStep):
    """Writes pages as Markdown or text; other documents stay.

    ``markdownify`` and ``html2text`` keep all text of a page; ``trafilatura`` keeps the main text
    and drops navigation. Pages that are nested more deeply than a page of people, too large, or in
    which nothing was found stay as they are, and the outcomes say so.
    """

    __slots__ = ("_convert",)

    name: Final = "html"

    def __init__(self, method: str = "markdownify") -> None:
        super().__init__()
        self._convert: Convert = _converter(method)

    @property
    def loss_class(self) -> LossClass:
        """See ``TextStep``."""
        return "markup"

    def apply(self, text: str) -> str:
        """Return a page as text."""
        if not looks_like_html(text):
            return text
        if len(text) > MAX_CHARS:
            self.note(f"left alone: more than {MAX_CHARS:,} characters")
            return text
        if nesting(text) > MAX_DEPTH:
            self.note(f"left alone: nested more than {MAX_DEPTH} deep")
            return text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self._convert(text)
        except (RecursionError, ValueError, TypeError, AttributeError, LookupError) as error:
            # A library's own fault with one page does not stop the others.
            self.note(f"left alone: {type(error).__name__} in the library")
            return text
        if not found or not found.strip():
            self.note("left alone: no text found")
            return text
        self.note("converted")
        return found.strip("\n") + ("\n" if text.endswith("\n") else "")

    def readable(self, text: str) -> str:
        """See ``TextStep``."""
        return visible_text(text) if looks_like_html(text) else text


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if name == "html2text":
            raise UsageError(
                "html2text is not installed; it is no extra of jeton because of its licence "
                "(GPL-3)\nhint: pip install html2text, or take html='markdownify'"
            ) from error
        raise MissingExtraError(f"the step html with {name}", extra="html") from error


def _converter(method: str) -> Convert:
    library = _library(method)
    if method == "trafilatura":
        return lambda text: library.extract(
            text, output_format="markdown", include_links=True, include_tables=True
        )
    if method == "html2text":

        def by_html2text(text: str) -> str:
            writer = library.HTML2Text()
            writer.body_width = 0
            return str(writer.handle(text))

        return by_html2text
    return lambda text: str(
        library.markdownify(_without_hidden(text), heading_style="ATX", escape_misc=False)
    )


_HIDDEN_START = re.compile(r"<(script|style|template|head)\b|<!--", re.IGNORECASE)


def _without_hidden(text: str) -> str:
    """A page without what it does not show, which markdownify would write as text."""
    lower = text.lower()
    pieces: list[str] = []
    at = 0
    while start := _HIDDEN_START.search(text, at):
        closing = f"</{start[1].lower()}" if start[1] else "-->"
        end = lower.find(closing, start.end())
        if end < 0:
            break
        pieces.append(text[at : start.start()])
        end = end + 3 if closing == "-->" else lower.find(">", end) + 1
        if not end:
            return "".join(pieces)
        at = end
    pieces.append(text[at:])
    return "".join(pieces)
