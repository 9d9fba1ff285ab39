"""Savings of cleaning texts, and the text that it destroys."""

from __future__ import annotations

import ast
import unicodedata
import warnings
from collections.abc import Callable, Sequence

from jeton.auditing.options.preprocessing_steps import STEPS
from studies.claims.data import Data
from studies.claims.figures import Figure, saving, share

__all__ = ["ABOUT", "CLEANINGS", "DOMAINS", "KIND", "measure"]

ABOUT = "Tokens before and after usual clean-up, and whether Python still parses"
KIND = "long"

TOKENIZER = "o200k_base"

DOMAINS = {
    "prompts": ("chat", "prompt"),
    "medical abstracts": ("medical", "medical-abstract"),
    "contracts": ("legal", "legal-contract"),
    "web chatter": ("noisy", "webtext"),
    "tweets": ("noisy", "tweet"),
    "OCR": ("noisy", "ocr"),
    "Python": ("code", "code-python"),
    "HTML": ("code", "code-html"),
    "JSON settings": ("logs_json", "json-config"),
    "server logs": ("logs_json", "log-apache"),
}
"""Names on the page: corpus and domain."""


def _without_controls(text: str) -> str:
    return "".join(char for char in text if unicodedata.category(char) != "Cc")


def _joined(text: str) -> str:
    return " ".join(text.split())


def _all(text: str) -> str:
    for name in ("nfkc", "strip-html", "collapse-whitespace"):
        text = STEPS[name](text)
    return text


CLEANINGS: dict[str, Callable[[str], str]] = {
    "strip": STEPS["strip"],
    "nfkc": STEPS["nfkc"],
    "collapse-blanks": STEPS["collapse-blanks"],
    "control characters deleted": _without_controls,
    "joined on white space": _joined,
    "strip-html": STEPS["strip-html"],
    "all of them": _all,
    "lowercase": STEPS["lowercase"],
}
"""Names on the page: what is done. Those in the audit's own names are its steps."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    for name, (corpus, domain) in DOMAINS.items():
        texts = data.drawn(corpus, domain)
        before = data.counts(TOKENIZER, texts)
        for cleaning, clean in CLEANINGS.items():
            cleaned = [clean(text) for text in texts]
            figures[f"saving.{name}.{cleaning}"] = saving(data.counts(TOKENIZER, cleaned), before)
            if name == "Python":
                figures |= _python(cleaning, texts, cleaned)
    return figures


def _python(cleaning: str, texts: Sequence[str], cleaned: Sequence[str]) -> dict[str, Figure]:
    parsed = [(old, new) for old, new in zip(texts, cleaned, strict=True) if _parses(old)]
    newlines = sum(old.count("\n") for old, _ in parsed)
    left = sum(new.count("\n") for _, new in parsed)
    return {
        f"still-parses.{cleaning}": share([_same(old, new) for old, new in parsed]),
        f"newlines-deleted.{cleaning}": Figure(1 - left / newlines, "share", n=len(parsed)),
    }


def _parses(source: str) -> bool:
    return _tree(source) is not None


def _same(old: str, new: str) -> bool:
    """True if the cleaned source parses to the same program, comments and layout aside."""
    return _tree(new) == _tree(old)


def _tree(source: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(source))
    except (SyntaxError, ValueError):
        return None
