"""Text of one script without ASCII padding: what is left of real documents in one language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["LANGUAGES", "language_of", "pure_text"]

LEAST_SHARE = 0.8
"""A line counts as the language's when this share of what is not space is in its script."""

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3000-\u303f\uff00-\uffef"
_SCRIPTS = {
    "Chinese": _HAN,
    "Japanese": _HAN + "\u3040-\u30ff",
    "Korean": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "Russian": "\u0400-\u04ff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff",
    "Hindi": "\u0900-\u097f",
    "Thai": "\u0e00-\u0e7f",
}
_CODES = {
    "Chinese": ("zh", "cmn"),
    "Japanese": ("ja", "jpn"),
    "Korean": ("ko", "kor"),
    "Russian": ("ru", "rus"),
    "Arabic": ("ar", "arb"),
    "Hindi": ("hi", "hin"),
    "Thai": ("th", "tha"),
}
LANGUAGES = tuple(_SCRIPTS)
"""Languages that the issue names, in its order."""

# ASCII that no sentence in these scripts has; a stop or comma after a letter stays.
_FOREIGN = re.compile(r"(?<![^\x00-\x7f])[.,!?:;]|[^.,!?:;\s\x80-\U0010ffff]+")
_SPACES = re.compile(r"[ \t]+")
_IN_SCRIPT = {name: re.compile(f"[{chars}]") for name, chars in _SCRIPTS.items()}
_SPACELESS = ("Chinese", "Japanese")


def language_of(record: Mapping[str, Any]) -> str | None:
    """The language of a document of the corpora by its code, or None."""
    code = re.split(r"[-_0-9]", str(record.get("lang") or ""))[0]
    for name, codes in _CODES.items():
        if code in codes:
            return name
    return None


def _lines(texts: Iterable[str], language: str) -> Iterator[str]:
    in_script = _IN_SCRIPT[language]
    for text in texts:
        for line in text.splitlines():
            kept = _SPACES.sub(" ", _FOREIGN.sub(" ", line)).strip(" .,!?:;")
            n_chars = len(kept) - kept.count(" ")
            if n_chars and len(in_script.findall(kept)) >= LEAST_SHARE * n_chars:
                # What stood between two words in Latin letters leaves no space here.
                yield kept.replace(" ", "") if language in _SPACELESS else kept


def pure_text(texts: Iterable[str], language: str) -> str:
    """The lines of ``texts`` in the language's own script, ASCII taken out, none twice."""
    return "\n".join(dict.fromkeys(_lines(texts, language)))
