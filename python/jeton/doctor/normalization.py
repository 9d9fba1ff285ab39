"""Which preparation makes one set of texts of another: what runs at training and not at serving.

Where the texts are pairs (as many, in the same order), the steps are tried one by one on every
pair: exact. Else the shares of texts that have a trait are compared: an estimate.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jeton.registry import TokenizerLike, resolve

_MAX_TEXTS = 20_000
_MIN_TEXTS = 20
"""Fewest texts on each side for an estimate."""
_MIN_POINTS = 0.10
_MIN_STANDARD_ERRORS = 4.0

_QUOTES = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2026": "...",
        "\u00a0": " ",
    }
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\u202a-\u202e]")
_WHITE_SPACE = re.compile(r"\s+")
_SPACES = re.compile(r"[ \t]{2,}")


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


STEPS: dict[str, Callable[[str], str]] = {
    "NFC": lambda t: unicodedata.normalize("NFC", t),
    "NFD": lambda t: unicodedata.normalize("NFD", t),
    "NFKC": lambda t: unicodedata.normalize("NFKC", t),
    "lower case": str.lower,
    "accents taken off": _without_accents,
    "white space at the ends taken off": str.strip,
    "line ends as line feeds": lambda t: t.replace("\r\n", "\n").replace("\r", "\n"),
    "runs of spaces as one": lambda t: _SPACES.sub(" ", t),
    "all white space as single spaces": lambda t: _WHITE_SPACE.sub(" ", t).strip(),
    "typographic quotes and dashes as ASCII": lambda t: t.translate(_QUOTES),
    "invisible characters taken out": lambda t: _INVISIBLE.sub("", t),
    "HTML entities resolved": html.unescape,
    "anything but ASCII taken out": lambda t: t.encode("ascii", "ignore").decode(),
    "a space put before": lambda t: " " + t,
}
"""Preparations by name, the plainer first: the first that explains a difference is named."""


@dataclass(frozen=True, slots=True)
class TextDifference:
    """A step that runs on one side only.

    Attributes:
        what: One sentence.
        step: The name of the step; empty where none explains the difference.
        value: Pairs that it explains, or points that the shares differ by.
        unit: Unit of the value.
        is_exact: True if pairs were compared.
        example: A text at training and the same as served; None without pairs.
    """

    what: str
    step: str
    value: float | int
    unit: str
    is_exact: bool
    example: tuple[str, str] | None


def compare_texts(training: Sequence[str], serving: Sequence[str]) -> tuple[TextDifference, ...]:
    """Differences in preparation, the clearest first; none where both sides are alike."""
    a, b = training[:_MAX_TEXTS], serving[:_MAX_TEXTS]
    if len(training) == len(serving) and _are_pairs(a, b):
        return _of_pairs(a, b)
    return _of_shares(a, b)


def _are_pairs(a: Sequence[str], b: Sequence[str]) -> bool:
    """True if texts are the same but for how they were prepared: equal to the bone."""
    pairs = [(_bone(x), _bone(y)) for x, y in zip(a[:200], b[:200], strict=True)]
    return bool(pairs) and sum(_is_one(x, y) for x, y in pairs) >= 0.7 * len(pairs)


def _is_one(x: str, y: str) -> bool:
    """True if two bones are of one text: equal, or one with a few letters taken out."""
    if x == y:
        return True
    short, long = sorted((x, y), key=len)
    letters = iter(long)
    return 2 * len(short) > len(long) and all(letter in letters for letter in short)


def _bone(text: str) -> str:
    """A text without anything that a step may change."""
    plain = html.unescape(text).translate(_QUOTES)
    folded = _without_accents(unicodedata.normalize("NFKC", plain)).casefold()
    return "".join(c for c in folded if c.isascii() and c.isalnum())


def _of_pairs(a: Sequence[str], b: Sequence[str]) -> tuple[TextDifference, ...]:
    different = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
    if not different:
        return ()
    found = []
    left = different
    for name, step in STEPS.items():
        for side in ("as served", "at training"):
            explained = [
                (x, y) for x, y in left if (step(x) == y if side == "as served" else step(y) == x)
            ]
            if explained:
                found.append(
                    TextDifference(
                        what=f"{name}: only {side} ({len(explained):,} of {len(a):,} texts)",
                        step=name,
                        value=len(explained),
                        unit="texts",
                        is_exact=True,
                        example=_short(explained[0]),
                    )
                )
                done = set(explained)
                left = [pair for pair in left if pair not in done]
    if left:
        found.append(
            TextDifference(
                what=f"{len(left):,} of {len(a):,} texts differ in a way that no single known step "
                "explains",
                step="",
                value=len(left),
                unit="texts",
                is_exact=True,
                example=_short(left[0]),
            )
        )
    return tuple(sorted(found, key=lambda d: -d.value))


def _short(pair: tuple[str, str]) -> tuple[str, str]:
    """The neighbourhood of the first difference."""
    x, y = pair
    at = next(
        (i for i, (a, b) in enumerate(zip(x, y, strict=False)) if a != b), min(len(x), len(y))
    )
    near = slice(max(0, at - 20), at + 40)
    return x[near], y[near]


# True if a step would change a text; upper case alone stands for itself.
_TRAITS = (
    "NFC",
    "NFKC",
    "lower case",
    "accents taken off",
    "white space at the ends taken off",
    "line ends as line feeds",
    "runs of spaces as one",
    "typographic quotes and dashes as ASCII",
    "invisible characters taken out",
    "HTML entities resolved",
)


def _of_shares(a: Sequence[str], b: Sequence[str]) -> tuple[TextDifference, ...]:
    if min(len(a), len(b)) < _MIN_TEXTS:
        return ()
    found = []
    for name in _TRAITS:
        step = STEPS[name]
        counts = [sum(step(text) != text for text in texts) for texts in (a, b)]
        shares = counts[0] / len(a), counts[1] / len(b)
        points = abs(shares[0] - shares[1])
        pooled = sum(counts) / (len(a) + len(b))
        error = math.sqrt(pooled * (1 - pooled) * (1 / len(a) + 1 / len(b)))
        # One side without any is what a step leaves; two shares that differ are two kinds of text.
        if min(counts) == 0 and points > _MIN_POINTS and points > _MIN_STANDARD_ERRORS * error:
            side = "as served" if counts[1] == 0 else "at training"
            found.append(
                TextDifference(
                    what=f"{name}: it seems only {side} (it would change {shares[0]:.0%} of the "
                    f"texts at training and {shares[1]:.0%} as served)",
                    step=name,
                    value=points,
                    unit="difference of shares",
                    is_exact=False,
                    example=None,
                )
            )
    return tuple(sorted(found, key=lambda d: -d.value))


# Cost of each language beside English under a tokenizer, on parallel sentences.
#
# The sentences are short and plain, so a figure is good for "four times", not for "4.1 times".
# Against the Universal Declaration of Human Rights in 20 languages, with the vocabularies of GPT-2,
# cl100k_base and Llama 2: the logarithms correlate by more than 0.97, the median is 15% to 25%
# lower, and no language is off by a factor of two (measured 2026-11-21, and by a test).

_FILE = Path(__file__).with_name("languages.json")


@dataclass(frozen=True, slots=True)
class LanguagePremium:
    """A language beside English.

    Attributes:
        language: Its name.
        n_tokens: Tokens of the sentences in it.
        premium: Tokens of them for each token of the English ones.
        chars_per_token: Code points for each token.
        unknown_share: Share of the tokens that stand for text without a token.
    """

    language: str
    n_tokens: int
    premium: float
    chars_per_token: float
    unknown_share: float = 0.0


@cache
def parallel_texts() -> dict[str, str]:
    """Parallel sentences by language; English is the first."""
    texts: dict[str, str] = json.loads(_FILE.read_text(encoding="utf-8"))["texts"]
    return texts


@cache
def _languages_of_scripts() -> dict[str, str]:
    scripts: dict[str, str] = json.loads(_FILE.read_text(encoding="utf-8"))["scripts"]
    return scripts


def language_premiums(
    tokenizer: TokenizerLike, *, unknown_id: int | None = None
) -> tuple[LanguagePremium, ...]:
    """Cost of each language beside English, the dearest first.

    Args:
        tokenizer: The tokenizer, or its name or path.
        unknown_id: The id that stands for text without a token; a language that falls to it looks
            cheap, and is lost.
    """
    tokenizer = resolve(tokenizer)
    texts = parallel_texts()
    encoded = dict(zip(texts, tokenizer.encode_batch(list(texts.values())), strict=True))
    base = len(encoded["English"])
    found = [
        LanguagePremium(
            language=language,
            n_tokens=len(ids),
            premium=len(ids) / max(base, 1),
            chars_per_token=len(texts[language]) / max(len(ids), 1),
            unknown_share=0.0
            if unknown_id is None
            else int((ids == unknown_id).sum()) / max(len(ids), 1),
        )
        for language, ids in encoded.items()
    ]
    return tuple(sorted(found, key=lambda p: (-p.premium, p.language)))


def script_shares(texts: Iterable[str], *, max_chars: int = 2_000_000) -> dict[str, float]:
    """The share of the letters that each script has, by the language that stands for it.

    Latin is ``"English"``. Only the first ``max_chars`` characters are looked at.
    """
    counts: dict[str, int] = {}
    left = max_chars
    for text in texts:
        for char in text[:left]:
            language = _language_of(char)
            if language is not None:
                counts[language] = counts.get(language, 0) + 1
        left -= len(text)
        if left <= 0:
            break
    total = sum(counts.values())
    return {language: n / total for language, n in counts.items()} if total else {}


@cache
def _language_of(char: str) -> str | None:
    """The language that stands for a letter's script; None for what is no letter."""
    if not unicodedata.category(char).startswith(("L", "M")):
        return None
    name = unicodedata.name(char, "").split(" ")[0].split("-")[0].title()
    name = {"Cjk": "Han", "Hiragana": "Kana", "Katakana": "Kana"}.get(name, name)
    if name == "Latin":
        return "English"
    return _languages_of_scripts().get(name)
