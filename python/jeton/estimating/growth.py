"""Growth and shrinking of a text by normalizers, pre-tokenizers and models, as rational limits.

The constants are maxima over all code points; ``tests/estimating/test_growth.py`` holds them
against every code point of Unicode (marked conformance) and a sample of each plane.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from jeton._core import SentencePieceRules

_SPACE = "\u2581"


class _Rate(NamedTuple):
    """Largest growth of a step: bytes for a byte, characters for a byte, for a character."""

    bytes_per_byte: Fraction
    chars_per_byte: Fraction
    chars_per_char: Fraction


def _rate(bytes_per_byte: str, chars_per_byte: str, chars_per_char: str) -> _Rate:
    return _Rate(Fraction(bytes_per_byte), Fraction(chars_per_byte), Fraction(chars_per_char))


_NONE = _rate("1", "1", "1")
_FORMS = {
    "nfc": _rate("3", "3/2", "4"),
    "nfd": _rate("3", "3/2", "4"),
    "nfkc": _rate("11", "6", "18"),
    "nfkd": _rate("11", "6", "18"),
}
"""Unicode normalization forms: U+0390 under NFD has 2 bytes, then 6 and 3 characters; U+FDFA under
NFKD has 3 bytes, then 33 and 18 characters. Source: Unicode's normalization FAQ, question "What
are the maximum expansion factors for the different normalization forms?", and all code points."""

_LOWERCASE = _rate("3/2", "1", "2")
"""U+0130 has 2 bytes, in lower case 3 and two characters."""

_BERT = _rate("3", "1", "6")
"""Hangul syllables are taken apart (3 bytes to 9), ideographs get spaces around them."""

_CLIP = _rate("4", "2", "4")
"""HTML entities are read twice (``&nGt;`` has 5 bytes, its characters 6), then lower case."""

_BYTES_OF_TEXT = (*range(0xC0), *range(0xC2, 0xF5))
"""Bytes that occur in UTF-8."""

_FIRST_LEAD = 0xC2
"""The first of the bytes that begin characters of several bytes."""

_NEVER_EMPTY = re.compile(r"(?:[ \w]|\\[snt])(?:\+|\{[1-9]\d*,?\d*\})?")
"""Patterns that are known to match no empty text."""

_CUTS = frozenset({"split", "scripts", "fixed_length", "metaspace"})
"""Steps that cut a segment into pieces, of which each may be given a prefix afterwards."""

_FORM_SHRINK = 12
"""Bytes of a text for a byte of its form at most: 4 for one code point (mathematical letters), 3
where code points are composed (Hangul)."""
_LOWER_SHRINK = 3
"""U+212A has 3 bytes, its lower case one."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Limits of a text's length at the model, in units of which each makes a token at most.

    Attributes:
        tokens: Numerator of the tokens for each byte of the text.
        bytes: Denominator.
        prefix_tokens: Tokens of prefixes in front of a segment, at most.
        shrink: Bytes of the text for each byte at the model, at most; 0: text can be deleted.
    """

    tokens: int
    bytes: int
    prefix_tokens: int
    shrink: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of a model's tokens.

    Attributes:
        longest_bytes: Bytes that a token stands for at most; 0: any number.
        per_character: True if no character becomes more than one token.
        has_space: True if U+2581 is a token, or any character is one token.
    """

    longest_bytes: int
    per_character: bool
    has_space: bool


def lengths_of_model(model: dict[str, Any]) -> Lengths:
    """Return the lengths of the tokens of a model in its canonical form."""
    kind = model["type"]
    if kind in ("wordpiece", "word"):
        return Lengths(0, per_character=True, has_space=True)
    if kind == "raw_bytes":
        return Lengths(1, per_character=False, has_space=False)
    if kind == "unigram":
        words = [piece.encode() for piece, _ in model["pieces"]]
    elif kind == "sentencepiece":
        words = [base64.b64decode(piece) for piece, _, _ in model["pieces"]]
    else:
        words = [base64.b64decode(token) for token in model["tokens"] if token]
    longest = max(map(len, words), default=0)
    known = set(words)
    has_space = _SPACE.encode() in known
    if kind in ("bpe", "greedy"):
        missing = [byte for byte in _BYTES_OF_TEXT if bytes([byte]) not in known]
        if kind == "bpe" and model["missing"] == "skip" and missing:
            # Bytes without a token are left out; where they only begin characters, the others of
            # the character, up to three, still make a token.
            longest = 4 * longest if min(missing) >= _FIRST_LEAD else 0
        return Lengths(longest, per_character=False, has_space=has_space)
    if kind == "character":
        # An unknown character is one token; its bytes are four at most.
        has_bytes = isinstance(model["missing"], dict) and "bytes" in model["missing"]
        return Lengths(
            max(longest, 4), per_character=not has_bytes, has_space=has_space or not has_bytes
        )
    falls_back = bool(model["byte_fallback"])
    names = {f"<0x{byte:02X}>".encode() for byte in range(256)}
    is_complete = falls_back and names <= known
    if not is_complete and not _keeps_unknown_apart(model):
        longest = 0
    return Lengths(
        longest and max(longest, 4),
        per_character=not falls_back,
        has_space=has_space or not falls_back,
    )


def _keeps_unknown_apart(model: dict[str, Any]) -> bool:
    """True if each unknown character becomes a token of its own."""
    if model["type"] != "character_bpe":
        return False
    return model["missing"] == "fail" or (
        isinstance(model["missing"], dict) and not model["fuse_unknown"]
    )


class _Flow:
    """A text on its way to the model: what a byte of it may have become."""

    def __init__(self, *, is_ascii: bool, counts_chars: bool, has_space: bool) -> None:
        self.factor = Fraction(1)
        self.prefix = Fraction(0)
        self.shrink = 1
        self.is_ascii = is_ascii
        self.counts_chars = counts_chars
        self._is_raw = True
        self._has_space = has_space

    def size(self, text: str) -> int:
        """Units of a text that is put in."""
        if self.counts_chars:
            return len(text)
        n_spaces = text.count(_SPACE) if self._has_space else 0
        return len(text.encode()) - 2 * n_spaces

    def grow(self, rate: _Rate) -> None:
        """Take a step that keeps ASCII as long as it is."""
        if not self.is_ascii:
            if not self.counts_chars:
                self._multiply(rate.bytes_per_byte)
            else:
                self._multiply(rate.chars_per_byte if self._is_raw else rate.chars_per_char)
        self._is_raw = self._is_raw and rate.bytes_per_byte == 1

    def insert(self, content: str, *, per_unit: bool) -> None:
        """Put a text in front of the segment, or at each unit and behind the last."""
        size = self.size(content)
        if per_unit:
            self._multiply(Fraction(1 + size))
        self.prefix += size
        self._note(content)

    def replace(self, content: str) -> None:
        """Put a text in the place of one unit or more."""
        self._multiply(Fraction(max(1, self.size(content))))
        self._note(content)

    def affix(self, n_bytes: int) -> None:
        """Write affixes at each character."""
        self._multiply(Fraction(1 + n_bytes))

    def delete(self) -> None:
        self.shrink = 0

    def contract(self, times: int) -> None:
        if not self.is_ascii:
            self.shrink *= times

    def rules(self, charsmap: bytes) -> None:
        """Take the rules of a SentencePiece model."""
        rules = _rules(charsmap)
        if self.is_ascii:
            rules = [rule for rule in rules if rule[0].replace(_SPACE, "").isascii()]
        growth = Fraction(1)
        shrink = Fraction(1)
        for source, target in rules:
            n_bytes = len(source.encode())
            units = n_bytes if self._is_raw or not self.counts_chars else len(source)
            growth = max(growth, Fraction(self.size(target), units))
            if not target:
                self.delete()
            else:
                shrink = max(shrink, Fraction(n_bytes, len(target.encode())))
        self._multiply(growth)
        self.shrink *= -(-shrink.numerator // shrink.denominator)
        if any(not target.isascii() for _, target in rules):
            self.is_ascii = False
        self._is_raw = False

    def to_alphabet(self) -> None:
        """Write each byte as a character of GPT-2's alphabet, of one or two bytes."""
        if not self.counts_chars:
            self._multiply(Fraction(2))

    def _multiply(self, factor: Fraction) -> None:
        self.factor *= factor
        self.prefix *= factor

    def _note(self, content: str) -> None:
        self._is_raw = False
        if not content.replace(_SPACE, "").isascii():
            self.is_ascii = False

    def end(self) -> Growth:
        """The limits at the model."""
        return Growth(
            tokens=self.factor.numerator,
            bytes=self.factor.denominator,
            prefix_tokens=-(-self.prefix.numerator // self.prefix.denominator),
            shrink=self.shrink,
        )


def growth_of_steps(
    steps: Sequence[dict[str, Any]], model: dict[str, Any], lengths: Lengths, *, is_ascii: bool
) -> Growth:
    """Return the limits of all steps before a model.

    Args:
        steps: Steps of the normalizer, then of the pre-tokenizer, in the canonical form.
        model: The model in its canonical form.
        lengths: Lengths of its tokens.
        is_ascii: True for texts of ASCII alone.
    """
    alphabets = [index for index, step in enumerate(steps) if step["type"] == "byte_level"]
    # Up to the alphabet of bytes it is bytes that count, behind it characters.
    flow = _Flow(
        is_ascii=is_ascii,
        counts_chars=lengths.per_character and not alphabets,
        has_space=lengths.has_space and not alphabets,
    )
    is_cut = False
    for index, step in enumerate(steps):
        if step["type"] == "byte_level":
            # The last one's characters are those that the model sees.
            if lengths.per_character and index == alphabets[-1]:
                flow.counts_chars = True
            else:
                flow.to_alphabet()
            flow.is_ascii = False
        else:
            _take(flow, step, is_cut=is_cut)
        is_cut = is_cut or step["type"] in _CUTS
    if model["type"] == "sentencepiece":
        _take_sentencepiece(flow, model["normalizer"])
    if model["type"] == "character_bpe" and model["byte_fallback"]:
        # A character without a token is spelled in bytes together with its affix.
        affixes = model["continuing_prefix"] + model["end_of_word_suffix"]
        flow.affix(len(affixes.encode()))
    return flow.end()


def _take(flow: _Flow, step: dict[str, Any], *, is_cut: bool) -> None:
    """Take one step."""
    match step["type"]:
        case "form":
            flow.grow(_FORMS[step["form"]])
            flow.contract(_FORM_SHRINK)
        case "bert":
            flow.grow(_BERT)
            flow.delete()
        case "lowercase":
            flow.grow(_LOWERCASE)
            flow.contract(_LOWER_SHRINK)
        case "strip" | "strip_accents" | "nmt":
            flow.grow(_NONE)
            flow.delete()
        case "clip":
            flow.is_ascii = False
            flow.grow(_CLIP)
            flow.delete()
        case "replace":
            _take_replacement(flow, step["pattern"], step["content"])
        case "prepend":
            flow.insert(step["prefix"], per_unit=False)
        case "precompiled":
            flow.rules(base64.b64decode(step["charsmap"]))
            flow.delete()  # A rule is for the first bytes of a grapheme and replaces all of it.
        case "split":
            if step["behavior"] == "removed":
                flow.delete()
        case "metaspace":
            flow.replace(step["replacement"])
            if step["prepend_scheme"] != "never":
                flow.insert(step["replacement"], per_unit=is_cut)
        case "prefix_space":
            flow.insert(" ", per_unit=is_cut)
        case "scripts":
            flow.delete()  # A piece of spaces alone has no script, and is dropped.
        case "fixed_length":
            pass
        case unknown:
            raise AssertionError(f"a step {unknown!r} has no limits yet")


def _take_replacement(flow: _Flow, pattern: dict[str, str], content: str) -> None:
    literal = pattern.get("string")
    n_content = len(content.encode())
    if not literal:
        flow.delete()
        if not _NEVER_EMPTY.fullmatch(pattern.get("regex", "")):
            flow.insert(content, per_unit=True)
        elif n_content > 1:
            flow.replace(content)
        return
    n_bytes = len(literal.encode())
    if not content:
        flow.delete()
    elif n_bytes > n_content:
        flow.shrink *= -(-n_bytes // n_content)
    if n_content > n_bytes:
        flow.replace(content)


def _take_sentencepiece(flow: _Flow, rules: dict[str, Any]) -> None:
    """Take the normalizer of a SentencePiece model."""
    flow.rules(base64.b64decode(rules["charsmap"]))
    if rules["remove_extra_whitespaces"]:
        flow.delete()
    if rules["escape_whitespaces"]:
        flow.replace(_SPACE)
    if rules["add_dummy_prefix"]:
        flow.insert(_SPACE if rules["escape_whitespaces"] else " ", per_unit=False)


@lru_cache(maxsize=4)
def _rules(charsmap: bytes) -> list[tuple[str, str]]:
    if not charsmap:
        return []
    rules = SentencePieceRules(
        charsmap=charsmap,
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        escape_whitespaces=False,
    )
    return rules.rules()
