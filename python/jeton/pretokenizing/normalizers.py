"""Normalization by name: Unicode forms, and the marks of Arabic and Hebrew kept or removed.

A name is one step (or two) that ``tokenizer.json`` has words for, so a tokenizer that was trained
with it normalizes in use as in training, wherever it is loaded, and the ids are the same. All of
these lose something: what was removed does not come back when ids are decoded.

The characters are those of Unicode's blocks and names, as given beside each list; none was assigned
to these purposes after Unicode 14 within the blocks looked at (Arabic, Hebrew).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from jeton.errors import UsageError
from jeton.pretokenizing.names import check_names

ARABIC_DIACRITICS = (
    "\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
"""Short vowels, tanwin, shadda and sukun (064B-0652), honorifics and small signs (0610-061A),
further vowel signs (0656-065F), the superscript alef (0670), and the signs of the Quran (06D6-06ED)
but for letters and symbols among them. Not maddah and the two hamzas (0653-0655): they make other
letters."""

ARABIC_TATWEEL = "\u0640"
"""The stroke that stretches a word."""

ARABIC_ALEF_MARKS = "\u0653\u0654\u0655"
ARABIC_ALEF_FORMS = "\u0622\u0623\u0625\u0671-\u0673\u0675"
"""Alef with maddah, with hamza above and below, wasla, with wavy hamza and high hamza."""

HEBREW_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
"""Accents of cantillation (0591-05AF), vowels, dagesh, meteg, rafe, the dots of shin, and the dots
above and below. Not maqaf, paseq, sof pasuq and nun hafukha, which are punctuation."""

_UNICODE_OF_FORMS = "9.0"
"""The version of Unicode whose tables ``tokenizers`` 0.23.3 normalizes by: what is trained here is
saved as ``tokenizer.json`` and gets the same ids there. Later characters are left as they are."""


def _become(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "replace", "pattern": {"regex": pattern}, "content": content}


NORMALIZERS: Mapping[str, str] = MappingProxyType(
    {
        "nfc": "Unicode form NFC: letters and marks composed",
        "nfd": "Unicode form NFD: taken apart",
        "nfkc": "Unicode form NFKC: also compatibility characters replaced",
        "nfkd": "Unicode form NFKD: the same, taken apart",
        "lowercase": "every character in lower case",
        "arabic-diacritics": "vowel signs and other marks of Arabic removed",
        "arabic-tatweel": "the stroke that stretches Arabic words removed",
        "arabic-alef": "alef with maddah, hamza or wasla becomes plain alef",
        "hebrew-points": "vowel points and accents of Hebrew removed",
    }
)
"""Name and what it does, in the order in which they are applied: forms come first, so that letters
with marks are written in one way when marks are looked for."""

_FORMS = ("nfc", "nfd", "nfkc", "nfkd")


def _steps(name: str) -> list[dict[str, Any]]:
    if name in _FORMS:
        return [{"type": "form", "form": name, "unicode": _UNICODE_OF_FORMS}]
    if name == "lowercase":
        return [{"type": "lowercase"}]
    if name == "arabic-alef":
        alef = "\u0627"
        return [
            _become(f"{alef}[{ARABIC_ALEF_MARKS}]", alef),
            _become(f"[{ARABIC_ALEF_FORMS}]", alef),
        ]
    characters = {
        "arabic-diacritics": ARABIC_DIACRITICS,
        "arabic-tatweel": ARABIC_TATWEEL,
        "hebrew-points": HEBREW_POINTS,
    }
    return [_become(f"[{characters[name]}]+", "")]


def in_order(names: str | Sequence[str] | None) -> str | tuple[str, ...] | None:
    """Names in the order in which they are applied: one as it is, none as None.

    A text that is no name stays, at the end: ``check_normalizers`` finds it.
    """
    if names is None or isinstance(names, str):
        return names
    place = {name: place for place, name in enumerate(NORMALIZERS)}
    found = tuple(sorted(names, key=lambda name: place.get(name, len(place))))
    return found if len(found) > 1 else found[0] if found else None


def check_normalizers(names: str | Sequence[str] | None) -> None:
    """Raise ``UsageError`` for an unknown name, one given twice, or two Unicode forms."""
    given = _listed(names)
    check_names("normalizer", given, NORMALIZERS)
    forms = [name for name in given if name in _FORMS]
    if len(forms) > 1:
        raise UsageError(
            f"the normalizers {' and '.join(forms)} contradict one another\n"
            "hint: give one Unicode form"
        )


def normalizer_steps(names: str | Sequence[str] | None) -> list[dict[str, Any]]:
    """The steps of these names, as the core reads them.

    Raises:
        UsageError: See ``check_normalizers``.
    """
    check_normalizers(names)
    return [step for name in _listed(in_order(names)) for step in _steps(name)]


def normalizer_names(steps: Sequence[Mapping[str, Any]]) -> str | tuple[str, ...] | None:
    """The names whose steps these are.

    Raises:
        ValueError: They are not those of any names.
    """
    left = [dict(step) for step in steps]
    names = []
    for name in NORMALIZERS:
        own = _steps(name)
        if left[: len(own)] == own:
            names.append(name)
            left = left[len(own) :]
    if left:
        raise ValueError("these steps have no name")
    return in_order(names)


def _listed(names: str | Sequence[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)
