r"""Texts without one feature after another: what the feature costs is measured by taking it away.

Every feature is what a finding of the audit is about, taken to a normal form: text that stands
for itself, without escapes, layout, markers and repetition. The steps of `STEPS` are applied in
their order, each to what the last one left:

1. White space needs these to be seen: composed characters (NFC), the right encoding, JSON without
   its layout, lines without their labels, letters joined that were set apart. Then white space is
   one space or one line end, and stays so.
2. How characters are written: without invisible ones, plain ones for those that only look
   different (NFKC), base64 and hexadecimal decoded, escapes undone, all in small letters.
3. The text around and between the words: lines of signs, passages that come twice, the elements of
   markup, the keys of JSON, the markers of chat templates, identifiers.
4. Text that documents share (`shared_text`): it is known only where all are seen. Then the lines,
   which become one.

The text that is left after all of them is the wording. Two texts that differ in one feature alone
have the same wording, byte for byte; so have a text and its base64. Cost: O(n log n) for the
repetition, else O(characters); a text that a step would not change is recognised by a quick check.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from jeton.auditing.analyses.cut_text import (
    with_plain_letters,
    without_doubled_words,
    without_letter_spacing,
    without_punctuation_spacing,
)
from jeton.auditing.analyses.escaped_text import decoded_text, unescaped_text
from jeton.auditing.analyses.layout import (
    with_aliases,
    with_joined_lines,
    with_rounded_numbers,
    with_short_separators,
    with_short_urls,
    with_usual_spacing,
    without_mojibake,
)
from jeton.auditing.analyses.minified_json import without_json_layout
from jeton.auditing.analyses.plain_content import (
    with_literals_as_json,
    without_all_markup,
    without_chat_markers,
    without_json_keys,
    without_line_labels,
    without_markdown,
)
from jeton.auditing.analyses.repetition import without_repeated_passages
from jeton.auditing.analyses.rewriting import Rewrite, chain
from jeton.guard.cleaning import invisible

MIN_CUT_SHARE = 0.1
"""Part of a text that goes when its letters are joined: half of it, where all are set apart."""

# Colours and movements of a terminal.
_TERMINAL = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_INVISIBLE_ASCII = re.compile("[\x00-\x08\x0e-\x1b\x7f]+")

# Possessive: linear on a megabyte of spaces. A lone space and a lone line end stay untouched.
_WHITE_SPACE = re.compile(r"\s{2,}+|[^\S \n]")
_RULE = re.compile(r"^[ \t]*([-=_*#~.─━═+])\1{2,}[ \t]*(?:\n|\Z)", re.MULTILINE)
_RUN_OF_SIGNS = re.compile(r"([!?.,;:\u2026\u3002\uff01\uff1f])\1{3,}")
_LINE_END = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def _composed(text: str) -> str:
    # Python knows at once of ASCII, and of most texts after one look at each character.
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def _visible(text: str) -> str:
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return (_INVISIBLE_ASCII if text.isascii() else invisible()).sub("", text)


def _squeezed(text: str) -> str:
    return _WHITE_SPACE.sub(_one, text)


def _one(run: re.Match[str]) -> str:
    return "\n" if _LINE_END.search(run.group()) else " "


def _without_separators(text: str) -> str:
    return _RUN_OF_SIGNS.sub(r"\1", _RULE.sub("", with_short_separators(text)[0]))


_WITHOUT_FORM = chain(without_all_markup, without_markdown, without_json_keys, without_chat_markers)


def _without_repeats(text: str) -> str:
    """Text without what comes again, where its words do: tags and keys come again by nature."""
    new, _ = _WITHOUT_REPEATS(text)
    if new == text:
        return text
    words, _ = _WITHOUT_FORM(text)
    share = 1 - len(new) / len(text)
    if words == text or not words:
        return new
    return new if 1 - len(_WITHOUT_REPEATS(words)[0]) / len(words) >= share / 2 else text


_WITHOUT_REPEATS = chain(without_repeated_passages, without_doubled_words)


def _in_one_piece(text: str) -> str:
    joined = without_letter_spacing(text)[0]
    # A heading that is set apart is meant so, and its white space is that of the text.
    if len(text) - len(joined) < MIN_CUT_SHARE * len(text):
        joined = text
    return without_punctuation_spacing(joined)[0]


def _text_of(rewrite: Rewrite) -> Callable[[str], str]:
    return lambda text: rewrite(text)[0]


def _squeezed_after(step: Callable[[str], str]) -> Callable[[str], str]:
    """A step behind that of the white space leaves none behind either."""

    def apply(text: str) -> str:
        changed = step(text)
        return text if changed == text else _squeezed(changed)

    return apply


_STEPS: dict[str, Callable[[str], str]] = {
    "unicode_form": _composed,
    "mojibake": _text_of(without_mojibake),
    "json_layout": _text_of(chain(with_literals_as_json, without_json_layout)),
    "line_labels": _text_of(without_line_labels),
    "cut_text": _in_one_piece,
    "white_space": _squeezed,
    "invisible_characters": _squeezed_after(_visible),
    "compatibility_forms": _squeezed_after(_text_of(with_plain_letters)),
    "encoded_data": _squeezed_after(_text_of(decoded_text)),
    "escaped_characters": _squeezed_after(_text_of(unescaped_text)),
    "letter_case": str.casefold,
    "separator_runs": _squeezed_after(_without_separators),
    "repeated_passages": _squeezed_after(_without_repeats),
    "markup": _squeezed_after(_text_of(chain(without_all_markup, without_markdown))),
    "json_keys": _squeezed_after(_text_of(without_json_keys)),
    "chat_markers": _squeezed_after(_text_of(without_chat_markers)),
    "torn_words": _squeezed_after(_text_of(chain(with_usual_spacing, with_joined_lines))),
    "opaque_values": _text_of(chain(with_aliases, with_rounded_numbers, with_short_urls)),
}

TEXT_STEPS = tuple(_STEPS)
"""The features that a text has by itself, in the order in which they are taken away."""

SHARED_TEXT = "shared_text"
"""The feature that a text has by others, taken away last."""

LINE_BREAKS = "line_breaks"
"""Line ends in place of spaces, taken away when lines are no longer asked for."""

STEPS = (*TEXT_STEPS, SHARED_TEXT, LINE_BREAKS)
"""All features, in the order in which they are taken away."""


def rewritten(text: str) -> Iterator[str | None]:
    """The text after each of `TEXT_STEPS`; None where a step changed nothing."""
    for step in _STEPS.values():
        changed = step(text)
        if changed == text:
            yield None
        else:
            text = changed
            yield text
