"""The usual steps that a text passes before a tokenizer, by the names a pipeline gives them."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Mapping
from types import MappingProxyType

from jeton._nearest import fold, nearest
from jeton.errors import UsageError

Step = Callable[[str], str]


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


_RUN_OF_BLANKS = re.compile(r"[ \t]+")
_RUN_OF_WHITESPACE = re.compile(r"\s+")
_TAG = re.compile(r"<[^<>]*>")
_NOT_WORD = re.compile(r"([^\w\s])")


def _without_tags(text: str) -> str:
    return html.unescape(_TAG.sub(" ", text))


STEPS: Mapping[str, Step] = MappingProxyType(
    {
        "nfc": lambda text: unicodedata.normalize("NFC", text),
        "nfd": lambda text: unicodedata.normalize("NFD", text),
        "nfkc": lambda text: unicodedata.normalize("NFKC", text),
        "nfkd": lambda text: unicodedata.normalize("NFKD", text),
        "lowercase": str.lower,
        "casefold": str.casefold,
        "strip-accents": _without_accents,
        "strip": str.strip,
        "collapse-blanks": lambda text: _RUN_OF_BLANKS.sub(" ", text),
        "collapse-whitespace": lambda text: _RUN_OF_WHITESPACE.sub(" ", text).strip(),
        "strip-html": _without_tags,
        "unescape-html": html.unescape,
        "escape-html": lambda text: html.escape(text, quote=False),
        "space-punctuation": lambda text: _NOT_WORD.sub(r" \1 ", text),
    }
)
"""The steps that a pipeline may name, each from text to text."""


def step_named(name: str) -> Step:
    """The step of a name; underscores count as hyphens.

    Raises:
        UsageError: There is none; the nearest are offered.
    """
    step = STEPS.get(fold(name))
    if step is None:
        near = nearest(name, STEPS)
        hint = f"\nhint: did you mean {', '.join(near)}?" if near else ""
        raise UsageError(
            f"the preprocessing step {name!r} is not known; expected some of "
            f"{', '.join(STEPS)}{hint}"
        )
    return step
