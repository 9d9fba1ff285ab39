"""Rules that a split pattern can be given besides: URLs whole, numbers in groups, and more.

A rule names a regular language; the text that matches it is cut out first. A part cut out by a rule
of ``WHOLE_RULES`` is one pretoken (with the one space before it, except for numbers). A part cut
out by one of ``APART_RULES`` is cut further by the split pattern, but no pretoken crosses its ends.
With rules, a pre-tokenizer is a sequence of splits, which ``tokenizer.json`` has words for:

1. comments and strings are isolated, if those rules are on;
2. URLs, e-mail addresses, hashtags, mentions and numbers are isolated, the first rule first;
3. ``numbers-groups-right`` alone: what is left over at the front of a number is cut off;
4. the split pattern, with the rules of 2 as its first alternatives, so that it leaves them alone.

All rules but one run on the automaton, in time linear in the text; the third step needs a look
ahead over the whole number and runs on the backtracking engine, which tries it at the beginning of
a piece only.

Names of rules and of normalizers, as they are given: known, and each once.

Normalization by name: Unicode forms, and the marks of Arabic and Hebrew kept or removed.

A name is one step (or two) that ``tokenizer.json`` has words for, so a tokenizer that was trained
with it normalizes in use as in training, wherever it is loaded, and the ids are the same. All of
these lose something: what was removed does not come back when ids are decoded.

The characters are those of Unicode's blocks and names, as given beside each list; none was assigned
to these purposes after Unicode 14 within the blocks looked at (Arabic, Hebrew).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from types import MappingProxyType
from typing import Any

from jeton._core import PretokenCounts
from jeton._nearest import nearest
from jeton.errors import UsageError

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


def check_names(what: str, given: Sequence[str], known: Iterable[str]) -> None:
    """Raise ``UsageError`` for a name that is not known, or is given twice."""
    names = tuple(known)
    for place, name in enumerate(given):
        if name not in names:
            offered = nearest(str(name), names) or names
            raise UsageError(
                f"unknown {what} {name!r}; expected one of {', '.join(offered)}\n"
                f"hint: there are {', '.join(names)}"
            )
        if name in given[:place]:
            raise UsageError(f"the {what} {name!r} is given twice")


_URL = (
    r" ?(?:(?:https?|ftps?|wss?|ssh|git|file|s3)://|www\.)"
    r"[^\s<>\x22]*[^\s<>\x22'`.,;:!?()\[\]{}]"
)
"""A scheme that is written in running text, or ``www.``, and all up to a space, a quotation mark or
an angle bracket; punctuation at the end belongs to the sentence."""

_EMAIL = r" ?[\p{L}\p{N}._%+\-]{1,64}@[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)+"
"""At most 64 characters before the sign, as RFC 5321, 4.5.3.1.1 has it; a domain of two parts."""

_HASHTAG = r" ?#[\p{N}_]*[\p{L}\p{M}][\p{L}\p{M}\p{N}_]*"
"""At least one letter: ``#123`` is the number of something."""

_MENTION = r" ?@[\p{L}\p{N}_]+"

_COMMENT = r"(?://|#)[^\r\n]*|/\*(?:[^*]|\*+[^*/])*\**/?|<!--(?:[^\-]|-[^\-])*(?:-->)?"
"""From the sign to the end of the line or to what closes it; what nothing closes goes to the end.
Lexical, for any language: a sign inside other text counts as well."""

_STRING = (
    r"\x22\x22\x22(?:[^\x22\\]|\\[^\r\n]|\x22{1,2}[^\x22\\])*(?:\x22{3})?"
    r"|\x22(?:[^\x22\\\r\n]|\\[^\r\n])*\x22?"
    r"|'(?:[^'\\\r\n]|\\[^\r\n])*'?"
    r"|`(?:[^`\\]|\\[^\r\n])*`?"
)
"""From a quotation mark to the next one that no backslash stands before, or to the end of the line
(of the text, after three quotation marks or a backquote). An apostrophe counts as well: what
follows is cut by the split pattern all the same."""

APART_RULES: Mapping[str, str] = MappingProxyType({"comments": _COMMENT, "strings": _STRING})
"""Name to pattern; no pretoken crosses the ends of a match."""

NUMBER_RULES: Mapping[str, str] = MappingProxyType(
    {
        "numbers-whole": r"\p{N}+",
        "numbers-digits": r"\p{N}",
        "numbers-groups-left": r"\p{N}{1,3}",
        "numbers-groups-right": r"\p{N}+",
    }
)
"""How runs of digits are cut, at most one of these: not at all, into digits, into groups of three
counted from the left (``123|45``) or from the right (``12|345``), as thousands are."""

WHOLE_RULES: Mapping[str, str] = MappingProxyType(
    {
        "urls": _URL,
        "emails": _EMAIL,
        "hashtags": _HASHTAG,
        "mentions": _MENTION,
        **NUMBER_RULES,
    }
)
"""Name to pattern, the first that matches first; a match is one pretoken."""

RULES = (*WHOLE_RULES, *APART_RULES)
"""All names."""

_RIGHT = "numbers-groups-right"
_RIGHT_FRONT = r"\A\p{N}{1,2}(?=(?:\p{N}{3})+\z)"
"""Digits left over at the front of a piece. The pattern is tied to the beginning of the piece, so
that a long number is looked over once."""


def check_rules(rules: Sequence[str]) -> None:
    """Raise ``UsageError`` for an unknown rule, one given twice, or two for numbers."""
    if isinstance(rules, str):
        raise UsageError(
            f"rules is the string {rules!r}; expected a list of names\nhint: rules=[{rules!r}]"
        )
    check_names("rule", rules, RULES)
    numbers = [rule for rule in rules if rule in NUMBER_RULES]
    if len(numbers) > 1:
        raise UsageError(
            f"the rules {' and '.join(numbers)} contradict one another\n"
            "hint: give one rule for numbers"
        )


def pretokenizer_steps(pattern: str, rules: Sequence[str]) -> list[dict[str, Any]]:
    """The steps of a pre-tokenizer that cuts by rules and a pattern, as the core reads them.

    Args:
        pattern: Name of a split pattern or a regular expression.
        rules: Names of rules; their order does not matter.

    Raises:
        UsageError: See ``check_rules``.
        PatternError: The pattern cannot be compiled.
    """
    check_rules(rules)
    last = PretokenCounts(pattern=pattern).cutting
    step: dict[str, Any] = _step_of(last)
    return [{**step, "pattern": cut} for cut in _patterns(str(step["pattern"]), rules)]


def _step_of(cutting: str) -> dict[str, Any]:
    (step,) = json.loads(cutting)["pretokenizer"]
    return dict(step)


def _patterns(pattern: str, rules: Sequence[str]) -> list[str]:
    """The patterns of the steps, in order."""
    whole = {name: cut for name, cut in WHOLE_RULES.items() if name in rules}
    apart = [cut for name, cut in APART_RULES.items() if name in rules]
    texts = [cut for name, cut in whole.items() if name not in NUMBER_RULES]
    found = []
    if apart:
        # An address is no comment, though it holds the sign of one.
        found.append("|".join([*texts, *apart]))
    if whole:
        found.append("|".join(whole.values()))
    if _RIGHT in whole:
        found.append(_RIGHT_FRONT)
        whole[_RIGHT] = r"\p{N}{1,3}"
    found.append("|".join([*whole.values(), pattern]))
    return found


def pattern_and_rules(steps: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]] | None:
    """The way back: the pattern and the rules whose steps these are; None for other steps."""
    cuts = [step.get("pattern") for step in steps]
    if not cuts or not all(isinstance(cut, str) for cut in cuts):
        return None
    if len(cuts) == 1:
        return str(cuts[0]), ()
    others = [name for name in RULES if name not in NUMBER_RULES]
    subsets = [chosen for n in range(len(others) + 1) for chosen in combinations(others, n)]
    for chosen, number in product(subsets, (None, *NUMBER_RULES)):
        rules = tuple(name for name in RULES if name in chosen or name == number)
        if not rules:
            continue
        *before, last = _patterns("", rules)
        if cuts[:-1] == before and str(cuts[-1]).startswith(last):
            return str(cuts[-1])[len(last) :], rules
    return None
