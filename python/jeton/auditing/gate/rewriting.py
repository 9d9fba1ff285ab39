r"""Texts without one feature after another: what the feature costs is measured by taking it away.

Five steps, always in this order, each applied to what the last one left:

1. ``unicode_form``: characters composed (NFC). Decomposed accents cost more here.
2. ``white_space``: every run of white space becomes one line end (if it holds one) or one space, so
   that indentation, alignment, blank lines and doubled spaces are all gone, ``\r\n`` is ``\n``,
   and a no-break space is a space.
3. ``compatibility_forms``: full-width letters, ligatures, styled letters and the like become plain
   ones (NFKC).
4. ``invisible_characters``: format characters (zero-width ones, soft hyphens, direction marks, byte
   order marks, variation selectors, tags) and controls that are no white space go.
5. ``letter_case``: everything in lower case.

What is left after all of them is the wording. Two texts that differ in white space alone have the
same wording, byte for byte; so have a text and its decomposition. Each step is idempotent. Cost:
O(characters); a text that a step would not change is recognised by a quick check.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["STEPS", "rewritten"]

STEPS = (
    "unicode_form",
    "white_space",
    "compatibility_forms",
    "invisible_characters",
    "letter_case",
)
"""The features in the order in which they are taken away."""

# Format characters (Unicode category Cf, ranges with their unassigned neighbours of the same
# blocks), controls except white space, variation selectors, the Hangul and Braille fillers.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u007f\u0080-\u0084\u0086-\u009f\u00ad\u034f\u061c\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)

_INVISIBLE_ASCII = re.compile("[\x00-\x08\x0e-\x1b\x7f]+")

# Possessive: linear on a megabyte of spaces. A lone space and a lone line end stay untouched.
_WHITE_SPACE = re.compile(r"\s{2,}+|[^\S \n]")
_LINE_END = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def rewritten(text: str) -> Iterator[str | None]:
    """The text after each step, in the order of `STEPS`; None where a step changed nothing."""
    for step in (_composed, _squeezed, _compatible, _visible, str.lower):
        changed = step(text)
        if changed == text:
            yield None
        else:
            text = changed
            yield text


def _composed(text: str) -> str:
    # Python knows at once of ASCII, and of most texts after one look at each character.
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def _compatible(text: str) -> str:
    return text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)


def _visible(text: str) -> str:
    return (_INVISIBLE_ASCII if text.isascii() else _INVISIBLE).sub("", text)


def _squeezed(text: str) -> str:
    return _WHITE_SPACE.sub(_one, text)


def _one(run: re.Match[str]) -> str:
    return "\n" if _LINE_END.search(run.group()) else " "
